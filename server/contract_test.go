package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/server/servertest"
)

// submitCase is a tasks/submit and the task that it must become.
type submitCase struct {
	params string
	// skill is the id of the skill that must have been chosen; "" is not checked.
	skill string
	// board is the id of the board in the answer of a completed list_board.
	board string
	// fails is the sentence of a failed task, code its data.code.
	fails, code string
	// warns are substrings of the warnings in the metadata.
	warns []string
}

// TestContract_Submit is the table of tasks/submit, row by row, against the
// default configuration and its demo boards.
func TestContract_Submit(t *testing.T) {
	s := plain(t)
	rows := slices.Concat(skillRows(), boardRows(), inputRows(), reportRows(), taskIDRows(), serverRows())
	slices.SortFunc(rows, func(a, b submitRow) int { return a.number - b.number })
	for i, row := range rows {
		if row.number != i+1 {
			t.Fatalf("got row %d, want row %d", row.number, i+1)
		}
		t.Run(fmt.Sprintf("row_%02d", row.number), func(t *testing.T) {
			for _, tc := range row.cases {
				t.Run("", func(t *testing.T) { tc.run(t, s) })
			}
			if row.run != nil {
				row.run(t, s)
			}
		})
	}
	if len(rows) != 37 {
		t.Errorf("got %d rows, want 37", len(rows))
	}
}

// submitRow is a row of the table: requests to one server, or more than that.
type submitRow struct {
	number int
	cases  []submitCase
	run    func(*testing.T, *servertest.Server)
}

const (
	available = "; available skills: list_board, list_boards, list_workspaces, weekly_report"
	required  = "board_id is required"
	invalid   = "invalid_input"
)

func skillRows() []submitRow {
	report := func(skillID string) submitCase {
		return submitCase{params: `{` + skillID + `"message":{"role":"user","parts":[{"type":"text","text":""}]}}`, skill: "weekly_report"}
	}
	unknown := func(skillID string) submitCase {
		return submitCase{
			params: `{"skillId":` + skillID + `,"message":{"role":"user","parts":[{"type":"text","text":"roadmap"}]}}`,
			fails:  "unknown skillId " + skillID + available, code: "unknown_skill",
		}
	}
	return []submitRow{
		{number: 1, cases: []submitCase{
			report(""), report(`"skillId":null,`), report(`"skillId":"",`), report(`"skillId":0,`),
			report(`"skillId":false,`), report(`"skillId":[],`), report(`"skillId":{},`),
		}},
		{number: 2, cases: []submitCase{report(`"skillId":"weekly_report",`)}},
		{number: 3, cases: []submitCase{{params: listBoard(textPart("roadmap")), skill: "list_board", board: "roadmap"}}},
		{number: 4, cases: []submitCase{unknown(`" list_board"`), unknown(`"LIST_BOARD"`), unknown(`5`), unknown(`["list_board"]`), unknown(`"foo"`)}},
		{number: 34, cases: []submitCase{{
			params: `{"message":{"role":"user","parts":[` + textPart(`{"operation":"list_board","board_id":"roadmap"}`) + `]}}`,
			skill:  "weekly_report", code: invalid,
			fails: `operation "list_board" is not supported by skill weekly_report; set skillId to "list_board"`,
		}}},
	}
}

