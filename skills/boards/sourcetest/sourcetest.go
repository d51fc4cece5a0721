// Package sourcetest is the contract of boards.Source as a test suite. A source
// exists when it passes.
package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills/boards"
)

// Tree is the content of a source: paths in the common layout, and what is there.
type Tree map[string]string

// UnsafeIDs are ids that no source may turn into a path or a URL.
func UnsafeIDs() []string {
	return []string{
		"", ".", "..", "../secret", "..%2fsecret", "a/../../secret", "/etc/passwd", "a/b", `a\b`, "a..b", "b1\x00", "b1\n", "b 1",
		"b1?x=1", "b1#x", "b1%00", "дошка", "b1;rm", "~", "*", strings.Repeat("a", 129), "C:b1", "\xff",
	}
}

// Sample returns a tree with every form that sources must read.
func Sample() Tree {
	return Tree{
		"workspaces/w1.json": `{"id":"w1","name":"One","archived":false}`,
		"workspaces/w2.json": `{"id":"other","title":"Two","archived":true,"unknown":{"x":1}}`,
		"workspaces/w3.json": `{}`,

		"boards/b1.json": "\ufeff" + `{"id":"b1","name":"Roadmap","workspace_id":"w1","lists":["done","todo"]}`,
		"boards/b2.json": `{"title":"Archive","workspace_id":"w1","archived":true}`,
		"boards/b4.json": `{"name":"Empty","workspace_id":"w2"}`,
		"boards/b5.json": `{"name":"Damaged cards","workspace_id":"w2"}`,
		"boards/b6.json": `{"name":`,
		"boards/b3/full.json": `{"name":"Whole","workspace_id":"w2","lists":[
			{"id":"l1","title":"Open","cards":[{"id":"c1","name":"One","dueDate":"2026-12-01T00:00:00.000Z"},{"id":"c2","title":"Two","position":-1}]},
			{"id":"l2","name":"Finito","type":"closed"}]}`,
		"boards/readme.txt":   "not a board",
		"boards/bad id.json":  `{"name":"unsafe name"}`,
		"boards/empty/x.json": `{}`,
		"boards/.new.json":    `{"name":"hidden"}`,

		"lists/b1/todo.json":  `{"id":"todo","title":"To do","board_id":"b1","position":1}`,
		"lists/b1/done.json":  `{"title":"Done","position":2}`,
		"lists/b1/later.json": `{"title":"In work","position":0.5}`,

		"cards/b1/c1.json": `{"id":"c1","title":"First","description":"d","list_id":"todo","labels":["a",{"text":"b","color":"red"},{"name":"c"}],
			"priority":"HIGH","due_date":"2026-12-01","finished":false,"story_points":3,"original_estimate":8,"assignee":" Ana ","blocked_since":"2026-11-20",
			"position":2,"comments":[{"id":"m1","author":"Bo","content":"hi"}],"extra":12345678901234567890}`,
		"cards/b1/c2.json":   `{"title":"Second","list_id":"todo","position":1,"labels":null,"due_date":null,"assignee":null,"priority":null}`,
		"cards/b1/c3.json":   `{"title":"Third","list_id":"done","finished":true}`,
		"cards/b1/lost.json": `{"title":"Lost","list_id":"gone"}`,
		"cards/b1/notes.txt": "not a card",
		"cards/b1/.c1.json":  `{"title":"hidden","list_id":"todo"}`,
		"cards/b5/c1.json":   `{"title":"ok"}`,
		"cards/b5/c2.json":   `{"title":7}`,

		"events/2026-11-23.jsonl": `{"id":"e1","at":"2026-11-23T09:00:00Z","type":"created","board_id":"b1","card_id":"c1","title":"First","to_list":"todo"}

{"at":"2026-11-23T12:00:00+02:00","type":"moved","board_id":"b1","card_id":"c1","from_list":"todo","to_list":"done","actor":"Ana","new":true}
{"at":"2026-11-23T10:30:00Z","type":"created","board_id":"b2","card_id":"x"}
{"at":"2026-11-23T11:`,
		"events/2026-11-24.jsonl": `{"at":"2026-11-24T00:00:00Z","type":"completed","board_id":"b1","card_id":"c1"}` + "\n",
		"events/2026-11-22.jsonl": `{"at":"2026-11-23T08:00:00Z","type":"commented","board_id":"b1","card_id":"c2"}` + "\n",
		"events/2026-10-01.jsonl": `{"at":"2026-11-23T08:30:00Z","type":"commented","board_id":"b1","card_id":"misfiled"}` + "\n",
		"events/notes.jsonl":      `{"at":"2026-11-23T08:40:00Z","type":"commented","board_id":"b1","card_id":"notes"}` + "\n",
	}
}

