package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

type row = []driver.Value

// stored is a task as it was read, with the number of its row.
type stored struct {
	taskstore.Stored
	no, seq int64
}

// Task folds the snapshot, if there is one, and the events behind it.
func (s *Store) Task(ctx context.Context, scope a2a.Scope, id a2a.TaskID) (*a2a.Task, error) {
	var parts fetched
	err := s.read(ctx, func(c *conn) (err error) {
		parts, err = fetch(c, sqlTaskColumns, sqlByScopedID, string(id), scope.Tenant, scope.Owner)
		return err
	})
	if err == nil {
		// Without the connection, which others wait for.
		err = parts.fold()
	}
	if err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	return parts.Task, nil
}

// Events reads a piece of the log.
func (s *Store) Events(ctx context.Context, scope a2a.Scope, id a2a.TaskID, after int64, limit int) ([]a2a.Event, error) {
	after = min(max(after, 0), maxSeq)
	var events []a2a.Event
	found := false
	err := s.read(ctx, func(c *conn) error {
		return c.query(context.Background(), func(r row) error {
			found = true
			if len(events) >= limit || r[0] == nil {
				return nil
			}
			step, err := taskstore.DecodeEvents(blob(r[0]))
			for _, e := range step {
				if e.Seq > after && len(events) < limit {
					events = append(events, e)
				}
			}
			return err
		}, sqlEvents, after, string(id), scope.Tenant, scope.Owner, int64(max(limit, 1)))
	})
	if err == nil && !found {
		err = taskstore.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

// loadTask reads the task of the where clause.
func loadTask(c *conn, where string, values ...any) (*a2a.Task, error) {
	parts, err := fetch(c, sqlTaskColumns, where, values...)
	if err == nil {
		err = parts.fold()
	}
	return parts.Task, err
}

// loadStored reads the task of the where clause with its run. The two belong to
// one moment only within a transaction; outside of one, errMoved says that the
// task changed meanwhile.
func loadStored(c *conn, where string, values ...any) (stored, error) {
	parts, err := fetch(c, sqlTaskColumns+sqlRunColumns, where, values...)
	if err == nil {
		err = parts.fold()
	}
	if err == nil && parts.Task.Seq != parts.seq {
		err = errMoved
	}
	if err != nil {
		return stored{}, err
	}
	return parts.stored, nil
}

// errMoved: the task changed while it was read, or between reading and writing.
var errMoved = errors.New("task changed meanwhile")

// fetched is a task as it was read, before it is folded.
type fetched struct {
	stored
	snapshot []byte   // nil without one
	bodies   [][]byte // the events behind the snapshot, encoded
}

// fetch reads the parts of the task of the where clause.
//
// It may take two queries without a transaction: a snapshot is only ever
// replaced by a later one, so what they give is the task as it was at the first
// query or a little later.
func fetch(c *conn, columns, where string, values ...any) (fetched, error) {
	var st fetched
	var snapshotSeq int64
	err := c.query(context.Background(), func(r row) error {
		if r[3] != nil {
			st.bodies = append(st.bodies, blob(r[3]))
		}
		if st.no != 0 {
			return nil
		}
		st.no, st.seq, snapshotSeq = integer(r[0]), integer(r[1]), integer(r[2])
		if len(r) > 4 {
			st.Scope = a2a.Scope{Tenant: text(r[4]), Owner: text(r[5])}
			st.Run = taskstore.Run{
				State: taskstore.RunState(integer(r[6])), Holder: text(r[7]), Until: timeOf(integer(r[8])),
				Fence: integer(r[9]), Attempt: int(integer(r[10])), Resume: blob(r[11]),
			}
		}
		return nil
	}, columns+sqlWithEvents+where, values...)
	switch {
	case err != nil:
		return fetched{}, err
	case st.no == 0:
		return fetched{}, taskstore.ErrNotFound
	case snapshotSeq == 0:
		return st, nil
	}
	err = c.query(context.Background(), func(r row) error { st.snapshot = blob(r[0]); return nil }, sqlSnapshot, st.no)
	if err == nil && st.snapshot == nil {
		err = taskstore.ErrNotFound // deleted just now
	}
	return st, err
}

// fold makes the task out of its parts.
func (f *fetched) fold() (err error) {
	f.Task = new(a2a.Task)
	if f.snapshot != nil {
		if f.Task, err = taskstore.DecodeTask(f.snapshot); err != nil {
			return err
		}
	}
	for _, body := range f.bodies {
		events, err := taskstore.DecodeEvents(body)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Seq <= f.Task.Seq {
				continue // the snapshot was newer
			}
			if err := f.Task.Apply(e); err != nil {
				return fmt.Errorf("fold event %d of task %d: %w", e.Seq, f.no, err)
			}
		}
	}
	return nil
}
