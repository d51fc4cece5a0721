package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// stream calls a streaming method as alice and returns its frames, once it ended.
func (c *client) stream(body string, headers ...string) (a servertest.Answer, frames []servertest.Answer) {
	c.t.Helper()
	a = c.RPC(body, append([]string{alice, "Accept: text/event-stream"}, headers...)...)
	for line := range strings.Lines(string(a.Body)) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok {
			frames = append(frames, servertest.Answer{Status: a.Status, Header: a.Header, Body: []byte(strings.TrimSpace(data))})
		}
	}
	return a, frames
}

func (c *client) stream1(text, extra string, headers ...string) []servertest.Answer {
	c.t.Helper()
	_, frames := c.stream(call("SendStreamingMessage", message(text, extra, "")), append([]string{v10}, headers...)...)
	if len(frames) == 0 {
		c.t.Fatalf("stream of %q has no frames", text)
	}
	return frames
}

// dialectCases are about versions and what leaks from one into the other.
func dialectCases() []bugCase {
	return []bugCase{
		{"B-022", "answers_of_one_version_only", func(t *testing.T) {
			c := probe(t)
			// The clients check every member of both.
			wantState(t, c.v03("message/send", message03(text03("@echo x"), "", "")), "completed")
			wantState(t, c.send("@echo x", "", ""), "TASK_STATE_COMPLETED")
			_, frames := c.stream(call("message/stream", message03(text03("@chunks 2 1"), "", "")))
			if len(frames) < 3 {
				t.Fatalf("got %d frames, want a task, chunks and the end", len(frames))
			}
			want(t, frames[0], "task", "result", "kind")
			want(t, frames[len(frames)-1], true, "result", "final")
			for _, f := range frames {
				want(t, f, one("task", "status-update", "artifact-update"), "result", "kind")
				if s := string(f.Body); strings.Contains(s, "TASK_STATE_") || strings.Contains(s, "ROLE_") {
					t.Errorf("0.3 frame has names of 1.0: %s", s)
				}
			}
			for _, f := range c.stream1("@chunks 2 1", "") {
				noOldMembers(t, "", f.Get("result"))
			}
		}},
		{"B-023", "frames_are_responses", func(t *testing.T) {
			frames := probe(t).stream1("@chunks 3 1", "")
			if len(frames) < 3 {
				t.Errorf("got %d frames, want at least 3", len(frames))
			}
			for _, f := range frames {
				want(t, f, "2.0", "jsonrpc")
				want(t, f, 1, "id")
				result := members(f.Get("result"))
				if len(result) != 1 || result["task"] == nil && result["statusUpdate"] == nil && result["artifactUpdate"] == nil && result["message"] == nil {
					t.Errorf("got %s, want one of task, message, statusUpdate and artifactUpdate", f.Body)
				}
			}
			for name := range members(frames[0].Get("result", "task")) {
				if !slices.Contains([]string{"id", "contextId", "status", "artifacts", "history", "metadata"}, name) {
					t.Errorf("task has a member %s: %s", name, frames[0].Body)
				}
			}
		}},
		{"B-025", "corners_of_the_version", func(t *testing.T) {
			c := probe(t)
			get := call("GetTask", `{"id":"none"}`)
			wantCode(t, c.Do("POST", "/?A2A-Version=1.0", get, alice), -32001)
			wantCode(t, c.RPC(get, alice, "A2A-Version: 1.0.1"), -32001)
			wantCode(t, c.RPC(get, alice), -32001)
			wantCode(t, c.RPC(get, alice, "A2A-Version: 99.0"), -32009)
			wantCode(t, c.Do("POST", "/?A2A-Version=99.0", get, alice), -32009)
			wantCode(t, c.RPC(get, alice, "A2A-Version: 0.3"), -32601)
			wantCode(t, c.RPC(call("tasks/get", `{"id":"none"}`), alice, v10), -32601)
			strict := probe(t, func(cfg *configs.Config) { cfg.Compat.StrictVersion = true })
			wantCode(t, strict.RPC(get, alice), -32009)
			wantCode(t, strict.RPC(get, alice, v10), -32001)
		}},
		{"B-026", "not_blocking_in_both_spellings", func(t *testing.T) {
			c := probe(t)
			began := time.Now()
			id := c.bg("@sleep 2")
			a := c.v03("message/send", message03(text03("@sleep 2"), "", `{"blocking":false}`))
			want(t, a, one("submitted", "working"), "result", "status", "state")
			if took := time.Since(began); took > time.Second {
				t.Errorf("two calls that do not block took %s", took)
			}
			c.until(id, "TASK_STATE_COMPLETED")
			c.until(taskID(a), "TASK_STATE_COMPLETED")
		}},
		{"B-031", "parts_by_kind_type_or_neither", func(t *testing.T) {
			c := probe(t)
			for _, p := range []string{`{"kind":"text","text":"@echo q"}`, `{"type":"text","text":"@echo q"}`, `{"text":"@echo q"}`} {
				a := c.v03("message/send", message03(p, "", ""))
				wantState(t, a, "completed")
				want(t, a, "q", "result", "artifacts", 0, "parts", 0, "text")
			}
			wantCode(t, c.v03("message/send", message03("", "", "")), -32602)
		}},
		{"B-032", "submit_with_an_id_of_somebody_else", func(t *testing.T) {
			c := probe(t)
			body := call("tasks/submit", `{"id":"cli-1","blocking":false,"message":{"role":"user","content":"@sleep 1"}}`)
			first := c.RPC(body, alice)
			want(t, first, "cli-1", "result", "id")
			stolen := c.RPC(strings.Replace(body, "@sleep 1", "@echo stolen", 1), bob)
			if stolen.Get("error") == nil && taskID(stolen) == "cli-1" {
				t.Errorf("the id of another caller was taken: %s", stolen.Body)
			}
			wantCode(t, c.RPC(call("tasks/get", `{"id":"cli-1"}`), bob), -32001)
			again := c.RPC(body, alice)
			want(t, again, first.Get("result", "task", "createdAt"), "result", "task", "createdAt")
			a := c.until("cli-1", "TASK_STATE_COMPLETED")
			want(t, a, "slept", "result", "artifacts", 0, "parts", 0, "text")
		}},
		{"B-034", "submit_by_path", func(t *testing.T) {
			a := probe(t).Do("POST", "/tasks/submit", `{"jsonrpc":"2.0","id":1,"method":"tasks/submit","params":{"model":"m","message":{"role":"user","content":"hi"},"history":[],"max_tokens":5,"stream":false}}`, alice)
			if a.Status != http.StatusNotFound || a.Get("detail") == nil {
				t.Errorf("got HTTP %d %s, want a 404 in JSON", a.Status, clip(a.Body))
			}
		}},
		{"B-035", "methods_of_the_first_drafts", func(t *testing.T) {
			c := probe(t)
			for _, m := range []string{"tasks/send", "tasks/sendSubscribe"} {
				body := `{"jsonrpc":"2.0","id":7,"method":"` + m + `","params":{"id":"t-1","sessionId":"s1","message":{"role":"user","parts":[{"type":"text","text":"@echo x"}]}}}`
				a, frames := c.stream(body)
				if m == "tasks/send" {
					frames = []servertest.Answer{a}
				}
				if len(frames) == 0 {
					t.Fatalf("%s: no answer: %s", m, clip(a.Body))
				}
				last := frames[len(frames)-1]
				checkV01(t, last)
				want(t, last, 7, "id")
				want(t, last, "completed", "result", "status", "state")
			}
			// What was never there is named with what there is.
			a := c.RPC(call("tasks/list", `{}`), alice)
			wantCode(t, a, -32601)
			if s := string(a.Body); !strings.Contains(s, "message/send") || !strings.Contains(s, "tasks/submit") {
				t.Errorf("the error does not name the methods there are: %s", s)
			}
		}},
	}
}

