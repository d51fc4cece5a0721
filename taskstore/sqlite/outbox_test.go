package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/sqlite"
)

// TestOutbox_beside_a_server: an operator sees and mends the outbox while the
// server's store is open and writing.
func TestOutbox_beside_a_server(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "tasks.db")
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test
	at := a2a.Now()
	task := &a2a.Task{ID: "t", ContextID: "c", Skill: "s", Seq: 1, CreatedAt: at, UpdatedAt: at, Status: a2a.Status{State: a2a.StateSubmitted, At: at}}
	skeleton := *task
	_, err = s.Submit(ctx, taskstore.Submission{
		Scope: a2a.Scope{Owner: "alice"}, Task: task, Events: []a2a.Event{{Seq: 1, At: at, Created: &skeleton}},
		Run:  taskstore.Run{State: taskstore.RunQueued},
		Push: &a2a.PushConfig{ID: "p", TaskID: "t", URL: "https://hooks.example.com", Dialect: "1.0", CreatedAt: at},
	})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := s.ClaimPush(ctx, "", at.Add(time.Second), at.Add(time.Minute), 10)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("got %d jobs, %v", len(jobs), err)
	}
	err = s.FinishPush(ctx, jobs[0], taskstore.PushOutcome{
		Cursor: 1, State: taskstore.PushDisabled, LastError: "410 Gone",
		Dead: &taskstore.DeadPush{TaskID: "t", Config: "p", URL: "https://hooks.example.com", Seq: 1, At: at, Attempts: 1, Reason: "410 Gone"},
	})
	if err != nil {
		t.Fatal(err)
	}

	o, err := sqlite.OpenOutbox(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close() //nolint:errcheck // a test
	all, err := o.Pushing(ctx, 10)
	if err != nil || len(all) != 1 || all[0].State != taskstore.PushDisabled || all[0].LastError != "410 Gone" {
		t.Errorf("got %+v, %v; want the disabled webhook", all, err)
	}
	dead, err := o.DeadPushes(ctx, "t", 10)
	if err != nil || len(dead) != 1 || dead[0].Reason != "410 Gone" {
		t.Errorf("got %+v, %v; want one dead letter", dead, err)
	}
	if n, err := o.RevivePush(ctx, "t", ""); err != nil || n != 1 {
		t.Fatalf("revive: got %d, %v; want 1", n, err)
	}
	if n, err := o.RevivePush(ctx, "t", ""); err != nil || n != 0 {
		t.Errorf("revive again: got %d, %v; want nothing", n, err)
	}
	// The server's own store finds it due.
	jobs, err = s.ClaimPush(ctx, "", time.Now().Add(time.Hour), time.Now().Add(2*time.Hour), 10)
	if err != nil || len(jobs) != 1 || jobs[0].Cursor != 0 {
		t.Errorf("got %+v, %v; want the revived webhook from the start", jobs, err)
	}
}

func TestOpenOutbox_refuses(t *testing.T) {
	if _, err := sqlite.OpenOutbox(context.Background(), filepath.Join(t.TempDir(), "none.db")); err == nil {
		t.Error("got no error for a database that does not exist")
	}
}
