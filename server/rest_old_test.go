package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/server/servertest"
)

// rest03 makes a REST request of 0.3 as alice and holds the answer against the
// members that the older ProtoJSON has.
func (c *client) rest03(verb, path, body string, headers ...string) servertest.Answer {
	c.t.Helper()
	a := c.Do(verb, restOld+path, body, append([]string{alice}, headers...)...)
	if a.Header.Get("Content-Type") == "text/event-stream" {
		for _, f := range framesOf(a) {
			checkOldProto(c.t, f)
		}
		return a
	}
	checkOldProto(c.t, a)
	return a
}

// oldProto are the members of the messages of package a2a.v1, by the member that
// holds one; "" is the answer itself, which may be any.
var oldProto = map[string][]string{
	"":                       {"task", "message", "statusUpdate", "artifactUpdate", "tasks", "nextPageToken", "pageSize", "totalSize", "configs", "id", "contextId", "status", "artifacts", "history", "metadata", "name", "pushNotificationConfig"},
	"task":                   {"id", "contextId", "status", "artifacts", "history", "metadata"},
	"tasks":                  {"id", "contextId", "status", "artifacts", "history", "metadata"},
	"statusUpdate":           {"taskId", "contextId", "status", "final", "metadata"},
	"artifactUpdate":         {"taskId", "contextId", "artifact", "append", "lastChunk", "metadata"},
	"status":                 {"state", "message", "timestamp"},
	"message":                {"messageId", "contextId", "taskId", "role", "content", "metadata", "extensions"},
	"history":                {"messageId", "contextId", "taskId", "role", "content", "metadata", "extensions"},
	"artifact":               {"artifactId", "name", "description", "parts", "metadata", "extensions"},
	"artifacts":              {"artifactId", "name", "description", "parts", "metadata", "extensions"},
	"content":                {"text", "file", "data", "metadata"},
	"parts":                  {"text", "file", "data", "metadata"},
	"file":                   {"fileWithUri", "fileWithBytes", "mimeType", "name"},
	"data":                   {"data"},
	"configs":                {"name", "pushNotificationConfig"},
	"pushNotificationConfig": {"id", "url", "token", "authentication"},
	"authentication":         {"schemes", "credentials"},
}

func checkOldProto(t testing.TB, a servertest.Answer) {
	t.Helper()
	if a.Header.Get("Content-Type") != "application/json" && a.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("content type is %s", a.Header.Get("Content-Type"))
	}
	if a.Status != 200 {
		checkError(t, a.Body, "type")
		if code, _ := a.Get("code").(interface{ Int64() (int64, error) }); code == nil {
			t.Errorf("error has no number: %s", a.Body)
		}
		return
	}
	var walk func(in string, v any)
	walk = func(in string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				if !slices.Contains(oldProto[in], name) {
					t.Errorf("member %q in %q, which the older ProtoJSON does not have: %s", name, in, clip(a.Body))
				}
				if name != "metadata" && !(in == "data" && name == "data") {
					walk(name, member)
				}
			}
		case []any:
			for _, e := range v {
				walk(in, e)
			}
		case string:
			if in == "state" && (!strings.HasPrefix(v, "TASK_STATE_") || v == "TASK_STATE_CANCELED") || in == "role" && !strings.HasPrefix(v, "ROLE_") {
				t.Errorf("%s is %q: %s", in, v, clip(a.Body))
			}
		}
	}
	walk("", object(t, a.Body))
}

// message03p is a message in the older ProtoJSON.
func message03p(content, extra, configuration string) string {
	m := merge(`{"messageId":"`+uuid.NewString()+`","role":"ROLE_USER","content":[`+content+`]}`, extra)
	if configuration != "" {
		m += `,"configuration":` + configuration
	}
	return `{"message":` + m + `}`
}

