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
	// Form is how the dialect shows the events, with their numbers if View wants them.
	Form *wire.StreamForm
	// Active are the extensions that the client is to be told of.
	Active []string
	leave  func()
}

// Close releases the stream.
func (o *Opened) Close() {
	if o.Reader != nil {
		o.Reader.Close()
	}
	o.leave()
}

// Ends returns what reports whether the stream of an operation is over after an event.
// It does not keep the task.
func (o *Opened) Ends(op a2a.Op, form *wire.StreamForm) func(e *engine.Entry) bool {
	end := o.Task.Seq
	return func(e *engine.Entry) bool {
		// When resuming, an end before the snapshot was not the end.
		return e.Seq >= end && e.Status != nil && form.Ends(op, e.Status.State)
	}
}

// Begin opens the stream of a Stream or Subscribe call, which the caller has to close.
func (b *Binding) Begin(ctx context.Context, rec *access.Record, c *Call) (*Opened, error) {
	if err := b.off(c.Op); err != nil {
		return nil, err
	}
	leave := func() {}
	if b.EnterStream != nil {
		var err error
		if leave, err = b.EnterStream(rec.Caller); err != nil {
			return nil, err
		}
	}
	o, err := b.open(ctx, rec, c)
	if err != nil {
		leave()
		return nil, err
	}
	o.leave, o.Form, o.Active = leave, c.Dialect.Stream, b.Extensions.Active(access.Extensions(c.Meta))
	if o.Form.Numbered != nil && slices.Contains(o.Active, a2a.ExtEventSequence) {
		o.Form, o.View.Sequence = o.Form.Numbered, true
	}
	return o, nil
}

// open starts the stream of a Stream or Subscribe request.
func (b *Binding) open(ctx context.Context, rec *access.Record, c *Call) (*Opened, error) {
	req, err := c.Decode(b.Limits)
	if err != nil {
		return nil, err
	}
	if c.Op == a2a.OpStream {
		q := req.(*a2a.SendRequest)
		if err := b.fill(q, c); err != nil {
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
	if after, ok := LastEvent(c); ok && after <= t.Seq {
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
// header or metadata Last-Event-ID or the query parameter after. What is no number
// counts as not given: the client then gets the whole task.
func LastEvent(c *Call) (int64, bool) {
	text := access.First(c.Meta, "Last-Event-ID")
	if text == "" {
		text = c.query("after")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0
}

// Running is a stream that was opened and has to be served.
type Running struct {
	stream *stream.Stream
	rec    *access.Record
	close  func()
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

// Open is Begin for a request over HTTP, and sets the headers that only a success has.
func (b *Binding) Open(w http.ResponseWriter, r *http.Request, rec *access.Record, c Call, f Framing) (*Running, error) {
	c.Meta, c.HTTP = r.Header, r
	o, err := b.Begin(r.Context(), rec, &c)
	if err != nil {
		return nil, err
	}
	access.EchoExtensions(c.Meta, o.Active, w.Header().Set)
	// What is kept to close it has no snapshot.
	held := &Opened{Reader: o.Reader, leave: o.leave}
	return &Running{stream: b.Frames(w, c.Op, o.Form, o, f), rec: rec, close: held.Close}, nil
}

// Frames makes the stream of what was opened, in a form of a dialect.
func (b *Binding) Frames(w http.ResponseWriter, op a2a.Op, form *wire.StreamForm, o *Opened, f Framing) *stream.Stream {
	// The stream outlives its beginning and does not keep the snapshot, unless the
	// form has to know the task at every event.
	task, shown := &a2a.Task{ID: o.Task.ID, ContextID: o.Task.ContextID}, int64(0)
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
		Ends:  o.Ends(op, form),
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
