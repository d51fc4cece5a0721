package client_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// Streams that begin, break and end in unusual ways.

// TestStream_start_again repeats the start of a stream as that of a send: what cannot
// have run, and with an agent that honours Idempotency-Key all that has said nothing yet.
func TestStream_start_again(t *testing.T) {
	done := Stream(Frame(`{"task":` + Task("COMPLETED", "x") + `}`))
	for _, tc := range []struct {
		name       string
		first      Script
		idempotent bool
		want       int
	}{
		{"cut", Cut(), false, 1},
		{"cut_idempotent", Cut(), true, 2},
		{"503", HTTP(503, "text/plain", "x"), false, 1},
		{"429_retry_after", HTTP(429, "text/plain", "x", "Retry-After: 1"), false, 2},
		{"no_event", Stream(": hello\n\n"), false, 1},
		{"no_event_idempotent", Stream(": hello\n\n"), true, 2},
		{"no_task_idempotent", Stream(Frame(`{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`)), true, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := New(t, tc.first, done)
			c := dial(t, a.URL, client.Options{
				Retry:     client.Retry{First: time.Millisecond, Most: 2 * time.Second},
				Interface: &client.Interface{URL: a.URL + "/", Dialect: client.DialectV1, Streaming: true, Idempotent: tc.idempotent},
			})
			_, _, err := follow(t, c)
			got := a.Requests()
			if len(got) != tc.want || (err == nil) != (tc.want == 2) {
				t.Fatalf("got %d requests, %v, want %d", len(got), err, tc.want)
			}
			if tc.want == 2 && (string(got[0].Body) == "" || got[0].Header.Get("Idempotency-Key") != got[1].Header.Get("Idempotency-Key")) {
				t.Error("the second try is not the first one again")
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			c := inMemory(t, func(r *http.Request, id string) *http.Response {
				if n++; n < 4 {
					return nil
				}
				return answer(200, "text/event-stream", strings.ReplaceAll(Frame(`{"task":`+Task("COMPLETED", "x")+`}`), "__ID__", id))
			})
			for _, err := range c.Stream(t.Context(), client.Text("x"), client.SendOptions{}) {
				if err != nil {
					t.Error(err)
				}
			}
			if n != 4 {
				t.Errorf("got %d tries, want 4", n)
			}
		})
	})
}

// TestStream_slow_reader: a caller that takes its time is no silence of the agent.
func TestStream_slow_reader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		c := inMemory(t, func(r *http.Request, id string) *http.Response {
			requests++
			frames := Frame(`{"task":`+Task("WORKING", "")+`}`) + Frame(Artifact("x", false)) + Frame(Status("COMPLETED"))
			return answer(200, "text/event-stream", strings.ReplaceAll(frames, "__ID__", id))
		})
		var fold client.Fold
		n := 0
		for ev, err := range c.Stream(t.Context(), client.Text("x"), client.SendOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			fold.Apply(ev)
			n++
			<-time.After(10 * time.Minute)
		}
		if fold.Task.Status.State != a2a.StateCompleted || n != 3 || requests != 1 {
			t.Errorf("got %s by %d events and %d requests, want 3 and one", fold.Task.Status.State, n, requests)
		}
	})
}

// TestStream_final: what an agent of 0.3 calls the last event is the last one of the
// stream, also if it does not close it, and not the end of the task.
func TestStream_final(t *testing.T) {
	for state, want := range map[string]a2a.State{"working": a2a.StateCompleted, "auth-required": a2a.StateAuthRequired, "failed": a2a.StateFailed} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			c := inMemoryAs(t, client.DialectV03, func(r *http.Request, id string) *http.Response {
				task := `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}`
				if !strings.Contains(r.Header.Get("Accept"), "event-stream") {
					return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":`+task+`}`)
				}
				frame := Frame(`{"kind":"status-update","taskId":"t1","contextId":"c1","final":true,"status":{"state":"` + state + `"}}`)
				return stuck(r, "text/event-stream", strings.ReplaceAll(frame, "__ID__", id))
			})
			var fold client.Fold
			for ev, err := range c.Stream(t.Context(), client.Text("x"), client.SendOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				fold.Apply(ev)
			}
			if took := time.Since(start); fold.Task.Status.State != want || took > 10*time.Second {
				t.Errorf("%s: got %s after %v, want %s at once", state, fold.Task.Status.State, took, want)
			}
		})
	}
}

// TestStream_same_events_again polls an agent that closes each subscription behind what
// was known before, whatever numbers it gives.
func TestStream_same_events_again(t *testing.T) {
	n := 0
	frame := func(string) Script {
		return func(w io.Writer, r Request, id string) {
			n++
			Stream("id: "+strings.Repeat("i", n)+"\n", Frame(`{"task":`+Task("WORKING", "")+`}`))(w, r, id)
		}
	}
	a := New(t, By(map[string]Script{"SendStreamingMessage": frame("0"), "SubscribeToTask": frame("1"), "GetTask": JSON(Task("COMPLETED", "x"))}))
	fold, text, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
	wantState(t, fold, err, a2a.StateCompleted)
	if text != "x" {
		t.Errorf("got %q", text)
	}
}

