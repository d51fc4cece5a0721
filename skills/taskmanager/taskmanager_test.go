package taskmanager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/files"
	"github.com/skillyard/skillyard/skills/taskmanager"
)

func demo(t testing.TB) boards.Source {
	t.Helper()
	dir := t.TempDir()
	if err := files.LayDown(dir, time.Date(2026, 12, 2, 9, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	s, err := files.New(files.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run sends one text part through the mapper and the skill of an operation.
func run(ctx context.Context, t testing.TB, source boards.Source, operation, text string) ([]a2a.Event, error) {
	t.Helper()
	for _, e := range taskmanager.Entries(source) {
		if string(e.Info.ID) != operation {
			continue
		}
		in, err := e.Mapper.In(a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}})
		if err != nil {
			return nil, err
		}
		var events []a2a.Event
		err = e.Skill.Run(ctx, skills.Input{Payload: in.Payload}, func(e a2a.Event) error {
			events = append(events, e)
			return nil
		})
		return events, err
	}
	t.Fatalf("no skill %q", operation)
	return nil, nil
}

// result checks the shape of a success and returns the artifact's data.
func result(t *testing.T, events []a2a.Event, name string) json.RawMessage {
	t.Helper()
	if len(events) != 2 || events[0].Artifact == nil || events[1].Status == nil || events[1].Status.State != a2a.StateCompleted {
		t.Fatalf("got events %+v, want an artifact and completed", events)
	}
	a := events[0].Artifact.Artifact
	if a.ID != name || a.Name != name || len(a.Parts) != 2 || a.Parts[0].Kind != a2a.PartText || a.Parts[1].Kind != a2a.PartData {
		t.Fatalf("got artifact %+v, want %q with a text and a data part", a, name)
	}
	if a.Parts[0].Text != string(a.Parts[1].Data) {
		t.Errorf("got text %q, want the data %q", a.Parts[0].Text, a.Parts[1].Data)
	}
	return a.Parts[1].Data
}

func TestListBoard(t *testing.T) {
	events, err := run(t.Context(), t, demo(t), "list_board", `{"operation":"list_board","board_id":"roadmap"}`)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		ID, Name string
		Lists    []struct {
			Title string
			Cards []struct{ ID, Title, Description string }
		}
	}
	if err := json.Unmarshal(result(t, events, "board"), &board); err != nil {
		t.Fatal(err)
	}
	if board.ID != "roadmap" || board.Name != "Roadmap" || len(board.Lists) != 5 {
		t.Fatalf("got %+v, want the roadmap with five lists", board)
	}
	if c := board.Lists[0].Cards[0]; c.ID != "road-6" || c.Title == "" || c.Description == "" {
		t.Errorf("got first card %+v, want road-6 with title and description", c)
	}
}

func TestListBoards(t *testing.T) {
	for text, want := range map[string]int{"": 4, "acme": 4, `{"workspace_id":"acme"}`: 4} {
		events, err := run(t.Context(), t, demo(t), "list_boards", text)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Boards []map[string]any }
		if err := json.Unmarshal(result(t, events, "boards"), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Boards) != want {
			t.Errorf("%q: got %d boards, want %d", text, len(got.Boards), want)
		}
		first := map[string]any{"id": "platform", "name": "Platform", "workspace_id": "acme", "archived": false}
		if diff := cmp.Diff(got.Boards[0], first); diff != "" {
			t.Errorf("%q, got - want +:\n%s", text, diff)
		}
	}
}

func TestListWorkspaces(t *testing.T) {
	events, err := run(t.Context(), t, demo(t), "list_workspaces", "")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"workspaces":[{"id":"acme","name":"Acme","archived":false}]}`
	if got := string(result(t, events, "workspaces")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestErrors names the rows of the contract's table of requests.
func TestErrors(t *testing.T) {
	down, err := files.New(files.Options{Dir: t.TempDir() + "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, operation, text string
		source                boards.Source
		code                  a2a.Code
		message               string
	}{
		{"9 no id", "list_board", "{}", demo(t), a2a.CodeInvalidInput, "board_id is required"},
		{"12 other operation", "list_board", `{"operation":"list_boards","board_id":"roadmap"}`, demo(t), a2a.CodeInvalidInput, `operation "list_boards" is not supported by skill list_board`},
		{"22 unknown board", "list_board", "b9", demo(t), a2a.CodeNotFound, "Board b9 not found."},
		{"22 unsafe board", "list_board", "../../etc/passwd", demo(t), a2a.CodeNotFound, "Board ../../etc/passwd not found."},
		{"22 unknown workspace", "list_boards", "w9", demo(t), a2a.CodeNotFound, "Workspace w9 not found."},
		{"23 source down", "list_board", "roadmap", down, a2a.CodeUpstreamUnavailable, "The board source is not available."},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := run(t.Context(), t, c.source, c.operation, c.text)
			var e *a2a.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Message != c.message {
				t.Errorf("got %v, want %s %q", err, c.code, c.message)
			}
			if len(events) > 0 {
				t.Errorf("got events %+v before the error, want none", events)
			}
		})
	}
}

func TestRun_cancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(skills.ErrCanceled)
	if _, err := run(ctx, t, demo(t), "list_board", "roadmap"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestRun_emitRefused(t *testing.T) {
	refused := errors.New("lease lost")
	skill, err := taskmanager.New(demo(t), taskmanager.ListBoard)
	if err != nil {
		t.Fatal(err)
	}
	err = skill.Run(t.Context(), skills.Input{Payload: json.RawMessage(`{"board_id":"roadmap"}`)}, func(a2a.Event) error { return refused })
	if !errors.Is(err, refused) {
		t.Errorf("got %v, want what emit said", err)
	}
}

func TestNew_unknownOperation(t *testing.T) {
	if _, err := taskmanager.New(demo(t), "delete_board"); err == nil {
		t.Error("got no error for an operation there is not")
	}
}

func TestEntries(t *testing.T) {
	entries := taskmanager.Entries(demo(t))
	set, err := skills.NewSet("list_board", entries...)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range set.All() {
		if e.Retry != skills.RetryOnCrash {
			t.Errorf("skill %s: got retry %s, want %s", e.Info.ID, e.Retry, skills.RetryOnCrash)
		}
		// An example on the card that does not work would be a lie.
		for _, example := range e.Info.Examples {
			if _, err := run(t.Context(), t, demo(t), string(e.Info.ID), example); err != nil {
				t.Errorf("skill %s: example %s: %v", e.Info.ID, example, err)
			}
		}
	}
}

func ExampleEntries() {
	source, err := files.New(files.Options{Dir: "/srv/boards"})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := skills.NewSet("list_board", taskmanager.Entries(source)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.IDs())
	// Output: [list_board list_boards list_workspaces]
}
