package processmanager

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/skillyard/skillyard/skills/boards"
)

// maxCellRunes is the most characters of a title or a name in the Markdown.
const maxCellRunes = 120

// renderer writes a report as Markdown.
type renderer struct {
	strings.Builder
	w       *words
	loc     *time.Location
	maxRows int
	// manyBoards says that cards need their board named beside them.
	manyBoards bool
}

// renderMarkdown writes the report for people. Sections without content are left
// out; text from the boards is escaped, so that it cannot become markup.
func renderMarkdown(r *report, warnings []warning, p period, w *words, maxRows int) string {
	d := &renderer{w: w, loc: p.loc, maxRows: maxRows, manyBoards: len(r.Scope.Boards) > 1}
	d.header(r, p)
	d.summary(r)
	d.completed(r.Completed)
	d.blocked(r.Blocked)
	d.due(w.overdue, r.Overdue)
	d.due(w.dueSoon, r.Upcoming)
	d.inProgress(r.InProgress)
	d.created(r.Created)
	d.moved(r.Moved)
	d.breakdowns(r)
	if len(warnings) > 0 {
		d.heading(w.remarks, 0)
		for _, x := range warnings {
			d.line("- ", escape(w.warning(x)))
		}
	}
	return d.String()
}

func (d *renderer) line(texts ...string) {
	for _, s := range texts {
		d.WriteString(s)
	}
	d.WriteByte('\n')
}

// heading begins a section; a count of 0 is not shown.
func (d *renderer) heading(title string, count int) {
	if count > 0 {
		title += " (" + strconv.Itoa(count) + ")"
	}
	d.line("\n## ", title, "\n")
}

func (d *renderer) header(r *report, p period) {
	title := d.w.title
	if r.Period.Week != "" {
		title += " · " + r.Period.Week
	}
	d.line("# ", title, "\n")
	d.line("**", d.rangeOf(p), "** · ", escape(r.Period.Timezone), "  ")
	d.names(d.w.workspaces, r.Scope.Workspaces)
	d.names(d.w.boards, r.Scope.Boards)
	if r.Request != nil {
		d.line("\n> ", d.w.request, ": ", escape(r.Request.Text))
	}
}

func (d *renderer) names(what string, all []named) {
	if len(all) == 0 {
		return
	}
	d.WriteString(what + ": ")
	for i, n := range all {
		if i == d.maxRows {
			fmt.Fprintf(d, " "+d.w.more, len(all)-i)
			break
		}
		if i > 0 {
			d.WriteString(", ")
		}
		d.WriteString(escape(n.Name))
	}
	d.line("  ")
}

func (d *renderer) summary(r *report) {
	s := r.Summary
	d.WriteByte('\n')
	d.table(
		[]column{
			{d.w.completed, true}, {d.w.created, true}, {d.w.moved, true}, {d.w.inProgress, true},
			{d.w.blocked, true}, {d.w.overdue, true}, {d.w.dueSoon, true}, {d.w.comments, true},
		},
		[][]string{ints(s.Completed, s.Created, s.Moved, s.InProgress, s.Blocked, s.Overdue, s.DueNextWeek, s.Comments)},
	)
	v := r.Velocity
	d.line("\n**", d.w.velocity, "** – ", d.w.points, ": ", strconv.Itoa(v.PointsCompleted),
		" (", d.w.previousWeek, ": ", strconv.Itoa(v.PointsPreviousWeek), ", ", signed(v.PointsCompleted-v.PointsPreviousWeek), ")",
		" · ", d.w.estimate, ": ", strconv.Itoa(v.EstimateCompleted),
		" · ", d.w.medianCycle, ": ", d.hours(v.MedianCycleHours))
	if s == (summary{}) {
		d.line("\n", d.w.quiet)
	}
}

// column is a table's column; numbers are set to the right.
type column struct {
	title string
	right bool
}

