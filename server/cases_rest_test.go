package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
)

// restCases are about the REST binding.
func restCases() []bugCase {
	return []bugCase{
		{"B-050", "statuses_of_errors", func(t *testing.T) {
			c := probe(t)
			id := c.done("@echo x", "")
			wantStatus(t, c.rest("", "GET", "/tasks/none", ""), 404, "TASK_NOT_FOUND")
			wantStatus(t, c.rest("", "POST", "/tasks/"+id+":cancel", ""), 400, "TASK_NOT_CANCELABLE")
			wantStatus(t, c.rest("", "POST", "/message:send", message("more", `{"taskId":"`+id+`"}`, "")), 400, "UNSUPPORTED_OPERATION")
			wantStatus(t, c.rest("", "GET", "/tasks/none", "", "A2A-Version: 99.0"), 400, "VERSION_NOT_SUPPORTED")
			wantStatus(t, c.rest("", "POST", "/message:send", parts1(`{"url":"https://e.example/a.mp4","mediaType":"video/mp4"}`)), 400, "CONTENT_TYPE_NOT_SUPPORTED")
		}},
		{"B-052", "cancel_with_any_body", func(t *testing.T) {
			c := probe(t)
			for _, body := range []string{"", "{}", "null", `{"metadata":{"why":"test"}}`, `{"x":1}`, `{"id":""}`} {
				for _, verb := range []string{":cancel", "%3Acancel", "%3acancel"} {
					for _, ct := range []string{"application/json", "application/a2a+json", ""} {
						if body != "" && ct == "" {
							continue
						}
						id := c.bg("@sleep 60")
						a := c.rest("CancelTask", "POST", "/tasks/"+id+verb, body, "Content-Type: "+ct)
						want(t, a, "TASK_STATE_CANCELED", "status", "state")
					}
				}
			}
			// What has no body needs no type of it.
			id := c.bg("@sleep 60")
			want(t, c.rest("CancelTask", "POST", "/tasks/"+id+":cancel", "", "Content-Type: application/x-www-form-urlencoded"), "TASK_STATE_CANCELED", "status", "state")
			id = c.bg("@sleep 60")
			want(t, c.rest("CancelTask", "POST", "/tasks/"+id+":cancel", `{"id":"`+id+`"}`), "TASK_STATE_CANCELED", "status", "state")
			id = c.bg("@sleep 60")
			for _, body := range []string{`{"id":"other"}`, `{"id":7}`} {
				a := c.rest("CancelTask", "POST", "/tasks/"+id+":cancel", body)
				wantStatus(t, a, 400, "INVALID_PARAMS")
				want(t, a, "id", "error", "details", 1, "fieldViolations", 0, "field")
			}
			for _, name := range []string{"taskId", "task_id"} {
				a := c.rest("", "POST", "/tasks/"+id+"/pushNotificationConfigs", `{"`+name+`":"other","url":"http://127.0.0.1:9/"}`)
				wantStatus(t, a, 400, "INVALID_PARAMS")
			}
			want(t, c.get(id), one("TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"), "result", "status", "state")
			c.cancel(id)
		}},
		{"B-053", "subscribe_by_both_verbs", func(t *testing.T) {
			c := probe(t)
			id := c.bg("@sleep 60")
			var streams []*stream
			for _, verb := range []string{http.MethodGet, http.MethodPost} {
				s := openStream(t, c.Server, verb, restBase+"/tasks/"+id+":subscribe", "", alice, v10)
				f, ok := s.next()
				if !ok {
					t.Fatalf("%s: no first frame", verb)
				}
				if !strings.Contains(string(f.Body), `{"task":{"id":"`+id) {
					t.Errorf("%s: first frame is %s, want the task", verb, f.Body)
				}
				streams = append(streams, s)
			}
			c.rest("CancelTask", "POST", "/tasks/"+id+":cancel", "")
			for _, s := range streams {
				last := ""
				for f, ok := s.next(); ok; f, ok = s.next() {
					if len(f.Body) > 0 {
						last = string(f.Body)
					}
				}
				if !strings.Contains(last, "TASK_STATE_CANCELED") {
					t.Errorf("last frame is %s, want canceled", last)
				}
			}
			for _, tc := range [][2]string{{"GET", "/message:send"}, {"POST", "/tasks"}, {"DELETE", "/tasks/" + id}, {"GET", "/tasks/" + id + ":cancel"}, {"DELETE", "/tasks/" + id + ":subscribe"}} {
				a := c.rest("", tc[0], tc[1], "")
				wantStatus(t, a, 405, "METHOD_NOT_ALLOWED")
				if a.Header.Get("Allow") == "" {
					t.Errorf("%s %s: no Allow header", tc[0], tc[1])
				}
			}
		}},
	}
}

