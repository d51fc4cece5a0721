package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// newPush is a push config on its way into the database.
type newPush struct {
	id   string
	body []byte
}

func encodePush(id a2a.TaskID, c a2a.PushConfig) (*newPush, error) {
	c.TaskID = id
	body, err := json.Marshal(&c)
	if err != nil {
		return nil, fmt.Errorf("encode push config: %w", err)
	}
	return &newPush{id: c.ID, body: body}, nil
}

func (p *newPush) write(c *conn, t pushTask, after int64) error {
	o, waits := taskstore.PushOutcome{Cursor: after}.Settle(0, t.seq, t.ended)
	_, err := c.exec(sqlPutPush, t.no, p.id, p.body, int64(o.State), o.Cursor, dueOf(o, waits))
	return err
}

// dueOf is the stored form of an outcome's due time.
func dueOf(o taskstore.PushOutcome, waits bool) int64 {
	if waits {
		return idle
	}
	return micros(o.Due)
}

// pushTask is what a push config has to know of its task.
type pushTask struct {
	no, seq int64
	ended   bool
}

func ended(v int64) bool { return taskstore.RunState(v) == taskstore.RunEnded }

// findPushTask returns the task in the scope; ErrNotFound is a refusal.
func findPushTask(c *conn, scope a2a.Scope, id a2a.TaskID) (t pushTask, refusal, err error) {
	refusal = taskstore.ErrNotFound
	err = c.query(context.Background(), func(r row) error {
		t, refusal = pushTask{no: integer(r[0]), seq: integer(r[1]), ended: ended(integer(r[2]))}, nil
		return nil
	}, sqlPushTask, string(id), scope.Tenant, scope.Owner)
	return t, refusal, err
}

// PutPush counts the task's other configs and writes in one step.
func (s *Store) PutPush(ctx context.Context, scope a2a.Scope, c a2a.PushConfig, after int64, limit int) error {
	p, err := encodePush(c.TaskID, c)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = s.do(op{run: func(conn *conn) (refusal, err error) {
			t, refusal, err := findPushTask(conn, scope, c.TaskID)
			if refusal == nil && err == nil {
				refusal, err = p.fits(conn, t, limit)
			}
			if refusal != nil || err != nil {
				return refusal, err
			}
			return nil, p.write(conn, t, after)
		}})
	}
	if err != nil {
		return fmt.Errorf("put push config: %w", err)
	}
	return nil
}

// fits refuses a config beyond the limit.
func (p *newPush) fits(c *conn, t pushTask, limit int) (refusal, err error) {
	others := 0
	err = c.query(context.Background(), func(r row) error {
		if text(r[0]) != p.id {
			others++
		}
		return nil
	}, sqlPushIDs, t.no)
	if others >= limit {
		refusal = taskstore.ErrTooMany
	}
	return refusal, err
}

// PushList reads the configs of a task.
func (s *Store) PushList(ctx context.Context, scope a2a.Scope, id a2a.TaskID) (list []a2a.PushConfig, err error) {
	found := false
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			found = true
			if r[1] == nil {
				return nil
			}
			p, err := decodePush(r[1])
			list = append(list, p)
			return err
		}, sqlPushBodies, string(id), scope.Tenant, scope.Owner)
	})
	if err == nil && !found {
		err = taskstore.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("list push configs: %w", err)
	}
	return list, nil
}

// DeletePush deletes a config with its dead letters.
func (s *Store) DeletePush(ctx context.Context, scope a2a.Scope, id a2a.TaskID, config string) error {
	err := ctx.Err()
	if err == nil {
		err = s.do(op{run: func(c *conn) (refusal, err error) {
			t, refusal, err := findPushTask(c, scope, id)
			if refusal != nil || err != nil {
				return refusal, err
			}
			hit, err := c.exec(sqlDeletePush, t.no, config)
			if hit > 0 && err == nil {
				_, err = c.exec(sqlDeleteDeadPushes, t.no, config)
			}
			return nil, err
		}})
	}
	if err != nil {
		return fmt.Errorf("delete push config: %w", err)
	}
	return nil
}

