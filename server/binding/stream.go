package binding

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire"
)

// Framing is how a binding puts into events what a dialect shows of a task.
type Framing struct {
	// Frame appends one event with its number (0: none) around the result.
	Frame func(b []byte, id int64, result []byte) []byte
	// Error appends the event that tells of an error in the middle of a stream.
	Error func(b []byte, err error) []byte
}

// Opened is a stream that may begin: the task as the first frame shows it, and
// what follows.
type Opened struct {
	Task   *a2a.Task
	Reader *engine.Reader // nil: nothing follows
	View   a2a.View
	// Resumed says that the client has the events up to After already and goes on
	// where it was cut off: there is no first frame.
	Resumed bool
	After   int64
}

// open starts the stream of a Stream or Subscribe request.
func (b *Binding) open(r *http.Request, rec *access.Record, c *Call) (*Opened, error) {
	req, err := c.Decode(b.Limits)
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	if c.Op == a2a.OpStream {
		q := req.(*a2a.SendRequest)
		if err := b.fill(q, r, c.Dialect); err != nil {
			return nil, err
		}
		rec.TaskID = q.TaskID
		t, reader, err := b.Engine.Stream(ctx, rec.Caller, rec.Mount, q)
		if err != nil {
			return nil, err
		}
		rec.Saw(t)
		return &Opened{Task: t, Reader: reader, View: q.View}, nil
	}
	q := req.(*a2a.GetRequest)
	rec.TaskID = q.ID
	reader, t, err := b.Engine.Follow(ctx, rec.Caller.Scope, q.ID)
	if err != nil {
		return nil, err
	}
	rec.Saw(t)
	if c.Shape != nil {
		c.Dialect = c.Shape(t)
	}
	o := &Opened{Task: t, Reader: reader, View: q.View}
	if after, ok := LastEvent(r); ok && after <= t.Seq {
		reader.Resume(after)
		o.Resumed, o.After = true, after
		if after < t.Seq || !t.Status.State.Terminal() {
			return o, nil
		}
	}
	if t.Status.State.Terminal() {
		reader.Close()
		o.Reader = nil
		if !c.Dialect.Stream.Ended {
			// A2A 1.0 §3.1.6.
			return nil, &a2a.Error{
				Code:    a2a.CodeUnsupportedOperation,
				Message: "The task has ended (" + string(t.Status.State) + "); get it instead of subscribing.",
				Details: map[string]string{"taskId": string(t.ID)},
			}
		}
		o.Resumed = false
	}
	return o, nil
}

// LastEvent returns the number of the last event that a client has, from the
// header Last-Event-ID or the query parameter after. What is no number counts as
// not given: the client then gets the whole task.
func LastEvent(r *http.Request) (int64, bool) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" && r.URL.RawQuery != "" {
		text = r.URL.Query().Get("after")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0
}

// Running is a stream that was opened and has to be served.
type Running struct {
	stream *stream.Stream
	rec    *access.Record
	reader *engine.Reader
	leave  func()
}

// Serve serves the stream to its end. It should be called where the stack is low:
// every idle stream keeps it.
func (s *Running) Serve(ctx context.Context) {
	defer s.close()
	s.rec.Err = Fault(ctx, s.stream.Serve(ctx))
}

// Fault returns the error of a stream if it is one: a client may leave whenever it
// likes. One that does not keep up has not left, though its request is over too.
func Fault(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

func (s *Running) close() {
	if s.reader != nil {
		s.reader.Close()
	}
	if s.leave != nil {
		s.leave()
	}
}

// Open opens the stream that a Stream or Subscribe call asks for.
func (b *Binding) Open(w http.ResponseWriter, r *http.Request, rec *access.Record, c Call, f Framing) (*Running, error) {
	s := &Running{rec: rec}
	if b.NoStreams {
		return nil, &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: "This operation is not supported: the agent does not stream."}
	}
	if b.EnterStream != nil {
		leave, err := b.EnterStream(rec.Caller)
		if err != nil {
			return nil, err
		}
		s.leave = leave
	}
	o, err := b.open(r, rec, &c)
	if err != nil {
		s.close()
		return nil, err
	}
	s.reader = o.Reader
	form, active := c.Dialect.Stream, b.Extensions.Active(access.Extensions(r.Header))
	if form.Numbered != nil && slices.Contains(active, a2a.ExtEventSequence) {
		form, o.View.Sequence = form.Numbered, true
	}
	access.EchoExtensions(w, r, active)
	s.stream = b.Frames(w, c.Op, form, o, f)
	return s, nil
}

// Frames makes the stream of what was opened, in a form of a dialect.
func (b *Binding) Frames(w http.ResponseWriter, op a2a.Op, form *wire.StreamForm, o *Opened, f Framing) *stream.Stream {
	// The stream outlives its beginning and does not keep the snapshot, unless the
	// form has to know the task at every event.
	task, shown, end := &a2a.Task{ID: o.Task.ID, ContextID: o.Task.ContextID}, int64(0), o.Task.Seq
	follow := o.Reader
	switch {
	case form.Folds && o.Resumed:
		// The task as the client last saw it is the fold of the log up to there.
		follow.Resume(0)
		task, shown = new(a2a.Task), o.After
	case form.Folds:
		task = o.Task.Clone()
	}
	frames := stream.Frames{
		Event: func(b []byte, e *engine.Entry) []byte {
			if form.Folds && task.Apply(e.Event) != nil || e.Seq <= shown {
				return b
			}
			result := e.Frame(form.Name, func(b []byte) []byte { return form.Event(b, task, &e.Event) })
			if len(result) == 0 {
				return b
			}
			return f.Frame(b, e.Seq, result)
		},
		Ends: func(e *engine.Entry) bool {
			// When resuming, an end before the snapshot was not the end.
			return e.Seq >= end && e.Status != nil && form.Ends(op, e.Status.State)
		},
		Error: f.Error,
	}
	if !o.Resumed {
		frames.First = func(b []byte) []byte {
			if form.Artifact != nil && op == a2a.OpSubscribe {
				for i := range o.Task.Artifacts {
					b = f.Frame(b, 0, form.Artifact(nil, o.Task, i))
				}
			}
			return f.Frame(b, o.Task.Seq, form.Snapshot(nil, o.Task, o.View))
		}
		if form.Ends(op, o.Task.Status.State) {
			follow = nil
		}
	}
	return stream.New(w, follow, frames, b.Stream)
}