func TestRestOld_Operations(t *testing.T) {
	c := probe(t, withExtendedCard)
	a := c.rest03("POST", "/message:send", message03p(`{"text":"@echo hi"}`, "", `{"blocking":true}`))
	want(t, a, "TASK_STATE_COMPLETED", "task", "status", "state")
	want(t, a, "hi", "task", "artifacts", 0, "parts", 0, "text")
	want(t, a, "@echo hi", "task", "history", 0, "content", 0, "text")
	want(t, a, "ROLE_AGENT", "task", "history", 1, "role") // as 0.3 shows it elsewhere
	id := a.Get("task", "id").(string)
	want(t, c.rest03("GET", "/tasks/"+id, ""), id, "id")
	want(t, c.rest03("GET", "/tasks/"+id+"?history_length=1", ""), nil, "history", 1)
	// A zero in the URL was written on purpose; in the body it may stand for no length.
	want(t, c.rest03("GET", "/tasks/"+id+"?historyLength=0", ""), nil, "history")
	want(t, c.rest03("GET", "/tasks", ""), id, "tasks", 0, "id")
	a = c.rest03("POST", "/message:send", message03p(`{"text":"@echo hi"}`, "", `{"blocking":true,"historyLength":0}`))
	want(t, a, "@echo hi", "task", "history", 0, "content", 0, "text")
	// Members have the names of their fields, too: message is request.
	a = c.rest03("POST", "/message:send", `{"request":{"message_id":"m","role":"ROLE_USER","content":[{"text":"@echo hi"}]}}`)
	want(t, a, "hi", "task", "artifacts", 0, "parts", 0, "text")
	want(t, c.rest03("GET", "/tasks/none", ""), "TaskNotFoundError", "type")
	// It is the task of every other dialect.
	want(t, c.v03("tasks/get", params("id", id)), "completed", "result", "status", "state")

	frames := framesOf(c.rest03("POST", "/message:stream", message03p(`{"text":"@chunks 2 1"}`, "", "")))
	want(t, frames[0], "TASK_STATE_SUBMITTED", "task", "status", "state")
	want(t, frames[len(frames)-1], true, "statusUpdate", "final")
	frames = framesOf(c.rest03("POST", "/message:stream", message03p(`{"text":"@ask"}`, "", "")))
	want(t, frames[len(frames)-1], "TASK_STATE_INPUT_REQUIRED", "statusUpdate", "status", "state")
	want(t, frames[len(frames)-1], true, "statusUpdate", "final")
	for _, verb := range []string{"GET", "POST"} {
		// An ended task is shown once more.
		want(t, framesOf(c.rest03(verb, "/tasks/"+id+":subscribe", ""))[0], id, "task", "id")
	}

	running := c.bg("@sleep 60")
	want(t, c.rest03("POST", "/tasks/"+running+":cancel", `{"name":"tasks/`+running+`"}`), "TASK_STATE_CANCELLED", "status", "state")
	want(t, c.rest03("GET", "/tasks?status=TASK_STATE_CANCELLED", ""), running, "tasks", 0, "id")
	want(t, c.rest03("POST", "/tasks/"+running+":cancel", ""), -32002, "code")
	card := c.Do("GET", restOld+"/card", "", alice)
	want(t, card, "0.3.0", "protocolVersion")
	// Clients read the schemes as JSON Schema or as Protocol Buffers have them.
	for _, path := range [][]any{{"bearer", "scheme"}, {"bearer", "httpAuthSecurityScheme", "scheme"}} {
		want(t, card, "bearer", append([]any{"securitySchemes"}, path...)...)
	}
	want(t, card, "X-API-Key", "securitySchemes", "apiKey", "apiKeySecurityScheme", "name")
	want(t, c.v03("agent/getAuthenticatedExtendedCard", "{}"), nil, "result", "securitySchemes", "bearer", "httpAuthSecurityScheme")
}

