package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/wire"
)

// call is one attempt as the webhook sees it.
type call struct {
	at   time.Time
	host string
	id   string
	head http.Header
	body string
}

// answer is what a webhook does: it waits, then answers the status.
type answer struct {
	status int
	wait   time.Duration
	head   http.Header
}

// webhooks stand for all webhooks there are, without a network.
type webhooks struct {
	mu     sync.Mutex
	calls  []call                     // guarded by mu
	answer func(n int, c call) answer // n counts the calls of the host before
	open   map[string]int             // guarded by mu; under way, by host
	most   int                        // guarded by mu; the most under way to one host
	total  int                        // guarded by mu
	peak   int                        // guarded by mu; the most under way in all
	seen   map[string]int             // guarded by mu; calls by host
}

func newWebhooks(f func(n int, c call) answer) *webhooks {
	return &webhooks{answer: f, open: make(map[string]int), seen: make(map[string]int)}
}

func always(status int) *webhooks {
	return newWebhooks(func(int, call) answer { return answer{status: status} })
}

func (h *webhooks) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c := call{at: time.Now(), host: r.URL.Host, id: r.Header.Get("webhook-id"), head: r.Header.Clone(), body: string(body)}
	h.mu.Lock()
	h.calls = append(h.calls, c)
	n := h.seen[c.host]
	h.seen[c.host]++
	h.open[c.host]++
	h.total++
	h.most, h.peak = max(h.most, h.open[c.host]), max(h.peak, h.total)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.open[c.host]--
		h.total--
	}()
	a := h.answer(n, c)
	if a.wait > 0 {
		timer := time.NewTimer(a.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if a.head == nil {
		a.head = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: a.head, Body: http.NoBody, Request: r}, nil
}

// got returns the ids of the calls so far.
func (h *webhooks) got() (ids []string) {
	for _, c := range h.all() {
		ids = append(ids, c.id)
	}
	return ids
}

func (h *webhooks) all() []call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// start makes a worker of the store that calls the webhooks.
func start(t *testing.T, store Store, h *webhooks, change ...func(*Options)) *Worker {
	t.Helper()
	o := Options{Store: store, Dialects: wire.New(wire.Options{}), Guard: newGuard(t, GuardOptions{}), Log: zerolog.New(t.Output())}
	for _, f := range change {
		f(&o)
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.client.Transport = h
	w.Start()
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// settle lets the time pass.
func settle(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func wantIDs(t *testing.T, h *webhooks, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, h.got()); d != "" {
		t.Errorf("deliveries differ (-want +got):\n%s", d)
	}
}

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

// testHanging is the crowd: 1 % of 200 webhooks hang, and nobody else notices.
func testHanging(t *testing.T, store testStore) {
	const receivers, each, hanging = 200, 5, 2
	h := newWebhooks(func(_ int, c call) answer {
		if strings.HasPrefix(c.host, "hangs") {
			return answer{status: 200, wait: 30 * time.Second}
		}
		return answer{status: 200, wait: 50 * time.Millisecond}
	})
	w := start(t, store, h)
	var tasks []*work
	due := make(map[string]time.Time)
	for i := range receivers {
		host := fmt.Sprintf("h%d.example", i)
		if i < hanging {
			host = fmt.Sprintf("hangs%d.example", i)
		}
		for n := range each {
			k := newWork(t, store, a2a.TaskID(fmt.Sprintf("t%d-%d", i, n)))
			k.push(a2a.PushConfig{URL: "https://" + host + "/x"})
			tasks = append(tasks, k)
		}
	}
	for round := range 4 {
		for _, k := range tasks {
			k.emit(status(a2a.StateWorking))
			w.Notify(k.task.ID)
			due[fmt.Sprintf("%s.p.%d", k.task.ID, round+2)] = time.Now()
		}
		settle(5 * time.Second)
	}
	var late []time.Duration
	for _, c := range h.all() {
		if !strings.HasPrefix(c.host, "hangs") {
			late = append(late, c.at.Sub(due[c.id]))
		}
	}
	if want := (receivers - hanging) * each * 4; len(late) != want {
		t.Fatalf("got %d deliveries, want %d", len(late), want)
	}
	slices.Sort(late)
	if p99 := late[len(late)*99/100]; p99 > time.Second {
		t.Errorf("got p99 %v, want less than 1s", p99)
	}
}

func testLimits(t *testing.T, store testStore) {
	h := newWebhooks(func(int, call) answer { return answer{status: 200, wait: 10 * time.Millisecond} })
	for i := range 60 {
		k := newWork(t, store, a2a.TaskID(fmt.Sprint("t", i)))
		k.push(a2a.PushConfig{URL: fmt.Sprintf("https://h%d.example/x", i%3)})
		k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	}
	start(t, store, h, func(o *Options) { o.Workers, o.PerHost = 7, 3 })
	settle(time.Minute)
	if got := len(h.got()); got != 120 {
		t.Errorf("got %d deliveries, want 120", got)
	}
	if h.most != 3 || h.peak != 7 {
		t.Errorf("got %d to one host and %d in all at once, want 3 and 7", h.most, h.peak)
	}
}

func testStop(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), chunk("a", false), status(a2a.StateCompleted))
	var waiting []*work
	for i := range 5 {
		x := newWork(t, store, a2a.TaskID(fmt.Sprint("x", i)))
		x.push(a2a.PushConfig{URL: "https://h.example/x"})
		x.emit(status(a2a.StateWorking))
		waiting = append(waiting, x)
	}
	h := newWebhooks(func(int, call) answer { return answer{status: 200, wait: 4 * time.Second} })
	one := func(o *Options) { o.Workers = 1 }
	first := start(t, store, h, one)
	settle(time.Second)
	// The attempt under way is not waited for to its end.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	if err := first.Stop(ctx); err == nil || time.Since(began) != time.Second {
		t.Errorf("got %v after %v, want an error after 1s", err, time.Since(began))
	}
	if l := k.letters(); len(l) != 0 || k.config("p").Attempts != 0 {
		t.Errorf("got %v and %d attempts, want none: it was not the webhook", l, k.config("p").Attempts)
	}
	// The next worker does not wait for claims to end.
	second := start(t, store, h, one)
	settle(time.Second)
	if got := h.got(); len(got) != 2 || got[0] != got[1] {
		t.Fatalf("got %v, want the same delivery once more", got)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Errorf("got %v, want a stop that waits for the answer", err)
	}
	h.answer = func(int, call) answer { return answer{status: 200} }
	start(t, store, h)
	synctest.Wait()
	times := make(map[string]int)
	for _, id := range h.got() {
		times[id]++
	}
	want := map[string]int{"t-1.p.2": 1, "t-1.p.3": 1, "t-1.p.4": 1}
	for _, x := range waiting {
		want[string(x.task.ID)+".p.2"] = 1
	}
	want[h.got()[0]] = 2 // cut off once
	if d := cmp.Diff(want, times); d != "" {
		t.Errorf("deliveries differ (-want +got):\n%s", d)
	}
}