// TestRest_Cases: the cases of envelopes and of input hold for REST, too.
func TestRest_Cases(t *testing.T) {
	send := func(c *client, message string) (code string, state any) {
		a := c.rest("SendMessage", "POST", "/message:send", `{"message":`+message+`}`)
		reason, _ := a.Get("error", "details", 0, "reason").(string)
		return reason, a.Get("task", "status", "state")
	}
	const done = "TASK_STATE_COMPLETED"
	t.Run("B-044_nothing_is_no_success", func(t *testing.T) {
		c := probe(t)
		const none = "/tasks/00000000-0000-4000-8000-00000000dead"
		for _, tc := range [][2]string{
			{"GET", none}, {"POST", none + ":cancel"}, {"POST", none + ":subscribe"}, {"GET", none + ":subscribe"},
			{"GET", none + "/pushNotificationConfigs"}, {"GET", none + "/pushNotificationConfigs/p"}, {"DELETE", none + "/pushNotificationConfigs/p"},
		} {
			wantStatus(t, c.rest("", tc[0], tc[1], ""), 404, "TASK_NOT_FOUND")
		}
		wantStatus(t, c.rest("", "POST", none+"/pushNotificationConfigs", `{"url":"http://127.0.0.1:9/"}`), 404, "TASK_NOT_FOUND")
	})
	t.Run("B-047_errors_before_the_stream", func(t *testing.T) {
		c := probe(t)
		for body, status := range map[string]int{`{}`: 400, `{"message":` + strings.TrimSuffix(strings.TrimPrefix(message("x", `{"taskId":"none"}`, ""), `{"message":`), "}") + `}`: 404} {
			a := c.rest("", "POST", "/message:stream", body, "Accept: text/event-stream")
			if a.Status != status || a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: got HTTP %d %s, want %d in JSON", body, a.Status, a.Header.Get("Content-Type"), status)
			}
		}
	})
	t.Run("B-055_unknown_members", func(t *testing.T) {
		a := probe(t).rest("SendMessage", "POST", "/message:send", `{"x":[],"configuration":{"x":{}},"message":{"messageId":"m","role":"ROLE_USER","x":1,"parts":[{"text":"@echo u","x":"y"}]}}`)
		want(t, a, done, "task", "status", "state")
	})
	t.Run("B-056_spellings_and_contents", func(t *testing.T) {
		c := probe(t)
		for part, reason := range map[string]string{
			`{"hologram":{}}`: "INVALID_PARAMS", `{"text":"@echo a","url":"https://e.example/x"}`: "INVALID_PARAMS", `{"text":"@echo a","hologram":1}`: "",
		} {
			if got, state := send(c, `{"messageId":"m","role":"ROLE_USER","parts":[`+part+`]}`); got != reason || reason == "" && state != done {
				t.Errorf("%s: got %q and %v, want %q", part, got, state, reason)
			}
		}
		if got, state := send(c, `{"message_id":"m","role":1,"parts":[{"text":"@echo d"}]}`); state != done {
			t.Errorf("snake_case: got %q and %v, want %s", got, state, done)
		}
	})
	t.Run("B-059_blank_ids", func(t *testing.T) {
		c := probe(t)
		for id, reason := range map[string]string{`"   "`: "INVALID_PARAMS", `"\t"`: "INVALID_PARAMS", `""`: ""} {
			if got, _ := send(c, `{"messageId":"m","role":"ROLE_USER","taskId":`+id+`,"parts":[{"text":"@echo x"}]}`); got != reason {
				t.Errorf("task id %s: got %q, want %q", id, got, reason)
			}
		}
		wantStatus(t, c.rest("", "GET", "/tasks/%20", ""), 400, "INVALID_PARAMS")
	})
	t.Run("B-065_files", func(t *testing.T) {
		c := probe(t, func(cfg *configs.Config) { cfg.Server.MaxBodyBytes = 2 << 20 })
		raw := strings.Repeat("AAAA", 300_000)
		a := c.rest("SendMessage", "POST", "/message:send", parts1(`{"text":"@data"},{"raw":"`+raw+`","mediaType":"application/octet-stream"}`))
		want(t, a, raw, "task", "artifacts", 0, "parts", 0, "raw")
		a = c.rest("SendMessage", "POST", "/message:send", parts1(`{"raw":"`+raw+raw+`"}`))
		wantStatus(t, a, 413, "TOO_LARGE")
		wantStatus(t, c.rest("SendMessage", "POST", "/message:send", parts1(`{"raw":"?"}`)), 400, "INVALID_PARAMS")
	})
	t.Run("B-172_optional_members", func(t *testing.T) {
		c := probe(t)
		for _, cfg := range []string{`{}`, `null`, `{"acceptedOutputModes":[]}`, `{"historyLength":null,"taskPushNotificationConfig":null}`} {
			a := c.rest("SendMessage", "POST", "/message:send", `{"configuration":`+cfg+`,"metadata":null,"message":{"messageId":"m","role":"ROLE_USER","metadata":null,"extensions":null,"contextId":null,"taskId":null,"parts":[{"text":"@echo n","metadata":null}]}}`)
			want(t, a, done, "task", "status", "state")
		}
	})
}
