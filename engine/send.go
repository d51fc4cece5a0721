package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Send accepts a message: it starts a task, or continues the one that req.TaskID
// names, and answers when req.Blocking and req.MaxWait say so. mount is the skill
// of the path the request was sent to, or "".
//
// Once Send has stored the task, nothing the client does to its connection has
// any effect on it. Errors are *a2a.Error.
func (e *Engine) Send(ctx context.Context, caller a2a.Caller, mount a2a.SkillID, req *a2a.SendRequest) (*a2a.SendResult, error) {
	watch := noWatch
	if req.Blocking {
		watch = watchOutcome
	}
	acc, err := e.accept(ctx, caller, mount, req, watch)
	if err != nil {
		return nil, err
	}
	if acc.sub == nil {
		return e.shown(caller.Scope, acc.task), nil
	}
	defer acc.sub.close()
	return e.wait(ctx, req, caller.Scope, acc)
}

// Stream accepts a message like Send and returns the task as accepted, with a
// reader of the events that follow; the caller must Close it. The reader is nil
// if nothing can follow.
func (e *Engine) Stream(ctx context.Context, caller a2a.Caller, mount a2a.SkillID, req *a2a.SendRequest) (*a2a.Task, *Reader, error) {
	acc, err := e.accept(ctx, caller, mount, req, readBuffer)
	if err != nil {
		return nil, nil, err
	}
	t := e.placed(caller.Scope, acc.task)
	if acc.sub == nil {
		return t, nil, nil
	}
	return t, e.reader(caller.Scope, acc.task, acc.sub), nil
}

// How a new task is watched: not at all, for its outcome, or (a positive number)
// for so many buffered events.
const (
	noWatch      = -1
	watchOutcome = 0
)

// accepted is a message that is stored.
type accepted struct {
	// task is the task as stored.
	task *a2a.Task
	// sub watches it since before anything could happen to it. It is nil if nobody
	// wanted to watch, or if there is nothing to wait for.
	sub *subscription
	// answer may be nil; see replySlot.
	answer *replySlot
}

// accept stores a message and starts or queues its run.
func (e *Engine) accept(ctx context.Context, caller a2a.Caller, mount a2a.SkillID, req *a2a.SendRequest, watch int) (accepted, error) {
	if e.isDraining() {
		return accepted{}, stopping()
	}
	active := e.opts.Extensions.Active(req.Extensions)
	if err := e.opts.Extensions.Check(active); err != nil {
		return accepted{}, err
	}
	req.Message.Active = active
	switch {
	case req.TaskID != "":
		return e.proceed(ctx, caller, req, watch)
	case req.Continues && req.NewTaskID != "":
		t, err := e.store.Task(ctx, caller.Scope, req.NewTaskID)
		if err == nil && t.Status.State.Interrupted() {
			req.TaskID, req.ContextID = t.ID, ""
			return e.proceed(ctx, caller, req, watch)
		}
	}
	choice := e.skills.For(caller).Select(req, mount)
	s, input, err := e.compose(caller, choice, req)
	if err != nil {
		return accepted{}, err
	}
	if req.Push != nil {
		if s.Push, err = e.preparePush(*req.Push, "configuration.pushNotificationConfig.url"); err != nil {
			return accepted{}, err
		}
		s.Push.TaskID = s.Task.ID
	}
	if s.Run.State == taskstore.RunEnded {
		return e.submit(ctx, s, nil, watch)
	}
	l := e.lanes[choice.Entry.Info.ID]
	granted := l.admit(caller.Scope, s.Task.ContextID)
	switch granted {
	case refused:
		return accepted{}, queueFull(l)
	case started:
		s.Run = e.leased(taskstore.Run{})
	case queued:
		s.Run = taskstore.Run{State: taskstore.RunQueued, Attempt: 1}
	}
	r := &run{lane: l, message: req.Message, input: input, caller: caller, attempt: 1}
	return e.submit(ctx, s, r, watch)
}

// submit stores a new task and starts or queues its run r (nil for a task that is
// born ended). What the lane granted is given back if nothing came of it.
func (e *Engine) submit(ctx context.Context, s taskstore.Submission, r *run, watch int) (acc accepted, err error) {
	if watch >= 0 && r != nil {
		sub := e.hub.subscribe(s.Task.ID, watch) // before the run can end
		acc.sub = sub
		defer func() {
			if err != nil || acc.sub != sub {
				sub.close()
			}
		}()
	}
	if s.Push != nil {
		e.pushed.add(s.Task.ID) // before it is stored, so that no commit goes unseen
	}
	// The client may leave at any time; what it sent is stored all the same.
	out, err := e.store.Submit(context.WithoutCancel(ctx), s)
	if err != nil && s.Push != nil {
		e.pushed.remove(s.Task.ID)
	}
	if r != nil && (err != nil || out.Existing) {
		e.giveBack(r.lane, s.Scope, s.Task.ContextID, s.Run.State)
	}
	switch {
	case errors.Is(err, taskstore.ErrForeign):
		return acc, taskIDConflict()
	case errors.Is(err, taskstore.ErrIdempotency):
		return acc, idempotencyConflict()
	case err != nil:
		return acc, storeError(err, s.Task.ID)
	case out.Existing && out.Task.Fingerprint != s.Fingerprint:
		return acc, taskIDConflict()
	case out.Existing:
		return e.join(ctx, s.Scope, out.Task.ID, watch)
	}
	if e.opts.Push != nil && (s.Push != nil || out.Task.Revision > 0) {
		// A task that runs again has the webhooks of its earlier runs.
		e.pushed.add(s.Task.ID)
		e.opts.Push.Notify(s.Task.ID)
	}
	acc.task = out.Task
	if r != nil {
		r.task = out.Task
		if watch == watchOutcome {
			acc.answer = new(replySlot)
			r.answer = acc.answer
		}
		e.launch(r, s.Run.State, out.Lease)
	}
	return acc, nil
}

