package mappers

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// textPeriod is a period found in plain text: words, a week, or two dates.
type textPeriod struct {
	words    string // PeriodThisWeek or PeriodLastWeek
	week     string // "2026-W48"
	from, to string // YYYY-MM-DD
	// whole says that the text is the period and nothing else.
	whole bool
	// language is the language of the words, "" when there are none.
	language string
}

func (p textPeriod) found() bool { return p.words != "" || p.week != "" || p.from != "" }

// periodWords are the phrases for relative periods, in lower case.
var periodWords = [...]struct{ phrase, words, language string }{
	{"last week", PeriodLastWeek, "en"},
	{"previous week", PeriodLastWeek, "en"},
	{"this week", PeriodThisWeek, "en"},
	{"current week", PeriodThisWeek, "en"},
	{"минулий тиждень", PeriodLastWeek, "uk"},
	{"минулого тижня", PeriodLastWeek, "uk"},
	{"попередній тиждень", PeriodLastWeek, "uk"},
	{"цей тиждень", PeriodThisWeek, "uk"},
	{"цього тижня", PeriodThisWeek, "uk"},
	{"поточний тиждень", PeriodThisWeek, "uk"},
}

// datePattern finds a week, a date or a range of dates that is not part of a
// longer number or word.
var datePattern = regexp.MustCompile(`(?i)(?:^|[^\pL\pN-])(?:(\d{4})-?W(\d{2})|(\d{4}-\d{2}-\d{2})(?:\s*(?:\.\.\.?|–|—|/|\bto\b|\s-\s)\s*(\d{4}-\d{2}-\d{2}))?)(?:$|[^\pL\pN-])`)

// findPeriod looks for the first period in the text that exists in the calendar:
// an ISO week (2026-W48), a date (that day), a range (2026-11-23..2026-11-29),
// or words for this and the last week in English or Ukrainian. Anything else is
// no period, never an error.
func findPeriod(text string) textPeriod {
	text = trim(text)
	for _, m := range datePattern.FindAllStringSubmatch(text, -1) {
		p := textPeriod{whole: len(strings.Trim(m[0], " \t\r\n")) == len(text)}
		switch {
		case m[1] != "" && weekExists(m[1], m[2]):
			p.week = m[1] + "-W" + m[2]
			return p
		case m[3] != "" && dateExists(m[3]):
			p.from, p.to = m[3], m[3]
			if m[4] != "" {
				if !dateExists(m[4]) || m[4] < m[3] {
					continue
				}
				p.to = m[4]
			}
			return p
		}
	}
	lower := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	first, best := len(lower), textPeriod{}
	for _, w := range periodWords {
		if at := strings.Index(lower, w.phrase); at >= 0 && at < first {
			first = at
			best = textPeriod{words: w.words, language: w.language, whole: lower == w.phrase}
		}
	}
	return best
}

func dateExists(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// weekExists reports whether an ISO year has the week: 53 exists in some only.
func weekExists(year, week string) bool {
	y, err := strconv.Atoi(year)
	if err != nil || y == 0 {
		return false
	}
	w, err := strconv.Atoi(week)
	if err != nil || w < 1 {
		return false
	}
	// 28 December is always in the last week of its ISO year.
	_, last := time.Date(y, time.December, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
	return w <= last
}