// table writes a table of escaped cells, or nothing without rows.
func (d *renderer) table(columns []column, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	cells := make([]string, len(columns))
	rules := make([]string, len(columns))
	for i, c := range columns {
		cells[i], rules[i] = c.title, "---"
		if c.right {
			rules[i] = "---:"
		}
	}
	d.line("| ", strings.Join(cells, " | "), " |")
	d.line("| ", strings.Join(rules, " | "), " |")
	for _, row := range rows[:min(len(rows), d.maxRows)] {
		d.line("| ", strings.Join(row, " | "), " |")
	}
	if more := len(rows) - d.maxRows; more > 0 {
		d.line("\n", fmt.Sprintf(d.w.more, more))
	}
}

// cardTable writes a section with one card a row: the card, its board if there
// are several, its assignee, and the columns of the section.
func cardTable[T any](d *renderer, title string, all []T, columns []column, row func(T) (card, []string)) {
	if len(all) == 0 {
		return
	}
	d.heading(title, len(all))
	head := []column{{d.w.card, false}}
	if d.manyBoards {
		head = append(head, column{d.w.board, false})
	}
	head = append(append(head, column{d.w.assignee, false}), columns...)
	rows := make([][]string, len(all))
	for i, v := range all {
		c, cells := row(v)
		rows[i] = append(rows[i], d.title(c))
		if d.manyBoards {
			rows[i] = append(rows[i], escape(c.Board))
		}
		rows[i] = append(append(rows[i], d.person(c.Assignee)), cells...)
	}
	d.table(head, rows)
}

func (d *renderer) completed(all []doneCard) {
	columns := []column{{d.w.points, true}, {d.w.cycle, true}, {d.w.at, false}}
	cardTable(d, d.w.completed, all, columns, func(c doneCard) (card, []string) {
		cycle := "–"
		if c.CycleHours != nil {
			cycle = d.hours(*c.CycleHours)
		}
		return c.card, []string{number(c.StoryPoints), cycle, d.when(c.CompletedAt)}
	})
}

func (d *renderer) blocked(all []blockedCard) {
	columns := []column{{d.w.list, false}, {d.w.since, false}, {d.w.days, true}}
	cardTable(d, d.w.blocked, all, columns, func(c blockedCard) (card, []string) {
		return c.Card, []string{escape(c.Card.List), d.day(c.BlockedSince), strconv.Itoa(c.Days)}
	})
}

func (d *renderer) due(title string, all []dueCard) {
	columns := []column{{d.w.list, false}, {d.w.due, false}, {d.w.days, true}}
	cardTable(d, title, all, columns, func(c dueCard) (card, []string) {
		return c.Card, []string{escape(c.Card.List), d.day(c.DueDate), strconv.Itoa(c.Days)}
	})
}

func (d *renderer) inProgress(all []card) {
	columns := []column{{d.w.list, false}, {d.w.points, true}, {d.w.due, false}}
	cardTable(d, d.w.inProgress, all, columns, func(c card) (card, []string) {
		due := "–"
		if c.DueDate != nil {
			due = d.day(*c.DueDate)
		}
		return c, []string{escape(c.List), number(c.StoryPoints), due}
	})
}

func (d *renderer) created(all []newCard) {
	columns := []column{{d.w.list, false}, {d.w.points, true}, {d.w.at, false}}
	cardTable(d, d.w.created, all, columns, func(c newCard) (card, []string) {
		return c.card, []string{escape(c.List), number(c.StoryPoints), d.when(c.CreatedAt)}
	})
}

func (d *renderer) moved(all []move) {
	columns := []column{{d.w.from, false}, {d.w.to, false}, {d.w.at, false}}
	cardTable(d, d.w.moved, all, columns, func(m move) (card, []string) {
		return m.Card, []string{escape(m.FromList), escape(m.ToList), d.when(m.At)}
	})
}

func (d *renderer) breakdowns(r *report) {
	if d.manyBoards {
		rows := make([][]string, len(r.ByBoard))
		for i, l := range r.ByBoard {
			rows[i] = append([]string{escape(l.Board)}, l.counts.cells()...)
		}
		d.breakdown(d.w.byBoard, d.w.board, rows)
	}
	rows := make([][]string, len(r.ByAssignee))
	for i, l := range r.ByAssignee {
		rows[i] = append([]string{d.person(l.Assignee)}, l.counts.cells()...)
	}
	d.breakdown(d.w.byAssignee, d.w.assignee, rows)
	rows = make([][]string, len(r.ByLabel))
	for i, l := range r.ByLabel {
		rows[i] = append([]string{escape(l.Label)}, l.counts.cells()...)
	}
	d.breakdown(d.w.byLabel, d.w.label, rows)
}

