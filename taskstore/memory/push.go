package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// outbox is all push configs, guarded by Store.mu.
type outbox struct {
	// last is the number of the newest push config or dead letter; numbers are never
	// used again, so that an old claim fits no new config.
	last int64
	all  map[int64]*push // by row
	due  map[int64]*push // the active ones that have a due time
}

// push is a push config, guarded by Store.mu.
type push struct {
	row, fence int64
	rec        *record
	config     a2a.PushConfig
	// outcome is where it stands; its Keep and Dead are not set.
	outcome taskstore.PushOutcome
	idle    bool // it has no due time
	dead    []deadLetter
}

// deadLetter is a dead letter with its place in the order of all.
type deadLetter struct {
	no int64
	taskstore.DeadPush
}

// settle files where the config stands now, and lets it change hands.
func (b *outbox) settle(p *push, from int64, o taskstore.PushOutcome) {
	p.outcome, p.idle = o.Settle(from, p.rec.task.Seq, p.rec.run.State == taskstore.RunEnded)
	p.fence++
	if b.all == nil {
		b.all, b.due = map[int64]*push{}, map[int64]*push{}
	}
	b.all[p.row] = p
	if p.idle {
		delete(b.due, p.row)
	} else {
		b.due[p.row] = p
	}
}

// put adds the config to the record or replaces the one of its id.
func (b *outbox) put(r *record, c a2a.PushConfig, after int64) {
	c.TaskID = r.task.ID
	p := r.push(c.ID)
	if p == nil {
		b.last++
		p = &push{row: b.last, rec: r}
		r.pushes = append(r.pushes, p)
	}
	p.config = c
	b.settle(p, 0, taskstore.PushOutcome{Cursor: after})
}

// resume makes the configs of a task with a new revision due that nobody looks at.
func (b *outbox) resume(r *record) {
	for _, p := range r.pushes {
		if p.idle && p.outcome.State != taskstore.PushDisabled {
			b.settle(p, p.outcome.Cursor, taskstore.PushOutcome{})
		}
	}
}

func (b *outbox) drop(pushes ...*push) {
	for _, p := range pushes {
		delete(b.all, p.row)
		delete(b.due, p.row)
	}
}

// push returns the config with the id, or nil.
func (r *record) push(id string) *push {
	for _, p := range r.pushes {
		if p.config.ID == id {
			return p
		}
	}
	return nil
}

// delivered tells whether no active config is behind.
func (r *record) delivered() bool {
	return !slices.ContainsFunc(r.pushes, (*push).behind)
}

// behind tells whether there is something to deliver.
func (p *push) behind() bool {
	return p.outcome.State == taskstore.PushActive && p.outcome.Cursor < p.rec.task.Seq
}

// job returns the config as the worker sees it, without a claim.
func (p *push) job() taskstore.PushJob {
	return taskstore.PushJob{
		Scope: p.rec.scope, Config: p.config, State: p.outcome.State,
		Cursor: p.outcome.Cursor, Seq: p.rec.task.Seq, Attempts: p.outcome.Attempts,
		Due: p.outcome.Due, LastError: p.outcome.LastError, Row: p.row,
	}
}

// byDue orders configs by their due time, those without one last.
func byDue(a, b *push) int {
	switch {
	case a.idle != b.idle && b.idle:
		return -1
	case a.idle != b.idle:
		return 1
	}
	return cmp.Or(a.outcome.Due.Compare(b.outcome.Due), cmp.Compare(a.row, b.row))
}

func byRow(a, b *push) int { return cmp.Compare(a.row, b.row) }

// jobs returns the first ones in the given order.
func jobs(pushes []*push, order func(a, b *push) int, limit int) []taskstore.PushJob {
	slices.SortFunc(pushes, order)
	var out []taskstore.PushJob
	for _, p := range pushes[:min(len(pushes), max(limit, 0))] {
		out = append(out, p.job())
	}
	return out
}

// PutPush adds or replaces a push config.
func (s *Store) PutPush(ctx context.Context, scope a2a.Scope, c a2a.PushConfig, after int64, limit int) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.find(scope, c.TaskID)
	if err != nil {
		return err
	}
	others := len(r.pushes)
	if r.push(c.ID) != nil {
		others--
	}
	if others >= limit {
		return taskstore.ErrTooMany
	}
	s.outbox.put(r, c, after)
	return nil
}

