// Command a2ago is an echo agent on a2a-go v2.3.1 with its in-memory store: a
// task of the usual life (submitted, working, one artifact, completed).
package main

import (
	"context"
	"flag"
	"iter"
	"log"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9001", "address to listen on")
	flag.Parse()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("POST /", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(echo{})))
	log.Fatal(http.ListenAndServe(*addr, mux))
}

type echo struct{}

// Execute answers with the text of the message.
func (echo) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewSubmittedTask(ec, ec.Message), nil) &&
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), nil) &&
			yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart(ec.Message.Parts[0].Text())), nil) &&
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
	}
}

// Cancel ends the task; the benchmark never asks for it.
func (echo) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}