func boardRows() []submitRow {
	ok := func(parts ...string) submitCase {
		return submitCase{params: listBoard(parts...), skill: "list_board", board: "roadmap"}
	}
	fails := func(sentence string, parts ...string) submitCase {
		return submitCase{params: listBoard(parts...), skill: "list_board", fails: sentence, code: invalid}
	}
	missing := func(id string) submitCase {
		c := fails("Board "+id+" not found.", textPart(`{"board_id":`+quote(id)+`}`))
		c.code = "not_found"
		return c
	}
	five := missing("5")
	five.params = listBoard(textPart(`{"board_id":5}`))
	warned := ok(textPart(`{"board_id":"roadmap","x":1}`))
	warned.warns = []string{`"x"`}
	const typed = "board_id must be a string"
	return []submitRow{
		{number: 5, cases: []submitCase{ok(textPart(`{"operation":"list_board","board_id":"roadmap"}`))}},
		{number: 6, cases: []submitCase{ok(textPart("roadmap"))}},
		{number: 7, cases: []submitCase{ok(textPart(" roadmap \n"))}},
		{number: 8, cases: []submitCase{ok(textPart(` {"board_id":"roadmap"}`)), ok(textPart("\n\t" + `{"board_id":" roadmap"}` + "\n"))}},
		{number: 9, cases: []submitCase{
			fails(required, textPart("")), fails(required), fails(required, textPart("{}")),
			fails(required, textPart(`{"board_id":null}`)), fails(required, textPart(`{"board_id":""}`)),
		}},
		{number: 10, cases: []submitCase{warned}},
		{number: 11, cases: []submitCase{
			five, fails(typed, textPart(`{"board_id":["roadmap"]}`)), fails(typed, textPart(`{"board_id":{}}`)),
			fails(typed, textPart(`{"board_id":true}`)),
		}},
		{number: 12, cases: []submitCase{
			fails(`operation "delete_board" is not supported by skill list_board`, textPart(`{"operation":"delete_board","board_id":"roadmap"}`)),
			fails(`operation "list_boards" is not supported by skill list_board`, textPart(`{"operation":"list_boards","board_id":"roadmap"}`)),
		}},
		{number: 13, cases: []submitCase{ok(textPart(`{"operation":null,"board_id":"roadmap"}`))}},
		{number: 14, cases: []submitCase{
			ok(textPart("platform"), textPart("roadmap")), ok(textPart(`{"board_id":"platform"}`), textPart("roadmap")),
			ok(textPart("platform"), textPart(`{"board_id":"roadmap"}`)),
		}},
		{number: 15, cases: []submitCase{ok(textPart(`{"board_id":"roadmap"}`), textPart(`{"board_id":null}`)), ok(textPart("roadmap"), textPart(`{}`))}},
		{number: 22, cases: []submitCase{missing("b9"), missing("../workspaces/acme"), missing("..")}},
	}
}

func inputRows() []submitRow {
	ok := func(parts ...string) submitCase {
		return submitCase{params: listBoard(parts...), skill: "list_board", board: "roadmap"}
	}
	fails := func(sentence string, parts ...string) submitCase {
		return submitCase{params: listBoard(parts...), skill: "list_board", fails: sentence, code: invalid}
	}
	const syntax = "message.parts[0].text is not valid JSON: "
	file := `{"type":"file","file":{"uri":"https://files.example.com/a.png","mimeType":"image/png"}}`
	image := `{"type":"image","url":"https://files.example.com/a.png"}`
	withFile := ok(file, textPart("roadmap"))
	withFile.warns = []string{"file"}
	withImage := ok(textPart("roadmap"), image)
	withImage.warns = []string{"file"}
	return []submitRow{
		{number: 16, cases: []submitCase{
			{params: listBoard(textPart(`["roadmap"]`)), skill: "list_board", code: invalid, fails: "message.parts[0].text must be a JSON object or a bare id, not an array"},
			ok(textPart(`"roadmap"`)), fails(required, textPart("null")),
		}},
		{number: 17, cases: []submitCase{
			fails(syntax+"unexpected end at line 1, column 18", textPart(`{"board_id":"b-1"`+"\n ")),
			fails(syntax+"text after the end of the object at line 1, column 22", textPart(`{"board_id":"b-001"} tail`)),
			fails(syntax+"unexpected character at line 1, column 13", textPart(`{"board_id":roadmap}`)),
		}},
		{number: 18, cases: []submitCase{ok(textPart(`{"board_id":"platform","board_id":"roadmap"}`))}},
		{number: 19, cases: []submitCase{
			ok(`{"type":"text","text":"roadmap"}`), ok(`{"kind":"text","text":"roadmap"}`), ok(`{"text":"roadmap"}`),
		}},
		{number: 20, cases: []submitCase{
			ok(`{"kind":"data","data":{"board_id":"roadmap"}}`),
			ok(textPart("platform"), `{"type":"data","data":{"board_id":"roadmap"}}`),
			ok(`{"type":"data","data":{"board_id":"platform"}}`, textPart("roadmap")),
		}},
		{number: 21, cases: []submitCase{withFile, withImage, fails(required, file), fails(required, image)}},
		{number: 24, cases: []submitCase{
			fails(required), {params: `{"skillId":"list_board"}`, skill: "list_board", fails: required, code: invalid},
			{params: `{"skillId":"list_board","message":null}`, skill: "list_board", fails: required, code: invalid},
			{params: `{}`, skill: "weekly_report"}, {params: `null`, skill: "weekly_report"},
		}},
	}
}

