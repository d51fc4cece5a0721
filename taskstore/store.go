// Package taskstore is the contract of a durable task store: what the engine
// asks of it, and what it promises.
//
// A store keeps, per task, a log of events and a snapshot that is the fold of
// the log, the run that works on it (state, lease, resume data) and the keys
// that make a repeated request harmless. One method is one transaction; no
// transaction object leaves the store. A call that returned without an error is
// on disk (the memory store, which is for tests and benchmarks, excepted).
//
// Every read takes a Scope: what belongs to another owner or tenant is answered
// exactly like what does not exist.
//
// Package storetest is the contract as tests: a store exists when it passes.
package taskstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// Errors that callers branch on. Stores wrap them.
var (
	// ErrNotFound: no such task in the scope.
	ErrNotFound = errors.New("task not found")
	// ErrLeaseLost: the run is not (or no longer) held under this lease: it
	// ended, was canceled, or was taken up by somebody else. Nothing was written.
	ErrLeaseLost = errors.New("lease lost")
	// ErrForeign: the client-chosen task id belongs to another scope.
	ErrForeign = errors.New("task id belongs to another owner")
	// ErrIdempotency: the idempotency key was used for a different request.
	ErrIdempotency = errors.New("idempotency key used for a different request")
	// ErrRepeated: the idempotency key was used for this very request.
	ErrRepeated = errors.New("request was made before")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("store is closed")
)

// RunState says who has to act on a task.
type RunState int

// The states of a run.
//
//	Queued ──claim──► Running ──append──► Ended
//	   ▲                │  │
//	   │ (answer)       │  └──append──► Waiting (for the client)
//	   └────────────────┴─────────────────┘
const (
	// RunEnded: nobody; the task is terminal.
	RunEnded RunState = iota
	// RunQueued: a process with a free slot.
	RunQueued
	// RunRunning: the holder of the lease.
	RunRunning
	// RunWaiting: the client; the task is interrupted.
	RunWaiting
)

// Run is the execution side of a task. It is never shown to clients.
type Run struct {
	State RunState
	// Holder is the process that runs it, Until when its lease ends; of a RunWaiting
	// run Until is when its client has to have answered, if ever. Both are zero
	// otherwise.
	Holder string
	Until  time.Time
	// Fence grows with every change of hands; a write under an older fence is
	// refused with ErrLeaseLost.
	Fence int64
	// Attempt counts the runs of the present turn: 1 for the first, more after
	// crashes.
	Attempt int
	// Resume is what the skill saved to go on from, or nil.
	Resume json.RawMessage
}

// Lease is the right to write to one task as its runner.
type Lease struct {
	TaskID a2a.TaskID
	Fence  int64
	// Row is the store's own handle of the task, to save it a look-up; only the
	// store that filled it in reads it.
	Row int64
}

// Submission is a new task (or a new revision of an ended one).
type Submission struct {
	Scope a2a.Scope
	// Task is the snapshot after Events. The store only reads it, before Submit
	// returns.
	Task *a2a.Task
	// Events are the first events of the log: a Created event, and for a task
	// that is born ended also its status. Seq counts from 1.
	Events []a2a.Event
	// Run is how the task starts: RunQueued, RunRunning (born leased: Holder and
	// Until set, Fence and Attempt 1) or RunEnded.
	Run Run
	// Rerun allows the id to exist in the same scope (client-chosen ids): an
	// ended task gets the events as its next revision (renumbered by the store),
	// one that has not ended is left alone and returned with Existing set.
	// Without Rerun an existing id is returned with Existing set in any state.
	Rerun bool
	// Key is the idempotency key, or "". It is remembered together with
	// Fingerprint; the same key with the same fingerprint returns the task it
	// made (or changed) with Existing set; with another one, ErrIdempotency.
	Key         string
	Fingerprint string
	// Push, if not nil, is stored with the task as an active push config whose cursor
	// is before Events, so that it gets all of them. A new revision keeps the push
	// configs that the task has, and those get its events too.
	Push *a2a.PushConfig
}

// Submitted is the outcome of Submit.
type Submitted struct {
	// Task is the task as stored: the given snapshot, the new revision, or the
	// existing task.
	Task *a2a.Task
	// Existing says that nothing was written.
	Existing bool
	// Lease is valid if the task was stored with a RunRunning run.
	Lease Lease
}

// Append is a step of a run.
type Append struct {
	Lease Lease
	// Events follow the last stored one without a gap. It may be empty.
	Events []a2a.Event
	// Task is the snapshot after Events. The store reads it only before
	// AppendAsync returns.
	Task *a2a.Task
	// Snapshot asks to store Task; without it only the events are stored and
	// reads fold them onto the last stored snapshot. A change of state is always
	// stored with Snapshot set.
	Snapshot bool
	// Run is the run's state afterwards: RunRunning to go on, RunEnded,
	// RunWaiting, or RunQueued to hand it back.
	Run RunState
	// Until is the time by which the client has to answer, with RunWaiting; zero
	// waits for ever.
	Until time.Time
	// Resume replaces the run's resume data if it is not nil.
	Resume json.RawMessage
	// Keys are the idempotency keys of requests whose messages are among Events. They
	// are remembered with them; one that was used before stays what it was.
	Keys []Key
	// Discard deletes the task with its whole log instead (a skill that answered
	// with a message leaves no task). Events and Task are ignored.
	Discard bool
}

