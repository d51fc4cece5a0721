package server_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

var uuidv7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func TestRequestID(t *testing.T) {
	c := probe(t)
	for _, id := range []string{"abc", "a-b_c.D9", strings.Repeat("x", 128)} {
		if got := c.Do("GET", "/healthz", "", "X-Request-Id: "+id).Header.Get("X-Request-Id"); got != id {
			t.Errorf("got request id %q, want %q", got, id)
		}
	}
	for _, id := range []string{"", "a b", `a"b`, "a\tb", "é", strings.Repeat("x", 129), "../x", "<script>"} {
		if got := c.Do("GET", "/healthz", "", "X-Request-Id: "+id).Header.Get("X-Request-Id"); !uuidv7.MatchString(got) {
			t.Errorf("%q: got request id %q, want a new one", id, got)
		}
	}
	// Refusals have one as well.
	for _, a := range []servertest.Answer{c.Do("GET", "/nowhere", ""), c.RPC("{}"), c.Do("PUT", "/", "")} {
		if a.Header.Get("X-Request-Id") == "" {
			t.Errorf("HTTP %d without a request id", a.Status)
		}
	}
	off := probe(t, func(cfg *configs.Config) { cfg.Server.RequestID = false })
	if got := off.Do("GET", "/healthz", "").Header.Get("X-Request-Id"); got != "" {
		t.Errorf("got request id %q where it is turned off", got)
	}
}

func TestLog_Requests(t *testing.T) {
	var log logBuffer
	c := &client{t: t, Server: servertest.New(t, servertest.Options{YAML: probeYAML(t), Log: &log, Edit: func(cfg *configs.Config) {
		cfg.Store.Kind = "memory"
	}})}
	sent := c.send("@echo the-payload", `{"contextId":"the-context"}`, "", "X-Request-Id: r-send")
	c.get("none", "X-Request-Id: r-none")
	c.Do("POST", "/?api_key=the-query-key", `{"the-body":`, alice, "X-Request-Id: r-parse")
	c.RPC(call("SendMessage", message("x", "", "")), "Authorization: Bearer the-wrong-key", "X-Request-Id: r-auth")
	c.Do("GET", "/nowhere/the-path", "", "X-Request-Id: r-404")
	c.Do("GET", cardPath, "", "X-Request-Id: r-card")
	c.send("@panic", `{"contextId":"c2"}`, "", "X-Request-Id: r-panic")
	c.send("@data the-other-payload", `{"metadata":{"k":"the-metadata"}}`, "", "X-Request-Id: r-data")
	c.Do("OPTIONS", "/", "", "X-Request-Id: r-405")
	c.Stop()

	byID := map[string]map[string]any{}
	lines := log.lines(t, "request")
	for _, line := range lines {
		byID[line["request_id"].(string)] = line
	}
	const requests = 9
	if len(lines) != requests || len(byID) != requests {
		t.Errorf("got %d lines of %d requests, want one of each of %d:\n%s", len(lines), len(byID), requests, log.String())
	}
	check := func(id string, wanted map[string]any) {
		t.Helper()
		line := byID[id]
		for name, w := range wanted {
			if got := line[name]; got != w {
				t.Errorf("%s: %s is %v, want %v: %v", id, name, got, w, line)
			}
		}
		for _, name := range []string{"method", "route", "status", "duration_ms", "bytes", "client_ip", "principal", "level"} {
			if _, ok := line[name]; !ok {
				t.Errorf("%s: no %s: %v", id, name, line)
			}
		}
	}
	check("r-send", map[string]any{
		"level": "info", "method": "POST", "route": "/api/a2a/tasks", "status": 200.0, "client_ip": "127.0.0.1", "principal": "alice",
		"a2a_method": "SendMessage", "skill": "probe", "task_id": taskID(sent), "context_id": "the-context", "bytes": float64(len(sent.Body)),
	})
	check("r-none", map[string]any{"level": "info", "a2a_method": "GetTask", "task_id": "none", "error_kind": "task_not_found"})
	check("r-parse", map[string]any{"level": "info", "route": "/", "error_kind": "parse_error"})
	check("r-auth", map[string]any{"level": "warn", "status": 401.0, "error_kind": "unauthenticated", "principal": ""})
	check("r-404", map[string]any{"level": "info", "status": 404.0})
	check("r-card", map[string]any{"status": 200.0, "route": cardPath})
	check("r-panic", map[string]any{"status": 200.0, "context_id": "c2"})
	check("r-405", map[string]any{"status": 405.0})
	for _, secret := range []string{"the-payload", "the-other-payload", "the-metadata", "the-body", "the-query-key", "the-wrong-key", "alice-token", "the-path"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, log.String())
		}
	}
}

// TestLog_Serving: start and stop are in the log.
func TestLog_Serving(t *testing.T) {
	var log logBuffer
	s := servertest.New(t, servertest.Options{Log: &log, Edit: func(cfg *configs.Config) { cfg.Store.Kind = "memory" }})
	s.Stop()
	for _, msg := range []string{"serving", "stopped"} {
		if len(log.lines(t, msg)) != 1 {
			t.Errorf("want one line %q:\n%s", msg, log.String())
		}
	}
}
