package mock

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/wire"
)

// kit behaves as the A2A conformance kits ask of a server under test. They say what
// they want by the prefix of the message id; where a client cannot choose message
// ids, the prefix of the first text part counts.
//
// For other messages the kits want opposite things: that of 1.0 a task that is
// completed at once, that of 0.3 one that is still at work when the answer comes, to
// be continued and canceled.
type kit struct{ settle time.Duration }

func (k kit) Run(ctx context.Context, in skills.Input, emit skills.Emit) error {
	work, ok := k.behaviour(in.Message.ID)
	if !ok {
		work, ok = k.behaviour(in.Message.Text())
	}
	if !ok {
		work = k.other
	}
	return work(ctx, in, emit)
}

type behaviour func(context.Context, skills.Input, skills.Emit) error

// behaviour finds the longest prefix of the name that means something.
func (k kit) behaviour(name string) (behaviour, bool) {
	best, found := "", behaviour(nil)
	for prefix, b := range map[string]behaviour{
		"tck-complete-task":           k.completed,
		"tck-artifact-text":           k.artifact(a2a.TextPart("Generated text content")),
		"tck-artifact-file":           k.artifact(file("output")),
		"tck-artifact-file-url":       k.artifact(fileURL()),
		"tck-artifact-data":           k.artifact(a2a.DataPart(json.RawMessage(`{"key":"value","count":42}`))),
		"tck-message-response":        k.message,
		"tck-input-required":          k.ask,
		"tck-multi-turn":              k.ask,
		"tck-auth-required":           k.auth,
		"tck-reject-task":             k.rejected,
		"tck-task-failure":            k.failed,
		"tck-long-running":            k.long,
		"tck-cancel":                  k.untilStopped,
		"tck-stream-001":              k.artifact(a2a.TextPart("Stream hello from TCK")),
		"tck-stream-002":              k.completed,
		"tck-stream-003":              k.artifact(a2a.TextPart("Stream task lifecycle")),
		"tck-stream-basic":            k.artifact(a2a.TextPart("Stream hello from TCK")),
		"tck-stream-ordering-001":     k.artifact(a2a.TextPart("Ordered output")),
		"tck-stream-artifact-text":    k.artifact(a2a.TextPart("Streamed text content")),
		"tck-stream-artifact-file":    k.artifact(file("output")),
		"tck-stream-artifact-chunked": k.chunked,
		"tck-stream-chunked":          k.chunked,
		"test-resubscribe-message-id": k.long,
	} {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(best) {
			best, found = prefix, b
		}
	}
	return found, found != nil
}

func (k kit) completed(_ context.Context, _ skills.Input, emit skills.Emit) error {
	return emit(a2a.StatusEvent(a2a.StateCompleted, a2a.AgentText("", "Hello from TCK")))
}

// other is what a message does that asks for nothing in particular.
func (k kit) other(ctx context.Context, in skills.Input, emit skills.Emit) error {
	if in.Task != nil && in.Task.Dialect == wire.NameV03 {
		return k.long(ctx, in, emit)
	}
	return k.completed(ctx, in, emit)
}

func (k kit) artifact(p a2a.Part) behaviour {
	return func(_ context.Context, _ skills.Input, emit skills.Emit) error {
		return completeParts(emit, []a2a.Part{p})
	}
}

func file(content string) a2a.Part {
	return a2a.Part{
		Kind: a2a.PartRaw, Raw: base64.StdEncoding.EncodeToString([]byte(content)),
		Filename: "output.txt", MediaType: "text/plain",
	}
}

func fileURL() a2a.Part {
	return a2a.Part{Kind: a2a.PartURL, URL: "https://example.com/output.txt", Filename: "output.txt", MediaType: "text/plain"}
}

func (k kit) message(_ context.Context, in skills.Input, emit skills.Emit) error {
	m := a2a.AgentText("", "Direct message response")
	if !in.MayReply {
		return emit(a2a.StatusEvent(a2a.StateCompleted, m))
	}
	return emit(a2a.Event{Message: m})
}

// ask asks for input. Whatever the answer is completes the task, unless it says by
// its id that it wants to be asked once more.
func (k kit) ask(_ context.Context, in skills.Input, emit skills.Emit) error {
	if in.Resume != nil && !strings.HasPrefix(in.Message.ID, "tck-input-required") {
		return emit(a2a.StatusEvent(a2a.StateCompleted, a2a.AgentText("", "Hello from TCK")))
	}
	return pause(in, emit, a2a.StateInputRequired, "Please provide more input")
}

func (k kit) auth(_ context.Context, in skills.Input, emit skills.Emit) error {
	if in.Resume != nil {
		return emit(a2a.StatusEvent(a2a.StateCompleted, a2a.AgentText("", "Hello from TCK")))
	}
	return pause(in, emit, a2a.StateAuthRequired, "Please authorise this task")
}

func (k kit) rejected(_ context.Context, _ skills.Input, emit skills.Emit) error {
	return emit(a2a.StatusEvent(a2a.StateRejected, a2a.AgentText("", "rejected")))
}

func (k kit) failed(context.Context, skills.Input, skills.Emit) error {
	return &a2a.Error{Code: a2a.CodeSkillFailed, Message: "the task failed, as it was told to"}
}

func (k kit) long(ctx context.Context, in skills.Input, emit skills.Emit) error {
	if err := wait(ctx, k.settle); err != nil {
		return err
	}
	return k.completed(ctx, in, emit)
}

func (k kit) untilStopped(ctx context.Context, _ skills.Input, _ skills.Emit) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (k kit) chunked(_ context.Context, _ skills.Input, emit skills.Emit) error {
	for i, text := range []string{"chunk-1 ", "chunk-2"} {
		err := emit(a2a.Event{Artifact: &a2a.ArtifactChunk{
			Artifact: a2a.Artifact{ID: "result", Name: "result", Parts: []a2a.Part{a2a.TextPart(text)}},
			Append:   i > 0, Last: i == 1,
		}})
		if err != nil {
			return err
		}
	}
	return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
}
