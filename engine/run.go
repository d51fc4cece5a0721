package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
)

// errOutput is the cause of a run that put out more than its skill may.
var errOutput = errors.New("output limit exceeded")

// forever is a time no run lasts.
const forever = 100 * 365 * 24 * time.Hour

// run is one execution of a skill in this process.
type run struct {
	engine  *Engine
	lane    *lane
	journal *journal
	task    *a2a.Task // at the start
	message a2a.Message
	input   mappers.Input
	caller  a2a.Caller
	attempt int
	resume  []byte
	// failEarly is an error that ends the run before the skill is called.
	failEarly error
	// answer is who may still take a message instead of a task; see replySlot.
	answer *replySlot
	// gaveData says that the skill put data out.
	gaveData atomic.Bool

	began  time.Time
	cancel context.CancelCauseFunc
	done   atomic.Bool
}

// replySlot decides, once, whether the answer of a run may be a bare message:
// only while the caller that would get it is still waiting.
type replySlot struct{ taken atomic.Bool }

// take claims the slot; the first to do so has it.
func (s *replySlot) take() bool { return s != nil && s.taken.CompareAndSwap(false, true) }

func (r *run) id() a2a.TaskID { return r.task.ID }

// stop asks the run to end.
func (r *run) stop(cause error) { r.cancel(cause) }

// start runs the skill on a goroutine of its own. The lane's slot is taken
// already; start gives it back, now if the engine is stopping.
func (e *Engine) start(r *run, lease taskstore.Lease) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel, r.engine, r.began = cancel, e, time.Now()
	r.journal = newJournal(r, lease)
	if !e.begin(r) {
		cancel(skills.ErrStopping)
		r.handBack()
		r.leaveSlot(0)
		return
	}
	go r.work(ctx)
}

// work is the life of a run.
func (r *run) work(ctx context.Context) {
	e, entry := r.engine, r.lane.entry
	defer r.cancel(nil)
	limit := entry.Limits.Timeout
	if limit < 0 {
		limit = forever
	}
	timer := time.AfterFunc(limit, func() { r.cancel(skills.ErrTimeout) })
	defer timer.Stop()
	// A skill that was told to stop has the grace time to return; then it is let
	// go: the task ends, the slot is free, and what it still emits is refused.
	watch := context.AfterFunc(ctx, func() {
		time.AfterFunc(e.opts.CancelGrace, func() { r.over(ctx, context.Cause(ctx), true) })
	})
	defer watch()

	if err := r.announce(); err != nil {
		r.over(ctx, err, false)
		return
	}
	for {
		err := r.call(ctx)
		if err != nil || !r.nextTurn() {
			r.over(ctx, err, false)
			return
		}
		timer.Reset(limit)
	}
}

// nextTurn goes on with a message that came while the skill was at work, if the
// skill has paused since.
func (r *run) nextTurn() bool {
	task, resume, ok := r.journal.takeTurn()
	if !ok {
		return false
	}
	r.task, r.resume, r.attempt = task, resume, 1
	r.message = task.TurnMessage()
	r.input, r.failEarly = r.lane.entry.Mapper.In(r.message)
	return true
}

// announce says that work has begun. It is not written by itself unless the
// skill is slow: see journal.
func (r *run) announce() error {
	switch {
	case r.attempt > 1:
		return r.journal.emit(a2a.StatusEvent(a2a.StateWorking, a2a.AgentText("", "taken up again after a restart")), 0)
	case r.task.Status.State != a2a.StateWorking:
		return r.journal.emit(a2a.StatusEvent(a2a.StateWorking, nil), 0)
	}
	return nil
}

// over ends the run once: when the skill returned, or when it was let go.
func (r *run) over(ctx context.Context, err error, letGo bool) {
	if !r.done.CompareAndSwap(false, true) {
		return
	}
	if letGo {
		r.engine.log.Warn().Str("skill", string(r.lane.entry.Info.ID)).Str("task_id", string(r.id())).
			Msg("skill ignores its cancellation; let go")
	}
	r.settle(ctx, err)
	r.watchPause()
	r.leaveSlot(time.Since(r.began))
	r.engine.pump(r.lane)
	r.engine.end(r)
}

// call runs the skill and turns a panic into an error.
func (r *run) call(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.engine.log.Error().Str("skill", string(r.lane.entry.Info.ID)).Str("task_id", string(r.id())).
				Interface("panic", p).Bytes("stack", debug.Stack()).Msg("skill panicked")
			err = fmt.Errorf("skill panicked: %v", p)
		}
	}()
	if r.failEarly != nil {
		return r.failEarly
	}
	return r.lane.entry.Skill.Run(ctx, skills.Input{
		Task: r.task, Message: r.message, Payload: r.input.Payload,
		Resume: r.resume, Attempt: r.attempt, Caller: r.caller, Extensions: r.message.Active,
		MayReply: r.answer != nil,
		Save:     func(b json.RawMessage) error { return r.journal.save(b) },
	}, func(ev a2a.Event) error { return r.emit(ctx, ev) })
}

