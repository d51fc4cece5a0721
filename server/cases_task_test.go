package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/skillyard/skillyard/server/servertest"
)

// last is the state in the last frame of a stream.
func last(frames []servertest.Answer) any {
	f := frames[len(frames)-1]
	if s := f.Get("result", "statusUpdate", "status", "state"); s != nil {
		return s
	}
	return f.Get("result", "task", "status", "state")
}

// endingCases are about tasks that must come to an end.
func endingCases() []bugCase {
	return []bugCase{
		{"B-091", "panics_and_failures_end_tasks", func(t *testing.T) {
			c := probe(t)
			for _, command := range []string{"@panic", "@fail"} {
				a := c.send(command, "", "")
				wantState(t, a, "TASK_STATE_FAILED")
				if text := texts(a.Get("result", "task", "status", "message")); text == "" || internals.MatchString(text) {
					t.Errorf("got status message %q, want a plain sentence", text)
				}
				c.until(c.bg(command), "TASK_STATE_FAILED")
				if got := last(c.stream1(command, "")); got != "TASK_STATE_FAILED" {
					t.Errorf("the stream of %s ended with %v", command, got)
				}
			}
			wantState(t, c.send("@echo alive", "", ""), "TASK_STATE_COMPLETED")
		}},
		{"B-092", "skill_returns_without_a_final_state", func(t *testing.T) {
			c := probe(t)
			wantState(t, c.send("@noterm", "", ""), "TASK_STATE_FAILED")
			c.until(c.bg("@noterm"), "TASK_STATE_FAILED")
			if got := last(c.stream1("@noterm", "")); got != "TASK_STATE_FAILED" {
				t.Errorf("the stream ended with %v", got)
			}
		}},
		{"B-094", "quick_work_in_parallel", func(t *testing.T) {
			c := probe(t)
			const n, parallel = 100, 20
			next := make(chan int, n)
			for i := range n {
				next <- i
			}
			close(next)
			var wg sync.WaitGroup
			for range parallel {
				wg.Go(func() {
					for i := range next {
						text := fmt.Sprintf("n-%d-", i)
						a := c.send("@echo "+text, "", "")
						wantState(t, a, "TASK_STATE_COMPLETED")
						want(t, a, text, "result", "task", "artifacts", 0, "parts", 0, "text")
					}
				})
			}
			wg.Wait()
		}},
		{"B-095", "stream_of_an_unknown_task", func(t *testing.T) {
			c := probe(t)
			body := call("SendStreamingMessage", message("@echo x", params("taskId", uuid.NewString()), ""))
			wantCode(t, c.RPC(body, alice, v10), -32001)
			_, frames := c.stream(body, v10)
			if len(frames) != 1 {
				t.Fatalf("got %d frames, want the error", len(frames))
			}
			wantCode(t, frames[0], -32001)
		}},
	}
}

// cancelCases are about cancel and what happens at the same time.
func cancelCases() []bugCase {
	return []bugCase{
		{"B-098", "cancel_in_every_state", func(t *testing.T) {
			c := probe(t)
			asked := c.done("@ask", "")
			running := c.bg("@sleep 30")
			c.until(running, "TASK_STATE_WORKING")
			for _, id := range []string{asked, running, c.bg("@sleep 30"), c.bg("@hang")} {
				wantState(t, c.cancel(id), "TASK_STATE_CANCELED")
				wantState(t, c.get(id), "TASK_STATE_CANCELED")
			}
		}},
		{"B-100", "cancel_again", func(t *testing.T) {
			c := probe(t)
			id := c.bg("@sleep 30")
			first := c.cancel(id)
			wantState(t, first, "TASK_STATE_CANCELED")
			again := c.cancel(id)
			if d := cmp.Diff(first.Get("result"), again.Get("result")); d != "" {
				t.Errorf("the second cancel answers otherwise:\n%s", d)
			}
			wantCode(t, c.v03("tasks/cancel", params("id", id)), -32002)
			for _, command := range []string{"@echo x", "@fail"} {
				id := c.done(command, "")
				wantCode(t, c.cancel(id), -32002)
				wantCode(t, c.v03("tasks/cancel", params("id", id)), -32002)
			}
		}},
		{"B-101", "late_results_change_nothing", func(t *testing.T) {
			c := probe(t)
			id := c.bg("@ignorecancel 0.3")
			c.until(id, "TASK_STATE_WORKING")
			canceled := c.cancel(id).Get("result")
			// Another task that takes longer shows that the first one's skill is done.
			wantState(t, c.send("@sleep 0.6", "", ""), "TASK_STATE_COMPLETED")
			if d := cmp.Diff(canceled, c.get(id).Get("result")); d != "" {
				t.Errorf("the canceled task changed:\n%s", d)
			}
			want(t, c.v1("ListTasks", `{"status":"TASK_STATE_CANCELED"}`), id, "result", "tasks", 0, "id")
		}},
		{"B-103", "readers_beside_a_writer", func(t *testing.T) {
			c := probe(t)
			id := c.bg("@chunks 300 1")
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for ended := false; !ended; {
						a := c.get(id)
						ended = a.Get("result", "status", "state") == "TASK_STATE_COMPLETED"
						// However far it is, the text is a whole beginning of it.
						text := texts(a.Get("result", "artifacts", 0))
						for i := 1; text != ""; i++ {
							rest, ok := strings.CutPrefix(text, fmt.Sprintf("chunk-%d ", i))
							if !ok {
								t.Errorf("artifact goes on with %q at chunk %d", clip([]byte(text)), i)
								return
							}
							text = rest
						}
					}
				})
			}
			wg.Wait()
		}},
	}
}

