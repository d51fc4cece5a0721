package client

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// follower follows one task over as many connections as it takes:
//
//	send ──► stream ──► lost ──► subscribe behind the last event ──► … ──► settled
//	  │                             │ the agent cannot, or not any more
//	  └── cannot stream ────────────┴──► poll ──► settled
type follower struct {
	c     *Client
	yield func(Event, error) bool

	task    a2a.TaskID
	context a2a.ContextID
	last    string // id of the last event
	fold    Fold
	// done: the task has ended, or the answer was a message. paused: it waits for its
	// client.
	done, paused bool
	// moved: something new came since the last connection.
	moved bool
	// begun: an event came on this connection.
	begun bool
	// asked: the message answers a question, so what comes first may show the task as it
	// was before.
	asked bool
	// gap: a subscription began with what comes next, so something may be missing.
	gap bool
	// stopped: the caller wants no more.
	stopped bool
}

// Reasons to end a connection from here: the caller wants no more, or there is nothing
// more to come, whether the agent closes the stream or not.
var (
	errStopped = errors.New("the caller stopped")
	errSettled = errors.New("the task is settled")
	errFinal   = errors.New("the agent calls the event the last one")
)

// take looks at an event and hands it on.
func (l *follower) take(ev Event) error {
	switch {
	case ev.Message != nil && l.task == "":
		l.done = true
	case ev.TaskID == "":
		ev.TaskID = l.task
	case l.task == "":
		l.task = ev.TaskID
	case l.task != ev.TaskID:
		return foreign(a2a.OpStream, l.c.place(), string(l.task), string(ev.TaskID))
	}
	if ev.ContextID == "" {
		ev.ContextID = l.context
	}
	l.context = ev.ContextID
	// A number alone is nothing new: there are agents that count anew on each connection.
	if l.fold.Apply(ev).Any() {
		l.moved = true
	}
	if most := l.c.o.Limits.Answer; l.fold.size > most {
		return &Error{Kind: KindTooLarge, Op: a2a.OpStream, URL: l.c.place(), Sent: true, Message: "the task is larger than " + strconv.FormatInt(most, 10) + " bytes"}
	}
	if ev.Task != nil {
		l.gap = false
	}
	if ev.ID != "" {
		l.last = ev.ID
	}
	if s := l.fold.Task.Status.State; ev.Message == nil && s != "" {
		l.done, l.paused = s.Terminal(), s.Interrupted()
	}
	if !l.yield(ev, nil) {
		l.stopped = true
		return errStopped
	}
	before := l.asked && ev.Task != nil
	l.begun, l.asked = true, false
	switch {
	case l.done:
		return errSettled
	// A task that waits for an authorisation may go on without its client.
	case l.paused && !before && l.fold.Task.Status.State == a2a.StateInputRequired:
		return errSettled
	case ev.Final:
		return errFinal
	}
	return nil
}

// connect reads one stream to its end; see connection.
func (l *follower) connect(ctx context.Context, op a2a.Op, arg any) error {
	l.begun = false
	err := l.c.connection(ctx, op, arg, l.last, func(ev Event) error {
		if !l.begun && op == a2a.OpSubscribe && l.last == "" {
			l.gap = true // until a task shows all
		}
		return l.take(ev)
	})
	if err == errFinal {
		return nil
	}
	return err
}

// end finishes a stream: what is missing in it is read.
func (l *follower) end(ctx context.Context) error {
	if l.stopped || !l.gap {
		return nil
	}
	t, err := l.c.Get(ctx, l.task, nil)
	switch {
	case err == nil:
		_ = l.take(Event{Task: t, TaskID: t.ID, ContextID: t.ContextID}) // it is settled already
	case ctx.Err() != nil || passing(err):
		return err
	default:
		l.c.notice(a2a.OpGet, "the task cannot be read at its end; something may be missing", err)
	}
	return nil
}

