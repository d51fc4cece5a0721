package push

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/guard"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/wire"
)

func TestWorker_Memory(t *testing.T) { testWorker(t, openMemory) }

// testWorker is what a worker does with any store.
func testWorker(t *testing.T, open func(testing.TB) testStore) {
	for name, test := range map[string]func(t *testing.T, store testStore){
		"order":            testOrder,
		"new_events":       testNewEvents,
		"whole_task":       testWholeTask,
		"retries":          testRetries,
		"retry_after":      testRetryAfter,
		"gone":             testGone,
		"refused":          testRefused,
		"exhausted":        testExhausted,
		"hanging":          testHanging,
		"limits":           testLimits,
		"stop":             testStop,
		"crash":            testCrash,
		"deleted":          testDeleted,
		"replaced":         testReplaced,
		"unknown_dialect":  testUnknownDialect,
		"many_events":      testManyEvents,
		"long_wait":        testLongWait,
		"rules_changed":    testRulesChanged,
		"failing_store":    testFailingStore,
		"keeps_secrets":    testKeepsSecrets,
		"passes_over":      testPassesOver,
		"hundreds":         testHundreds,
		"several_webhooks": testSeveralWebhooks,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, open(t)) })
		})
	}
}

func testOrder(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), chunk("a", false), chunk("b", true))
	k.emit(status(a2a.StateCompleted))
	h := always(200)
	start(t, store, h)
	synctest.Wait()
	wantIDs(t, h, "t-1.p.2", "t-1.p.3", "t-1.p.4", "t-1.p.5")
	bodies := []string{"statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"}
	for i, c := range h.all() {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.body), &members); err != nil || len(members) != 1 || members[bodies[i]] == nil {
			t.Errorf("delivery %d: got %s, want one member %s (%v)", i, c.body, bodies[i], err)
		}
		if ct := c.head.Get("Content-Type"); ct != "application/a2a+json" {
			t.Errorf("got Content-Type %s, want application/a2a+json", ct)
		}
	}
	settle(time.Hour)
	if c := k.config("p"); len(h.got()) != 4 || c.State == taskstore.PushActive {
		t.Errorf("got %d deliveries and %+v, want four, and a config that is done", len(h.got()), c)
	}
}

func testNewEvents(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	h := newWebhooks(func(int, call) answer { return answer{status: 204, wait: 300 * time.Millisecond} })
	w := start(t, store, h)
	began := time.Now()
	for _, ev := range []a2a.Event{status(a2a.StateWorking), chunk("a", false), chunk("b", true), status(a2a.StateInputRequired), status(a2a.StateWorking), status(a2a.StateFailed)} {
		k.emit(ev)
		w.Notify("t-1")
		settle(100 * time.Millisecond)
	}
	w.Notify("t-1")
	w.Notify("unknown")
	settle(6*300*time.Millisecond - time.Since(began) + time.Millisecond)
	wantIDs(t, h, "t-1.p.2", "t-1.p.3", "t-1.p.4", "t-1.p.5", "t-1.p.6", "t-1.p.7")
	if h.most != 1 {
		t.Errorf("got %d deliveries of one config at once, want 1", h.most)
	}
}

func testWholeTask(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x", Dialect: wire.NameV03})
	h := newWebhooks(func(n int, _ call) answer {
		if n == 0 {
			return answer{status: 500}
		}
		return answer{status: 200}
	})
	w := start(t, store, h)
	k.emit(status(a2a.StateWorking), chunk("a", false))
	w.Notify("t-1")
	synctest.Wait()
	// The task goes on before the second attempt, which shows it as it is then.
	k.emit(chunk("b", true))
	settle(3 * time.Second)
	k.emit(status(a2a.StateCompleted))
	w.Notify("t-1")
	synctest.Wait()
	wantIDs(t, h, "t-1.p.3", "t-1.p.4", "t-1.p.5")
	for i, state := range []string{"working", "working", "completed"} {
		var got struct {
			Kind, ID string
			Status   struct{ State string }
		}
		c := h.all()[i]
		if err := json.Unmarshal([]byte(c.body), &got); err != nil || got.Kind != "task" || got.ID != "t-1" || got.Status.State != state {
			t.Errorf("delivery %d: got %s, want a task in state %s (%v)", i, c.body, state, err)
		}
		if ct := c.head.Get("Content-Type"); ct != "application/json" {
			t.Errorf("got Content-Type %s, want application/json", ct)
		}
	}
}

func testRetries(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	statuses := []int{500, 302, 408, 425, 429, 200, 503, 200}
	h := newWebhooks(func(n int, _ call) answer { return answer{status: statuses[n]} })
	start(t, store, h)
	settle(2 * time.Minute)
	wantIDs(t, h, "t-1.p.2", "t-1.p.2", "t-1.p.2", "t-1.p.2", "t-1.p.2", "t-1.p.2", "t-1.p.3", "t-1.p.3")
	calls := h.all()
	const tick = time.Second
	for i, most := 1, time.Second; i <= 5; i, most = i+1, 2*most {
		if pause := calls[i].at.Sub(calls[i-1].at); pause < most/2 || pause > most+tick {
			t.Errorf("pause %d: got %v, want %v to %v", i, pause, most/2, most)
		}
		if calls[i].body != calls[0].body {
			t.Errorf("attempt %d has another body: %s", i+1, calls[i].body)
		}
	}
	if pause := calls[7].at.Sub(calls[6].at); pause > time.Second+tick {
		t.Errorf("pause after a success: got %v, want it to start over", pause)
	}
	if c := k.config("p"); len(k.letters()) != 0 || c.LastError != "" {
		t.Errorf("got %v, %+v, want no dead letters and no error", k.letters(), c)
	}
}

