// Package memory is a task store that forgets everything when its process ends.
//
// It is for tests, benchmarks and trying things out. It keeps the whole contract
// of package taskstore except durability, and it is strict: an event that the
// rules of a2a.Task.Apply do not allow is refused instead of stored.
//
// One mutex guards everything and no method waits for anything else. What goes
// in and out is cloned, so that a caller that changes a task it got, or goes on
// folding one it gave, changes nobody else's. Message and part contents are
// shared; nothing in the program changes those.
package memory

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Options configure a Store. There is nothing to choose at present.
type Options struct{}

// Store is a taskstore.Store in memory.
type Store struct {
	secret [32]byte

	mu      sync.Mutex
	closed  bool                                      // guarded by mu
	lastRow int64                                     // guarded by mu; rows are never used again
	byID    map[a2a.TaskID]*record                    // guarded by mu
	byRow   map[int64]*record                         // guarded by mu
	byScope map[a2a.Scope]map[int64]*record           // guarded by mu
	open    map[int64]*record                         // guarded by mu; all that have not ended
	keys    map[a2a.Scope]map[string]*idempotencyKeys // guarded by mu
	outbox  outbox                                    // guarded by mu
}

// record is a task with everything that belongs to it, guarded by Store.mu.
type record struct {
	row    int64
	scope  a2a.Scope
	task   *a2a.Task // never handed out, only clones of it
	events []a2a.Event
	run    taskstore.Run
	// broken says that a step under the present fence failed, so that no later
	// one may be written.
	broken bool
	keys   []string
	pushes []*push // in the order they were made
}

// idempotencyKeys is what an idempotency key stands for.
type idempotencyKeys struct {
	rec         *record
	fingerprint string
}

var _ taskstore.Store = (*Store)(nil)

// New returns an empty store.
func New(Options) *Store {
	s := &Store{
		byID:    map[a2a.TaskID]*record{},
		byRow:   map[int64]*record{},
		byScope: map[a2a.Scope]map[int64]*record{},
		open:    map[int64]*record{},
		keys:    map[a2a.Scope]map[string]*idempotencyKeys{},
	}
	rand.Read(s.secret[:]) // never fails
	return s
}

// Secret returns the random bytes made by New.
func (s *Store) Secret() []byte { return append([]byte(nil), s.secret[:]...) }

// Ping returns ErrClosed after Close, else nil.
func (s *Store) Ping(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// Close drops everything.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return taskstore.ErrClosed
	}
	s.closed = true
	s.byID, s.byRow, s.byScope, s.open, s.keys, s.outbox = nil, nil, nil, nil, nil, outbox{}
	return nil
}

// lock takes the mutex, unless the context is done or the store closed.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, taskstore.ErrClosed
	}
	return s.mu.Unlock, nil
}

// find returns the task with the id in the scope, or ErrNotFound.
func (s *Store) find(scope a2a.Scope, id a2a.TaskID) (*record, error) {
	r := s.byID[id]
	if r == nil || r.scope != scope {
		return nil, taskstore.ErrNotFound
	}
	return r, nil
}

// Task returns a clone of the snapshot.
func (s *Store) Task(ctx context.Context, scope a2a.Scope, id a2a.TaskID) (*a2a.Task, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.find(scope, id)
	if err != nil {
		return nil, err
	}
	return r.task.Clone(), nil
}

// Keyed returns a clone of the task of a key.
func (s *Store) Keyed(ctx context.Context, scope a2a.Scope, k taskstore.Key) (*a2a.Task, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	switch used := s.keys[scope][k.Key]; {
	case used == nil:
		return nil, taskstore.ErrNotFound
	case used.fingerprint != k.Fingerprint:
		return nil, taskstore.ErrIdempotency
	default:
		return used.rec.task.Clone(), nil
	}
}

// Events returns a copy of a piece of the log.
func (s *Store) Events(ctx context.Context, scope a2a.Scope, id a2a.TaskID, after int64, limit int) ([]a2a.Event, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.find(scope, id)
	if err != nil {
		return nil, err
	}
	from := min(max(after, 0), int64(len(r.events))) // event n is at index n-1
	to := min(from+int64(max(limit, 0)), int64(len(r.events)))
	return append([]a2a.Event(nil), r.events[from:to]...), nil
}

// put folds the events into the record's task and files them. On an error the
// record is unchanged.
func (r *record) put(events []a2a.Event) error {
	if err := r.task.Fold(events); err != nil {
		// Some may have been folded in before the one that did not fit.
		r.task = &a2a.Task{}
		if again := r.task.Fold(r.events); again != nil {
			return fmt.Errorf("fold stored events: %w", again)
		}
		return err
	}
	r.events = append(r.events, events...)
	return nil
}

// setRun replaces the run and keeps the open runs up to date.
func (s *Store) setRun(r *record, run taskstore.Run) {
	if run.State != taskstore.RunRunning {
		run.Holder = ""
	}
	if run.State != taskstore.RunRunning && run.State != taskstore.RunWaiting {
		run.Until = time.Time{}
	}
	r.run = run
	if run.State != taskstore.RunEnded {
		s.open[r.row] = r
	} else {
		delete(s.open, r.row)
	}
}

// stored returns the record as the engine sees it, without a lease.
func (r *record) stored() taskstore.Stored {
	return taskstore.Stored{Scope: r.scope, Task: r.task.Clone(), Run: copyRun(r.run)}
}

// leased returns the same with a lease, if the record runs.
func (r *record) leased() taskstore.Stored {
	out := r.stored()
	out.Lease = r.lease()
	return out
}

// lease returns the lease of a running record, or none.
func (r *record) lease() taskstore.Lease {
	if r.run.State != taskstore.RunRunning {
		return taskstore.Lease{}
	}
	return taskstore.Lease{TaskID: r.task.ID, Fence: r.run.Fence, Row: r.row}
}

// drop removes the record with everything that refers to it.
func (s *Store) drop(r *record) {
	delete(s.byID, r.task.ID)
	delete(s.byRow, r.row)
	delete(s.open, r.row)
	delete(s.byScope[r.scope], r.row)
	if len(s.byScope[r.scope]) == 0 {
		delete(s.byScope, r.scope)
	}
	for _, k := range r.keys {
		delete(s.keys[r.scope], k)
	}
	if len(s.keys[r.scope]) == 0 {
		delete(s.keys, r.scope)
	}
	s.outbox.drop(r.pushes...)
}
