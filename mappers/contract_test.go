package mappers_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
)

// The case names begin with the row of the contract's table of requests.

func text(s string) a2a.Part { return a2a.TextPart(s) }
func data(s string) a2a.Part { return a2a.DataPart(json.RawMessage(s)) }

func message(parts ...a2a.Part) a2a.Message {
	return a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: parts}
}

type mapCase struct {
	name     string
	parts    []a2a.Part
	want     string // the payload
	wantErr  string // the sentence
	warnings []string
}

func runCases(t *testing.T, m mappers.Mapper, cases []mapCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in, err := m.In(message(c.parts...))
			if c.wantErr != "" {
				var e *a2a.Error
				if !errors.As(err, &e) {
					t.Fatalf("got error %v, want an *a2a.Error", err)
				}
				if e.Code != a2a.CodeInvalidInput || e.Message != c.wantErr {
					t.Errorf("got %s %q, want %s %q", e.Code, e.Message, a2a.CodeInvalidInput, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatalf("got error %v, want payload %s", err, c.want)
			}
			if got := string(in.Payload); got != c.want {
				t.Errorf("got payload %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(in.Warnings, c.warnings); diff != "" {
				t.Errorf("warnings, got - want +:\n%s", diff)
			}
		})
	}
}

func TestBoard_In(t *testing.T) {
	const b1 = `{"operation":"list_board","board_id":"b1"}`
	long := strings.Repeat("k", 100)
	runCases(t, mappers.NewBoard("list_board", "board_id"), []mapCase{
		{name: "5 json", parts: []a2a.Part{text(`{"operation":"list_board","board_id":"b1"}`)}, want: b1},
		{name: "6 bare text", parts: []a2a.Part{text("b1")}, want: b1},
		{name: "7 trimmed", parts: []a2a.Part{text(" b1 \n")}, want: b1},
		{name: "7 trimmed in json", parts: []a2a.Part{text(`{"board_id":" b1 "}`)}, want: b1},
		{name: "8 space before json", parts: []a2a.Part{text(" \n{\"board_id\":\"b1\"} ")}, want: b1},
		{name: "9 empty text", parts: []a2a.Part{text("")}, wantErr: "board_id is required"},
		{name: "9 blank text", parts: []a2a.Part{text(" \t\n")}, wantErr: "board_id is required"},
		{name: "9 no part", wantErr: "board_id is required"},
		{name: "9 empty object", parts: []a2a.Part{text("{}")}, wantErr: "board_id is required"},
		{name: "9 null id", parts: []a2a.Part{text(`{"board_id":null}`)}, wantErr: "board_id is required"},
		{name: "9 empty id", parts: []a2a.Part{text(`{"board_id":""}`)}, wantErr: "board_id is required"},
		{name: "10 ignored key", parts: []a2a.Part{text(`{"board_id":"b1","x":1}`)}, want: b1, warnings: []string{`ignored key "x"`}},
		{name: "10 ignored keys in order", parts: []a2a.Part{text(`{"z":{"a":[1]},"board_id":"b1","a":2}`), data(`{"m":null,"n":0}`)}, want: b1,
			warnings: []string{`ignored key "z"`, `ignored key "a"`, `ignored key "n"`}},
		{name: "10 long key is cut", parts: []a2a.Part{text(`{"board_id":"b1","` + long + `":1}`)}, want: b1,
			warnings: []string{`ignored key "` + long[:64] + `…"`}},
		{name: "10 case matters", parts: []a2a.Part{text(`{"board_id":"b1","Board_ID":"b2"}`)}, want: b1, warnings: []string{`ignored key "Board_ID"`}},
		{name: "11 integer", parts: []a2a.Part{text(`{"board_id":5}`)}, want: `{"operation":"list_board","board_id":"5"}`},
		{name: "11 big integer", parts: []a2a.Part{text(`{"board_id":1919771947785257990123}`)}, want: `{"operation":"list_board","board_id":"1919771947785257990123"}`},
		{name: "11 fraction", parts: []a2a.Part{text(`{"board_id":5.0}`)}, wantErr: "board_id must be a string"},
		{name: "11 list", parts: []a2a.Part{text(`{"board_id":["b1"]}`)}, wantErr: "board_id must be a string"},
		{name: "11 object", parts: []a2a.Part{text(`{"board_id":{}}`)}, wantErr: "board_id must be a string"},
		{name: "11 bool", parts: []a2a.Part{text(`{"board_id":true}`)}, wantErr: "board_id must be a string"},
		{name: "12 other operation", parts: []a2a.Part{text(`{"operation":"delete_board","board_id":"b1"}`)},
			wantErr: `operation "delete_board" is not supported by skill list_board`},
		{name: "12 other operation in data", parts: []a2a.Part{text("b1"), data(`{"operation":"delete_board"}`)},
			wantErr: `operation "delete_board" is not supported by skill list_board`},
		{name: "12 before the missing id", parts: []a2a.Part{text(`{"operation":"delete_board"}`)},
			wantErr: `operation "delete_board" is not supported by skill list_board`},
		{name: "12 not a string", parts: []a2a.Part{text(`{"operation":5,"board_id":"b1"}`)}, wantErr: "operation must be a string"},
		{name: "13 null operation", parts: []a2a.Part{text(`{"operation":null,"board_id":"b1"}`)}, want: b1},
		{name: "14 last text wins", parts: []a2a.Part{text("b0"), text("b1")}, want: b1},
		{name: "14 json then text", parts: []a2a.Part{text(`{"board_id":"b0"}`), text("b1")}, want: b1},
		{name: "14 text then json", parts: []a2a.Part{text("b0"), text(`{"board_id":"b1"}`)}, want: b1},
		{name: "15 later null", parts: []a2a.Part{text(`{"board_id":"b1"}`), text(`{"board_id":null}`)}, want: b1},
		{name: "15 later blank", parts: []a2a.Part{text("b1"), text(" ")}, want: b1},
		{name: "16 array", parts: []a2a.Part{text(`["b1"]`)}, wantErr: "message.parts[0].text must be a JSON object or a bare id, not an array"},
		{name: "16 quoted", parts: []a2a.Part{text(`"b1"`)}, want: b1},
		{name: "16 quoted blank", parts: []a2a.Part{text(`" "`)}, wantErr: "board_id is required"},
		{name: "16 null", parts: []a2a.Part{text("null")}, wantErr: "board_id is required"},
		{name: "16 null after an id", parts: []a2a.Part{text("b1"), text("null")}, want: b1},
		{name: "17 cut short", parts: []a2a.Part{text(`{"board_id":"b1"`)}, wantErr: "message.parts[0].text is not valid JSON: unexpected end at line 1, column 17"},
		{name: "17 cut in a string", parts: []a2a.Part{text("b0"), text(`{"board_id":"b`)}, wantErr: "message.parts[1].text is not valid JSON: unexpected end at line 1, column 15"},
		{name: "17 wrong character", parts: []a2a.Part{text("{\n  board_id: \"b1\"\n}")}, wantErr: "message.parts[0].text is not valid JSON: unexpected character at line 2, column 3"},
		{name: "17 trailing comma", parts: []a2a.Part{text(`{"board_id":"b1",}`)}, wantErr: "message.parts[0].text is not valid JSON: unexpected character at line 1, column 17"},
		{name: "17 trailing data", parts: []a2a.Part{text(`{"board_id":"b1"} please`)}, wantErr: "message.parts[0].text is not valid JSON: text after the end of the object at line 1, column 19"},
		{name: "17 only a brace", parts: []a2a.Part{text(`{`)}, wantErr: "message.parts[0].text is not valid JSON: unexpected end at line 1, column 2"},
		{name: "18 duplicate key", parts: []a2a.Part{text(`{"board_id":"b0","board_id":"b1"}`)}, want: b1},
		{name: "18 duplicate key ends null", parts: []a2a.Part{text(`{"board_id":"b0","board_id":null}`)}, wantErr: "board_id is required"},
		{name: "20 data", parts: []a2a.Part{data(`{"board_id":"b1"}`)}, want: b1},
		{name: "20 data merges in order", parts: []a2a.Part{data(`{"board_id":"b0"}`), text("b1"), data(`{"x":1}`)}, want: b1, warnings: []string{`ignored key "x"`}},
		{name: "20 data is a string", parts: []a2a.Part{data(`"b1"`)}, want: b1},
		{name: "20 data is null", parts: []a2a.Part{text("b1"), data("null")}, want: b1},
		{name: "20 data is an array", parts: []a2a.Part{data(`["b1"]`)}, wantErr: "message.parts[0].data must be a JSON object"},
		{name: "21 file beside text", parts: []a2a.Part{{Kind: a2a.PartURL, URL: "https://example.com/x.png"}, text("b1")}, want: b1,
			warnings: []string{"ignored file part message.parts[0]"}},
		{name: "21 file alone", parts: []a2a.Part{{Kind: a2a.PartRaw, Raw: "eA=="}}, wantErr: "board_id is required"},
	})
}

