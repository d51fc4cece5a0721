package mappers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// Bounds of what an answer repeats of a request.
const (
	maxWarnings    = 20
	maxQuotedRunes = 64
)

// fields are the members of a message's JSON, merged over its parts in order:
// the last value that is not null wins.
type fields struct {
	values   map[string]jsontext.Value
	order    []string // names in the order of their first value
	warnings []string
	dropped  int // warnings beyond maxWarnings
	// sent are the members as one object, if a data part was among the parts.
	sent json.RawMessage
}

// textFunc takes the bare text of the part at path into f.
type textFunc func(f *fields, path, text string) error

// gather walks the parts of a message. JSON objects, in text or data, are merged
// into the fields; any other text is trimmed, unquoted and handed to onText with
// the path of its part. Blank text and null say nothing. Files are ignored with
// a warning.
func gather(m a2a.Message, onText textFunc) (*fields, error) {
	f := &fields{values: map[string]jsontext.Value{}}
	data := false
	for i, p := range m.Parts {
		path := "message.parts[" + strconv.Itoa(i) + "]"
		var err error
		switch p.Kind {
		case a2a.PartText:
			err = f.addText(path+".text", strings.ToValidUTF8(p.Text, "\ufffd"), onText)
		case a2a.PartData:
			data = true
			err = f.addData(path+".data", p.Data, onText)
		default:
			f.warn("ignored file part " + path)
		}
		if err != nil {
			return nil, err
		}
	}
	if data {
		f.sent = f.object()
	}
	return f, nil
}

// object returns the members as one object.
func (f *fields) object() json.RawMessage {
	b := []byte{'{'}
	for i, name := range f.order {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, quoted(name)...), ':')
		b = append(b, f.values[name]...)
	}
	return append(b, '}')
}

func (f *fields) addText(path, text string, onText textFunc) error {
	text = trim(text)
	switch {
	case text == "", text == "null":
		return nil
	case text[0] == '{':
		return f.addObject(path, []byte(text))
	case text[0] == '"':
		var s string
		if jsonv2.Unmarshal([]byte(text), &s) == nil {
			if text = trim(s); text == "" {
				return nil
			}
		}
	}
	return onText(f, path, text)
}

func (f *fields) addData(path string, data json.RawMessage, onText textFunc) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	if data[0] == '{' {
		return f.addObject(path, data)
	}
	s, ok := stringOf(jsontext.Value(data))
	if !ok {
		return invalid(path + " must be a JSON object")
	}
	if s = trim(s); s == "" {
		return nil
	}
	return onText(f, path, s)
}

// addObject merges the members of one JSON object.
func (f *fields) addObject(path string, text []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return syntaxError(path, text, err)
	}
	type member struct {
		name  string
		value jsontext.Value
	}
	var members []member
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return syntaxError(path, text, err)
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return syntaxError(path, text, err)
		}
		members = append(members, member{key, v.Clone()})
	}
	if _, err := dec.ReadToken(); err != nil {
		return syntaxError(path, text, err)
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		at := len(text) - len(rest)
		return invalid(path + " is not valid JSON: text after the end of the object at " + position(text, at))
	}
	// A name given twice counts once, with its last value, null included: the
	// merge over parts must not see the earlier one.
	last := make(map[string]int, len(members))
	for i, m := range members {
		last[m.name] = i
	}
	for i, m := range members {
		if last[m.name] == i && m.value.Kind() != jsontext.KindNull {
			f.set(m.name, m.value)
		}
	}
	return nil
}

// set merges one member; the caller keeps null away.
func (f *fields) set(name string, v jsontext.Value) {
	if _, known := f.values[name]; !known {
		f.order = append(f.order, name)
	}
	f.values[name] = v
}

// take returns the value of a member and marks it as used.
func (f *fields) take(name string) (jsontext.Value, bool) {
	v, ok := f.values[name]
	delete(f.values, name)
	return v, ok
}

// takeString returns a member that must be a string or an integer; "" when it
// is absent.
func (f *fields) takeString(name string) (string, error) {
	v, ok := f.take(name)
	if !ok {
		return "", nil
	}
	s, ok := stringOf(v)
	if !ok {
		return "", invalid(name + " must be a string")
	}
	return trim(s), nil
}

