package sqlite

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// TestPushPlans does for push configs what TestPlans does for tasks.
func TestPushPlans(t *testing.T) {
	_, c := openInternal(t)
	statements := map[string]string{
		"task": sqlPushTask, "ids": sqlPushIDs, "list": sqlPushBodies,
		"delete": sqlDeletePush, "delete dead": sqlDeleteDeadPushes, "delete all": sqlDeletePushes, "delete all dead": sqlDeleteAllDead,
		"due": sqlDuePushes, "due of a task": sqlDuePushesOf, "active": sqlPushTasks, "pushing": sqlPushing,
		"claim": sqlClaimPush, "claimed": sqlClaimedPush, "keep": sqlKeepPush, "settle": sqlSettlePush,
		"resume": sqlResumePushes, "end": sqlEndPushes, "dead": sqlDeadPushes, "dead of a task": sqlDeadPushesOf, "revivable": sqlRevivable,
	}
	for name, statement := range statements {
		var plan []string
		values := make([]any, strings.Count(statement, "?"))
		if name == "revivable" {
			values = values[:2] // it uses one of them twice
		}
		err := c.query(context.Background(), func(r row) error { plan = append(plan, text(r[3])); return nil }, "EXPLAIN QUERY PLAN "+statement, values...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := strings.Join(plan, "; ")
		t.Logf("%-16s %s", name, all)
		switch name {
		case "active", "pushing", "dead": // in the order of the index, up to the limit
			all = strings.NewReplacer("SCAN p USING INDEX pushes_active", "", "SCAN p USING INDEX pushes_due", "", "SCAN d", "").Replace(all)
		case "list", "due of a task", "dead of a task": // sorts the few of one task
			all = strings.ReplaceAll(all, "USE TEMP B-TREE FOR ORDER BY", "")
		}
		if strings.Contains(all, "SCAN") || strings.Contains(all, "TEMP B-TREE") {
			t.Errorf("%s: the plan reads a table or sorts: %s", name, all)
		}
	}
}

// TestPush_CostsOnlyWhoWantsIt looks at the statements that the writer ran: a task
// without push configs runs none about them, and with one only the insert.
func TestPush_CostsOnlyWhoWantsIt(t *testing.T) {
	s, _ := openInternal(t)
	scope := a2a.Scope{Owner: "alice"}
	about := func() (texts []string) {
		// No step is under way, so nobody writes to the map.
		for statement := range s.writer.conn.stmts {
			if strings.Contains(statement, "pushes") && statement != sqlEndPushes {
				texts = append(texts, statement)
			}
		}
		return texts
	}
	live(t, s, scope, "plain", nil)
	if got := about(); len(got) > 0 {
		t.Errorf("without a push config the writer ran %q", got)
	}
	live(t, s, scope, "pushed", &a2a.PushConfig{ID: "p", URL: "https://example.com"})
	if got := about(); len(got) != 1 || got[0] != sqlPutPush {
		t.Errorf("with a push config the writer ran %q, want the insert only", got)
	}
	// Looking for what is due, as a worker does all the time, is no matter of the
	// writer until there is something.
	if err := s.DeletePush(context.Background(), scope, "pushed", "p"); err != nil {
		t.Fatal(err)
	}
	before := len(about())
	for _, id := range []a2a.TaskID{"", "pushed"} {
		if jobs, err := s.ClaimPush(context.Background(), id, time.Now(), time.Now(), 10); len(jobs) > 0 || err != nil {
			t.Errorf("ClaimPush(%q): got %v, %v, want none", id, jobs, err)
		}
	}
	if got := len(about()); got != before {
		t.Errorf("a claim of nothing ran %d statements of the writer", got-before)
	}
}

// live takes a task through its life, with each kind of step, and returns its row.
func live(t *testing.T, s *Store, scope a2a.Scope, id a2a.TaskID, push *a2a.PushConfig) int64 {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first := a2a.Event{Seq: 1, At: at, Created: &a2a.Task{ID: id, ContextID: "c", Status: a2a.Status{State: a2a.StateSubmitted}}}
	task := new(a2a.Task)
	fold := func(e a2a.Event) a2a.Event {
		t.Helper()
		e.Seq, e.At = task.Seq+1, at
		if err := task.Apply(e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	fold(first)
	run := taskstore.Run{State: taskstore.RunRunning, Holder: "h", Until: at, Fence: 1, Attempt: 1}
	sub, err := s.Submit(context.Background(), taskstore.Submission{Scope: scope, Task: task.Clone(), Events: []a2a.Event{first}, Run: run, Push: push})
	if err != nil {
		t.Fatal(err)
	}
	step := func(lease taskstore.Lease, state taskstore.RunState, e a2a.Event) {
		t.Helper()
		done := make(chan error, 1)
		e = fold(e)
		s.AppendAsync(taskstore.Append{Lease: lease, Events: []a2a.Event{e}, Task: task.Clone(), Snapshot: true, Run: state}, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	chunk := a2a.ArtifactEvent(a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart("x")}})
	step(sub.Lease, taskstore.RunRunning, chunk)
	step(sub.Lease, taskstore.RunWaiting, a2a.StatusEvent(a2a.StateInputRequired, nil))
	st, err := s.Update(context.Background(), scope, id, func(st taskstore.Stored) (taskstore.Change, error) {
		e := fold(a2a.StatusEvent(a2a.StateWorking, nil))
		return taskstore.Change{Events: []a2a.Event{e}, Task: task.Clone(), Run: run}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	step(st.Lease, taskstore.RunEnded, a2a.StatusEvent(a2a.StateCompleted, nil))
	return st.Lease.Row
}

// TestPush_GoesWithItsTask counts rows, since those of a task that is gone are never
// seen.
func TestPush_GoesWithItsTask(t *testing.T) {
	s, c := openInternal(t)
	scope, ctx := a2a.Scope{Owner: "alice"}, context.Background()
	rows := func(want ...int64) {
		t.Helper()
		var got []int64
		for _, table := range []string{"tasks", "pushes", "dead_pushes"} {
			if err := c.query(ctx, func(r row) error { got = append(got, integer(r[0])); return nil }, "SELECT count(*) FROM "+table); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v tasks, configs and dead letters, want %v", got, want)
		}
	}
	no := live(t, s, scope, "t", &a2a.PushConfig{ID: "p", URL: "https://example.com"})
	tomorrow := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	// Prune has found it in time; the config is put just before the task is deleted.
	n := -1
	if err := s.do(op{run: func(c *conn) (_, err error) { n, err = prune(c, []int64{no}, tomorrow); return nil, err }}); n != 0 || err != nil {
		t.Errorf("prune with an undelivered event: got %d, %v, want 0", n, err)
	}
	jobs, err := s.ClaimPush(ctx, "", tomorrow, tomorrow, 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("ClaimPush: got %v, %v, want one", jobs, err)
	}
	if err := s.FinishPush(ctx, jobs[0], taskstore.PushOutcome{Cursor: jobs[0].Seq, Dead: &taskstore.DeadPush{Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	rows(1, 1, 1)
	if n, err := s.Prune(ctx, tomorrow, 10); n != 1 || err != nil {
		t.Errorf("Prune: got %d, %v, want 1", n, err)
	}
	rows(0, 0, 0)
}
