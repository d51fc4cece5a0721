package processmanager

import (
	"cmp"
	"slices"

	"github.com/skillyard/skillyard/skills/boards"
)

// tally counts by board, assignee and label.
type tally struct {
	boards     []*boards.Board
	byBoard    map[string]*counts
	byAssignee map[string]*counts
	byLabel    map[string]*counts
}

func newTally(all []*boards.Board) *tally {
	t := &tally{boards: all, byBoard: map[string]*counts{}, byAssignee: map[string]*counts{}, byLabel: map[string]*counts{}}
	for _, b := range all {
		t.byBoard[b.ID] = &counts{}
	}
	return t
}

// add counts c for the card's board, its assignee and each of its labels.
func (t *tally) add(card card, c counts) {
	into(t.byBoard, card.BoardID, c)
	into(t.byAssignee, card.Assignee, c)
	for _, l := range card.Labels {
		into(t.byLabel, l, c)
	}
}

func into(m map[string]*counts, key string, c counts) {
	sum := m[key]
	if sum == nil {
		sum = &counts{}
		m[key] = sum
	}
	sum.Created += c.Created
	sum.Completed += c.Completed
	sum.Moved += c.Moved
	sum.InProgress += c.InProgress
	sum.Blocked += c.Blocked
	sum.Overdue += c.Overdue
	sum.PointsCompleted += c.PointsCompleted
}

// boardLines has every board, in the order of the scope.
func (t *tally) boardLines() []boardLine {
	lines := make([]boardLine, len(t.boards))
	for i, b := range t.boards {
		lines[i] = boardLine{BoardID: b.ID, Board: b.Name, counts: *t.byBoard[b.ID]}
	}
	return lines
}

func (t *tally) assigneeLines() []assigneeLine {
	lines := []assigneeLine{}
	for _, name := range ranked(t.byAssignee) {
		lines = append(lines, assigneeLine{Assignee: name, counts: *t.byAssignee[name]})
	}
	return lines
}

func (t *tally) labelLines() []labelLine {
	lines := []labelLine{}
	for _, name := range ranked(t.byLabel) {
		lines = append(lines, labelLine{Label: name, counts: *t.byLabel[name]})
	}
	return lines
}

// ranked orders the names by what was completed, then by name; nobody is last.
func ranked(m map[string]*counts) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if (a == "") != (b == "") {
			return cmp.Compare(len(b), len(a))
		}
		return cmp.Or(
			cmp.Compare(m[b].PointsCompleted, m[a].PointsCompleted),
			cmp.Compare(m[b].Completed, m[a].Completed),
			cmp.Compare(a, b),
		)
	})
	return names
}
