package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
)

// Send accepts a message: it starts a task, or continues the one that req.TaskID
// names, and answers when req.Blocking and req.MaxWait say so. mount is the skill
// of the path the request was sent to, or "".
//
// Once Send has stored the task, nothing the client does to its connection has
// any effect on it. Errors are *a2a.Error.
func (e *Engine) Send(ctx context.Context, caller a2a.Caller, mount a2a.SkillID, req *a2a.SendRequest) (*a2a.SendResult, error) {
	switch {
	case e.isDraining():
		return nil, stopping()
	case req.PushConfig:
		return nil, &a2a.Error{Code: a2a.CodePushNotSupported, Message: "Push Notification is not supported"}
	case req.TaskID != "":
		return e.proceed(ctx, caller, req)
	}
	choice := e.skills.Select(req, mount)
	s, input, err := e.compose(caller, choice, req)
	if err != nil {
		return nil, err
	}
	if s.Run.State == taskstore.RunEnded {
		return e.submit(ctx, req, s, nil)
	}
	l := e.lanes[choice.Entry.Info.ID]
	granted := l.admit()
	switch granted {
	case refused:
		return nil, queueFull(l)
	case started:
		s.Run = e.leased(taskstore.Run{})
	case queued:
		s.Run.State = taskstore.RunQueued
	}
	r := &run{lane: l, message: req.Message, input: input, caller: caller, attempt: 1}
	return e.submit(ctx, req, s, r)
}

// compose makes the submission of a new task. A request that cannot be worked on
// becomes a task that is born failed (RunEnded): stored, and readable later.
func (e *Engine) compose(caller a2a.Caller, choice skills.Choice, req *a2a.SendRequest) (taskstore.Submission, mappers.Input, error) {
	at := a2a.Now()
	t := &a2a.Task{
		ID: req.NewTaskID, ContextID: req.ContextID, SkillSource: choice.Source, Dialect: req.Dialect,
		Status: a2a.Status{State: a2a.StateSubmitted, At: at}, CreatedAt: at, UpdatedAt: at, Seq: 1,
	}
	s := taskstore.Submission{Scope: caller.Scope, Task: t, Rerun: req.NewTaskID != "", Key: req.IdempotencyKey}
	if t.ID == "" {
		t.ID = a2a.TaskID(newID())
	}
	if t.ContextID == "" {
		t.ContextID = a2a.ContextID(newID())
	}
	if req.Message.ID == "" {
		req.Message.ID = newID()
	}
	var input mappers.Input
	var failure *a2a.Error
	if choice.Entry == nil {
		failure = &a2a.Error{Code: a2a.CodeUnknownSkill, Message: e.skills.UnknownText(choice)}
	} else {
		t.Skill = choice.Entry.Info.ID
		if err := checkInputModes(choice.Entry, req.Message.Parts); err != nil {
			return s, input, err
		}
		var err error
		if input, err = choice.Entry.Mapper.In(req.Message); err != nil {
			failure = a2a.AsError(err)
		}
		t.Warnings = input.Warnings
	}
	t.History = []a2a.Message{req.Message}
	if s.Rerun || s.Key != "" {
		s.Fingerprint = fingerprint(t, req)
		t.Fingerprint = s.Fingerprint
	}
	skeleton := *t
	s.Events = []a2a.Event{{Seq: 1, At: at, Created: &skeleton}}
	s.Run.State = taskstore.RunQueued
	if failure != nil {
		if failure.Code == a2a.CodeInternal {
			e.log.Error().Err(failure).Str("skill", string(t.Skill)).Msg("map message")
		}
		ev := a2a.StatusEvent(a2a.StateFailed, a2a.AgentText(fmt.Sprintf("%s-2", t.ID), failure.Message))
		ev.Seq, ev.At, ev.Status.At, ev.Status.Code = 2, at, at, failure.Code
		if err := t.Apply(ev); err != nil {
			return s, input, err
		}
		s.Events = append(s.Events, ev)
		s.Run.State = taskstore.RunEnded
	}
	return s, input, nil
}

// submit stores the task, starts or queues its run r (nil for a task that is born
// ended), and waits as the request wants. What the lane granted is given back if
// nothing came of it.
func (e *Engine) submit(ctx context.Context, req *a2a.SendRequest, s taskstore.Submission, r *run) (*a2a.SendResult, error) {
	var sub *subscription
	if req.Blocking {
		// Watch before the run can end.
		sub = e.hub.subscribe(s.Task.ID, 0)
		defer sub.close()
	}
	// The client may leave at any time; what it sent is stored all the same.
	out, err := e.store.Submit(context.WithoutCancel(ctx), s)
	if err != nil || out.Existing {
		if r != nil {
			e.giveBack(r.lane, s.Run.State)
		}
	}
	switch {
	case errors.Is(err, taskstore.ErrForeign):
		return nil, taskIDConflict()
	case errors.Is(err, taskstore.ErrIdempotency):
		return nil, &a2a.Error{Code: a2a.CodeIdempotencyConflict, Message: "Idempotency-Key was used for a different request; use a new key."}
	case err != nil:
		return nil, storeError(err, s.Task.ID)
	case out.Existing:
		return e.existing(ctx, req, s, out.Task)
	case r == nil:
		return &a2a.SendResult{Task: out.Task}, nil
	}
	r.task = out.Task
	e.launch(r, s.Run.State, out.Lease, req.Blocking)
	if !req.Blocking {
		return e.shown(out.Task), nil
	}
	return e.wait(ctx, req, sub, s.Scope, r)
}