// turnCases are about ids, several turns and history.
func turnCases() []bugCase {
	roles := func(a servertest.Answer) (list []any) {
		for i := 0; a.Get("result", "history", i) != nil; i++ {
			list = append(list, a.Get("result", "history", i, "role"))
		}
		return list
	}
	return []bugCase{
		{"B-106", "message_to_an_ended_task", func(t *testing.T) {
			c := probe(t)
			canceled := c.bg("@hang")
			c.cancel(canceled)
			for _, id := range []string{c.done("@echo x", ""), c.done("@fail", ""), canceled} {
				before := c.get(id).Get("result")
				wantCode(t, c.send("again", params("taskId", id), ""), -32004)
				wantCode(t, c.v03("message/send", message03(text03("again"), params("taskId", id), "")), -32004)
				_, frames := c.stream(call("SendStreamingMessage", message("again", params("taskId", id), "")), v10)
				wantCode(t, frames[0], -32004)
				if d := cmp.Diff(before, c.get(id).Get("result")); d != "" {
					t.Errorf("the task changed:\n%s", d)
				}
			}
		}},
		{"B-107", "message_to_an_unknown_task", func(t *testing.T) {
			c := probe(t)
			id := uuid.NewString()
			wantCode(t, c.send("@echo x", params("taskId", id), ""), -32001)
			wantCode(t, c.v03("message/send", message03(text03("x"), params("taskId", id), "")), -32001)
			wantCode(t, c.get(id), -32001)
		}},
		{"B-109", "context_is_inferred", func(t *testing.T) {
			c := probe(t)
			a := c.send("@ask", "", "")
			id, context := taskID(a), a.Get("result", "task", "contextId")
			want(t, a, context, "result", "task", "status", "message", "contextId")
			want(t, a, id, "result", "task", "status", "message", "taskId")
			wantCode(t, c.send("ans", params("taskId", id, "contextId", "another"), ""), -32602)
			a = c.send("ans", params("taskId", id), "")
			want(t, a, context, "result", "task", "contextId")
			want(t, a, id, "result", "task", "id")
			a = c.send("@echo n", params("contextId", context), "")
			want(t, a, context, "result", "task", "contextId")
			if taskID(a) == id {
				t.Errorf("a new message in the context went to the old task")
			}
		}},
		{"B-110", "answer_goes_to_the_paused_task", func(t *testing.T) {
			c := probe(t)
			a := c.send("@ask", "", "")
			wantState(t, a, "TASK_STATE_INPUT_REQUIRED")
			id, context := taskID(a), a.Get("result", "task", "contextId")
			a = c.send("blue", params("taskId", id, "contextId", context), "")
			wantState(t, a, "TASK_STATE_COMPLETED")
			want(t, c.v1("ListTasks", params("contextId", context)), 1, "result", "totalSize")
			if d := cmp.Diff([]any{"ROLE_USER", "ROLE_AGENT", "ROLE_USER"}, roles(c.get(id))); d != "" {
				t.Errorf("history:\n%s", d)
			}
		}},
		{"B-115", "history_has_all_turns", func(t *testing.T) {
			c := probe(t)
			id := c.done("@ask", "")
			c.done("blue", params("taskId", id))
			seen := map[any]bool{}
			a := c.v1("GetTask", params("id", id, "historyLength", 10))
			for i := range roles(a) {
				m := a.Get("result", "history", i, "messageId")
				if seen[m] {
					t.Errorf("message %v is there twice", m)
				}
				seen[m] = true
			}
			if len(seen) != 3 {
				t.Errorf("got %d messages, want 3: %s", len(seen), clip(a.Body))
			}
			a = c.v1("GetTask", params("id", id, "historyLength", 1))
			if n := len(roles(a)); n != 1 || texts(a.Get("result", "history", 0)) != "blue" {
				t.Errorf("got %d messages, want the newest: %s", n, clip(a.Body))
			}
		}},
		{"B-116", "history_length_zero", func(t *testing.T) {
			c := probe(t)
			id := c.done("@echo h", "")
			for n, entries := range map[int]int{0: 0, 1: 1, 9999: 1} {
				if got := len(roles(c.v1("GetTask", params("id", id, "historyLength", n)))); got != entries {
					t.Errorf("historyLength %d: got %d messages, want %d", n, got, entries)
				}
			}
			want(t, c.send("@echo h", "", `{"historyLength":0}`), nil, "result", "task", "history", 0)
			want(t, c.v1("ListTasks", `{"historyLength":0}`), nil, "result", "tasks", 0, "history", 0)
			want(t, c.v03("tasks/get", params("id", id, "historyLength", 0)), nil, "result", "history", 0)
			if got := len(roles(c.get(id))); got != 1 {
				t.Errorf("got %d messages after the reads, want 1", got)
			}
		}},
	}
}