// PushList returns the push configs of a task.
func (s *Store) PushList(ctx context.Context, scope a2a.Scope, id a2a.TaskID) ([]a2a.PushConfig, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.find(scope, id)
	if err != nil {
		return nil, err
	}
	var list []a2a.PushConfig
	for _, p := range r.pushes {
		list = append(list, p.config)
	}
	return list, nil
}

// DeletePush removes a push config.
func (s *Store) DeletePush(ctx context.Context, scope a2a.Scope, id a2a.TaskID, config string) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.find(scope, id)
	if err != nil {
		return err
	}
	if p := r.push(config); p != nil {
		s.outbox.drop(p)
		r.pushes = slices.DeleteFunc(r.pushes, func(q *push) bool { return q == p })
	}
	return nil
}

// PushTasks returns the active push configs.
func (s *Store) PushTasks(ctx context.Context, after int64, limit int) ([]taskstore.PushJob, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var active []*push
	for row, p := range s.outbox.all {
		if row > after && p.outcome.State == taskstore.PushActive {
			active = append(active, p)
		}
	}
	return jobs(active, byRow, limit), nil
}

// ClaimPush looks at the configs with a due time, or at those of one task.
func (s *Store) ClaimPush(ctx context.Context, id a2a.TaskID, now, until time.Time, limit int) ([]taskstore.PushJob, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var ready []*push
	look := func(p *push) {
		if p.behind() && !p.outcome.Due.After(now) {
			ready = append(ready, p)
		}
	}
	if id == "" {
		for _, p := range s.outbox.due {
			look(p)
		}
	} else if r := s.byID[id]; r != nil {
		for _, p := range r.pushes {
			look(p)
		}
	}
	claimed := jobs(ready, byDue, limit)
	for i := range claimed {
		p := ready[i]
		o := p.outcome
		o.Due = until
		s.outbox.settle(p, o.Cursor, o)
		claimed[i].Due, claimed[i].Fence = until, p.fence
	}
	return claimed, nil
}

// FinishPush records the outcome of a claimed job.
func (s *Store) FinishPush(ctx context.Context, j taskstore.PushJob, o taskstore.PushOutcome) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p := s.outbox.all[j.Row]
	if p == nil || p.fence != j.Fence {
		return taskstore.ErrLeaseLost
	}
	if o.Dead != nil {
		s.outbox.last++
		dead := deadLetter{no: s.outbox.last, DeadPush: *o.Dead}
		dead.TaskID, dead.Config = p.rec.task.ID, p.config.ID
		p.dead = append(p.dead, dead)
	}
	keep := o.Keep
	o.Dead, o.Keep = nil, false
	if !keep {
		s.outbox.settle(p, p.outcome.Cursor, o)
		return nil
	}
	o.Due, o.State = p.outcome.Due, p.outcome.State
	o.Cursor = min(max(o.Cursor, p.outcome.Cursor), p.rec.task.Seq)
	p.outcome = o
	return nil
}

// DeadPushes returns the dead letters.
func (s *Store) DeadPushes(ctx context.Context, id a2a.TaskID, limit int) ([]taskstore.DeadPush, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var dead []deadLetter
	for _, p := range s.outbox.all {
		if id == "" || p.rec.task.ID == id {
			dead = append(dead, p.dead...)
		}
	}
	slices.SortFunc(dead, func(a, b deadLetter) int { return cmp.Compare(b.no, a.no) })
	var out []taskstore.DeadPush
	for _, d := range dead[:min(len(dead), max(limit, 0))] {
		out = append(out, d.DeadPush)
	}
	return out, nil
}

// Pushing returns the configs that are not done.
func (s *Store) Pushing(ctx context.Context, limit int) ([]taskstore.PushJob, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var pushing []*push
	for _, p := range s.outbox.all {
		if p.outcome.State != taskstore.PushDone {
			pushing = append(pushing, p)
		}
	}
	return jobs(pushing, byDue, limit), nil
}

// RevivePush makes dead letters due again.
func (s *Store) RevivePush(ctx context.Context, id a2a.TaskID, config string) (int, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	r := s.byID[id]
	if r == nil {
		return 0, nil
	}
	n := 0
	for _, p := range r.pushes {
		if config != "" && p.config.ID != config || len(p.dead) == 0 && p.outcome.State != taskstore.PushDisabled {
			continue
		}
		cursor := p.outcome.Cursor
		for _, d := range p.dead {
			cursor = min(cursor, d.Seq-1)
		}
		p.dead = nil
		s.outbox.settle(p, 0, taskstore.PushOutcome{Cursor: cursor})
		n++
	}
	return n, nil
}
