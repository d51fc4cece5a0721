package client_test

import (
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
