package push

import (
	"path/filepath"
	"testing"

	"github.com/skillyard/skillyard/taskstore/sqlite"
)

func TestWorker_SQLite(t *testing.T) {
	testWorker(t, func(t testing.TB) testStore {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "tasks.db"), Synchronous: "normal"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
