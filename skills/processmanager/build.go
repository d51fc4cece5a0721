package processmanager

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills/boards"
)

// builder makes a report of boards and their history.
type builder struct {
	period period
	now    time.Time
	// asOf is the moment whose state is reported: the end of the period, or now
	// when that is still ahead.
	asOf     time.Time
	scope    scope
	req      mappers.ReportInput
	events   []boards.Event
	warnings []warning

	states []*cardState // in the order of the boards, then as they turn up in events
	byKey  map[cardKey]*cardState
	lists  map[cardKey]boards.List // by board and list id
}

func newBuilder(p period, now time.Time, sc scope, req mappers.ReportInput) *builder {
	b := &builder{
		period: p, now: now, asOf: p.end(), scope: sc, req: req,
		byKey: map[cardKey]*cardState{}, lists: map[cardKey]boards.List{},
	}
	if now.Before(b.asOf) {
		b.asOf = now
	}
	return b
}

func (b *builder) warn(code warningCode, n int) {
	b.warnings = append(b.warnings, warning{code: code, n: n})
}

// build computes the report.
func (b *builder) build() *report {
	b.loadStates()
	b.assignEvents()
	b.filterAssignee()
	r := &report{
		Operation:   WeeklyReport,
		GeneratedAt: b.now.UTC().Format(time.RFC3339),
		Period: periodData{
			Week: b.period.week(), From: b.period.from.String(), To: b.period.to.String(), Timezone: b.period.loc.String(),
		},
		Scope: scopeData{Workspaces: []named{}, Boards: []named{}},

		Completed: []doneCard{}, InProgress: []card{}, Created: []newCard{}, Moved: []move{},
		Blocked: []blockedCard{}, Overdue: []dueCard{}, Upcoming: []dueCard{},
		Warnings: []string{},
	}
	for _, w := range b.scope.workspaces {
		r.Scope.Workspaces = append(r.Scope.Workspaces, named{w.ID, w.Name})
	}
	for _, board := range b.scope.boards {
		r.Scope.Boards = append(r.Scope.Boards, named{board.ID, board.Name})
	}
	if b.req.Text != "" {
		r.Request = &requestData{Text: b.req.Text}
	}
	tally := newTally(b.scope.boards)
	for _, s := range b.states {
		b.addHistory(r, s, tally)
		b.addState(r, s, tally)
	}
	b.sort(r)
	r.Velocity.CardsCompleted = len(r.Completed)
	r.Velocity.MedianCycleHours = medianCycle(r.Completed)
	r.Summary.Created, r.Summary.Completed, r.Summary.Moved = len(r.Created), len(r.Completed), len(r.Moved)
	r.Summary.InProgress, r.Summary.Blocked = len(r.InProgress), len(r.Blocked)
	r.Summary.Overdue, r.Summary.DueNextWeek = len(r.Overdue), len(r.Upcoming)
	r.ByBoard, r.ByAssignee, r.ByLabel = tally.boardLines(), tally.assigneeLines(), tally.labelLines()
	for _, w := range b.warnings {
		r.Warnings = append(r.Warnings, wordsOf(langEnglish).warning(w))
	}
	return r
}

// filterAssignee keeps the cards of the person asked for.
func (b *builder) filterAssignee() {
	who := strings.TrimSpace(b.req.Assignee)
	if who == "" {
		return
	}
	b.states = slices.DeleteFunc(b.states, func(s *cardState) bool { return !strings.EqualFold(s.card.Assignee, who) })
	if len(b.states) == 0 {
		b.warnings = append(b.warnings, warning{code: warnAssignee, text: shown(who)})
	}
}

// stage tells what a list of a board means; lists that are gone are judged by
// their id.
func (b *builder) stage(board, list string) boards.Stage {
	if l, ok := b.lists[cardKey{board, list}]; ok {
		return l.Stage
	}
	return boards.GuessStage(list)
}

func (b *builder) listTitle(board, list string) string {
	if l, ok := b.lists[cardKey{board, list}]; ok {
		return l.Title
	}
	return list
}

// done reports whether the card is finished, by its own word or by its list.
func (b *builder) done(s *cardState) bool {
	return s.card.Finished || b.stage(s.key.board, s.card.ListID) == boards.StageDone
}

// ref is the card as the report shows it.
func (b *builder) ref(s *cardState) card {
	c := card{
		ID: s.card.ID, Title: s.card.Title, BoardID: s.board.ID, Board: s.board.Name,
		List: b.listTitle(s.board.ID, s.card.ListID), Assignee: s.card.Assignee, Labels: []string{},
		Priority: string(s.card.Priority), StoryPoints: s.card.StoryPoints,
	}
	for _, l := range s.card.Labels {
		if l.Text != "" && !slices.Contains(c.Labels, l.Text) {
			c.Labels = append(c.Labels, l.Text)
		}
	}
	if s.card.DueDate != "" {
		due := string(s.card.DueDate)
		c.DueDate = &due
	}
	return c
}

