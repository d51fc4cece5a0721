package remote

import (
	"context"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

// live is a task that is followed by its events: they are folded, and recorded when the
// state changes and otherwise now and then.
type live struct {
	s    *session
	t    *task
	fold client.Fold
	// accepted says that the registry has the task's id.
	accepted bool
	// whole says that the task was seen from its beginning, or as a whole once; lost is
	// what the session's count was then.
	whole bool
	lost  int64
	event string // id of the last event

	recorded   a2a.State
	recordedAt time.Time
}

// recordEvery is how often progress is written into the registry: each time costs a
// commit.
const recordEvery = 2 * time.Second

// take folds an event in, records it, and returns what is new in it. At the end of a
// task it makes sure that nothing of the answer is missing.
func (l *live) take(ctx context.Context, ev client.Event) (client.Change, error) {
	if ev.Task != nil {
		l.whole, l.lost = true, l.s.lost.Load()
	}
	change := l.fold.Apply(ev)
	if ev.ID != "" {
		l.event = ev.ID
	}
	if ev.Message != nil || l.fold.Task.ID == "" {
		return change, nil
	}
	task := &l.fold.Task
	if !l.accepted {
		l.accepted = true
		// Not yet as ended: what is recorded then must be the whole answer.
		first := &a2a.Task{ID: task.ID, ContextID: task.ContextID, Status: task.Status}
		if s := first.Status.State; s == "" || s.Terminal() {
			first.Status = a2a.Status{State: a2a.StateWorking}
		}
		if err := l.s.accepted(ctx, l.t, first); err != nil {
			return change, err
		}
	}
	if task.Status.State.Terminal() {
		l.complete(ctx, &change)
	} else if task.Status.State == l.recorded && time.Since(l.recordedAt) < recordEvery {
		return change, nil
	}
	return change, l.record(ctx)
}

// complete reads the task once more if its events may not have been all, and adds what
// was missing to the change.
func (l *live) complete(ctx context.Context, change *client.Change) {
	task := &l.fold.Task
	empty := len(task.Artifacts) == 0 && task.Status.Message == nil
	if l.whole && l.lost == l.s.lost.Load() && !empty {
		return
	}
	got, err := l.t.client.Get(ctx, task.ID, nil)
	if err != nil || !got.Status.State.Terminal() {
		return // what was seen is all there is
	}
	more := l.fold.Apply(client.Event{Task: got})
	change.Artifacts = append(change.Artifacts, more.Artifacts...)
	if more.Words != nil {
		change.Words = more.Words
	}
}

func (l *live) record(ctx context.Context) error {
	if !l.t.known() {
		return nil
	}
	task := l.fold.Task.Clone()
	if task.Status.State == "" { // behind a known event the state is the one that is known
		task.Status.State = l.t.entry.State
	}
	e, err := l.s.registry.Streamed(context.WithoutCancel(ctx), l.t.entry.Ref, task, l.event)
	if err != nil {
		return err
	}
	l.t.entry, l.recorded, l.recordedAt = e, task.Status.State, time.Now()
	return nil
}

// failed records an error that ended the events before the task, and returns it.
func (l *live) failed(ctx context.Context, err error) error {
	if l.fold.Task.ID != "" { // with the last event, to go on behind it
		if fault := l.record(ctx); fault != nil {
			return errors.Join(err, fault)
		}
	}
	_, err = l.s.saw(ctx, l.t, nil, err)
	return err
}

// streamed sends a message and prints the answer as it comes.
func (s *session) streamed(ctx context.Context, t *task, m client.Message, o client.SendOptions, f *sendFlags) error {
	l := &live{s: s, t: t, whole: true, lost: s.lost.Load()}
	p := &printer{s: s}
	text := s.f.output == "table"
	for ev, err := range t.client.Stream(ctx, m, o) {
		switch {
		case err != nil && !l.accepted:
			return s.unsent(ctx, t, &m, err)
		case err != nil:
			err = l.failed(ctx, err)
			return s.later(ctx, t, errors.Join(err, p.end()))
		case ev.Message != nil:
			return s.message(ctx, t, ev.Message, ev.ContextID, f)
		}
		first := !l.accepted
		change, err := l.take(ctx, ev)
		if err != nil {
			return err
		}
		if first && l.accepted {
			s.say("sent as task %s\n", t.id)
		}
		if text {
			for _, piece := range change.Artifacts {
				p.piece(piece.Artifact, piece.Continues)
			}
		}
		if state := l.fold.Task.Status.State; change.Words != nil && !state.Settled() {
			s.say("%s: %s\n", state, line(change.Words.Text(), 500))
		}
	}
	got := &l.fold.Task
	if !text {
		return s.shown(ctx, t, got, f.showing)
	}
	p.words(got)
	if err := errors.Join(p.end(), f.files(s, got)); err != nil {
		return err
	}
	s.sayState(t, got)
	if hint := s.failedHint(ctx, t, got); hint != "" {
		s.say("%s\n", hint)
	}
	return ended(got.Status.State)
}
