package configs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is one fault of a configuration.
type Problem struct {
	// Path names the value, such as "skills[0].kind", or the environment
	// variable it came from; "" when the fault is not one value's.
	Path    string
	Message string
	// File, Line and Column (from 1, in characters) say where the value stands;
	// Line is 0 when it does not stand in a file.
	File   string
	Line   int
	Column int
	// Excerpt is the line and the one before it, with a caret under the column;
	// secrets in it are masked. "" when Line is 0.
	Excerpt string
}

// Error returns the problem on one line, in the form editors understand:
// "file:line:column: path: message".
func (p *Problem) Error() string {
	var b strings.Builder
	switch {
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	case p.File != "":
		b.WriteString(p.File + ": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems returns the problems that err is made of, in the order of the file;
// nil if err holds none.
func Problems(err error) []*Problem {
	var found []*Problem
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) {
		case *Problem:
			found = append(found, e)
		case interface{ Unwrap() []error }:
			for _, sub := range e.Unwrap() {
				walk(sub)
			}
		case nil:
		default:
			walk(errors.Unwrap(e))
		}
	}
	walk(err)
	return found
}

// join returns the problems as one error, nil for none.
func join(problems []*Problem) error {
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// place is a position in a file, from 1.
type place struct{ line, column int }

// document is the file a configuration came from, for messages. A nil document
// has no places.
type document struct {
	name  string
	lines []string
	// places has the value of each key that stands in the file.
	places map[string]place
}

// problem makes a problem of the value at path. If the value does not stand in
// the file, the nearest thing around it that does is shown.
func (d *document) problem(path, message string) *Problem {
	if d == nil {
		return &Problem{Path: path, Message: message}
	}
	for at := path; at != ""; at = parent(at) {
		if p, ok := d.places[at]; ok {
			return d.at(p, path, message)
		}
	}
	return &Problem{Path: path, Message: message, File: d.name}
}

func (d *document) at(p place, path, message string) *Problem {
	return &Problem{
		Path: path, Message: message,
		File: d.name, Line: p.line, Column: p.column, Excerpt: d.excerpt(p),
	}
}

// parent returns the path around path: "skills[0]" for "skills[0].kind", "skills"
// for that, and "" at the top.
func parent(path string) string {
	i := strings.LastIndexAny(path, ".[")
	if i < 0 {
		return ""
	}
	return path[:i]
}

// excerpt shows the line at p and the one before it, with a caret.
func (d *document) excerpt(p place) string {
	if p.line < 1 || p.line > len(d.lines) {
		return ""
	}
	var b strings.Builder
	for n := max(1, p.line-1); n <= p.line; n++ {
		mark := ' '
		if n == p.line {
			mark = '>'
		}
		fmt.Fprintf(&b, "%c %3d | %s\n", mark, n, maskLine(d.lines[n-1]))
	}
	// Tabs are kept, so that the caret stands under its character.
	before := []rune(d.lines[p.line-1])
	before = before[:min(max(p.column-1, 0), len(before))]
	for i, r := range before {
		if r != '\t' {
			before[i] = ' '
		}
	}
	fmt.Fprintf(&b, "      | %s^", string(before))
	return b.String()
}

// secretKey finds the value of a key that sounds like a secret. What follows on
// the line is hidden with it.
var secretKey = regexp.MustCompile(`(?i)((?:^|[\s{,"'-])[\w-]*(?:key|secret|token|password|credential|authorization|cookie)[\w-]*["']?\s*:\s*)\S.*`)

// userInfo finds the user and the password in a URL, query what follows its "?" or "#".
var (
	userInfo = regexp.MustCompile(`://[^/\s"'@]*@`)
	query    = regexp.MustCompile(`(://[^\s"'?#]*[?#])[^\s"']+`)
)

func maskLine(line string) string {
	if !utf8.ValidString(line) {
		line = strings.ToValidUTF8(line, "\uFFFD")
	}
	line = userInfo.ReplaceAllString(line, "://"+mask+"@")
	line = query.ReplaceAllString(line, "${1}"+mask)
	return secretKey.ReplaceAllString(line, "${1}"+mask)
}