// join watches a task that was there already.
func (e *Engine) join(ctx context.Context, scope a2a.Scope, id a2a.TaskID, watch int) (acc accepted, err error) {
	if watch >= 0 {
		acc.sub = e.hub.subscribe(id, watch)
	}
	// Read after the watch began, so that nothing falls between the two.
	acc.task, err = e.store.Task(ctx, scope, id)
	if acc.sub != nil && (err != nil || acc.task.Status.State.Settled()) {
		acc.sub.close()
		acc.sub = nil
	}
	if err != nil {
		return acc, storeError(err, id)
	}
	return acc, nil
}

// launch starts or queues a run whose task is stored.
func (e *Engine) launch(r *run, state taskstore.RunState, lease taskstore.Lease) {
	if state == taskstore.RunQueued {
		r.lane.enqueue(r.caller.Scope, r.task)
		e.pump(r.lane)
		return
	}
	e.start(r, lease)
}

// giveBack returns what the lane granted for a run that will not be.
func (e *Engine) giveBack(l *lane, scope a2a.Scope, context a2a.ContextID, state taskstore.RunState) {
	if state == taskstore.RunQueued {
		l.cancelPlace(scope)
		return
	}
	l.finish(scope, context, 0)
	e.pump(l)
}

// wait blocks until an accepted task settles, the cap is reached, the server
// drains or the client leaves, and answers with the task as it then is.
func (e *Engine) wait(ctx context.Context, req *a2a.SendRequest, scope a2a.Scope, acc accepted) (*a2a.SendResult, error) {
	var limit <-chan time.Time
	if req.MaxWait > 0 {
		timer := time.NewTimer(req.MaxWait)
		defer timer.Stop()
		limit = timer.C
	}
	for {
		if res, err := e.settledResult(scope, acc); res != nil || err != nil {
			return res, err
		}
		select {
		case <-acc.sub.wake:
			continue
		case <-limit:
		case <-e.released:
		case <-ctx.Done():
			acc.answer.take()
			return nil, &a2a.Error{Code: a2a.CodeUnavailable, Message: "client is gone", Err: context.Cause(ctx)}
		}
		if acc.answer == nil || acc.answer.take() {
			break
		}
		// The skill is just answering with a message, which only we can deliver.
		limit, acc.answer = nil, nil
	}
	t, err := e.store.Task(ctx, scope, acc.task.ID)
	if err != nil {
		return nil, storeError(err, acc.task.ID)
	}
	return e.shown(scope, t), nil
}

// settledResult is the answer if the accepted task has settled since, else
// nothing. Notices of an earlier turn may still come in: they do not
// count.
func (e *Engine) settledResult(scope a2a.Scope, acc accepted) (*a2a.SendResult, error) {
	switch n := acc.sub.settled(); {
	case n == nil:
		return nil, nil
	case n.reply != nil:
		return &a2a.SendResult{Message: n.reply, ContextID: acc.task.ContextID, TaskID: acc.task.ID}, nil
	case n.task != nil && n.task.Seq >= acc.task.Seq:
		return e.shown(scope, n.task), nil
	case n.err != nil:
		return nil, storeError(n.err, acc.task.ID)
	}
	return nil, nil
}

// shown is a task as an answer.
func (e *Engine) shown(scope a2a.Scope, t *a2a.Task) *a2a.SendResult {
	return &a2a.SendResult{Task: e.placed(scope, t)}
}

// placed returns the task with its place in the queue, if it waits for a slot.
func (e *Engine) placed(scope a2a.Scope, t *a2a.Task) *a2a.Task {
	if t.Status.State != a2a.StateSubmitted {
		return t
	}
	l := e.lanes[t.Skill]
	if l == nil {
		return t
	}
	place := l.place(scope, t.ID)
	if place == 0 {
		return t
	}
	c := *t
	c.QueuePlace = place
	return &c
}

// leased is a run that this process holds from its first moment on.
func (e *Engine) leased(r taskstore.Run) taskstore.Run {
	r.State, r.Holder, r.Until = taskstore.RunRunning, e.holder, time.Now().Add(e.opts.Lease)
	r.Fence++
	r.Attempt = 1
	return r
}

func queueFull(l *lane) error {
	return &a2a.Error{
		Code:       a2a.CodeQueueFull,
		Message:    fmt.Sprintf("The queue of skill %s is full (%d waiting); try again later.", l.entry.Info.ID, max(0, l.entry.Limits.Queue)),
		Details:    map[string]string{"skillId": string(l.entry.Info.ID)},
		RetryAfter: l.retryAfter(),
	}
}

func taskIDConflict() error {
	return &a2a.Error{Code: a2a.CodeTaskIDConflict, Message: "taskId is in use for another request; choose a new one."}
}

func stopping() error {
	return &a2a.Error{Code: a2a.CodeUnavailable, Message: "The server is stopping; try again.", RetryAfter: stoppingRetry}
}
