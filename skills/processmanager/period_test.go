package processmanager

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
)

func day(t testing.TB, s string) date {
	t.Helper()
	d, ok := parseDate(s)
	if !ok {
		t.Fatalf("%q is no date", s)
	}
	return d
}

// TestResolvePeriod names the rows of the contract's table of requests, or its
// section on weekly_report.
func TestResolvePeriod(t *testing.T) {
	monday := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	thursday := monday.AddDate(0, 0, 3)
	for _, c := range []struct {
		name string
		in   mappers.ReportInput
		now  time.Time
		opts Options
		want string // from..to week, or the sentence
		warn []warningCode
	}{
		{name: "31 default", now: thursday, want: "2026-11-30..2026-12-03 2026-W49"},
		{name: "31 default on Monday", now: monday, want: "2026-11-23..2026-11-29 2026-W48"},
		{name: "31 default on Monday, configured", now: monday, opts: Options{MondayThisWeek: true}, want: "2026-11-30..2026-11-30 2026-W49"},
		{name: "31 default on Sunday", now: monday.AddDate(0, 0, -1), want: "2026-11-23..2026-11-29 2026-W48"},
		{name: "31 still Sunday in New York", in: mappers.ReportInput{Timezone: "America/New_York"}, now: monday.Add(-6 * time.Hour), want: "2026-11-23..2026-11-29 2026-W48"},
		{name: "31 already Monday in Kyiv", in: mappers.ReportInput{Timezone: "Europe/Kyiv"}, now: time.Date(2026, 12, 6, 22, 30, 0, 0, time.UTC), want: "2026-11-30..2026-12-06 2026-W49"},
		{name: "3.4 week", in: mappers.ReportInput{Week: "2026-W48"}, now: thursday, want: "2026-11-23..2026-11-29 2026-W48"},
		{name: "3.4 week 53", in: mappers.ReportInput{Week: "2026W53"}, now: thursday, want: "2026-12-28..2027-01-03 2026-W53", warn: []warningCode{warnFuture}},
		{name: "3.4 week 1 begins in the old year", in: mappers.ReportInput{Week: "2026-w01"}, now: thursday, want: "2025-12-29..2026-01-04 2026-W01"},
		{name: "3.4 current week by name is whole", in: mappers.ReportInput{Week: "2026-W49"}, now: thursday, want: "2026-11-30..2026-12-06 2026-W49"},
		{name: "3.4 week that does not exist", in: mappers.ReportInput{Week: "2027-W53"}, now: thursday, want: `week "2027-W53" is not an ISO week such as 2026-W48`},
		{name: "3.4 week 0", in: mappers.ReportInput{Week: "2026-W00"}, now: thursday, want: `week "2026-W00" is not an ISO week such as 2026-W48`},
		{name: "3.4 dates", in: mappers.ReportInput{DateFrom: "2026-11-20", DateTo: "2026-12-01"}, now: thursday, want: "2026-11-20..2026-12-01 "},
		{name: "3.4 one day", in: mappers.ReportInput{DateFrom: "2026-11-24", DateTo: "2026-11-24"}, now: thursday, want: "2026-11-24..2026-11-24 "},
		{name: "3.4 only from", in: mappers.ReportInput{DateFrom: "2026-11-20"}, now: thursday, want: "2026-11-20..2026-12-03 "},
		{name: "3.4 only from, ahead", in: mappers.ReportInput{DateFrom: "2026-12-20"}, now: thursday, want: "2026-12-20..2026-12-20 ", warn: []warningCode{warnFuture}},
		{name: "3.4 only to", in: mappers.ReportInput{DateTo: "2026-11-27"}, now: thursday, want: "2026-11-23..2026-11-27 2026-W48"},
		{name: "3.4 bad date", in: mappers.ReportInput{DateFrom: "2026-13-01"}, now: thursday, want: `date_from "2026-13-01" is not a date of the form YYYY-MM-DD`},
		{name: "3.4 from after to", in: mappers.ReportInput{DateFrom: "2026-11-29", DateTo: "2026-11-23"}, now: thursday, want: "date_from 2026-11-29 is after date_to 2026-11-23"},
		{name: "3.4 92 days", in: mappers.ReportInput{DateFrom: "2026-07-01", DateTo: "2026-09-30"}, now: thursday, want: "2026-07-01..2026-09-30 "},
		{name: "3.4 93 days", in: mappers.ReportInput{DateFrom: "2026-07-01", DateTo: "2026-10-01"}, now: thursday, want: "the period has 93 days; at most 92 are allowed"},
		{name: "3.4 other limit", in: mappers.ReportInput{DateFrom: "2026-07-01", DateTo: "2026-07-08"}, now: thursday, opts: Options{MaxDays: 7}, want: "the period has 8 days; at most 7 are allowed"},
		{name: "3.4 the whole calendar", in: mappers.ReportInput{DateFrom: "0001-01-01", DateTo: "9999-12-31"}, now: thursday, want: "the period has 3652059 days; at most 92 are allowed"},
		{name: "3.4 unknown zone", in: mappers.ReportInput{Timezone: "Mars/Base"}, now: thursday, want: `timezone "Mars/Base" is not known; use an IANA name such as Europe/Kyiv`},
		{name: "3.4 zone is a path", in: mappers.ReportInput{Timezone: "../../etc/passwd"}, now: thursday, want: `timezone "../../etc/passwd" is not known; use an IANA name such as Europe/Kyiv`},
		{name: "3.4 zone of the machine", in: mappers.ReportInput{Timezone: "Local"}, now: thursday, want: `timezone "Local" is not known; use an IANA name such as Europe/Kyiv`},
		{name: "33 this week", in: mappers.ReportInput{Period: mappers.PeriodThisWeek, PeriodFromText: true}, now: monday, want: "2026-11-30..2026-11-30 2026-W49"},
		{name: "33 last week", in: mappers.ReportInput{Period: mappers.PeriodLastWeek, PeriodFromText: true}, now: thursday, want: "2026-11-23..2026-11-29 2026-W48"},
		{name: "33 too long in text", in: mappers.ReportInput{DateFrom: "2026-01-01", DateTo: "2026-12-31", PeriodFromText: true}, now: thursday, want: "2026-11-30..2026-12-03 2026-W49", warn: []warningCode{warnTextPeriod}},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := c.opts.withDefaults()
			p, warnings, err := opts.resolvePeriod(c.in, c.now)
			if err != nil {
				var e *a2a.Error
				if !errors.As(err, &e) || e.Code != a2a.CodeInvalidInput || e.Message != c.want {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				return
			}
			if got := fmt.Sprintf("%s..%s %s", p.from, p.to, p.week()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if len(warnings) != len(c.warn) || len(warnings) == 1 && warnings[0].code != c.warn[0] {
				t.Errorf("got warnings %v, want %v", warnings, c.warn)
			}
		})
	}
}

