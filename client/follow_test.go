package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// cutter is a proxy before a server that cuts every stream after some bytes.
func cutter(t *testing.T, to string, after int, cuts *atomic.Int64) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}, ModifyResponse: func(r *http.Response) error {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			r.Body = &cutBody{ReadCloser: r.Body, left: after, cuts: cuts}
		}
		return nil
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(502) }}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	return srv.URL
}

type cutBody struct {
	io.ReadCloser
	left int
	cuts *atomic.Int64
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.cuts.Add(1)
		panic(http.ErrAbortHandler)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// TestStream_lost cuts every stream within a task, in each dialect; the text comes whole
// and once.
func TestStream_lost(t *testing.T) {
	s := probe(t)
	for _, d := range client.Dialects() {
		t.Run(d, func(t *testing.T) {
			var cuts atomic.Int64
			within := 2000
			if d == client.DialectEMM {
				within = 1000 // its events say less
			}
			at := cutter(t, s.URL, within, &cuts)
			if d == client.DialectEMM {
				at += "/api/a2a/tasks"
			}
			c := dial(t, at, client.Options{Dialect: d, Retry: hurry})
			var fold client.Fold
			text := ""
			for ev, err := range c.Stream(context10(t), client.Text("@chunks 12 10"), client.SendOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range fold.Apply(ev).Artifacts {
					for _, part := range p.Artifact.Parts {
						text += part.Text
					}
				}
			}
			if fold.Task.Status.State != a2a.StateCompleted || cuts.Load() == 0 {
				t.Fatalf("got %s after %d cuts", fold.Task.Status.State, cuts.Load())
			}
			whole, err := dial(t, s.URL, client.Options{}).Get(context10(t), fold.Task.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			for _, p := range whole.Artifacts[0].Parts {
				want += p.Text
			}
			if text != want {
				t.Errorf("got  %q\nwant %q", text, want)
			}
			t.Logf("%d cuts", cuts.Load())
		})
	}
}

// TestStream_silence gives a stream up that says nothing, and asks for the task.
func TestStream_silence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams, reads := 0, 0
		start := time.Now()
		c := inMemory(t, func(r *http.Request, id string) *http.Response {
			if r.Header.Get("Accept") == "application/json" {
				reads++
				return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":`+Task("COMPLETED", "x")+`}`)
			}
			streams++
			if streams > 1 {
				return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32004,"message":"no"}}`)
			}
			pr, pw := io.Pipe()
			go func() {
				frame := strings.ReplaceAll(Frame(`{"task":`+Task("WORKING", "")+`}`), "__ID__", id)
				_, _ = io.WriteString(pw, frame)
				for range 5 { // comments keep it alive
					<-time.After(80 * time.Second)
					_, _ = io.WriteString(pw, ": ping\n\n")
				}
				<-r.Context().Done()
				_ = pw.CloseWithError(r.Context().Err())
			}()
			resp := answer(200, "text/event-stream", "")
			resp.Body = pr
			return resp
		})
		var fold client.Fold
		for ev, err := range c.Stream(t.Context(), client.Text("x"), client.SendOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			fold.Apply(ev)
		}
		if took := time.Since(start); fold.Task.Status.State != a2a.StateCompleted || took < 490*time.Second || took > 500*time.Second || reads != 1 {
			t.Errorf("got %s after %v with %d reads, want completed after 490 s by one read", fold.Task.Status.State, took, reads)
		}
	})
}

// TestStream_foreign refuses events of another task and answers to another request.
func TestStream_foreign(t *testing.T) {
	other := strings.ReplaceAll(Status("COMPLETED"), "t1", "t2")
	for name, s := range map[string]Script{
		"task":    Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), Frame(other)),
		"request": Stream(strings.ReplaceAll(Frame(`{"task":`+Task("COMPLETED", "")+`}`), "__ID__", `"another"`)),
	} {
		_, _, err := follow(t, dial(t, New(t, s).URL, client.Options{Retry: hurry}))
		if client.KindOf(err) != client.KindInvalid || !strings.Contains(err.Error(), "another") {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	a := New(t, JSON(strings.ReplaceAll(Task("COMPLETED", ""), "t1", "t2")))
	if _, err := dial(t, a.URL, client.Options{}).Get(context10(t), "t1", nil); client.KindOf(err) != client.KindInvalid {
		t.Errorf("get: got %v, want invalid", err)
	}
}

// TestStream_stopped ends a stream with the loop over it.
func TestStream_stopped(t *testing.T) {
	s := probe(t)
	c := dial(t, s.URL, client.Options{})
	n := 0
	for _, err := range c.Stream(context10(t), client.Text("@sleep 60"), client.SendOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d events, want one", n)
	}
}

// TestStream_large refuses an event above the limit.
func TestStream_large(t *testing.T) {
	a := New(t, Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), Frame(Artifact(strings.Repeat("x", 20_000), false))))
	_, _, err := follow(t, dial(t, a.URL, client.Options{Limits: client.Limits{Event: 10_000}}))
	if client.KindOf(err) != client.KindTooLarge || !strings.Contains(fmt.Sprint(err), "10000") {
		t.Errorf("got %v, want too large", err)
	}
	b := New(t, JSON(Task("COMPLETED", strings.Repeat("x", 20_000))))
	if _, err = dial(t, b.URL, client.Options{Limits: client.Limits{Answer: 10_000}}).Get(context10(t), "t1", nil); client.KindOf(err) != client.KindTooLarge {
		t.Errorf("got %v, want too large", err)
	}
}

// TestStream_message: an agent may answer without a task.
func TestStream_message(t *testing.T) {
	m := `{"message":{"messageId":"m","contextId":"c9","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}`
	c := dial(t, New(t, By(map[string]Script{"SendStreamingMessage": Stream(Frame(m)), "SendMessage": JSON(m)})).URL, client.Options{})
	fold, _, err := follow(t, c)
	if err != nil || fold.Message.Text() != "hello" {
		t.Errorf("got %+v, %v", fold.Message, err)
	}
	a, err := c.Send(context10(t), client.Text("x"), client.SendOptions{})
	if err != nil || a.Message.Text() != "hello" || a.ContextID != "c9" {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestStream_in_one_piece: an agent may answer a stream with a task.
func TestStream_in_one_piece(t *testing.T) {
	a := New(t, By(map[string]Script{"SendStreamingMessage": JSON(`{"task":` + Task("COMPLETED", "x") + `}`)}))
	fold, text, err := follow(t, dial(t, a.URL, client.Options{}))
	wantState(t, fold, err, a2a.StateCompleted)
	if text != "x" {
		t.Errorf("got %q", text)
	}
}

// TestStream_unsupported falls back to sending and polling, without sending twice.
func TestStream_unsupported(t *testing.T) {
	a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": JSON(Task("COMPLETED", "x")), "SendStreamingMessage": Fail(-32004, "no streams")}))
	fold, _, err := follow(t, dial(t, a.URL, client.Options{Interface: &client.Interface{URL: a.URL, Dialect: client.DialectV1, Streaming: true, Guessed: true}}))
	wantState(t, fold, err, a2a.StateCompleted)
	var methods []string
	for _, r := range a.Requests() {
		methods = append(methods, r.RPC())
	}
	if got := strings.Join(methods, " "); got != "SendStreamingMessage SendMessage GetTask" {
		t.Errorf("got %s", got)
	}
}

// TestClient_ends_with_its_context: an answer that the caller's own limit cuts in the
// middle is no broken connection.
func TestClient_ends_with_its_context(t *testing.T) {
	half := func(contentType string) Script {
		return func(w io.Writer, _ Request, _ string) {
			_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: "+contentType+"\r\nContent-Length: 1000\r\n\r\n: half")
			<-t.Context().Done()
		}
	}
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	want := func(what string, err error) {
		t.Helper()
		if client.KindOf(err) != client.KindTimeout || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the time limit", what, err)
		}
	}
	c := dial(t, New(t, half("application/json")).URL, client.Options{})
	_, err := c.Send(short(), client.Text("x"), client.SendOptions{})
	want("answer", err)
	_, err = c.Get(short(), "t1", nil)
	want("read", err)

	c = dial(t, New(t, half("text/event-stream")).URL, client.Options{})
	for _, err = range c.Stream(short(), client.Text("x"), client.SendOptions{}) {
		want("stream", err)
	}

	// A limit of the client itself is one as well, and no broken connection either.
	c = dial(t, New(t, half("application/json")).URL, client.Options{Timeouts: client.Timeouts{Answer: 20 * time.Millisecond}, Retry: client.Retry{Max: -1}})
	if _, err := c.Get(t.Context(), "t1", nil); client.KindOf(err) != client.KindTimeout || !strings.Contains(err.Error(), "20ms") {
		t.Errorf("got %v, want a time limit of 20ms", err)
	}
}

// TestStream_resumes_behind_the_last_event: an agent that numbers its events is asked for
// what follows, and sends nothing twice.
func TestStream_resumes_behind_the_last_event(t *testing.T) {
	a := New(t, By(map[string]Script{
		"SendStreamingMessage": Stream("id: 1\n"+Frame(`{"task":`+Task("WORKING", "")+`}`), "id: 2\n"+Frame(Artifact("a", false))),
		"SubscribeToTask":      Stream("id: 3\n"+Frame(Artifact("b", true)), "id: 4\n"+Frame(Status("COMPLETED"))),
		"GetTask":              JSON(Task("COMPLETED", "ab")),
	}))
	c := dial(t, a.URL, client.Options{Retry: hurry})
	fold, text, err := follow(t, c)
	wantState(t, fold, err, a2a.StateCompleted)
	for _, err := range c.Subscribe(context10(t), "t1", client.SubscribeOptions{After: "2"}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, r := range a.Requests() {
		ids = append(ids, r.RPC()+" "+r.Header.Get("Last-Event-ID"))
	}
	want := []string{"SendStreamingMessage ", "SubscribeToTask 2", "SubscribeToTask 2"}
	if diff := cmp.Diff(want, ids); diff != "" || text != "ab" {
		t.Errorf("got %q; requests (-want +got):\n%s", text, diff)
	}
}
