package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Tasks sorts the scope's matches and cuts the page out of them.
func (s *Store) Tasks(ctx context.Context, scope a2a.Scope, q taskstore.Query) (taskstore.Page, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return taskstore.Page{}, err
	}
	defer unlock()

	var page taskstore.Page
	var behind []*record
	for _, r := range s.byScope[scope] {
		if !matches(r.task, q) {
			continue
		}
		page.Total++
		if q.After == nil || compare(position(r.task), *q.After) > 0 {
			behind = append(behind, r)
		}
	}
	slices.SortFunc(behind, func(a, b *record) int { return compare(position(a.task), position(b.task)) })
	if limit := max(q.Limit, 0); len(behind) > limit {
		behind, page.More = behind[:limit], true
	}
	for _, r := range behind {
		page.Tasks = append(page.Tasks, r.task.Clone())
	}
	return page, nil
}

func matches(t *a2a.Task, q taskstore.Query) bool {
	return (q.ContextID == "" || t.ContextID == q.ContextID) &&
		(q.State == "" || t.Status.State == q.State) &&
		(q.StatusAfter.IsZero() || !t.Status.At.Before(q.StatusAfter))
}

func position(t *a2a.Task) taskstore.Position {
	return taskstore.Position{StatusAt: t.Status.At, ID: t.ID}
}

// compare orders positions as a Query does: newest first, then id descending.
func compare(a, b taskstore.Position) int {
	if c := b.StatusAt.Compare(a.StatusAt); c != 0 {
		return c
	}
	return strings.Compare(string(b.ID), string(a.ID))
}

// Open returns the runs to act on, oldest first.
func (s *Store) Open(ctx context.Context, now time.Time, after int64, limit int) ([]taskstore.Stored, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var open []*record
	for row, r := range s.open {
		if row > after && r.due(now) {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, func(a, b *record) int { return cmp.Compare(a.row, b.row) })
	open = open[:min(len(open), max(limit, 0))]
	out := make([]taskstore.Stored, len(open))
	for i, r := range open {
		out[i] = r.stored()
		out[i].Lease = taskstore.Lease{TaskID: r.task.ID, Row: r.row}
	}
	return out, nil
}