// takeStrings returns a member that is one string or integer, or a list of
// them. One string may hold several, separated by commas.
func (f *fields) takeStrings(name string) ([]string, error) {
	v, ok := f.take(name)
	if !ok {
		return nil, nil
	}
	values := []jsontext.Value{v}
	if v.Kind() == jsontext.KindBeginArray {
		values = nil
		if err := jsonv2.Unmarshal(v, &values, jsontext.AllowDuplicateNames(true)); err != nil {
			return nil, invalid(name + " must be a list of strings")
		}
	}
	var out []string
	for _, v := range values {
		if v.Kind() == jsontext.KindNull {
			continue
		}
		s, ok := stringOf(v)
		if !ok {
			return nil, invalid(name + " must be a string or a list of strings")
		}
		for id := range strings.SplitSeq(s, ",") {
			if id = trim(id); id != "" {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

func (f *fields) warn(text string) {
	if len(f.warnings) == maxWarnings {
		f.dropped++
		return
	}
	f.warnings = append(f.warnings, text)
}

// finish warns of every member nobody took and returns all warnings.
func (f *fields) finish() []string {
	for _, name := range f.order {
		if _, left := f.values[name]; left {
			f.warn("ignored key " + quote(name))
		}
	}
	if f.dropped > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("%d more warnings", f.dropped))
	}
	return f.warnings
}

// operation takes the member "operation", which may only name the skill itself.
// For one of the skills in others the refusal says how to reach it.
func (f *fields) operation(skill string, others []string) error {
	v, ok := f.take("operation")
	if !ok {
		return nil
	}
	if v.Kind() != jsontext.KindString {
		return invalid("operation must be a string")
	}
	op, ok := stringOf(v)
	if !ok {
		return invalid("operation must be a string")
	}
	if op == skill {
		return nil
	}
	msg := "operation " + quote(op) + " is not supported by skill " + skill
	for _, o := range others {
		if op == o {
			msg += `; set skillId to "` + o + `"`
		}
	}
	return invalid(msg)
}

// stringOf returns a JSON string's text, or an integer's digits as written.
func stringOf(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case jsontext.KindString:
		var s string
		err := jsonv2.Unmarshal(v, &s)
		return s, err == nil
	case jsontext.KindNumber:
		s := string(bytes.TrimSpace(v))
		return s, !strings.ContainsAny(s, ".eE")
	}
	return "", false
}

// syntaxError says in one sentence where the JSON at path goes wrong.
func syntaxError(path string, text []byte, err error) error {
	msg := path + " is not valid JSON: "
	var syn *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		msg += "unexpected end at " + position(text, len(text))
	case errors.As(err, &syn):
		msg += "unexpected character at " + position(text, int(syn.ByteOffset))
	default:
		msg += "unreadable text"
	}
	return &a2a.Error{
		Code: a2a.CodeInvalidInput, Message: msg, Err: err,
		Fields: []a2a.FieldViolation{{Field: path, Description: "is not valid JSON"}},
	}
}

// position returns "line L, column C" of a byte offset; columns are characters.
func position(text []byte, offset int) string {
	offset = max(0, min(offset, len(text)))
	before := text[:offset]
	line := 1 + bytes.Count(before, []byte{'\n'})
	col := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, col)
}

// invalid is the refusal of a message, with one sentence for the client.
func invalid(sentence string) error {
	return &a2a.Error{Code: a2a.CodeInvalidInput, Message: sentence}
}

// quote quotes text of a client's, cut to a length fit for a sentence.
func quote(s string) string { return strconv.Quote(cut(s, maxQuotedRunes)) }

// cut shortens s to n characters.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// trim removes white space and byte order marks around s.
func trim(s string) string { return strings.Trim(strings.TrimSpace(s), "\ufeff \t\r\n") }

// object checks that a result is one JSON object and returns it compact.
func object(result json.RawMessage) (json.RawMessage, error) {
	v := jsontext.Value(bytes.Clone(result))
	if err := v.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if v.Kind() != jsontext.KindBeginObject {
		return nil, fmt.Errorf("read result: got %s, want an object", v.Kind())
	}
	return json.RawMessage(v), nil
}
