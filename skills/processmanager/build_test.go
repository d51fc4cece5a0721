package processmanager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/skills/boards"
)

// memory is a source of what it is given.
type memory struct {
	boards  []boards.Board
	history boards.History
	asked   [][2]time.Time
}

func (m *memory) Workspaces(context.Context) ([]boards.Workspace, error) {
	return []boards.Workspace{{ID: "w1", Name: "One"}, {ID: "old", Name: "Old", Archived: true}}, nil
}

func (m *memory) Boards(_ context.Context, workspace string) ([]boards.Board, error) {
	return slices.DeleteFunc(slices.Clone(m.boards), func(b boards.Board) bool { return workspace != "" && b.WorkspaceID != workspace }), nil
}

func (m *memory) Board(_ context.Context, id string) (*boards.Board, error) {
	for _, b := range m.boards {
		if b.ID == id {
			return &b, nil
		}
	}
	return nil, boards.NotFound("Board", id, nil)
}

func (m *memory) History(_ context.Context, _ []string, from, to time.Time) (boards.History, error) {
	m.asked = append(m.asked, [2]time.Time{from, to})
	h := m.history
	h.Events = slices.DeleteFunc(slices.Clone(h.Events), func(e boards.Event) bool { return e.At.Before(from) || !e.At.Before(to) })
	return h, nil
}

// board makes a board "b" with the lists todo, doing and done; a card is
// "<id> <list>".
func board(cards ...boards.Card) boards.Board {
	b := boards.Board{ID: "b", Name: "B", WorkspaceID: "w1", Lists: []boards.List{
		{ID: "todo", Title: "To do", Stage: boards.StageBacklog}, {ID: "doing", Title: "Doing", Stage: boards.StageActive},
		{ID: "done", Title: "Done", Stage: boards.StageDone},
	}}
	for _, c := range cards {
		if c.Title == "" {
			c.Title = c.ID
		}
		for i := range b.Lists {
			if b.Lists[i].ID == c.ListID {
				b.Lists[i].Cards = append(b.Lists[i].Cards, c)
			}
		}
	}
	return b
}

// events reads "<day of November> <HH> <type> <card> [<from> <to>]" a line.
func events(t *testing.T, lines ...string) []boards.Event {
	t.Helper()
	var out []boards.Event
	for _, line := range lines {
		f := strings.Fields(line)
		var d, h int
		if _, err := fmt.Sscan(f[0], &d); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(f[1], &h); err != nil {
			t.Fatal(err)
		}
		e := boards.Event{At: time.Date(2026, 11, d, h, 0, 0, 0, time.UTC), Type: boards.EventType(f[2]), BoardID: "b", CardID: f[3]}
		if len(f) > 4 {
			e.FromList, e.ToList = f[4], f[5]
		}
		out = append(out, e)
	}
	return out
}

// week47 is the week of 16 November; thursday is in week 49.
func reportOf(t *testing.T, m *memory, text string) report {
	t.Helper()
	_, data, err := run(t, Options{Source: m}, text)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data)
}

func TestReport_completion(t *testing.T) {
	points := func(id, list string, finished bool) boards.Card {
		return boards.Card{ID: id, ListID: list, Finished: finished, StoryPoints: 1, OriginalEstimate: 2}
	}
	m := &memory{
		boards: []boards.Board{board(points("event", "done", true), points("move", "done", false), points("both", "done", true),
			points("reopened", "doing", false), points("back", "doing", false), points("again", "done", true), points("before", "done", true), points("late", "done", true))},
		history: boards.History{Recorded: true, Events: events(t,
			"3 0 created event", "10 8 completed before",
			"16 0 moved event todo doing", "16 0 created both", "16 2 completed again", "16 3 reopened again",
			"17 0 moved event doing todo", "17 4 completed reopened", "17 5 moved back doing done",
			"18 6 completed event", "18 7 moved move doing done", "18 12 completed both", "18 12 moved both doing done",
			"19 0 moved back done doing", "19 1 reopened reopened", "20 2 completed again", "23 0 completed late",
		)},
	}
	r := reportOf(t, m, `{"week":"2026-W47"}`)
	var got []string
	for _, c := range r.Completed {
		cycle := "?"
		if c.CycleHours != nil {
			cycle = fmt.Sprint(*c.CycleHours)
		}
		got = append(got, c.ID+" "+c.CompletedAt[8:13]+" "+cycle)
	}
	want := []string{"event 18T06 54", "move 18T07 ?", "both 18T12 60", "again 20T02 ?"}
	if !slices.Equal(got, want) {
		t.Errorf("got completed %v, want %v", got, want)
	}
	if v := r.Velocity; v.PointsCompleted != 4 || v.EstimateCompleted != 8 || v.CardsCompleted != 4 || v.PointsPreviousWeek != 1 || v.MedianCycleHours != 57 {
		t.Errorf("got velocity %+v, want 4 points, 8 estimated, 4 cards, 1 point before, median 57", v)
	}
}

