package client_test

import (
	"sync"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

// TestClient_concurrent uses one new client from many goroutines.
func TestClient_concurrent(t *testing.T) {
	s := probe(t)
	c := dial(t, s.URL, client.Options{})
	ctx := context10(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.Card(ctx); err != nil {
				t.Error(err)
			}
			a, err := c.Send(ctx, client.Text("@echo hi"), client.SendOptions{Blocking: true})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err = c.Get(ctx, a.Task.ID, nil); err != nil {
				t.Error(err)
			}
			_, _ = c.Get(ctx, "no-such-task", nil) // errors too
		})
	}
	wg.Wait()
}

// TestClient_question_streamed answers a question by a stream, and so its next one.
func TestClient_question_streamed(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		if dialect == client.DialectEMM {
			t.Skip("it answers questions in another dialect, and without a stream")
		}
		var fold client.Fold
		m := client.Text("@ask")
		for _, want := range []a2a.State{a2a.StateInputRequired, a2a.StateCompleted} {
			for ev, err := range c.Stream(context10(t), m, client.SendOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				fold.Apply(ev)
			}
			if fold.Task.Status.State != want {
				t.Fatalf("got %s, want %s", fold.Task.Status.State, want)
			}
			m = client.Message{TaskID: fold.Task.ID, ContextID: fold.Task.ContextID, Parts: []a2a.Part{a2a.TextPart("blue")}}
		}
	})
}