// ownerCases are about whose a task is, and what strangers get to see.
func ownerCases() []bugCase {
	return []bugCase{
		{"B-133", "running_task_of_another", func(t *testing.T) {
			c := probe(t)
			id := c.bg("@hang")
			c.until(id, "TASK_STATE_WORKING")
			unknown := c.get("00000000-0000-4000-8000-00000000dead", bob)
			for _, a := range []servertest.Answer{
				c.get(id, bob), c.cancel(id, bob), c.send("x", params("taskId", id), "", bob), c.v1("SubscribeToTask", params("id", id), bob),
			} {
				wantCode(t, a, -32001)
				if got, want := string(a.Body), strings.ReplaceAll(string(unknown.Body), "00000000-0000-4000-8000-00000000dead", id); got != want {
					t.Errorf("got %s, want the answer for an unknown task, %s", got, want)
				}
			}
			wantState(t, c.get(id), "TASK_STATE_WORKING")
			wantState(t, c.cancel(id), "TASK_STATE_CANCELED")
		}},
		{"B-134", "context_of_another", func(t *testing.T) {
			c := probe(t)
			const shared = `{"contextId":"ctx-shared"}`
			c.send("@echo secret-42", shared, "")
			for _, a := range []servertest.Answer{c.send("@echo hi", shared, "", bob), c.v1("ListTasks", shared, bob), c.v1("ListTasks", `{"pageSize":100}`, bob)} {
				if a.Get("error") != nil || strings.Contains(string(a.Body), "secret-42") {
					t.Errorf("got %s", clip(a.Body))
				}
			}
			want(t, c.v1("ListTasks", shared, bob), 1, "result", "totalSize")
		}},
		{"B-136", "extended_card_needs_a_key", func(t *testing.T) {
			c := probe(t)
			for method, header := range map[string]string{"GetExtendedAgentCard": v10, "agent/getAuthenticatedExtendedCard": "X: y"} {
				if a := c.RPC(call(method, `{}`), header); a.Status != http.StatusUnauthorized {
					t.Errorf("%s without a key: got HTTP %d, want 401", method, a.Status)
				}
			}
			extended := probe(t, withExtendedCard)
			for method, header := range map[string]string{"GetExtendedAgentCard": v10, "agent/getAuthenticatedExtendedCard": "X: y"} {
				if a := extended.RPC(call(method, `{}`), header); a.Status != http.StatusUnauthorized {
					t.Errorf("%s without a key: got HTTP %d, want 401", method, a.Status)
				}
			}
			a := extended.v1("GetExtendedAgentCard", `{}`)
			want(t, a, "Skillyard", "result", "name")
			want(t, extended.v03("agent/getAuthenticatedExtendedCard", `{}`), "Skillyard", "result", "name")
			if cc := a.Header.Get("Cache-Control"); cc != "" && !strings.Contains(cc, "private") && !strings.Contains(cc, "no-store") {
				t.Errorf("got Cache-Control %q, want none or private", cc)
			}
		}},
		{"B-137", "nothing_leaks", func(t *testing.T) {
			c := probe(t)
			a := c.Do("GET", cardPath, "")
			for _, s := range []string{`"pid"`, `"cwd"`, `"hostname"`, "/home/", "/root/", c.Dir} {
				if strings.Contains(string(a.Body), s) {
					t.Errorf("the card has %s: %s", s, clip(a.Body))
				}
			}
			for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/vars", "/tasks", "/api/agents"} {
				if a := c.Do("GET", path, ""); a.Status != 404 && a.Status != 401 && a.Status != 403 {
					t.Errorf("GET %s: got HTTP %d", path, a.Status)
				}
			}
		}},
	}
}

