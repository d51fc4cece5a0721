package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// snapshotFrom is the length of a log from which on its fold is stored too. A
// shorter log is as quickly folded as a snapshot is decoded, and without one a
// task is written once instead of twice. Most tasks stay below.
const snapshotFrom = 16

// do hands a step to the writer and waits for its outcome.
func (s *Store) do(o op) error {
	outcome := make(chan error, 1)
	o.done = func(err error) { outcome <- err }
	s.writer.enqueue(o)
	return <-outcome
}

// rowEvents is the most events of one row of the log. A reader that is behind reads
// a row at a time, so a row must not be much more than it asks for, however many
// events were committed together.
const rowEvents = 64

// body is what a step writes beside the task's row.
type body struct {
	last     int64     // seq of the last event
	rows     []logRow  // nil for no events
	one      [1]logRow // what rows stands on if it is one, as it nearly always is
	snapshot []byte    // encoded; nil to leave the stored one
}

// logRow is a row of the log.
type logRow struct {
	last   int64  // seq of its last event
	events []byte // encoded
}

func encode(events []a2a.Event, last int64, snapshot *a2a.Task) (*body, error) {
	b := &body{last: last}
	if last > maxSeq {
		return nil, fmt.Errorf("the task's log is full: %d events", last)
	}
	b.rows = b.one[:0]
	for len(events) > 0 {
		n := min(len(events), rowEvents)
		encoded, err := taskstore.EncodeEvents(events[:n])
		if err != nil {
			return nil, err
		}
		b.rows = append(b.rows, logRow{last: last - int64(len(events)-n), events: encoded})
		events = events[n:]
	}
	if snapshot != nil && last >= snapshotFrom {
		var err error
		if b.snapshot, err = taskstore.EncodeTask(snapshot); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// snapshotSeq is the value for the column of that name, nil to leave it.
func (b *body) snapshotSeq() any {
	if b.snapshot == nil {
		return nil
	}
	return b.last
}

// snapshotSeqOr0 is the same for a new row.
func (b *body) snapshotSeqOr0() int64 {
	if b.snapshot == nil {
		return 0
	}
	return b.last
}

func (b *body) write(c *conn, no int64) error {
	for _, r := range b.rows {
		if _, err := c.exec(sqlInsertEvents, eventsKey(no, r.last), r.events); err != nil {
			return err
		}
	}
	if b.snapshot != nil {
		if _, err := c.exec(sqlPutSnapshot, no, b.snapshot); err != nil {
			return err
		}
	}
	return nil
}

// AppendAsync encodes the step and hands it to the writer.
func (s *Store) AppendAsync(a taskstore.Append, done func(error)) {
	o := op{lease: a.Lease, done: done}
	if a.Discard {
		o.run = func(c *conn) (refusal, err error) { return discard(c, a.Lease) }
		s.writer.enqueue(o)
		return
	}
	step, err := newAppendStep(a)
	o.run = step.write
	if err != nil {
		// Not refused here and now: it has its place in the order of the steps.
		err = fmt.Errorf("append events: %w", err)
		o.run = func(*conn) (refusal, _ error) { return err, nil }
	}
	s.writer.enqueue(o)
}

// appendStep is an Append in the form of the database.
type appendStep struct {
	lease    taskstore.Lease
	run      taskstore.RunState
	until    time.Time // of a wait
	body     *body
	resume   any // []byte or nil
	prev     any // int64, the seq of the event before; nil without events
	last     any // int64, the seq of the last event; nil without events
	state    any // int64; nil without a status event
	statusAt any // int64; nil without a status event
	keys     []taskstore.Key
}

func newAppendStep(a taskstore.Append) (step appendStep, err error) {
	step = appendStep{lease: a.Lease, run: a.Run, resume: orNull(a.Resume), keys: a.Keys, body: &body{}}
	if a.Run == taskstore.RunWaiting {
		step.until = a.Until
	}
	if len(a.Events) == 0 {
		return step, nil
	}
	prev := a.Events[0].Seq - 1
	if err := taskstore.CheckSequence(a.Events, prev); err != nil {
		return step, err
	}
	last := prev + int64(len(a.Events))
	var snapshot *a2a.Task
	if a.Snapshot {
		snapshot = a.Task
	}
	if step.body, err = encode(a.Events, last, snapshot); err != nil {
		return step, err
	}
	step.prev, step.last = prev, last
	for i := range a.Events {
		if st := a.Events[i].Status; st != nil {
			step.state, step.statusAt = stateCode(st.State), micros(a.Events[i].At)
		}
	}
	return step, nil
}

func (a appendStep) write(c *conn) (refusal, err error) {
	var hit int64
	if a.state == nil && a.run == taskstore.RunRunning {
		hit, err = c.exec(sqlAppendLog, a.last, a.body.snapshotSeq(), a.resume, a.lease.Row, a.lease.Fence, a.prev)
	} else {
		run := int64(a.run)
		hit, err = c.exec(sqlAppend, a.last, a.body.snapshotSeq(), a.resume, a.state, a.statusAt, run, run, run, micros(a.until),
			a.lease.Row, a.lease.Fence, a.prev)
	}
	if err != nil {
		return nil, err
	}
	if hit == 0 {
		return a.refusal(c)
	}
	for _, k := range a.keys {
		if _, err := c.exec(sqlKeepKey, k.Key, k.Fingerprint, a.lease.Row); err != nil {
			return nil, err
		}
	}
	return nil, a.body.write(c, a.lease.Row)
}

// refusal finds out why the step found no row.
func (a appendStep) refusal(c *conn) (refusal, err error) {
	refusal = taskstore.ErrLeaseLost
	err = c.query(context.Background(), func(r row) error {
		refusal = fmt.Errorf("append events: %w: the log ends with %d", a2a.ErrSequence, integer(r[0]))
		return nil
	}, sqlHeld, a.lease.Row, a.lease.Fence)
	return refusal, err
}

// discard deletes the task of the lease.
func discard(c *conn, l taskstore.Lease) (refusal, err error) {
	hit, err := c.exec(sqlDiscard, l.Row, l.Fence)
	if err != nil {
		return nil, err
	}
	if hit == 0 {
		return taskstore.ErrLeaseLost, nil
	}
	return nil, deleteRest(c, l.Row)
}

// Renew writes the new end into every lease of holder.
func (s *Store) Renew(ctx context.Context, holder string, until time.Time) error {
	err := ctx.Err()
	if err == nil {
		err = s.do(op{run: func(c *conn) (_, err error) {
			_, err = c.exec(sqlRenew, micros(until), holder)
			for row, fence := range s.writer.broken {
				if err == nil {
					_, err = c.exec(sqlEndLease, row, fence)
				}
			}
			return nil, err
		}})
	}
	if err != nil {
		return fmt.Errorf("renew leases: %w", err)
	}
	return nil
}

// orNull is the value of a column that may be null.
func orNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}
