package engine

import (
	"context"
	"sync"

	"github.com/skillyard/skillyard/a2a"
)

// How many events a Reader lets the hub buffer for it, and how many it reads from
// the log at once.
const (
	readBuffer = 256
	readBatch  = 64
)

// Entry is an event as readers get it. Entries are shared between readers.
type Entry struct {
	a2a.Event
	size int64

	mu     sync.Mutex
	frames []frame // guarded by mu
}

type frame struct {
	form  string
	bytes []byte
}

// Frame returns the event's bytes in a form, encoding them with encode if no
// reader has asked for that form before. The caller must not change them.
func (e *Entry) Frame(form string, encode func(b []byte) []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.frames {
		if f.form == form {
			return f.bytes
		}
	}
	f := frame{form, encode(nil)}
	e.frames = append(e.frames, f)
	return f.bytes
}

func entries(events []a2a.Event) []*Entry {
	list := make([]*Entry, len(events))
	for i, ev := range events {
		list[i] = &Entry{Event: ev, size: eventSize(&ev)}
	}
	return list
}

// Reader is a cursor over a task's log. It never misses an event and never sees
// one twice, however slow it is and whatever happened between: it takes what the
// hub hands over if that is the next event, and reads the log if it is not.
type Reader struct {
	engine *Engine
	scope  a2a.Scope
	id     a2a.TaskID
	sub    *subscription
	seq    int64    // of the last event returned
	queue  []*Entry // events read but not returned
	behind bool     // the log may hold more than queue
}

// Follow opens a reader of the task and returns it with the snapshot its events
// follow on: the reader's first event is the one after Task.Seq. The caller must
// Close it.
func (e *Engine) Follow(ctx context.Context, scope a2a.Scope, id a2a.TaskID) (*Reader, *a2a.Task, error) {
	// Watch before reading, so that nothing falls between the two.
	sub := e.hub.subscribe(id, readBuffer)
	t, err := e.store.Task(ctx, scope, id)
	if err != nil {
		sub.close()
		return nil, nil, storeError(err, id)
	}
	return e.reader(scope, t, sub), t, nil
}

// reader makes a reader of what follows the snapshot t.
func (e *Engine) reader(scope a2a.Scope, t *a2a.Task, sub *subscription) *Reader {
	return &Reader{engine: e, scope: scope, id: t.ID, sub: sub, seq: t.Seq}
}

// Resume makes the reader go on after the event with the given number, from the
// log. Numbers the log does not have yet are waited for.
func (r *Reader) Resume(after int64) { r.seq, r.queue, r.behind = after, nil, true }

// Next returns the next event, waiting for it if need be. It ends with ctx's
// error, or the store's.
func (r *Reader) Next(ctx context.Context) (*Entry, error) {
	for {
		e, err := r.Poll(ctx)
		if e != nil || err != nil {
			return e, err
		}
		select {
		case <-r.sub.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Wake receives a value when Poll may have something. It may also do so when not.
func (r *Reader) Wake() <-chan struct{} { return r.sub.wake }

// Released is closed when the server stops and readers should come back later.
func (r *Reader) Released() <-chan struct{} { return r.engine.released }

// Poll returns the next event if it is there, and nil if it is not yet.
func (r *Reader) Poll(ctx context.Context) (*Entry, error) {
	for {
		for len(r.queue) > 0 {
			e := r.queue[0]
			r.queue[0] = nil
			r.queue = r.queue[1:]
			switch {
			case e.Seq <= r.seq: // seen already
			case e.Seq == r.seq+1:
				r.seq = e.Seq
				return e, nil
			default:
				r.queue, r.behind = nil, true
			}
		}
		if r.behind {
			events, err := r.engine.store.Events(ctx, r.scope, r.id, r.seq, readBatch)
			if err != nil {
				return nil, storeError(err, r.id)
			}
			r.queue, r.behind = entries(events), len(events) == readBatch
			if len(events) > 0 {
				continue
			}
		}
		events, gap := r.sub.take()
		switch {
		case gap:
			r.behind = true
		case len(events) > 0:
			r.queue = events
		default:
			return nil, nil
		}
	}
}

// Close releases the reader.
func (r *Reader) Close() { r.sub.close() }

// storeError turns a store's sentinel into the error for clients.
func storeError(err error, id a2a.TaskID) error {
	switch {
	case isNotFound(err):
		return a2a.TaskNotFound(id)
	case isClosed(err):
		return &a2a.Error{Code: a2a.CodeUnavailable, Message: "The server is stopping; try again.", RetryAfter: stoppingRetry, Err: err}
	}
	return &a2a.Error{Code: a2a.CodeInternal, Message: "internal error", Err: err}
}