// testCrash is a process that claims and is never heard of again.
func testCrash(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	now := time.Now()
	if jobs, err := store.ClaimPush(t.Context(), "", now, now.Add(20*time.Second), 10); err != nil || len(jobs) != 1 {
		t.Fatalf("got %v, %v, want one job", jobs, err)
	}
	h := always(200)
	w := start(t, store, h)
	w.Notify("t-1")
	settle(19 * time.Second)
	wantIDs(t, h)
	settle(3 * time.Second)
	wantIDs(t, h, "t-1.p.2", "t-1.p.3")
}

func testDeleted(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	h := newWebhooks(func(int, call) answer { return answer{status: 200, wait: time.Second} })
	start(t, store, h)
	settle(time.Second / 2)
	if err := store.DeletePush(t.Context(), caller, "t-1", "p"); err != nil {
		t.Fatal(err)
	}
	settle(time.Minute)
	wantIDs(t, h, "t-1.p.2")
}

func testReplaced(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://old.example/x"})
	k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	h := newWebhooks(func(int, call) answer { return answer{status: 200, wait: 2 * time.Second} })
	w := start(t, store, h)
	settle(time.Second / 2)
	k.push(a2a.PushConfig{URL: "https://new.example/x"})
	w.Notify("t-1")
	settle(time.Minute)
	var got []string
	for _, c := range h.all() {
		got = append(got, c.host+" "+c.id)
	}
	want := []string{"old.example t-1.p.2", "new.example t-1.p.2", "new.example t-1.p.3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("deliveries differ (-want +got):\n%s", d)
	}
	if h.peak != 1 {
		t.Errorf("got %d deliveries of one config at once, want 1", h.peak)
	}
}

