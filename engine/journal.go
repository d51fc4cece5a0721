package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
)

// errEnded is the answer to an emit after the final state of a run.
var errEnded = errors.New("run has ended")

// journal writes what one run emits. Events are numbered and folded at once,
// and written together: the first write waits FlushAfter, so that a quick skill
// costs one commit; a chatty one is written at most every FlushEvery; a state
// that ends the run is written at once. At most one write is under way, which
// keeps the order.
type journal struct {
	engine *Engine
	lease  taskstore.Lease
	lost   context.CancelCauseFunc // called once, when a write fails
	wait   time.Duration           // how long a pause may last; 0 for ever

	mu      sync.Mutex
	wrote   *sync.Cond // on mu; signalled after each write
	live    *a2a.Task  // guarded by mu; all emitted events folded in
	pending []a2a.Event
	size    int64 // guarded by mu; bytes in pending, roughly
	total   int64 // guarded by mu; bytes emitted in this run, roughly
	stored  int64 // guarded by mu; Seq of the last event on disk
	since   int   // guarded by mu; events since the last stored snapshot
	// state is what the pending events make of the run.
	state    taskstore.RunState // guarded by mu
	resume   []byte             // guarded by mu; resume data to store
	keys     []taskstore.Key    // guarded by mu; of the messages in pending
	saved    []byte             // guarded by mu; the latest resume data
	turn     bool               // guarded by mu; the next turn is to be taken
	until    time.Time          // guarded by mu; when a pause has to be answered
	discard  *a2a.Message       // guarded by mu; answer that replaces the task
	writing  bool               // guarded by mu
	timed    bool               // guarded by mu; a timer will flush
	last     time.Time          // guarded by mu; of the last write
	final    bool               // guarded by mu; nothing may follow
	finished bool               // guarded by mu; the final state is written
	err      error              // guarded by mu; sticky
}

func newJournal(r *run, lease taskstore.Lease) *journal {
	j := &journal{
		engine: r.engine, lease: lease, lost: r.cancel, wait: r.lane.entry.AnswerWithin,
		live: r.task.Clone(), stored: r.task.Seq, saved: r.resume, state: taskstore.RunRunning,
	}
	j.wrote = sync.NewCond(&j.mu)
	return j
}

// emit adds one event. It returns when a final state is written, else at once,
// unless too much is waiting to be written.
func (j *journal) emit(ev a2a.Event, limit int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.admitLocked(); err != nil {
		return err
	}
	if err := checkJSON(&ev); err != nil {
		return err
	}
	size := eventSize(&ev)
	if limit > 0 && j.total+size > limit {
		return errOutput
	}
	if err := j.addLocked(ev); err != nil {
		return err
	}
	j.size += size
	j.total += size
	if j.final {
		return j.finishLocked()
	}
	j.scheduleLocked()
	for j.size > j.engine.opts.MaxPending && j.err == nil && !j.final {
		j.wrote.Wait()
	}
	return j.err
}

// admitLocked says why nothing more may be emitted, or nil.
func (j *journal) admitLocked() error {
	switch {
	case j.err != nil:
		return j.err
	case j.final:
		return errEnded
	}
	return nil
}

// addLocked numbers the event, folds it and puts it in line.
func (j *journal) addLocked(ev a2a.Event) error {
	ev.Seq, ev.At = j.live.Seq+1, a2a.Now()
	if ev.At.Before(j.live.UpdatedAt) {
		ev.At = j.live.UpdatedAt // the wall clock may step back; the log does not
	}
	if ev.Status != nil {
		s := *ev.Status
		s.At = ev.At
		if s.Message != nil {
			m := *s.Message
			m.Role = a2a.RoleAgent
			if m.ID == "" {
				m.ID = fmt.Sprintf("%s-%d", j.live.ID, ev.Seq)
			}
			s.Message = &m
		}
		ev.Status = &s
	}
	if c := ev.Artifact; c != nil && c.Artifact.ID == "" {
		n := *c
		n.Artifact.ID = fmt.Sprintf("artifact-%d", len(j.live.Artifacts)+1)
		ev.Artifact = &n
	}
	if err := j.live.Apply(ev); err != nil {
		return err
	}
	j.pending = append(j.pending, ev)
	j.since++
	if ev.Status != nil {
		switch {
		case ev.Status.State.Terminal():
			j.final, j.state = true, taskstore.RunEnded
		case ev.Status.State.Interrupted() && j.live.Unanswered():
			// The answer is there already: go on with it, in the same run.
			j.turn = true
			return j.addLocked(a2a.StatusEvent(a2a.StateWorking, nil))
		case ev.Status.State.Interrupted():
			j.final, j.state = true, taskstore.RunWaiting
			if j.wait > 0 {
				j.until = ev.At.Add(j.wait)
			}
		}
	}
	return nil
}

// finishLocked writes the final state and waits for it.
func (j *journal) finishLocked() error {
	for {
		switch {
		case j.err != nil:
			return j.err
		case j.finished:
			return nil
		case !j.writing:
			j.writeLocked()
		default:
			j.wrote.Wait()
		}
	}
}

