package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

// agent is an agent of A2A 0.3 that does each task at once.
func agent() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"name":"clock","protocolVersion":"0.3.0","url":"/","capabilities":{"streaming":false},"skills":[{"id":"time","name":"Time"}]}`)
			return
		}
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"task","id":"t1","contextId":"c1",
			"status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"twelve"}]}]}}`, idOf(body))
	}))
}

func Example() {
	server := agent()
	defer server.Close()

	c, err := client.New(server.URL, client.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	// The id, at once. Another process may wait for the rest.
	answer, err := c.Send(ctx, client.Text("what time is it?"), client.SendOptions{})
	if err != nil {
		log.Fatal(err)
	}
	task, err := c.Wait(ctx, answer.Task.ID, client.WaitOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.ID, task.Status.State, a2a.JoinText(task.Artifacts[0].Parts))
	// Output: t1 completed twelve
}

func ExampleClient_Stream() {
	server := agent()
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var fold client.Fold // makes a task of the events, and says what is new in each
	for ev, err := range c.Stream(context.Background(), client.Text("what time is it?"), client.SendOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		change := fold.Apply(ev)
		for _, piece := range change.Artifacts {
			fmt.Println("text:", a2a.JoinText(piece.Artifact.Parts))
		}
		if change.State != "" {
			fmt.Println("state:", change.State)
		}
	}
	// Output:
	// text: twelve
	// state: completed
}

func ExampleClient_Card() {
	server := agent()
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	card, err := c.Card(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(card.Name, card.Interfaces[0].Dialect, card.Skills[0].ID)
	// Output: clock 0.3 time
}

func ExampleKindOf() {
	_, err := client.New("ftp://agent", client.Options{})
	fmt.Println(client.KindOf(err))
	// Output: usage
}