func (d *renderer) breakdown(title, what string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	d.heading(title, 0)
	d.table([]column{
		{what, false}, {d.w.completed, true}, {d.w.points, true}, {d.w.created, true},
		{d.w.moved, true}, {d.w.inProgress, true}, {d.w.blocked, true}, {d.w.overdue, true},
	}, rows)
}

func (c counts) cells() []string {
	return ints(c.Completed, c.PointsCompleted, c.Created, c.Moved, c.InProgress, c.Blocked, c.Overdue)
}

// title is a card's title, marked when it is urgent.
func (d *renderer) title(c card) string {
	t := escape(c.Title)
	if c.Priority == string(boards.PriorityUrgent) {
		t = "❗ " + t
	}
	return t
}

func (d *renderer) person(name string) string {
	if name == "" {
		return "*" + d.w.nobody + "*"
	}
	return escape(name)
}

// hours shows a number of hours as "5.5 h", from two days on as "2 d 4 h".
func (d *renderer) hours(h float64) string {
	if h < 48 {
		return strconv.FormatFloat(h, 'f', -1, 64) + " " + d.w.hourUnit
	}
	whole := int(h + 0.5)
	text := strconv.Itoa(whole/24) + " " + d.w.dayUnit
	if whole%24 > 0 {
		text += " " + strconv.Itoa(whole%24) + " " + d.w.hourUnit
	}
	return text
}

// when shows a moment of the data in the report's zone: "Tue 24 Nov 14:05".
func (d *renderer) when(stamp string) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return escape(stamp)
	}
	t = t.In(d.loc)
	return d.shortDate(t) + t.Format(" 15:04")
}

// day shows a date, or the date of a moment: "Tue 24 Nov".
func (d *renderer) day(s string) string {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return d.shortDate(t)
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return d.shortDate(t.In(d.loc))
	}
	return escape(s)
}

func (d *renderer) shortDate(t time.Time) string {
	return d.w.weekdays[t.Weekday()] + " " + strconv.Itoa(t.Day()) + " " + d.w.shortMonths[t.Month()-1]
}

// rangeOf shows a period: "23–29 November 2026".
func (d *renderer) rangeOf(p period) string {
	from, to := p.from.t, p.to.t
	last := d.longDate(to)
	switch {
	case from.Equal(to):
		return last
	case from.Year() != to.Year():
		return d.longDate(from) + " – " + last
	case from.Month() != to.Month():
		return strconv.Itoa(from.Day()) + " " + d.w.months[from.Month()-1] + " – " + last
	}
	return strconv.Itoa(from.Day()) + "–" + last
}

func (d *renderer) longDate(t time.Time) string {
	return strconv.Itoa(t.Day()) + " " + d.w.months[t.Month()-1] + " " + strconv.Itoa(t.Year())
}

func ints(values ...int) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = strconv.Itoa(v)
	}
	return cells
}

// number shows a count that is usually given; "–" when it is not.
func number(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}

func signed(n int) string {
	if n > 0 {
		return "+" + strconv.Itoa(n)
	}
	if n == 0 {
		return "±0"
	}
	return "−" + strconv.Itoa(-n)
}

// escape makes text of unknown origin one line of plain Markdown: markup
// characters are escaped, white space is joined, control and direction
// characters are dropped, and the length is bounded.
func escape(s string) string {
	var b strings.Builder
	n, blank := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			blank = b.Len() > 0
			continue
		case unicode.IsControl(r), r != '\u200d' && unicode.Is(unicode.Cf, r):
			continue
		}
		if n == maxCellRunes {
			b.WriteRune('…')
			break
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if strings.ContainsRune("\\`*_[]{}<>|#~!&$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
