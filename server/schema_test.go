package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

func TestSchema_Published(t *testing.T) {
	c := probe(t)
	a := c.Do("GET", "/skills/list_board/schema", "")
	if a.Status != 200 || a.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(a.Header.Get("Cache-Control"), "public, max-age=") {
		t.Errorf("got HTTP %d %v", a.Status, a.Header)
	}
	want(t, a, "list_board", "skill")
	want(t, a, "board_id", "input", "required", 0)
	want(t, a, "lists", "output", "required", 4)
	etag := a.Header.Get("ETag")
	if a := c.Do("GET", "/skills/list_board/schema", "", "If-None-Match: "+etag); etag == "" || a.Status != http.StatusNotModified {
		t.Errorf("ETag %q: got HTTP %d, want 304", etag, a.Status)
	}
	if a := c.Do("HEAD", "/skills/list_board/schema", ""); a.Status != 200 || len(a.Body) > 0 || a.Header.Get("ETag") != etag {
		t.Errorf("HEAD: got HTTP %d with %d bytes", a.Status, len(a.Body))
	}
	if got := string(c.Do("GET", "/skills/probe/schema", "").Body); got != `{"skill":"probe"}`+"\n" {
		t.Errorf("a skill without schemas: got %s", got)
	}
	if a := c.Do("GET", "/skills/nope/schema", ""); a.Status != 404 || a.Get("detail") == nil {
		t.Errorf("an unknown skill: got HTTP %d %s", a.Status, a.Body)
	}
	if a := c.Do("POST", "/skills/list_board/schema", "{}"); a.Status != 405 || a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got HTTP %d %v, want 405", a.Status, a.Header)
	}
	// What the card says is what is there.
	card := c.Do("GET", cardPath, "")
	want(t, card, "board_id", "capabilities", "extensions", 3, "params", "skills", "list_board", "input", "required", 0)
	want(t, card, c.URL+"/skills/list_board/schema", "capabilities", "extensions", 3, "params", "skills", "list_board", "url")
}

func TestSchema_Protected(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Auth.ProtectCard = true })
	if a := c.Do("GET", "/skills/list_board/schema", ""); a.Status != http.StatusUnauthorized {
		t.Errorf("without a key: got HTTP %d, want 401", a.Status)
	}
	a := c.Do("GET", "/skills/list_board/schema", "", alice)
	if a.Status != 200 || !strings.HasPrefix(a.Header.Get("Cache-Control"), "private") || a.Header.Get("Vary") == "" {
		t.Errorf("with a key: got HTTP %d %v, want 200 and private", a.Status, a.Header)
	}
}

// TestSchema_Input: in every dialect a task that is born failed names the place.
func TestSchema_Input(t *testing.T) {
	c := probe(t)
	const place = "/board_id: must be an integer or a string, not true or false"
	data := `{"data":{"board_id":true}}`
	a := c.v1("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[`+data+`]},"metadata":{"skillId":"list_board"}}`)
	wantState(t, a, "TASK_STATE_FAILED")
	want(t, a, place, "result", "task", "status", "message", "parts", 0, "text")
	want(t, a, "invalid_input", "result", "task", "status", "message", "metadata", "code")
	want(t, a, "/board_id", "result", "task", "status", "message", "metadata", "violations", 0, "field")
	a = c.get(taskID(a))
	want(t, a, place, "result", "status", "message", "parts", 0, "text")

	a = c.v03("message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"data","data":{"board_id":true}}]},"metadata":{"skillId":"list_board"}}`)
	wantState(t, a, "failed")
	want(t, a, place, "result", "status", "message", "parts", 0, "text")

	a = c.RPC(call("tasks/submit", `{"taskId":"typed-1","skillId":"list_board","message":{"parts":[{"type":"data","data":{"board_id":true}}]}}`), alice)
	want(t, a, "failed", "result", "task", "status")
	want(t, a, place, "result", "task", "artifact", "parts", 0, "text")
	want(t, a, "invalid_input", "result", "task", "artifact", "parts", 1, "data", "code")

	// Where there is a better word than the schema's, it is not lost.
	a = c.RPC(call("tasks/submit", `{"skillId":"weekly_report","message":{"parts":[{"type":"data","data":{"operation":"list_board"}}]}}`), alice)
	if text, _ := a.Get("result", "task", "artifact", "parts", 0, "text").(string); !strings.Contains(text, `set skillId to "list_board"`) {
		t.Errorf("got %q, want the hint", text)
	}
}

func TestSchema_Configured(t *testing.T) {
	s := servertest.New(t, servertest.Options{YAML: `
default_skill: probe
skills:
  - id: probe
    kind: mock
    input_schema: {type: object, required: [n], properties: {n: {type: integer, minimum: 1}}}
    output_schema: {type: object, required: [n]}
`})
	send := func(text, data string) servertest.Answer {
		t.Helper()
		return s.RPC(call("message/send", message03(text03(text)+`,{"kind":"data","data":`+data+`}`, "", "")))
	}
	wantState(t, send("@data", `{"n":1}`), "completed")
	a := send("@data", `{"n":0}`)
	wantState(t, a, "failed")
	want(t, a, "/n: must be at least 1", "result", "status", "message", "parts", 0, "text")
	a = send("@echo", `{"n":1}`)
	wantState(t, a, "failed")
	want(t, a, "invalid_agent_response", "result", "status", "message", "metadata", "code")
	want(t, s.Do("GET", "/skills/probe/schema", ""), "n", "output", "required", 0)
}