// TestRestOld_Lenient: the shapes of JSON-RPC, which the prose of 0.3 shows, are
// read, too.
func TestRestOld_Lenient(t *testing.T) {
	c := probe(t)
	for _, tc := range []struct{ body, got string }{
		{message03p(`{"text":"@data"},{"data":{"data":{"a":9007199254740993}}}`, "", ""), `{"data":{"data":{"a":9007199254740993}}}`},
		{message03p(`{"text":"@data"},{"data":{"a":1}}`, "", ""), `{"data":{"data":{"a":1}}}`},
		{message03p(`{"text":"@data"},{"kind":"data","data":{"data":{"a":1}}}`, "", ""), `{"data":{"data":{"data":{"a":1}}}}`},
		{message03p(`{"text":"@data"},{"data":{"data":{"value":[1]}},"metadata":{"data_part_compat":true}}`, "", ""), `{"data":{"data":{"value":[1]}},"metadata":{"data_part_compat":true}}`},
		{message03p(`{"text":"@data"},{"file":{"fileWithBytes":"QUJD","mimeType":"text/plain","name":"n"}}`, "", ""), `{"file":{"fileWithBytes":"QUJD","mimeType":"text/plain","name":"n"}}`},
		{message03p(`{"text":"@data"},{"file":{"file_with_uri":"https://h.example/","mime_type":"text/plain"}}`, "", ""), `{"file":{"fileWithUri":"https://h.example/","mimeType":"text/plain"}}`},
		{message03(`{"kind":"text","text":"@data"},{"kind":"file","file":{"bytes":"QUJD","mimeType":"text/plain"}}`, "", ""), `{"file":{"fileWithBytes":"QUJD","mimeType":"text/plain"}}`},
		{`{"message":{"message_id":"m","role":1,"content":[{"text":"@data"},{"text":"y"}]}}`, `{"text":"y"}`},
		{`{"message":{"messageId":"m","role":"user","parts":[{"type":"text","text":"@data"},{"type":"text","text":"y"}]}}`, `{"text":"y"}`},
	} {
		a := c.rest03("POST", "/message:send", tc.body)
		want(t, a, "TASK_STATE_COMPLETED", "task", "status", "state")
		if !strings.Contains(string(a.Body), `"artifacts":[`) || !strings.Contains(string(a.Body), `"parts":[`+tc.got) {
			t.Errorf("%s: got %s, want %s in an artifact", tc.body, clip(a.Body), tc.got)
		}
	}
	for _, body := range []string{
		`{}`, `{"message":{"messageId":"m","role":"ROLE_USER"}}`, `{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"x"}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","content":[{"hologram":{}}]}}`, `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"a","data":{"data":{}}}]}}`,
	} {
		a := c.rest03("POST", "/message:send", body)
		want(t, a, -32602, "code")
		if a.Status != 400 {
			t.Errorf("%s: got HTTP %d, want 400", body, a.Status)
		}
	}
}

