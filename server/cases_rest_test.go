package server_test

import (
	"net/http"
	"strings"
	"testing"
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
			for _, verb := range []string{http.MethodGet, http.MethodPost} {
				wantStatus(t, c.rest("", verb, "/tasks/none:subscribe", ""), 404, "TASK_NOT_FOUND")
			}
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