func testUnknownDialect(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x", Dialect: "9.9"})
	k.emit(status(a2a.StateWorking))
	h := always(200)
	start(t, store, h)
	settle(time.Minute)
	wantIDs(t, h)
	if c := k.config("p"); c.State != taskstore.PushDisabled || c.LastError == "" {
		t.Errorf("got %+v, want a disabled config", c)
	}
}

// testManyEvents goes on for longer than one claim lasts.
func testManyEvents(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	k.emit(status(a2a.StateWorking))
	for i := range 99 {
		k.emit(chunk("x", i > 0))
	}
	h := newWebhooks(func(int, call) answer { return answer{status: 200, wait: time.Second} })
	start(t, store, h)
	settle(101 * time.Second)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("t-1.p.", i+2))
	}
	wantIDs(t, h, want...)
}

// testLongWait lets jobs wait for their host until their claims are long over.
func testLongWait(t *testing.T, store testStore) {
	for i := range 30 {
		k := newWork(t, store, a2a.TaskID(fmt.Sprint("t", i)))
		k.push(a2a.PushConfig{URL: "https://h.example/x"})
		k.emit(status(a2a.StateWorking))
	}
	h := newWebhooks(func(int, call) answer { return answer{status: 200, wait: 6 * time.Second} })
	start(t, store, h, func(o *Options) { o.PerHost = 1 })
	settle(31 * 6 * time.Second)
	ids := h.got()
	if slices.Sort(ids); len(ids) != 30 || len(slices.Compact(ids)) != 30 {
		t.Errorf("got %d deliveries (%v), want each of 30 once", len(ids), ids)
	}
}

func testRulesChanged(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "http://h.example/x"})
	k.emit(status(a2a.StateWorking))
	h := always(200)
	start(t, store, h)
	settle(time.Minute)
	wantIDs(t, h)
	if c := k.config("p"); c.State != taskstore.PushDisabled || !strings.Contains(c.LastError, "https") || len(k.letters()) != 1 {
		t.Errorf("got %+v, want a disabled config", c)
	}
}

// failing is a store that answers some calls with an error.
type failing struct {
	testStore
	claims, reads int // how many calls fail
}

var errBroken = errors.New("broken")

func (f *failing) ClaimPush(ctx context.Context, id a2a.TaskID, now, until time.Time, limit int) ([]taskstore.PushJob, error) {
	if f.claims > 0 && id != "" {
		f.claims--
		return nil, errBroken
	}
	return f.testStore.ClaimPush(ctx, id, now, until, limit)
}

func (f *failing) Events(ctx context.Context, scope a2a.Scope, id a2a.TaskID, after int64, limit int) ([]a2a.Event, error) {
	if f.reads > 0 {
		f.reads--
		return nil, errBroken
	}
	return f.testStore.Events(ctx, scope, id, after, limit)
}

func testFailingStore(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	h := always(200)
	w := start(t, store, h)
	k.emit(status(a2a.StateWorking))
	w.Notify("t-1")
	settle(time.Second)
	second := start(t, &failing{testStore: store, claims: 2, reads: 2}, h)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.emit(status(a2a.StateCompleted))
	second.Notify("t-1")
	settle(10 * time.Second)
	wantIDs(t, h, "t-1.p.2", "t-1.p.3")
}

