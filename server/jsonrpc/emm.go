package jsonrpc

import (
	"errors"
	"net/http"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/sse"
)

// statusEvent is the name of the events of EMM streams.
const statusEvent = "task/status"

// StatusStream serves GET {mount}/{id}/stream for EMM clients: the task now and at
// each change of its state, until it has ended. An unknown task is one event with
// the status not_found.
func (h *Handler) StatusStream(id func(*http.Request) a2a.TaskID) http.Handler {
	d := h.o.Dialects.EMM
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := access.From(r.Context())
		rec.Method, rec.TaskID = "stream", id(r)
		fail := func(err error) {
			rec.Err = err
			setRetryAfter(w, a2a.AsError(err))
			h.writeError(w, Status(err), nil, d, err)
		}
		if err := h.o.Allow(w, r, true); err != nil {
			fail(err)
			return
		}
		if h.o.EnterStream != nil {
			leave, err := h.o.EnterStream(rec.Caller)
			if err != nil {
				fail(err)
				return
			}
			defer leave()
		}
		reader, t, err := h.o.Engine.Follow(r.Context(), rec.Caller.Scope, rec.TaskID)
		var coded *a2a.Error
		switch {
		case errors.As(err, &coded) && coded.Code == a2a.CodeTaskNotFound:
			notFound := func(b []byte) []byte {
				b = d.Stream.NotFound(sse.AppendStart(b, 0, statusEvent), rec.TaskID)
				return sse.AppendEnd(b)
			}
			rec.Err = stream.New(w, nil, stream.Frames{First: notFound}, h.o.Stream).Serve(r.Context())
			return
		case err != nil:
			fail(err)
			return
		}
		defer reader.Close()
		rec.Saw(t)
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // where it is not supported there is none
		rec.Err = fault(r.Context(), h.statusStream(w, r, d, reader, t).Serve(r.Context()))
	})
}

func (h *Handler) statusStream(w http.ResponseWriter, r *http.Request, d *wire.Dialect, reader *engine.Reader, t *a2a.Task) *stream.Stream {
	frame := func(b []byte, id int64, result []byte) []byte {
		return sse.AppendEnd(append(sse.AppendStart(b, id, statusEvent), result...))
	}
	f := stream.Frames{
		First: func(b []byte) []byte { return frame(b, t.Seq, d.Stream.Snapshot(nil, t, a2a.View{})) },
		Error: func(b []byte, err error) []byte { return appendErrorFrame(b, nil, d, err) },
	}
	follow, shownTo := reader, int64(0)
	// Each frame holds the whole task, so the events are folded along.
	task := t.Clone()
	if after, ok := LastEvent(r); ok && after <= t.Seq {
		// The task as the client last saw it is the fold of the log up to there.
		reader.Resume(0)
		task, shownTo, f.First = new(a2a.Task), after, nil
	} else if d.Stream.Ends(a2a.OpSubscribe, t.Status.State) {
		follow = nil
	}
	f.Event = func(b []byte, e *engine.Entry) []byte {
		if err := task.Apply(e.Event); err != nil || e.Seq <= shownTo {
			return b
		}
		result := e.Frame(d.Name, func(b []byte) []byte { return d.Stream.Event(b, task, &e.Event) })
		if len(result) == 0 {
			return b
		}
		return frame(b, e.Seq, result)
	}
	// An end that the client saw already may be that of an earlier revision.
	f.Ends = func(e *engine.Entry) bool {
		return e.Seq >= t.Seq && e.Status != nil && d.Stream.Ends(a2a.OpSubscribe, e.Status.State)
	}
	return stream.New(w, follow, f, h.o.Stream)
}
