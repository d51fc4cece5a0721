package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
)

// proceed gives a message to the task it names (A2A 1.0 §3.4). An answer to a
// paused task starts its next turn; a task that is at work keeps the message for
// its next pause, if its skill wants that; an ended one takes none. On an error the
// task is as it was.
func (e *Engine) proceed(ctx context.Context, caller a2a.Caller, req *a2a.SendRequest, watch int) (accepted, error) {
	if req.Message.ID == "" {
		req.Message.ID = newID()
	}
	if req.IdempotencyKey != "" {
		defer e.keys.enter(caller.Scope, req.IdempotencyKey)()
		if acc, found, err := e.repeated(ctx, caller.Scope, req, watch); found || err != nil {
			return acc, err
		}
	}
	// A task may move on between a look at it and the write. That is seen in the
	// write, and the message then finds it in its new state.
	const tries = 4
	var err error
	for range tries {
		var acc accepted
		acc, err = e.deliver(ctx, caller, req, watch)
		switch {
		case errors.Is(err, taskstore.ErrRepeated): // by another process, just now
			return e.join(ctx, caller.Scope, req.TaskID, watch)
		case errors.Is(err, taskstore.ErrIdempotency):
			return accepted{}, idempotencyConflict()
		case !errors.Is(err, errMoved):
			return acc, err
		}
	}
	return accepted{}, &a2a.Error{Code: a2a.CodeUnavailable, Message: "The task is changing too fast; try again.", RetryAfter: time.Second, Err: err}
}

// deliver is one try of proceed.
func (e *Engine) deliver(ctx context.Context, caller a2a.Caller, req *a2a.SendRequest, watch int) (accepted, error) {
	before, err := e.store.Task(ctx, caller.Scope, req.TaskID)
	if err != nil {
		return accepted{}, storeError(err, req.TaskID)
	}
	if err := fits(before, req); err != nil {
		return accepted{}, err
	}
	l := e.lanes[before.Skill]
	if l == nil || !e.skills.For(caller).Has(l.entry) {
		return accepted{}, &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: fmt.Sprintf("Skill %s of this task is no longer offered.", before.Skill)}
	}
	paused := before.Status.State.Interrupted()
	if !paused && l.entry.Busy != skills.BusyQueue {
		return accepted{}, &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: fmt.Sprintf("The task is %s and does not wait for a message; send it when the task asks for input.", before.Status.State),
			Details: map[string]string{"taskId": string(before.ID)},
		}
	}
	if err := checkInputModes(l.entry, req.Message.Parts); err != nil {
		return accepted{}, err
	}
	input, err := l.entry.Mapper.In(req.Message)
	if err != nil {
		// The task stays as it is, so that a better message can follow.
		return accepted{}, a2a.InvalidParams("message", a2a.AsError(err).Message)
	}
	if req.Push != nil {
		q := a2a.PushRequest{TaskID: before.ID, Config: *req.Push}
		if _, err := e.SetPush(ctx, caller, &q); err != nil {
			return accepted{}, err
		}
		req.Push = nil // once, whatever becomes of the message
	}
	if paused {
		check := func(now *a2a.Task, _ taskstore.Run) error {
			if err := fits(now, req); err != nil {
				return err
			}
			if !now.Status.State.Interrupted() {
				return errMoved
			}
			return nil
		}
		return e.answer(ctx, turn{caller: caller, lane: l, before: before, message: req.Message, key: keyOf(req), input: input, check: check}, watch)
	}
	return e.keep(ctx, caller.Scope, before, req, watch)
}

// fits says why a task can take no message at all, or nil.
func fits(t *a2a.Task, req *a2a.SendRequest) error {
	switch state := t.Status.State; {
	case req.ContextID != "" && req.ContextID != t.ContextID:
		return a2a.InvalidParams("message.contextId", "is not the context of the task; leave it out or send the task's own")
	case state.Terminal():
		return &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: fmt.Sprintf("The task has ended (%s) and takes no more messages; start a new one in its context.", state),
			Details: map[string]string{"taskId": string(t.ID)},
		}
	}
	return nil
}

// turn is what the next turn of a paused task starts with.
type turn struct {
	caller  a2a.Caller
	lane    *lane
	before  *a2a.Task // as it was looked at
	message a2a.Message
	key     taskstore.Key // of the request, if it had one
	input   mappers.Input
	// check looks at the task again in the transaction.
	check func(*a2a.Task, taskstore.Run) error
}