// envelopeCases are about JSON-RPC and the table of errors.
func envelopeCases() []bugCase {
	return []bugCase{
		{"B-037", "broken_JSON", func(t *testing.T) {
			c := probe(t)
			for _, body := range []string{`{"jsonrpc":"2.0","id":1,`, "", "hello", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}} tail`, "{\"id\":\"\xff\"}"} {
				a := c.RPC(body, alice, v10)
				checkV1(t, "", a.Body)
				wantCode(t, a, -32700)
				if !strings.Contains(string(a.Body), `"id":null`) {
					t.Errorf("id is not null: %s", a.Body)
				}
			}
		}},
		{"B-038", "ids_byte_for_byte", func(t *testing.T) {
			c := probe(t)
			for _, id := range []string{
				`"1"`, `1`, `0`, `-7`, `""`, `"é"`, `"\u00e9"`, `9007199254740993`, `1.0`, `1e2`, `123456789012345678901234567890`, `"a\/b"`, `null`,
			} {
				for method, p := range map[string]string{"GetTask": `{"id":"none"}`, "ListTasks": `{}`, "tasks/get": `{"id":"none"}`, "tasks/status": `{"taskId":"x"}`} {
					a := c.RPC(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+p+`}`, alice)
					var m map[string]json.RawMessage
					if err := json.Unmarshal(a.Body, &m); err != nil || string(m["id"]) != id {
						t.Errorf("%s: got id %s (%v), want %s", method, m["id"], err, id)
					}
				}
				_, frames := c.stream(strings.Replace(call("SendStreamingMessage", message("@echo x", "", "")), `"id":1`, `"id":`+id, 1), v10)
				for _, f := range frames {
					var m map[string]json.RawMessage
					if err := json.Unmarshal(f.Body, &m); err != nil || string(m["id"]) != id {
						t.Errorf("frame: got id %s (%v), want %s", m["id"], err, id)
					}
				}
			}
		}},
		{"B-043", "typed_errors_in_0.3", func(t *testing.T) {
			c := probe(t)
			for _, m := range []string{"tasks/get", "tasks/cancel"} {
				wantCode(t, c.v03(m, `{"id":"none"}`), -32001)
			}
			id := c.done("@echo x", "")
			wantCode(t, c.v03("tasks/cancel", params("id", id)), -32002)
		}},
		{"B-044", "unknown_is_never_null", func(t *testing.T) {
			c := probe(t)
			id := params("id", "00000000-0000-4000-8000-00000000dead")
			wantCode(t, c.v1("GetTask", id), -32001)
			wantCode(t, c.v1("CancelTask", id), -32001)
			wantCode(t, c.v1("SubscribeToTask", id), -32001)
		}},
		{"B-047", "checks_before_the_stream", func(t *testing.T) {
			c := probe(t)
			for _, tc := range []struct {
				params string
				code   int
			}{{`{}`, -32602}, {message("x", params("taskId", uuid.NewString()), ""), -32001}} {
				body := call("SendStreamingMessage", tc.params)
				a := c.RPC(body, alice, v10)
				wantCode(t, a, tc.code)
				if ct := a.Header.Get("Content-Type"); ct != "application/json" {
					t.Errorf("got Content-Type %s, want application/json", ct)
				}
				// Clients of streams lose a plain answer: they get one frame.
				_, frames := c.stream(body, v10)
				if len(frames) != 1 {
					t.Fatalf("got %d frames, want one with the error", len(frames))
				}
				wantCode(t, frames[0], tc.code)
			}
		}},
		{"B-049", "capabilities_that_are_not_there", func(t *testing.T) {
			c := probe(t, func(c *configs.Config) { c.Push.Enabled, c.Stream.Enabled = false, false })
			a := c.Do("GET", cardPath, "", v10)
			want(t, a, one(false, nil), "capabilities", "pushNotifications")
			want(t, a, one(false, nil), "capabilities", "streaming")
			for method, p := range map[string]string{"SendStreamingMessage": `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`, "SubscribeToTask": `{"id":"t"}`} {
				wantCode(t, c.v1(method, p), -32004)
			}
			for method, p := range map[string]string{
				"CreateTaskPushNotificationConfig": `{"taskId":"t","url":"https://hooks.example.com"}`, "GetTaskPushNotificationConfig": `{"taskId":"t","id":"p"}`,
				"ListTaskPushNotificationConfigs": `{"taskId":"t"}`, "DeleteTaskPushNotificationConfig": `{"taskId":"t","id":"p"}`,
			} {
				wantCode(t, c.v1(method, p), -32003)
			}
			for _, m := range []string{"set", "get", "list", "delete"} {
				wantCode(t, c.v03("tasks/pushNotificationConfig/"+m, `{"id":"t"}`), -32003)
			}
			wantCode(t, c.send("@echo x", "", `{"taskPushNotificationConfig":{"url":"https://hooks.example.com"}}`), -32003)
			wantCode(t, c.v1("GetExtendedAgentCard", `{}`), -32004)
			wantCode(t, c.v03("agent/getAuthenticatedExtendedCard", `{}`), -32004, -32007)
		}},
	}
}
