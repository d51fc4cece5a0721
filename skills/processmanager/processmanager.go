// Package processmanager is the built-in Process Manager: weekly_report, a report
// on a period of work over one or many boards.
//
// The report is computed, not written by a model: the same boards, history and
// clock give the same report. It comes as Markdown for people and as data for
// agents. What it says of a past period is the state at the end of that period,
// worked out by undoing the events that came after; where a source keeps no
// history, the report says so in its warnings instead of guessing.
//
// The package carries the time zone database, so that zones work on machines
// without one.
package processmanager

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards"
)

// WeeklyReport is the skill's id and its one operation.
const WeeklyReport = "weekly_report"

// The formats of the report's text, and its languages.
const (
	formatMarkdown = "markdown"
	formatJSON     = "json"
	langEnglish    = "en"
	langUkrainian  = "uk"
)

// Options configure the skill. The zero value of a field but Source takes its
// default.
type Options struct {
	// Source is where the boards are; required.
	Source boards.Source
	// Timezone is the IANA zone of requests that name none; default "UTC".
	Timezone string
	// Language is "en" (default) or "uk".
	Language string
	// MondayThisWeek makes the default period of a Monday the week that has just
	// begun, instead of the last full one.
	MondayThisWeek bool
	// MaxDays is the longest period; default 92.
	MaxDays int
	// MaxBoards is the most boards of one report; default 100.
	MaxBoards int
	// Lookback is how long before the period the history is read, to know when
	// work on a card began; default 90 days.
	Lookback time.Duration
	// Rewind is how long ago a period may have ended for its final state to be
	// worked out; default 366 days.
	Rewind time.Duration
	// MaxRows is how many rows a table of the Markdown shows; default 50. The
	// data is always complete.
	MaxRows int
	// Parallel is how many boards are read at once; default 4.
	Parallel int
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// withDefaults returns o with every zero field at its default.
func (o Options) withDefaults() Options {
	o.Timezone = cmp.Or(o.Timezone, "UTC")
	o.Language = cmp.Or(o.Language, langEnglish)
	o.MaxDays = cmp.Or(max(o.MaxDays, 0), 92)
	o.MaxBoards = cmp.Or(max(o.MaxBoards, 0), 100)
	o.Lookback = cmp.Or(max(o.Lookback, 0), 90*24*time.Hour)
	o.Rewind = cmp.Or(max(o.Rewind, 0), 366*24*time.Hour)
	o.MaxRows = cmp.Or(max(o.MaxRows, 0), 50)
	o.Parallel = cmp.Or(max(o.Parallel, 0), 4)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate reports whether the time zone and the language exist.
func (o Options) Validate() error {
	o = o.withDefaults()
	if _, ok := loadZone(o.Timezone); !ok {
		return fmt.Errorf("weekly report: timezone %q is not known", o.Timezone)
	}
	if wordsOf(o.Language) == nil {
		return fmt.Errorf("weekly report: language %q is not supported", o.Language)
	}
	return nil
}

// manager is the skill.
type manager struct {
	opts   Options
	mapper *mappers.Report
}

// New returns the skill. Options that do not pass Validate make every run fail
// with the reason.
func New(opts Options) skills.Skill { return newManager(opts) }

func newManager(opts Options) *manager {
	// The operations of the Task Manager reach this skill when a client forgets
	// the skill's id; the mapper then says what to do.
	return &manager{
		opts:   opts.withDefaults(),
		mapper: mappers.NewReport("list_board", "list_boards", "list_workspaces"),
	}
}

// Entry returns the skill, ready for a set. It only reads, so a crashed run is
// simply run again.
func Entry(opts Options) skills.Entry {
	m := newManager(opts)
	return skills.Entry{
		Info: skills.Info{
			ID:   WeeklyReport,
			Name: "Weekly report",
			Description: "Reports on a week of work over boards: completed, created, moved, in progress, blocked, overdue and due cards, " +
				"velocity, and breakdowns by board, assignee and label. Markdown for people, data for agents. " +
				"All input is optional: board_ids, workspace_id, week or date_from and date_to, timezone, assignee, format, language.",
			Tags: []string{"report", "boards", "velocity", "read-only"},
			Examples: []string{
				"last week",
				"2026-W48",
				`{"board_ids":["roadmap","platform"],"week":"2026-W48"}`,
				`{"workspace_id":"acme","date_from":"2026-11-23","date_to":"2026-11-29","timezone":"Europe/Kyiv","language":"uk"}`,
			},
			InputModes:  []string{"text/plain", "application/json"},
			OutputModes: []string{"text/markdown", "text/plain", "application/json"},
		},
		Skill:  m,
		Mapper: m.mapper,
		Retry:  skills.RetryOnCrash,
	}
}

// Run makes the report, emits it as one artifact and completes the task.
func (m *manager) Run(ctx context.Context, in skills.Input, emit skills.Emit) error {
	if err := m.opts.Validate(); err != nil {
		return err
	}
	var req mappers.ReportInput
	if err := jsonv2.Unmarshal(in.Payload, &req); err != nil {
		return fmt.Errorf("read payload: %w", err)
	}
	result, err := m.report(ctx, req)
	if err != nil {
		return err
	}
	artifacts, err := m.mapper.Out(result)
	if err != nil {
		return err
	}
	for _, a := range artifacts {
		if err := emit(a2a.ArtifactEvent(a)); err != nil {
			return err
		}
	}
	return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
}

// report returns a mappers.ReportResult as JSON.
func (m *manager) report(ctx context.Context, req mappers.ReportInput) (json.RawMessage, error) {
	language, err := languageOf(cmp.Or(req.Language, m.opts.Language))
	if err != nil {
		return nil, err
	}
	if f := req.Format; f != "" && f != formatMarkdown && f != formatJSON {
		return nil, invalid(`format must be "markdown" or "json"`)
	}
	now := m.opts.Now()
	p, warnings, err := m.opts.resolvePeriod(req, now)
	if err != nil {
		return nil, err
	}
	sc, more, err := m.readScope(ctx, req)
	if err != nil {
		return nil, err
	}
	b := newBuilder(p, now, sc, req)
	b.warnings = append(warnings, more...)
	if err := m.readHistory(ctx, b); err != nil {
		return nil, err
	}
	r := b.build()
	data, err := jsonv2.Marshal(r, jsonv2.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	text := string(data)
	if req.Format != formatJSON {
		text = renderMarkdown(r, b.warnings, p, wordsOf(language), m.opts.MaxRows)
	}
	return jsonv2.Marshal(mappers.ReportResult{Text: text, Data: data})
}

// readHistory reads what happened before and, for a past period, after.
func (m *manager) readHistory(ctx context.Context, b *builder) error {
	if len(b.scope.boards) == 0 {
		b.warn(warnNoBoards, 0)
		return nil
	}
	until := b.now
	if b.now.Sub(b.asOf) > m.opts.Rewind {
		until = b.asOf
	}
	from := b.period.previous().start().Add(-m.opts.Lookback)
	if !from.Before(until) {
		return nil // the future has no history
	}
	ids := make([]string, len(b.scope.boards))
	for i, board := range b.scope.boards {
		ids[i] = board.ID
	}
	h, err := m.opts.Source.History(ctx, ids, from, until)
	if err != nil {
		return err
	}
	b.events = h.Events
	past := b.asOf.Before(b.now)
	switch {
	case !h.Recorded:
		b.warn(warnNoHistory, 0)
		if past {
			b.warn(warnPresentState, 0)
		}
	case past && until.Equal(b.asOf):
		b.warn(warnPresentState, 0)
	}
	if h.Coarse {
		b.warn(warnCoarse, 0)
	}
	if h.Truncated {
		b.warn(warnTruncated, 0)
	}
	if h.Skipped > 0 {
		b.warn(warnSkipped, h.Skipped)
	}
	return nil
}