// Run checks the source that open makes over a tree.
func Run(t *testing.T, open func(t *testing.T, tree Tree) boards.Source) {
	t.Run("workspaces", func(t *testing.T) { testWorkspaces(t, open) })
	t.Run("boards", func(t *testing.T) { testBoards(t, open(t, Sample())) })
	t.Run("board", func(t *testing.T) { testBoard(t, open(t, Sample())) })
	t.Run("unknown", func(t *testing.T) { testUnknown(t, open(t, Sample())) })
	t.Run("unsafe_ids", func(t *testing.T) { testUnsafe(t, open(t, Sample())) })
	t.Run("damaged", func(t *testing.T) { testDamaged(t, open(t, Sample())) })
	t.Run("history", func(t *testing.T) { testHistory(t, open) })
	t.Run("cancelled", func(t *testing.T) { testCancelled(t, open(t, Sample())) })
	t.Run("concurrent", func(t *testing.T) { testConcurrent(t, open(t, Sample())) })
}

func testWorkspaces(t *testing.T, open func(*testing.T, Tree) boards.Source) {
	got, err := open(t, Sample()).Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []boards.Workspace{{ID: "w1", Name: "One"}, {ID: "w2", Name: "Two", Archived: true}, {ID: "w3", Name: "w3"}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}

	got, err = open(t, Tree{"boards/x.json": `{"workspace_id":"team"}`, "boards/y.json": `{}`}).Workspaces(t.Context())
	if want := []boards.Workspace{{ID: "team", Name: "team"}}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("without workspaces written down: got %v, %v, want %v", got, err, want)
	}

	got, err = open(t, Tree{"boards/x.json": `{}`}).Workspaces(t.Context())
	if err != nil || got == nil || len(got) != 0 {
		t.Errorf("without workspaces: got %#v, %v, want an empty list", got, err)
	}
}

func testBoards(t *testing.T, s boards.Source) {
	for _, c := range []struct{ workspace, want string }{
		{"", "b1 b2* b3 b4 b5"}, {"w1", "b1 b2*"}, {"w2", "b3 b4 b5"}, {"w3", ""},
	} {
		all, err := s.Boards(t.Context(), c.workspace)
		if err != nil || all == nil {
			t.Fatalf("workspace %q: got %v, %v", c.workspace, all, err)
		}
		var got []string
		for _, b := range all {
			name := b.ID
			if b.Archived {
				name += "*"
			}
			got = append(got, name)
			if b.Lists == nil || len(b.Lists) != 0 {
				t.Errorf("board %s: got lists %v, want none and not nil", b.ID, b.Lists)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("workspace %q: got %q, want %q", c.workspace, got, c.want)
		}
	}
	_, err := s.Boards(t.Context(), "w9")
	checkError(t, err, a2a.CodeNotFound, "Workspace w9 not found.")
}

func testBoard(t *testing.T, s boards.Source) {
	for id, want := range map[string]string{
		"b1": `{"id":"b1","name":"Roadmap","workspace_id":"w1","archived":false,"lists":[` +
			`{"id":"done","title":"Done","board_id":"b1","stage":"done","position":2,"cards":[` +
			`{"id":"c3","title":"Third","description":"","list_id":"done","labels":[],"priority":"medium","due_date":null,"finished":true,"story_points":0,"original_estimate":0,"assignee":"","blocked_since":null}]},` +
			`{"id":"todo","title":"To do","board_id":"b1","stage":"backlog","position":1,"cards":[` +
			`{"id":"c2","title":"Second","description":"","list_id":"todo","labels":[],"priority":"medium","due_date":null,"finished":false,"story_points":0,"original_estimate":0,"assignee":"","blocked_since":null,"position":1},` +
			`{"id":"c1","title":"First","description":"d","list_id":"todo","labels":["a",{"text":"b","color":"red"},"c"],"priority":"high","due_date":"2026-12-01","finished":false,"story_points":3,"original_estimate":8,"assignee":"Ana","blocked_since":"2026-11-20","position":2,"comments":[{"id":"m1","author":"Bo","content":"hi"}]}]},` +
			`{"id":"later","title":"In work","board_id":"b1","stage":"active","position":0.5,"cards":[]},` +
			`{"id":"gone","title":"gone","board_id":"b1","stage":"active","cards":[` +
			`{"id":"lost","title":"Lost","description":"","list_id":"gone","labels":[],"priority":"medium","due_date":null,"finished":false,"story_points":0,"original_estimate":0,"assignee":"","blocked_since":null}]}]}`,
		"b3": `{"id":"b3","name":"Whole","workspace_id":"w2","archived":false,"lists":[` +
			`{"id":"l1","title":"Open","board_id":"b3","stage":"active","cards":[` +
			`{"id":"c2","title":"Two","description":"","list_id":"l1","labels":[],"priority":"medium","due_date":null,"finished":false,"story_points":0,"original_estimate":0,"assignee":"","blocked_since":null,"position":-1},` +
			`{"id":"c1","title":"One","description":"","list_id":"l1","labels":[],"priority":"medium","due_date":"2026-12-01","finished":false,"story_points":0,"original_estimate":0,"assignee":"","blocked_since":null}]},` +
			`{"id":"l2","title":"Finito","board_id":"b3","stage":"done","cards":[]}]}`,
		"b4": `{"id":"b4","name":"Empty","workspace_id":"w2","archived":false,"lists":[]}`,
	} {
		b, err := s.Board(t.Context(), id)
		if err != nil {
			t.Fatalf("board %s: %v", id, err)
		}
		got, err := boards.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("board %s, got - want +:\n%s", id, diff)
		}
	}
}

