// Package stream serves a task's events to one HTTP client as server-sent events.
// It is the one such writer of the server: bindings give it a reader and say how
// an event looks.
//
// A client that does not keep up fills its socket, then a write misses its
// deadline and the connection is closed. The task is not touched by that, and no
// event is lost: the client resumes with the id of the last event it got.
package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/wire/sse"
)

// Options of streams. Zero values take the defaults named at the fields.
type Options struct {
	// Heartbeat is the longest silence; then a comment is sent. Default 15 s.
	Heartbeat time.Duration
	// WriteTimeout is how long one write may take; default 10 s.
	WriteTimeout time.Duration
	// Retry is what clients are told to wait before they come back when the server
	// stops; default 2 s.
	Retry time.Duration
}

// WithDefaults returns o with every zero field at its default.
func (o Options) WithDefaults() Options {
	for _, d := range []struct {
		to  *time.Duration
		def time.Duration
	}{{&o.Heartbeat, 15 * time.Second}, {&o.WriteTimeout, 10 * time.Second}, {&o.Retry, 2 * time.Second}} {
		if *d.to == 0 {
			*d.to = d.def
		}
	}
	return o
}

// Frames says how a stream looks.
type Frames struct {
	// First appends the events the stream begins with, or is nil.
	First func(b []byte) []byte
	// Event appends one event, complete with its SSE lines, or nothing for an event
	// that is not shown.
	Event func(b []byte, e *engine.Entry) []byte
	// Ends reports whether the stream is over after the event.
	Ends func(e *engine.Entry) bool
	// Error appends what tells the client of an error in the middle, or is nil.
	Error func(b []byte, err error) []byte
}

// flushAt is how many bytes are gathered, at most, before they are sent. What is
// there at once is sent at once.
const flushAt = 32 << 10

// writer is an open stream.
type writer struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	o   Options
	buf []byte
}

// errSlow says that the client did not take what was sent in time.
var errSlow = errors.New("client does not keep up or is gone")

// Open begins the answer to a request that gets a stream. No proxy should buffer
// or compress it.
func Open(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// Serve sends the first frames and then what the reader (nil: nothing more) gives,
// until the stream ends, the client leaves, it does not keep up, or the server
// stops. The error says which; nil is a proper end.
func Serve(ctx context.Context, w http.ResponseWriter, r *engine.Reader, f Frames, o Options) error {
	s := &writer{w: w, rc: http.NewResponseController(w), o: o.WithDefaults()}
	Open(w)
	if f.First != nil {
		s.buf = f.First(s.buf)
	}
	if r == nil {
		return s.flush()
	}
	beat := time.NewTimer(s.o.Heartbeat)
	defer beat.Stop()
	for {
		over, err := s.drain(ctx, r, f)
		if err != nil {
			if f.Error != nil && ctx.Err() == nil {
				s.buf = f.Error(s.buf, err)
				err = errors.Join(err, s.flush())
			}
			return err
		}
		if err := s.flush(); err != nil || over {
			return err
		}
		select {
		case <-r.Wake():
			continue
		case <-ctx.Done():
			return fmt.Errorf("stream: %w", context.Cause(ctx))
		case <-r.Released():
			s.buf = sse.AppendRetry(s.buf, s.o.Retry)
			return s.flush()
		case <-beat.C:
			s.buf = sse.AppendComment(s.buf, "ping")
			beat.Reset(s.o.Heartbeat)
		}
	}
}

// drain appends all events that are there. It sends in between what has become
// much.
func (s *writer) drain(ctx context.Context, r *engine.Reader, f Frames) (over bool, err error) {
	for {
		e, err := r.Poll(ctx)
		if e == nil || err != nil {
			return false, err
		}
		s.buf = f.Event(s.buf, e)
		if f.Ends(e) {
			return true, nil
		}
		if len(s.buf) >= flushAt {
			if err := s.flush(); err != nil {
				return false, err
			}
		}
	}
}

// flush sends what was gathered, before the deadline or not at all.
func (s *writer) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("stream: %w", err)
	}
	if _, err := s.w.Write(s.buf); err != nil {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	if cap(s.buf) > 2*flushAt {
		s.buf = nil // one large event should not be paid for all along
	}
	s.buf = s.buf[:0]
	return nil
}
