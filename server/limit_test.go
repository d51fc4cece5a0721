package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// limited lets each caller read three times and write twice in an hour.
func limited(c *configs.Config) {
	c.Limits.Read = configs.Rate{Requests: 3, Per: time.Hour}
	c.Limits.Write = configs.Rate{Requests: 2, Per: time.Hour}
}

func wantTooMany(t *testing.T, a servertest.Answer) {
	t.Helper()
	after, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.Status != http.StatusTooManyRequests || err != nil || after < 1 {
		t.Errorf("got HTTP %d, Retry-After %q; want 429 and seconds", a.Status, a.Header.Get("Retry-After"))
	}
	want(t, a, -32051, "error", "code")
}

func TestLimit_Rates(t *testing.T) {
	c := probe(t, limited)
	read := func(headers ...string) servertest.Answer {
		return c.RPC(call("GetTask", `{"id":"x"}`), append(headers, v10)...)
	}
	write := func(headers ...string) servertest.Answer {
		return c.RPC(call("SendMessage", message("@echo x", "", "")), append(headers, v10)...)
	}
	for i := range 3 {
		if a := read(alice); a.Status != 200 {
			t.Errorf("read %d: got HTTP %d", i, a.Status)
		}
	}
	a := read(alice)
	wantTooMany(t, a)
	checkV1(t, "", a.Body)
	if s := string(a.Body); !strings.Contains(s, "RATE_LIMITED") || !strings.Contains(s, "RetryInfo") {
		t.Errorf("got %s, want the reason and RetryInfo", s)
	}
	want(t, a, 1, "id")
	// The classes are counted apart, and so are callers; keys are not, nor spoofed addresses.
	for i := range 2 {
		if a := write(alice); a.Status != 200 {
			t.Errorf("write %d: got HTTP %d", i, a.Status)
		}
	}
	wantTooMany(t, write(alice, "X-Forwarded-For: 203.0.113.7"))
	wantTooMany(t, c.RPC(call("tasks/status", `{"taskId":"x"}`), alice))
	wantTooMany(t, c.RPC(call("tasks/submit", `{}`), alice))
	if a := read(bob); a.Status != 200 {
		t.Errorf("another caller got HTTP %d", a.Status)
	}
	// Cards and health are free.
	for range 10 {
		for _, path := range []string{cardPath, "/healthz", "/readyz"} {
			if a := c.Do("GET", path, ""); a.Status != 200 {
				t.Errorf("GET %s: got HTTP %d", path, a.Status)
			}
		}
	}
}

// TestLimit_FailedTries: guessing keys is limited, too, by address.
func TestLimit_FailedTries(t *testing.T) {
	c := probe(t, limited)
	for range 2 {
		if a := c.RPC(call("GetTask", `{"id":"x"}`), "X-API-Key: wrong"); a.Status != http.StatusUnauthorized {
			t.Errorf("got HTTP %d, want 401", a.Status)
		}
	}
	wantTooMany(t, c.RPC(call("GetTask", `{"id":"x"}`), "X-API-Key: wrong"))
	// Whoever has a key is not in the way of those who have none.
	if a := c.RPC(call("GetTask", `{"id":"x"}`), alice); a.Status != 200 {
		t.Errorf("got HTTP %d with a good key, want 200", a.Status)
	}
}

// TestLimit_Anonymous: callers without a key are told apart by address, which only
// a trusted proxy can name.
func TestLimit_Anonymous(t *testing.T) {
	from := func(s *servertest.Server, ip string) servertest.Answer {
		return s.RPC(call("tasks/submit", `{"skillId":"list_workspaces"}`), "X-Forwarded-For: "+ip)
	}
	s := plain(t, limited)
	from(s, "203.0.113.1")
	from(s, "203.0.113.2")
	wantTooMany(t, from(s, "203.0.113.3"))
	s = plain(t, limited, trusting)
	for i := range 4 {
		if a := from(s, "203.0.113."+strconv.Itoa(i)); a.Status != 200 {
			t.Errorf("address %d: got HTTP %d", i, a.Status)
		}
	}
	from(s, "203.0.113.0")
	wantTooMany(t, from(s, "203.0.113.0"))
	// What the client itself wrote in front of the proxy's word counts for nothing.
	wantTooMany(t, from(s, "198.51.100.1, 203.0.113.0"))
}

func TestLimit_QueueFull(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) {
		p := skill(t, cfg, "probe")
		p.Concurrency, p.Queue = 1, 2
	})
	running := c.bg("@hang")
	one, two := c.bg("@echo one"), c.bg("@echo two")
	want(t, c.get(one), 1, "result", "metadata", "queuePlace")
	want(t, c.get(two), 2, "result", "metadata", "queuePlace")
	refusals := map[string]servertest.Answer{
		"1.0": c.RPC(call("SendMessage", message("@echo x", "", "")), alice, v10),
		"0.3": c.RPC(call("message/send", message03(text03("@echo x"), "", "")), alice),
	}
	for dialect, a := range refusals {
		after, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.Status != http.StatusTooManyRequests || err != nil || after < 1 {
			t.Errorf("%s: got HTTP %d, Retry-After %q; want 429 and seconds", dialect, a.Status, a.Header.Get("Retry-After"))
		}
		checkV1(t, "", a.Body)
		want(t, a, "QUEUE_FULL", "error", "data", 0, "reason")
		want(t, a, "type.googleapis.com/google.rpc.RetryInfo", "error", "data", 1, "@type")
		want(t, a, strconv.Itoa(after)+"s", "error", "data", 1, "retryDelay")
		if code := a.Get("error", "code"); code == nil || !strings.HasPrefix(code.(interface{ String() string }).String(), "-320") {
			t.Errorf("%s: got code %v, want one of the server's range", dialect, code)
		}
	}
	a := c.RPC(call("tasks/submit", `{"message":{"parts":[{"text":"@echo x"}]}}`), alice)
	if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("tasks/submit: got HTTP %d, Retry-After %q", a.Status, a.Header.Get("Retry-After"))
	}
	want(t, a, "queue_full", "error", "data", "reason")
	// Other skills are not concerned, and a cancelled task makes room.
	want(t, submitAs(t, c, `{"skillId":"list_workspaces"}`), "completed", "result", "task", "status")
	wantState(t, c.cancel(two), "TASK_STATE_CANCELED")
	three := c.bg("@echo three")
	c.cancel(running)
	c.until(one, "TASK_STATE_COMPLETED")
	c.until(three, "TASK_STATE_COMPLETED")
	wantState(t, c.get(two), "TASK_STATE_CANCELED")
	want(t, c.v1("ListTasks", `{}`), 5, "result", "totalSize")
}

func submitAs(t *testing.T, c *client, params string) servertest.Answer {
	t.Helper()
	return submit(t, c.Server, params, alice)
}
