package pending

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// TestRegistry_Locked holds the file's write lock as another process would.
func TestRegistry_Locked(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	e := sent(t, r, "task-1")
	hasty, err := Open(ctx, Options{Path: path(t, r), Busy: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	patient, err := Open(ctx, Options{Path: path(t, r), Busy: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer patient.Close()

	err = r.write(ctx, func(tx) error {
		if _, err := hasty.Begin(ctx, Entry{AgentURL: agent}); err == nil || !strings.Contains(err.Error(), "other processes") {
			t.Errorf("a change: got %v", err)
		}
		hurry, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		defer cancel()
		if _, err := patient.Begin(hurry, Entry{AgentURL: agent}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a change whose context ends: got %v", err)
		}
		// Reads do not wait for a writer.
		if _, err := hasty.Find(ctx, "task-1", Filter{}); err != nil {
			t.Errorf("a read: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Registry{hasty, patient} {
		must(t)(r.Polled(ctx, e.Ref, task("task-1", a2a.StateWorking)))
	}
	wantLists(t, r, []string{e.Ref}, nil)
}

func TestRegistry_Concurrent(t *testing.T) {
	ctx := context.Background()
	r := openAt(t, filepath.Join(t.TempDir(), "pending.db"))
	e := sent(t, r, "task-1")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if _, err := r.Polled(ctx, e.Ref, task("task-1", a2a.StateWorking)); err != nil {
					t.Error(err)
				}
				if _, err := r.Pending(ctx, Filter{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := must(t)(r.Get(ctx, e.Ref)); got.PollCount != 40 {
		t.Errorf("got %d polls, want 40", got.PollCount)
	}
}

func TestRegistry_Forget_Overwrites(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	file := path(t, r)
	const secret = "the-secret-word"
	last := task("task-1", a2a.StateCompleted)
	last.Status.Message = a2a.AgentText("m", strings.Repeat(secret, 2000)) // several pages
	e := must(t)(r.Polled(ctx, sent(t, r, "task-1").Ref, last))
	holds := func() bool {
		t.Helper()
		if _, err := r.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(b, []byte(secret))
	}
	if !holds() {
		t.Fatal("the answer is not in the file")
	}
	if err := r.Forget(ctx, e.Ref); err != nil {
		t.Fatal(err)
	}
	wantLists(t, r, nil, nil)
	if holds() {
		t.Error("the file still holds what was forgotten")
	}
}
