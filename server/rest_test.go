package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// restBase is where the REST binding is, and old where its 0.3 is.
const (
	restBase = "/rest"
	restOld  = "/rest/v1"
)

// rest makes a REST request of 1.0 as alice and holds the answer against the
// official types; method is the name of the operation's rpc.
func (c *client) rest(method, verb, path, body string, headers ...string) servertest.Answer {
	c.t.Helper()
	a := c.Do(verb, restBase+path, body, append([]string{alice}, headers...)...)
	checkRest(c.t, method, a)
	return a
}

func checkRest(t testing.TB, method string, a servertest.Answer) {
	t.Helper()
	if a.Status != http.StatusOK {
		checkStatus(t, a)
		return
	}
	if a.Header.Get("Content-Type") == "text/event-stream" {
		for _, f := range framesOf(a) {
			checkResultV1(t, method, f.Body)
		}
		return
	}
	if method == "DeleteTaskPushNotificationConfig" {
		if strings.TrimSpace(string(a.Body)) != "{}" {
			t.Errorf("got %s, want {}", a.Body)
		}
		return
	}
	checkResultV1(t, method, a.Body)
}

// checkStatus checks the form of a REST error: a google.rpc.Status with an
// ErrorInfo, and the HTTP status as its code.
func checkStatus(t testing.TB, a servertest.Answer) {
	t.Helper()
	e, ok := a.Get("error").(map[string]any)
	if !ok || len(e) != 4 || len(object(t, a.Body)) != 1 {
		t.Errorf("HTTP %d: got %s, want error with code, status, message and details alone", a.Status, clip(a.Body))
		return
	}
	want(t, a, a.Status, "error", "code")
	if s, _ := e["status"].(string); s == "" || s != strings.ToUpper(s) {
		t.Errorf("status is %q, want the name of a code", s)
	}
	raw, err := json.Marshal(map[string]any{"code": e["code"], "message": e["message"], "data": e["details"]})
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, raw)
}

// wantStatus checks the HTTP status and the reason of a REST error.
func wantStatus(t testing.TB, a servertest.Answer, status int, reason string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("got HTTP %d, want %d: %s", a.Status, status, clip(a.Body))
	}
	want(t, a, reason, "error", "details", 0, "reason")
}

// framesOf returns the data of the events of a stream.
func framesOf(a servertest.Answer) (frames []servertest.Answer) {
	for line := range strings.Lines(string(a.Body)) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok {
			frames = append(frames, servertest.Answer{Status: a.Status, Header: a.Header, Body: []byte(strings.TrimSpace(data))})
		}
	}
	return frames
}

func TestRest_Operations(t *testing.T) {
	c := probe(t, withExtendedCard)
	a := c.rest("SendMessage", "POST", "/message:send", message("@echo hi", "", ""))
	want(t, a, "TASK_STATE_COMPLETED", "task", "status", "state")
	want(t, a, "hi", "task", "artifacts", 0, "parts", 0, "text")
	id := a.Get("task", "id").(string)
	want(t, c.rest("GetTask", "GET", "/tasks/"+id, ""), id, "id")
	want(t, c.rest("GetTask", "GET", "/tasks/"+id+"?historyLength=0", ""), nil, "history")
	want(t, c.rest("ListTasks", "GET", "/tasks", ""), id, "tasks", 0, "id")

	stream := c.rest("SendStreamingMessage", "POST", "/message:stream", message("@chunks 2 1", "", ""))
	frames := framesOf(stream)
	if len(frames) < 3 {
		t.Fatalf("got %d frames, want a task, chunks and the end: %s", len(frames), stream.Body)
	}
	want(t, frames[len(frames)-1], "TASK_STATE_COMPLETED", "statusUpdate", "status", "state")

	running := c.bg("@sleep 60")
	push := "/tasks/" + running + "/pushNotificationConfigs"
	want(t, c.rest("CreateTaskPushNotificationConfig", "POST", push, `{"id":"p","url":"http://127.0.0.1:9/","token":"s3cret"}`), running, "taskId")
	want(t, c.rest("GetTaskPushNotificationConfig", "GET", push+"/p", ""), "p", "id")
	want(t, c.rest("ListTaskPushNotificationConfigs", "GET", push, ""), "p", "configs", 0, "id")
	c.rest("DeleteTaskPushNotificationConfig", "DELETE", push+"/p", "")
	wantStatus(t, c.rest("GetTaskPushNotificationConfig", "GET", push+"/p", ""), 404, "TASK_NOT_FOUND")
	want(t, c.rest("CancelTask", "POST", "/tasks/"+running+":cancel", ""), "TASK_STATE_CANCELED", "status", "state")
	want(t, c.rest("GetExtendedAgentCard", "GET", "/extendedAgentCard", ""), "1.0", "supportedInterfaces", 0, "protocolVersion")
}