// Key is an idempotency key, with the fingerprint of the request it came with.
type Key struct{ Key, Fingerprint string }

// Change is what the decide function of Update wants written.
type Change struct {
	// Events follow the task's last one: Seq Task.Seq+1 and so on, already
	// checked by applying them to a clone.
	Events []a2a.Event
	// Task is the snapshot after Events.
	Task *a2a.Task
	// Run replaces the run. The store keeps the fence growing: it sets
	// Run.Fence to the old fence + 1.
	Run Run
	// Key is the idempotency key of the request, if any. A key that was used makes
	// the change fail: with ErrRepeated if the fingerprints are the same, else with
	// ErrIdempotency. Nothing is written then.
	Key Key
}

// Stored is a task with its run, as the engine sees it.
type Stored struct {
	Scope a2a.Scope
	Task  *a2a.Task
	Run   Run
	// Lease is the lease of a task just claimed or changed to RunRunning.
	Lease Lease
}

// Query selects tasks of one scope, newest status first; tasks whose status has
// the same time are ordered by id, descending.
type Query struct {
	ContextID   a2a.ContextID // "" for any
	State       a2a.State     // "" for any
	StatusAfter time.Time     // inclusive; zero for any
	// Limit is the largest number of tasks returned.
	Limit int
	// After continues behind this position; nil starts at the top. The position
	// need not exist any more.
	After *Position
}

// Position is a place in the order of a Query.
type Position struct {
	StatusAt time.Time
	ID       a2a.TaskID
}

// Page is a part of a Query's answer.
type Page struct {
	Tasks []*a2a.Task
	// Total counts the matches of the whole query, the page aside.
	Total int
	// More says that further tasks follow the last one here.
	More bool
}

// Store keeps tasks. It is safe for concurrent use.
type Store interface {
	Pushes

	// Submit stores a new task, its events, its run and its key. Errors:
	// ErrForeign, ErrIdempotency, ErrClosed.
	Submit(ctx context.Context, s Submission) (Submitted, error)

	// AppendAsync writes a step of a run and calls done exactly once: with nil
	// after the commit, with ErrLeaseLost (nothing was written), ErrClosed or
	// another error. Steps of one lease are written in the order of the calls;
	// after one fails, later ones of that lease fail too. done may be called
	// before AppendAsync returns and on any goroutine; it must not block, but it
	// may call AppendAsync.
	AppendAsync(a Append, done func(error))

	// Update reads a task with its run, asks decide what to do, and writes it,
	// all in one transaction; whoever held a lease on the task has lost it. An
	// error of decide is returned as it is and nothing is written. decide must be
	// pure and must not change what it is given; it may be called more than once.
	Update(ctx context.Context, scope a2a.Scope, id a2a.TaskID, decide func(Stored) (Change, error)) (Stored, error)

	// Keyed returns the task that a request with the key has made or changed. Errors:
	// ErrNotFound if there was none in the scope, ErrIdempotency if there was one with
	// another fingerprint.
	Keyed(ctx context.Context, scope a2a.Scope, k Key) (*a2a.Task, error)

	// Claim takes up a queued run, or a running one whose lease ended before
	// now, for holder until the given time; Attempt and Fence grow by one, but
	// Attempt stays if the run was queued. ErrNotFound if it is neither.
	Claim(ctx context.Context, id a2a.TaskID, holder string, now, until time.Time) (Stored, error)

	// Renew extends all leases of holder. One of which a step failed ends instead:
	// its run can write no more, so that somebody has to take it up.
	Renew(ctx context.Context, holder string, until time.Time) error

	// Open returns the runs somebody should act on, oldest first: queued ones,
	// running ones whose lease ended before now, and waiting ones whose client
	// should have answered before now. after is the Lease.Row of
	// the last one already seen (0 at first).
	Open(ctx context.Context, now time.Time, after int64, limit int) ([]Stored, error)

	// Task returns the snapshot of a task, all stored events folded in.
	Task(ctx context.Context, scope a2a.Scope, id a2a.TaskID) (*a2a.Task, error)

	// Tasks answers a query.
	Tasks(ctx context.Context, scope a2a.Scope, q Query) (Page, error)

	// Events returns up to limit events with Seq > after, in order; none (not an
	// error) when there are no later ones. ErrNotFound if there is no such task.
	Events(ctx context.Context, scope a2a.Scope, id a2a.TaskID, after int64, limit int) ([]a2a.Event, error)

	// Prune deletes up to limit ended tasks whose status is older than before,
	// with their logs, keys and push configs, and returns how many it deleted. It
	// leaves those that an active push config has not caught up with.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)

	// Secret returns 32 random bytes that are made once and kept with the data,
	// for signing page tokens.
	Secret() []byte

	// Ping reports whether the store can serve.
	Ping(ctx context.Context) error

	// Close waits for writes under way and releases everything. Later calls
	// return ErrClosed.
	Close() error
}
