package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/server/servertest"
)

// arrival is a delivery as a webhook got it.
type arrival struct {
	servertest.Answer // Header and Body of the request
	id                string
	status            int // what it was answered
}

// hook is a webhook that remembers what it got.
type hook struct {
	url string
	// changed receives a value after each arrival; it has room for one.
	changed chan struct{}

	mu       sync.Mutex
	arrivals []arrival // guarded by mu
}

// newHook starts a webhook. answer is called with the number of the request, from 1,
// and may be nil: 204 to all.
func newHook(t testing.TB, answer func(n int, r *http.Request) int) *hook {
	h := &hook{changed: make(chan struct{}, 1)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender died
		}
		h.mu.Lock()
		n := len(h.arrivals)
		h.arrivals = append(h.arrivals, arrival{Answer: servertest.Answer{Header: r.Header.Clone(), Body: body}, id: r.Header.Get("Webhook-Id")})
		h.mu.Unlock()
		status := http.StatusNoContent
		if answer != nil {
			status = answer(n+1, r)
		}
		w.WriteHeader(status)
		h.mu.Lock()
		h.arrivals[n].status = status
		h.mu.Unlock()
		select {
		case h.changed <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(s.Close)
	h.url = s.URL + "/hook"
	return h
}

// got returns what has arrived and been answered, in order.
func (h *hook) got() []arrival {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.arrivals), func(a arrival) bool { return a.status == 0 })
}

// until waits for an arrival that contains the text.
func (h *hook) until(t testing.TB, text string) []arrival {
	t.Helper()
	var all []arrival
	eventually(t, "the webhook gets "+text, func() bool {
		all = h.got()
		return slices.ContainsFunc(all, func(a arrival) bool { return a.status/100 == 2 && strings.Contains(string(a.Body), text) })
	})
	return all
}

// seq is the number of the event that a delivery is about, the end of its id.
func (a arrival) seq(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(a.id[strings.LastIndexByte(a.id, '.')+1:])
	if err != nil {
		t.Errorf("delivery has the id %q, want one that ends with a number", a.id)
	}
	return n
}

// checkDeliveries: at least once, each with its own id for each attempt of it, and in
// order. It returns the bodies by event.
func checkDeliveries(t testing.TB, all []arrival, prefix string) map[int]string {
	t.Helper()
	bodies, last := map[int]string{}, 0
	for i, a := range all {
		n := a.seq(t)
		if a.id != prefix+strconv.Itoa(n) {
			t.Errorf("delivery %d has the id %q, want %s%d", i, a.id, prefix, n)
		}
		if body, again := bodies[n]; again && body != string(a.Body) {
			t.Errorf("attempts of delivery %s differ:\n%s\n%s", a.id, body, a.Body)
		}
		if n < last {
			t.Errorf("delivery of event %d came after that of event %d", n, last)
		}
		last, bodies[n] = n, string(a.Body)
	}
	return bodies
}

// reader is a client that reads a stream, and goes on after a break.
type reader struct {
	subscribe string // the method
	frames    []frame
}

func (r *reader) last() string {
	if len(r.frames) == 0 {
		return ""
	}
	return r.frames[len(r.frames)-1].id
}

// read takes up to n frames, or all for n < 0, and reports whether the stream goes on.
func (r *reader) read(s *stream, n int) bool {
	for n != 0 {
		f, ok := s.next()
		switch {
		case !ok:
			return false
		case f.comment == "":
			r.frames = append(r.frames, f)
			n--
		}
	}
	return true
}

// resume opens a stream that goes on after the last frame.
func (r *reader) resume(t testing.TB, s *servertest.Server, id string) *stream {
	t.Helper()
	return openStream(t, s, http.MethodPost, "/", onTask(r.subscribe, id), alice, "Last-Event-ID: "+r.last(), r.version())
}

func (r *reader) version() string {
	if r.subscribe == "tasks/resubscribe" {
		return "A2A-Version: 0.3"
	}
	return v10
}

