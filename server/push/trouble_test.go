package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// testHanging is the crowd: 1 % of 200 webhooks hang, and nobody else notices.
func testHanging(t *testing.T, store testStore) {
	const receivers, each, hanging = 200, 2, 2
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
