package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/sqlite"
	"github.com/skillyard/skillyard/taskstore/storetest"
)

func open(t testing.TB, dir string) taskstore.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(dir, "tasks.db")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB) taskstore.Store { return open(t, t.TempDir()) })
}

// TestStore_Close leaves no goroutine, file handle or log behind.
func TestStore_Close(t *testing.T) {
	dir := t.TempDir()
	before := goleak.IgnoreCurrent()
	for range 3 {
		s := open(t, dir)
		storetest.Lifecycles(t, s, 8, 40)
		if _, err := s.Tasks(context.Background(), a2a.Scope{}, taskstore.Query{Limit: 1}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	goleak.VerifyNone(t, before)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "tasks.db" && e.Name() != "tasks.db.lock" {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestStore_Durable(t *testing.T) { storetest.RunDurable(t, open) }
