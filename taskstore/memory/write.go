package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Submit stores a new task or a new revision.
func (s *Store) Submit(ctx context.Context, sub taskstore.Submission) (taskstore.Submitted, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return taskstore.Submitted{}, err
	}
	defer unlock()

	if sub.Key != "" {
		if k := s.keys[sub.Scope][sub.Key]; k != nil {
			if k.fingerprint != sub.Fingerprint {
				return taskstore.Submitted{}, taskstore.ErrIdempotency
			}
			return taskstore.Submitted{Task: k.rec.task.Clone(), Existing: true}, nil
		}
	}
	r := s.byID[sub.Task.ID]
	switch {
	case r == nil:
		r, err = s.insert(sub)
	case r.scope != sub.Scope:
		return taskstore.Submitted{}, taskstore.ErrForeign
	case !sub.Rerun || r.run.State != taskstore.RunEnded:
		return taskstore.Submitted{Task: r.task.Clone(), Existing: true}, nil
	default:
		err = s.revise(r, sub)
	}
	if err != nil {
		return taskstore.Submitted{}, fmt.Errorf("submit task: %w", err)
	}
	if sub.Push != nil {
		s.outbox.put(r, *sub.Push, r.task.Seq-int64(len(sub.Events)))
	}
	if sub.Key != "" {
		s.remember(r, sub.Key, sub.Fingerprint)
	}
	return taskstore.Submitted{Task: r.task.Clone(), Lease: r.lease()}, nil
}

func (s *Store) insert(sub taskstore.Submission) (*record, error) {
	r := &record{row: s.lastRow + 1, scope: sub.Scope, task: &a2a.Task{}}
	if err := r.put(sub.Events); err != nil {
		return nil, err
	}
	s.lastRow++
	s.byID[r.task.ID] = r
	s.byRow[r.row] = r
	if s.byScope[r.scope] == nil {
		s.byScope[r.scope] = map[int64]*record{}
	}
	s.byScope[r.scope][r.row] = r
	s.setRun(r, copyRun(sub.Run))
	return r, nil
}

func (s *Store) revise(r *record, sub taskstore.Submission) error {
	if err := r.put(taskstore.Renumber(sub.Events, r.task.Seq)); err != nil {
		return err
	}
	run := copyRun(sub.Run)
	run.Fence = r.run.Fence + 1
	r.broken = false
	s.setRun(r, run)
	s.outbox.resume(r)
	return nil
}

func (s *Store) remember(r *record, key, fingerprint string) {
	if s.keys[r.scope] == nil {
		s.keys[r.scope] = map[string]*idempotencyKeys{}
	}
	s.keys[r.scope][key] = &idempotencyKeys{rec: r, fingerprint: fingerprint}
	r.keys = append(r.keys, key)
}

// AppendAsync writes the step and calls done before it returns.
func (s *Store) AppendAsync(a taskstore.Append, done func(error)) {
	done(s.write(a))
}

func (s *Store) write(a taskstore.Append) error {
	unlock, err := s.lock(context.Background())
	if err != nil {
		return err
	}
	defer unlock()

	r := s.byRow[a.Lease.Row]
	if r == nil || r.task.ID != a.Lease.TaskID || r.run.State != taskstore.RunRunning || r.run.Fence != a.Lease.Fence {
		return taskstore.ErrLeaseLost
	}
	if r.broken {
		return fmt.Errorf("%w: an earlier step failed", taskstore.ErrLeaseLost)
	}
	if a.Discard {
		s.drop(r)
		return nil
	}
	if err := r.put(a.Events); err != nil {
		r.broken = true
		return fmt.Errorf("append events: %w", err)
	}
	for _, k := range a.Keys {
		if s.keys[r.scope][k.Key] == nil {
			s.remember(r, k.Key, k.Fingerprint)
		}
	}
	run := r.run
	run.State = a.Run
	if a.Run == taskstore.RunWaiting {
		run.Until = a.Until
	}
	if a.Resume != nil {
		run.Resume = append(json.RawMessage(nil), a.Resume...)
	}
	s.setRun(r, run)
	return nil
}

// Update runs decide under the store's lock.
func (s *Store) Update(ctx context.Context, scope a2a.Scope, id a2a.TaskID, decide func(taskstore.Stored) (taskstore.Change, error)) (taskstore.Stored, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return taskstore.Stored{}, err
	}
	defer unlock()
	r, err := s.find(scope, id)
	if err != nil {
		return taskstore.Stored{}, err
	}
	change, err := decide(r.stored())
	if err != nil {
		return taskstore.Stored{}, err
	}
	key := change.Key
	if used := s.keys[scope][key.Key]; used != nil && key.Key != "" {
		return taskstore.Stored{}, used.refusal(key.Fingerprint)
	}
	if err := r.put(change.Events); err != nil {
		return taskstore.Stored{}, fmt.Errorf("update task: %w", err)
	}
	if key.Key != "" {
		s.remember(r, key.Key, key.Fingerprint)
	}
	run := copyRun(change.Run)
	run.Fence = r.run.Fence + 1
	r.broken = false
	s.setRun(r, run)
	return r.leased(), nil
}

// refusal is the answer to a change under a key that was used.
func (k *idempotencyKeys) refusal(fingerprint string) error {
	if k.fingerprint != fingerprint {
		return taskstore.ErrIdempotency
	}
	return taskstore.ErrRepeated
}

// Claim takes up a run.
func (s *Store) Claim(ctx context.Context, id a2a.TaskID, holder string, now, until time.Time) (taskstore.Stored, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return taskstore.Stored{}, err
	}
	defer unlock()
	r := s.byID[id]
	if r == nil || r.run.State == taskstore.RunWaiting || !r.due(now) {
		return taskstore.Stored{}, taskstore.ErrNotFound
	}
	run := r.run
	if run.State == taskstore.RunRunning {
		run.Attempt++
	}
	run.State, run.Holder, run.Until = taskstore.RunRunning, holder, until
	run.Fence++
	r.broken = false
	s.setRun(r, run)
	return r.leased(), nil
}

// due tells whether somebody should act on the run.
func (r *record) due(now time.Time) bool {
	switch r.run.State {
	case taskstore.RunQueued:
		return true
	case taskstore.RunRunning:
		return r.run.Until.Before(now)
	case taskstore.RunWaiting:
		return !r.run.Until.IsZero() && r.run.Until.Before(now)
	}
	return false
}

// Renew extends all leases of holder.
func (s *Store) Renew(ctx context.Context, holder string, until time.Time) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, r := range s.open {
		if r.run.State == taskstore.RunRunning && r.run.Holder == holder {
			if r.run.Until = until; r.broken {
				r.run.Until = time.Time{}
			}
		}
	}
	return nil
}

// Prune looks at every task; which of the old ones go first is left open.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	n := 0
	for _, r := range s.byRow {
		if n >= limit {
			break
		}
		if r.run.State == taskstore.RunEnded && r.task.Status.At.Before(before) && r.delivered() {
			s.drop(r)
			n++
		}
	}
	return n, nil
}

// copyRun returns the run with resume data of its own.
func copyRun(run taskstore.Run) taskstore.Run {
	if run.Resume != nil {
		run.Resume = append(json.RawMessage(nil), run.Resume...)
	}
	return run
}
