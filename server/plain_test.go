package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

const (
	asText   = "Content-Type: text/plain"
	wantText = "Accept: text/plain"
)

// run posts a text to the probe skill as alice.
func (c *client) run(text, query string, headers ...string) servertest.Answer {
	c.t.Helper()
	return c.Do("POST", "/skills/probe"+query, text, append([]string{alice, asText}, headers...)...)
}

// id returns the id of a task in plain form.
func plainID(t testing.TB, a servertest.Answer) string {
	t.Helper()
	id, _ := a.Get("id").(string)
	if id == "" {
		t.Fatalf("no id in HTTP %d %s", a.Status, clip(a.Body))
	}
	return id
}

// wantProblem checks an error of plain HTTP.
func wantProblem(t testing.TB, what string, a servertest.Answer, status int, code string) {
	t.Helper()
	if a.Status != status || a.Header.Get("Content-Type") != "application/problem+json" || a.Get("code") != code {
		t.Errorf("%s: got HTTP %d %s %s, want a problem %d %s", what, a.Status, a.Header.Get("Content-Type"), clip(a.Body), status, code)
	}
	for _, member := range []string{"title", "detail"} {
		if s, _ := a.Get(member).(string); s == "" {
			t.Errorf("%s: no %s in %s", what, member, a.Body)
		}
	}
}

func TestPlain_Run(t *testing.T) {
	c := probe(t)
	for _, path := range []string{"/skills/probe", "/skills/probe/"} {
		a := c.Do("POST", path, "@echo hello", alice, "Content-Type: text/plain; charset=UTF-8")
		id := plainID(t, a)
		if a.Status != 200 || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Location") != c.URL+"/tasks/"+id || a.Header.Get("X-Task-Status") != "completed" {
			t.Errorf("%s: got HTTP %d %v", path, a.Status, a.Header)
		}
		want(t, a, "completed", "status")
		want(t, a, "probe", "skill")
		want(t, a, "hello", "text")
		want(t, a, "hello", "artifacts", 0, "parts", 0, "text")
		want(t, a, c.URL+"/tasks/"+id, "links", "self")
		want(t, a, nil, "links", "wait")
		want(t, a, nil, "next")
		// It is a task like any other.
		wantState(t, c.get(id), "TASK_STATE_COMPLETED")
		if a := c.Do("GET", "/tasks/"+id, "", bob); a.Status != 404 {
			t.Errorf("to another caller: got HTTP %d, want 404", a.Status)
		}
	}
	// An object is data; curl -d says that it is a form.
	for _, ct := range []string{"application/json", "application/x-www-form-urlencoded", "application/vnd.api+json"} {
		a := c.Do("POST", "/skills/list_board", ` {"board_id": "roadmap"} `, alice, "Content-Type: "+ct)
		want(t, a, "completed", "status")
		want(t, a, "roadmap", "artifacts", 0, "parts", 1, "data", "id")
	}
	a := c.Do("POST", "/skills/list_board", `{"board_id": true}`, alice)
	want(t, a, "failed", "status")
	want(t, a, "invalid_input", "code")
	want(t, a, "/board_id: must be an integer or a string, not true or false", "text")
	want(t, a, "/board_id", "violations", 0, "field")
	want(t, a, `curl -H "X-API-Key: $API_KEY" '`+c.URL+`/skills/list_board/schema'`, "next", 0)
	a = c.Do("POST", "/skills/list_board", "roadmap", alice, "Content-Type: application/x-www-form-urlencoded")
	want(t, a, "completed", "status")
	// The conversation is the client's to name.
	a = c.run("@echo x", "?context=talk-1")
	want(t, a, "talk-1", "context")
}