func testKeepsSecrets(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/s3cret-path?key=s3cret-query", Token: "s3cret-token", Scheme: "Bearer", Credentials: "s3cret-word"})
	k.emit(status(a2a.StateWorking), chunk("a", false), status(a2a.StateCompleted))
	statuses := []int{500, 400, 410}
	h := newWebhooks(func(n int, _ call) answer { return answer{status: statuses[n]} })
	var log bytes.Buffer
	w := start(t, store, h, func(o *Options) { o.Log = zerolog.New(&log).Level(zerolog.DebugLevel) })
	settle(time.Minute)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(h.got()) != 3 || strings.Count(log.String(), "\n") < 3 {
		t.Fatalf("got %d calls and log %s, want three of each", len(h.got()), log.String())
	}
	said := log.String() + k.config("p").LastError
	for _, l := range k.letters() {
		said += l.Reason
	}
	if strings.Contains(said, "s3cret") {
		t.Errorf("a secret is told: %s", said)
	}
	if got := h.all()[0].head.Get("Authorization"); got != "Bearer s3cret-word" {
		t.Errorf("got Authorization %q", got)
	}
}

func testPassesOver(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "https://h.example/x"})
	h := always(200)
	w := start(t, store, h)
	k.emit(status(a2a.StateWorking), status(a2a.StateInputRequired))
	w.Notify("t-1")
	synctest.Wait()
	k.emit(a2a.Event{Message: &a2a.Message{ID: "m2", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("yes")}}})
	w.Notify("t-1")
	synctest.Wait()
	if c := k.config("p"); c.Cursor != 4 {
		t.Errorf("got cursor %d, want 4: a message is nothing to deliver", c.Cursor)
	}
	k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	w.Notify("t-1")
	synctest.Wait()
	wantIDs(t, h, "t-1.p.2", "t-1.p.3", "t-1.p.5", "t-1.p.6")
}

func testHundreds(t *testing.T, store testStore) {
	h := always(200)
	for i := range 350 {
		k := newWork(t, store, a2a.TaskID(fmt.Sprint("t", i)))
		k.push(a2a.PushConfig{URL: fmt.Sprintf("https://h%d.example/x", i)})
		k.emit(status(a2a.StateWorking))
	}
	start(t, store, h, func(o *Options) { o.MaxWaiting = 100 })
	settle(5 * time.Second)
	if got := len(h.got()); got != 350 {
		t.Errorf("got %d deliveries, want 350", got)
	}
}

// testSeveralWebhooks has webhooks of one task that fare differently.
func testSeveralWebhooks(t *testing.T, store testStore) {
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{ID: "bad", URL: "https://bad.example/x"})
	k.push(a2a.PushConfig{ID: "slow", URL: "https://slow.example/x"})
	k.push(a2a.PushConfig{ID: "good", URL: "https://good.example/x"})
	h := newWebhooks(func(n int, c call) answer {
		switch c.host {
		case "bad.example":
			return answer{status: 500}
		case "slow.example":
			return answer{status: 200, wait: 30 * time.Second}
		}
		return answer{status: 200}
	})
	w := start(t, store, h)
	k.emit(status(a2a.StateWorking))
	w.Notify("t-1")
	synctest.Wait()
	k.emit(status(a2a.StateCompleted))
	w.Notify("t-1")
	synctest.Wait()
	var good []string
	for _, c := range h.all() {
		if c.host == "good.example" {
			good = append(good, c.id)
		}
	}
	if want := []string{"t-1.good.2", "t-1.good.3"}; !slices.Equal(good, want) {
		t.Errorf("got %v, want %v at once", good, want)
	}
}

func TestNew_Refuses(t *testing.T) {
	good := Options{Store: openMemory(t), Dialects: wire.New(wire.Options{}), Guard: newGuard(t, GuardOptions{})}
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
