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

// openBatch is how many open runs are read at once when looking for work.
const openBatch = 500

// leaseLoop renews this process's leases and takes up runs that nobody holds:
// those an earlier process left, first of all.
func (e *Engine) leaseLoop(ctx context.Context) {
	e.sweep(ctx)
	tick := time.NewTicker(e.opts.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := e.store.Renew(ctx, e.holder, time.Now().Add(e.opts.Lease)); err != nil && ctx.Err() == nil {
			e.log.Error().Err(err).Msg("renew leases")
		}
		e.sweep(ctx)
	}
}

// sweep finds open runs that this process does not know of, and acts on them.
func (e *Engine) sweep(ctx context.Context) {
	var after int64
	for {
		open, err := e.store.Open(ctx, time.Now(), after, openBatch)
		if err != nil {
			if ctx.Err() == nil {
				e.log.Error().Err(err).Msg("look for open runs")
			}
			return
		}
		for _, s := range open {
			after = s.Lease.Row
			e.adopt(ctx, s)
		}
		if len(open) < openBatch {
			return
		}
	}
}

// adopt puts an open run into its queue, or ends it when it may not run again.
func (e *Engine) adopt(ctx context.Context, s taskstore.Stored) {
	id := s.Task.ID
	if e.running(id) != nil {
		return
	}
	l := e.lanes[s.Task.Skill]
	crashed := s.Run.State == taskstore.RunRunning
	switch {
	case s.Run.State == taskstore.RunWaiting:
		e.expire(ctx, s.Scope, id)
	case l == nil:
		e.giveUp(ctx, s, a2a.CodeUnknownSkill, fmt.Sprintf("skill %q is no longer offered", s.Task.Skill))
	case crashed && l.entry.Retry != skills.RetryOnCrash:
		e.giveUp(ctx, s, a2a.CodeInterrupted, "interrupted by a restart")
	case crashed && s.Run.Attempt >= l.entry.Limits.MaxAttempts:
		e.giveUp(ctx, s, a2a.CodeInterrupted,
			fmt.Sprintf("interrupted by a restart; given up after %d attempts", s.Run.Attempt))
	default:
		// It may just have left the queue, or be about to enter it; a second entry
		// does no harm, since only one claim succeeds.
		l.requeue(s.Scope, s.Task)
		e.pump(l)
	}
}

// giveUp ends an open run as failed.
func (e *Engine) giveUp(ctx context.Context, s taskstore.Stored, code a2a.Code, text string) {
	ev := a2a.StatusEvent(a2a.StateFailed, a2a.AgentText(newID(), text))
	ev.Status.Code = code
	_, err := e.update(ctx, s.Scope, s.Task.ID, func(now taskstore.Stored) (taskstore.Change, error) {
		if now.Run.Fence != s.Run.Fence || now.Run.State != s.Run.State {
			return taskstore.Change{}, errMoved
		}
		return change(now, taskstore.Run{State: taskstore.RunEnded}, ev)
	})
	switch {
	case err == nil:
		e.log.Info().Str("task_id", string(s.Task.ID)).Str("reason", text).Msg("run ended by recovery")
	case !errors.Is(err, errMoved) && ctx.Err() == nil:
		e.log.Error().Err(err).Str("task_id", string(s.Task.ID)).Msg("end open run")
	}
}

// errMoved says that a run is not any more what it was when it was looked at.
var errMoved = errors.New("run has moved on")

// takeUp claims a waiting run and starts it on a slot already taken.
func (e *Engine) takeUp(l *lane, id a2a.TaskID, scope a2a.Scope, conversation a2a.ContextID) {
	now := time.Now()
	s, err := e.store.Claim(context.Background(), id, e.holder, now, now.Add(e.opts.Lease))
	if err != nil {
		// Cancelled while it waited, or claimed elsewhere: the slot is free again.
		if !isNotFound(err) && !isClosed(err) {
			e.log.Error().Err(err).Str("task_id", string(id)).Msg("claim run")
		}
		l.finish(scope, conversation, 0)
		e.pump(l)
		return
	}
	message := s.Task.TurnMessage()
	r := &run{
		lane: l, task: s.Task, message: message, attempt: s.Run.Attempt, resume: s.Run.Resume,
		caller: a2a.Caller{Scope: s.Scope, Name: s.Scope.Owner},
	}
	r.input, err = l.entry.Mapper.In(message)
	if err != nil {
		// The mapper took this message once; a configuration may have changed since.
		r.input = mappers.Input{}
		r.failEarly = err
	}
	e.start(r, s.Lease)
}

// change makes a Change that adds the events to a task: numbered, dated, and
// folded into a clone.
func change(s taskstore.Stored, run taskstore.Run, events ...a2a.Event) (taskstore.Change, error) {
	t := s.Task.Clone()
	numbered := make([]a2a.Event, len(events))
	at := a2a.Now()
	if at.Before(t.UpdatedAt) {
		at = t.UpdatedAt
	}
	for i, ev := range events {
		ev.Seq, ev.At = t.Seq+1, at
		if ev.Status != nil {
			st := *ev.Status
			st.At = at
			ev.Status = &st
		}
		if err := t.Apply(ev); err != nil {
			return taskstore.Change{}, err
		}
		numbered[i] = ev
	}
	return taskstore.Change{Events: numbered, Task: t, Run: run}, nil
}

// update changes a task in one transaction and tells its readers.
func (e *Engine) update(ctx context.Context, scope a2a.Scope, id a2a.TaskID, decide func(taskstore.Stored) (taskstore.Change, error)) (taskstore.Stored, error) {
	var made taskstore.Change
	s, err := e.store.Update(ctx, scope, id, func(now taskstore.Stored) (taskstore.Change, error) {
		var err error
		made, err = decide(now)
		return made, err
	})
	if err != nil {
		return taskstore.Stored{}, err
	}
	n := notice{events: made.Events}
	if made.Task.Status.State.Settled() {
		n.task = made.Task
	}
	e.publish(id, n)
	return s, nil
}

// pruneLoop deletes ended tasks that are older than the retention.
func (e *Engine) pruneLoop(ctx context.Context) {
	const batch = 500
	tick := time.NewTicker(e.opts.PruneEvery)
	defer tick.Stop()
	for {
		for {
			n, err := e.store.Prune(ctx, time.Now().Add(-e.opts.Retention), batch)
			if err != nil {
				if ctx.Err() == nil {
					e.log.Error().Err(err).Msg("prune tasks")
				}
				break
			}
			if n > 0 {
				e.log.Debug().Int("tasks", n).Msg("pruned")
			}
			if n < batch {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