func testRetryAfter(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking))
	h := newWebhooks(nil)
	h.answer = func(n int, _ call) answer {
		after := []string{"30", time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), "86400", "-5", "nonsense", ""}
		if n < len(after) {
			return answer{status: 503, head: http.Header{"Retry-After": {after[n]}}}
		}
		return answer{status: 200}
	}
	start(t, store, h)
	settle(time.Hour)
	calls := h.all()
	for i, want := range []time.Duration{30 * time.Second, 89 * time.Second, 10 * time.Minute} {
		if pause := calls[i+1].at.Sub(calls[i].at); pause < want || pause > want+2*time.Second {
			t.Errorf("pause %d: got %v, want %v", i+1, pause, want)
		}
	}
	if got := len(calls); got != 7 {
		t.Errorf("got %d attempts, want 7", got)
	}
}

func testGone(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), chunk("a", false))
	h := newWebhooks(func(n int, _ call) answer {
		if n == 1 {
			return answer{status: 410}
		}
		return answer{status: 200}
	})
	w := start(t, store, h)
	synctest.Wait()
	k.emit(status(a2a.StateCompleted))
	w.Notify("t-1")
	settle(time.Hour)
	wantIDs(t, h, "t-1.p.2", "t-1.p.3")
	if c := k.config("p"); c.State != taskstore.PushDisabled || !strings.Contains(c.LastError, "410") {
		t.Errorf("got state %d, error %q, want a disabled config and 410", c.State, c.LastError)
	}
	if l := k.letters(); len(l) != 1 || l[0].Seq != 3 || l[0].Attempts != 1 || l[0].URL != "https://h.example/x" {
		t.Errorf("got %+v, want event 3 as dead letter", l)
	}
	// An operator can take it up again, and nothing was lost.
	if n, err := store.RevivePush(t.Context(), "t-1", ""); n != 1 || err != nil {
		t.Fatalf("revive: got %d, %v", n, err)
	}
	settle(time.Second)
	wantIDs(t, h, "t-1.p.2", "t-1.p.3", "t-1.p.3", "t-1.p.4")
}

func testRefused(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), chunk("a", false), status(a2a.StateCompleted))
	h := newWebhooks(func(n int, _ call) answer { return answer{status: []int{200, 400, 404}[n]} })
	start(t, store, h)
	synctest.Wait()
	wantIDs(t, h, "t-1.p.2", "t-1.p.3", "t-1.p.4")
	var seqs []int64
	for _, l := range k.letters() {
		seqs = append(seqs, l.Seq)
		if l.Attempts != 1 || !strings.Contains(l.Reason, "40") {
			t.Errorf("got %+v, want one attempt and its status", l)
		}
	}
	if !slices.Equal(seqs, []int64{3, 4}) {
		t.Errorf("got dead letters %v, want 3 and 4", seqs)
	}
}

func testExhausted(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	h := newWebhooks(func(n int, _ call) answer {
		if n < 3 {
			return answer{status: 500}
		}
		return answer{status: 200}
	})
	start(t, store, h, func(o *Options) { o.Attempts = 3 })
	settle(time.Minute)
	wantIDs(t, h, "t-1.p.2", "t-1.p.2", "t-1.p.2", "t-1.p.3")
	if l := k.letters(); len(l) != 1 || l[0].Seq != 2 || l[0].Attempts != 3 || l[0].Reason != "answered 500" {
		t.Errorf("got %+v, want event 2 given up after 3 attempts", l)
	}
}

func TestNew_Refuses(t *testing.T) {
	good := Options{Store: openMemory(t), Dialects: wire.New(wire.Options{}), Guard: newGuard(t, guard.Options{})}
	for name, change := range map[string]func(*Options){
		"no_store": func(o *Options) { o.Store = nil }, "no_guard": func(o *Options) { o.Guard = nil }, "no_dialects": func(o *Options) { o.Dialects = nil },
		"negative": func(o *Options) { o.Timeout = -1 }, "negative_workers": func(o *Options) { o.Workers = -1 },
		"no_base64":    func(o *Options) { o.Secrets = []string{"whsec_s3cret!"} },
		"short_secret": func(o *Options) { o.Secrets = []string{"whsec_czNjcmV0"} },
		"empty_secret": func(o *Options) { o.Secrets = []string{""} },
	} {
		o := good
		change(&o)
		_, err := New(o)
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "czNjcmV0") {
			t.Errorf("%s: got %v, want an error without the secret", name, err)
		}
	}
	w, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Errorf("stop of a worker that never started: %v", err)
	}
}

func TestDeliveryID(t *testing.T) {
	seen := make(map[string]string)
	for _, c := range []a2a.PushConfig{{TaskID: "a.b", ID: "c"}, {TaskID: "a", ID: "b.c"}, {TaskID: "a%2Eb", ID: "c"}, {TaskID: "é", ID: " "}, {TaskID: "x", ID: "y"}} {
		id := deliveryID(&c, 7)
		if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q is no header value", id)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q have one id: %s", c.TaskID, other, id)
		}
		seen[id] = string(c.TaskID)
	}
	if seen["x.y.7"] == "" {
		t.Errorf("got %v, want x.y.7 among them", seen)
	}
}