// answer starts or queues the next turn of a paused task.
func (e *Engine) answer(ctx context.Context, t turn, watch int) (acc accepted, err error) {
	scope, id, l := t.caller.Scope, t.before.ID, t.lane
	granted := l.admit(scope, t.before.ContextID)
	if granted == refused {
		return acc, queueFull(l)
	}
	if watch >= 0 {
		sub := e.hub.subscribe(id, watch)
		acc.sub = sub
		defer func() {
			if err != nil {
				sub.close()
			}
		}()
	}
	state := taskstore.RunQueued
	if granted == started {
		state = taskstore.RunRunning
	}
	s, err := e.update(context.WithoutCancel(ctx), scope, id, func(now taskstore.Stored) (taskstore.Change, error) {
		if err := t.check(now.Task, now.Run); err != nil {
			return taskstore.Change{}, err
		}
		run, next := e.leased(now.Run), a2a.StateWorking
		if state == taskstore.RunQueued {
			run, next = taskstore.Run{State: state, Attempt: 1, Resume: now.Run.Resume}, a2a.StateSubmitted
		}
		c, err := change(now, run, a2a.Event{Message: &t.message}, a2a.StatusEvent(next, nil))
		c.Key = t.key
		return c, err
	})
	if err != nil {
		e.giveBack(l, scope, t.before.ContextID, state)
		return acc, updateError(err, id)
	}
	r := &run{lane: l, task: s.Task, message: t.message, input: t.input, caller: t.caller, attempt: 1, resume: s.Run.Resume}
	e.launch(r, state, s.Lease)
	acc.task = s.Task
	return acc, nil
}

// keep stores a message for a task that waits for a slot or is at work.
func (e *Engine) keep(ctx context.Context, scope a2a.Scope, before *a2a.Task, req *a2a.SendRequest, watch int) (acc accepted, err error) {
	if watch >= 0 {
		sub := e.hub.subscribe(before.ID, watch)
		acc.sub = sub
		defer func() {
			if err != nil {
				sub.close()
			}
		}()
	}
	if r := e.running(before.ID); r != nil {
		acc.task, err = r.journal.deliver(req.Message, keyOf(req))
		if errors.Is(err, errEnded) || errors.Is(err, skills.ErrLeaseLost) {
			err = errMoved
		}
		return acc, err
	}
	s, err := e.update(context.WithoutCancel(ctx), scope, before.ID, func(now taskstore.Stored) (taskstore.Change, error) {
		if now.Run.State != taskstore.RunQueued {
			return taskstore.Change{}, errMoved
		}
		c, err := change(now, now.Run, a2a.Event{Message: &req.Message})
		c.Key = keyOf(req)
		return c, err
	})
	if err != nil {
		return acc, updateError(err, before.ID)
	}
	acc.task = s.Task
	return acc, nil
}

// updateError turns an error of update into one for clients; what proceed acts on
// stays.
func updateError(err error, id a2a.TaskID) error {
	var coded *a2a.Error
	if errors.As(err, &coded) || errors.Is(err, errMoved) || errors.Is(err, taskstore.ErrRepeated) || errors.Is(err, taskstore.ErrIdempotency) {
		return err
	}
	return storeError(err, id)
}

// expire ends a pause that nobody answered in time: with the skill's default
// answer, or by failing the task. It does nothing if the pause is over.
func (e *Engine) expire(ctx context.Context, scope a2a.Scope, id a2a.TaskID) {
	before, err := e.store.Task(ctx, scope, id)
	if err != nil {
		return // gone
	}
	late := func(now *a2a.Task, r taskstore.Run) error {
		if r.State != taskstore.RunWaiting || r.Until.IsZero() || time.Now().Before(r.Until) {
			return errMoved
		}
		return nil
	}
	l := e.lanes[before.Skill]
	var text string
	if l != nil {
		text = l.entry.DefaultAnswer
	}
	if text == "" {
		_, err = e.update(ctx, scope, id, func(now taskstore.Stored) (taskstore.Change, error) {
			if err := late(now.Task, now.Run); err != nil {
				return taskstore.Change{}, err
			}
			waited := now.Run.Until.Sub(now.Task.Status.At)
			ev := a2a.StatusEvent(a2a.StateFailed, a2a.AgentText(newID(), "nobody answered within "+waited.String()))
			ev.Status.Code = a2a.CodeTimeout
			return change(now, taskstore.Run{State: taskstore.RunEnded}, ev)
		})
	} else {
		m := a2a.Message{
			ID: newID(), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)},
			Metadata: []byte(`{"defaultAnswer":true}`),
		}
		var input mappers.Input
		if input, err = l.entry.Mapper.In(m); err == nil {
			caller := a2a.Caller{Scope: scope, Name: scope.Owner}
			_, err = e.answer(ctx, turn{caller: caller, lane: l, before: before, message: m, input: input, check: late}, noWatch)
		}
	}
	if err != nil && !errors.Is(err, errMoved) && !isNotFound(err) && ctx.Err() == nil {
		e.log.Error().Err(err).Str("task_id", string(id)).Msg("end unanswered pause")
	}
}
