package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
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

// clip shortens a client's text for an error message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
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