// TestRest_Query: parameters in both spellings, and empty ones as absent.
func TestRest_Query(t *testing.T) {
	c := probe(t)
	a := c.rest("SendMessage", "POST", "/message:send", message("@echo hi", "", ""))
	context := a.Get("task", "contextId").(string)
	c.send("@fail", `{"contextId":"`+context+`"}`, "")
	for _, q := range []string{
		"?contextId=" + context + "&status=TASK_STATE_COMPLETED&pageSize=1&includeArtifacts=true&historyLength=0&statusTimestampAfter=2020-01-01T00:00:00Z",
		"?context_id=" + context + "&status=3&page_size=1&include_artifacts=true&history_length=0&status_timestamp_after=2020-01-01T00:00:00Z&page_token=",
	} {
		a := c.rest("ListTasks", "GET", "/tasks"+q, "")
		want(t, a, 1, "totalSize")
		want(t, a, 1, "pageSize")
		want(t, a, "hi", "tasks", 0, "artifacts", 0, "parts", 0, "text")
		want(t, a, nil, "tasks", 0, "history")
	}
	want(t, c.rest("ListTasks", "GET", "/tasks?contextId="+context+"&includeArtifacts=false", ""), nil, "tasks", 1, "artifacts")
	for _, q := range []string{"pageSize=0", "pageSize=101", "page_size=-1", "pageSize=1.5", "historyLength=-5", "pageToken=!!", "includeArtifacts=yes", "status=nonsense"} {
		a := c.rest("ListTasks", "GET", "/tasks?"+q, "")
		wantStatus(t, a, 400, "INVALID_PARAMS")
		if a.Get("error", "details", 1, "fieldViolations", 0, "field") == nil {
			t.Errorf("%s: got %s, want a BadRequest that names the field", q, clip(a.Body))
		}
	}
	page := c.rest("ListTasks", "GET", "/tasks?pageSize=1&contextId="+context, "")
	token := page.Get("nextPageToken").(string)
	want(t, c.rest("ListTasks", "GET", "/tasks?pageSize=1&contextId="+context+"&pageToken="+token, ""), a.Get("task", "id"), "tasks", 0, "id")
}

