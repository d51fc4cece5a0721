package pending

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/skillyard/skillyard/a2a"
)

// maxIDs is how many ids an AmbiguousError names.
const maxIDs = 20

// Get returns the entry with the given ref, its answer included; ErrNone if there is
// none.
func (r *Registry) Get(ctx context.Context, ref string) (Entry, error) {
	var e Entry
	err := r.read(ctx, func(t tx) (err error) {
		e, err = t.entry(ref)
		return err
	})
	return e, wrap("get", err)
}

// Pending returns the entries that have not ended, the newest first; those still being
// sent are among them.
func (r *Registry) Pending(ctx context.Context, f Filter) ([]Entry, error) {
	var list []Entry
	err := r.read(ctx, func(t tx) (err error) {
		list, err = t.list(sqlPending(f), f.values()...)
		return err
	})
	return list, wrap("list pending", err)
}

// History returns the entries that have ended, the newest end first, without their
// answers: at most limit, or all if limit is 0 or less.
func (r *Registry) History(ctx context.Context, f Filter, limit int) ([]Entry, error) {
	if limit <= 0 {
		limit = -1 // SQLite's word for no limit
	}
	var list []Entry
	err := r.read(ctx, func(t tx) (err error) {
		list, err = t.list(sqlHistory(f), append(f.values(), limit)...)
		return err
	})
	return list, wrap("list history", err)
}

// Newest returns the pending entry that was sent last and has a task id, so that it
// can be polled; ErrNone if there is none.
func (r *Registry) Newest(ctx context.Context, f Filter) (Entry, error) {
	var list []Entry
	err := r.read(ctx, func(t tx) (err error) {
		list, err = t.list(sqlNewest(f), f.values()...)
		return err
	})
	if err == nil && len(list) == 0 {
		err = ErrNone
	}
	if err != nil {
		return Entry{}, wrap("find newest", err)
	}
	return list[0], nil
}

// Find returns the entry that id stands for, its answer included. It looks for a task
// id or ref that is id among the pending ones, then in the history; then for one that
// begins with id, which has to have MinPrefix characters or more, in the same order.
// Of the runs of one task in the history it means the last. It fails with an error
// that wraps ErrNone or is an *AmbiguousError.
func (r *Registry) Find(ctx context.Context, id string, f Filter) (Entry, error) {
	var e Entry
	err := r.read(ctx, func(t tx) (err error) {
		e, err = t.find(id, f)
		return err
	})
	return e, wrap("find", err)
}

func (t tx) find(id string, f Filter) (Entry, error) {
	if id == "" {
		return Entry{}, ErrNone
	}
	ranges := [][2]string{{id, id}}
	if utf8.RuneCountInString(id) >= MinPrefix {
		ranges = append(ranges, [2]string{id, id + "\xff"}) // a byte that UTF-8 does not have
	}
	for _, r := range ranges {
		for _, condition := range []string{isPending, isEnded} {
			list, err := t.matches(condition, r, f)
			switch {
			case err != nil:
				return Entry{}, err
			case len(list) == 1:
				return t.entry(list[0].Ref)
			case len(list) > 1:
				return Entry{}, ambiguous(id, list)
			}
		}
	}
	if len(ranges) == 1 {
		return Entry{}, fmt.Errorf("%w: %q; the beginning of an id needs %d characters or more", ErrNone, id, MinPrefix)
	}
	return Entry{}, fmt.Errorf("%w: %q", ErrNone, id)
}

// matches returns the entries whose task id or ref lies in a range, of each task the
// last run; not many more than an AmbiguousError names.
func (t tx) matches(condition string, r [2]string, f Filter) ([]Entry, error) {
	values := append(append([]any{r[0], r[1]}, f.values()...), maxIDs+1)
	byTask, err := t.list(sqlByTask(condition, f), values...)
	if err != nil {
		return nil, err
	}
	byRef, err := t.list(sqlByRef(condition, f), values...)
	if err != nil {
		return nil, err
	}
	for _, e := range byRef {
		known := false
		for _, k := range byTask {
			known = known || k.Ref == e.Ref
		}
		if !known {
			byTask = append(byTask, e)
		}
	}
	return byTask, nil
}

// ambiguous names the entries by what finds each of them.
func ambiguous(id string, list []Entry) error {
	times := map[a2a.TaskID]int{"": 2}
	for _, e := range list {
		times[e.TaskID]++
	}
	err := &AmbiguousError{ID: id, More: len(list) > maxIDs}
	for _, e := range list[:min(len(list), maxIDs)] {
		name := string(e.TaskID)
		if times[e.TaskID] > 1 {
			name = e.Ref
		}
		err.IDs = append(err.IDs, name)
	}
	return err
}

// Revision returns a number that grows with every change by any process. To read it
// costs next to nothing, so that it can be watched.
func (r *Registry) Revision(ctx context.Context) (int64, error) {
	var n int64
	err := r.read(ctx, func(t tx) error { return t.QueryRow(sqlRevision).Scan(&n) })
	return n, wrap("read revision", err)
}

// Prune deletes the entries that ended before a time and returns how many there were.
// Pending ones are never pruned.
func (r *Registry) Prune(ctx context.Context, endedBefore time.Time) (int, error) {
	total := 0
	for {
		n := 0
		// In steps, so that the other processes are not kept waiting.
		err := r.write(ctx, func(t tx) (err error) {
			n, err = t.exec(sqlPrune, micros(endedBefore), pruneStep)
			return err
		})
		total += n
		if err != nil || n < pruneStep {
			return total, wrap("prune", err)
		}
	}
}

// pruneStep is how many entries one transaction deletes.
const pruneStep = 200

// wrap says what was tried; nil stays nil.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