// pagingCases are about what is stored and how it is listed.
func pagingCases() []bugCase {
	return []bugCase{
		{"B-139", "chunks_make_one_artifact", func(t *testing.T) {
			c := probe(t)
			frames := c.stream1("@chunks 5 1", "")
			var streamed strings.Builder
			for _, f := range frames {
				streamed.WriteString(texts(f.Get("result", "artifactUpdate", "artifact")))
			}
			a := c.get(taskID(frames[0]))
			want(t, a, nil, "result", "artifacts", 1)
			if got := texts(a.Get("result", "artifacts", 0)); got != streamed.String() || !strings.HasSuffix(got, "chunk-5 ") {
				t.Errorf("stored %q, streamed %q", got, streamed.String())
			}
		}},
		{"B-142", "pages_of_a_burst", func(t *testing.T) {
			c := probe(t)
			const n = 60
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					for range n / 20 {
						c.send("@echo x", `{"contextId":"burst"}`, "")
					}
				})
			}
			wg.Wait()
			seen := map[any]bool{}
			var previous string
			for token, pages := "", 1; ; pages++ {
				a := c.v1("ListTasks", params("contextId", "burst", "pageSize", 7, "pageToken", token))
				want(t, a, n, "result", "totalSize")
				want(t, a, 7, "result", "pageSize")
				for i := 0; a.Get("result", "tasks", i) != nil; i++ {
					id := a.Get("result", "tasks", i, "id")
					if seen[id] {
						t.Errorf("task %v is there twice", id)
					}
					seen[id] = true
					at := a.Get("result", "tasks", i, "status", "timestamp").(string)
					if previous != "" && at > previous {
						t.Errorf("task of %s comes after one of %s", at, previous)
					}
					previous = at
				}
				if token, _ = a.Get("result", "nextPageToken").(string); token == "" {
					break
				}
				if pages > n {
					t.Fatal("the pages do not end")
				}
			}
			if len(seen) != n {
				t.Errorf("got %d tasks, want %d", len(seen), n)
			}
		}},
		{"B-143", "page_token_outlives_its_task", func(t *testing.T) {
			c := probe(t, pruning)
			paused := c.done("@ask", `{"contextId":"p"}`)
			ended := c.done("@echo x", `{"contextId":"p"}`)
			first := c.v1("ListTasks", `{"contextId":"p","pageSize":1}`)
			want(t, first, ended, "result", "tasks", 0, "id")
			token := first.Get("result", "nextPageToken")
			eventually(t, "the ended task is pruned", func() bool { return c.get(ended).Get("error") != nil })
			next := c.v1("ListTasks", params("contextId", "p", "pageSize", 1, "pageToken", token))
			want(t, next, paused, "result", "tasks", 0, "id")
			for _, p := range []string{
				params("contextId", "q", "pageToken", token), params("pageToken", token),
				params("contextId", "p", "status", "TASK_STATE_WORKING", "pageToken", token),
				params("contextId", "p", "pageToken", fmt.Sprint(token)+"A"), params("contextId", "p", "pageToken", strings.ToUpper(fmt.Sprint(token))),
			} {
				wantCode(t, c.v1("ListTasks", p), -32602)
			}
			wantCode(t, c.v1("ListTasks", params("contextId", "p", "pageToken", token), bob), -32602)
		}},
		{"B-175", "ids_of_any_form", func(t *testing.T) {
			c := probe(t)
			for _, id := range []string{"none", strings.Repeat("x", 5000), "..%2f", "a b", "o'clock", "\u0000", "00000000-0000-0000-0000-000000000000"} {
				for _, m := range []string{"GetTask", "CancelTask", "SubscribeToTask"} {
					wantCode(t, c.v1(m, params("id", id)), -32001, -32602)
				}
				wantCode(t, c.v03("tasks/get", params("id", id)), -32001, -32602)
			}
		}},
	}
}