func TestPlain_Text(t *testing.T) {
	c := probe(t)
	for accept, text := range map[string]bool{
		"text/plain": true, "text/*": true, "text/plain, application/json;q=0.5": true, "*/*": false, "": false,
		"application/json": false, "text/plain;q=0.5, application/json": false, "text/plain;q=0, */*": false, "text/html": false,
	} {
		a := c.run("@echo hello\nworld", "", "Accept: "+accept)
		if got := strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain"); got != text {
			t.Errorf("%q: got %s", accept, a.Header.Get("Content-Type"))
		}
		if text && string(a.Body) != "hello\nworld\n" {
			t.Errorf("%q: got %q, want the answer alone", accept, a.Body)
		}
	}
	a := c.Do("POST", "/skills/probe", "@ask", alice, asText, wantText)
	id := strings.TrimPrefix(a.Header.Get("Location"), c.URL+"/tasks/")
	if got, want := string(a.Body), "What is your favourite colour?\ncurl -d 'your answer' -H \"X-API-Key: $API_KEY\" '"+c.URL+"/tasks/"+id+"'\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	a = c.run("@sleep 60", "?wait=0s", wantText)
	if got := string(a.Body); a.Status != 202 || !strings.HasPrefix(got, "The task is ") || !strings.Contains(got, "?wait=30s'") {
		t.Errorf("got HTTP %d %q", a.Status, got)
	}
	if a := c.Do("GET", "/skills", "", alice, wantText); !strings.HasPrefix(string(a.Body), "probe\tProbe\t") {
		t.Errorf("skills: got %s", a.Body)
	}
	if a := c.Do("GET", "/tasks", "", alice, wantText); !strings.Contains(string(a.Body), "\tcompleted\tprobe\t") {
		t.Errorf("tasks: got %s", a.Body)
	}
}

func TestPlain_Wait(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Limits.Wait.Plain = 50 * time.Millisecond })
	for name, a := range map[string]servertest.Answer{
		"as configured":   c.run("@sleep 60", ""),
		"as the URL says": c.run("@sleep 60", "?wait=10ms"),
		"not at all":      c.run("@sleep 60", "?wait=0"),
		"as asked":        c.run("@sleep 60", "?wait=30s", "Prefer: respond-async"),
	} {
		id := plainID(t, a)
		if a.Status != http.StatusAccepted || a.Header.Get("Location") != c.URL+"/tasks/"+id {
			t.Errorf("%s: got HTTP %d %v, want 202", name, a.Status, a.Header)
		}
		want(t, a, one("submitted", "working"), "status")
		want(t, a, c.URL+"/tasks/"+id+"?wait=30s", "links", "wait")
		want(t, a, c.URL+"/tasks/"+id+"/stream", "links", "stream")
		want(t, a, c.URL+"/tasks/"+id, "links", "cancel")
		want(t, a, `curl -X DELETE -H "X-API-Key: $API_KEY" '`+c.URL+"/tasks/"+id+"'", "next", 2)
	}
	if a := c.run("@sleep 0.2", "?wait=30s"); a.Status != 200 || a.Get("text") != "slept" {
		t.Errorf("a wait that is long enough: got HTTP %d %s", a.Status, a.Body)
	}
	id := plainID(t, c.run("@sleep 0.3", "?wait=0s"))
	want(t, c.Do("GET", "/tasks/"+id+"?wait=30s", "", alice), "slept", "text")
	for _, bad := range []string{"soon", "-1s", "30"} {
		wantProblem(t, bad, c.run("@echo", "?wait="+bad), 400, "invalid_params")
		wantProblem(t, bad, c.Do("GET", "/tasks/"+id+"?wait="+bad, "", alice), 400, "invalid_params")
	}
}

func TestPlain_Converse(t *testing.T) {
	c := probe(t)
	asked := c.run("@ask", "")
	id := plainID(t, asked)
	want(t, asked, "input-required", "status")
	want(t, asked, "What is your favourite colour?", "text")
	want(t, asked, c.URL+"/tasks/"+id, "links", "answer")
	wantProblem(t, "another caller", c.Do("POST", "/tasks/"+id, "red", bob, asText), 404, "task_not_found")
	a := c.Do("POST", "/tasks/"+id, "green", alice, "Content-Type: application/x-www-form-urlencoded")
	want(t, a, "completed", "status")
	want(t, a, "green", "text")
	wantProblem(t, "an ended task", c.Do("POST", "/tasks/"+id, "blue", alice, asText), 409, "unsupported_operation")
	// Also with JSON, in one step for a client that says no type.
	id = plainID(t, c.run("@ask", ""))
	want(t, c.Do("POST", "/tasks/"+id, `{"colour":"red"}`, alice), "completed", "status")
	wantProblem(t, "not an object", c.Do("POST", "/tasks/"+id, `"red"`, alice), 400, "invalid_params")
}

