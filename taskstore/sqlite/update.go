package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Update decides on what a reader saw, outside of the writer, and writes if
// nothing has changed since.
func (s *Store) Update(ctx context.Context, scope a2a.Scope, id a2a.TaskID, decide func(taskstore.Stored) (taskstore.Change, error)) (taskstore.Stored, error) {
	st, err := s.change(ctx, change{where: sqlByScopedID, values: []any{string(id), scope.Tenant, scope.Owner}, decide: decide})
	var used *keyUsed
	if errors.As(err, &used) {
		return taskstore.Stored{}, used.refusal()
	}
	return st, err
}

// Keyed reads the task of a key.
func (s *Store) Keyed(ctx context.Context, scope a2a.Scope, k taskstore.Key) (*a2a.Task, error) {
	var task *a2a.Task
	err := s.read(ctx, func(c *conn) error {
		refusal, err := (&key{scope: scope, key: k.Key, fingerprint: k.Fingerprint}).check(c)
		used, _ := refusal.(*keyUsed)
		switch {
		case err != nil:
			return err
		case used == nil:
			return taskstore.ErrNotFound
		case !used.same:
			return taskstore.ErrIdempotency
		}
		task, err = loadTask(c, sqlByNo, used.no)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return task, nil
}

// Claim is an Update of anybody's task that takes up its run.
func (s *Store) Claim(ctx context.Context, id a2a.TaskID, holder string, now, until time.Time) (taskstore.Stored, error) {
	return s.change(ctx, change{where: sqlByID, values: []any{string(id)}, decide: func(st taskstore.Stored) (taskstore.Change, error) {
		run := st.Run
		switch {
		case run.State == taskstore.RunQueued:
		case run.State == taskstore.RunRunning && run.Until.Before(now):
			run.Attempt++
		default:
			return taskstore.Change{}, fmt.Errorf("claim task: %w", taskstore.ErrNotFound)
		}
		run.State, run.Holder, run.Until = taskstore.RunRunning, holder, until
		return taskstore.Change{Task: st.Task, Run: run}, nil
	}})
}

// change is a task to read, what to decide on it, and what to write with it.
type change struct {
	where  string
	values []any
	decide func(taskstore.Stored) (taskstore.Change, error)
	key    *key
	// then writes more in the same transaction; nil for nothing.
	then func(*conn, pushTask) error
}

// maxRaces is how often a change is decided outside of the writer. If the task
// moved each time, the change is made inside, where nothing else moves.
const maxRaces = 3

func (s *Store) change(ctx context.Context, ch change) (taskstore.Stored, error) {
	for range maxRaces {
		st, err := s.loadStored(ctx, ch.where, ch.values...)
		if err != nil {
			return taskstore.Stored{}, err
		}
		sw, err := newSwap(st, ch)
		if err != nil {
			return taskstore.Stored{}, err
		}
		err = s.do(op{run: sw.write, heals: st.no})
		if err == nil {
			return sw.after, nil
		}
		if !errors.Is(err, errMoved) {
			return taskstore.Stored{}, err
		}
	}
	return s.changeInWriter(ch)
}

// changeInWriter makes the change within the writer's transaction.
func (s *Store) changeInWriter(ch change) (taskstore.Stored, error) {
	var after taskstore.Stored
	var panicked any
	err := s.do(op{run: func(c *conn) (refusal, err error) {
		// A panic of decide belongs to the caller, not to the writer.
		defer func() {
			if p := recover(); p != nil {
				panicked, refusal, err = p, errPanic, nil
			}
		}()
		st, err := loadStored(c, ch.where, ch.values...)
		switch {
		case errors.Is(err, taskstore.ErrNotFound):
			return err, nil
		case err != nil:
			return nil, err
		}
		sw, err := newSwap(st, ch)
		if err != nil {
			return err, nil
		}
		after = sw.after
		return sw.write(c)
	}})
	if errors.Is(err, errPanic) {
		panic(panicked)
	}
	if err != nil {
		return taskstore.Stored{}, err
	}
	return after, nil
}

// errPanic: decide panicked inside the writer.
var errPanic = errors.New("panic in decide")

// loadStored reads a task with its run as of one moment.
func (s *Store) loadStored(ctx context.Context, where string, values ...any) (st stored, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		st, err = loadStored(c, where, values...)
		return err
	})
	if errors.Is(err, errMoved) {
		// It has a snapshot, which takes a second query, and is busy.
		err = s.view(ctx, func(c *conn) (err error) {
			st, err = loadStored(c, where, values...)
			return err
		})
	}
	return st, err
}

// swap writes a change if the task is still what it was decided on.
type swap struct {
	before stored
	after  taskstore.Stored
	body   *body
	key    *key
	then   func(*conn, pushTask) error
}

func newSwap(st stored, ch change) (*swap, error) {
	c, err := ch.decide(st.Stored)
	if err != nil {
		return nil, err // as it is
	}
	if c.Key.Key != "" {
		ch.key = &key{scope: st.Scope, key: c.Key.Key, fingerprint: c.Key.Fingerprint}
	}
	if err := taskstore.CheckSequence(c.Events, st.Task.Seq); err != nil {
		return nil, fmt.Errorf("update task: %w", err)
	}
	snapshot := c.Task
	if len(c.Events) == 0 {
		snapshot = nil // nothing to fold
	}
	b, err := encode(c.Events, st.Task.Seq+int64(len(c.Events)), snapshot)
	if err != nil {
		return nil, fmt.Errorf("update task: %w", err)
	}
	run := clean(c.Run)
	run.Fence = st.Run.Fence + 1
	return &swap{before: st, body: b, key: ch.key, then: ch.then, after: taskstore.Stored{
		Scope: st.Scope, Task: c.Task, Run: run, Lease: leaseOf(c.Task.ID, st.no, run),
	}}, nil
}

func (s *swap) write(c *conn) (refusal, err error) {
	if refusal, err := s.key.check(c); refusal != nil || err != nil {
		return refusal, err
	}
	was, task, run := s.before.Run, s.after.Task, s.after.Run
	hit, err := c.exec(sqlSwap, string(task.ContextID), stateCode(task.Status.State), micros(task.Status.At),
		s.body.last, s.body.snapshotSeq(), int64(run.State), run.Holder, micros(run.Until), int64(run.Attempt), orNull(run.Resume),
		s.before.no, was.Fence, s.before.seq, int64(was.State), micros(was.Until), orNull(was.Resume))
	if err != nil {
		return nil, err
	}
	if hit == 0 {
		return errMoved, nil
	}
	if err := s.body.write(c, s.before.no); err != nil {
		return nil, err
	}
	if s.then != nil {
		if err := s.then(c, pushTask{no: s.before.no, seq: s.body.last, ended: run.State == taskstore.RunEnded}); err != nil {
			return nil, err
		}
	}
	return nil, s.key.write(c, s.before.no)
}

// clean returns the run without what its state does not have.
func clean(run taskstore.Run) taskstore.Run {
	if run.State != taskstore.RunRunning {
		run.Holder = ""
	}
	if run.State != taskstore.RunRunning && run.State != taskstore.RunWaiting {
		run.Until = time.Time{}
	}
	return run
}

// leaseOf returns the lease of a run that was just written, or none.
func leaseOf(id a2a.TaskID, no int64, run taskstore.Run) taskstore.Lease {
	if run.State != taskstore.RunRunning {
		return taskstore.Lease{}
	}
	return taskstore.Lease{TaskID: id, Fence: run.Fence, Row: no}
}