func TestRest_Paths(t *testing.T) {
	c := probe(t)
	id := c.done("@echo x", "")
	for _, path := range []string{"/tasks/" + id, "/tasks/" + id + "/", "/acme/tasks/" + id, "/%61cme/tasks/" + id} {
		want(t, c.rest("GetTask", "GET", path, ""), id, "id")
	}
	// A tenant is no right: bob does not see the task of alice under any.
	wantStatus(t, c.rest("GetTask", "GET", "/alice/tasks/"+id, "", bob), 404, "TASK_NOT_FOUND")
	// A skill's own base chooses the skill.
	a := c.Do("POST", "/skills/list_workspaces/rest/message:send", message("x", "", ""), alice)
	checkRest(t, "SendMessage", a)
	want(t, a, "mount", "task", "metadata", "skillSource")
	want(t, a, "list_workspaces", "task", "metadata", "skillId")

	for _, path := range []string{"/nowhere", "/tasks/a/b", "/tasks//x", "/v1/tasks/a/b", "/.well-known/x", "/", "/acme/v1/tasks"} {
		for _, verb := range []string{"GET", "POST", "DELETE"} {
			a := c.Do(verb, restBase+path, "", alice)
			if a.Status != 404 || a.Header.Get("Content-Type") != "application/json" || !json.Valid(a.Body) {
				t.Errorf("%s %s: got HTTP %d %s %s, want 404 in JSON", verb, path, a.Status, a.Header.Get("Content-Type"), clip(a.Body))
			}
		}
	}
	for path, allow := range map[string]string{
		"/message:send": "POST", "/message:stream": "POST", "/tasks": "GET", "/tasks/x": "GET", "/tasks/x:cancel": "POST",
		"/tasks/x:subscribe": "GET, POST", "/tasks/x/pushNotificationConfigs": "GET, POST",
		"/tasks/x/pushNotificationConfigs/y": "GET, DELETE", "/extendedAgentCard": "GET",
	} {
		for _, verb := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"} {
			if slices.Contains(strings.Split(allow, ", "), verb) {
				continue
			}
			a := c.Do(verb, restBase+path, "", alice)
			if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != allow {
				t.Errorf("%s %s: got HTTP %d, Allow %q; want 405, %q", verb, path, a.Status, a.Header.Get("Allow"), allow)
			}
			if verb != "HEAD" {
				checkStatus(t, a)
			}
		}
	}
}

func TestRest_MediaTypes(t *testing.T) {
	c := probe(t)
	const own = "application/a2a+json"
	body := message("@echo x", "", "")
	for _, tc := range []struct{ accept, content, want string }{
		{"", "application/json", "application/json"},
		{"*/*", "application/json", "application/json"},
		{"application/a2a+json, application/json", "application/json", own},
		{"", own, own},
		{"", "Application/A2A+JSON; charset=utf-8", own},
		{"text/html", "", "application/json"},
	} {
		a := c.rest("SendMessage", "POST", "/message:send", body, "Accept: "+tc.accept, "Content-Type: "+tc.content)
		if got := a.Header.Get("Content-Type"); a.Status != 200 || got != tc.want {
			t.Errorf("%+v: got HTTP %d %s", tc, a.Status, got)
		}
	}
	a := c.rest("GetTask", "GET", "/tasks/none", "", "Accept: "+own)
	if a.Header.Get("Content-Type") != own {
		t.Errorf("error: got %s, want %s", a.Header.Get("Content-Type"), own)
	}
	for _, ct := range []string{"text/plain", "application/x-www-form-urlencoded", "garbage;;"} {
		a := c.rest("SendMessage", "POST", "/message:send", body, "Content-Type: "+ct)
		wantStatus(t, a, 415, "CONTENT_TYPE_NOT_SUPPORTED")
	}
	wantStatus(t, c.rest("SendMessage", "POST", "/message:send", body, "Content-Encoding: gzip"), 415, "CONTENT_TYPE_NOT_SUPPORTED")
}

func TestRest_Bodies(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Server.MaxBodyBytes = 64 << 10 })
	for body, reason := range map[string]string{
		`{`: "PARSE_ERROR", `hello`: "PARSE_ERROR", `{"message":{}} tail`: "PARSE_ERROR", "{\"message\":\"\xff\"}": "PARSE_ERROR",
		`[]`: "INVALID_REQUEST", `"x"`: "INVALID_REQUEST", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100): "INVALID_REQUEST",
		``: "INVALID_PARAMS", `null`: "INVALID_PARAMS", `{}`: "INVALID_PARAMS", `{"message":{"role":"ROLE_USER"}}`: "INVALID_PARAMS",
	} {
		wantStatus(t, c.rest("SendMessage", "POST", "/message:send", body), 400, reason)
	}
	a := c.rest("SendMessage", "POST", "/message:send", message(strings.Repeat("x", 64<<10), "", ""))
	wantStatus(t, a, 413, "TOO_LARGE")
	want(t, a, "65536", "error", "details", 0, "metadata", "maxBodyBytes")
}