// emit is the Emit that the skill gets.
func (r *run) emit(ctx context.Context, ev a2a.Event) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if ev.Created != nil {
		return fmt.Errorf("emit: %w", a2a.ErrEvent)
	}
	if err := r.checkResult(&ev); err != nil {
		r.cancel(err)
		return err
	}
	if m := ev.Message; m != nil && ev.Status == nil && ev.Artifact == nil {
		return r.reply(m)
	}
	err := r.journal.emit(ev, r.lane.entry.Limits.MaxOutputBytes)
	if errors.Is(err, errOutput) {
		r.cancel(errOutput)
	}
	return err
}

// reply answers with a message, or with a completed task that says the same when
// nobody can take a bare message any more.
func (r *run) reply(m *a2a.Message) error {
	c := *m
	c.Role = a2a.RoleAgent
	if c.ID == "" {
		c.ID = newID()
	}
	if r.answer.take() {
		return r.journal.reply(&c)
	}
	return r.journal.emit(a2a.StatusEvent(a2a.StateCompleted, &c), r.lane.entry.Limits.MaxOutputBytes)
}

// settle makes sure that the task has a state that somebody acts on, whatever the
// skill did. err is what the skill returned.
func (r *run) settle(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	final, broken := r.journal.outcome()
	switch {
	case broken != nil:
		r.broken(broken)
		return
	case final, errors.Is(cause, skills.ErrCanceled), errors.Is(cause, skills.ErrLeaseLost):
		return // written, or the log is somebody else's now
	case errors.Is(cause, skills.ErrStopping):
		r.handBack()
		return
	}
	if ferr := r.journal.emit(r.failure(cause, err), 0); ferr != nil && !errors.Is(ferr, errEnded) {
		r.broken(ferr)
	}
}

// broken is the end of a run whose writes fail: the task is as it was, its lease
// will expire and the run be taken up again. Callers that wait are told.
func (r *run) broken(err error) {
	if errors.Is(err, skills.ErrLeaseLost) || isClosed(err) {
		return
	}
	r.engine.log.Error().Err(err).Str("task_id", string(r.id())).Msg("write run")
	r.engine.publish(r.id(), notice{err: err})
}

// failure is the event that ends a run which did not end itself.
func (r *run) failure(cause, err error) a2a.Event {
	entry := r.lane.entry
	fail := func(code a2a.Code, text string) a2a.Event {
		ev := a2a.StatusEvent(a2a.StateFailed, a2a.AgentText("", text))
		ev.Status.Code = code
		return ev
	}
	switch {
	case errors.Is(cause, skills.ErrTimeout):
		return fail(a2a.CodeTimeout, "skill timed out after "+inSeconds(entry.Limits.Timeout))
	case errors.As(cause, new(resultError)):
		r.logFailure(cause)
		return fail(a2a.CodeInvalidAgentResponse, "the skill's result does not fit its output schema")
	case errors.Is(cause, errOutput):
		return fail(a2a.CodeOutputTooLarge, fmt.Sprintf("skill put out more than %d bytes", entry.Limits.MaxOutputBytes))
	case err == nil:
		r.logFailure(errors.New("returned without a final state"))
		return fail(a2a.CodeNoFinalState, "skill ended without a final state")
	}
	var coded *a2a.Error
	if errors.As(err, &coded) && coded.Code != a2a.CodeInternal {
		if coded.Err != nil {
			r.logFailure(err)
		}
		return fail(coded.Code, coded.Message)
	}
	r.logFailure(err)
	return fail(a2a.CodeInternal, "internal error")
}

// inSeconds spells a time limit as the contract does: 60s, not 1m0s.
func inSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

func (r *run) logFailure(err error) {
	r.engine.log.Warn().Err(err).Str("skill", string(r.lane.entry.Info.ID)).
		Str("task_id", string(r.id())).Msg("skill failed")
}

// handBack gives the run to the next process, or ends it when it may not be repeated.
func (r *run) handBack() {
	var err error
	if r.lane.entry.Retry == skills.RetryOnCrash {
		err = r.journal.release()
	} else {
		err = r.journal.emit(interrupted(), 0)
	}
	if err != nil {
		r.broken(err)
	}
}

// interrupted is the event of a run that a restart cut off.
func interrupted() a2a.Event {
	ev := a2a.StatusEvent(a2a.StateFailed, a2a.AgentText("", "interrupted by a restart"))
	ev.Status.Code = a2a.CodeInterrupted
	return ev
}

// watchPause sees to it that a pause with a deadline ends in time. After a restart
// the sweep does that.
func (r *run) watchPause() {
	e, until := r.engine, r.journal.deadline()
	if until.IsZero() {
		return
	}
	time.AfterFunc(time.Until(until), func() {
		if !e.enter() {
			return
		}
		defer e.work.Done()
		e.expire(context.Background(), r.caller.Scope, r.id())
	})
}

func (r *run) leaveSlot(took time.Duration) {
	r.lane.finish(r.caller.Scope, r.task.ContextID, took)
}

// pump starts waiting runs while there are free slots.
func (e *Engine) pump(l *lane) {
	for {
		id, scope, conversation, ok := l.next()
		if !ok {
			return
		}
		if !e.enter() {
			l.finish(scope, conversation, 0)
			return // they stay queued in the store
		}
		go func() {
			defer e.work.Done()
			e.takeUp(l, id, scope, conversation)
		}()
	}
}
