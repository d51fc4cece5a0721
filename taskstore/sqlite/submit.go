package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Refusals inside this package.
var (
	errExists   = errors.New("task id exists")
	errNotEnded = errors.New("task has not ended")
)

// keyUsed is the refusal of a key that was used.
type keyUsed struct {
	same bool  // by the same request
	no   int64 // of the task it belongs to
}

func (*keyUsed) Error() string { return "idempotency key was used" }

// refusal is how callers know it.
func (u *keyUsed) refusal() error {
	if u.same {
		return taskstore.ErrRepeated
	}
	return taskstore.ErrIdempotency
}

// Submit inserts the task. If the id or the key turns out to be taken, what is
// there is read, and run again if that was asked for. When that changes or goes
// while it is looked at, it starts over.
func (s *Store) Submit(ctx context.Context, sub taskstore.Submission) (out taskstore.Submitted, err error) {
	if err = ctx.Err(); err == nil {
		out, err = s.submit(ctx, sub)
	}
	if err != nil {
		return taskstore.Submitted{}, fmt.Errorf("submit task: %w", err)
	}
	return out, nil
}

func (s *Store) submit(ctx context.Context, sub taskstore.Submission) (taskstore.Submitted, error) {
	ins, err := newInsert(sub)
	if err != nil {
		return taskstore.Submitted{}, err
	}
	for {
		err := s.do(op{run: func(c *conn) (refusal, err error) { return ins.write(c, s.writer) }})
		var out taskstore.Submitted
		var used *keyUsed
		switch {
		case err == nil:
			return taskstore.Submitted{Task: sub.Task, Lease: leaseOf(sub.Task.ID, ins.no, sub.Run)}, nil
		case errors.As(err, &used) && !used.same:
			return out, taskstore.ErrIdempotency
		case used != nil:
			out, err = s.existing(ctx, sub.Scope, sqlByNo, used.no)
		case errors.Is(err, errExists) && sub.Rerun:
			out, err = s.revise(ctx, sub, ins)
		case errors.Is(err, errExists):
			out, err = s.existing(ctx, sub.Scope, sqlByID, string(sub.Task.ID))
		}
		if errors.Is(err, taskstore.ErrNotFound) || errors.As(err, &used) {
			continue // deleted, or used by another request, just now
		}
		return out, err
	}
}

// existing reads a task that is there already.
func (s *Store) existing(ctx context.Context, scope a2a.Scope, where string, value any) (taskstore.Submitted, error) {
	st, err := s.loadStored(ctx, where, value)
	switch {
	case err != nil:
		return taskstore.Submitted{}, err
	case st.Scope != scope:
		return taskstore.Submitted{}, taskstore.ErrForeign
	}
	return taskstore.Submitted{Task: st.Task, Existing: true}, nil
}

// revise files the events as the next revision, if the task has ended.
func (s *Store) revise(ctx context.Context, sub taskstore.Submission, ins *insert) (taskstore.Submitted, error) {
	where, id := sqlByID, string(sub.Task.ID)
	st, err := s.change(ctx, change{where: where, values: []any{id}, key: ins.key, then: ins.pushAgain, decide: func(st taskstore.Stored) (taskstore.Change, error) {
		switch {
		case st.Scope != sub.Scope:
			return taskstore.Change{}, taskstore.ErrForeign
		case st.Run.State != taskstore.RunEnded:
			return taskstore.Change{}, errNotEnded
		}
		task, events := st.Task.Clone(), taskstore.Renumber(sub.Events, st.Task.Seq)
		return taskstore.Change{Events: events, Task: task, Run: sub.Run}, task.Fold(events)
	}})
	switch {
	case errors.Is(err, errNotEnded):
		return s.existing(ctx, sub.Scope, where, id)
	case err != nil:
		return taskstore.Submitted{}, err
	}
	return taskstore.Submitted{Task: st.Task, Lease: st.Lease}, nil
}

// insert is the first step of a new task.
type insert struct {
	sub  taskstore.Submission
	body *body
	key  *key     // nil without one
	push *newPush // nil without one
	no   int64    // set by write
}

func newInsert(sub taskstore.Submission) (*insert, error) {
	if err := taskstore.CheckSequence(sub.Events, 0); err != nil {
		return nil, err
	}
	b, err := encode(sub.Events, int64(len(sub.Events)), sub.Task)
	if err != nil {
		return nil, err
	}
	ins := &insert{sub: sub, body: b}
	if sub.Push != nil {
		if ins.push, err = encodePush(sub.Task.ID, *sub.Push); err != nil {
			return nil, err
		}
	}
	if sub.Key != "" {
		ins.key = &key{scope: sub.Scope, key: sub.Key, fingerprint: sub.Fingerprint}
	}
	return ins, nil
}

func (i *insert) write(c *conn, w *writer) (refusal, err error) {
	if refusal, err := i.key.check(c); refusal != nil || err != nil {
		return refusal, err
	}
	no, t, run := w.lastNo+1, i.sub.Task, clean(i.sub.Run)
	hit, err := c.exec(sqlInsertTask, no, string(t.ID), i.sub.Scope.Tenant, i.sub.Scope.Owner, string(t.ContextID),
		stateCode(t.Status.State), micros(t.Status.At), i.body.last, i.body.snapshotSeqOr0(),
		int64(run.State), run.Holder, micros(run.Until), run.Fence, int64(run.Attempt), orNull(run.Resume))
	if err != nil {
		return nil, err
	}
	if hit == 0 {
		return errExists, nil
	}
	w.lastNo, i.no = no, no
	if err := i.body.write(c, no); err != nil {
		return nil, err
	}
	if i.push != nil {
		if err := i.push.write(c, pushTask{no: no, seq: i.body.last, ended: run.State == taskstore.RunEnded}, 0); err != nil {
			return nil, err
		}
	}
	return nil, i.key.write(c, no)
}

// pushAgain makes the task's push configs get its new revision, with the one that
// came along.
func (i *insert) pushAgain(c *conn, t pushTask) error {
	if _, err := c.exec(sqlResumePushes, t.no); err != nil || i.push == nil {
		return err
	}
	return i.push.write(c, t, t.seq-int64(len(i.sub.Events)))
}

// key is an idempotency key on its way into the database. A nil key is none.
type key struct {
	scope            a2a.Scope
	key, fingerprint string
}

// check refuses a key that was used.
func (k *key) check(c *conn) (refusal, err error) {
	if k == nil {
		return nil, nil
	}
	err = c.query(context.Background(), func(r row) error {
		refusal = &keyUsed{same: text(r[0]) == k.fingerprint, no: integer(r[1])}
		return nil
	}, sqlKey, k.scope.Tenant, k.scope.Owner, k.key)
	return refusal, err
}

func (k *key) write(c *conn, no int64) error {
	if k == nil {
		return nil
	}
	_, err := c.exec(sqlInsertKey, k.scope.Tenant, k.scope.Owner, k.key, k.fingerprint, no)
	return err
}