// start sends the message and follows the task that comes of it.
func (l *follower) start(ctx context.Context, s *sending) error {
	i, f, err := l.c.using(ctx)
	if err != nil {
		return err
	}
	if !i.Streaming || f.methods != nil && f.methods[a2a.OpStream] == "" {
		return l.sendAndFollow(ctx, s, i.Streaming)
	}
	l.asked = s.TaskID != ""
	for try := 0; ; try++ {
		err = l.connect(ctx, a2a.OpStream, s)
		if l.begun || err == nil || !l.c.retry(ctx, &call{op: a2a.OpStream, key: s.Key}, &i, err, try) {
			break
		}
	}
	switch {
	case l.stopped || l.over(err):
		return nil
	case l.task == "" && KindOf(err) == KindUnsupported && mayHaveBegun(err) && !i.Guessed && !i.Idempotent:
		e := *err.(*Error)
		e.Hint = "the agent may have begun the work all the same: look at the task, then send without a stream"
		return &e
	case l.task == "" && KindOf(err) == KindUnsupported:
		l.c.notice(a2a.OpStream, "the agent does not stream; polling instead", err)
		return l.sendAndFollow(ctx, s, false)
	case l.task == "" || ctx.Err() != nil || !passing(err):
		if err == nil {
			err = &Error{Kind: KindBroken, Op: a2a.OpStream, URL: l.c.place(), Sent: true, Message: "the stream ended before it named a task"}
		}
		return err
	}
	return l.subscribe(ctx, err, true)
}

// mayHaveBegun reports whether an agent that refuses to stream may have begun the work.
// That there is no such method says that it has not; that the operation is unsupported is
// what some say who have.
func mayHaveBegun(err error) bool {
	e, ok := err.(*Error)
	return ok && (e.Code == -32004 || strings.EqualFold(e.Reason, "UNSUPPORTED_OPERATION"))
}

// over reports whether nothing more is to come: the task is settled, or it waits and the
// agent has closed the stream.
func (l *follower) over(err error) bool { return err == errSettled || l.paused && err == nil }

// sendAndFollow is for agents that do not stream, or stream by subscription only.
func (l *follower) sendAndFollow(ctx context.Context, s *sending, subscribe bool) error {
	a, err := l.c.Send(ctx, s.Message, SendOptions{
		HistoryLength: s.HistoryLength, AcceptedOutputModes: s.AcceptedOutputModes, Push: s.Push, Key: s.Key,
	})
	if err != nil {
		return err
	}
	ev := Event{Task: a.Task, Message: a.Message, ContextID: a.ContextID}
	if a.Task != nil {
		ev.TaskID, ev.ContextID = a.Task.ID, a.Task.ContextID
	}
	if err := l.take(ev); l.stopped || l.over(err) {
		return nil
	} else if err != nil {
		return err
	}
	if subscribe {
		return l.follow(ctx)
	}
	return l.poll(ctx)
}

// follow follows a task that is known.
func (l *follower) follow(ctx context.Context) error {
	i, _, err := l.c.using(ctx)
	if err != nil {
		return err
	}
	if !i.Streaming {
		return l.poll(ctx)
	}
	return l.subscribe(ctx, nil, false)
}

// subscribe subscribes, again and again, until the task is settled. With again it goes on
// after a stream that was lost, by the given error if there was one.
func (l *follower) subscribe(ctx context.Context, lost error, again bool) error {
	for try := 0; ; again = true {
		if again {
			if l.moved {
				try, l.moved = 0, false
			}
			if try >= l.c.o.Retry.Max {
				l.c.notice(a2a.OpSubscribe, "the stream cannot be taken up again; polling instead", lost)
				return l.poll(ctx)
			}
			pause := l.c.o.Retry.pause(try)
			if e, ok := lost.(*Error); ok {
				pause = max(pause, min(e.RetryAfter, l.c.o.Retry.Most))
			}
			if lost == nil {
				lost = errLost
			}
			l.c.notice(a2a.OpSubscribe, "the stream was lost; taking it up again", lost)
			if !sleep(ctx, pause) {
				return l.c.ended(ctx, a2a.OpSubscribe)
			}
			try++
		}
		lost = l.connect(ctx, a2a.OpSubscribe, &getting{id: l.task})
		switch {
		case l.stopped || l.over(lost):
			return l.end(ctx)
		case cannotSubscribe(lost):
			// Not at all, or not any more: the task may have ended, which a read shows.
			return l.poll(ctx)
		case ctx.Err() != nil || !passing(lost):
			return lost
		}
	}
}