func TestPlain_Cancel(t *testing.T) {
	c := probe(t)
	id := plainID(t, c.run("@sleep 60", "?wait=0s"))
	wantProblem(t, "another caller", c.Do("DELETE", "/tasks/"+id, "", bob), 404, "task_not_found")
	for range 2 {
		a := c.Do("DELETE", "/tasks/"+id, "", alice)
		if a.Status != 200 || a.Get("status") != "canceled" {
			t.Errorf("got HTTP %d %s, want the canceled task", a.Status, a.Body)
		}
	}
	done := plainID(t, c.run("@echo x", ""))
	wantProblem(t, "an ended task", c.Do("DELETE", "/tasks/"+done, "", alice), 409, "task_not_cancelable")
	wantProblem(t, "no task", c.Do("DELETE", "/tasks/nope", "", alice), 404, "task_not_found")
}

func TestPlain_Tasks(t *testing.T) {
	c := probe(t)
	c.run("@fail", "")
	for range 3 {
		c.run("@echo x", "?context=talk")
	}
	a := c.Do("GET", "/tasks?context=talk&limit=2", "", alice)
	want(t, a, "3", "total")
	want(t, a, nil, "tasks", 2)
	want(t, a, nil, "tasks", 0, "artifacts")
	next, _ := a.Get("next").(string)
	rest, ok := strings.CutPrefix(next, c.URL)
	if !ok {
		t.Fatalf("got next %q, want a URL of the server", next)
	}
	b := c.Do("GET", rest, "", alice)
	want(t, b, nil, "next")
	seen := map[any]bool{}
	for _, p := range [][2]any{{a.Get("tasks", 0, "id")}, {a.Get("tasks", 1, "id")}, {b.Get("tasks", 0, "id")}} {
		seen[p[0]] = true
	}
	if len(seen) != 3 || seen[nil] {
		t.Errorf("got tasks %v, want three", seen)
	}
	want(t, c.Do("GET", "/tasks/?status=failed", "", alice), "1", "total")
	want(t, c.Do("GET", "/tasks?since=2999-01-01T00:00:00Z", "", alice), "0", "total")
	want(t, c.Do("GET", "/tasks", "", bob), "0", "total")
	for _, bad := range []string{"limit=0", "limit=101", "limit=x", "status=done", "since=today", "page=made-up", "context=%00"} {
		wantProblem(t, bad, c.Do("GET", "/tasks?"+bad, "", alice), 400, "invalid_params")
	}
}

func TestPlain_Skills(t *testing.T) {
	c := probe(t)
	for _, path := range []string{"/skills", "/skills/"} {
		a := c.Do("GET", path, "", alice)
		want(t, a, "probe", "skills", 0, "id")
		want(t, a, true, "skills", 0, "default")
		want(t, a, c.URL+"/skills/probe", "skills", 0, "links", "run")
		want(t, a, `curl -d 'hello' -H "X-API-Key: $API_KEY" '`+c.URL+`/skills/probe'`, "skills", 0, "next", 0)
		want(t, a, "list_workspaces", "skills", 4, "id")
		want(t, a, nil, "skills", 4, "default")
	}
	wantProblem(t, "without a key", c.Do("GET", "/skills", ""), 401, "unauthenticated")
}

