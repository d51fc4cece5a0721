package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// mounts are the paths of the RPC endpoint.
var mounts = []string{"/", "/api/a2a/tasks", "/api/a2a/tasks/", "/skills/probe", "/skills/probe/"}

func TestHTTP_Mounts(t *testing.T) {
	c := probe(t)
	for _, path := range mounts {
		a := c.Do("POST", path, call("message/send", message03(text03("@echo x"), "", "")), alice)
		if a.Status != 200 || a.Header.Get("Location") != "" || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("POST %s: got HTTP %d %v, want 200 without a redirect", path, a.Status, a.Header)
		}
		wantState(t, a, "completed")
	}
	// A skill's mount chooses the skill, unless the request does.
	a := c.Do("POST", "/skills/list_workspaces", call("message/send", message03(text03("x"), "", "")), alice)
	want(t, a, "list_workspaces", "result", "metadata", "skillId")
	want(t, a, "mount", "result", "metadata", "skillSource")
	a = c.Do("POST", "/skills/list_workspaces/", call("SendMessage", message("@echo x", `{"metadata":{"skillId":"probe"}}`, "")), alice, v10)
	want(t, a, "probe", "result", "task", "metadata", "skillId")
	a = c.Do("POST", "/skills/nope", call("tasks/submit", `{}`), alice)
	want(t, a, "failed", "result", "task", "status")
	want(t, a, "unknown_skill", "result", "task", "artifact", "parts", 1, "data", "code")
}

func TestHTTP_Methods(t *testing.T) {
	c := probe(t)
	check := func(path, allow string, methods ...string) {
		for _, m := range methods {
			a := c.Do(m, path, "", alice)
			if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != allow {
				t.Errorf("%s %s: got HTTP %d, Allow %q; want 405, %q", m, path, a.Status, a.Header.Get("Allow"), allow)
			}
			if m != "HEAD" && (a.Get("detail") == nil || a.Header.Get("Content-Type") != "application/json") {
				t.Errorf("%s %s: got %s %s, want JSON with a detail", m, path, a.Header.Get("Content-Type"), clip(a.Body))
			}
		}
	}
	for _, path := range mounts {
		check(path, "POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")
	}
	for _, path := range []string{"/healthz", "/readyz", cardPath, "/skills/probe/.well-known/agent.json"} {
		check(path, "GET, HEAD", "POST", "PUT", "DELETE", "OPTIONS")
	}
}

func TestHTTP_UnknownPaths(t *testing.T) {
	c := probe(t)
	for _, path := range []string{
		"/nowhere", "/api", "/api/a2a", "/api/a2a/task", "/skills/a/b", "/tasks/a/b", "/.well-known/", "/.well-known/jwks.json",
		"/skills/nope/.well-known/agent-card.json", "/healthz/", "//", "/api/a2a/tasks//", "/..%2fetc", "/skills/%2e%2e/.well-known/agent.json",
	} {
		for _, m := range []string{"GET", "POST"} {
			a := c.Do(m, path, "", alice)
			if m == "POST" && a.Status == http.StatusMethodNotAllowed && strings.Contains(path, ".well-known") {
				continue
			}
			if a.Status != http.StatusNotFound || a.Header.Get("Content-Type") != "application/json" || a.Get("detail") == nil {
				t.Errorf("%s %s: got HTTP %d %s %s, want 404 in JSON", m, path, a.Status, a.Header.Get("Content-Type"), clip(a.Body))
			}
		}
	}
}

func TestHTTP_ContentType(t *testing.T) {
	c := probe(t)
	body := call("GetTask", `{"id":"none"}`)
	for _, ct := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "application/a2a+json", "application/vnd.api+json", "text/json"} {
		if a := c.RPC(body, alice, "Content-Type: "+ct); a.Status != 200 {
			t.Errorf("%s: got HTTP %d, want 200", ct, a.Status)
		}
	}
	for _, ct := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "json", "garbage;;"} {
		a := c.RPC(body, alice, "Content-Type: "+ct)
		if a.Status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: got HTTP %d, want 415", ct, a.Status)
		}
		checkV1(t, "", a.Body)
		want(t, a, -32005, "error", "code")
	}
}

// TestHTTP_SkillContentType: a part's media type that a skill refuses is an answer
// of the protocol, not of HTTP.
func TestHTTP_SkillContentType(t *testing.T) {
	wantCode(t, probe(t).v1("SendMessage", parts1(`{"text":"x","mediaType":"video/mp4"}`)), -32005)
}

