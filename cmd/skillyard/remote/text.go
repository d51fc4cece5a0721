package remote

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skillyard/skillyard/a2a"
)

// harmless takes out of a text what a terminal would act on: control characters but
// line breaks and tabs, and marks that turn the direction of writing.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// line is the first part of a text in one line of at most n characters.
func line(text string, n int) string {
	text = strings.Join(strings.Fields(harmless(text)), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

func quoted(text string) string { return strconv.Quote(line(text, 80)) }

// word is a text as a shell takes it for one word.
func word(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\n\"'`\\$&|;<>()*?[]{}#~!") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// age says how long ago something was, in one unit.
func age(now, then time.Time) string {
	if then.IsZero() {
		return "never"
	}
	switch d := max(0, now.Sub(then)); {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
}

// parseAge reads a time such as 36h or 30d; a day has 24 hours.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is no time such as 30d or 12h", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no time such as 30d or 12h", text)
	}
	return d, nil
}

// colours of the states on a terminal, as SGR parameters.
var colours = map[a2a.State]string{
	a2a.StateCompleted: "32", a2a.StateFailed: "31", a2a.StateRejected: "31", a2a.StateCanceled: "31",
	a2a.StateInputRequired: "33", a2a.StateAuthRequired: "33", a2a.StateUnknown: "35",
}

// cell is a field of a table.
type cell struct{ text, colour string }

func plain(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, t := range texts {
		row[i] = cell{text: t}
	}
	return row
}

func (s *session) stateCell(state string) cell {
	c := cell{text: cmp.Or(state, "sending")}
	if terminal(s.Out) >= 0 && s.Env["NO_COLOR"] == "" {
		c.colour = colours[a2a.State(state)]
	}
	return c
}

// table writes rows in columns; the first is the head. Cells are one line each.
func table(w io.Writer, rows [][]cell) error {
	const gap = 2
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i].text = cmp.Or(line(row[i].text, 200), "-")
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, c := range row {
			if c.colour != "" {
				b.WriteString("\x1b[" + c.colour + "m" + c.text + "\x1b[0m")
			} else {
				b.WriteString(c.text)
			}
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+gap))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