// TestSubscribe_refused: an agent may know a task, but have no stream of it.
func TestSubscribe_refused(t *testing.T) {
	for name, refusal := range map[string]Script{
		"no_queue":  Fail(-32001, "Task not found"), // as the Python SDK says it of a task without a queue
		"internal":  Fail(-32603, "oops"),
		"404":       HTTP(404, "text/html", "<html>no such route</html>"),
		"405":       HTTP(405, "text/plain", "no"),
		"forbidden": Fail(-32004, "ended"),
	} {
		a := New(t, By(map[string]Script{
			"SendStreamingMessage": Stream(Frame(`{"task":` + Task("WORKING", "") + `}`)),
			"SubscribeToTask":      refusal, "GetTask": JSON(Task("COMPLETED", "x")),
		}))
		fold, text, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
		if fold.Task.Status.State != a2a.StateCompleted || err != nil || text != "x" {
			t.Errorf("%s: got %s %q, %v", name, fold.Task.Status.State, text, err)
		}
	}
}

// TestStream_gap reads the task where a new subscription begins in the middle of it, with
// what comes next: what came in between would be missing.
func TestStream_gap(t *testing.T) {
	a := New(t, By(map[string]Script{
		"SendStreamingMessage": Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), Frame(Artifact("one ", false))),
		"SubscribeToTask":      Stream(Frame(Artifact("three", true)), Frame(Status("COMPLETED"))),
		"GetTask":              JSON(Task("COMPLETED", "one two three")),
	}))
	fold, _, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
	wantState(t, fold, err, a2a.StateCompleted)
	if words(&fold.Task) != "one two three" {
		t.Errorf("got %q, want the whole", words(&fold.Task))
	}
}

// TestStream_message_within a task is a word on the way, not the answer.
func TestStream_message_within(t *testing.T) {
	m := `{"message":{"messageId":"m","taskId":"t1","contextId":"c1","role":"ROLE_AGENT","parts":[{"text":"a moment"}]}}`
	a := New(t, Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), Frame(m), Frame(Status("COMPLETED"))))
	fold, _, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
	wantState(t, fold, err, a2a.StateCompleted)
}

// TestStream_answer_to_a_question: the first event may show the task as it was before.
func TestStream_answer_to_a_question(t *testing.T) {
	before := `{"task":` + Task("INPUT_REQUIRED", "") + `}`
	for name, tc := range map[string]struct {
		script Script
		want   a2a.State
	}{
		"goes_on":    {Stream(Frame(before), Frame(Status("WORKING")), Frame(Status("COMPLETED"))), a2a.StateCompleted},
		"asks_again": {Stream(Frame(before), Frame(Status("WORKING")), Frame(Status("INPUT_REQUIRED"))), a2a.StateInputRequired},
		"only_that":  {Stream(Frame(before)), a2a.StateInputRequired},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(t, tc.script)
			m := client.Text("blue")
			m.TaskID = "t1"
			var fold client.Fold
			for ev, err := range dial(t, a.URL, client.Options{Retry: hurry}).Stream(context10(t), m, client.SendOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				fold.Apply(ev)
			}
			if fold.Task.Status.State != tc.want || len(a.Requests()) != 1 {
				t.Errorf("got %s by %d requests, want %s by one", fold.Task.Status.State, len(a.Requests()), tc.want)
			}
		})
	}
}

// TestStream_other_events skips events of other makes: heartbeats with data, and the word
// that ends the streams of model servers. A message that is none is an error.
func TestStream_other_events(t *testing.T) {
	a := New(t, Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), "event: heartbeat\ndata: {\"at\":1}\n\n", "event: ping\ndata: ping\n\n", Frame(Status("COMPLETED"))))
	fold, _, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
	wantState(t, fold, err, a2a.StateCompleted)
	b := New(t, By(map[string]Script{
		"SendStreamingMessage": Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), "data: [DONE]\n\n"),
		"SubscribeToTask":      Stream(Frame(`{"task":` + Task("COMPLETED", "") + `}`)),
	}))
	fold, _, err = follow(t, dial(t, b.URL, client.Options{Retry: hurry}))
	wantState(t, fold, err, a2a.StateCompleted)
	for _, bad := range []string{"data: {\"at\":1}\n\n", "event: message\ndata: {\"at\":1}\n\n", "event: error\ndata: oops\n\n"} {
		_, _, err = follow(t, dial(t, New(t, Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), bad)).URL, client.Options{Retry: hurry}))
		if client.KindOf(err) != client.KindInvalid {
			t.Errorf("%q: got %v, want invalid", bad, err)
		}
	}
}
