package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/taskstore"
)

func TestOptions_Defaults(t *testing.T) {
	got := Options{}.withDefaults()
	want := Options{Synchronous: "FULL", Readers: max(4, runtime.GOMAXPROCS(0)), BatchLimit: 512, Checkpoint: 1000}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOpen_Validates(t *testing.T) {
	_, err := Open(context.Background(), Options{Synchronous: "off", Readers: -1, BatchLimit: -1, Checkpoint: -1})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"path is missing", `synchronous is "OFF"`, "readers is -1", "batch limit is -1", "checkpoint is -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to contain %q", err, want)
		}
	}
}

func TestOpen_OneProcessPerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), Options{Path: path})
	if err == nil {
		t.Fatal("a second store opened the same file")
	}
	for _, want := range []string{path, "in use", fmt.Sprintf("by process %d", os.Getpid()), path + ".lock"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to contain %q", err, want)
		}
	}
	if err := s.Ping(context.Background()); err != nil {
		t.Errorf("the first store suffered: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}

func TestOpen_OddPathsAndModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "q?m#f%41&é'")
	path := filepath.Join(dir, "x?y=1 #.db")
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Task(context.Background(), scope, "none"); err == nil {
		t.Error("Task: got no error")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{
		dir: 0o700 | os.ModeDir, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + ".lock": 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s: got mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestOpen_Refuses(t *testing.T) {
	open := func(path string) error {
		s, err := Open(context.Background(), Options{Path: path})
		if err == nil {
			s.Close()
		}
		return err
	}
	t.Run("newer_schema", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tasks.db")
		if err := open(path); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", dsn(path))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var newest int
		if err := db.QueryRow(`PRAGMA user_version`).Scan(&newest); err != nil || newest < 2 {
			t.Fatalf("got schema version %d, %v", newest, err)
		}
		if _, err := db.Exec(`PRAGMA user_version = 9999`); err != nil {
			t.Fatal(err)
		}
		err = open(path)
		if err == nil || !strings.Contains(err.Error(), "schema version 9999") || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want one that names the version and the file", err)
		}
		// Refusing left the lock free and the file as it was.
		if _, err := db.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, newest)); err != nil {
			t.Fatal(err)
		}
		if err := open(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("not_a_database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tasks.db")
		if err := os.WriteFile(path, []byte(strings.Repeat("not a database. ", 500)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want one that names the file", err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		if err := open(t.TempDir()); err == nil {
			t.Error("got no error")
		}
	})
}

// TestRunStates pins the numbers that stand in the database and in its indexes.
func TestRunStates(t *testing.T) {
	want := map[taskstore.RunState]int{taskstore.RunEnded: 0, taskstore.RunQueued: 1, taskstore.RunRunning: 2, taskstore.RunWaiting: 3}
	for state, n := range want {
		if int(state) != n {
			t.Errorf("got %d, want %d", state, n)
		}
	}
}

// BenchmarkOpen is the share of the store in a cold start, with 240 MB of tasks
// and the write-ahead log of a process that was killed.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(context.Background(), Options{Path: filepath.Join(dir, "tasks.db"), Synchronous: "NORMAL"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	text := strings.Repeat("x", 24_000)
	for i := range 10_000 {
		if _, err := s.Submit(context.Background(), submission(fmt.Sprintf("task-%d", i), text)); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		crashed := filepath.Join(b.TempDir(), fmt.Sprint(i))
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"tasks.db", "tasks.db-wal"} {
			// Without this the first sync of the new process pays for the copy.
			f, err := os.OpenFile(filepath.Join(crashed, name), os.O_RDWR, 0)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		again, err := Open(context.Background(), Options{Path: filepath.Join(crashed, "tasks.db")})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		again.Close()
		if err := os.RemoveAll(crashed); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
