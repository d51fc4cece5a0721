package push

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/guard"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
	"github.com/skillyard/skillyard/wire"
)

// testStore is a store with an outbox. The suite runs against any.
type testStore interface {
	taskstore.Store
	taskstore.Pushes
}

func openMemory(t testing.TB) testStore {
	s := memory.New(memory.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var caller = a2a.Scope{Tenant: "t", Owner: "o"}

// work is a task that the tests drive.
type work struct {
	t     testing.TB
	store testStore
	task  *a2a.Task
	lease taskstore.Lease
}

func newWork(t testing.TB, store testStore, id a2a.TaskID) *work {
	t.Helper()
	at := a2a.Now()
	task := &a2a.Task{
		ID: id, ContextID: "c", Skill: "echo", Status: a2a.Status{State: a2a.StateSubmitted, At: at},
		History: []a2a.Message{{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")}}}, CreatedAt: at, UpdatedAt: at, Seq: 1,
	}
	sub, err := store.Submit(t.Context(), taskstore.Submission{
		Scope: caller, Task: task, Events: []a2a.Event{{Seq: 1, At: at, Created: task}},
		Run: taskstore.Run{State: taskstore.RunRunning, Holder: "test", Until: at.Add(24 * time.Hour), Fence: 1, Attempt: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &work{t: t, store: store, task: task.Clone(), lease: sub.Lease}
}

// emit appends events to the task.
func (w *work) emit(events ...a2a.Event) {
	w.t.Helper()
	for i := range events {
		events[i].Seq, events[i].At = w.task.Seq+1, a2a.Now()
		if events[i].Status != nil {
			events[i].Status.At = events[i].At
		}
		if err := w.task.Apply(events[i]); err != nil {
			w.t.Fatal(err)
		}
	}
	run := taskstore.RunRunning
	if w.task.Status.State.Terminal() {
		run = taskstore.RunEnded
	}
	done := make(chan error, 1)
	w.store.AppendAsync(taskstore.Append{Lease: w.lease, Events: events, Task: w.task, Snapshot: true, Run: run}, func(err error) { done <- err })
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
}

func status(s a2a.State) a2a.Event { return a2a.StatusEvent(s, nil) }

func chunk(text string, more bool) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactChunk{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart(text)}}, Append: more}}
}

// push registers a webhook of the task.
func (w *work) push(c a2a.PushConfig) {
	w.t.Helper()
	c.TaskID = w.task.ID
	if c.ID == "" {
		c.ID = "p"
	}
	if c.Dialect == "" {
		c.Dialect = wire.NameV1
	}
	if err := w.store.PutPush(w.t.Context(), caller, c, 0, 100); err != nil {
		w.t.Fatal(err)
	}
}

// config returns the state of a webhook of the task.
func (w *work) config(id string) taskstore.PushJob {
	w.t.Helper()
	jobs, err := w.store.Pushing(w.t.Context(), 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, j := range jobs {
		if j.Config.TaskID == w.task.ID && j.Config.ID == id {
			return j
		}
	}
	return taskstore.PushJob{State: -1}
}

// letters returns what was given up, oldest first.
func (w *work) letters() []taskstore.DeadPush {
	w.t.Helper()
	list, err := w.store.DeadPushes(w.t.Context(), w.task.ID, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func itoa(n int) string { return strconv.Itoa(n) }

func newGuard(t testing.TB, o guard.Options) *guard.Guard {
	t.Helper()
	g, err := guard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// anyLoopback lets the tests' own receivers be called.
var anyLoopback = guard.Options{AllowPrivateNetworks: true, AllowHTTP: true}
