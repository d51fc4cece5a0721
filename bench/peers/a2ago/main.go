// Command a2ago is an echo agent on a2a-go v2.3.1 with its in-memory store: a
// task of the usual life (submitted, working, one artifact, completed). The texts
// "@burst N", "@chunks N MS" and "@hang" do as those of the server it is measured
// against: N chunks of one artifact at once, or MS milliseconds apart, or nothing
// until the task is stopped.
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log"
	"net/http"
	"time"

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

// Execute does what the text of the message says.
func (echo) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewSubmittedTask(ec, ec.Message), nil) &&
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), nil) &&
			work(ctx, ec, yield) &&
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
	}
}

// work yields the artifacts, and reports whether to go on.
func work(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) bool {
	text := ec.Message.Parts[0].Text()
	var command string
	var n, gap int
	// The numbers are missing where the command has none.
	_, _ = fmt.Sscan(text, &command, &n, &gap)
	switch command {
	case "@hang":
		<-ctx.Done()
		return false
	case "@burst":
		return chunks(ctx, ec, n, 0, yield)
	case "@chunks":
		return chunks(ctx, ec, n, time.Duration(gap)*time.Millisecond, yield)
	}
	return yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart(text)), nil)
}

// chunks yields one artifact in n chunks of 16 bytes.
func chunks(ctx context.Context, ec *a2asrv.ExecutorContext, n int, gap time.Duration, yield func(a2a.Event, error) bool) bool {
	ev := a2a.NewArtifactEvent(ec)
	id := ev.Artifact.ID
	for i := range n {
		if i > 0 {
			ev = a2a.NewArtifactUpdateEvent(ec, id)
		}
		if i > 0 && gap > 0 {
			select {
			case <-time.After(gap):
			case <-ctx.Done():
				return false
			}
		}
		ev.Artifact.Parts = a2a.ContentParts{a2a.NewTextPart("xxxxxxxxxxxxxxxx")}
		ev.LastChunk = i == n-1
		if !yield(ev, nil) {
			return false
		}
	}
	return true
}

// Cancel ends the task; the benchmark never asks for it.
func (echo) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}
