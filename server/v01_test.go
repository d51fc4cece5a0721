package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// v01 calls a method as a client of 0.1 does, as alice, and holds the answer
// against the members that 0.1 has.
func (c *client) v01(method, params string, headers ...string) servertest.Answer {
	c.t.Helper()
	a := c.RPC(call(method, params), append([]string{alice}, headers...)...)
	checkV01(c.t, a)
	return a
}

// stream01 is v01 for methods that stream.
func (c *client) stream01(method, params string, headers ...string) []servertest.Answer {
	c.t.Helper()
	_, frames := c.stream(call(method, params), headers...)
	for _, f := range frames {
		checkV01(c.t, f)
	}
	if len(frames) == 0 {
		c.t.Fatalf("%s %s: no frames", method, params)
	}
	return frames
}

// members01 are the members of the objects of 0.1 by the member that holds one.
var members01 = map[string][]string{
	"result":                 {"id", "sessionId", "status", "artifacts", "history", "metadata", "final", "artifact", "pushNotificationConfig"},
	"status":                 {"state", "message", "timestamp"},
	"message":                {"role", "parts", "metadata"},
	"history":                {"role", "parts", "metadata"},
	"artifact":               {"name", "description", "parts", "index", "append", "lastChunk", "metadata"},
	"artifacts":              {"name", "description", "parts", "index", "append", "lastChunk", "metadata"},
	"parts":                  {"type", "text", "file", "data", "metadata"},
	"file":                   {"name", "mimeType", "bytes", "uri"},
	"pushNotificationConfig": {"url", "token", "authentication"},
	"authentication":         {"schemes", "credentials"},
}

func checkV01(t testing.TB, a servertest.Answer) {
	t.Helper()
	result, failure := envelope(t, a.Body)
	if failure != nil {
		checkError(t, failure)
		// -32006 and on were other errors in 0.1.
		want(t, a, one(-32700, -32600, -32601, -32602, -32603, -32001, -32002, -32003, -32004, -32005), "error", "code")
		return
	}
	var walk func(in string, v any)
	walk = func(in string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				if !slices.Contains(members01[in], name) {
					t.Errorf("member %q in %q, which 0.1 does not have: %s", name, in, clip(a.Body))
				}
				if name != "metadata" && name != "data" {
					walk(name, member)
				}
			}
		case []any:
			for _, e := range v {
				walk(in, e)
			}
		case string:
			if in == "state" && !slices.Contains([]string{"submitted", "working", "input-required", "completed", "canceled", "failed"}, v) {
				t.Errorf("state is %q, which 0.1 does not know", v)
			}
		}
	}
	walk("result", object(t, result))
}

// task01 is the params of tasks/send.
func task01(id, text, extra string) string {
	return merge(`{"id":"`+id+`","sessionId":"s-`+id+`","message":{"role":"user","parts":[{"type":"text","text":`+quote(text)+`}]}}`, extra)
}

func TestV01_Send(t *testing.T) {
	c := probe(t)
	id := uuid.NewString()
	a := c.v01("tasks/send", task01(id, "@echo hi", ""))
	want(t, a, id, "result", "id")
	want(t, a, "s-"+id, "result", "sessionId")
	wantState(t, a, "completed")
	want(t, a, "hi", "result", "artifacts", 0, "parts", 0, "text")
	want(t, a, 0, "result", "artifacts", 0, "index")
	want(t, c.v01("tasks/get", params("id", id)), "s-"+id, "result", "sessionId")
	want(t, c.v01("tasks/get", params("id", id, "historyLength", 0)), nil, "result", "history")
	// It is the task of every dialect; the others show it in their shapes.
	want(t, c.get(id), "TASK_STATE_COMPLETED", "result", "status", "state")
	want(t, c.get(id), "s-"+id, "result", "contextId")
	// What 0.3 made is shown as 0.3 has it, although the method is the same.
	other := taskID(c.v03("message/send", message03(text03("@echo x"), "", "")))
	want(t, c.v03("tasks/get", params("id", other)), "task", "result", "kind")

	// An ended task is run again; its earlier result stays in the log.
	a = c.v01("tasks/send", task01(id, "@echo again", ""))
	want(t, a, "again", "result", "artifacts", 0, "parts", 0, "text")
	// The id is the caller's own: bob may not take it, and learns nothing.
	a = c.v01("tasks/send", task01(id, "@echo mine", ""), bob)
	want(t, a, -32602, "error", "code")
	want(t, c.v01("tasks/get", params("id", id), bob), -32001, "error", "code")
}

// TestV01_Continues: the same id answers a task that asks.
func TestV01_Continues(t *testing.T) {
	c := probe(t)
	id := uuid.NewString()
	wantState(t, c.v01("tasks/send", task01(id, "@ask", "")), "input-required")
	// The session may be a new one: client libraries make one for each call.
	a := c.v01("tasks/send", `{"id":"`+id+`","sessionId":"other","message":{"role":"user","parts":[{"type":"text","text":"blue"}]}}`)
	wantState(t, a, "completed")
	want(t, a, "s-"+id, "result", "sessionId")
	if !strings.Contains(string(a.Body), "blue") {
		t.Errorf("answer is lost: %s", clip(a.Body))
	}
	want(t, a, "@ask", "result", "history", 0, "parts", 0, "text")

	id = uuid.NewString()
	wantState(t, c.v01("tasks/send", task01(id, "@auth", "")), "input-required")
	wantState(t, c.v01("tasks/cancel", params("id", id)), "canceled")
	want(t, c.v01("tasks/cancel", params("id", id)), -32002, "error", "code")
}