// cannotSubscribe reports whether an agent refuses a subscription as such, which for
// most of them includes tasks that have ended. Some say then that they do not know the
// task, or have no such route: a read shows what is so.
func cannotSubscribe(err error) bool {
	e, ok := err.(*Error)
	if !ok {
		return false
	}
	switch e.Kind {
	case KindUnsupported, KindRefused, KindTaskNotFound:
		return true
	}
	return e.Kind == KindInvalid && e.Status >= 400
}

// passing reports whether an error may pass by itself.
func passing(err error) bool {
	if err == nil {
		return true
	}
	e, ok := err.(*Error)
	if !ok || e.lasting {
		return false
	}
	switch e.Kind {
	case KindBroken, KindUnreachable, KindBusy, KindTimeout:
		return true
	}
	return false
}

// poll reads the task until it is settled.
func (l *follower) poll(ctx context.Context) error {
	var ended error
	_, err := l.c.Wait(ctx, l.task, WaitOptions{OnTask: func(t *a2a.Task) {
		if ended == nil && l.fold.differs(t) {
			ended = l.take(Event{Task: t, TaskID: t.ID, ContextID: t.ContextID})
		}
	}, stop: func() bool { return ended != nil }})
	if e, ok := ended.(*Error); ok {
		return e // the task is larger than it may be
	}
	return err
}

// Wait polls a task until it has ended or asks for something, and returns it so. Errors
// that may pass are waited out, as often as WaitOptions.MaxErrors says; others end the
// wait. When the context ends first, the last task is returned beside the error.
func (c *Client) Wait(ctx context.Context, id a2a.TaskID, opts WaitOptions) (*a2a.Task, error) {
	opts = opts.withDefaults()
	var last *a2a.Task
	failures, unknown := 0, 0
	for n := 0; ; n++ {
		t, err := c.get(ctx, id, nil, true)
		var asked time.Duration
		switch {
		case err == nil:
			last, failures = t, 0
			if opts.OnTask != nil {
				opts.OnTask(t)
			}
			if t.Status.State.Settled() || opts.stop != nil && opts.stop() {
				return t, nil
			}
			if t.Status.State != a2a.StateUnknown {
				unknown = 0
			} else if unknown++; unknown >= maxUnknown {
				return t, &Error{Kind: KindInvalid, Op: a2a.OpGet, URL: c.place(), Sent: true, Message: "the agent says no state of the task that the protocol has"}
			}
		case ctx.Err() != nil || !passing(err):
			return last, err
		default:
			if failures++; failures > opts.MaxErrors {
				return last, err
			}
			if opts.OnError != nil {
				opts.OnError(err)
			}
			c.notice(a2a.OpGet, "asking again", err)
			if e, ok := err.(*Error); ok {
				asked = min(e.RetryAfter, maxAsked)
			}
		}
		if !sleep(ctx, max(opts.pause(n), asked)) {
			return last, c.ended(ctx, a2a.OpGet)
		}
	}
}

// maxUnknown is how often a task in a state that the protocol does not have is asked for.
const maxUnknown = 20

// maxAsked bounds how long a wait heeds an agent that asks to be left alone.
const maxAsked = 5 * time.Minute

// ended is the error of a wait that its context ended.
func (c *Client) ended(ctx context.Context, op a2a.Op) error {
	e := &Error{Kind: KindCanceled, Op: op, URL: c.place(), Sent: true, Message: "given up", Err: context.Cause(ctx)}
	if ctx.Err() == context.DeadlineExceeded {
		e.Kind, e.Message = KindTimeout, "the task is not done in time"
	}
	return e
}

func (o WaitOptions) withDefaults() WaitOptions {
	if o.First <= 0 {
		o.First = 500 * time.Millisecond
	}
	if o.Most <= 0 {
		o.Most = 5 * time.Second
	}
	if o.MaxErrors == 0 {
		o.MaxErrors = 10
	}
	return o
}

// pause is the time before the poll after the n-th.
func (o *WaitOptions) pause(n int) time.Duration {
	r := Retry{First: o.First, Most: o.Most}
	return r.pause(n/2) + o.First/4
}