// deletePushes deletes what a task that goes has of configs and dead letters.
func deletePushes(c *conn, no int64) error {
	hit, err := c.exec(sqlDeletePushes, no)
	if hit > 0 && err == nil {
		_, err = c.exec(sqlDeleteAllDead, no)
	}
	return err
}

// PushTasks reads the active configs from their index.
func (s *Store) PushTasks(ctx context.Context, after int64, limit int) (jobs []taskstore.PushJob, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		jobs, err = readJobs(ctx, c, sqlPushTasks, after, int64(max(limit, 0)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read push configs: %w", err)
	}
	return unclaimed(jobs), nil
}

// Pushing reads the configs that are not done from the index of due times.
func (s *Store) Pushing(ctx context.Context, limit int) (jobs []taskstore.PushJob, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		jobs, err = readJobs(ctx, c, sqlPushing, int64(max(limit, 0)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list push configs: %w", err)
	}
	return unclaimed(jobs), nil
}

func unclaimed(jobs []taskstore.PushJob) []taskstore.PushJob {
	for i := range jobs {
		jobs[i].Fence = 0
	}
	return jobs
}

// ClaimPush asks a reader first, since mostly there is nothing to claim and the
// writer shall not be bothered with that.
func (s *Store) ClaimPush(ctx context.Context, id a2a.TaskID, now, until time.Time, limit int) (jobs []taskstore.PushJob, err error) {
	query, values := sqlDuePushes, []any{micros(now)}
	if id != "" {
		query, values = sqlDuePushesOf, []any{string(id), micros(now)}
	}
	limit = max(limit, 0)
	err = s.read(ctx, func(c *conn) (err error) {
		jobs, err = readJobs(ctx, c, query, append(values, int64(min(limit, 1)))...)
		return err
	})
	if err == nil && len(jobs) > 0 {
		err = s.do(op{run: func(c *conn) (_, err error) {
			// Not ctx: the writer's transaction does not end with one caller.
			jobs, err = readJobs(context.Background(), c, query, append(values, int64(limit))...)
			for i := 0; i < len(jobs) && err == nil; i++ {
				_, err = c.exec(sqlClaimPush, micros(until), jobs[i].Row)
				jobs[i].Due = timeOf(micros(until))
				jobs[i].Fence++
			}
			return nil, err
		}})
	}
	if err != nil {
		return nil, fmt.Errorf("claim pushes: %w", err)
	}
	return jobs, nil
}

func readJobs(ctx context.Context, c *conn, query string, values ...any) (jobs []taskstore.PushJob, err error) {
	err = c.query(ctx, func(r row) error {
		j := taskstore.PushJob{
			Row: integer(r[0]), Fence: integer(r[1]), State: taskstore.PushState(integer(r[2])),
			Cursor: integer(r[3]), Attempts: int(integer(r[5])), LastError: text(r[6]),
			Seq: integer(r[8]), Scope: a2a.Scope{Tenant: text(r[9]), Owner: text(r[10])},
		}
		if due := integer(r[4]); due != idle {
			j.Due = timeOf(due)
		}
		var err error
		j.Config, err = decodePush(r[7])
		jobs = append(jobs, j)
		return err
	}, query, values...)
	return jobs, err
}

func decodePush(v any) (c a2a.PushConfig, err error) {
	body, _ := v.([]byte)
	if err := json.Unmarshal(body, &c); err != nil {
		return c, fmt.Errorf("decode push config: %w", err)
	}
	return c, nil
}

// FinishPush writes the outcome if the claim is still good.
func (s *Store) FinishPush(ctx context.Context, j taskstore.PushJob, o taskstore.PushOutcome) error {
	err := ctx.Err()
	if err == nil {
		err = s.do(op{run: func(c *conn) (refusal, err error) { return finishPush(c, j, o) }})
	}
	if err != nil {
		return fmt.Errorf("finish push: %w", err)
	}
	return nil
}

func finishPush(c *conn, j taskstore.PushJob, o taskstore.PushOutcome) (refusal, err error) {
	refusal = taskstore.ErrLeaseLost
	var (
		cursor int64
		t      pushTask
		config string
	)
	err = c.query(context.Background(), func(r row) error {
		cursor, t, config = integer(r[0]), pushTask{seq: integer(r[1]), ended: ended(integer(r[2])), no: integer(r[3])}, text(r[4])
		refusal = nil
		return nil
	}, sqlClaimedPush, j.Row, j.Fence)
	if refusal != nil || err != nil {
		return refusal, err
	}
	if d := o.Dead; d != nil {
		if _, err := c.exec(sqlPutDead, t.no, config, d.URL, d.Seq, micros(d.At), int64(d.Attempts), d.Reason); err != nil {
			return nil, err
		}
	}
	o, waits := o.Settle(cursor, t.seq, t.ended)
	if o.Keep {
		_, err = c.exec(sqlKeepPush, o.Cursor, int64(o.Attempts), o.LastError, j.Row)
		return nil, err
	}
	return nil, settlePush(c, j.Row, o, waits)
}

func settlePush(c *conn, no int64, o taskstore.PushOutcome, waits bool) error {
	_, err := c.exec(sqlSettlePush, o.Cursor, int64(o.Attempts), o.LastError, int64(o.State), dueOf(o, waits), no)
	return err
}

// DeadPushes reads dead letters backwards.
func (s *Store) DeadPushes(ctx context.Context, id a2a.TaskID, limit int) (dead []taskstore.DeadPush, err error) {
	query, values := sqlDeadPushes, []any{int64(max(limit, 0))}
	if id != "" {
		query, values = sqlDeadPushesOf, []any{string(id), int64(max(limit, 0))}
	}
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			dead = append(dead, taskstore.DeadPush{
				TaskID: a2a.TaskID(text(r[0])), Config: text(r[1]), URL: text(r[2]), Seq: integer(r[3]),
				At: timeOf(integer(r[4])), Attempts: int(integer(r[5])), Reason: text(r[6]),
			})
			return nil
		}, query, values...)
	})
	if err != nil {
		return nil, fmt.Errorf("read dead pushes: %w", err)
	}
	return dead, nil
}