func testUnknown(t *testing.T, s boards.Source) {
	for _, id := range []string{"b9", "b1.json", "empty", "readme", strings.Repeat("a", 128)} {
		_, err := s.Board(t.Context(), id)
		want := "Board " + id + " not found."
		if len(id) > 64 {
			want = "Board " + id[:64] + "… not found."
		}
		checkError(t, err, a2a.CodeNotFound, want)
		if errors.Is(err, boards.ErrInvalidID) {
			t.Errorf("id %q: got ErrInvalidID for a safe id", id)
		}
	}
}

func testUnsafe(t *testing.T, s boards.Source) {
	for _, id := range UnsafeIDs() {
		_, err := s.Board(t.Context(), id)
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeNotFound || !errors.Is(err, boards.ErrInvalidID) {
			t.Errorf("board %q: got %v, want not found because of the id", id, err)
			continue
		}
		if strings.ContainsAny(e.Message, "\x00\n\ufffd") || len(e.Message) > 300 || !strings.HasSuffix(e.Message, " not found.") {
			t.Errorf("board %q: message %q is unfit for a client", id, e.Message)
		}
		if id == "" {
			continue // means all workspaces
		}
		if _, err := s.Boards(t.Context(), id); !boards.IsNotFound(err) || !errors.Is(err, boards.ErrInvalidID) {
			t.Errorf("workspace %q: got %v, want not found because of the id", id, err)
		}
	}
}

func testDamaged(t *testing.T, s boards.Source) {
	for _, id := range []string{"b5", "b6"} {
		_, err := s.Board(t.Context(), id)
		checkError(t, err, a2a.CodeUpstreamUnavailable, "The board source is not available.")
		if err != nil && !strings.Contains(err.Error(), id) {
			t.Errorf("board %s: the cause %q does not name what is damaged", id, err)
		}
	}
}

func testHistory(t *testing.T, open func(*testing.T, Tree) boards.Source) {
	from, to := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	h, err := open(t, Sample()).History(t.Context(), []string{"b1", "b9"}, from, to)
	if err != nil {
		t.Fatal(err)
	}
	want := boards.History{Recorded: true, Skipped: 1, Events: []boards.Event{
		{At: from.Add(8 * time.Hour), Type: boards.EventCommented, BoardID: "b1", CardID: "c2"},
		{ID: "e1", At: from.Add(9 * time.Hour), Type: boards.EventCreated, BoardID: "b1", CardID: "c1", Title: "First", ToList: "todo"},
		{At: from.Add(10 * time.Hour), Type: boards.EventMoved, BoardID: "b1", CardID: "c1", FromList: "todo", ToList: "done", Actor: "Ana"},
	}}
	if diff := cmp.Diff(h, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}

	h, err = open(t, Sample()).History(t.Context(), []string{"b1"}, from.AddDate(1, 0, 0), to.AddDate(1, 0, 0))
	if err != nil || !h.Recorded || len(h.Events) != 0 {
		t.Errorf("quiet time: got %+v, %v, want a history without events", h, err)
	}
}

func testCancelled(t *testing.T, s boards.Source) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func() error{
		"Workspaces": func() error { _, err := s.Workspaces(ctx); return err },
		"Boards":     func() error { _, err := s.Boards(ctx, ""); return err },
		"Board":      func() error { _, err := s.Board(ctx, "b1"); return err },
		"History":    func() error { _, err := s.History(ctx, []string{"b1"}, time.Time{}, time.Now()); return err },
	}
	for name, call := range calls {
		var e *a2a.Error
		if err := call(); !errors.Is(err, context.Canceled) || errors.As(err, &e) {
			t.Errorf("%s: got %v, want the context's error and no coded one", name, err)
		}
	}
}

func testConcurrent(t *testing.T, s boards.Source) {
	want, err := s.Board(t.Context(), "b1")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 100)
	for range 16 {
		wg.Go(func() {
			for range 3 {
				got, err := s.Board(t.Context(), "b1")
				if err != nil {
					errs <- err
				} else if diff := cmp.Diff(got, want); diff != "" {
					errs <- fmt.Errorf("got another board:\n%s", diff)
				}
				if _, err := s.Boards(t.Context(), "w1"); err != nil {
					errs <- err
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

// checkError checks the code and the public text of a source's error, and that
// the text names nothing internal.
func checkError(t *testing.T, err error, code a2a.Code, message string) {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) {
		t.Errorf("got error %v, want an *a2a.Error", err)
		return
	}
	if e.Code != code || e.Message != message {
		t.Errorf("got %s %q, want %s %q", e.Code, e.Message, code, message)
	}
}
