package lakefs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/sourcetest"
)

func open(t testing.TB, opts Options) *Source {
	t.Helper()
	if opts.Repository == "" {
		opts.Repository = "tasks"
	}
	if opts.AccessKey == "" {
		opts.AccessKey, opts.SecretKey = testAccessKey, testSecretKey
	}
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.http.CloseIdleConnections)
	return s
}

// underTasks puts a tree where the default prefix looks for it.
func underTasks(tree sourcetest.Tree) map[string]string {
	files := map[string]string{"README.md": "other things"}
	for path, content := range tree {
		files["tasks/"+path] = content
	}
	return files
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T, tree sourcetest.Tree) boards.Source {
		f := newFake(t, fakeCommit{id: "c0", at: time.Unix(0, 0), files: underTasks(tree)})
		return open(t, Options{Endpoint: f.URL + "/"})
	})
}

func TestSource_unsafeIDs(t *testing.T) {
	f := newFake(t, fakeCommit{id: "c0", files: underTasks(sourcetest.Sample())})
	s := open(t, Options{Endpoint: f.URL})
	for _, id := range sourcetest.UnsafeIDs() {
		if _, err := s.Board(t.Context(), id); !boards.IsNotFound(err) {
			t.Errorf("board %q: got %v, want not found", id, err)
		}
	}
	if asked := f.asked(); len(asked) > 0 {
		t.Errorf("unsafe ids reached the server: %q", asked)
	}
}

func TestSource_cache(t *testing.T) {
	f := newFake(t, fakeCommit{id: "c0", files: underTasks(sourcetest.Sample())})
	s := open(t, Options{Endpoint: f.URL})
	first, err := s.Board(t.Context(), "b1")
	if err != nil {
		t.Fatal(err)
	}
	f.asked()
	got := f.changed
	again, err := s.Board(t.Context(), "b1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(again, first); diff != "" {
		t.Errorf("from memory, got - want +:\n%s", diff)
	}
	if f.changed != got {
		t.Errorf("got %d contents again, want none", f.changed-got)
	}
	for _, uri := range f.asked() {
		if strings.Contains(uri, "path=tasks%2Fcards") {
			t.Errorf("asked for %s, which the listing showed to be unchanged", uri)
		}
	}
	f.commits[0].files["tasks/boards/b1.json"] = `{"name":"Renamed"}`
	f.commits[0].files["tasks/cards/b1/c3.json"] = `{"title":"Changed","list_id":"todo"}`
	changed, err := s.Board(t.Context(), "b1")
	if err != nil {
		t.Fatal(err)
	}
	if changed.Name != "Renamed" || f.changed != got+2 {
		t.Errorf("got name %q and %d contents, want the new name and the two that changed", changed.Name, f.changed-got)
	}
}

func TestCache_bounded(t *testing.T) {
	c := newCache(1000)
	for i := range 100 {
		c.put(objectKey{"main", fmt.Sprint(i)}, cachedObject{etag: "e", data: make([]byte, 100)})
	}
	if c.held > 1000 || len(c.items) != c.order.Len() || len(c.items) == 0 {
		t.Errorf("got %d bytes in %d items of %d, want at most 1000", c.held, len(c.items), c.order.Len())
	}
	c.put(objectKey{"main", "big"}, cachedObject{data: make([]byte, 2000)})
	if _, ok := c.get(objectKey{"main", "big"}); ok {
		t.Error("kept an object larger than the cache")
	}
	if _, ok := c.get(objectKey{"main", "99"}); !ok {
		t.Error("the object used last is gone")
	}
}

func TestSource_parallel(t *testing.T) {
	tree := sourcetest.Tree{"boards/b1.json": `{}`}
	for i := range 30 {
		tree[fmt.Sprintf("cards/b1/c%d.json", i)] = `{}`
	}
	f := newFake(t, fakeCommit{id: "c0", files: underTasks(tree)})
	var now, most atomic.Int32
	inner := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		inner.ServeHTTP(w, r)
		now.Add(-1)
	})
	s := open(t, Options{Endpoint: f.URL, Parallel: 3})
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			_, err := s.Board(context.Background(), "b1")
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() > 3 {
		t.Errorf("got %d requests at once, want at most 3", most.Load())
	}
}

