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

// keepBuf is how large a buffer an idle stream keeps.
const keepBuf = 512

// Stream is an open stream. What it stands on while it waits is the cost of every
// idle client, so its state is here and not on the stack.
type Stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	r    *engine.Reader
	f    Frames
	o    Options
	buf  []byte
	beat *time.Timer
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

// New opens a stream of what the reader (nil: nothing after the first frames) gives.
func New(w http.ResponseWriter, r *engine.Reader, f Frames, o Options) *Stream {
	return &Stream{w: w, rc: http.NewResponseController(w), r: r, f: f, o: o.WithDefaults()}
}

// Serve sends the first frames and then the events, until the stream ends, the
// client leaves, it does not keep up, or the server stops. The error says which;
// nil is a proper end.
func (s *Stream) Serve(ctx context.Context) error {
	if err := s.start(); err != nil || s.r == nil {
		return err
	}
	defer s.beat.Stop()
	for {
		over, err := s.send(ctx)
		if err != nil || over {
			return err
		}
		select {
		case <-s.r.Wake():
		case <-ctx.Done():
			return fmt.Errorf("stream: %w", context.Cause(ctx))
		case <-s.r.Released():
			s.buf = sse.AppendRetry(s.buf, s.o.Retry)
			return s.flush()
		case <-s.beat.C:
			s.buf = sse.AppendComment(s.buf, "ping")
			s.beat.Reset(s.o.Heartbeat)
		}
	}
}

func (s *Stream) start() error {
	Open(s.w)
	if s.f.First != nil {
		s.buf = s.f.First(s.buf)
		s.f.First = nil
	}
	s.beat = time.NewTimer(s.o.Heartbeat)
	return s.flush()
}

// send sends what is there. over says that the stream has ended.
func (s *Stream) send(ctx context.Context) (over bool, err error) {
	over, err = s.drain(ctx)
	if err == nil {
		return over, s.flush()
	}
	if s.f.Error != nil && ctx.Err() == nil {
		s.buf = s.f.Error(s.buf, err)
		err = errors.Join(err, s.flush())
	}
	return true, err
}

// drain appends all events that are there. It sends in between what has become
// much.
func (s *Stream) drain(ctx context.Context) (over bool, err error) {
	for {
		e, err := s.r.Poll(ctx)
		if e == nil || err != nil {
			return false, err
		}
		s.buf = s.f.Event(s.buf, e)
		if s.f.Ends(e) {
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
func (s *Stream) flush() error {
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
	s.buf = s.buf[:0]
	if cap(s.buf) > keepBuf {
		s.buf = nil // a large event is not paid for all along
	}
	return nil
}
