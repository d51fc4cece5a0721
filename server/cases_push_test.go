package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// quickPush makes deliveries fail and be tried again fast.
func quickPush(c *configs.Config) {
	c.Push.Timeout, c.Push.RetryFirst = time.Second, 100*time.Millisecond
}

// inline is a send's configuration with a push config; extra are members of that.
func inline(url, extra string) string {
	return `{"taskPushNotificationConfig":` + merge(params("url", url), extra) + `}`
}

// setPush registers a webhook of a task in 1.0.
func (c *client) setPush(task, url, extra string, headers ...string) servertest.Answer {
	c.t.Helper()
	return c.v1("CreateTaskPushNotificationConfig", merge(params("taskId", task, "url", url), extra), headers...)
}

// told is what a webhook of 1.0 was told, without repeats: states, and the texts of
// chunks. It checks each body with the official types.
func told(t testing.TB, all []arrival) (list []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range all {
		if seen[a.id] {
			continue
		}
		seen[a.id] = true
		var m a2apb.StreamResponse
		if err := protojson.Unmarshal(a.Body, &m); err != nil || m.Payload == nil {
			t.Errorf("delivery is no StreamResponse: %v\n%s", err, a.Body)
		}
		if s, ok := a.Get("statusUpdate", "status", "state").(string); ok {
			list = append(list, strings.TrimPrefix(s, "TASK_STATE_"))
			continue
		}
		list = append(list, texts(a.Get("artifactUpdate", "artifact")))
	}
	return list
}

func wantTold(t testing.TB, all []arrival, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, told(t, all)); d != "" {
		t.Errorf("the webhook was told something else (-want +got):\n%s", d)
	}
}