// TestRest_Middleware: what is refused before the binding speaks its words.
func TestRest_Middleware(t *testing.T) {
	c := probe(t)
	a := c.Do("POST", restBase+"/message:send", message("x", "", ""), "Authorization: Bearer wrong")
	wantStatus(t, a, 401, "UNAUTHENTICATED")
	checkStatus(t, a)
	if a.Header.Get("WWW-Authenticate") == "" {
		t.Error("401 without WWW-Authenticate")
	}
	a = c.Do("GET", restOld+"/tasks/x", "", "Authorization: Bearer wrong")
	want(t, a, -31401, "code")
	c = probe(t, func(cfg *configs.Config) { cfg.Limits.Write = configs.Rate{Requests: 1, Per: time.Minute} })
	c.rest("SendMessage", "POST", "/message:send", message("@echo x", "", ""))
	a = c.rest("SendMessage", "POST", "/message:send", message("@echo x", "", ""))
	wantStatus(t, a, 429, "RATE_LIMITED")
	if a.Header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	c.rest("GetTask", "GET", "/tasks/none", "") // reading is another class
}

func TestRest_Idempotency(t *testing.T) {
	c := probe(t)
	key := "Idempotency-Key: " + uuid.NewString()
	body := message("@echo x", "", "")
	first := c.rest("SendMessage", "POST", "/message:send", body, key)
	again := c.rest("SendMessage", "POST", "/message:send", body, key)
	if first.Get("task", "id") != again.Get("task", "id") {
		t.Errorf("got tasks %v and %v, want one", first.Get("task", "id"), again.Get("task", "id"))
	}
	wantStatus(t, c.rest("SendMessage", "POST", "/message:send", message("@echo y", "", ""), key), 422, "IDEMPOTENCY_CONFLICT")
	a := c.rest("SendMessage", "POST", "/message:send", message("@sleep 60", "", ""), "Prefer: respond-async")
	want(t, a, one("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), "task", "status", "state")
	c.cancel(a.Get("task", "id").(string))
}

func TestRest_Versions(t *testing.T) {
	c := probe(t)
	for _, v := range []string{"", "1.0", "1.0.1"} {
		wantStatus(t, c.rest("GetTask", "GET", "/tasks/none", "", "A2A-Version: "+v), 404, "TASK_NOT_FOUND")
	}
	for _, v := range []string{"0.2", "1.1", "99.0", "junk"} {
		wantStatus(t, c.rest("GetTask", "GET", "/tasks/none", "", "A2A-Version: "+v), 400, "VERSION_NOT_SUPPORTED")
		// Before anything else of the request is looked at.
		wantStatus(t, c.rest("SendMessage", "POST", "/message:send", "{", "A2A-Version: "+v), 400, "VERSION_NOT_SUPPORTED")
	}
	wantStatus(t, c.rest("GetTask", "GET", "/tasks/none?A2A-Version=99.0", ""), 400, "VERSION_NOT_SUPPORTED")
	for v, code := range map[string]int{"": -32001, "0.3": -32001, "0.3.0": -32001, "1.0": -32600, "99.0": -32600} {
		want(t, c.Do("GET", restOld+"/tasks/none", "", alice, "A2A-Version: "+v), code, "code")
	}
	strict := probe(t, func(cfg *configs.Config) { cfg.Compat.StrictVersion = true })
	wantStatus(t, strict.rest("GetTask", "GET", "/tasks/none", ""), 400, "VERSION_NOT_SUPPORTED")
	want(t, strict.Do("GET", restOld+"/tasks/none", "", alice), -32001, "code")
}

// TestRest_Wait: a status read waits for the task as long as its URL says.
func TestRest_Wait(t *testing.T) {
	c := probe(t)
	for _, base := range []string{restBase, restOld} {
		a := c.Do("GET", base+"/tasks/"+c.bg("@sleep 0.2")+"?wait=10s", "", alice)
		want(t, a, "TASK_STATE_COMPLETED", "status", "state")
	}
	wantStatus(t, c.rest("", "GET", "/tasks/x?wait=soon", ""), 400, "INVALID_PARAMS")
}

// TestRest_Errors100: a setting has the statuses of the first edition.
func TestRest_Errors100(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Compat.Errors = "1.0.0" })
	id := c.done("@echo x", "")
	wantStatus(t, c.rest("", "POST", "/tasks/"+id+":cancel", ""), 409, "TASK_NOT_CANCELABLE")
	wantStatus(t, c.rest("", "POST", "/message:send", parts1(`{"url":"https://e.example/a.mp4","mediaType":"video/mp4"}`)), 415, "CONTENT_TYPE_NOT_SUPPORTED")
	wantStatus(t, c.rest("", "GET", "/tasks/none", ""), 404, "TASK_NOT_FOUND")
}