// RevivePush makes dead letters due again.
func (s *Store) RevivePush(ctx context.Context, id a2a.TaskID, config string) (n int, err error) {
	err = ctx.Err()
	if err == nil {
		err = s.do(op{run: func(c *conn) (_, err error) {
			n, err = revivePushes(c, id, config)
			return nil, err
		}})
	}
	if err != nil {
		return 0, fmt.Errorf("revive pushes: %w", err)
	}
	return n, nil
}

func revivePushes(c *conn, id a2a.TaskID, config string) (n int, err error) {
	type revival struct {
		no      int64
		config  string
		task    pushTask
		outcome taskstore.PushOutcome
	}
	var all []revival
	err = c.query(context.Background(), func(r row) error {
		v := revival{no: integer(r[0]), config: text(r[1]), task: pushTask{no: integer(r[4]), seq: integer(r[5]), ended: ended(integer(r[6]))}}
		v.outcome.Cursor = integer(r[2])
		switch {
		case r[7] != nil:
			v.outcome.Cursor = min(v.outcome.Cursor, integer(r[7])-1)
		case taskstore.PushState(integer(r[3])) != taskstore.PushDisabled:
			return nil
		}
		all = append(all, v)
		return nil
	}, sqlRevivable, string(id), config)
	for _, v := range all {
		o, waits := v.outcome.Settle(0, v.task.seq, v.task.ended)
		_, err1 := c.exec(sqlDeleteDeadPushes, v.task.no, v.config)
		err = errors.Join(err, err1, settlePush(c, v.no, o, waits))
	}
	return len(all), err
}
