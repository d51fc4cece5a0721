package pending

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore/sqlite"
)

const agent = "https://agent.example/a2a"

// clock is a time that goes on by a second with every look.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { c.at = c.at.Add(time.Second); return c.at }

func openAt(t testing.TB, path string) *Registry {
	t.Helper()
	r, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// newRegistry returns an empty registry with a clock of its own.
func newRegistry(t testing.TB) (*Registry, *clock) {
	t.Helper()
	r := openAt(t, filepath.Join(t.TempDir(), "state", "pending.db"))
	c := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.now = c.now
	return r, c
}

// must returns the entry of a call that has to succeed.
func must(t testing.TB) func(Entry, error) Entry {
	return func(e Entry, err error) Entry {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func task(id a2a.TaskID, state a2a.State) *a2a.Task {
	return &a2a.Task{ID: id, ContextID: "talk-1", Status: a2a.Status{State: state}}
}

// sent returns an entry that the agent accepted as submitted.
func sent(t testing.TB, r *Registry, id a2a.TaskID) Entry {
	t.Helper()
	e := must(t)(r.Begin(context.Background(), Entry{AgentURL: agent, Prompt: "do " + string(id)}))
	return must(t)(r.Accepted(context.Background(), e.Ref, task(id, a2a.StateSubmitted), nil))
}

func refs(list []Entry) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Ref)
	}
	return out
}

// wantLists compares the refs of the pending entries and of the history.
func wantLists(t testing.TB, r *Registry, pending, history []string) {
	t.Helper()
	p, err := r.Pending(context.Background(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.History(context.Background(), Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{pending, history}, [][]string{refs(p), refs(h)}, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("pending and history (-want +got):\n%s", d)
	}
}

func TestOpen_PrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "q?m#f%41&é'")
	path := filepath.Join(dir, "x?y=1 #.db")
	r := openAt(t, path)
	sent(t, r, "task-1")
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s: got mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestOpen_Refuses(t *testing.T) {
	ctx := context.Background()
	other := func(t *testing.T, statement string) string {
		path := filepath.Join(t.TempDir(), "pending.db")
		db, err := sql.Open("sqlite", dsn(path, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		path func(t *testing.T) string
		want string
	}{
		"no_path":   {func(*testing.T) string { return "" }, "path is missing"},
		"directory": {func(t *testing.T) string { return t.TempDir() }, "directory"},
		"directory_cannot_be_made": {func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(file, "pending.db")
		}, "not a directory"},
		"not_a_database": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "pending.db")
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database. ", 500)), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, "not a database"},
		"other_program": {func(t *testing.T) string { return other(t, `CREATE TABLE notes (text)`) }, "another program"},
		"task_store": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "tasks.db")
			s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			return path
		}, "another program"},
		"newer_schema": {func(t *testing.T) string {
			return other(t, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = 9999`, applicationID))
		}, "schema version 9999"},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path(t)
			r, err := Open(ctx, Options{Path: path})
			if err == nil {
				r.Close()
				t.Fatal("got no error")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %q, want it to contain %q and the path", err, c.want)
			}
		})
	}
}

// TestRow_EveryField fills each field of an entry, so that one added to the struct
// cannot be forgotten in the table.
func TestRow_EveryField(t *testing.T) {
	r, c := newRegistry(t)
	var want Entry
	v := reflect.ValueOf(&want).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(c.now()))
		case []byte:
			f.SetBytes([]byte(` {"a": 1} `))
		case *a2a.Task:
			f.Set(reflect.ValueOf(&a2a.Task{ID: "t", Status: a2a.Status{State: a2a.StateFailed}, Artifacts: []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart("x")}}}}))
		default:
			switch f.Kind() {
			case reflect.String:
				f.SetString(v.Type().Field(i).Name)
			case reflect.Int:
				f.SetInt(7)
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Slice:
				f.SetBytes([]byte(` {"a": 1} `))
			default:
				t.Fatalf("%s has a type this test does not know", v.Type().Field(i).Name)
			}
		}
	}
	err := r.write(context.Background(), func(tx tx) error { _, err := tx.insert(want); return err })
	if err != nil {
		t.Fatal(err)
	}
	got := must(t)(r.Get(context.Background(), want.Ref))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("inserted (-want +got):\n%s", d)
	}
	want = Entry{Ref: want.Ref}
	if err := r.write(context.Background(), func(tx tx) error { return tx.update(want) }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, must(t)(r.Get(context.Background(), want.Ref))); d != "" {
		t.Errorf("updated (-want +got):\n%s", d)
	}
}

// TestPlans sees to it that no statement reads the history or sorts it.
func TestPlans(t *testing.T) {
	r, _ := newRegistry(t)
	statements := map[string]string{
		"entry": sqlEntry, "live": sqlLive, "update": sqlUpdate, "delete": sqlDelete, "prune": sqlPrune, "revision": sqlRevision,
		"pending": sqlPending(Filter{}), "newest": sqlNewest(Filter{}),
		"newest of agent":    sqlNewest(Filter{AgentURL: "u"}),
		"history":            sqlHistory(Filter{}),
		"history of url":     sqlHistory(Filter{AgentURL: "u"}),
		"history of agent":   sqlHistory(Filter{Agent: "a"}),
		"history of context": sqlHistory(Filter{ContextID: "c"}),
		"ended by task":      sqlByTask(isEnded, Filter{}),
		"ended by ref":       sqlByRef(isEnded, Filter{}),
		"pending by task":    sqlByTask(isPending, Filter{}),
		"pending by ref":     sqlByRef(isPending, Filter{}),
	}
	for name, statement := range statements {
		rows, err := r.db.Query("EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(plan, "; ")
		t.Logf("%-20s %s", name, all)
		if name == "pending by ref" && strings.Contains(all, "autoindex") {
			t.Errorf("%s: the plan reads the refs of the history: %s", name, all)
		}
		if strings.HasPrefix(name, "pending") || strings.HasPrefix(name, "newest") { // the pending ones are what they are about
			for _, index := range []string{"entries_pending", "entries_live"} {
				all = strings.ReplaceAll(all, "SCAN entries USING INDEX "+index, "")
				all = strings.ReplaceAll(all, "SCAN entries USING COVERING INDEX "+index, "")
			}
			all = strings.ReplaceAll(all, "USE TEMP B-TREE", "")
		}
		if strings.Contains(all, "SCAN") || strings.Contains(all, "TEMP B-TREE") {
			t.Errorf("%s: the plan reads a table or sorts: %s", name, all)
		}
	}
}

// TestRegistry_EndedContext: a context that ends in the middle is what the error says.
func TestRegistry_EndedContext(t *testing.T) {
	r, _ := newRegistry(t)
	over := errors.New("over")
	for name, do := range map[string]func(context.Context, func(tx) error) error{"read": r.read, "write": r.write} {
		ctx, cancel := context.WithCancelCause(t.Context())
		err := do(ctx, func(x tx) error {
			cancel(over)
			for {
				if _, err := x.exec("SELECT 1"); err != nil {
					return err
				}
			}
		})
		if !errors.Is(err, over) {
			t.Errorf("%s: got %v, want the cause", name, err)
		}
		if err := do(ctx, func(tx) error { return nil }); !errors.Is(err, over) {
			t.Errorf("%s after the end: got %v, want the cause", name, err)
		}
	}
	if _, err := r.Pending(t.Context(), Filter{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
