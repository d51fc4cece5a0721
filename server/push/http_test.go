package push

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/guard"
	"github.com/skillyard/skillyard/guard/guardtest"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/wire"
)

// attempts runs a worker whose webhooks are real, until the test is over.
func attempts(t testing.TB, store Store, change func(*Options)) *Worker {
	t.Helper()
	o := Options{Store: store, Dialects: wire.New(wire.Options{}), Guard: newGuard(t, anyLoopback), Every: 10 * time.Millisecond, RetryFirst: 20 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.Start()
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// arrival is a request that a receiver got.
type arrival struct {
	*http.Request
	body []byte
}

// receiver is a webhook that answers the statuses in turn, the last one for ever.
func receiver(t testing.TB, statuses ...int) (url string, got <-chan arrival) {
	t.Helper()
	arrivals := make(chan arrival, 100)
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		i := min(int(n.Add(1)), len(statuses)) - 1
		w.Header().Set("Location", "http://"+r.Host+"/redirected")
		w.WriteHeader(statuses[i])
		arrivals <- arrival{r, body}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hook?x=y", arrivals
}

// next waits for an arrival.
func next(t testing.TB, got <-chan arrival) arrival {
	t.Helper()
	select {
	case a := <-got:
		return a
	case <-time.After(10 * time.Second):
		t.Fatal("nothing arrived")
		return arrival{}
	}
}

// eventually waits until the config is as it should be.
func eventually(t testing.TB, k *work, is func(taskstore.PushJob) bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(10 * time.Second)
	for !is(k.config("p")) {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("the config stays %+v", k.config("p"))
		}
	}
}

func secret(b byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(b)), 32)))
}

func TestWorker_Request(t *testing.T) {
	store := openMemory(t)
	url, got := receiver(t, 500, 202)
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: url, Token: "v-1", Scheme: "Bearer", Credentials: "tok-1"})
	k.emit(status(a2a.StateCompleted))
	attempts(t, store, func(o *Options) { o.Version, o.Secrets = "1.2.3", []string{secret('n'), secret('o')} })
	first := next(t, got)
	second := next(t, got)
	for _, a := range []arrival{first, second} {
		for name, want := range map[string]string{
			"Content-Type": "application/a2a+json", "User-Agent": "Skillyard/1.2.3", "Authorization": "Bearer tok-1",
			"X-A2A-Notification-Token": "v-1", "A2A-Notification-Token": "v-1", "Webhook-Id": "t-1.p.2",
		} {
			if got := a.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("got %s %q, want %q", name, got, want)
			}
		}
		if a.Method != http.MethodPost || a.URL.String() != "/hook?x=y" || a.ContentLength != int64(len(a.body)) || len(a.body) == 0 || len(a.TransferEncoding) > 0 {
			t.Errorf("got %s %s of %d bytes (%v), want a POST with its length", a.Method, a.URL, a.ContentLength, a.TransferEncoding)
		}
		// Each secret alone is enough, so that receivers can change theirs any time.
		for _, s := range []string{secret('n'), secret('o')} {
			verifier, err := standardwebhooks.NewWebhook(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := verifier.Verify(a.body, a.Header); err != nil {
				t.Errorf("signature of an accepted secret: %v", err)
			}
			if verifier.Verify(append(slices.Clone(a.body), ' '), a.Header) == nil {
				t.Error("a changed body verifies")
			}
		}
		other, err := standardwebhooks.NewWebhook(secret('x'))
		if err != nil {
			t.Fatal(err)
		}
		if other.Verify(a.body, a.Header) == nil {
			t.Error("the signature of another secret verifies")
		}
	}
}

func TestWorker_Request_Bare(t *testing.T) {
	store := openMemory(t)
	url, got := receiver(t, 200)
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: url, Dialect: wire.NameV03, Scheme: "Bearer"})
	k.emit(status(a2a.StateCompleted))
	attempts(t, store, nil)
	a := next(t, got)
	for _, name := range []string{"Authorization", "X-A2A-Notification-Token", "A2A-Notification-Token", "Webhook-Signature", "Accept-Encoding"} {
		if v, ok := a.Header[http.CanonicalHeaderKey(name)]; ok {
			t.Errorf("got %s %q, want none", name, v)
		}
	}
	if ct := a.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("got Content-Type %s, want application/json", ct)
	}
}

func TestWorker_FollowsNoRedirect(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			store := openMemory(t)
			url, got := receiver(t, code)
			k := newWork(t, store, "t-1")
			k.push(a2a.PushConfig{URL: url})
			k.emit(status(a2a.StateCompleted))
			attempts(t, store, func(o *Options) { o.Attempts = 2 })
			for range 2 {
				if a := next(t, got); a.URL.Path != "/hook" || a.Method != http.MethodPost {
					t.Errorf("got %s %s, want no other than the webhook", a.Method, a.URL)
				}
			}
			eventually(t, k, func(taskstore.PushJob) bool { return len(k.letters()) == 1 })
			if l := k.letters(); !strings.Contains(l[0].Reason, "redirect") {
				t.Errorf("got %+v, want it to say why", l)
			}
		})
	}
}

