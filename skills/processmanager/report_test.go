package processmanager

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/files"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// thursday is the clock of most tests.
var thursday = time.Date(2026, 12, 3, 10, 0, 0, 0, time.UTC)

func demo(t testing.TB) boards.Source {
	t.Helper()
	dir := t.TempDir()
	if err := files.LayDown(dir, thursday); err != nil {
		t.Fatal(err)
	}
	s, err := files.New(files.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run sends a message's text through the mapper and the skill, and returns the
// two parts of the artifact.
func run(t testing.TB, opts Options, text string) (string, json.RawMessage, error) {
	t.Helper()
	if opts.Now == nil {
		opts.Now = func() time.Time { return thursday }
	}
	e := Entry(opts)
	in, err := e.Mapper.In(a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}})
	if err != nil {
		return "", nil, err
	}
	var events []a2a.Event
	err = e.Skill.Run(t.Context(), skills.Input{Payload: in.Payload}, func(e a2a.Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		if len(events) > 0 {
			t.Errorf("got events %+v before the error, want none", events)
		}
		return "", nil, err
	}
	if len(events) != 2 || events[0].Artifact == nil || events[1].Status == nil || events[1].Status.State != a2a.StateCompleted {
		t.Fatalf("got events %+v, want an artifact and completed", events)
	}
	a := events[0].Artifact.Artifact
	if a.ID != "weekly_report" || a.Name != "weekly_report" || len(a.Parts) != 2 || a.Parts[0].Kind != a2a.PartText || a.Parts[1].Kind != a2a.PartData {
		t.Fatalf("got artifact %+v, want weekly_report with a text and a data part", a)
	}
	return a.Parts[0].Text, a.Parts[1].Data, nil
}

func decode(t testing.TB, data json.RawMessage) report {
	t.Helper()
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReport_golden(t *testing.T) {
	for name, text := range map[string]string{
		"default-en":   "",
		"last-week-uk": `{"week":"минулий тиждень","period":1,"date_from":null,"language":"uk","timezone":"Europe/Kyiv","from":"2026-11-23","to":"2026-11-29"}`,
		"one-board":    `{"board_id":"roadmap","week":"2026-W47"}`,
		"empty":        `{"board_id":"website","week":"2026-W20","language":"en-GB"}`,
		"question":     "How is the <b>team</b> doing | today?",
		"assignee":     `{"assignee":"olena shevchenko"}`,
	} {
		t.Run(name, func(t *testing.T) {
			source := demo(t)
			md, data, err := run(t, Options{Source: source}, text)
			if err != nil {
				t.Fatal(err)
			}
			pretty := jsontext.Value(data)
			if err := pretty.Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".md", []byte(md))
			golden(t, name+".json", append(pretty, '\n'))
			again, dataAgain, err := run(t, Options{Source: source}, text)
			if err != nil || again != md || string(dataAgain) != string(data) {
				t.Errorf("a second run at the same time gives another report (error %v)", err)
			}
			if strings.Contains(string(data), ":null") && strings.Contains(strings.ReplaceAll(strings.ReplaceAll(string(data), `"due_date":null`, ""), `"cycle_hours":null`, ""), ":null") {
				t.Errorf("a member that must not be null is: %s", data)
			}
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s, got - want +:\n%s", name, diff)
	}
}

func TestReport_members(t *testing.T) {
	_, data, err := run(t, Options{Source: demo(t)}, "")
	if err != nil {
		t.Fatal(err)
	}
	names := func(object json.RawMessage) string {
		t.Helper()
		var m map[string]json.RawMessage
		if err := json.Unmarshal(object, &m); err != nil {
			t.Fatal(err)
		}
		var out []string
		for name := range m {
			out = append(out, name)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, got, want string }{
		{"report", names(data), "blocked by_assignee by_board by_label completed created generated_at in_progress moved operation overdue period scope summary upcoming velocity warnings"},
		{"period", names(top["period"]), "from timezone to week"},
		{"scope", names(top["scope"]), "boards workspaces"},
		{"summary", names(top["summary"]), "blocked comments completed created due_next_week in_progress moved overdue"},
		{"velocity", names(top["velocity"]), "cards_completed estimate_completed median_cycle_hours points_completed points_previous_week"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got members %q, want %q", c.what, c.got, c.want)
		}
	}
	for list, want := range map[string]string{
		"moved": "at card from_list to_list", "blocked": "blocked_since card days", "overdue": "card days due_date", "upcoming": "card days due_date",
	} {
		var all []json.RawMessage
		if err := json.Unmarshal(top[list], &all); err != nil || len(all) == 0 {
			t.Fatalf("%s: got %s, %v", list, top[list], err)
		}
		if got := names(all[0]); got != want {
			t.Errorf("%s: got members %q, want %q", list, got, want)
		}
	}
}

func TestReport_formatJSON(t *testing.T) {
	text, data, err := run(t, Options{Source: demo(t)}, `{"format":"json"}`)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(data) {
		t.Errorf("got text %.80q, want the data", text)
	}
}

// TestReport_errors names the rows of the contract's table of requests, or its
// section on weekly_report.
func TestReport_errors(t *testing.T) {
	down, err := files.New(files.Options{Dir: filepath.Join(t.TempDir(), "nowhere")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		source     boards.Source
		code       a2a.Code
		message    string
	}{
		{"3.4 unknown board", `{"board_ids":["roadmap","b9"]}`, demo(t), a2a.CodeNotFound, "Board b9 not found."},
		{"3.4 unsafe board", `{"board_id":"../x"}`, demo(t), a2a.CodeNotFound, "Board ../x not found."},
		{"3.4 unknown workspace", `{"workspace_id":"w9"}`, demo(t), a2a.CodeNotFound, "Workspace w9 not found."},
		{"3.4 unknown workspace beside a board", `{"workspace_id":"w9","board_id":"roadmap"}`, demo(t), a2a.CodeNotFound, "Workspace w9 not found."},
		{"3.4 bad format", `{"format":"xml"}`, demo(t), a2a.CodeInvalidInput, `format must be "markdown" or "json"`},
		{"3.4 bad language", `{"language":"de"}`, demo(t), a2a.CodeInvalidInput, `language must be "en" or "uk"`},
		{"3.4 bad date", `{"from":"yesterday"}`, demo(t), a2a.CodeInvalidInput, `date_from "yesterday" is not a date of the form YYYY-MM-DD`},
		{"23 source down", "", down, a2a.CodeUpstreamUnavailable, "The board source is not available."},
		{"34 other skill", `{"operation":"list_board","board_id":"roadmap"}`, demo(t), a2a.CodeInvalidInput,
			`operation "list_board" is not supported by skill weekly_report; set skillId to "list_board"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := run(t, Options{Source: c.source}, c.text)
			var e *a2a.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Message != c.message {
				t.Errorf("got %v, want %s %q", err, c.code, c.message)
			}
		})
	}
}

func TestOptions_Validate(t *testing.T) {
	for name, o := range map[string]Options{"zone": {Timezone: "Nowhere"}, "language": {Language: "xx"}} {
		if err := o.Validate(); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if err := (Options{}).Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
}

func TestRun_cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := New(Options{Source: demo(t)}).Run(ctx, skills.Input{Payload: json.RawMessage(`{}`)}, func(a2a.Event) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestEntry_examples(t *testing.T) {
	for _, example := range Entry(Options{}).Info.Examples {
		if _, _, err := run(t, Options{Source: demo(t)}, example); err != nil {
			t.Errorf("example %s: %v", example, err)
		}
	}
}