// pushCases are about what reaches webhooks.
func pushCases() []bugCase {
	return []bugCase{
		{"B-118", "credentials_and_token_reach_the_webhook_alone", func(t *testing.T) {
			var log logBuffer
			c := &client{t: t, Server: servertest.New(t, servertest.Options{YAML: probeYAML(t), Log: &log, Edit: quickPush})}
			refuses := func(n int, _ *http.Request) int { return []int{500, 200}[min(n, 2)-1] }
			bearer, basic, bare := newHook(t, refuses), newHook(t, nil), newHook(t, nil)
			secret := `{"token":"the-token","authentication":{"scheme":"Bearer","credentials":"the-credentials"}}`
			a := c.send("@ask", "", inline(bearer.url+"?key=the-query", secret))
			id := taskID(a)
			set := c.setPush(id, basic.url, `{"authentication":{"scheme":"Basic","credentials":"dXNlcjp0aGUtcGFzc3dvcmQ="}}`)
			want(t, set, "Basic", "result", "authentication", "scheme")
			c.setPush(id, bare.url, "")
			answers := []servertest.Answer{
				a, set, c.get(id), c.v1("ListTaskPushNotificationConfigs", params("taskId", id)),
				c.v03("tasks/pushNotificationConfig/list", params("id", id)), c.v03("tasks/pushNotificationConfig/get", params("id", id)),
				c.v1("GetTaskPushNotificationConfig", params("taskId", id, "id", set.Get("result", "id"))),
				c.send("blue", params("taskId", id), ""),
			}
			for hook, headers := range map[*hook]map[string]string{
				bearer: {"Authorization": "Bearer the-credentials", "X-A2a-Notification-Token": "the-token", "A2a-Notification-Token": "the-token"},
				basic:  {"Authorization": "Basic dXNlcjp0aGUtcGFzc3dvcmQ=", "X-A2a-Notification-Token": "", "A2a-Notification-Token": ""},
				bare:   {"Authorization": "", "X-A2a-Notification-Token": "", "A2a-Notification-Token": ""},
			} {
				for _, a := range hook.until(t, "TASK_STATE_COMPLETED") {
					for name, want := range headers {
						if got := strings.Join(a.Header.Values(name), ", "); got != want {
							t.Errorf("got %s %q, want %q", name, got, want)
						}
					}
					answers = append(answers, a.Answer)
				}
			}
			c.Stop()
			for _, s := range []string{"the-token", "the-credentials", "dXNlcjp0aGUtcGFzc3dvcmQ"} {
				for _, a := range answers {
					if strings.Contains(string(a.Body), s) {
						t.Errorf("%s is in %s", s, a.Body)
					}
				}
			}
			for _, s := range []string{"the-token", "the-credentials", "dXNlcjp0aGUtcGFzc3dvcmQ", "the-query"} {
				if strings.Contains(log.String(), s) {
					t.Errorf("%s is in the log:\n%s", s, log.String())
				}
			}
			if !strings.Contains(log.String(), "push failed") {
				t.Error("the log says nothing of the failure")
			}
		}},
		{"B-119", "content_type_and_length", func(t *testing.T) {
			c := probe(t)
			new1, old := newHook(t, nil), newHook(t, nil)
			c.send("@echo größer", "", inline(new1.url, ""))
			c.v03("message/send", message03(text03("@echo größer"), "", params("pushNotificationConfig", map[string]any{"url": old.url})))
			for hook, want := range map[*hook]string{new1: "application/a2a+json", old: "application/json"} {
				for _, a := range hook.until(t, "größer") {
					if got := a.Header.Get("Content-Type"); got != want {
						t.Errorf("got Content-Type %q, want %q", got, want)
					}
					if got := a.Header.Get("Content-Length"); got != strconv.Itoa(len(a.Body)) {
						t.Errorf("got Content-Length %q of %d bytes", got, len(a.Body))
					}
				}
			}
		}},
		{"B-121", "every_change_in_order", func(t *testing.T) {
			c := probe(t)
			asked, chunked := newHook(t, nil), newHook(t, nil)
			id := taskID(c.send("@ask", "", inline(asked.url, "")))
			asked.until(t, "TASK_STATE_INPUT_REQUIRED")
			c.send("blue", params("taskId", id), "")
			wantTold(t, asked.until(t, "TASK_STATE_COMPLETED"), "WORKING", "INPUT_REQUIRED", "WORKING", "blue", "COMPLETED")
			id = taskID(c.send("@chunks 3 1", "", inline(chunked.url, `{"id":"x"}`)))
			all := chunked.until(t, "TASK_STATE_COMPLETED")
			wantTold(t, all, "WORKING", "chunk-1 ", "chunk-2 ", "chunk-3 ", "COMPLETED")
			checkDeliveries(t, all, id+".x.")
		}},
		{"B-122", "failures_are_tried_again_and_disturb_nobody", func(t *testing.T) {
			c := probe(t, quickPush)
			var times []time.Time
			flaky := newHook(t, func(n int, _ *http.Request) int {
				times = append(times, time.Now())
				return []int{500, 500, 200}[min(n, 3)-1]
			})
			gone := newHook(t, func(int, *http.Request) int { return http.StatusGone })
			forbidden := newHook(t, func(int, *http.Request) int { return http.StatusForbidden })
			hang := make(chan struct{})
			defer close(hang)
			hanging := newHook(t, func(int, *http.Request) int { <-hang; return 200 })
			good := newHook(t, nil)
			id := taskID(c.send("@ask", "", ""))
			for _, h := range []*hook{flaky, gone, forbidden, hanging, good} {
				c.setPush(id, h.url, "")
			}
			began := time.Now()
			c.send("blue", params("taskId", id), "")
			wantTold(t, good.until(t, "TASK_STATE_COMPLETED"), "WORKING", "blue", "COMPLETED")
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the good webhook was told after %s", took)
			}
			all := flaky.until(t, "TASK_STATE_COMPLETED")
			wantTold(t, all, "WORKING", "blue", "COMPLETED")
			if len(all) != 5 || all[0].id != all[1].id || all[0].id != all[2].id {
				t.Errorf("got %d requests, want 5, the first three of one delivery", len(all))
			}
			// The pauses are between half and all of 100 ms, 200 ms and so on.
			if one, two := times[1].Sub(times[0]), times[2].Sub(times[1]); one < 50*time.Millisecond || two < 100*time.Millisecond {
				t.Errorf("got pauses of %s and %s, want them to grow", one, two)
			}
			// What is refused for good is not sent again: one request for each event, and
			// after a 410 none.
			eventually(t, "the refused events are given up", func() bool { return len(forbidden.got()) == 3 })
			wantTold(t, forbidden.got(), "WORKING", "blue", "COMPLETED")
			if n := len(gone.got()); n != 1 {
				t.Errorf("the webhook that is gone got %d requests, want 1", n)
			}
		}},
		{"B-124", "ids_and_deletions", func(t *testing.T) {
			c := probe(t)
			task := c.bg("@sleep 60")
			c.setPush(task, "https://hooks.example.com/a", "")
			c.setPush(task, "https://hooks.example.com/b", `{"id":""}`)
			list := func() []any {
				l, _ := c.v1("ListTaskPushNotificationConfigs", params("taskId", task)).Get("result", "configs").([]any)
				return l
			}
			id := func(i int) string { s, _ := members(list()[i])["id"].(string); return s }
			if l := list(); len(l) != 2 || id(0) == id(1) || id(0) == "" || id(1) == "" {
				t.Fatalf("got configs %v, want two with ids", l)
			}
			want(t, c.setPush(task, "https://hooks.example.com/c", params("id", id(1))), id(1), "result", "id")
			if l := list(); len(l) != 2 || members(l[1])["url"] != "https://hooks.example.com/c" {
				t.Errorf("got configs %v, want the second one changed in place", l)
			}
			gone := id(0)
			for range 2 {
				want(t, c.v1("DeleteTaskPushNotificationConfig", params("taskId", task, "id", gone)), nil, "error")
			}
			want(t, c.v03("tasks/pushNotificationConfig/delete", params("id", task, "pushNotificationConfigId", gone)), nil, "error")
			if l := list(); len(l) != 1 {
				t.Errorf("got configs %v, want one", l)
			}
		}},
		{"B-125", "missing_config", func(t *testing.T) {
			c := probe(t)
			for _, task := range []string{c.bg("@sleep 60"), "none"} {
				wantCode(t, c.v1("GetTaskPushNotificationConfig", params("taskId", task, "id", "nope")), -32001)
				wantCode(t, c.v03("tasks/pushNotificationConfig/get", params("id", task, "pushNotificationConfigId", "nope")), -32001)
				wantCode(t, c.v03("tasks/pushNotificationConfig/get", params("id", task)), -32001)
			}
			wantCode(t, c.v1("ListTaskPushNotificationConfigs", params("taskId", "none")), -32001)
			wantCode(t, c.v1("DeleteTaskPushNotificationConfig", params("taskId", "none", "id", "x")), -32001)
			wantCode(t, c.setPush("none", "https://hooks.example.com", ""), -32001)
		}},
		{"B-086", "cancel_and_panic_reach_streams_and_webhooks_once", func(t *testing.T) {
			c := probe(t)
			for command, state := range map[string]string{"@sleep 60": "TASK_STATE_CANCELED", "@ask": "TASK_STATE_CANCELED", "@panic": "TASK_STATE_FAILED", "@noterm": "TASK_STATE_FAILED"} {
				h := newHook(t, nil)
				task := taskID(c.send(command, "", merge(inline(h.url, ""), `{"returnImmediately":true}`)))
				follow := openStream(t, c.Server, http.MethodPost, "/", onTask("SubscribeToTask", task), alice, v10, "Last-Event-ID: 0")
				if state == "TASK_STATE_CANCELED" {
					if _, ok := follow.next(); !ok {
						t.Fatal("no first frame")
					}
					wantState(t, c.cancel(task), state)
				}
				began := time.Now()
				frames := follow.rest()
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("%s: the stream ended after %s", command, took)
				}
				if got := states(frames); !strings.HasSuffix(got, state) || strings.Count(got, state) != 1 {
					t.Errorf("%s: the stream showed %s, want %s once, at the end", command, got, state)
				}
				h.until(t, state)
				// Nothing can follow: the config has caught up with an ended task.
				n := 0
				for _, s := range told(t, h.got()) {
					if "TASK_STATE_"+s == state {
						n++
					}
				}
				if ids := len(h.got()); n != 1 || ids != len(told(t, h.got())) {
					t.Errorf("%s: the webhook was told %v in %d requests, want %s once", command, told(t, h.got()), ids, state)
				}
			}
		}},
	}
}