func (tc submitCase) run(t *testing.T, s *servertest.Server) {
	t.Helper()
	a := submit(t, s, tc.params)
	if tc.skill != "" {
		want(t, a, tc.skill, "result", "task", "skillId")
	}
	switch {
	case tc.fails != "":
		checkFailed(t, a, tc.fails, tc.code)
	case tc.board != "":
		checkBoard(t, a, tc.board)
	default:
		checkReport(t, a)
	}
	for _, w := range tc.warns {
		if warnings := fmt.Sprint(a.Get("result", "task", "metadata", "warnings")); !strings.Contains(warnings, w) {
			t.Errorf("got warnings %s, want %s among them", warnings, w)
		}
	}
	// Whatever became of it, the task is stored and answered again alike.
	again := s.RPC(call("tasks/status", params("taskId", taskID(a))))
	if d := cmp.Diff(a.Get("result", "task"), again.Get("result", "task")); d != "" {
		t.Errorf("tasks/status differs from the answer of tasks/submit:\n%s", d)
	}
}

// submit posts tasks/submit and checks what holds for every task in the answer.
func submit(t *testing.T, s *servertest.Server, params string, headers ...string) servertest.Answer {
	t.Helper()
	a := s.RPC(call("tasks/submit", params), headers...)
	if a.Status != 200 || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got HTTP %d %s, want 200 application/json", a.Status, a.Header.Get("Content-Type"))
	}
	result, _ := envelope(t, a.Body)
	if result == nil {
		t.Fatalf("got an error, want a task: %s", clip(a.Body))
	}
	id := a.Get("result", "task", "id")
	if id == nil || id == "" {
		t.Errorf("task without an id: %s", clip(a.Body))
	}
	want(t, a, id, "result", "task", "taskId")
	if status, ok := a.Get("result", "task", "status").(string); !ok || !slices.Contains([]string{"submitted", "working", "completed", "failed"}, status) {
		t.Errorf("status is %v, want a string the gateway knows", a.Get("result", "task", "status"))
	}
	if artifact := a.Get("result", "task", "artifact"); artifact != nil {
		if d := cmp.Diff([]any{artifact}, a.Get("result", "task", "artifacts")); d != "" {
			t.Errorf("artifacts differs from the one artifact:\n%s", d)
		}
	}
	for _, name := range []string{"createdAt", "updatedAt"} {
		if at, _ := a.Get("result", "task", name).(string); !timestamp.MatchString(at) {
			t.Errorf("%s is %q, want RFC 3339 in UTC", name, at)
		}
	}
	return a
}

func checkFailed(t *testing.T, a servertest.Answer, sentence, code string) {
	t.Helper()
	task := []any{"result", "task"}
	want(t, a, "failed", append(task, "status")...)
	want(t, a, "error", append(task, "artifact", "name")...)
	want(t, a, "text", append(task, "artifact", "parts", 0, "type")...)
	want(t, a, sentence, append(task, "artifact", "parts", 0, "text")...)
	want(t, a, code, append(task, "artifact", "parts", 1, "data", "code")...)
	want(t, a, sentence, append(task, "artifact", "parts", 1, "data", "message")...)
}