// TestRestOld_Blocking: false is left out of ProtoJSON, so a configuration without
// blocking does not block.
func TestRestOld_Blocking(t *testing.T) {
	c := probe(t)
	for _, cfg := range []string{`{}`, `{"blocking":false}`, `{"acceptedOutputModes":["text/plain"]}`} {
		a := c.rest03("POST", "/message:send", message03p(`{"text":"@sleep 60"}`, "", cfg))
		want(t, a, one("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), "task", "status", "state")
		c.cancel(a.Get("task", "id").(string))
	}
	for _, cfg := range []string{``, `null`, `{"blocking":true}`} {
		a := c.rest03("POST", "/message:send", message03p(`{"text":"@echo x"}`, "", cfg))
		want(t, a, "TASK_STATE_COMPLETED", "task", "status", "state")
	}
}

// TestRestOld_Push: configs in every shape that clients send.
func TestRestOld_Push(t *testing.T) {
	c := probe(t)
	id := c.bg("@sleep 60")
	path := "/tasks/" + id + "/pushNotificationConfigs"
	const config = `{"url":"http://127.0.0.1:9/","token":"s3cret","authentication":{"schemes":["Bearer"],"credentials":"s3cret"}}`
	name := func(cid string) string { return "tasks/" + id + "/pushNotificationConfigs/" + cid }
	for _, tc := range []struct{ query, body, id string }{
		{"", config, "default"},
		{"", `{"name":"` + name("") + `","pushNotificationConfig":` + config + `}`, "default"},
		{"", `{"name":"` + name("p-1") + `","pushNotificationConfig":` + config + `}`, "p-1"},
		{"?configId=p-2", `{"name":"` + name("") + `","pushNotificationConfig":` + config + `}`, "p-2"},
		{"?config_id=p-3", config, "p-3"},
		{"", `{"parent":"tasks/` + id + `","configId":"p-4","config":{"name":"","pushNotificationConfig":` + config + `}}`, "p-4"},
		{"", `{"parent":"tasks/` + id + `","config":` + merge(config, `{"id":"p-5"}`) + `}`, "p-5"},
		{"", `{"taskId":"` + id + `","pushNotificationConfig":` + merge(config, `{"id":"p-6"}`) + `}`, "p-6"},
	} {
		a := c.rest03("POST", path+tc.query, tc.body)
		want(t, a, name(tc.id), "name")
		want(t, a, tc.id, "pushNotificationConfig", "id")
		want(t, a, "Bearer", "pushNotificationConfig", "authentication", "schemes", 0)
		want(t, c.rest03("GET", path+"/"+tc.id, ""), name(tc.id), "name")
		if strings.Contains(string(a.Body), "s3cret") {
			t.Errorf("answer shows a secret: %s", a.Body)
		}
	}
	want(t, c.rest03("GET", path, ""), name("p-6"), "configs", 6, "name")
	want(t, c.rest03("DELETE", path+"/p-6", ""), nil, "configs")
	want(t, c.rest03("GET", path+"/p-6", ""), -32001, "code")
	for _, body := range []string{`{}`, `{"parent":"tasks/other","config":` + config + `}`, `{"name":"tasks/other/pushNotificationConfigs/","pushNotificationConfig":` + config + `}`} {
		want(t, c.rest03("POST", path, body), -32602, "code")
	}
	c.cancel(id)
}

// TestRestOld_Go: the Go SDK names 0.3 at the paths of 1.0, and writes all names in snake
// case, those in metadata too.
func TestRestOld_Go(t *testing.T) {
	c := probe(t, withExtendedCard)
	do := func(verb, path, body string) servertest.Answer {
		return c.Do(verb, restBase+path, body, alice, "A2A-Version: 0.3")
	}
	a := do("POST", "/message:send", `{"message":{"kind":"message","message_id":"m-1","role":"user","context_id":"of-go",
		"parts":[{"kind":"text","text":"@sleep 60"}],"metadata":{"skill_id":"probe"}},"configuration":{"blocking":false}}`)
	want(t, a, "task", "kind")
	want(t, a, "of-go", "contextId")
	want(t, a, "message.metadata.skillId", "metadata", "skillSource")
	id := a.Get("id").(string)
	push := do("POST", "/tasks/"+id+"/pushNotificationConfigs", `{"task_id":"`+id+`","push_notification_config":{"id":"p","url":"http://127.0.0.1:9/x"}}`)
	want(t, push, "p", "pushNotificationConfig", "id")
	want(t, do("GET", "/tasks/"+id+"/pushNotificationConfigs", ""), id, 0, "taskId")
	want(t, do("POST", "/tasks/"+id+":cancel", ""), "canceled", "status", "state")
	for query, n := range map[string]int{
		"status=canceled": 1, "status=working": 0, "lastUpdatedAfter=2020-01-01T00:00:00Z": 1, "lastUpdatedAfter=2999-01-01T00:00:00Z": 0,
	} {
		want(t, do("GET", "/tasks?contextId=of-go&"+query, ""), n, "totalSize")
	}
	want(t, do("GET", "/extendedAgentCard", ""), "0.3.0", "protocolVersion")
	wantStatus(t, do("GET", "/tasks/none", ""), 404, "TASK_NOT_FOUND")
	// What only this client writes means nothing in 1.0.
	wantStatus(t, c.rest("ListTasks", "GET", "/tasks?status=canceled", ""), 400, "INVALID_PARAMS")
}
