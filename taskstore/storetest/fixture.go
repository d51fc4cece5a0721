package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// start is the time at which the suite's tasks are made. Fixed, so that a
// failure reads the same twice.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var (
	alice = a2a.Scope{Tenant: "acme", Owner: "alice"}
	bob   = a2a.Scope{Tenant: "acme", Owner: "bob"}
)

// patience is how long the suite waits for a call of done. It only ends a test
// that has failed already.
const patience = 30 * time.Second

// fixture is a store under test. Its methods may be called by several
// goroutines if t is not failed by them (FailNow belongs to the test's own).
type fixture struct {
	testing.TB
	store taskstore.Store
	ids   atomic.Int64
}

func newFixture(t testing.TB, s taskstore.Store) *fixture {
	t.Helper()
	t.Cleanup(func() { s.Close() }) // some cases close it themselves
	return &fixture{TB: t, store: s}
}

// actor is a task with the lease on it: what the engine holds during a run.
type actor struct {
	f     *fixture
	scope a2a.Scope
	task  *a2a.Task
	lease taskstore.Lease
}

// newID returns an id not used before in this test.
func (f *fixture) newID() a2a.TaskID {
	return a2a.TaskID(fmt.Sprintf("task-%06d", f.ids.Add(1)))
}

// created returns the first event of a task that was made at the given time.
func created(id a2a.TaskID, at time.Time) a2a.Event {
	return a2a.Event{Seq: 1, At: at, Created: &a2a.Task{
		ID:        id,
		ContextID: "context-1",
		Skill:     "echo",
		Dialect:   "1.0",
		Status:    a2a.Status{State: a2a.StateSubmitted},
		History:   []a2a.Message{{ID: "m-" + string(id), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hello")}}},
	}}
}

// fold returns the task that the events make.
func (f *fixture) fold(events ...a2a.Event) *a2a.Task {
	f.Helper()
	task := &a2a.Task{}
	if err := task.Fold(events); err != nil {
		f.Fatalf("fold events: %v", err)
	}
	return task
}

// submission returns a submission of the events, running from the start.
func (f *fixture) submission(scope a2a.Scope, events ...a2a.Event) taskstore.Submission {
	f.Helper()
	return taskstore.Submission{Scope: scope, Task: f.fold(events...), Events: events, Run: running()}
}

func running() taskstore.Run {
	return taskstore.Run{State: taskstore.RunRunning, Holder: "here", Until: start.Add(time.Hour), Fence: 1, Attempt: 1}
}

func queued() taskstore.Run { return taskstore.Run{State: taskstore.RunQueued, Attempt: 1} }

func waiting() taskstore.Run { return taskstore.Run{State: taskstore.RunWaiting, Attempt: 1} }

func ended() taskstore.Run { return taskstore.Run{State: taskstore.RunEnded, Attempt: 1} }

// submit stores sub and fails the test unless it is new.
func (f *fixture) submit(sub taskstore.Submission) *actor {
	f.Helper()
	got, err := f.store.Submit(context.Background(), sub)
	if err != nil {
		f.Fatalf("Submit(%s): %v", sub.Task.ID, err)
	}
	if got.Existing {
		f.Fatalf("Submit(%s): got an existing task, want a new one", sub.Task.ID)
	}
	return &actor{f: f, scope: sub.Scope, task: got.Task.Clone(), lease: got.Lease}
}

// begin stores a new running task of alice.
func (f *fixture) begin() *actor {
	f.Helper()
	return f.submit(f.submission(alice, created(f.newID(), start)))
}

// beginEnded stores a new task of alice and completes it at the given time.
func (f *fixture) beginEnded(at time.Time) *actor {
	f.Helper()
	a := f.submit(f.submission(alice, created(f.newID(), at)))
	a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
	return a
}

func status(s a2a.State) a2a.Event {
	return a2a.StatusEvent(s, a2a.AgentText("m-"+string(s), "now "+string(s)))
}

func artifact(id, text string) a2a.Event {
	return a2a.ArtifactEvent(a2a.Artifact{ID: id, Parts: []a2a.Part{a2a.TextPart(text)}})
}

func chunk(id, text string) a2a.Event {
	e := artifact(id, text)
	e.Artifact.Append, e.Artifact.Last = true, false
	return e
}

// next numbers and dates the events, folds them into the actor's task and
// returns a step that writes them, snapshot included.
func (a *actor) next(run taskstore.RunState, events ...a2a.Event) taskstore.Append {
	a.f.Helper()
	task := a.task.Clone()
	events = stamp(task, events)
	if err := task.Fold(events); err != nil {
		a.f.Errorf("fold events of %s: %v", a.task.ID, err)
	}
	a.task = task
	return taskstore.Append{Lease: a.lease, Events: events, Task: task, Snapshot: true, Run: run}
}

// stamp numbers and dates events that follow the task, a millisecond apart.
func stamp(task *a2a.Task, events []a2a.Event) []a2a.Event {
	events = append([]a2a.Event(nil), events...)
	for i := range events {
		events[i].Seq = task.Seq + int64(i) + 1
		events[i].At = task.UpdatedAt.Add(time.Duration(i+1) * time.Millisecond)
	}
	return events
}

// step writes the events with a snapshot and waits for the outcome.
func (a *actor) step(run taskstore.RunState, events ...a2a.Event) error {
	a.f.Helper()
	return a.f.append(a.next(run, events...))
}

// stepLog writes the events without a snapshot and waits for the outcome.
func (a *actor) stepLog(events ...a2a.Event) error {
	a.f.Helper()
	ap := a.next(taskstore.RunRunning, events...)
	ap.Task, ap.Snapshot = nil, false
	return a.f.append(ap)
}

func (a *actor) must(err error) {
	a.f.Helper()
	if err != nil {
		a.f.Fatalf("append to %s: %v", a.task.ID, err)
	}
}

// append writes a step and waits for its outcome.
func (f *fixture) append(a taskstore.Append) error {
	f.Helper()
	done := make(chan error, 1)
	f.store.AppendAsync(a, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		f.Error("done was not called")
		return context.DeadlineExceeded
	}
}

// read returns the stored task.
func (f *fixture) read(scope a2a.Scope, id a2a.TaskID) *a2a.Task {
	f.Helper()
	got, err := f.store.Task(context.Background(), scope, id)
	if err != nil {
		f.Fatalf("Task(%q): %v", short(id), err)
	}
	return got
}

// log returns the whole log of a task, read in small pieces.
func (f *fixture) log(scope a2a.Scope, id a2a.TaskID) []a2a.Event {
	f.Helper()
	var all []a2a.Event
	for after := int64(0); ; {
		piece, err := f.store.Events(context.Background(), scope, id, after, 3)
		if err != nil {
			f.Fatalf("Events(%q, after %d): %v", short(id), after, err)
		}
		if len(piece) == 0 {
			return all
		}
		if piece[0].Seq != after+1 || len(piece) > 3 {
			f.Fatalf("Events(%q, after %d, limit 3): got %d events, the first with seq %d", short(id), after, len(piece), piece[0].Seq)
		}
		all = append(all, piece...)
		after = piece[len(piece)-1].Seq
	}
}

// check fails the test unless the store has the actor's task, with a gapless
// log that folds to it.
func (a *actor) check() {
	a.f.Helper()
	a.f.checkStored(a.scope, a.task)
}

func (f *fixture) checkStored(scope a2a.Scope, want *a2a.Task) {
	f.Helper()
	f.same("snapshot", f.read(scope, want.ID), want)
	f.same("fold of the log", f.fold(f.log(scope, want.ID)...), want)
}

// same fails the test with a diff if got and want differ. An absent and an
// empty list are one.
func (f *fixture) same(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// stored reads a task with its run, by an Update that changes nothing.
func (f *fixture) stored(scope a2a.Scope, id a2a.TaskID) taskstore.Stored {
	f.Helper()
	var got taskstore.Stored
	_, err := f.store.Update(context.Background(), scope, id, func(s taskstore.Stored) (taskstore.Change, error) {
		got = s
		return taskstore.Change{}, errLook
	})
	if err != errLook {
		f.Fatalf("Update(%q): got error %v, want the one of decide", short(id), err)
	}
	return got
}

// errLook is the error of a decide that only looks.
var errLook = fmt.Errorf("only looking")

// open returns the rows and ids of the open runs, all pages.
func (f *fixture) open(now time.Time) []a2a.TaskID {
	f.Helper()
	var ids []a2a.TaskID
	for after := int64(0); ; {
		page, err := f.store.Open(context.Background(), now, after, 2)
		if err != nil {
			f.Fatalf("Open: %v", err)
		}
		if len(page) == 0 {
			return ids
		}
		for _, st := range page {
			if st.Lease.Row <= after {
				f.Fatalf("Open(after %d): got row %d", after, st.Lease.Row)
			}
			ids = append(ids, st.Task.ID)
			after = st.Lease.Row
		}
	}
}

// short keeps failures about long ids readable.
func short(id a2a.TaskID) string {
	if len(id) > 40 {
		return string(id[:40]) + "…"
	}
	return string(id)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
