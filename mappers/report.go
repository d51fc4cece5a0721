package mappers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/skillyard/skillyard/a2a"
)

// operationReport is the one operation of Report, and its skill's id.
const operationReport = "weekly_report"

// maxEchoRunes is how much of a plain text request the report repeats.
const maxEchoRunes = 2000

// Words for periods that only a clock can turn into dates.
const (
	PeriodThisWeek = "this_week"
	PeriodLastWeek = "last_week"
)

// ReportInput is the payload that Report makes: what the message asks for, with
// aliases resolved and types checked. Dates, zones and ids are as written; what
// they mean is the skill's business, which has the clock and the boards.
type ReportInput struct {
	Operation    string   `json:"operation"`
	WorkspaceIDs []string `json:"workspace_ids,omitempty"`
	BoardIDs     []string `json:"board_ids,omitempty"`
	// Period is PeriodThisWeek, PeriodLastWeek or "".
	Period   string `json:"period,omitempty"`
	Week     string `json:"week,omitempty"`
	DateFrom string `json:"date_from,omitempty"`
	DateTo   string `json:"date_to,omitempty"`
	// PeriodFromText says that the period was found in plain text, which never
	// makes a report fail.
	PeriodFromText bool   `json:"period_from_text,omitzero"`
	Timezone       string `json:"timezone,omitempty"`
	Assignee       string `json:"assignee,omitempty"`
	Format         string `json:"format,omitempty"`
	Language       string `json:"language,omitempty"`
	// Text is plain text that is not, or not only, a period.
	Text string `json:"text,omitempty"`
}

// ReportResult is what the skill hands to Out.
type ReportResult struct {
	// Text is the report for people.
	Text string `json:"text"`
	// Data is the report for agents, an object.
	Data json.RawMessage `json:"data"`
}

// Report is the mapper of weekly_report. All input is optional.
type Report struct{ others []string }

// NewReport returns the mapper. A message whose operation is one of others is
// refused with the hint to name that skill; any other foreign operation is
// refused plainly.
func NewReport(others ...string) *Report { return &Report{others: slices.Clone(others)} }

// In makes a ReportInput of the message. JSON is merged over the parts; plain
// text never fails: a period in it is recognised (see findPeriod), and text that
// says more than a period is passed on to be repeated in the report. A period in
// JSON goes before one in text.
func (r *Report) In(m a2a.Message) (Input, error) {
	var texts []string
	f, err := gather(m, func(_ *fields, _, text string) error {
		texts = append(texts, text)
		return nil
	})
	if err != nil {
		return Input{}, err
	}
	if err := f.operation(operationReport, r.others); err != nil {
		return Input{Sent: f.sent}, err
	}
	in := ReportInput{Operation: operationReport}
	if in.WorkspaceIDs, err = takeUnion(f, "workspace_id", "workspace_ids"); err != nil {
		return Input{Sent: f.sent}, err
	}
	if in.BoardIDs, err = takeUnion(f, "board_id", "board_ids"); err != nil {
		return Input{Sent: f.sent}, err
	}
	for _, s := range []struct {
		to    *string
		names []string
	}{
		{&in.Week, []string{"week"}},
		{&in.DateFrom, []string{"start_date", "from", "date_from"}},
		{&in.DateTo, []string{"end_date", "to", "date_to"}},
		{&in.Timezone, []string{"timezone"}},
		{&in.Assignee, []string{"assignee"}},
		{&in.Format, []string{"format"}},
		{&in.Language, []string{"language"}},
	} {
		for _, name := range s.names {
			v, err := f.takeString(name)
			if err != nil {
				return Input{Sent: f.sent}, err
			}
			if v != "" {
				*s.to = v
			}
		}
	}
	if text := strings.Join(texts, "\n"); text != "" {
		in.readText(text)
	}
	switch p := strings.ReplaceAll(strings.ToLower(in.Week), " ", "_"); {
	case in.Week != "" && (in.DateFrom != "" || in.DateTo != ""):
		f.warn(`ignored key "week": the dates say the period`)
		in.Week = ""
	case p == PeriodThisWeek || p == PeriodLastWeek:
		in.Period, in.Week = p, ""
	}
	payload, err := jsonv2.Marshal(in)
	if err != nil {
		return Input{Sent: f.sent}, fmt.Errorf("encode report input: %w", err)
	}
	return Input{Payload: payload, Warnings: f.finish(), Sent: f.sent}, nil
}

// readText takes the period, the language and the echo from plain text.
func (in *ReportInput) readText(text string) {
	p := findPeriod(text)
	if !p.whole {
		in.Text = cut(text, maxEchoRunes)
	}
	if in.Language == "" {
		in.Language = p.language
	}
	if !p.found() || in.Week != "" || in.DateFrom != "" || in.DateTo != "" {
		return
	}
	in.Period, in.Week, in.DateFrom, in.DateTo = p.words, p.week, p.from, p.to
	in.PeriodFromText = true
}

// takeUnion returns the ids of both members, without repetitions.
func takeUnion(f *fields, one, many string) ([]string, error) {
	ids, err := f.takeStrings(one)
	if err != nil {
		return nil, err
	}
	more, err := f.takeStrings(many)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range append(ids, more...) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Out makes one artifact of a ReportResult: the text first, the data second.
func (r *Report) Out(result json.RawMessage) ([]a2a.Artifact, error) {
	var res ReportResult
	if err := jsonv2.Unmarshal(result, &res); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	data, err := object(res.Data)
	if err != nil {
		return nil, err
	}
	return []a2a.Artifact{{
		ID: operationReport, Name: operationReport,
		Parts: []a2a.Part{a2a.TextPart(res.Text), a2a.DataPart(data)},
	}}, nil
}
