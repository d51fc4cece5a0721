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
		failure = &a2a.Error{Code: a2a.CodeUnknownSkill, Message: e.skills.For(caller).UnknownText(choice)}
	} else {
		t.Skill = choice.Entry.Info.ID
		if err := checkInputModes(choice.Entry, req.Message.Parts); err != nil {
			return s, input, err
		}
		var err error
		input, err = choice.Entry.Mapper.In(req.Message)
		// The schema names the place, so its word goes before the mapper's.
		if bad := choice.Entry.CheckInput(input.Sent); bad != nil {
			err = bad
		}
		if err != nil {
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
		ev.Status.Message.Metadata = placesOf(failure.Fields)
		ev.Seq, ev.At, ev.Status.At, ev.Status.Code = 2, at, at, failure.Code
		if err := t.Apply(ev); err != nil {
			return s, input, err
		}
		s.Events = append(s.Events, ev)
		s.Run.State = taskstore.RunEnded
	}
	return s, input, nil
}

// placesOf returns the metadata that tells programs what is wrong where; nil for
// nothing.
func placesOf(fields []a2a.FieldViolation) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	type place struct {
		Field       string `json:"field"`
		Description string `json:"description"`
	}
	list := make([]place, len(fields))
	for i, f := range fields {
		list[i] = place(f)
	}
	b, err := json.Marshal(map[string][]place{"violations": list})
	if err != nil {
		return nil // strings always encode
	}
	return b
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