// addHistory adds what happened to the card in the period.
func (b *builder) addHistory(r *report, s *cardState, t *tally) {
	ref := b.ref(s)
	start, prev := b.period.start(), b.period.previous()
	for _, e := range s.events {
		if e.At.Before(start) {
			continue
		}
		switch e.Type {
		case boards.EventCreated:
			r.Created = append(r.Created, newCard{ref, stamp(e.At)})
			t.add(ref, counts{Created: 1})
		case boards.EventMoved:
			r.Moved = append(r.Moved, move{
				Card: ref, FromList: b.listTitle(s.key.board, e.FromList), ToList: b.listTitle(s.key.board, e.ToList), At: stamp(e.At),
			})
			t.add(ref, counts{Moved: 1})
		case boards.EventCommented:
			r.Summary.Comments++
		}
	}
	if c := b.completion(s, start, b.asOf); c.completed {
		done := doneCard{card: ref, CompletedAt: stamp(c.at)}
		if !c.started.IsZero() {
			hours := roundHours(c.at.Sub(c.started))
			done.CycleHours = &hours
		}
		r.Completed = append(r.Completed, done)
		r.Velocity.PointsCompleted += s.card.StoryPoints
		r.Velocity.EstimateCompleted += s.card.OriginalEstimate
		t.add(ref, counts{Completed: 1, PointsCompleted: s.card.StoryPoints})
	}
	if b.completion(s, prev.start(), start).completed {
		r.Velocity.PointsPreviousWeek += s.card.StoryPoints
	}
}

// completion is how work on a card ended within a time.
type completion struct {
	completed bool
	at        time.Time
	started   time.Time // zero when unknown
}

// completion tells whether the card was completed from (inclusive) until to
// (exclusive) and not reopened again by then. Completed means an event that says
// so, or a move into a list that means done, whichever was first. Work starts
// with the first move into an active list, or else with the card.
func (b *builder) completion(s *cardState, from, to time.Time) completion {
	var c completion
	done := false
	for _, e := range s.events {
		if !e.At.Before(to) {
			break
		}
		stage := b.stage(s.key.board, e.ToList)
		switch {
		case e.Type == boards.EventCreated && c.started.IsZero():
			c.started = e.At
		case e.Type == boards.EventCompleted && !done, e.Type == boards.EventMoved && stage == boards.StageDone && !done:
			done = true
			c.at, c.completed = e.At, !e.At.Before(from)
		case e.Type == boards.EventReopened,
			e.Type == boards.EventMoved && stage != boards.StageDone && b.stage(s.key.board, e.FromList) == boards.StageDone:
			done, c.completed = false, false
		}
	}
	if !c.completed {
		return completion{}
	}
	for _, e := range s.events {
		if e.Type == boards.EventMoved && b.stage(s.key.board, e.ToList) == boards.StageActive && e.At.Before(c.at) {
			c.started = e.At
			break
		}
	}
	return c
}

// addState adds what the card is at the moment of the report.
func (b *builder) addState(r *report, s *cardState, t *tally) {
	if !s.exists || b.done(s) {
		return
	}
	ref := b.ref(s)
	today := dateOf(b.asOf.In(b.period.loc))
	if b.stage(s.key.board, s.card.ListID) == boards.StageActive {
		r.InProgress = append(r.InProgress, ref)
		t.add(ref, counts{InProgress: 1})
	}
	if since := string(s.card.BlockedSince); since != "" {
		day, known := b.dayOf(since)
		if !known || !today.before(day) {
			bc := blockedCard{Card: ref, BlockedSince: since}
			if known {
				bc.Days = today.daysSince(day)
			}
			r.Blocked = append(r.Blocked, bc)
			t.add(ref, counts{Blocked: 1})
		}
	}
	if s.card.DueDate == "" {
		return
	}
	due, ok := parseDate(string(s.card.DueDate))
	switch {
	case !ok:
		b.countDueDate()
	case due.before(today):
		r.Overdue = append(r.Overdue, dueCard{ref, due.String(), today.daysSince(due)})
		t.add(ref, counts{Overdue: 1})
	case due.before(today.add(7)):
		r.Upcoming = append(r.Upcoming, dueCard{ref, due.String(), due.daysSince(today)})
	}
}

// countDueDate counts a due date that is none into one warning.
func (b *builder) countDueDate() {
	for i := range b.warnings {
		if b.warnings[i].code == warnDueDate {
			b.warnings[i].n++
			return
		}
	}
	b.warn(warnDueDate, 1)
}

// dayOf reads a date or a timestamp as a day in the report's zone.
func (b *builder) dayOf(s string) (date, bool) {
	if d, ok := parseDate(s); ok {
		return d, true
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return date{}, false
	}
	return dateOf(t.In(b.period.loc)), true
}

// sort puts the lists in the order people read them. Cards that tie stay in the
// order of their boards.
func (b *builder) sort(r *report) {
	slices.SortStableFunc(r.Completed, func(x, y doneCard) int { return strings.Compare(x.CompletedAt, y.CompletedAt) })
	slices.SortStableFunc(r.Created, func(x, y newCard) int { return strings.Compare(x.CreatedAt, y.CreatedAt) })
	slices.SortStableFunc(r.Moved, func(x, y move) int { return strings.Compare(x.At, y.At) })
	slices.SortStableFunc(r.Blocked, func(x, y blockedCard) int { return y.Days - x.Days })
	slices.SortStableFunc(r.Overdue, func(x, y dueCard) int { return y.Days - x.Days })
	slices.SortStableFunc(r.Upcoming, func(x, y dueCard) int { return x.Days - y.Days })
}

// medianCycle is the median of the known cycle times; 0 when none is known.
func medianCycle(done []doneCard) float64 {
	var hours []float64
	for _, d := range done {
		if d.CycleHours != nil {
			hours = append(hours, *d.CycleHours)
		}
	}
	if len(hours) == 0 {
		return 0
	}
	slices.Sort(hours)
	mid := len(hours) / 2
	if len(hours)%2 == 1 {
		return hours[mid]
	}
	return math.Round((hours[mid-1]+hours[mid])*5) / 10
}

// roundHours rounds a duration to a tenth of an hour.
func roundHours(d time.Duration) float64 { return math.Round(d.Hours()*10) / 10 }

// stamp is a moment as the data shows it; all have one width, so that they sort
// as text.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