func TestHTTP_CompressedBody(t *testing.T) {
	c := probe(t)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, call("GetTask", `{"id":"none"}`))
	_ = z.Close()
	for _, enc := range []string{"gzip", "br", "deflate"} {
		a := c.RPC(b.String(), alice, "Content-Encoding: "+enc)
		if a.Status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: got HTTP %d, want 415", enc, a.Status)
		}
		checkV1(t, "", a.Body)
	}
	if a := c.RPC(call("GetTask", `{"id":"none"}`), alice, "Content-Encoding: identity"); a.Status != 200 {
		t.Errorf("identity: got HTTP %d, want 200", a.Status)
	}
}

func TestHTTP_BodyLimit(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Server.MaxBodyBytes = 64 << 10 })
	frame := call("SendMessage", message("", "", ""))
	fit := call("SendMessage", message(strings.Repeat("x", 64<<10-len(frame)), "", ""))
	if len(fit) != 64<<10 {
		t.Fatalf("body is %d bytes", len(fit))
	}
	for name, chunked := range map[string]bool{"with a length": false, "in chunks": true} {
		post := func(body string) servertest.Answer {
			t.Helper()
			if !chunked {
				return c.RPC(body, alice, v10)
			}
			var r io.Reader = struct{ io.Reader }{strings.NewReader(body)} // hides the length
			req, err := http.NewRequestWithContext(t.Context(), "POST", c.URL+"/", r)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer alice-token")
			req.Header.Set("A2A-Version", "1.0")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close() //nolint:errcheck // read to its end
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return servertest.Answer{Status: res.StatusCode, Header: res.Header, Body: b}
		}
		if a := post(fit); a.Status != 200 {
			t.Errorf("%s: a body of the limit got HTTP %d", name, a.Status)
		}
		a := post(strings.Replace(fit, "xx", "xxx", 1))
		if a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(string(a.Body), "65536") {
			t.Errorf("%s: got HTTP %d %s, want 413 with the limit", name, a.Status, clip(a.Body))
		}
		checkV1(t, "", a.Body)
	}
	deep := call("SendMessage", message("x", `{"metadata":{"d":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}}`, ""))
	a := c.RPC(deep, alice, v10)
	wantCode(t, a, -32600)
	if !strings.Contains(string(a.Body), "64") {
		t.Errorf("the error does not name the limit: %s", a.Body)
	}
	var parts strings.Builder
	for range 1001 {
		parts.WriteString(`{"text":"x"},`)
	}
	a = c.v1("SendMessage", parts1(strings.TrimSuffix(parts.String(), ",")))
	wantCode(t, a, -32602)
	if !strings.Contains(string(a.Body), "1000") {
		t.Errorf("the error does not name the limit: %s", a.Body)
	}
}

// TestHTTP_CutOffBody: the client stops sending in the middle, but still listens.
func TestHTTP_CutOffBody(t *testing.T) {
	c := probe(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing to lose
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"")
	_ = conn.(*net.TCPConn).CloseWrite()
	b, _ := io.ReadAll(conn)
	if !bytes.Contains(b, []byte(`"error":{"code":-32600,`)) {
		t.Errorf("got %s, want the error -32600", b)
	}
	wantState(t, c.send("@echo on", "", ""), "TASK_STATE_COMPLETED")
}

func TestHTTP_Health(t *testing.T) {
	s := plain(t, func(c *configs.Config) { c.Server.DrainDelay = 300 * time.Millisecond })
	for _, path := range []string{"/healthz", "/readyz"} {
		for _, m := range []string{"GET", "HEAD"} {
			if a := s.Do(m, path, ""); a.Status != 200 || (m == "HEAD") != (len(a.Body) == 0) {
				t.Errorf("%s %s: got HTTP %d %s", m, path, a.Status, a.Body)
			}
		}
	}
	stopped := make(chan struct{})
	go func() { s.Stop(); close(stopped) }()
	eventually(t, "not ready while draining", func() bool { return s.Do("GET", "/readyz", "").Status == 503 })
	// It still serves meanwhile.
	want(t, submit(t, s, `{"skillId":"list_workspaces"}`), "completed", "result", "task", "status")
	if a := s.Do("GET", "/healthz", ""); a.Status != 200 {
		t.Errorf("healthz while draining: got HTTP %d, want 200", a.Status)
	}
	<-stopped
}

// TestHTTP_LongCall: a call may wait for its task longer than requests may take to
// arrive.
func TestHTTP_LongCall(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Server.ReadTimeout = 200 * time.Millisecond })
	wantState(t, c.send("@sleep 0.6", "", ""), "TASK_STATE_COMPLETED")
	if got := last(c.stream1("@sleep 0.6", "")); got != "TASK_STATE_COMPLETED" {
		t.Errorf("the stream ended with %v", got)
	}
}

// TestHTTP_SilentConnection: a connection on which nothing was said does not hold up a
// stop.
func TestHTTP_SilentConnection(t *testing.T) {
	c := probe(t)
	for range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // a test
	}
	c.done("@echo x", "") // by now they have been accepted
	began := time.Now()
	c.Stop()
	if took := time.Since(began); took > time.Second {
		t.Errorf("the server took %s to stop", took)
	}
}