// guardCases are about what webhooks may be.
func guardCases() []bugCase {
	return []bugCase{
		{"B-127", "addresses_of_our_own_network", func(t *testing.T) {
			c := probe(t, func(cfg *configs.Config) { cfg.Push.AllowPrivateNetworks, cfg.Push.AllowHTTP = false, true })
			task := c.bg("@sleep 60")
			for _, host := range []string{
				"[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]", "[::]", "[2002:7f00:1::]", "[::1]", "[fe80::1]", "[fc00::1]",
				"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0", "10.0.0.1", "169.254.169.254", "100.64.0.1", "localhost", "localhost.", "a.localhost",
			} {
				for _, scheme := range []string{"http://", "https://"} {
					a := c.setPush(task, scheme+host+"/hook", "")
					wantCode(t, a, -32602)
					want(t, a, "url", "error", "data", 1, "fieldViolations", 0, "field")
					wantCode(t, c.send("@echo x", "", inline(scheme+host+"/hook", "")), -32602)
					wantCode(t, c.v03("tasks/pushNotificationConfig/set", params("taskId", task, "pushNotificationConfig", map[string]any{"url": scheme + host})), -32602)
				}
			}
			want(t, c.setPush(task, "http://203.0.113.300.example.com/", ""), nil, "error")
			want(t, c.v1("ListTasks", `{}`), 1, "result", "totalSize") // what was refused left no task

			// Redirects are not followed; names that resolve to another address later are
			// refused at the dial (see server/push).
			r := probe(t, quickPush)
			target := newHook(t, nil)
			s := newHook(t, func(int, *http.Request) int { return http.StatusFound })
			good := newHook(t, nil)
			task = taskID(r.send("@ask", "", inline(s.url, "")))
			r.setPush(task, good.url, "")
			r.send("blue", params("taskId", task), "")
			good.until(t, "TASK_STATE_COMPLETED")
			eventually(t, "the redirecting webhook is tried again", func() bool { return len(s.got()) > 1 })
			if n := len(target.got()); n != 0 {
				t.Errorf("the redirect was followed %d times", n)
			}
		}},
		{"B-128", "header_injection_and_many_configs", func(t *testing.T) {
			c := probe(t, func(cfg *configs.Config) { cfg.Push.MaxPerTask = 3 })
			task := c.bg("@sleep 60")
			const url = "https://hooks.example.com/h"
			for _, extra := range []string{
				`{"authentication":{"scheme":"Bearer","credentials":"a\r\nX-Evil: 1"}}`, `{"authentication":{"scheme":"Bearer","credentials":"a\u0000"}}`,
				`{"authentication":{"scheme":"Bearer\r\nX","credentials":"a"}}`, `{"authentication":{"scheme":"Bearer a","credentials":"a"}}`,
				`{"token":"t\nX: y"}`, `{"token":"t\u007f"}`, `{"token":"` + strings.Repeat("t", 100_000) + `"}`,
				`{"authentication":{"credentials":"a"}}`, `{"authentication":{"scheme":"","credentials":"a"}}`,
			} {
				wantCode(t, c.setPush(task, url, extra), -32602)
				wantCode(t, c.send("@echo x", "", inline(url, extra)), -32602)
				old := strings.NewReplacer(`"scheme":"Bearer\r\nX"`, `"schemes":["Bearer\r\nX"]`, `"scheme":"Bearer a"`, `"schemes":["Bearer a"]`, `"scheme":"Bearer"`, `"schemes":["Bearer"]`, `"scheme":""`, `"schemes":[""]`).Replace(extra)
				wantCode(t, c.v03("tasks/pushNotificationConfig/set", `{"taskId":`+quote(task)+`,"pushNotificationConfig":`+merge(params("url", url), old)+`}`), -32602)
			}
			wantCode(t, c.setPush(task, "https://hooks.example.com/\r\nX-Evil: 1", ""), -32602)
			for i := range 3 {
				want(t, c.setPush(task, fmt.Sprint(url, i), ""), nil, "error")
			}
			for range 3 {
				wantCode(t, c.setPush(task, url, ""), -32602)
			}
			list, _ := c.v1("ListTaskPushNotificationConfigs", params("taskId", task)).Get("result", "configs").([]any)
			if len(list) != 3 {
				t.Fatalf("got %d configs, want 3", len(list))
			}
			// One that is there may still be changed, and another one after a deletion.
			first := members(list[0])["id"]
			want(t, c.setPush(task, url, params("id", first)), nil, "error")
			c.v1("DeleteTaskPushNotificationConfig", params("taskId", task, "id", first))
			want(t, c.setPush(task, url, ""), nil, "error")
			if !slices.ContainsFunc(list, func(v any) bool { return members(v)["url"] == url+"2" }) {
				t.Errorf("got configs %v, want those that were made", list)
			}
		}},
	}
}