func TestReport_stateAtTheEndOfThePeriod(t *testing.T) {
	m := &memory{
		boards: []boards.Board{board(
			boards.Card{ID: "new", ListID: "doing"},
			boards.Card{ID: "finished", ListID: "done", Finished: true, DueDate: "2026-11-22"},
			boards.Card{ID: "started", ListID: "doing", DueDate: "2026-11-29"},
			boards.Card{ID: "blocked", ListID: "doing", BlockedSince: "2026-11-25"},
			boards.Card{ID: "freed", ListID: "todo"},
			boards.Card{ID: "reopened", ListID: "doing"},
			boards.Card{ID: "day", ListID: "todo", DueDate: "2026-11-30"},
		)},
		history: boards.History{Recorded: true, Events: events(t,
			"18 0 blocked freed", "20 0 created gone",
			"23 0 created new", "24 0 completed finished", "24 0 moved finished doing done", "24 0 moved started todo doing",
			"25 0 blocked blocked", "25 0 unblocked freed", "26 0 reopened reopened", "26 0 moved reopened done doing", "27 0 deleted gone doing -",
		)},
	}
	r := reportOf(t, m, `{"week":"2026-W47"}`)
	var inProgress, blocked, overdue, upcoming []string
	for _, c := range r.InProgress {
		inProgress = append(inProgress, c.ID)
	}
	for _, c := range r.Blocked {
		blocked = append(blocked, fmt.Sprint(c.Card.ID, c.Days))
	}
	for _, c := range r.Overdue {
		overdue = append(overdue, fmt.Sprint(c.Card.ID, c.Days))
	}
	for _, c := range r.Upcoming {
		upcoming = append(upcoming, fmt.Sprint(c.Card.ID, c.Days))
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"in progress", inProgress, []string{"blocked", "finished", "gone"}},
		{"blocked", blocked, []string{"freed5"}},
		{"overdue", overdue, []string{"finished1"}},
		{"upcoming", upcoming, []string{"started6"}},
		{"warnings", r.Warnings, nil},
	} {
		slices.Sort(c.got)
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
}

func TestReport_warnings(t *testing.T) {
	w := english().warnings
	one := []boards.Board{board(boards.Card{ID: "c", ListID: "doing", DueDate: "soon"})}
	for _, c := range []struct {
		name   string
		source *memory
		text   string
		want   []string
	}{
		{"no history", &memory{boards: one}, "", []string{w[warnNoHistory], "Cards with a due date that is not of the form YYYY-MM-DD: 1."}},
		{"no history of a past week", &memory{boards: one}, "2026-W40", []string{w[warnNoHistory], w[warnPresentState], "Cards with a due date that is not of the form YYYY-MM-DD: 1."}},
		{"coarse, cut, skipped", &memory{history: boards.History{Recorded: true, Coarse: true, Truncated: true, Skipped: 3}, boards: []boards.Board{board()}}, "",
			[]string{w[warnCoarse], w[warnTruncated], "Entries of the history that could not be read and are missing: 3."}},
		{"no boards", &memory{}, "", []string{w[warnNoBoards]}},
		{"future", &memory{history: boards.History{Recorded: true}, boards: []boards.Board{board()}}, "2027-W30", []string{w[warnFuture]}},
		{"long ago", &memory{history: boards.History{Recorded: true}, boards: []boards.Board{board()}}, "2020-W30", []string{w[warnPresentState]}},
		{"nobody of that name", &memory{history: boards.History{Recorded: true}, boards: []boards.Board{board()}}, `{"assignee":"Nobody"}`, []string{`No card is assigned to "Nobody".`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reportOf(t, c.source, c.text)
			if !slices.Equal(r.Warnings, c.want) {
				t.Errorf("got %q, want %q", r.Warnings, c.want)
			}
		})
	}
}

func TestReport_historyIsBounded(t *testing.T) {
	m := &memory{boards: []boards.Board{board()}, history: boards.History{Recorded: true}}
	reportOf(t, m, "2020-W30")
	reportOf(t, m, "2026-W47")
	week30 := time.Date(2020, 7, 20, 0, 0, 0, 0, time.UTC)
	want := [][2]time.Time{
		{week30.AddDate(0, 0, -7-90), week30.AddDate(0, 0, 7)},
		{time.Date(2026, 11, 16-7-90, 0, 0, 0, 0, time.UTC), thursday},
	}
	for i := range want {
		if !m.asked[i][0].Equal(want[i][0]) || !m.asked[i][1].Equal(want[i][1]) {
			t.Errorf("asked for %v, want %v", m.asked[i], want[i])
		}
	}
}

