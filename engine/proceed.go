package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// proceed gives a message to the task it names (A2A 1.0 §3.4): an answer to a
// paused task starts its next turn; ended and busy tasks take none. On an error
// the task is as it was.
func (e *Engine) proceed(ctx context.Context, caller a2a.Caller, req *a2a.SendRequest, watch int) (acc accepted, err error) {
	scope := caller.Scope
	before, err := e.store.Task(ctx, scope, req.TaskID)
	if err != nil {
		return acc, storeError(err, req.TaskID)
	}
	if err := mayProceed(before, req); err != nil {
		return acc, err
	}
	l := e.lanes[before.Skill]
	if l == nil {
		return acc, &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: fmt.Sprintf("Skill %s of this task is no longer offered.", before.Skill)}
	}
	if err := checkInputModes(l.entry, req.Message.Parts); err != nil {
		return acc, err
	}
	input, err := l.entry.Mapper.In(req.Message)
	if err != nil {
		// The task stays paused, so that a better answer can follow.
		return acc, a2a.InvalidParams("message", a2a.AsError(err).Message)
	}
	if req.Message.ID == "" {
		req.Message.ID = newID()
	}
	granted := l.admit(caller.Scope)
	if granted == refused {
		return acc, queueFull(l)
	}
	if watch >= 0 {
		acc.sub = e.hub.subscribe(req.TaskID, watch)
		defer func() {
			if err != nil {
				acc.sub.close()
			}
		}()
	}
	message := req.Message
	state := taskstore.RunQueued
	if granted == started {
		state = taskstore.RunRunning
	}
	s, err := e.update(context.WithoutCancel(ctx), scope, req.TaskID, func(now taskstore.Stored) (taskstore.Change, error) {
		if err := mayProceed(now.Task, req); err != nil {
			return taskstore.Change{}, err
		}
		if state == taskstore.RunRunning {
			return change(now, e.leased(now.Run), a2a.Event{Message: &message}, a2a.StatusEvent(a2a.StateWorking, nil))
		}
		run := taskstore.Run{State: state, Attempt: 1, Resume: now.Run.Resume}
		return change(now, run, a2a.Event{Message: &message}, a2a.StatusEvent(a2a.StateSubmitted, nil))
	})
	if err != nil {
		e.giveBack(l, scope, state)
		var coded *a2a.Error
		if errors.As(err, &coded) {
			return acc, coded
		}
		return acc, storeError(err, req.TaskID)
	}
	r := &run{lane: l, task: s.Task, message: message, input: input, caller: caller, attempt: 1, resume: s.Run.Resume}
	e.launch(r, state, s.Lease)
	acc.task = s.Task
	return acc, nil
}

// mayProceed says why a task takes no message, or nil.
func mayProceed(t *a2a.Task, req *a2a.SendRequest) error {
	switch state := t.Status.State; {
	case req.ContextID != "" && req.ContextID != t.ContextID:
		return a2a.InvalidParams("message.contextId", "is not the context of the task; leave it out or send the task's own")
	case state.Terminal():
		return &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: fmt.Sprintf("The task has ended (%s) and takes no more messages; start a new one in its context.", state),
			Details: map[string]string{"taskId": string(t.ID)},
		}
	case !state.Interrupted():
		return &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: fmt.Sprintf("The task is %s and does not wait for a message; send it when the task asks for input.", state),
			Details: map[string]string{"taskId": string(t.ID)},
		}
	}
	return nil
}