// TestPlain_Refusals: errors are problems, whatever found them.
func TestPlain_Refusals(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Server.MaxBodyBytes = 2048 })
	long, task := strings.Repeat("x", 2049), "/tasks/"+plainID(t, c.run("@ask", ""))
	for _, x := range []struct {
		what   string
		a      servertest.Answer
		status int
		code   string
	}{
		{"no key", c.Do("POST", "/skills/probe", "x", asText), 401, "unauthenticated"},
		{"no key for a task", c.Do("GET", "/tasks/x", ""), 401, "unauthenticated"},
		{"an unknown skill", c.Do("POST", "/skills/nope", "x", alice, asText), 404, "unknown_skill"},
		{"an unknown task", c.Do("GET", "/tasks/nope", "", alice), 404, "task_not_found"},
		{"an unknown task's stream", c.Do("GET", "/tasks/nope/stream", "", alice), 404, "task_not_found"},
		{"a text that is too long", c.run(long, ""), 413, "too_large"},
		{"an answer that is too long", c.Do("POST", task, long, alice, asText), 413, "too_large"},
		{"no UTF-8", c.run("\xff", ""), 400, "invalid_params"},
		{"another charset", c.Do("POST", task, "x", alice, "Content-Type: text/plain; charset=latin1"), 415, "unsupported_media_type"},
		{"an answer to no task", c.Do("POST", "/tasks/nope", "", alice), 404, "task_not_found"},
		{"an image", c.Do("POST", task, "x", alice, "Content-Type: image/png"), 415, "unsupported_media_type"},
		{"a compressed body", c.run("x", "", "Content-Encoding: gzip"), 415, "unsupported_media_type"},
		{"JSON-RPC as a form", c.Do("POST", "/skills/probe", call("GetTask", `{}`), alice, "Content-Type: application/x-www-form-urlencoded"), 415, "unsupported_media_type"},
		{"an id that is too long", c.Do("GET", "/tasks/"+strings.Repeat("x", 2000), "", alice), 400, "invalid_params"},
		{"too deep", c.Do("POST", "/skills/probe", `{"x":`+strings.Repeat("[", 64)+strings.Repeat("]", 64)+`}`, alice), 400, "invalid_params"},
		{"a bad idempotency key", c.run("x", "", "Idempotency-Key: "+strings.Repeat("k", 256)), 400, "invalid_params"},
	} {
		wantProblem(t, x.what, x.a, x.status, x.code)
	}
	a := c.Do("GET", "/tasks/x", "")
	if a.Header.Get("WWW-Authenticate") == "" || a.Get("hint") == nil {
		t.Errorf("got %v %s, want a challenge and a hint", a.Header, a.Body)
	}
	for path, allow := range map[string]string{
		"/skills": "GET, HEAD", "/tasks": "GET, HEAD", "/tasks/x": "GET, HEAD, POST, DELETE", "/tasks/x/stream": "GET",
	} {
		if a := c.Do("PUT", path, "", alice); a.Status != 405 || a.Header.Get("Allow") != allow {
			t.Errorf("PUT %s: got HTTP %d, Allow %q; want 405, %q", path, a.Status, a.Header.Get("Allow"), allow)
		}
	}
}

// TestPlain_GetSkill: who opens a skill is told where to read about it.
func TestPlain_GetSkill(t *testing.T) {
	a := probe(t).Do("GET", "/skills/probe", "", alice)
	want(t, a, "Method not allowed; use POST. GET /skills says what each skill is for and how to call it.", "detail")
}

// TestPlain_Slash: a slash at the end of a path changes nothing.
func TestPlain_Slash(t *testing.T) {
	c := probe(t)
	task := "/tasks/" + plainID(t, c.run("@ask", ""))
	for _, path := range []string{"/skills", "/tasks", task, task + "/stream", "/skills/list_board/schema"} {
		one, two := c.Do("GET", path, "", alice), c.Do("GET", path+"/", "", alice)
		if one.Status != 200 || two.Status != 200 || string(one.Body) != string(two.Body) {
			t.Errorf("GET %s/: got HTTP %d %s, want as without the slash: %d %s", path, two.Status, clip(two.Body), one.Status, clip(one.Body))
		}
		one, two = c.Do("PUT", path, "", alice), c.Do("PUT", path+"/", "", alice)
		if two.Status != 405 || one.Header.Get("Allow") != two.Header.Get("Allow") {
			t.Errorf("PUT %s/: got HTTP %d, Allow %q", path, two.Status, two.Header.Get("Allow"))
		}
	}
	want(t, c.Do("POST", task+"/", "green", alice, asText), "completed", "status")
}

// TestPlain_RPC: the skill's endpoint answers JSON-RPC as it always did.
func TestPlain_RPC(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Server.MaxBodyBytes = 2048 })
	for _, body := range []string{
		call("GetTask", `{"id":"none"}`), call("message/send", message03(text03("@echo x"), "", "")), call("nope", `{}`),
		`{`, `[]`, `[{}]`, `"text"`, `5`, ``, `{"jsonrpc":"1.0"}`, `{"jsonrpc":null}`, `{"method":"GetTask","params":{}}`, "{}}",
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + strings.Repeat("x", 2048) + `"}}`, "\xff",
	} {
		for _, ct := range []string{"application/json", "", "image/png"} {
			at, root := c.Do("POST", "/skills/probe", body, alice, "Content-Type: "+ct), c.Do("POST", "/", body, alice, "Content-Type: "+ct)
			a, b := at.Get("error"), root.Get("error")
			if at.Status != root.Status || (a == nil) != (b == nil) || at.Get("error", "code") != root.Get("error", "code") || at.Get("jsonrpc") != "2.0" {
				t.Errorf("%.60q as %q: got HTTP %d %s, want as at the root: %d %s", body, ct, at.Status, clip(at.Body), root.Status, clip(root.Body))
			}
		}
	}
}

