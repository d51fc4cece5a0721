package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

func TestAuth_Keys(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) {
		cfg.Auth.Keys = append(cfg.Auth.Keys, configs.Key{Name: "alice", Key: "alice-next-token"})
	})
	id := c.done("@echo x", "")
	for name, headers := range map[string][]string{
		"bearer": {alice}, "key header": {"X-API-Key: alice-token"}, "both": {alice, "X-API-Key: alice-token"},
		"scheme in lower case": {"Authorization: bearer alice-token"}, "scheme in upper case": {"Authorization: BEARER alice-token"},
		"blanks": {"Authorization: Bearer   alice-token "}, "one right, one wrong": {"Authorization: Bearer nope", "X-API-Key: alice-token"},
		"the other key of the name": {"Authorization: Bearer alice-next-token"},
	} {
		a := c.RPC(call("GetTask", params("id", id)), append(headers, v10)...)
		if a.Status != 200 || a.Get("result") == nil {
			t.Errorf("%s: got HTTP %d %s, want the task", name, a.Status, clip(a.Body))
		}
	}
}

// TestAuth_Refusal: nothing of the answer tells which key was how wrong.
func TestAuth_Refusal(t *testing.T) {
	c := probe(t)
	var first servertest.Answer
	for _, headers := range [][]string{
		{}, {"Authorization: Bearer wrong"}, {"X-API-Key: wrong"}, {"Authorization: Bearer alice-toke"}, {"X-API-Key: alice-token2"},
		{"Authorization: Basic YWxpY2U6YWxpY2UtdG9rZW4="}, {"Authorization: alice-token"}, {"Authorization: Bearer"}, {"Authorization: Bearer alice-token,bob-token"},
		{"X-API-Key: " + strings.Repeat("k", 5000)}, {"Authorization: Bearer ALICE-TOKEN"}, {"Cookie: key=alice-token"},
	} {
		a := c.RPC(call("GetTask", `{"id":"x"}`), headers...)
		if a.Status != http.StatusUnauthorized || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%v: got HTTP %d, WWW-Authenticate %q; want 401 with Bearer", headers, a.Status, a.Header.Get("WWW-Authenticate"))
		}
		checkV1(t, "", a.Body)
		if d, ok := a.Get("detail").(string); !ok || d == "" {
			t.Errorf("%v: no detail: %s", headers, a.Body)
		}
		if first.Body == nil {
			first = a
		}
		if string(a.Body) != string(first.Body) {
			t.Errorf("%v: got %s, want the same answer for all, %s", headers, a.Body, first.Body)
		}
	}
	// Where no JSON-RPC was asked for there is none; a query parameter is no key.
	a := c.Do("GET", "/api/a2a/tasks/x/stream?api_key=alice-token", "")
	if a.Status != http.StatusUnauthorized || a.Get("jsonrpc") != nil || a.Get("detail") == nil {
		t.Errorf("got HTTP %d %s, want 401 with a detail", a.Status, a.Body)
	}
	// The check comes before everything else that could be told.
	for _, path := range mounts {
		if a := c.Do("POST", path, "not JSON", "Content-Type: text/plain"); a.Status != http.StatusUnauthorized {
			t.Errorf("POST %s without a key: got HTTP %d, want 401", path, a.Status)
		}
	}
}

func TestAuth_NotRequired(t *testing.T) {
	s := plain(t)
	for _, headers := range [][]string{{}, {"Authorization: Bearer anything"}, {"X-API-Key: anything"}} {
		if a := s.RPC(call("GetTask", `{"id":"x"}`), headers...); a.Status != 200 {
			t.Errorf("%v: got HTTP %d, want 200 where there are no keys", headers, a.Status)
		}
	}
	// With keys that nobody needs, a wrong one is still told.
	c := probe(t, func(cfg *configs.Config) { cfg.Auth.Required = "false" })
	if a := c.RPC(call("GetTask", `{"id":"x"}`)); a.Status != 200 {
		t.Errorf("got HTTP %d without a key, want 200", a.Status)
	}
	if a := c.RPC(call("GetTask", `{"id":"x"}`), "X-API-Key: wrong"); a.Status != http.StatusUnauthorized {
		t.Errorf("got HTTP %d with a wrong key, want 401", a.Status)
	}
	// Strangers share nothing with the callers that have a name.
	id := c.done("@echo x", "")
	wantCode(t, c.RPC(call("GetTask", params("id", id))), -32001)
}

// TestAuth_Tenants: callers of one name in different tenants are different callers.
func TestAuth_Tenants(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) {
		cfg.Auth.Keys = append(cfg.Auth.Keys, configs.Key{Name: "alice", Tenant: "other", Key: "other-alice"})
	})
	other := "X-API-Key: other-alice"
	id := c.done("@echo x", "")
	a := c.RPC(call("GetTask", params("id", id)), other)
	wantCode(t, a, -32001)
	a = c.RPC(call("ListTasks", `{}`), other)
	want(t, a, 0, "result", "totalSize")
}