func TestSource_upstreamFaults(t *testing.T) {
	hang := make(chan struct{})
	cases := map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", http.StatusInternalServerError) },
		"401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"429": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		},
		"stray 304": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"not json":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"too large": func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2000)) },
		"no repository": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message":"repository not found"}`)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		},
	}
	for name, handler := range cases {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(handler)
			defer srv.Close()
			s := open(t, Options{Endpoint: srv.URL, Timeout: 200 * time.Millisecond, MaxObjectBytes: 1000})
			_, err := s.Board(t.Context(), "b1")
			checkUnavailable(t, err, srv.URL)
			_, err = s.History(t.Context(), []string{"b1"}, time.Time{}, time.Now())
			if name != "too large" { // pages have a bound of their own
				checkUnavailable(t, err, srv.URL)
			}
		})
	}
	close(hang)
	t.Run("down", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		srv.Close()
		_, err := open(t, Options{Endpoint: srv.URL}).Board(t.Context(), "b1")
		checkUnavailable(t, err, srv.URL)
	})
	t.Run("bad_credentials", func(t *testing.T) {
		f := newFake(t, fakeCommit{files: underTasks(sourcetest.Sample())})
		_, err := open(t, Options{Endpoint: f.URL, AccessKey: "other", SecretKey: "wrong-secret"}).Board(t.Context(), "b1")
		checkUnavailable(t, err, f.URL)
	})
}

func checkUnavailable(t *testing.T, err error, endpoint string) {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Code != a2a.CodeUpstreamUnavailable || e.Message != "The board source is not available." {
		t.Fatalf("got %v, want unavailable", err)
	}
	for _, secret := range []string{testSecretKey, "wrong-secret", endpoint, "QUtJQ"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("error %q holds %q", err, secret)
		}
	}
}

func TestSource_cancelWhileWaiting(t *testing.T) {
	arrived := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer srv.Close()
	s := open(t, Options{Endpoint: srv.URL, Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Board(ctx, "b1")
		done <- err
	}()
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestSource_pagesThatDoNotAdvance(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"pagination":{"has_more":true,"next_offset":"x"},"results":[{"path":"tasks/boards/b1.json","path_type":"object"}]}`)
	}))
	defer srv.Close()
	_, err := open(t, Options{Endpoint: srv.URL}).Boards(t.Context(), "")
	checkUnavailable(t, err, srv.URL)
}

func TestOptions_validate(t *testing.T) {
	good := Options{Endpoint: "http://127.0.0.1:8000", AccessKey: "a", SecretKey: "s", Repository: "r"}
	for name, change := range map[string]func(*Options){
		"no endpoint":      func(o *Options) { o.Endpoint = "" },
		"no scheme":        func(o *Options) { o.Endpoint = "127.0.0.1:8000" },
		"other scheme":     func(o *Options) { o.Endpoint = "file:///etc" },
		"user in endpoint": func(o *Options) { o.Endpoint = "http://me:hunter2@host" },
		"broken endpoint":  func(o *Options) { o.Endpoint = "http://me:hunter2@ho st" },
		"query":            func(o *Options) { o.Endpoint = "http://host?token=hunter2" },
		"no repository":    func(o *Options) { o.Repository = "" },
		"no key":           func(o *Options) { o.SecretKey = "" },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error without the password", name, err)
		}
	}
	if got := fmt.Sprintf("%v %+v %#v %s", good, good, good, good.SecretKey); strings.Contains(got, `"s"`) || !strings.Contains(got, "***") {
		t.Errorf("options print as %s", got)
	}
}

func TestSource_prefix(t *testing.T) {
	for prefix, folder := range map[string]string{"": "", "/": "", "a/b": "a/b/", "a/b/": "a/b/"} {
		f := newFake(t, fakeCommit{files: map[string]string{folder + "boards/b1.json": `{"name":"B"}`}})
		b, err := open(t, Options{Endpoint: f.URL, Prefix: &prefix}).Board(t.Context(), "b1")
		if err != nil || b.Name != "B" {
			t.Errorf("prefix %q: got %v, %v", prefix, b, err)
		}
	}
}