func TestDate_weeks(t *testing.T) {
	last := date{}
	for d := day(t, "1999-12-01"); d.before(day(t, "2033-02-01")); d = d.add(1) {
		monday := d.monday()
		if monday.weekday() != time.Monday || d.daysSince(monday) < 0 || d.daysSince(monday) > 6 {
			t.Fatalf("%s: got Monday %s", d, monday)
		}
		week := fullWeek(monday)
		name := week.week()
		got, ok := parseWeek(name)
		if !ok || got != monday {
			t.Fatalf("%s: week %s begins on %s, want %s", d, name, got, monday)
		}
		if (last != date{}) && monday != last && monday.daysSince(last) != 7 {
			t.Fatalf("%s: week after %s begins on %s", d, last, monday)
		}
		last = monday
		if prev := week.previous(); prev.to.add(1) != week.from || prev.days() != 7 {
			t.Fatalf("%s: week before %s is %s..%s", d, name, prev.from, prev.to)
		}
	}
}

// TestDate_start checks that days tile the time line in zones whose clocks jump
// at midnight, repeat it, jump by half an hour, or left out a whole day.
func TestDate_start(t *testing.T) {
	for _, zone := range []string{
		"UTC", "Europe/Kyiv", "America/New_York", "America/Sao_Paulo", "America/Havana", "Asia/Beirut",
		"Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "America/St_Johns",
	} {
		loc, ok := loadZone(zone)
		if !ok {
			t.Fatalf("no zone %s", zone)
		}
		for d := day(t, "2005-01-01"); d.before(day(t, "2020-01-01")); d = d.add(1) {
			start := d.start(loc)
			if dateOf(start.In(loc)).before(d) {
				t.Fatalf("%s %s starts on %s", zone, d, start)
			}
			if before := start.Add(-time.Nanosecond); !dateOf(before.In(loc)).before(d) {
				t.Fatalf("%s %s starts at %s, but %s is part of it", zone, d, start, before)
			}
			p := period{from: d, to: d, loc: loc}
			hours := p.end().Sub(p.start()).Hours()
			skipped := zone == "Pacific/Apia" && d.String() == "2011-12-30"
			if (hours < 22 || hours > 26) && !skipped {
				t.Fatalf("%s %s has %v hours", zone, d, hours)
			}
		}
	}
	kyiv, _ := loadZone("Europe/Kyiv")
	for from, want := range map[string]time.Duration{
		"2026-03-23": 167 * time.Hour, "2026-10-19": 169 * time.Hour, "2026-11-23": 168 * time.Hour,
	} {
		p := fullWeek(day(t, from))
		p.loc = kyiv
		if got := p.end().Sub(p.start()); got != want {
			t.Errorf("week of %s: got %v, want %v", from, got, want)
		}
	}
}
