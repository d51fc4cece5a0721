package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

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

func TestStore_Durable(t *testing.T) { storetest.RunDurable(t, open) }
