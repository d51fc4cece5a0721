package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

var (
	scope = a2a.Scope{Owner: "alice"}
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// submission returns a running task whose message is the text.
func submission(id, text string) taskstore.Submission {
	e := a2a.Event{Seq: 1, At: start, Created: &a2a.Task{
		ID: a2a.TaskID(id), ContextID: "c", Status: a2a.Status{State: a2a.StateSubmitted},
		History: []a2a.Message{{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}},
	}}
	task := new(a2a.Task)
	if err := task.Apply(e); err != nil {
		panic(err) // a fault of this test
	}
	return taskstore.Submission{Scope: scope, Task: task, Events: []a2a.Event{e},
		Run: taskstore.Run{State: taskstore.RunRunning, Holder: "here", Until: start.Add(time.Hour), Fence: 1, Attempt: 1}}
}

func mustSubmit(t testing.TB, s *Store, id string) taskstore.Submitted {
	t.Helper()
	got, err := s.Submit(context.Background(), submission(id, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// working returns a step that adds a status and an artifact of the given size.
func working(sub taskstore.Submitted, size int) taskstore.Append {
	events := []a2a.Event{a2a.StatusEvent(a2a.StateWorking, nil),
		a2a.ArtifactEvent(a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", size))}})}
	for i := range events {
		events[i].Seq, events[i].At = sub.Task.Seq+int64(i)+1, start
	}
	return taskstore.Append{Lease: sub.Lease, Events: events, Run: taskstore.RunRunning}
}

func appendNow(s *Store, a taskstore.Append) error {
	done := make(chan error, 1)
	s.AppendAsync(a, func(err error) { done <- err })
	return <-done
}

// asBatch lets f enqueue steps that the writer then finds all at once.
func asBatch(s *Store, f func()) {
	started, release := make(chan struct{}), make(chan struct{})
	s.writer.enqueue(op{
		run:  func(*conn) (error, error) { return nil, nil },
		done: func(error) { close(started); <-release },
	})
	<-started
	f()
	close(release)
}

// TestWriter_DiskFull fills the database up to a page limit, which is to SQLite
// what a full disk is.
func TestWriter_DiskFull(t *testing.T) {
	s, _ := openInternal(t)
	limit := func(pages int) {
		t.Helper()
		if err := s.do(op{run: func(c *conn) (error, error) {
			_, err := c.exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
			return nil, err
		}}); err != nil {
			t.Fatal(err)
		}
	}
	kept := mustSubmit(t, s, "kept")
	held := mustSubmit(t, s, "held")
	limit(1) // SQLite takes the present size instead
	var full error
	written := 0
	for full == nil {
		_, full = s.Submit(context.Background(), submission(fmt.Sprintf("filler-%d", written), strings.Repeat("x", 3000)))
		if full == nil {
			written++
		}
		if written > 100 {
			t.Fatal("the page limit does not bite")
		}
	}
	var e *sqlite.Error
	if !errors.As(full, &e) || e.Code() != codes.SQLITE_FULL {
		t.Fatalf("got %v, want SQLITE_FULL", full)
	}
	if err := appendNow(s, working(held, 100_000)); !errors.As(err, &e) {
		t.Errorf("append: got %v, want SQLITE_FULL", err)
	}
	// A whole batch fails at once, and each step is told.
	outcomes := make(chan error, 20)
	asBatch(s, func() {
		for i := range cap(outcomes) {
			go func() {
				_, err := s.Submit(context.Background(), submission(fmt.Sprintf("batch-%d", i), strings.Repeat("x", 30_000)))
				outcomes <- err
			}()
		}
	})
	for range cap(outcomes) {
		if err := <-outcomes; err == nil {
			t.Error("a step of a full batch was acknowledged")
		}
	}

	limit(1 << 30) // somebody made room
	for i := range written {
		if _, err := s.Task(context.Background(), scope, a2a.TaskID(fmt.Sprintf("filler-%d", i))); err != nil {
			t.Errorf("acknowledged task %d: %v", i, err)
		}
	}
	if _, err := s.Task(context.Background(), scope, a2a.TaskID(fmt.Sprintf("filler-%d", written))); !errors.Is(err, taskstore.ErrNotFound) {
		t.Errorf("refused task: got %v, want ErrNotFound", err)
	}
	if err := appendNow(s, working(kept, 10)); err != nil {
		t.Errorf("append to a task that had no trouble: %v", err)
	}
	// The lease of the step that failed can write no more, not even what fits.
	if err := appendNow(s, working(held, 10)); !errors.Is(err, taskstore.ErrLeaseLost) {
		t.Errorf("append after the failed one: got %v, want ErrLeaseLost", err)
	}
	st, err := s.Claim(context.Background(), "held", "there", start.Add(2*time.Hour), start.Add(3*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := appendNow(s, working(taskstore.Submitted{Task: st.Task, Lease: st.Lease}, 10)); err != nil {
		t.Errorf("append by the next holder: %v", err)
	}
	if n := len(s.writer.broken); n != 0 {
		t.Errorf("the writer still remembers %d broken leases", n)
	}
	if err := s.Ping(context.Background()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

// TestWriter_BadStep puts a step that the database does not accept among others.
func TestWriter_BadStep(t *testing.T) {
	s, _ := openInternal(t)
	outcomes := make(chan error, 9)
	bad := make(chan error, 1)
	asBatch(s, func() {
		for i := range cap(outcomes) {
			if i == 4 {
				s.writer.enqueue(op{
					run: func(c *conn) (error, error) {
						_, err := c.exec("INSERT INTO events (id) VALUES (NULL)")
						return nil, err
					},
					done: func(err error) { bad <- err },
				})
			}
			ins, err := newInsert(submission(fmt.Sprint(i), "x"))
			if err != nil {
				t.Fatal(err)
			}
			s.writer.enqueue(op{
				run:  func(c *conn) (error, error) { return ins.write(c, s.writer) },
				done: func(err error) { outcomes <- err },
			})
		}
	})
	if err := <-bad; err == nil {
		t.Error("the bad step: got no error")
	}
	for range cap(outcomes) {
		if err := <-outcomes; err != nil {
			t.Errorf("a good step: %v", err)
		}
	}
	for i := range cap(outcomes) {
		if _, err := s.Task(context.Background(), scope, a2a.TaskID(fmt.Sprint(i))); err != nil {
			t.Errorf("task %d: %v", i, err)
		}
	}
	if s.writer.failing.Load() {
		t.Error("the store says that it is failing")
	}
}

// TestWriter_Failing lets Ping find out that a write failed, and that writing is
// possible again. A foreign write lock stands for the trouble.
func TestWriter_Failing(t *testing.T) {
	s, c := openInternal(t)
	if err := s.do(op{run: func(c *conn) (error, error) { _, err := c.exec("PRAGMA busy_timeout = 1"); return nil, err }}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(context.Background(), submission("a", "x")); err == nil {
		t.Fatal("Submit: got no error")
	}
	if err := s.Ping(context.Background()); err == nil {
		t.Error("Ping: got no error")
	}
	if _, err := c.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(context.Background()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	mustSubmit(t, s, "a")
}

// TestUpdate_InWriter makes a task move between reading and writing, until the
// change is made inside the writer.
func TestUpdate_InWriter(t *testing.T) {
	for _, panics := range []bool{false, true} {
		s, _ := openInternal(t)
		sub := mustSubmit(t, s, "a")
		calls := 0
		decide := func(st taskstore.Stored) (taskstore.Change, error) {
			// Not what a decide should do, but what others do meanwhile.
			calls++
			var err error
			switch {
			case calls == 1:
				err = s.Renew(context.Background(), "here", start.Add(time.Minute))
			case calls == 2:
				err = appendNow(s, taskstore.Append{Lease: sub.Lease, Run: taskstore.RunRunning, Resume: []byte(`"saved"`)})
			case calls <= maxRaces:
				err = appendNow(s, working(sub, 10))
			case panics:
				panic("decide")
			}
			if err != nil {
				t.Error(err)
			}
			task := st.Task.Clone()
			e := a2a.StatusEvent(a2a.StateCanceled, nil)
			e.Seq, e.At = task.Seq+1, start
			run := taskstore.Run{State: taskstore.RunEnded, Resume: st.Run.Resume}
			return taskstore.Change{Events: []a2a.Event{e}, Task: task, Run: run}, task.Apply(e)
		}
		func() {
			defer func() {
				if p := recover(); (p != nil) != panics {
					t.Errorf("got panic %v, want one %t", p, panics)
				}
			}()
			st, err := s.Update(context.Background(), scope, "a", decide)
			if err != nil || st.Task.Status.State != a2a.StateCanceled {
				t.Errorf("got %+v, %v, want a canceled task", st.Task, err)
			}
			if string(st.Run.Resume) != `"saved"` || st.Task.Seq != 4 {
				t.Errorf("got resume data %s and seq %d, want what was written meanwhile", st.Run.Resume, st.Task.Seq)
			}
		}()
		if calls != maxRaces+1 {
			t.Errorf("decide: got %d calls, want %d", calls, maxRaces+1)
		}
		sub.Task.Seq = 3
		err := appendNow(s, working(sub, 10))
		if lost := errors.Is(err, taskstore.ErrLeaseLost); lost == panics {
			t.Errorf("append after the change: got %v, want lease lost %t", err, !panics)
		}
	}
}

// TestPrune_LeavesNothing counts the rows of every table.
func TestPrune_LeavesNothing(t *testing.T) {
	s, c := openInternal(t)
	for i := range 300 {
		sub := submission(fmt.Sprint(i), "x")
		sub.Run = taskstore.Run{State: taskstore.RunEnded}
		if _, err := s.Submit(context.Background(), sub); err != nil {
			t.Fatal(err)
		}
	}
	// The oldest has a log long enough for a snapshot, and a key.
	long := submission("long", "x")
	long.Key = "key"
	sub, err := s.Submit(context.Background(), long)
	if err != nil {
		t.Fatal(err)
	}
	task := sub.Task.Clone()
	var events []a2a.Event
	for range snapshotFrom {
		events = append(events, a2a.Event{Seq: task.Seq + int64(len(events)) + 1, At: start.Add(-time.Hour), Status: &a2a.Status{State: a2a.StateWorking}})
	}
	events[snapshotFrom-1].Status.State = a2a.StateCompleted
	if err := task.Fold(events); err != nil {
		t.Fatal(err)
	}
	if err := appendNow(s, taskstore.Append{Lease: sub.Lease, Events: events, Task: task, Snapshot: true, Run: taskstore.RunEnded}); err != nil {
		t.Fatal(err)
	}
	if nos, err := numbers(context.Background(), c, "SELECT count(*) FROM snapshots"); err != nil || nos[0] != 1 {
		t.Errorf("snapshots: got %v, %v, want 1", nos, err)
	}
	if n, err := s.Prune(context.Background(), start.Add(-time.Minute), 100); n != 1 || err != nil {
		t.Errorf("Prune of the oldest: got %d, %v, want 1", n, err)
	}
	if n, err := s.Prune(context.Background(), start, 100); n != 0 || err != nil {
		t.Errorf("Prune before any ended: got %d, %v, want 0", n, err)
	}
	if n, err := s.Prune(context.Background(), start.Add(time.Second), 120); n != 120 || err != nil {
		t.Errorf("Prune: got %d, %v, want 120", n, err)
	}
	for table, want := range map[string]int64{"tasks": 180, "events": 180, "snapshots": 0, "idempotency_keys": 0} {
		nos, err := numbers(context.Background(), c, "SELECT count(*) FROM "+table)
		if err != nil || nos[0] != want {
			t.Errorf("%s: got %v rows, %v, want %d", table, nos, err, want)
		}
	}
}

// TestAppend_many_events: what is committed together is not one row, since a reader
// that is behind reads a row at a time.
func TestAppend_many_events(t *testing.T) {
	s, c := openInternal(t)
	sub := mustSubmit(t, s, "t")
	const n = 300
	a := taskstore.Append{Lease: sub.Lease, Run: taskstore.RunRunning, Task: sub.Task}
	at := a2a.Now()
	for i := range int64(n) {
		a.Events = append(a.Events, a2a.Event{Seq: sub.Task.Seq + 1 + i, At: at, Message: &a2a.Message{ID: fmt.Sprint(i), Role: a2a.RoleUser}})
	}
	if err := appendNow(s, a); err != nil {
		t.Fatal(err)
	}
	rows, largest := 0, 0
	err := c.query(context.Background(), func(r row) error {
		events, err := taskstore.DecodeEvents(blob(r[0]))
		rows, largest = rows+1, max(largest, len(events))
		return err
	}, `SELECT body FROM events`)
	if err != nil || largest > rowEvents || rows != 1+(n+rowEvents-1)/rowEvents {
		t.Errorf("got %d rows of up to %d events, %v", rows, largest, err)
	}
	// Read back in pieces of any size, from anywhere.
	for _, limit := range []int{1, 7, 64, 100, 1000} {
		var seq int64
		for {
			events, err := s.Events(context.Background(), scope, "t", seq, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(events) == 0 {
				break
			}
			for _, e := range events {
				if e.Seq != seq+1 {
					t.Fatalf("limit %d: got event %d after %d", limit, e.Seq, seq)
				}
				seq = e.Seq
			}
		}
		if seq != sub.Task.Seq+n {
			t.Errorf("limit %d: read up to %d, want %d", limit, seq, sub.Task.Seq+n)
		}
	}
}
