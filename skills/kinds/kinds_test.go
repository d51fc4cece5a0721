package kinds_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards/files"
	"github.com/skillyard/skillyard/skills/kinds"
)

const many = 1_000_000

func build(t testing.TB, s kinds.Spec) (skills.Entry, error) {
	t.Helper()
	dir := t.TempDir()
	if err := files.LayDown(dir, time.Date(2026, 12, 3, 10, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	source, err := files.New(files.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return kinds.Build(s, kinds.Deps{Boards: source})
}

func mustBuild(t testing.TB, s kinds.Spec) skills.Entry {
	t.Helper()
	e, err := build(t, s)
	if err != nil {
		t.Fatal(err)
	}
	e.Limits.MaxValues = many // a set fills in the default
	return e
}

// run sends parts through the mapper and the skill and returns the data it gives.
func run(t testing.TB, e skills.Entry, parts ...a2a.Part) []json.RawMessage {
	t.Helper()
	in, err := e.Mapper.In(a2a.Message{Parts: parts})
	if err != nil {
		t.Fatalf("map %v: %v", parts, err)
	}
	var data []json.RawMessage
	err = e.Skill.Run(t.Context(), skills.Input{Payload: in.Payload}, func(ev a2a.Event) error {
		if ev.Artifact != nil {
			for _, p := range ev.Artifact.Artifact.Parts {
				if p.Kind == a2a.PartData {
					data = append(data, p.Data)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("run %v: %v", parts, err)
	}
	return data
}

// builtin are the specs of the skills with schemas of their own.
func builtin() []kinds.Spec {
	return []kinds.Spec{
		{Kind: "processmanager", Info: skills.Info{ID: "weekly_report"}},
		{Kind: "taskmanager", Info: skills.Info{ID: "list_board"}},
		{Kind: "taskmanager", Info: skills.Info{ID: "list_boards"}},
		{Kind: "taskmanager", Info: skills.Info{ID: "list_workspaces"}},
	}
}

// TestBuild_schemas holds the built-in skills to the schemas they publish: this is
// what lets them run unchecked.
func TestBuild_schemas(t *testing.T) {
	for _, spec := range builtin() {
		t.Run(string(spec.Info.ID), func(t *testing.T) {
			e := mustBuild(t, spec)
			if e.InputSchema == nil || e.OutputSchema == nil || !e.ProvenOutput {
				t.Fatalf("got input %v, output %v, proven %v; want all", e.InputSchema, e.OutputSchema, e.ProvenOutput)
			}
			var s struct{ Examples []json.RawMessage }
			if err := json.Unmarshal(e.InputSchema.JSON(), &s); err != nil || len(s.Examples) == 0 {
				t.Fatalf("got examples %s, %v; want at least one", s.Examples, err)
			}
			inputs := [][]a2a.Part{}
			for _, x := range s.Examples {
				inputs = append(inputs, []a2a.Part{a2a.DataPart(x)})
			}
			for _, x := range e.Info.Examples {
				inputs = append(inputs, []a2a.Part{a2a.TextPart(x)})
				if strings.HasPrefix(x, "{") {
					inputs = append(inputs, []a2a.Part{a2a.DataPart(json.RawMessage(x))})
				}
			}
			for _, parts := range inputs {
				in, err := e.Mapper.In(a2a.Message{Parts: parts})
				if err != nil {
					t.Fatal(err)
				}
				if err := e.CheckInput(in.Sent); err != nil {
					t.Errorf("input %v: %v", parts, err)
				}
				data := run(t, e, parts...)
				if len(data) == 0 {
					t.Errorf("input %v: got no data", parts)
				}
				for _, d := range data {
					if bad := e.OutputSchema.Check(d, many); len(bad) > 0 {
						t.Errorf("input %v: output does not fit: %s", parts, skills.Sentence(bad))
					}
				}
			}
		})
	}
}

// TestBuild_schemas_notice: the schemas are not so loose that nothing breaks them.
func TestBuild_schemas_notice(t *testing.T) {
	for _, spec := range builtin() {
		e := mustBuild(t, spec)
		for _, bad := range []string{`{}`, `[]`, `{"lists":1,"boards":[{}],"workspaces":[1]}`} {
			if len(e.OutputSchema.Check([]byte(bad), many)) == 0 {
				t.Errorf("%s: output %s fits", spec.Info.ID, bad)
			}
		}
		if spec.Info.ID != "list_workspaces" && len(e.InputSchema.Check([]byte(`{"board_id":true,"workspace_id":true}`), many)) == 0 {
			t.Errorf("%s: an id that is true fits", spec.Info.ID)
		}
	}
}

func TestBuild_schemas_replaced(t *testing.T) {
	spec := builtin()[1]
	spec.InputSchema = []byte(`{}`)
	if e := mustBuild(t, spec); string(e.InputSchema.JSON()) != `{}` || !e.ProvenOutput || len(e.OutputSchema.JSON()) < 100 {
		t.Errorf("got %s, proven %v; want the input's alone replaced", e.InputSchema.JSON(), e.ProvenOutput)
	}
	spec.OutputSchema = []byte(`{"required":["x"]}`)
	if e := mustBuild(t, spec); e.ProvenOutput || string(e.OutputSchema.JSON()) != `{"required":["x"]}` {
		t.Errorf("got %s, proven %v; want the given one, to be checked", e.OutputSchema.JSON(), e.ProvenOutput)
	}
	spec.OutputSchema = []byte(`{"$ref":"https://example.com/x"}`)
	_, err := build(t, spec)
	if err == nil || err.Error() != `skill "list_board": output_schema refers to https://example.com/x; only references within the schema are followed` {
		t.Errorf("got error %v", err)
	}
	if e := mustBuild(t, kinds.Spec{Kind: "mock", Info: skills.Info{ID: "m"}}); e.InputSchema != nil || e.OutputSchema != nil {
		t.Error("a mock has schemas of its own")
	}
}
