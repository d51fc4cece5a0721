package files_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/files"
	"github.com/skillyard/skillyard/skills/boards/sourcetest"
)

// write lays a tree down in dir.
func write(t testing.TB, dir string, tree sourcetest.Tree) {
	t.Helper()
	for path, content := range tree {
		name := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, opts files.Options) boards.Source {
	t.Helper()
	s, err := files.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T, tree sourcetest.Tree) boards.Source {
		dir := t.TempDir()
		write(t, dir, tree)
		return open(t, files.Options{Dir: dir})
	})
}

func TestSource_escapes(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "boards-dir")
	write(t, top, sourcetest.Tree{
		"secret.json":           `{"name":"SECRET"}`,
		"outside/b1/c1.json":    `{"title":"SECRET"}`,
		"boards-dir/notes.json": `{"name":"SECRET"}`,
	})
	write(t, dir, sourcetest.Tree{"boards/b1.json": `{"name":"B1"}`})
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("../../secret.json", "boards/relative.json")
	link(filepath.Join(top, "secret.json"), "boards/absolute.json")
	if err := os.Mkdir(filepath.Join(dir, "cards"), 0o755); err != nil {
		t.Fatal(err)
	}
	link("../../outside/b1", "cards/b1")
	s := open(t, files.Options{Dir: dir})
	for _, id := range append(sourcetest.UnsafeIDs(), "relative", "absolute", "b1") {
		b, err := s.Board(t.Context(), id)
		if err == nil {
			t.Errorf("board %q: got %+v, want an error", id, b)
			continue
		}
		var e *a2a.Error
		if !errors.As(err, &e) || strings.Contains(e.Message, top) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("board %q: error %v tells too much", id, err)
		}
	}
}

func TestSource_notRegular(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, sourcetest.Tree{"boards/b1.json": `{}`, "cards/b1/c1.json": `{}`})
	if err := syscall.Mkfifo(filepath.Join(dir, "cards/b1/c2.json"), 0o600); err != nil {
		t.Skip("no named pipes here")
	}
	// A pipe without a writer would block its reader for ever.
	if _, err := open(t, files.Options{Dir: dir}).Board(t.Context(), "b1"); !unavailable(err) {
		t.Errorf("got %v, want unavailable", err)
	}
}

func TestSource_limits(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, sourcetest.Tree{
		"boards/b1.json": `{"name":"` + strings.Repeat("x", 1000) + `"}`, "boards/b2.json": `{}`,
		"cards/b2/1.json": `{}`, "cards/b2/2.json": `{}`, "cards/b2/3.json": `{}`,
	})
	if _, err := open(t, files.Options{Dir: dir, MaxFileBytes: 1000}).Board(t.Context(), "b1"); !unavailable(err) {
		t.Errorf("large file: got %v, want unavailable", err)
	}
	if _, err := open(t, files.Options{Dir: dir, MaxObjects: 2}).Board(t.Context(), "b2"); !unavailable(err) {
		t.Errorf("many files: got %v, want unavailable", err)
	}
	if _, err := open(t, files.Options{Dir: dir, MaxObjects: 3}).Board(t.Context(), "b2"); err != nil {
		t.Errorf("as many files as allowed: %v", err)
	}
}

func TestSource_missingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	s := open(t, files.Options{Dir: dir})
	if _, err := s.Board(t.Context(), "b1"); !unavailable(err) {
		t.Errorf("got %v, want unavailable", err)
	}
	if _, err := s.Boards(t.Context(), ""); !unavailable(err) {
		t.Errorf("got %v, want unavailable", err)
	}
	write(t, dir, sourcetest.Tree{"boards/b1.json": `{}`})
	if _, err := s.Board(t.Context(), "b1"); err != nil {
		t.Errorf("after the directory was made: %v", err)
	}
	if _, err := files.New(files.Options{}); err == nil {
		t.Error("got no error without a directory")
	}
}