// TestWorker_RefusesAddress registers a name that turns out to be private.
func TestWorker_RefusesAddress(t *testing.T) {
	store := openMemory(t)
	url, got := receiver(t, 200)
	port := url[strings.LastIndexByte(url, ':')+1:]
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: "http://hooks.example.com:" + port, Credentials: "s3cret", Scheme: "Bearer"})
	k.emit(status(a2a.StateCompleted))
	attempts(t, store, func(o *Options) {
		o.Attempts = 2
		o.Guard = newGuard(t, guard.Options{AllowHTTP: true, Resolver: guardtest.Resolver(t, "127.0.0.1")})
	})
	eventually(t, k, func(taskstore.PushJob) bool { return len(k.letters()) == 1 })
	if l := k.letters(); !strings.Contains(l[0].Reason, "not allowed") || l[0].Attempts != 2 {
		t.Errorf("got %+v, want an address that is not allowed", l)
	}
	select {
	case a := <-got:
		t.Errorf("the receiver was called: %s", a.URL)
	default:
	}
}

// TestWorker_RefusesHeaders gives the worker secrets that registration would have
// refused (B-128).
func TestWorker_RefusesHeaders(t *testing.T) {
	for name, c := range map[string]a2a.PushConfig{
		"credentials": {Scheme: "Bearer", Credentials: "a\r\nX-Evil: 1"},
		"scheme":      {Scheme: "Bearer\r\nX-Evil: 1", Credentials: "a"},
		"token":       {Token: "t\nX-Evil: y"},
	} {
		t.Run(name, func(t *testing.T) {
			store := openMemory(t)
			url, got := receiver(t, 200)
			k := newWork(t, store, "t-1")
			c.URL = url
			k.push(c)
			k.emit(status(a2a.StateCompleted))
			attempts(t, store, nil)
			eventually(t, k, func(taskstore.PushJob) bool { return len(k.letters()) == 1 })
			select {
			case a := <-got:
				t.Errorf("the receiver was called with %v", a.Header)
			default:
			}
		})
	}
}

// TestWorker_LongAnswer does not read what it has no use for.
func TestWorker_LongAnswer(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer s.Close()
	defer close(release)
	store := openMemory(t)
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: s.URL})
	k.emit(status(a2a.StateWorking), status(a2a.StateCompleted))
	attempts(t, store, func(o *Options) { o.Timeout = time.Minute })
	eventually(t, k, func(j taskstore.PushJob) bool { return j.State != taskstore.PushActive })
}

// BenchmarkWorker is the time between an event and its arrival, with 200 receivers
// of which 1 % hang.
func BenchmarkWorker(b *testing.B) {
	const receivers, hanging = 200, 2
	store := openMemory(b)
	arrived := make(chan struct{}, receivers)
	var mu sync.Mutex
	var late []time.Duration // guarded by mu
	var sent atomic.Int64
	hung := make(chan struct{})
	var tasks []*work
	for i := range receivers {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if i < hanging {
				<-hung
				return
			}
			mu.Lock()
			late = append(late, time.Duration(time.Now().UnixNano()-sent.Load()))
			mu.Unlock()
			arrived <- struct{}{}
		}))
		b.Cleanup(s.Close)
		k := newWork(b, store, a2a.TaskID(fmt.Sprint("t", i)))
		k.push(a2a.PushConfig{URL: s.URL})
		tasks = append(tasks, k)
	}
	b.Cleanup(func() { close(hung) })
	w := attempts(b, store, func(o *Options) { o.Timeout = time.Second })
	for b.Loop() {
		sent.Store(time.Now().UnixNano())
		for _, k := range tasks {
			k.emit(status(a2a.StateWorking))
			w.Notify(k.task.ID)
		}
		for range receivers - hanging {
			<-arrived
		}
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)*99/100].Milliseconds()), "p99-ms")
}

// TestWorker_Request_V01: a webhook of 0.1 gets the task as 0.1 shows it.
func TestWorker_Request_V01(t *testing.T) {
	store := openMemory(t)
	url, got := receiver(t, 200)
	k := newWork(t, store, "t-1")
	k.push(a2a.PushConfig{URL: url, Dialect: wire.NameV01, Token: "tok"})
	k.emit(status(a2a.StateCompleted))
	attempts(t, store, nil)
	a := next(t, got)
	if body := string(a.body); !strings.Contains(body, `"id":"t-1","sessionId":"`) || !strings.Contains(body, `"state":"completed"`) || strings.Contains(body, `"kind"`) {
		t.Errorf("got %s, want a task of 0.1", body)
	}
	if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("X-A2A-Notification-Token") != "tok" {
		t.Errorf("got %v, want JSON and the token", a.Header)
	}
}

// TestWorker_ignores_proxies: a proxy would hide the address that is called.
func TestWorker_ignores_proxies(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	if newClient(newGuard(t, guard.Options{}), 1).Transport.(*http.Transport).Proxy != nil {
		t.Error("the client takes a proxy from the environment")
	}
}