// launch starts or queues a run whose task is stored.
func (e *Engine) launch(r *run, state taskstore.RunState, lease taskstore.Lease, blocking bool) {
	if state == taskstore.RunQueued {
		r.lane.enqueue(r.task.ID)
		e.pump(r.lane)
		return
	}
	if blocking {
		r.answer = new(replySlot)
	}
	e.start(r, lease)
}

// giveBack returns what the lane granted for a run that will not be.
func (e *Engine) giveBack(l *lane, state taskstore.RunState) {
	if state == taskstore.RunQueued {
		l.cancelPlace()
		return
	}
	l.finish(0)
	e.pump(l)
}

// existing answers a submit whose id or idempotency key is known already.
func (e *Engine) existing(ctx context.Context, req *a2a.SendRequest, s taskstore.Submission, t *a2a.Task) (*a2a.SendResult, error) {
	if t.Fingerprint != s.Fingerprint {
		return nil, taskIDConflict()
	}
	if !req.Blocking || t.Status.State.Settled() {
		return e.shown(t), nil
	}
	sub := e.hub.subscribe(t.ID, 0)
	defer sub.close()
	// It may have settled before the watch began.
	now, err := e.store.Task(ctx, s.Scope, t.ID)
	if err != nil {
		return nil, storeError(err, t.ID)
	}
	if now.Status.State.Settled() {
		return e.shown(now), nil
	}
	return e.wait(ctx, req, sub, s.Scope, &run{task: now})
}

// wait blocks until the task of r settles, the cap is reached, the server drains
// or the client leaves, and answers with the task as it then is.
func (e *Engine) wait(ctx context.Context, req *a2a.SendRequest, sub *subscription, scope a2a.Scope, r *run) (*a2a.SendResult, error) {
	var limit <-chan time.Time
	if req.MaxWait > 0 {
		timer := time.NewTimer(req.MaxWait)
		defer timer.Stop()
		limit = timer.C
	}
	for {
		if res, err := e.settledResult(sub, r.task); res != nil || err != nil {
			return res, err
		}
		select {
		case <-sub.wake:
			continue
		case <-limit:
		case <-e.released:
		case <-ctx.Done():
			r.answer.take()
			return nil, &a2a.Error{Code: a2a.CodeUnavailable, Message: "client is gone", Err: context.Cause(ctx)}
		}
		if r.answer == nil || r.answer.take() {
			break
		}
		// The skill is just answering with a message, which only we can deliver.
		limit, r.answer = nil, nil
	}
	t, err := e.store.Task(ctx, scope, r.task.ID)
	if err != nil {
		return nil, storeError(err, r.task.ID)
	}
	return e.shown(t), nil
}

// settledResult is the answer if the watched task settled after the snapshot
// since, else nothing. Notices of an earlier turn may still come in: they do not
// count.
func (e *Engine) settledResult(sub *subscription, since *a2a.Task) (*a2a.SendResult, error) {
	switch n := sub.settled(); {
	case n == nil:
		return nil, nil
	case n.reply != nil:
		return &a2a.SendResult{Message: n.reply, ContextID: since.ContextID}, nil
	case n.task != nil && n.task.Seq >= since.Seq:
		return e.shown(n.task), nil
	case n.err != nil:
		return nil, storeError(n.err, since.ID)
	}
	return nil, nil
}

// shown is a task as an answer.
func (e *Engine) shown(t *a2a.Task) *a2a.SendResult { return &a2a.SendResult{Task: e.placed(t)} }

// placed returns the task with its place in the queue, if it waits for a slot.
func (e *Engine) placed(t *a2a.Task) *a2a.Task {
	if t.Status.State != a2a.StateSubmitted {
		return t
	}
	l := e.lanes[t.Skill]
	if l == nil {
		return t
	}
	place := l.place(t.ID)
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

// fingerprint tells two requests apart: skill, context and content of the
// message, but not its id, which clients make anew for each try.
func fingerprint(t *a2a.Task, req *a2a.SendRequest) string {
	h := sha256.New()
	// Writing to a hash cannot fail, and these types always marshal.
	_ = json.NewEncoder(h).Encode([]any{t.Skill, req.ContextID, req.Message.Parts, req.Message.Metadata, req.Message.Request})
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// checkInputModes refuses parts whose media type a strict skill does not take.
// Types match without parameters and case; "text/*" matches any text.
func checkInputModes(entry *skills.Entry, parts []a2a.Part) error {
	if !entry.StrictInput || len(entry.Info.InputModes) == 0 {
		return nil
	}
	for i, p := range parts {
		if p.MediaType == "" || accepts(entry.Info.InputModes, p.MediaType) {
			continue
		}
		return &a2a.Error{
			Code:    a2a.CodeContentTypeNotSupported,
			Message: fmt.Sprintf("Skill %s does not take %s; it takes %s.", entry.Info.ID, clip(p.MediaType), strings.Join(entry.Info.InputModes, ", ")),
			Fields:  []a2a.FieldViolation{{Field: fmt.Sprintf("message.parts[%d].mediaType", i), Description: "is not among the skill's input modes"}},
		}
	}
	return nil
}

func accepts(modes []string, mediaType string) bool {
	base, _, _ := strings.Cut(mediaType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	for _, m := range modes {
		m = strings.ToLower(m)
		if m == base || m == "*/*" || strings.HasSuffix(m, "/*") && strings.HasPrefix(base, strings.TrimSuffix(m, "*")) {
			return true
		}
	}
	return false
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
