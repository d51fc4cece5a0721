package processmanager

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
)

// date is a day of the calendar, in no time zone: midnight UTC of that day.
type date struct{ t time.Time }

func dateOf(t time.Time) date {
	y, m, d := t.Date()
	return date{time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

func parseDate(s string) (date, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return date{t}, err == nil
}

func (d date) add(days int) date       { return date{d.t.AddDate(0, 0, days)} }
func (d date) before(e date) bool      { return d.t.Before(e.t) }
func (d date) daysSince(e date) int    { return int((d.t.Unix() - e.t.Unix()) / (24 * 60 * 60)) }
func (d date) String() string          { return d.t.Format(time.DateOnly) }
func (d date) monday() date            { return d.add(-(int(d.t.Weekday()+6) % 7)) }
func (d date) weekday() time.Weekday   { return d.t.Weekday() }
func (d date) isoWeek() (y int, w int) { return d.t.ISOWeek() }

// start returns the first moment of the day in a zone. Where clocks skip
// midnight that is the moment after the gap, where they repeat it the first one;
// a day that a zone left out altogether starts with the next.
func (d date) start(loc *time.Location) time.Time {
	y, m, day := d.t.Date()
	t := time.Date(y, m, day, 0, 0, 0, 0, loc)
	// Zones change by quarters of an hour at the finest, and a gap or a fold is
	// at most a day long.
	const quarter = 15 * time.Minute
	for dateOf(t).before(d) {
		t = t.Add(quarter)
	}
	for !dateOf(t.Add(-quarter)).before(d) {
		t = t.Add(-quarter)
	}
	return t
}

// period is a range of days, both inclusive, in a zone.
type period struct {
	from, to date
	loc      *time.Location
}

func (p period) start() time.Time { return p.from.start(p.loc) }

// end is the first moment after the period.
func (p period) end() time.Time { return p.to.add(1).start(p.loc) }

func (p period) days() int { return p.to.daysSince(p.from) + 1 }

// week names the ISO week that the period is, or is the beginning of; else "".
func (p period) week() string {
	if p.from.weekday() != time.Monday || p.days() > 7 {
		return ""
	}
	y, w := p.from.isoWeek()
	return fmt.Sprintf("%04d-W%02d", y, w)
}

// previous is the week before the period.
func (p period) previous() period {
	return period{from: p.from.add(-7), to: p.from.add(-1), loc: p.loc}
}

var weekPattern = regexp.MustCompile(`^(\d{4})-?[Ww](\d{2})$`)

// parseWeek returns the Monday of an ISO week such as 2026-W48.
func parseWeek(s string) (date, bool) {
	m := weekPattern.FindStringSubmatch(s)
	if m == nil {
		return date{}, false
	}
	year, errY := strconv.Atoi(m[1])
	week, errW := strconv.Atoi(m[2])
	if errY != nil || errW != nil {
		return date{}, false
	}
	// 4 January is always in week 1.
	monday := date{time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC)}.monday().add((week - 1) * 7)
	y, w := monday.isoWeek()
	return monday, y == year && w == week
}

// resolvePeriod turns the request into days. A sentence for the client is
// returned as an *a2a.Error; for a period that came out of plain text a problem
// is a warning, and the default applies.
func (o *Options) resolvePeriod(in mappers.ReportInput, now time.Time) (period, []warning, error) {
	zone := in.Timezone
	if zone == "" {
		zone = o.Timezone
	}
	loc, ok := loadZone(zone)
	if !ok {
		return period{}, nil, invalid("timezone " + shown(zone) + " is not known; use an IANA name such as Europe/Kyiv")
	}
	today := dateOf(now.In(loc))
	p, err := o.explicitPeriod(in, today)
	if err != nil {
		if !in.PeriodFromText {
			return period{}, nil, err
		}
		p = o.defaultPeriod(today)
		p.loc = loc
		return p, []warning{{code: warnTextPeriod, n: o.MaxDays}}, nil
	}
	p.loc = loc
	if today.before(p.from) {
		return p, []warning{{code: warnFuture}}, nil
	}
	return p, nil, nil
}

func (o *Options) explicitPeriod(in mappers.ReportInput, today date) (period, error) {
	switch {
	case in.DateFrom != "" || in.DateTo != "":
		return o.datesPeriod(in, today)
	case in.Week != "":
		monday, ok := parseWeek(in.Week)
		if !ok {
			return period{}, invalid("week " + shown(in.Week) + " is not an ISO week such as 2026-W48")
		}
		return fullWeek(monday), nil
	case in.Period == mappers.PeriodThisWeek:
		return period{from: today.monday(), to: today}, nil
	case in.Period == mappers.PeriodLastWeek:
		return fullWeek(today.monday().add(-7)), nil
	}
	return o.defaultPeriod(today), nil
}

// datesPeriod reads date_from and date_to. One alone is completed: from that day
// until today, or from the Monday of the last day's week.
func (o *Options) datesPeriod(in mappers.ReportInput, today date) (period, error) {
	var p period
	for _, d := range []struct {
		name, text string
		to         *date
	}{{"date_from", in.DateFrom, &p.from}, {"date_to", in.DateTo, &p.to}} {
		if d.text == "" {
			continue
		}
		v, ok := parseDate(d.text)
		if !ok {
			return period{}, invalid(d.name + " " + shown(d.text) + " is not a date of the form YYYY-MM-DD")
		}
		*d.to = v
	}
	switch {
	case in.DateTo == "":
		p.to = today
		if today.before(p.from) {
			p.to = p.from
		}
	case in.DateFrom == "":
		p.from = p.to.monday()
	}
	if p.to.before(p.from) {
		return period{}, invalid("date_from " + p.from.String() + " is after date_to " + p.to.String())
	}
	if p.days() > o.MaxDays {
		return period{}, invalid(fmt.Sprintf("the period has %d days; at most %d are allowed", p.days(), o.MaxDays))
	}
	return p, nil
}

// defaultPeriod is the current week until today; on a Monday, when that would be
// next to nothing, the last full week unless the options say otherwise.
func (o *Options) defaultPeriod(today date) period {
	if today.weekday() == time.Monday && !o.MondayThisWeek {
		return fullWeek(today.add(-7))
	}
	return period{from: today.monday(), to: today}
}

func fullWeek(monday date) period { return period{from: monday, to: monday.add(6)} }

var zonePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}$`)

// loadZone finds an IANA zone. The name is checked first, because the time
// package looks it up as a path.
func loadZone(name string) (*time.Location, bool) {
	if !zonePattern.MatchString(name) || strings.EqualFold(name, "local") {
		return nil, false
	}
	loc, err := time.LoadLocation(name)
	return loc, err == nil
}

// shown quotes a client's text, short and printable, for a sentence.
func shown(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}

func invalid(sentence string) error {
	return &a2a.Error{Code: a2a.CodeInvalidInput, Message: sentence}
}
