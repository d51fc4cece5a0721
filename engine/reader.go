package engine

import (
	"context"

	"github.com/skillyard/skillyard/a2a"
)

// readBatch is how many events a Reader reads from the log at once, and how many
// it lets the hub buffer for it.
const readBatch = 256

// Reader is a cursor over a task's log. It never misses an event and never sees
// one twice, however slow it is and whatever happened between: it takes what the
// hub hands over if that is the next event, and reads the log if it is not.
type Reader struct {
	engine *Engine
	scope  a2a.Scope
	id     a2a.TaskID
	sub    *subscription
	seq    int64       // of the last event returned
	queue  []a2a.Event // events read but not returned
	behind bool        // the log may hold more than queue
}

// Follow opens a reader of the task and returns it with the snapshot its events
// follow on: the reader's first event is the one after Task.Seq. The caller must
// Close it.
func (e *Engine) Follow(ctx context.Context, scope a2a.Scope, id a2a.TaskID) (*Reader, *a2a.Task, error) {
	// Watch before reading, so that nothing falls between the two.
	sub := e.hub.subscribe(id, readBatch)
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
func (r *Reader) Next(ctx context.Context) (a2a.Event, error) {
	for {
		for len(r.queue) > 0 {
			e := r.queue[0]
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
				return a2a.Event{}, storeError(err, r.id)
			}
			r.queue, r.behind = events, len(events) == readBatch
			if len(events) > 0 {
				continue
			}
		}
		events, gap := r.sub.take()
		if gap {
			r.behind = true
			continue
		}
		if len(events) > 0 {
			r.queue = events
			continue
		}
		select {
		case <-r.sub.wake:
		case <-ctx.Done():
			return a2a.Event{}, context.Cause(ctx)
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