// save stores resume data, with whatever waits, before it returns.
func (j *journal) save(resume []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.admitLocked(); err != nil {
		return err
	}
	if resume == nil {
		resume = []byte("null")
	}
	j.resume, j.saved = resume, resume
	for j.resume != nil || j.writing {
		if j.err != nil {
			return j.err
		}
		if !j.writing {
			j.writeLocked()
			continue
		}
		j.wrote.Wait()
	}
	return j.err
}

// deliver adds a user's message to the log while the skill is at work, and returns
// the task with it when that is on disk, with the key it came under, if any.
func (j *journal) deliver(m a2a.Message, k taskstore.Key) (*a2a.Task, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.admitLocked(); err != nil {
		return nil, err
	}
	if err := j.addLocked(a2a.Event{Message: &m}); err != nil {
		return nil, err
	}
	if k.Key != "" {
		j.keys = append(j.keys, k)
	}
	task := j.live.Clone()
	for j.stored < task.Seq {
		if j.err != nil {
			return nil, j.err
		}
		if !j.writing {
			j.writeLocked()
			continue
		}
		j.wrote.Wait()
	}
	return task, nil
}

// takeTurn returns the task at the start of its next turn and the resume data, if
// a message waits for the skill.
func (j *journal) takeTurn() (*a2a.Task, []byte, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.turn || j.final || j.err != nil {
		return nil, nil, false
	}
	j.turn = false
	return j.live.Clone(), j.saved, true
}

// reply ends the run with a message instead of a task, if nothing was put out.
func (j *journal) reply(m *a2a.Message) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.admitLocked(); err != nil {
		return err
	}
	if len(j.live.Artifacts) > 0 {
		return fmt.Errorf("answer with a message: %w", errEnded)
	}
	j.discard, j.final = m, true
	return j.finishLocked()
}

// release hands the run back to the queue.
func (j *journal) release() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.admitLocked(); err != nil {
		return err
	}
	j.final, j.state = true, taskstore.RunQueued
	return j.finishLocked()
}

// outcome reports whether a final state was emitted, and whether writing failed.
func (j *journal) outcome() (final bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.final, j.err
}

// deadline returns when the pause that ended the run has to be answered; zero if
// it need not be.
func (j *journal) deadline() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.finished || j.err != nil {
		return time.Time{}
	}
	return j.until
}

// scheduleLocked sees to it that pending events are written soon.
func (j *journal) scheduleLocked() {
	if j.timed || j.writing {
		return // the write under way schedules the next
	}
	if j.size > j.engine.opts.MaxPending/2 {
		j.writeLocked()
		return
	}
	wait := j.engine.opts.FlushAfter
	if rest := j.engine.opts.FlushEvery - time.Since(j.last); rest > wait {
		wait = rest
	}
	j.timed = true
	time.AfterFunc(wait, j.flush)
}

func (j *journal) flush() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.timed = false
	if !j.writing && len(j.pending) > 0 && j.err == nil && !j.final {
		j.writeLocked()
	}
}

// writeLocked starts to write what waits. It gives the lock up for the store's
// call and takes it back.
func (j *journal) writeLocked() {
	events := j.pending
	a := taskstore.Append{Lease: j.lease, Events: events, Run: j.state, Resume: j.resume, Until: j.until, Keys: j.keys}
	final := j.final
	switch {
	case j.discard != nil:
		a = taskstore.Append{Lease: j.lease, Discard: true, Run: taskstore.RunEnded}
	case final:
		// Nothing changes the live task any more.
		a.Task, a.Snapshot = j.live, true
	case hasStatus(events) || j.since >= snapshotAfter(j.live.Seq):
		a.Task, a.Snapshot = j.live.Clone(), true
	}
	if a.Snapshot {
		j.since = 0
	}
	j.pending, j.size, j.resume, j.keys = nil, 0, nil, nil
	j.writing = true
	n := notice{events: events}
	if final && j.state != taskstore.RunQueued {
		n.task, n.reply = a.Task, j.discard
	}
	j.mu.Unlock()
	j.engine.store.AppendAsync(a, func(err error) { j.written(n, final, err) })
	j.mu.Lock()
}

// written is called by the store after a commit.
func (j *journal) written(n notice, final bool, err error) {
	if err == nil {
		j.engine.publish(j.lease.TaskID, n)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writing, j.last = false, time.Now()
	if err != nil {
		if errors.Is(err, taskstore.ErrLeaseLost) {
			err = skills.ErrLeaseLost
		}
		if j.err == nil {
			j.err = err
			j.lost(err)
		}
	}
	if final {
		j.finished = true
	}
	if k := len(n.events); k > 0 && err == nil {
		j.stored = n.events[k-1].Seq
	}
	j.wrote.Broadcast()
	if j.err == nil && !j.final && len(j.pending) > 0 {
		j.scheduleLocked()
	}
}