// TestHTTP_ClientLeaves: the task of a client that is gone runs on.
func TestHTTP_ClientLeaves(t *testing.T) {
	c := probe(t)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", c.URL+"/", strings.NewReader(call("SendMessage", message("@sleep 0.5", `{"contextId":"drop"}`, ""))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice-token")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			t.Error("the call answered before it was dropped")
		}
	}()
	eventually(t, "the task is there", func() bool { return c.v1("ListTasks", `{"contextId":"drop"}`).Get("result", "tasks", 0) != nil })
	cancel()
	<-gone
	id := c.v1("ListTasks", `{"contextId":"drop"}`).Get("result", "tasks", 0, "id").(string)
	c.until(id, "TASK_STATE_COMPLETED")
}

// TestHTTP_RespondAsync: the preference works in every dialect.
func TestHTTP_RespondAsync(t *testing.T) {
	c := probe(t)
	wantState(t, c.send("@sleep 0.1", "", "", "Prefer: respond-async"), "TASK_STATE_SUBMITTED")
	wantState(t, c.v03("message/send", message03(text03("@sleep 0.1"), "", `{"blocking":true}`), "Prefer: Respond-Async"), "submitted")
	wantState(t, c.send("@sleep 0.1", "", "", "Prefer: return=minimal"), "TASK_STATE_COMPLETED")
}

// TestHTTP_WaitCap: each dialect has its own.
func TestHTTP_WaitCap(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Limits.Wait.V03 = 50 * time.Millisecond })
	a := c.v03("message/send", message03(text03("@sleep 0.3"), "", `{"blocking":true}`))
	wantState(t, a, "working")
	c.until(taskID(a), "TASK_STATE_COMPLETED")
	wantState(t, c.send("@sleep 0.3", "", ""), "TASK_STATE_COMPLETED")
}

func TestHTTP_IdempotencyKey(t *testing.T) {
	c := probe(t)
	key := func(k string) string { return "Idempotency-Key: " + k }
	first, again := c.send("@echo x", "", "", key("k-1")), c.send("@echo x", "", "", key("k-1"))
	if taskID(first) != taskID(again) || taskID(first) == "" {
		t.Errorf("1.0: got tasks %q and %q, want one", taskID(first), taskID(again))
	}
	p := message03(text03("@echo y"), "", "")
	first, again = c.v03("message/send", p, key("k-2")), c.v03("message/send", p, key("k-2"))
	if taskID(first) != taskID(again) || taskID(first) == "" {
		t.Errorf("0.3: got tasks %q and %q, want one", taskID(first), taskID(again))
	}
	a := c.send("@echo other", "", "", key("k-1"))
	wantCode(t, a, -32602)
	if !strings.Contains(string(a.Body), "IDEMPOTENCY_CONFLICT") {
		t.Errorf("got %s, want the reason IDEMPOTENCY_CONFLICT", a.Body)
	}
	// Keys belong to their callers.
	if a := c.send("@echo other", "", "", bob, key("k-1")); taskID(a) == "" {
		t.Errorf("the key of another caller is in the way: %s", a.Body)
	}
	// A running task is waited for by the second try, too.
	id := taskID(c.send("@sleep 0.3", "", `{"returnImmediately":true}`, key("k-3")))
	a = c.send("@sleep 0.3", "", "", key("k-3"))
	wantState(t, a, "TASK_STATE_COMPLETED")
	want(t, a, id, "result", "task", "id")
	// Without a key the same message is new work: clients reuse message ids.
	p = message("@echo z", "", "")
	if one, two := taskID(c.v1("SendMessage", p)), taskID(c.v1("SendMessage", p)); one == two {
		t.Errorf("the same messageId made one task")
	}
	for name, k := range map[string]string{"too long": strings.Repeat("k", 256), "not ASCII": "ключ"} {
		t.Run(name, func(t *testing.T) { wantCode(t, c.send("@echo x", "", "", key(k)), -32602) })
	}
	if a := c.send("@echo x", "", "", key(strings.Repeat("k", 255))); taskID(a) == "" {
		t.Errorf("the longest key is refused: %s", a.Body)
	}
}

// TestHTTP_KeepAlive: one connection carries answers of different lengths.
func TestHTTP_KeepAlive(t *testing.T) {
	c := probe(t)
	for _, n := range []int{10, 100_000, 1, 5000, 0} {
		a := c.send("@big "+strconv.Itoa(n), "", "")
		if got := len(texts(a.Get("result", "task", "artifacts", 0))); got != n {
			t.Errorf("got %d bytes, want %d", got, n)
		}
	}
}
