package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/sse"
)

// opened is a stream that may begin: the task as the first frame shows it, and
// what follows.
type opened struct {
	task   *a2a.Task
	reader *engine.Reader // nil: nothing follows
	// resumed says that the client has the task already and goes on where it was
	// cut off: there is no first frame.
	resumed bool
	view    a2a.View
}

// open starts the stream of a Stream or Subscribe request.
func (h *Handler) open(r *http.Request, rec *access.Record, d *wire.Dialect, m wire.Method, params []byte) (*opened, error) {
	req, err := m.Decode(params, h.o.Limits)
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	if m.Op == a2a.OpStream {
		q := req.(*a2a.SendRequest)
		if err := h.fill(q, r, d); err != nil {
			return nil, err
		}
		rec.TaskID = q.TaskID
		t, reader, err := h.o.Engine.Stream(ctx, rec.Caller, rec.Mount, q)
		if err != nil {
			return nil, err
		}
		rec.Saw(t)
		return &opened{task: t, reader: reader, view: q.View}, nil
	}
	q := req.(*a2a.GetRequest)
	rec.TaskID = q.ID
	reader, t, err := h.o.Engine.Follow(ctx, rec.Caller.Scope, q.ID)
	if err != nil {
		return nil, err
	}
	rec.Saw(t)
	o := &opened{task: t, reader: reader, view: q.View}
	if after, ok := LastEvent(r); ok && after <= t.Seq {
		reader.Resume(after)
		o.resumed = true
		if after < t.Seq || !t.Status.State.Terminal() {
			return o, nil
		}
	}
	if t.Status.State.Terminal() {
		reader.Close()
		o.reader = nil
		if d.Name != wire.NameV03 {
			// A2A 1.0 §3.1.6. In 0.3 the task is shown once more.
			return nil, &a2a.Error{
				Code:    a2a.CodeUnsupportedOperation,
				Message: "The task has ended (" + string(t.Status.State) + "); get it instead of subscribing.",
				Details: map[string]string{"taskId": string(t.ID)},
			}
		}
		o.resumed = false
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

// running is a stream that was opened and has to be served.
type running struct {
	stream *stream.Stream
	rec    *access.Record
	reader *engine.Reader
	leave  func()
}

func (s *running) serve(ctx context.Context) {
	defer s.close()
	s.rec.Err = fault(ctx, s.stream.Serve(ctx))
}

// fault returns the error of a stream if it is one: a client may leave whenever it
// likes. One that does not keep up has not left, though its request is over too.
func fault(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

func (s *running) close() {
	if s.reader != nil {
		s.reader.Close()
	}
	if s.leave != nil {
		s.leave()
	}
}

// begin opens the stream that a Stream or Subscribe request asks for.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request, rec *access.Record, env wire.Envelope, d *wire.Dialect, m wire.Method) (*running, error) {
	s := &running{rec: rec}
	if h.o.NoStreams {
		return nil, &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: "This operation is not supported: the agent does not stream."}
	}
	if h.o.EnterStream != nil {
		leave, err := h.o.EnterStream(rec.Caller)
		if err != nil {
			return nil, err
		}
		s.leave = leave
	}
	o, err := h.open(r, rec, d, m, env.Params)
	if err != nil {
		s.close()
		return nil, err
	}
	s.reader = o.reader
	// The stream outlives its beginning: it keeps neither the request's body nor the
	// snapshot.
	id, head, seq := bytes.Clone(env.ID), &a2a.Task{ID: o.task.ID, ContextID: o.task.ContextID}, o.task.Seq
	frame := func(b []byte, n int64, result []byte) []byte {
		b = sse.AppendStart(b, n, "")
		b = wire.AppendResult(b, id, func(b []byte) []byte { return append(b, result...) })
		return sse.AppendEnd(b)
	}
	f := stream.Frames{
		Event: func(b []byte, e *engine.Entry) []byte {
			result := e.Frame(d.Name, func(b []byte) []byte { return d.Stream.Event(b, head, &e.Event) })
			if len(result) == 0 {
				return b
			}
			return frame(b, e.Seq, result)
		},
		Ends: func(e *engine.Entry) bool {
			// When resuming, an end before the snapshot was not the end.
			return e.Seq >= seq && e.Status != nil && d.Stream.Ends(m.Op, e.Status.State)
		},
		Error: func(b []byte, err error) []byte { return appendErrorFrame(b, id, d, err) },
	}
	follow := o.reader
	if !o.resumed {
		f.First = func(b []byte) []byte { return frame(b, seq, d.Stream.Snapshot(nil, o.task, o.view)) }
		if d.Stream.Ends(m.Op, o.task.Status.State) {
			follow = nil
		}
	}
	s.stream = stream.New(w, follow, f, h.o.Stream)
	return s, nil
}

// errorFrame answers an error of a request that wanted a stream, before the first
// event. Half of the clients lose a plain JSON answer to a streaming call, none an
// event; so it is an event for all who say that they take one.
func errorFrame(w http.ResponseWriter, id []byte, d *wire.Dialect, err error) {
	stream.Open(w)
	_, _ = w.Write(appendErrorFrame(nil, id, d, err)) // a client that is gone has no use for it
}

func appendErrorFrame(b, id []byte, d *wire.Dialect, err error) []byte {
	b = sse.AppendStart(b, 0, "error")
	b = wire.AppendErrorResponse(b, id, d, a2a.AsError(err))
	return sse.AppendEnd(b)
}

// wantsFrame reports whether an error is answered as an event: the request is for
// a stream, its client takes one, and the error is none of HTTP's own.
func (h *Handler) wantsFrame(r *http.Request, d *wire.Dialect, m wire.Method, err error) bool {
	if h.o.PlainErrors && d.Name == wire.NameV1 {
		return false
	}
	if m.Op != a2a.OpStream && m.Op != a2a.OpSubscribe || Status(err) != http.StatusOK {
		return false
	}
	return strings.Contains(r.Header.Get("Accept"), sse.ContentType)
}
