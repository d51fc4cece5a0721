package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/configs"
)

func TestPoll(t *testing.T) {
	c := probe(t, func(c *configs.Config) { c.Limits.Wait.Max = 2 * time.Second })
	wait := func(body, query string, headers ...string) (string, time.Duration) {
		t.Helper()
		began := time.Now()
		a := c.Do(http.MethodPost, "/?wait="+query, body, append([]string{alice}, headers...)...)
		if a.Status != http.StatusOK {
			t.Errorf("got HTTP %d: %s", a.Status, a.Body)
		}
		state, _ := a.Get("result", "status", "state").(string)
		if state == "" {
			state, _ = a.Get("result", "status").(string)
		}
		return state, time.Since(began)
	}
	for name, r := range map[string]struct {
		read    func(id string) string
		headers []string
	}{
		"1.0": {func(id string) string { return call("GetTask", params("id", id)) }, []string{v10}},
		"0.3": {func(id string) string { return call("tasks/get", params("id", id)) }, nil},
		"emm": {func(id string) string { return call("tasks/status", params("taskId", id)) }, nil},
	} {
		id := c.bg("@sleep 0.5")
		if state, took := wait(r.read(id), "20s", r.headers...); !strings.HasSuffix(strings.ToLower(state), "completed") || took < 300*time.Millisecond {
			t.Errorf("%s: got %s after %s, want it completed", name, state, took)
		}
		if state, took := wait(r.read(id), "20s", r.headers...); !strings.HasSuffix(strings.ToLower(state), "completed") || took > 1900*time.Millisecond {
			t.Errorf("%s: got %s after %s, want it at once", name, state, took)
		}
		long := c.bg("@sleep 60")
		if state, took := wait(r.read(long), "300ms", r.headers...); !strings.HasSuffix(strings.ToLower(state), "working") || took < 300*time.Millisecond {
			t.Errorf("%s: got %s after %s, want it working when the wait is over", name, state, took)
		}
		// limits.wait.max is the most.
		if state, took := wait(r.read(long), "1h", r.headers...); !strings.HasSuffix(strings.ToLower(state), "working") || took < 1900*time.Millisecond || took > 15*time.Second {
			t.Errorf("%s: got %s after %s, want it working after two seconds", name, state, took)
		}
		if state, took := wait(r.read(long), "0s", r.headers...); !strings.HasSuffix(strings.ToLower(state), "working") || took > 1900*time.Millisecond {
			t.Errorf("%s: got %s after %s, want it at once", name, state, took)
		}
	}
	for _, odd := range []string{"30", "soon", "-1s"} {
		a := c.Do(http.MethodPost, "/?wait="+odd, call("GetTask", params("id", "x")), alice, v10)
		checkV1(t, "GetTask", a.Body)
		wantCode(t, a, "-32602")
		want(t, a, "wait", "error", "data", 1, "fieldViolations", 0, "field")
	}
	a := c.Do(http.MethodPost, "/?wait=5s", call("GetTask", params("id", "nope")), alice, v10)
	wantCode(t, a, "-32001")
	if state, took := wait(call("GetTask", params("id", c.bg("@sleep 5"))), "1s", bob, v10); state != "" || took > 1900*time.Millisecond {
		t.Errorf("foreign task: got %q after %s, want nothing at once", state, took)
	}
}

// TestPoll_limit: reads that wait count among the streams of a caller.
func TestPoll_limit(t *testing.T) {
	c := probe(t, func(c *configs.Config) { c.Limits.Streams = 1 })
	id := c.bg("@sleep 60")
	c.until(id, "TASK_STATE_WORKING")
	held := openStream(t, c.Server, http.MethodPost, "/", onTask("SubscribeToTask", id), alice, v10)
	if _, ok := held.next(); !ok {
		t.Fatal("no snapshot")
	}
	a := c.Do(http.MethodPost, "/?wait=1s", call("GetTask", params("id", id)), alice, v10)
	if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("got HTTP %d %v, want 429 with Retry-After", a.Status, a.Header)
	}
	wantState(t, c.get(id), "TASK_STATE_WORKING") // without a wait it is answered
	held.close()
	eventually(t, "the stream's place is free", func() bool {
		return c.Do(http.MethodPost, "/?wait=10ms", call("GetTask", params("id", id)), alice, v10).Status == http.StatusOK
	})
}