// TestCrash kills a server (-9) in the middle of a stream with three readers and two
// webhooks, and starts it again on the same data.
//
// The task's skill may be repeated, so the task is worked on again. That does not
// change what was said: the log goes on with a working status that says so, and with
// the chunks of the second attempt, of which the first one replaces the artifact. What
// has to hold for each reader is that it sees this one log: every event, once, in
// order, whatever happened to its connection.
func TestCrash(t *testing.T) {
	const chunks, before = 40, 15
	dir := dataDir(t, 4, "1s")
	edit(t, dir, "  allow_private_networks: true\n", "  allow_private_networks: true\n  timeout: 1s\n  retry_first: 20ms\n")
	p := start(t, dir)

	// The first webhook is in the middle of a delivery when the server dies, and has
	// refused one before; the second one speaks 0.3.
	dead := make(chan struct{})
	held := make(chan struct{})
	first := newHook(t, func(n int, r *http.Request) int {
		switch n {
		case 3:
			return http.StatusServiceUnavailable
		case before - 5:
			close(held)
			<-dead
		}
		return http.StatusOK
	})
	second := newHook(t, nil)

	config := params("returnImmediately", false, "taskPushNotificationConfig", map[string]any{"id": "p.1", "url": first.url})
	send := call("SendStreamingMessage", message(fmt.Sprintf("@chunks %d 40", chunks), "", config))
	quick := &reader{subscribe: "SubscribeToTask"}
	quickStream := openStream(t, p.Server, http.MethodPost, "/", send, alice, v10)
	if !quick.read(quickStream, 3) {
		t.Fatalf("the stream ended after %d frames\n%s", len(quick.frames), p.log)
	}
	id, _ := quick.frames[0].Get("result", "task", "id").(string)
	slow := &reader{subscribe: "tasks/resubscribe"}
	slowStream := openStream(t, p.Server, http.MethodPost, "/", onTask(slow.subscribe, id), alice, "Last-Event-ID: 0")
	slow.read(slowStream, 2) // and no more, while the server lives
	set := call("tasks/pushNotificationConfig/set", params("taskId", id, "pushNotificationConfig", map[string]any{"id": "p2", "url": second.url}))
	if a := p.RPC(set, alice); a.Get("result", "pushNotificationConfig", "id") != "p2" {
		t.Fatalf("set push config: got %s", a.Body)
	}
	quick.read(quickStream, before)
	late := &reader{subscribe: "SubscribeToTask"}
	lateStream := openStream(t, p.Server, http.MethodPost, "/", onTask(late.subscribe, id), alice, v10)
	if !late.read(lateStream, 3) {
		t.Fatalf("the late stream ended after %d frames", len(late.frames))
	}
	snapshot := late.frames[0]
	want(t, snapshot.Answer, id, "result", "task", "id")
	<-held
	p.kill()
	close(dead)
	// What had reached the clients before the kill counts as seen.
	if quick.read(quickStream, -1); quick.frames[len(quick.frames)-1].state() == "TASK_STATE_COMPLETED" {
		t.Fatal("the task was over before the kill")
	}
	late.read(lateStream, -1)
	slowStream.close()

	p = start(t, dir)
	var wg sync.WaitGroup
	for _, r := range []*reader{quick, slow, late} {
		s := r.resume(t, p.Server, id)
		wg.Go(func() { r.read(s, -1) })
	}
	wg.Wait()

	// The log, in both dialects.
	whole := func(subscribe string) []frame {
		all := &reader{subscribe: subscribe, frames: []frame{{id: "0"}}}
		all.read(all.resume(t, p.Server, id), -1)
		return all.frames[1:]
	}
	log := map[string][]frame{"SubscribeToTask": whole("SubscribeToTask"), "tasks/resubscribe": whole("tasks/resubscribe")}
	checkLog(t, log["SubscribeToTask"], chunks)

	for name, r := range map[string]*reader{"quick": quick, "slow": slow, "late": late} {
		wanted, got := log[r.subscribe], r.frames
		if name == "late" {
			// The snapshot stands for all events up to its number.
			got = got[1:]
			for len(wanted) > 0 && seqOf(wanted[0]) <= seqOf(snapshot) {
				wanted = wanted[1:]
			}
		}
		if d := cmp.Diff(results(wanted), results(got)); d != "" {
			t.Errorf("the %s reader did not see the log as it is (-want +got):\n%s", name, d)
		}
	}
	if v := folded(append([]frame{snapshot}, late.frames[1:]...)); v != numbered(chunks) {
		t.Errorf("the late reader ends up with %q, want %q", v, numbered(chunks))
	}

	// The task is what the log says.
	task := p.until(id, "TASK_STATE_COMPLETED")
	artifacts, _ := task.Get("result", "artifacts").([]any)
	if len(artifacts) != 1 || texts(artifacts[0]) != numbered(chunks) {
		t.Errorf("got artifacts %v, want one with %q", artifacts, numbered(chunks))
	}

	// Every event of which webhooks are told was delivered, and says what the stream
	// said.
	all := first.until(t, `"TASK_STATE_COMPLETED"`)
	bodies := checkDeliveries(t, all, id+".p%2E1.")
	for _, f := range log["SubscribeToTask"][1:] {
		result := f.Body[bytes.Index(f.Body, []byte(`"result":`))+len(`"result":`) : len(f.Body)-1]
		if got := bodies[seqOf(f)]; got != string(result) {
			t.Errorf("delivery of event %s: got %q, want %s", f.id, got, result)
		}
		delete(bodies, seqOf(f))
	}
	if len(bodies) > 0 {
		t.Errorf("deliveries of no event of the log: %v", bodies)
	}
	if len(all) < len(log["SubscribeToTask"])+1 {
		t.Errorf("got %d deliveries, want one more for the one refused and one for the one cut off", len(all))
	}
	old := second.until(t, `"completed"`)
	checkDeliveries(t, old, id+".p2.")
	if last := old[len(old)-1]; last.Get("kind") != "task" || last.Get("id") != id || texts(last.Get("artifacts", 0)) != numbered(chunks) {
		t.Errorf("the last delivery in 0.3 is %s, want the whole task", clip(last.Body))
	}
}