// checkBoard checks that the first part is the board as JSON text, which clients
// parse, and the second the same as data.
func checkBoard(t *testing.T, a servertest.Answer, board string) {
	t.Helper()
	task := []any{"result", "task"}
	want(t, a, "completed", append(task, "status")...)
	want(t, a, "board", append(task, "artifact", "name")...)
	for i, kind := range []string{"text", "data"} {
		want(t, a, kind, append(task, "artifact", "parts", i, "type")...)
		want(t, a, kind, append(task, "artifact", "parts", i, "kind")...)
	}
	text, _ := a.Get(append(task, "artifact", "parts", 0, "text")...).(string)
	var b struct {
		ID, Name string
		Lists    []struct {
			Title string
			Cards []struct{ ID, Title, Description string }
		}
	}
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("parts[0].text is not JSON: %v\n%s", err, clip(a.Body))
	}
	if b.ID != board || b.Name == "" || len(b.Lists) == 0 || len(b.Lists[0].Cards) == 0 || b.Lists[0].Cards[0].Title == "" {
		t.Errorf("got board %+v, want %s with lists of cards", b, board)
	}
	data := servertest.Answer{Body: []byte(text)}
	if d := cmp.Diff(data.Get(), a.Get(append(task, "artifact", "parts", 1, "data")...)); d != "" {
		t.Errorf("the data part differs from the text part:\n%s", d)
	}
}

func checkReport(t *testing.T, a servertest.Answer) {
	t.Helper()
	task := []any{"result", "task"}
	want(t, a, "completed", append(task, "status")...)
	want(t, a, "weekly_report", append(task, "artifact", "name")...)
	if text, _ := a.Get(append(task, "artifact", "parts", 0, "text")...).(string); !strings.HasPrefix(text, "# ") {
		t.Errorf("parts[0].text is not Markdown with a title: %q", clip([]byte(text)))
	}
	want(t, a, "weekly_report", append(task, "artifact", "parts", 1, "data", "operation")...)
}

// listBoard is the params of a tasks/submit for list_board.
func listBoard(parts ...string) string {
	return `{"skillId":"list_board","message":{"role":"user","parts":[` + strings.Join(parts, ",") + `]}}`
}

func textPart(s string) string { return `{"type":"text","text":` + quote(s) + `}` }

// TestContract_Curl is the command of the gateway's documentation, byte for byte
// but for the board.
func TestContract_Curl(t *testing.T) {
	s := plain(t)
	body := `{"jsonrpc":"2.0","method":"tasks/submit","params":{"taskId":"test-2","skillId":"list_board","message":{"role":"user","parts":[{"type":"text","text":"{\"operation\":\"list_board\",\"board_id\":\"roadmap\"}"}]}},"id":2}`
	for range 2 { // it can be repeated
		a := s.Do("POST", "/api/a2a/tasks", body)
		want(t, a, 2, "id")
		want(t, a, "test-2", "result", "task", "id")
		want(t, a, "list_board", "result", "task", "skillId")
		checkBoard(t, a, "roadmap")
	}
}

// TestContract_Status is the rules of tasks/status.
func TestContract_Status(t *testing.T) {
	s := plain(t)
	id := taskID(submit(t, s, listBoard(textPart("roadmap"))))
	for _, name := range []string{"taskId", "id"} {
		a := s.RPC(call("tasks/status", params(name, id)))
		checkBoard(t, a, "roadmap")
	}
	t.Run("unknown", func(t *testing.T) {
		a := s.RPC(call("tasks/status", `{"taskId":"t-x"}`))
		if got, want := string(a.Body), `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t-x","taskId":"t-x","status":"not_found"}}}`+"\n"; got != want || a.Status != 200 {
			t.Errorf("got HTTP %d %s, want 200 %s", a.Status, got, want)
		}
	})
	for _, p := range []string{`{}`, `null`, `{"taskId":null}`, `{"taskId":""}`, `{"taskId":true}`, `[]`} {
		t.Run("missing", func(t *testing.T) { wantCode(t, s.RPC(call("tasks/status", p)), -32602) })
	}
	t.Run("foreign", func(t *testing.T) {
		c := probe(t)
		c.RPC(call("tasks/submit", `{"taskId":"mine","message":{"parts":[{"text":"@echo secret"}]}}`), alice)
		want(t, c.RPC(call("tasks/status", `{"taskId":"mine"}`), alice), "completed", "result", "task", "status")
		a := c.RPC(call("tasks/status", `{"taskId":"mine"}`), bob)
		if got, want := string(a.Body), `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"mine","taskId":"mine","status":"not_found"}}}`+"\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
