package pending_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client/pending"
)

// A task is sent by one process and collected by another.
func Example() {
	dir, err := os.MkdirTemp("", "pending")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, path := context.Background(), filepath.Join(dir, "pending.db")

	sender, err := pending.Open(ctx, pending.Options{Path: path})
	if err != nil {
		panic(err)
	}
	e, err := sender.Begin(ctx, pending.Entry{AgentURL: "https://agent.example/a2a", Prompt: "Sum up the minutes"})
	if err != nil {
		panic(err)
	}
	// Here the message goes to the agent, which answers with a task.
	answer := &a2a.Task{ID: "task-1", Status: a2a.Status{State: a2a.StateSubmitted}}
	if _, err := sender.Accepted(ctx, e.Ref, answer, nil); err != nil {
		panic(err)
	}
	if err := sender.Close(); err != nil {
		panic(err)
	}

	collector, err := pending.Open(ctx, pending.Options{Path: path})
	if err != nil {
		panic(err)
	}
	defer collector.Close()
	e, err = collector.Newest(ctx, pending.Filter{AgentURL: "https://agent.example/a2a"})
	if err != nil {
		panic(err)
	}
	fmt.Println(e.TaskID, e.State, "-", e.Prompt)
	// Here the agent is asked for the task.
	done := &a2a.Task{ID: e.TaskID, Status: a2a.Status{State: a2a.StateCompleted, Message: a2a.AgentText("m-1", "All agreed.")}}
	if e, err = collector.Polled(ctx, e.Ref, done); err != nil {
		panic(err)
	}
	fmt.Println(e.TaskID, e.State, "-", e.Answer.Status.Message.Text())
	// Output:
	// task-1 submitted - Sum up the minutes
	// task-1 completed - All agreed.
}