// TestRest_Resume: a stream goes on behind the last event that its client has.
func TestRest_Resume(t *testing.T) {
	c := probe(t)
	whole := c.rest("SendStreamingMessage", "POST", "/message:stream", message("@chunks 3 1", "", ""))
	frames := framesOf(whole)
	id := frames[0].Get("task", "id").(string)
	ids := eventIDs(whole)
	if len(ids) != len(frames) {
		t.Fatalf("got %d ids of %d events", len(ids), len(frames))
	}
	for _, verb := range []string{"GET", "POST"} {
		for _, how := range []string{"header", "query"} {
			path, headers := "/tasks/"+id+":subscribe", []string(nil)
			if how == "query" {
				path += "?after=" + ids[0]
			} else {
				headers = []string{"Last-Event-ID: " + ids[0]}
			}
			a := c.rest("SubscribeToTask", verb, path, "", headers...)
			if d := cmp.Diff(bodies(frames[1:]), bodies(framesOf(a))); d != "" {
				t.Errorf("%s with %s: events differ (-want +got):\n%s", verb, how, d)
			}
		}
	}
	// Nothing is left of an ended task.
	wantStatus(t, c.rest("SubscribeToTask", "GET", "/tasks/"+id+":subscribe", ""), 400, "UNSUPPORTED_OPERATION")
}

func bodies(frames []servertest.Answer) (list []string) {
	for _, f := range frames {
		list = append(list, string(f.Body))
	}
	return list
}

func eventIDs(a servertest.Answer) (ids []string) {
	for line := range strings.Lines(string(a.Body)) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

// TestRest_Off: what is switched off is refused as the card declares it.
func TestRest_Off(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Stream.Enabled, cfg.Push.Enabled = false, false })
	id := c.bg("@sleep 60")
	wantStatus(t, c.rest("", "POST", "/message:stream", message("x", "", "")), 400, "UNSUPPORTED_OPERATION")
	wantStatus(t, c.rest("", "GET", "/tasks/"+id+":subscribe", ""), 400, "UNSUPPORTED_OPERATION")
	push := "/tasks/" + id + "/pushNotificationConfigs"
	for _, a := range []servertest.Answer{
		c.rest("", "POST", push, `{"url":"https://h.example/"}`), c.rest("", "GET", push, ""),
		c.rest("", "GET", push+"/p", ""), c.rest("", "DELETE", push+"/p", ""),
		c.rest("", "POST", "/message:send", message("x", "", `{"taskPushNotificationConfig":{"url":"https://h.example/"}}`)),
	} {
		wantStatus(t, a, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED")
	}
	wantStatus(t, c.rest("", "GET", "/extendedAgentCard", ""), 400, "UNSUPPORTED_OPERATION")
	want(t, c.Do("GET", restOld+"/card", "", alice), -32007, "code")
	c.cancel(id)
}