func TestPlain_Idempotency(t *testing.T) {
	c := probe(t)
	one, two := c.run("@echo x", "", "Idempotency-Key: k"), c.run("@echo x", "", "Idempotency-Key: k")
	if plainID(t, one) != plainID(t, two) {
		t.Errorf("got two tasks for one key")
	}
	wantProblem(t, "another request", c.run("@echo y", "", "Idempotency-Key: k"), 422, "idempotency_conflict")
}

// TestPlain_Origins: a page of another origin can send text without asking, so it is
// refused.
func TestPlain_Origins(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Server.CORSOrigins = []string{"https://ui.example.com"} })
	id := plainID(t, c.run("@ask", ""))
	evil, good := "Origin: https://evil.example.com", "Origin: https://ui.example.com"
	wantProblem(t, "run", c.run("@echo x", "", evil), 403, "forbidden")
	wantProblem(t, "run as fetched", c.run("@echo x", "", "Sec-Fetch-Site: cross-site"), 403, "forbidden")
	wantProblem(t, "answer", c.Do("POST", "/tasks/"+id, "x", alice, asText, evil), 403, "forbidden")
	wantProblem(t, "cancel", c.Do("DELETE", "/tasks/"+id, "", alice, evil), 403, "forbidden")
	want(t, c.run("@echo x", "", good), "completed", "status")
	want(t, c.run("@echo x", "", "Sec-Fetch-Site: same-origin"), "completed", "status")
	all := probe(t, func(cfg *configs.Config) { cfg.Server.CORSOrigins = []string{"*"} })
	want(t, all.run("@echo x", "", evil), "completed", "status")
}

func TestPlain_Stream(t *testing.T) {
	c := probe(t)
	id := plainID(t, c.run("@chunks 3 10", "?wait=0s"))
	a := c.Do("GET", "/tasks/"+id+"/stream", "", alice)
	if a.Status != 200 || a.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got HTTP %d %v", a.Status, a.Header)
	}
	body := string(a.Body)
	for _, part := range []string{`data: {"event":"task","id":"` + id + `"`, `{"text":"chunk-3 "}`, `data: {"event":"status","status":"completed"}`, "\nid: "} {
		if !strings.Contains("\n"+body, part) {
			t.Errorf("got %s, want %s in it", body, part)
		}
	}
	// An ended task is shown once more; who has seen the end is told so as well.
	a = c.Do("GET", "/tasks/"+id+"/stream", "", alice)
	if strings.Count(string(a.Body), "data: ") != 1 || !strings.Contains(string(a.Body), `"text":"chunk-1 chunk-2 chunk-3 "`) {
		t.Errorf("an ended task: got %s", a.Body)
	}
	a = c.Do("GET", "/tasks/"+id+"/stream", "", alice, "Last-Event-ID: 1")
	if strings.Contains(string(a.Body), `"event":"task"`) || !strings.Contains(string(a.Body), `"status":"completed"`) {
		t.Errorf("resumed: got %s", a.Body)
	}
	// It is the reader's turn at a pause, so the stream is over.
	id = plainID(t, c.run("@ask", ""))
	a = c.Do("GET", "/tasks/"+id+"/stream", "", alice)
	if !strings.Contains(string(a.Body), `"status":"input-required"`) {
		t.Errorf("a paused task: got %s", a.Body)
	}
	off := probe(t, func(cfg *configs.Config) { cfg.Stream.Enabled = false })
	id = plainID(t, off.run("@echo x", ""))
	wantProblem(t, "streams off", off.Do("GET", "/tasks/"+id+"/stream", "", alice), 409, "unsupported_operation")
}

// TestPlain_OddIDs: ids of EMM clients may hold anything but a slash.
func TestPlain_OddIDs(t *testing.T) {
	c := probe(t)
	for id, path := range map[string]string{"it's; rm": "it%27s;%20rm", "a?b#c%": "a%3Fb%23c%25", "é": "%C3%A9"} {
		c.RPC(call("tasks/submit", `{"taskId":"`+id+`","skillId":"probe","message":{"parts":[{"text":"@echo x"}]}}`), alice)
		a := c.Do("GET", "/tasks/"+path, "", alice)
		want(t, a, id, "id")
		self, _ := a.Get("links", "self").(string)
		rest, _ := strings.CutPrefix(self, c.URL)
		want(t, c.Do("GET", rest, "", alice), id, "id")
		if strings.ContainsAny(self, "' ") {
			t.Errorf("got URL %s, want nothing in it that ends a quote", self)
		}
	}
}