func TestSource_cache(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "boards/b1.json")
	s := open(t, files.Options{Dir: dir})
	// Both contents have one size, so only the time can tell them apart.
	for i, title := range []string{"one", "two", "one"} {
		write(t, dir, sourcetest.Tree{"boards/b1.json": `{"name":"` + title + `"}`})
		if i == 1 { // long settled, so this one is kept
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(name, old, old); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			b, err := s.Board(t.Context(), "b1")
			if err != nil {
				t.Fatal(err)
			}
			if b.Name != title {
				t.Errorf("got %q, want %q", b.Name, title)
			}
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Board(t.Context(), "b1"); !boards.IsNotFound(err) {
		t.Errorf("after the board was removed: got %v, want not found", err)
	}
}

func TestLayDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "boards")
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	if err := files.LayDown(dir, now); err != nil {
		t.Fatal(err)
	}
	first := tree(t, dir)
	s := open(t, files.Options{Dir: dir})
	all, err := s.Boards(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, b := range all {
		ids = append(ids, b.ID)
	}
	if want := []string{"platform", "roadmap", "support", "website"}; !cmp.Equal(ids, want) {
		t.Fatalf("got boards %v, want %v", ids, want)
	}
	h, err := s.History(t.Context(), ids, time.Time{}, now)
	if err != nil {
		t.Fatal(err)
	}
	if h.Skipped > 0 || !h.Recorded || h.Events[0].At.Before(now.AddDate(0, 0, -22)) {
		t.Errorf("got a history with %d skipped from %v on, want three whole weeks", h.Skipped, h.Events[0].At)
	}
	for _, id := range ids {
		b, err := s.Board(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		checkConsistent(t, b, h.Events)
	}

	// A second time, on another day, over an edited board: nothing changes.
	write(t, dir, sourcetest.Tree{"boards/roadmap.json": `{"name":"Mine"}`})
	if err := files.LayDown(dir, now.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	first["boards/roadmap.json"] = `{"name":"Mine"}`
	if diff := cmp.Diff(tree(t, dir), first); diff != "" {
		t.Errorf("laid down twice, got - want +:\n%s", diff)
	}
}

func TestLayDown_interrupted(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	if err := files.LayDown(whole, now); err != nil {
		t.Fatal(err)
	}
	// A card exists that somebody made, and the file of another was cut off
	// before it got its name.
	write(t, dir, sourcetest.Tree{"cards/roadmap/road-1.json": `{"title":"Mine"}`, "boards/.new-1-roadmap.json": `{"na`})
	if err := files.LayDown(dir, now); err != nil {
		t.Fatal(err)
	}
	want := tree(t, whole)
	want["cards/roadmap/road-1.json"] = `{"title":"Mine"}`
	want["boards/.new-1-roadmap.json"] = `{"na`
	if diff := cmp.Diff(tree(t, dir), want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

func TestLayDown_everyWeekday(t *testing.T) {
	for day := range 7 {
		now := time.Date(2026, 12, 28+day, 0, 30, 0, 0, time.UTC)
		dir := t.TempDir()
		if err := files.LayDown(dir, now); err != nil {
			t.Fatal(err)
		}
		h, err := open(t, files.Options{Dir: dir}).History(t.Context(), []string{"roadmap", "platform", "support", "website"}, now.AddDate(0, 0, -30), now.AddDate(0, 0, 30))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range h.Events {
			if !e.At.Before(now) || e.At.Weekday() == time.Saturday || e.At.Weekday() == time.Sunday {
				t.Errorf("laid down at %v: event at %v, want one of a working day before", now, e.At)
			}
		}
		if last := h.Events[len(h.Events)-1].At; now.Sub(last) > 4*24*time.Hour {
			t.Errorf("laid down at %v: last event at %v, want one of the last working day", now, last)
		}
	}
}

// checkConsistent replays the events of a board and compares where they end.
func checkConsistent(t *testing.T, b *boards.Board, events []boards.Event) {
	t.Helper()
	lists := map[string]bool{}
	for _, l := range b.Lists {
		lists[l.ID] = true
		for _, c := range l.Cards {
			at, finished, blocked := "", false, false
			for _, e := range events {
				if e.BoardID != b.ID || e.CardID != c.ID {
					continue
				}
				switch e.Type {
				case boards.EventCreated:
					at = e.ToList
				case boards.EventMoved:
					if at != "" && at != e.FromList {
						t.Errorf("card %s moves from %q but is in %q", c.ID, e.FromList, at)
					}
					at = e.ToList
				case boards.EventCompleted:
					finished = true
				case boards.EventBlocked:
					blocked = true
				case boards.EventUnblocked:
					blocked = false
				}
			}
			if at != "" && at != c.ListID || finished != c.Finished || blocked != (c.BlockedSince != "") {
				t.Errorf("card %s: events end in %q finished %t blocked %t, the card says %q %t %q", c.ID, at, finished, blocked, c.ListID, c.Finished, c.BlockedSince)
			}
			if finished != (l.Stage == boards.StageDone) {
				t.Errorf("card %s: finished %t in list %s of stage %s", c.ID, finished, l.ID, l.Stage)
			}
		}
	}
	for _, e := range events {
		if e.BoardID == b.ID && (e.FromList != "" && !lists[e.FromList] || e.ToList != "" && !lists[e.ToList]) {
			t.Errorf("event %s names a list that is not on board %s", e.ID, b.ID)
		}
	}
}

// tree reads a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, relErr := filepath.Rel(dir, path)
		got[rel] = string(data)
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func unavailable(err error) bool {
	var e *a2a.Error
	return errors.As(err, &e) && e.Code == a2a.CodeUpstreamUnavailable && e.Message == "The board source is not available."
}

func BenchmarkListBoard(b *testing.B) {
	dir := b.TempDir()
	if err := files.LayDown(dir, time.Now()); err != nil {
		b.Fatal(err)
	}
	// Old enough for the cache, as boards are most of the time.
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	})
	if err != nil {
		b.Fatal(err)
	}
	s := open(b, files.Options{Dir: dir})
	for b.Loop() {
		board, err := s.Board(context.Background(), "platform")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := boards.Marshal(board); err != nil {
			b.Fatal(err)
		}
	}
}