// TestV01_Busy: the same request joins the task at work, another one is refused.
func TestV01_Busy(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Limits.Wait.V03 = 1 })
	id := uuid.NewString()
	for range 2 {
		a := c.v01("tasks/send", task01(id, "@sleep 60", ""))
		want(t, a, one("submitted", "working"), "result", "status", "state")
	}
	want(t, c.v01("tasks/send", task01(id, "@echo other", "")), -32602, "error", "code")
	wantState(t, c.v01("tasks/cancel", params("id", id)), "canceled")
}

func TestV01_Stream(t *testing.T) {
	c := probe(t)
	id := uuid.NewString()
	frames := c.stream01("tasks/sendSubscribe", task01(id, "@chunks 3 1", ""))
	want(t, frames[0], id, "result", "id")
	want(t, frames[0], false, "result", "final")
	want(t, frames[len(frames)-1], true, "result", "final")
	want(t, frames[len(frames)-1], "completed", "result", "status", "state")
	var text, last string
	for i, f := range frames {
		if f.Get("result", "artifact") == nil {
			continue
		}
		want(t, f, 0, "result", "artifact", "index")
		want(t, f, text != "", "result", "artifact", "append")
		last = texts(f.Get("result", "artifact"))
		text += last
		if i == len(frames)-2 {
			want(t, f, true, "result", "artifact", "lastChunk")
		}
	}
	if whole := texts(c.v01("tasks/get", params("id", id)).Get("result", "artifacts", 0)); text == "" || text != whole {
		t.Errorf("stream gave %q, the task has %q", text, whole)
	}
	// A subscription to an ended task shows it once more, with its artifacts.
	frames = c.stream01("tasks/resubscribe", params("id", id))
	if len(frames) != 2 || texts(frames[0].Get("result", "artifact")) != text {
		t.Fatalf("got %d frames, want the artifact and the state", len(frames))
	}
	want(t, frames[1], true, "result", "final")
	// A client that was cut off goes on where it was.
	a, _ := c.stream(call("tasks/resubscribe", params("id", id)), "Last-Event-ID: 2")
	if ids := eventIDs(a); len(ids) == 0 || ids[0] != "3" {
		t.Errorf("resumed after 2 with %v, want 3 and on: %s", ids, clip(a.Body))
	}

	// A pause ends the stream, and an answer by the same id goes on.
	id = uuid.NewString()
	frames = c.stream01("tasks/sendSubscribe", task01(id, "@ask", ""))
	want(t, frames[len(frames)-1], "input-required", "result", "status", "state")
	want(t, frames[len(frames)-1], true, "result", "final")
	frames = c.stream01("tasks/sendSubscribe", task01(id, "blue", ""))
	want(t, frames[0], false, "result", "final")
	want(t, frames[len(frames)-1], "completed", "result", "status", "state")
	want(t, frames[len(frames)-1], true, "result", "final")
}

func TestV01_Push(t *testing.T) {
	c := probe(t)
	id := uuid.NewString()
	const config = `{"url":"http://127.0.0.1:9/","token":"s3cret","authentication":{"schemes":["Bearer"],"credentials":"s3cret"}}`
	c.v01("tasks/send", task01(id, "@ask", `{"pushNotification":`+config+`}`))
	want(t, c.v01("tasks/pushNotification/get", params("id", id)), "http://127.0.0.1:9/", "result", "pushNotificationConfig", "url")
	set := `{"id":"` + id + `","pushNotificationConfig":` + strings.Replace(config, ":9/", ":9/two", 1) + `}`
	want(t, c.v01("tasks/pushNotification/set", set), id, "result", "id")
	a := c.v01("tasks/pushNotification/get", params("id", id))
	want(t, a, "http://127.0.0.1:9/two", "result", "pushNotificationConfig", "url")
	if strings.Contains(string(a.Body), "s3cret") {
		t.Errorf("answer shows a secret: %s", a.Body)
	}
	// It replaced the one before.
	want(t, c.v1("ListTaskPushNotificationConfigs", params("taskId", id)), nil, "result", "configs", 1)
	want(t, c.v01("tasks/pushNotification/get", params("id", "none")), -32001, "error", "code")
}

func TestV01_Errors(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Limits.Write = configs.Rate{} })
	for body, code := range map[string]int{
		task01("a/b", "x", ""): -32602, task01("", "x", ""): -32602, `{"id":"x"}`: -32602, `[]`: -32602,
		`{"id":"x","message":{"role":"user","parts":[]}}`:                                                                                -32602,
		`{"id":"x","message":{"role":"user","parts":[{"type":"hologram"}]}}`:                                                             -32602,
		`{"id":"x","message":{"role":"agent","parts":[{"type":"text","text":"x"}]}}`:                                                     -32602,
		`{"id":"x","message":{"role":"user","parts":[{"type":"text","text":"x","metadata":{"mediaType":"video/mp4"}}]}}`:                 0,
		`{"id":"y","message":{"role":"user","parts":[{"type":"file","file":{"uri":"https://e.example/a.mp4","mimeType":"video/mp4"}}]}}`: -32005,
	} {
		a := c.v01("tasks/send", body)
		if code == 0 {
			wantState(t, a, "completed")
			continue
		}
		wantCode(t, a, code)
	}
}
