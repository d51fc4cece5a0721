package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Tasks reads the page's ids and the total from an index, then the tasks, all
// as of one commit.
func (s *Store) Tasks(ctx context.Context, scope a2a.Scope, q taskstore.Query) (page taskstore.Page, err error) {
	from, values := selection(scope, q)
	err = s.view(ctx, func(c *conn) error {
		err := c.query(ctx, func(r row) error { page.Total = int(integer(r[0])); return nil }, "SELECT count(*)"+from, values...)
		if err != nil {
			return err
		}
		if q.After != nil {
			from += " AND (status_at, id) < (?, ?)"
			values = append(values, micros(q.After.StatusAt), string(q.After.ID))
		}
		nos, err := numbers(ctx, c, "SELECT no"+from+" ORDER BY status_at DESC, id DESC LIMIT ?", append(values, int64(max(q.Limit, 0))+1)...)
		if err != nil {
			return err
		}
		if len(nos) > max(q.Limit, 0) {
			nos, page.More = nos[:max(q.Limit, 0)], true
		}
		for _, no := range nos {
			task, err := loadTask(c, sqlByNo, no)
			if err != nil {
				return err
			}
			page.Tasks = append(page.Tasks, task)
		}
		return nil
	})
	if err != nil {
		return taskstore.Page{}, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

// selection is the part of a query behind SELECT that all its pages share. The
// index is named, since SQLite has no statistics here to choose it by.
func selection(scope a2a.Scope, q taskstore.Query) (string, []any) {
	var b strings.Builder
	values := []any{scope.Tenant, scope.Owner}
	if q.ContextID == "" {
		b.WriteString(" FROM tasks INDEXED BY tasks_by_status WHERE tenant = ? AND owner = ?")
	} else {
		b.WriteString(" FROM tasks INDEXED BY tasks_by_context WHERE tenant = ? AND owner = ? AND context_id = ?")
		values = append(values, string(q.ContextID))
	}
	if q.State != "" {
		b.WriteString(" AND state = ?")
		values = append(values, stateCode(q.State))
	}
	if !q.StatusAfter.IsZero() {
		b.WriteString(" AND status_at >= ?")
		values = append(values, micros(q.StatusAfter))
	}
	return b.String(), values
}

// Open reads the open runs from their index.
func (s *Store) Open(ctx context.Context, now time.Time, after int64, limit int) (runs []taskstore.Stored, err error) {
	err = s.view(ctx, func(c *conn) error {
		nos, err := numbers(ctx, c, sqlOpen, after, micros(now), int64(max(limit, 0)))
		if err != nil {
			return err
		}
		for _, no := range nos {
			st, err := loadStored(c, sqlByNo, no)
			if err != nil {
				return err
			}
			st.Lease = taskstore.Lease{TaskID: st.Task.ID, Row: no}
			runs = append(runs, st.Stored)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read open runs: %w", err)
	}
	return runs, nil
}

// pruneStep is how many tasks one step of the writer deletes, so that others are
// not held up for long.
const pruneStep = 50

// Prune finds the tasks through the index of ended ones and deletes them in
// small steps.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prune tasks: %w", err)
		}
	}()
	var nos []int64
	err = s.read(ctx, func(c *conn) (err error) {
		nos, err = numbers(ctx, c, sqlPrunable, micros(before), int64(max(limit, 0)))
		return err
	})
	for err == nil && len(nos) > 0 {
		if err := ctx.Err(); err != nil {
			return deleted, err
		}
		step := nos[:min(len(nos), pruneStep)]
		nos = nos[len(step):]
		n := 0
		err = s.do(op{run: func(c *conn) (_, err error) {
			n, err = prune(c, step, before)
			return nil, err
		}})
		if err == nil {
			deleted += n
		}
	}
	return deleted, err
}

func prune(c *conn, nos []int64, before time.Time) (n int, err error) {
	for _, no := range nos {
		hit, err := c.exec(sqlPrune, no, micros(before))
		if err != nil {
			return n, err
		}
		if hit == 0 {
			continue // run again, or deleted by somebody else
		}
		n++
		if err := deleteRest(c, no); err != nil {
			return n, err
		}
	}
	return n, nil
}

// deleteRest deletes what belongs to a task that was just deleted.
func deleteRest(c *conn, no int64) error {
	_, err1 := c.exec(sqlDeleteEvents, eventsKey(no, 0), eventsKey(no+1, 0))
	_, err2 := c.exec(sqlDeleteSnapshot, no)
	_, err3 := c.exec(sqlDeleteKeys, no)
	return errors.Join(err1, err2, err3, deletePushes(c, no))
}

// numbers reads a list of task numbers.
func numbers(ctx context.Context, c *conn, query string, values ...any) (nos []int64, err error) {
	err = c.query(ctx, func(r row) error { nos = append(nos, integer(r[0])); return nil }, query, values...)
	return nos, err
}