// checkLog: numbers without a gap, the first attempt, a word on the restart, and the
// second attempt, complete.
func checkLog(t *testing.T, log []frame, chunks int) {
	t.Helper()
	attempts, begun := 0, 0
	for i, f := range log {
		if f.id != strconv.Itoa(i+1) {
			t.Errorf("event %d of the log has the id %s", i+1, f.id)
		}
		switch {
		case f.Get("result", "artifactUpdate", "append") == false:
			attempts++
		case f.state() == "TASK_STATE_WORKING":
			if begun++; begun == 2 && texts(f.Get("result", "statusUpdate", "status", "message")) != "taken up again after a restart" {
				t.Errorf("the second attempt begins with %s", f.Body)
			}
		}
		strictResult(t, f.Body)
	}
	if attempts != 2 || begun != 2 {
		t.Errorf("the log has %d first chunks and %d working states, want 2 attempts", attempts, begun)
	}
	if got := log[len(log)-1].state(); got != "TASK_STATE_COMPLETED" || strings.Count(states(log), "COMPLETED") != 1 {
		t.Errorf("the log ends with %q, want it completed, once", got)
	}
	if got := folded(log); got != numbered(chunks) {
		t.Errorf("the log makes %q, want %q", got, numbered(chunks))
	}
}

func seqOf(f frame) int { n, _ := strconv.Atoi(f.id); return n }

// results are the frames without what belongs to the request: "number result".
func results(frames []frame) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		_, result, _ := strings.Cut(string(f.Body), `"result":`)
		out[i] = f.id + " " + result
	}
	return out
}

// folded is the text that the artifact of 1.0 frames has at the end.
func folded(frames []frame) (text string) {
	for _, f := range frames {
		if task, ok := f.Get("result", "task", "artifacts", 0).(map[string]any); ok {
			text = texts(task)
		}
		a := f.Get("result", "artifactUpdate", "artifact")
		if a == nil {
			continue
		}
		if f.Get("result", "artifactUpdate", "append") != true {
			text = ""
		}
		text += texts(a)
	}
	return text
}

// numbered is what @chunks n makes.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "chunk-%d ", i+1)
	}
	return b.String()
}
