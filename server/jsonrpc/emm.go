package jsonrpc

import (
	"errors"
	"net/http"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire/sse"
)

// statusEvent is the name of the events of EMM streams.
const statusEvent = "task/status"

// StatusStream serves GET {mount}/{id}/stream for EMM clients: the task now and at
// each change of its state, until it has ended. An unknown task is one event with
// the status not_found.
func (h *Handler) StatusStream(id func(*http.Request) a2a.TaskID) http.Handler {
	d := h.b.Dialects.EMM
	frame := func(b []byte, n int64, result []byte) []byte {
		return sse.AppendEnd(append(sse.AppendStart(b, n, statusEvent), result...))
	}
	framing := binding.Framing{
		Frame: frame,
		Error: func(b []byte, err error) []byte { return appendErrorFrame(b, nil, d, err) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := access.From(r.Context())
		rec.Method, rec.TaskID = "stream", id(r)
		fail := func(err error) {
			rec.Err = err
			binding.SetRetryAfter(w, a2a.AsError(err))
			h.writeError(w, Status(err), nil, d, err)
		}
		if err := h.b.Allow(rec, true); err != nil {
			fail(err)
			return
		}
		if h.b.EnterStream != nil {
			leave, err := h.b.EnterStream(rec.Caller)
			if err != nil {
				fail(err)
				return
			}
			defer leave()
		}
		reader, t, err := h.b.Engine.Follow(r.Context(), rec.Caller.Scope, rec.TaskID)
		var coded *a2a.Error
		switch {
		case errors.As(err, &coded) && coded.Code == a2a.CodeTaskNotFound:
			notFound := func(b []byte) []byte { return frame(b, 0, d.Stream.NotFound(nil, rec.TaskID)) }
			rec.Err = stream.New(w, nil, stream.Frames{First: notFound}, h.b.Stream).Serve(r.Context())
			return
		case err != nil:
			fail(err)
			return
		}
		defer reader.Close()
		rec.Saw(t)
		binding.Begin(w)
		o := &binding.Opened{Task: t, Reader: reader}
		if after, ok := binding.LastEvent(&binding.Call{Meta: r.Header, HTTP: r}); ok && after <= t.Seq {
			o.Resumed, o.After = true, after
		}
		rec.Err = binding.Fault(r.Context(), h.b.Frames(w, a2a.OpSubscribe, d.Stream, o, framing).Serve(r.Context()))
	})
}