func TestReport_scope(t *testing.T) {
	m := &memory{history: boards.History{Recorded: true}, boards: []boards.Board{
		{ID: "a", WorkspaceID: "w1"}, {ID: "arch", WorkspaceID: "w1", Archived: true}, {ID: "hidden", WorkspaceID: "old"}, {ID: "z"},
	}}
	for _, c := range []struct {
		name, text, boards, workspaces string
		max                            int
		warnings                       int
	}{
		{"all", "", "a z", "w1", 0, 0},
		{"workspace", `{"workspace_id":"w1"}`, "a", "w1", 0, 0},
		{"archived workspace by name", `{"workspace_id":"old"}`, "hidden", "old", 0, 0},
		{"archived board by name", `{"board_ids":["z","arch"]}`, "z arch", "w1", 0, 0},
		{"more than a report covers", "", "a", "w1", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, data, err := run(t, Options{Source: m, MaxBoards: c.max}, c.text)
			if err != nil {
				t.Fatal(err)
			}
			r := decode(t, data)
			ids := func(all []named) string {
				var out []string
				for _, n := range all {
					out = append(out, n.ID)
				}
				return strings.Join(out, " ")
			}
			if ids(r.Scope.Boards) != c.boards || ids(r.Scope.Workspaces) != c.workspaces || len(r.Warnings) != c.warnings {
				t.Errorf("got %+v with warnings %q, want boards %q of %q", r.Scope, r.Warnings, c.boards, c.workspaces)
			}
		})
	}
	if _, _, err := run(t, Options{Source: m}, `{"workspace_id":"old","board_id":"a"}`); !boards.IsNotFound(err) {
		t.Errorf("board of another workspace: got %v, want not found", err)
	}
	if _, _, err := run(t, Options{Source: m, MaxBoards: 1}, `{"board_ids":["a","z"]}`); err == nil {
		t.Error("more boards named than a report covers: got no error")
	}
}

func TestMarkdown_hostileText(t *testing.T) {
	evil := "a|b\n# x\r\n```\n<script>alert(1)</script> [l](javascript:x) ![i](u) **b** _i_ `c` \u202Eabc\x00 &lt; " + strings.Repeat("y", 300)
	b := board(boards.Card{ID: "c", ListID: "doing", Title: evil, Assignee: evil, Labels: []boards.Label{{Text: evil}}, BlockedSince: boards.NullString(evil)})
	b.Name, b.Lists[1].Title = evil, evil
	md, _, err := run(t, Options{Source: &memory{boards: []boards.Board{b, {ID: "other", Name: "Other"}}, history: boards.History{Recorded: true}}}, "please\n# "+evil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(md) {
		line = strings.TrimSpace(line)
		bare := line
		for _, escaped := range []string{`\\`, `\|`, `\#`, "\\`", `\<`, `\[`, `\]`, `\*`, `\_`, `\!`, `\>`, `\&`} {
			bare = strings.ReplaceAll(bare, escaped, "")
		}
		if strings.ContainsAny(bare, "<`[]_&") || strings.Contains(bare, "\u202E") || strings.Contains(bare, "\x00") {
			t.Errorf("line %q holds live markup", line)
		}
		if strings.HasPrefix(line, "| ") && !strings.HasSuffix(line, " |") {
			t.Errorf("row %q is broken", line)
		}
		if strings.HasPrefix(bare, "#") && strings.Contains(bare, "x") && !strings.HasPrefix(bare, "# Weekly") && !strings.HasPrefix(bare, "## ") {
			t.Errorf("heading %q came from a card", line)
		}
		if len(line) > 3000 {
			t.Errorf("line of %d bytes", len(line))
		}
	}
	// A table must have one number of columns throughout.
	columns := 0
	for line := range strings.Lines(md) {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns != 0 && n != columns {
			t.Errorf("row %q has %d columns, want %d", line, n-1, columns-1)
		}
		columns = n
	}
}

func TestMarkdown_maxRows(t *testing.T) {
	var cards []boards.Card
	for i := range 9 {
		cards = append(cards, boards.Card{ID: fmt.Sprint("c", i), ListID: "doing"})
	}
	md, data, err := run(t, Options{Source: &memory{boards: []boards.Board{board(cards...)}, history: boards.History{Recorded: true}}, MaxRows: 4}, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(md, "… and 5 more") || strings.Contains(md, "c4") {
		t.Errorf("got %s, want four cards and the number of the others", md)
	}
	if n := len(decode(t, data).InProgress); n != 9 {
		t.Errorf("got %d cards in the data, want all 9", n)
	}
}
