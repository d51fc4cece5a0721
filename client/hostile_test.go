package client_test

import (
	"io"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// What hostile agents do.

// TestStream_hostile_ids takes a stream up again whose ids no header can carry.
func TestStream_hostile_ids(t *testing.T) {
	for name, id := range map[string]string{"control": "a\x01b", "huge": strings.Repeat("x", 1<<20)} {
		a := New(t, By(map[string]Script{
			"SendStreamingMessage": Stream("id: "+id+"\n", Frame(`{"task":`+Task("WORKING", "")+`}`)),
			"SubscribeToTask":      Stream(Frame(`{"task":` + Task("COMPLETED", "x") + `}`)),
		}))
		fold, _, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
		wantState(t, fold, err, a2a.StateCompleted)
		if got := a.Requests(); len(got) != 2 || got[1].Header.Get("Last-Event-ID") != "" {
			t.Errorf("%s: got %d requests, want one more without the id", name, len(got))
		}
	}
}

// TestCard_hostile_token_header keeps to the usual headers if a card names one that is
// none.
func TestCard_hostile_token_header(t *testing.T) {
	a := New(t, JSON(Task("COMPLETED", "")))
	a.Card["securitySchemes"] = map[string]any{"k": map[string]any{"type": "apiKey", "in": "header", "name": "X-Key\r\nX-Evil"}}
	c := dial(t, a.URL, client.Options{})
	if _, err := c.Get(context10(t), "t1", nil); err != nil {
		t.Fatal(err)
	}
	if got := a.Requests()[0].Header.Get("Authorization"); got != "Bearer alice-token" {
		t.Errorf("got %q", got)
	}
}

// TestStream_endless gives up an agent that sends without end.
func TestStream_endless(t *testing.T) {
	for name, frame := range map[string]func(n int) string{
		"one_artifact": func(n int) string { return Frame(Artifact(strings.Repeat("x", 1000), n > 0)) },
		"many": func(n int) string {
			return Frame(strings.ReplaceAll(Artifact(strings.Repeat("x", 1000), false), "a1", "a"+strings.Repeat("y", n%100)+strings.Repeat("z", n/100)))
		},
	} {
		sent := 0
		a := New(t, func(w io.Writer, r Request, id string) {
			Stream(Frame(`{"task":`+Task("WORKING", "")+`}`))(w, r, id)
			for ; sent < 1000; sent++ {
				if _, err := io.WriteString(w, strings.ReplaceAll(frame(sent), "__ID__", id)); err != nil {
					return
				}
			}
		})
		_, _, err := follow(t, dial(t, a.URL, client.Options{Limits: client.Limits{Answer: 100_000}}))
		if client.KindOf(err) != client.KindTooLarge || len(a.Requests()) != 1 {
			t.Errorf("%s: got %v after %d requests, want too large", name, err, len(a.Requests()))
		}
	}
	// A text that is sent whole again and again is as large as it is.
	var frames []string
	for n := range 300 {
		frames = append(frames, Frame(Artifact(strings.Repeat("x", 1000+n), false)))
	}
	a := New(t, Stream(append(frames, Frame(Status("COMPLETED")))...))
	fold, _, err := follow(t, dial(t, a.URL, client.Options{Limits: client.Limits{Answer: 100_000}}))
	wantState(t, fold, err, a2a.StateCompleted)
}

// TestAnswer_task_with_a_message: what names a task is a task, whatever is beside it.
func TestAnswer_task_with_a_message(t *testing.T) {
	m := `"message":{"role":"agent","parts":[{"kind":"text","text":"accepted"}]}`
	for _, result := range []string{
		`{"task":` + Task("COMPLETED", "x") + `,` + m + `}`,
		`{"kind":"task","id":"t1","status":{"state":"completed"},` + m + `}`,
	} {
		got, err := dial(t, New(t, JSON(result)).URL, client.Options{}).Send(context10(t), client.Text("x"), client.SendOptions{})
		if err != nil || got.Task == nil || got.Task.ID != "t1" {
			t.Errorf("%s: got %+v, %v, want the task", result, got, err)
		}
	}
}

// TestStream_rest_error reads an error within a stream of HTTP+JSON in each of its forms.
func TestStream_rest_error(t *testing.T) {
	for _, data := range []string{
		`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"bad type"}}`, `{"error":{"code":-32005,"message":"bad type"}}`, `{"code":-32005,"message":"bad type"}`,
	} {
		a := New(t, Stream("data: {\"task\":"+Task("WORKING", "")+"}\n\n", "data: "+data+"\n\n"))
		c := dial(t, a.URL, client.Options{Interface: &client.Interface{URL: a.URL, Dialect: client.DialectRest03, Streaming: true}})
		if _, _, err := follow(t, c); client.KindOf(err) != client.KindRefused || !strings.Contains(err.Error(), "bad type") {
			t.Errorf("%s: got %q %v", data, client.KindOf(err), err)
		}
	}
}