func TestBoard_In_optional(t *testing.T) {
	runCases(t, mappers.NewBoard("list_boards").WithOptional("workspace_id"), []mapCase{
		{name: "nothing", want: `{"operation":"list_boards"}`},
		{name: "bare id", parts: []a2a.Part{text("acme")}, want: `{"operation":"list_boards","workspace_id":"acme"}`},
		{name: "a sentence", parts: []a2a.Part{text("show all boards")}, want: `{"operation":"list_boards"}`, warnings: []string{"ignored message.parts[0].text"}},
		{name: "integer", parts: []a2a.Part{data(`{"workspace_id":7}`)}, want: `{"operation":"list_boards","workspace_id":"7"}`},
		{name: "list", parts: []a2a.Part{data(`{"workspace_id":[7]}`)}, wantErr: "workspace_id must be a string"},
	})
}

func TestBoard_In_manyWarnings(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		b.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
	}
	in, err := mappers.NewBoard("list_workspaces").In(message(text(`{"operation":null` + b.String() + "}")))
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Warnings) != 21 || in.Warnings[20] != "80 more warnings" {
		t.Errorf("got %d warnings ending in %q, want 21 and the count of the rest", len(in.Warnings), in.Warnings[len(in.Warnings)-1])
	}
}

func TestBoard_Out(t *testing.T) {
	got, err := mappers.NewBoard("list_board", "board_id").Out(json.RawMessage(` {"id":"b1", "n":12345678901234567890.10, "lists":[]} `))
	if err != nil {
		t.Fatal(err)
	}
	const compact = `{"id":"b1","n":12345678901234567890.10,"lists":[]}`
	want := []a2a.Artifact{{ID: "board", Name: "board", Parts: []a2a.Part{text(compact), data(compact)}}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	for _, bad := range []string{`[]`, `"b1"`, `null`, `{`, ``} {
		if got, err := mappers.NewBoard("list_board").Out(json.RawMessage(bad)); err == nil {
			t.Errorf("Out(%q): got %v, want an error", bad, got)
		}
	}
}

func TestReport_In(t *testing.T) {
	const empty = `{"operation":"weekly_report"}`
	payload := func(members string) string { return `{"operation":"weekly_report",` + members + `}` }
	hint := func(op string) string {
		return `operation "` + op + `" is not supported by skill weekly_report; set skillId to "` + op + `"`
	}
	runCases(t, mappers.NewReport("list_board", "list_boards"), []mapCase{
		{name: "31 nothing", want: empty},
		{name: "31 blank", parts: []a2a.Part{text(" ")}, want: empty},
		{name: "31 null", parts: []a2a.Part{text("null"), data("null")}, want: empty},
		{name: "32 all keys", parts: []a2a.Part{data(`{"operation":"weekly_report","workspace_id":"w","board_ids":["a",7],"week":"2026-W48","timezone":"Europe/Kyiv","assignee":"Ana","format":"json","language":"uk","x":1,"y":null}`)},
			want:     payload(`"workspace_ids":["w"],"board_ids":["a","7"],"week":"2026-W48","timezone":"Europe/Kyiv","assignee":"Ana","format":"json","language":"uk"`),
			warnings: []string{`ignored key "x"`}},
		{name: "32 one board and many", parts: []a2a.Part{data(`{"board_id":"a","board_ids":["b","a"]}`)}, want: payload(`"board_ids":["a","b"]`)},
		{name: "32 aliases", parts: []a2a.Part{data(`{"from":"2026-11-23","end_date":"2026-11-29"}`)}, want: payload(`"date_from":"2026-11-23","date_to":"2026-11-29"`)},
		{name: "32 proper name before alias", parts: []a2a.Part{data(`{"date_from":"2026-11-23","from":"2026-01-01"}`)}, want: payload(`"date_from":"2026-11-23"`)},
		{name: "32 dates before week", parts: []a2a.Part{data(`{"week":"2026-W01","from":"2026-11-23"}`)}, want: payload(`"date_from":"2026-11-23"`),
			warnings: []string{`ignored key "week": the dates say the period`}},
		{name: "32 words for the week", parts: []a2a.Part{data(`{"week":"last week"}`)}, want: payload(`"period":"last_week"`)},
		{name: "32 malformed", parts: []a2a.Part{text(`{"week":`)}, wantErr: "message.parts[0].text is not valid JSON: unexpected end at line 1, column 9"},
		{name: "32 wrong type", parts: []a2a.Part{text(`{"week":true}`)}, wantErr: "week must be a string"},
		{name: "32 wrong element", parts: []a2a.Part{text(`{"board_ids":[{}]}`)}, wantErr: "board_ids must be a string or a list of strings"},
		{name: "33 week", parts: []a2a.Part{text("2026-W48")}, want: payload(`"week":"2026-W48","period_from_text":true`)},
		{name: "33 date", parts: []a2a.Part{text("2026-11-23")}, want: payload(`"date_from":"2026-11-23","date_to":"2026-11-23","period_from_text":true`)},
		{name: "33 range", parts: []a2a.Part{text(" 2026-11-23..2026-11-29\n")}, want: payload(`"date_from":"2026-11-23","date_to":"2026-11-29","period_from_text":true`)},
		{name: "33 this week", parts: []a2a.Part{text("This  week")}, want: payload(`"period":"this_week","period_from_text":true,"language":"en"`)},
		{name: "33 last week", parts: []a2a.Part{text("last week")}, want: payload(`"period":"last_week","period_from_text":true,"language":"en"`)},
		{name: "33 this week in Ukrainian", parts: []a2a.Part{text("Цей тиждень")}, want: payload(`"period":"this_week","period_from_text":true,"language":"uk"`)},
		{name: "33 last week in Ukrainian", parts: []a2a.Part{text("минулий тиждень")}, want: payload(`"period":"last_week","period_from_text":true,"language":"uk"`)},
		{name: "33 period in a sentence", parts: []a2a.Part{text("How was 2026-W48, please?")},
			want: payload(`"week":"2026-W48","period_from_text":true,"text":"How was 2026-W48, please?"`)},
		{name: "33 anything else", parts: []a2a.Part{text("How are we doing?")}, want: payload(`"text":"How are we doing?"`)},
		{name: "33 several texts", parts: []a2a.Part{text("a"), text("b")}, want: payload(`"text":"a\nb"`)},
		{name: "33 week that does not exist", parts: []a2a.Part{text("2026-W54")}, want: payload(`"text":"2026-W54"`)},
		{name: "33 date that does not exist", parts: []a2a.Part{text("2026-02-30")}, want: payload(`"text":"2026-02-30"`)},
		{name: "33 range backwards", parts: []a2a.Part{text("2026-11-29..2026-11-23")}, want: payload(`"text":"2026-11-29..2026-11-23"`)},
		{name: "33 part of a number", parts: []a2a.Part{text("42026-11-291")}, want: payload(`"text":"42026-11-291"`)},
		{name: "33 array is text", parts: []a2a.Part{text("[1]")}, want: payload(`"text":"[1]"`)},
		{name: "33 json before text", parts: []a2a.Part{data(`{"week":"2026-W10"}`), text("2026-W48")}, want: payload(`"week":"2026-W10"`)},
		{name: "33 long text is cut", parts: []a2a.Part{text(strings.Repeat("ы", 3000))}, want: payload(`"text":"` + strings.Repeat("ы", 2000) + `…"`)},
		{name: "34 list_board", parts: []a2a.Part{text(`{"operation":"list_board","board_id":"b1"}`)}, wantErr: hint("list_board")},
		{name: "34 list_boards", parts: []a2a.Part{data(`{"operation":"list_boards"}`)}, wantErr: hint("list_boards")},
		{name: "34 other operation", parts: []a2a.Part{data(`{"operation":"drop"}`)}, wantErr: `operation "drop" is not supported by skill weekly_report`},
		{name: "21 file", parts: []a2a.Part{{Kind: a2a.PartRaw}}, want: empty, warnings: []string{"ignored file part message.parts[0]"}},
	})
}

func TestReport_Out(t *testing.T) {
	got, err := mappers.NewReport().Out(json.RawMessage(`{"text":"# Hi","data":{"n":9007199254740993}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []a2a.Artifact{{ID: "weekly_report", Name: "weekly_report", Parts: []a2a.Part{text("# Hi"), data(`{"n":9007199254740993}`)}}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	if _, err := mappers.NewReport().Out(json.RawMessage(`{"text":"x","data":[]}`)); err == nil {
		t.Error("got no error for data that is an array")
	}
}

func TestPassthrough(t *testing.T) {
	runCases(t, mappers.NewPassthrough(), []mapCase{
		{name: "data", parts: []a2a.Part{text("x"), data(`{"n":9007199254740993}`), data(`{}`)}, want: `{"n":9007199254740993}`,
			warnings: []string{"ignored message.parts[0]", "ignored message.parts[2]"}},
		{name: "array", parts: []a2a.Part{data(`[1]`)}, want: `{"data":[1]}`},
		{name: "text", parts: []a2a.Part{text("a"), text("b")}, want: `{"text":"a\nb"}`},
		{name: "nothing", want: `{"text":""}`},
		{name: "file", parts: []a2a.Part{{Kind: a2a.PartURL}}, want: `{"text":""}`, warnings: []string{"ignored file part message.parts[0]"}},
	})
	for _, c := range []struct {
		result string
		want   []a2a.Part
	}{
		{`{"a": 1}`, []a2a.Part{data(`{"a":1}`)}},
		{`[1, 2]`, []a2a.Part{data(`[1,2]`)}},
		{`"hi"`, []a2a.Part{text("hi")}},
		{`12`, []a2a.Part{text("12")}},
		{`null`, nil},
	} {
		got, err := mappers.NewPassthrough().Out(json.RawMessage(c.result))
		if err != nil {
			t.Fatal(err)
		}
		var parts []a2a.Part
		for _, a := range got {
			parts = append(parts, a.Parts...)
		}
		if diff := cmp.Diff(parts, c.want); diff != "" {
			t.Errorf("Out(%s), got - want +:\n%s", c.result, diff)
		}
	}
}
