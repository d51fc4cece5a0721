package engine

import (
	"encoding/json"
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
	lost   func(error) // called once, when a write fails

	mu      sync.Mutex
	wrote   *sync.Cond // on mu; signalled after each write
	live    *a2a.Task  // guarded by mu; all emitted events folded in
	pending []a2a.Event
	size    int64 // guarded by mu; bytes in pending, roughly
	total   int64 // guarded by mu; bytes emitted in this run, roughly
	since   int   // guarded by mu; events since the last stored snapshot
	// state is what the pending events make of the run.
	state    taskstore.RunState // guarded by mu
	resume   []byte             // guarded by mu; resume data to store
	discard  *a2a.Message       // guarded by mu; answer that replaces the task
	writing  bool               // guarded by mu
	timed    bool               // guarded by mu; a timer will flush
	last     time.Time          // guarded by mu; of the last write
	final    bool               // guarded by mu; nothing may follow
	finished bool               // guarded by mu; the final state is written
	err      error              // guarded by mu; sticky
}

func newJournal(e *Engine, lease taskstore.Lease, task *a2a.Task, lost func(error)) *journal {
	j := &journal{engine: e, lease: lease, lost: lost, live: task.Clone(), state: taskstore.RunRunning}
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
		case ev.Status.State.Interrupted():
			j.final, j.state = true, taskstore.RunWaiting
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
	j.resume = resume
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
	a := taskstore.Append{Lease: j.lease, Events: events, Run: j.state, Resume: j.resume}
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
	j.pending, j.size, j.resume = nil, 0, nil
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
		j.engine.hub.publish(j.lease.TaskID, n)
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
	j.wrote.Broadcast()
	if j.err == nil && !j.final && len(j.pending) > 0 {
		j.scheduleLocked()
	}
}

// snapshotAfter is how many events may lie on top of the stored snapshot: enough
// to make a stream cheap, and never so many that a read costs more than the task
// itself. Growing with the log keeps the cost of a chunk flat.
func snapshotAfter(seq int64) int { return max(64, int(seq)/2) }

func hasStatus(events []a2a.Event) bool {
	for i := range events {
		if events[i].Status != nil {
			return true
		}
	}
	return false
}

// checkJSON refuses raw JSON that is none: it would break every answer it is in.
func checkJSON(e *a2a.Event) error {
	var parts []a2a.Part
	var metadata []byte
	switch {
	case e.Status != nil && e.Status.Message != nil:
		parts, metadata = e.Status.Message.Parts, e.Status.Message.Metadata
	case e.Artifact != nil:
		parts, metadata = e.Artifact.Artifact.Parts, e.Artifact.Artifact.Metadata
	}
	if metadata != nil && !json.Valid(metadata) {
		return errors.New("emit: metadata is not JSON")
	}
	for _, p := range parts {
		if p.Kind == a2a.PartData && !json.Valid(p.Data) || p.Metadata != nil && !json.Valid(p.Metadata) {
			return errors.New("emit: a part's data or metadata is not JSON")
		}
	}
	return nil
}

// eventSize is roughly how many bytes an event takes.
func eventSize(e *a2a.Event) int64 {
	const overhead = 64
	n := int64(overhead)
	parts := func(ps []a2a.Part) {
		for _, p := range ps {
			n += int64(len(p.Text) + len(p.Raw) + len(p.URL) + len(p.Data) + len(p.Metadata) + overhead)
		}
	}
	switch {
	case e.Status != nil && e.Status.Message != nil:
		parts(e.Status.Message.Parts)
		n += int64(len(e.Status.Message.Metadata))
	case e.Artifact != nil:
		parts(e.Artifact.Artifact.Parts)
		n += int64(len(e.Artifact.Artifact.Metadata))
	case e.Message != nil:
		parts(e.Message.Parts)
	}
	return n
}
