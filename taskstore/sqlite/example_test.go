package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/sqlite"
)

// A task's life in the store: it is born leased, its run appends what it did,
// and whoever asks reads the fold.
func Example() {
	dir, err := os.MkdirTemp("", "tasks")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "tasks.db")})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	now := a2a.Now()
	owner := a2a.Scope{Owner: "alice"}
	events := []a2a.Event{{Seq: 1, At: now, Created: &a2a.Task{
		ID: "task-1", ContextID: "talk-1", Status: a2a.Status{State: a2a.StateSubmitted},
	}}}
	task := new(a2a.Task)
	if err := task.Fold(events); err != nil {
		panic(err)
	}
	run := taskstore.Run{State: taskstore.RunRunning, Holder: "this process", Until: now.Add(time.Minute), Fence: 1, Attempt: 1}
	submitted, err := store.Submit(ctx, taskstore.Submission{Scope: owner, Task: task, Events: events, Run: run})
	if err != nil {
		panic(err)
	}

	more := []a2a.Event{a2a.StatusEvent(a2a.StateWorking, nil), a2a.StatusEvent(a2a.StateCompleted, a2a.AgentText("m1", "done"))}
	for i := range more {
		more[i].Seq, more[i].At = task.Seq+int64(i)+1, now
	}
	if err := task.Fold(more); err != nil {
		panic(err)
	}
	written := make(chan error, 1)
	step := taskstore.Append{Lease: submitted.Lease, Events: more, Task: task, Snapshot: true, Run: taskstore.RunEnded}
	store.AppendAsync(step, func(err error) { written <- err })
	if err := <-written; err != nil {
		panic(err)
	}

	got, err := store.Task(ctx, owner, "task-1")
	if err != nil {
		panic(err)
	}
	fmt.Println(got.Status.State, got.Status.Message.Text(), got.Seq)
	// Output: completed done 3
}
