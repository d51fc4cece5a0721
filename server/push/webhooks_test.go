package push

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/guard"
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
	o := Options{Store: store, Dialects: wire.New(wire.Options{}), Guard: newGuard(t, guard.Options{}), Log: zerolog.New(t.Output())}
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
