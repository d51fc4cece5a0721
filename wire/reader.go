package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// reader walks once over the params of a request. Its methods read the next
// value and blame its path ("message.parts[0].text") when it is not what it
// should be. A null reads as absent everywhere.
type reader struct {
	d   jsontext.Decoder
	lim Limits
	// snake accepts members in snake_case too, as ProtoJSON does.
	snake bool
	// soft reads a value of the wrong type as absent.
	soft bool
	name []byte // scratch for translated names
}

func newReader(params []byte, lim Limits, snake bool) *reader {
	r := &reader{lim: lim.WithDefaults(), snake: snake}
	r.d.Reset(bytes.NewBuffer(params), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return r
}

// params reads the whole input as one object; no input is an empty object.
func (r *reader) params(params []byte, member func(name []byte) error) error {
	if len(params) == 0 {
		return nil
	}
	if deeperThan(params, r.lim.MaxDepth) {
		return &a2a.Error{
			Code:    a2a.CodeInvalidParams,
			Message: "Invalid parameters: JSON is nested deeper than " + strconv.Itoa(r.lim.MaxDepth) + " levels",
		}
	}
	if err := r.object(member); err != nil {
		return err
	}
	if _, err := r.d.ReadToken(); err != io.EOF {
		return errSyntax(err)
	}
	return nil
}

// object reads an object and calls member for each of its members; member must
// read the value. Null has no members.
func (r *reader) object(member func(name []byte) error) error {
	return r.members(func(_, name []byte) error { return member(name) })
}

// members is object for those who need to know a name as it was written, too.
// Neither name is valid after the next read.
func (r *reader) members(member func(written, name []byte) error) error {
	if k := r.d.PeekKind(); k != '{' {
		v, err := r.value()
		if err != nil || v.Kind() == 'n' || r.soft {
			return err
		}
		return r.invalid("must be an object")
	}
	if _, err := r.d.ReadToken(); err != nil {
		return errSyntax(err)
	}
	for r.d.PeekKind() == '"' {
		name, err := r.d.ReadValue()
		if err != nil {
			return errSyntax(err)
		}
		written := unquoteName(name)
		if err := member(written, r.camel(written)); err != nil {
			return err
		}
	}
	if _, err := r.d.ReadToken(); err != nil {
		return errSyntax(err)
	}
	return nil
}

// camel returns the camelCase form of a snake_case name if r accepts those.
func (r *reader) camel(name []byte) []byte {
	if !r.snake || bytes.IndexByte(name, '_') < 0 {
		return name
	}
	r.name = r.name[:0]
	up := false
	for _, c := range name {
		switch {
		case c == '_':
			up = true
			continue
		case up && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		r.name = append(r.name, c)
	}
	return r.name
}

// array reads an array and calls element for each element, which must read it.
// Null has no elements.
func (r *reader) array(element func() error) error {
	if k := r.d.PeekKind(); k != '[' {
		v, err := r.value()
		if err != nil || v.Kind() == 'n' {
			return err
		}
		return r.invalid("must be an array")
	}
	if _, err := r.d.ReadToken(); err != nil {
		return errSyntax(err)
	}
	for k := r.d.PeekKind(); k != ']' && k != 0; k = r.d.PeekKind() {
		if err := element(); err != nil {
			return err
		}
	}
	if _, err := r.d.ReadToken(); err != nil {
		return errSyntax(err)
	}
	return nil
}

// value reads any value. It is valid until the next read.
func (r *reader) value() (jsontext.Value, error) {
	v, err := r.d.ReadValue()
	if err != nil {
		return nil, errSyntax(err)
	}
	return v, nil
}

func (r *reader) skip() error {
	_, err := r.value()
	return err
}

// raw reads any value and returns a compact copy, null included.
func (r *reader) raw() (json.RawMessage, error) {
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	return compact(v), nil
}

// rawObject reads an object and returns a compact copy; nil for null.
func (r *reader) rawObject() (json.RawMessage, error) {
	v, err := r.value()
	switch {
	case err != nil || v.Kind() == 'n' || r.soft && v.Kind() != '{':
		return nil, err
	case v.Kind() != '{':
		return nil, r.invalid("must be an object")
	}
	return compact(v), nil
}

// text reads a string and reports whether there was one.
func (r *reader) text() (s string, present bool, err error) {
	v, err := r.value()
	switch {
	case err != nil || v.Kind() == 'n' || r.soft && v.Kind() != '"':
		return "", false, err
	case v.Kind() != '"':
		return "", false, r.invalid("must be a string")
	}
	return unquote(v), true, nil
}

// strings reads an array of strings; nil for null and for an empty one.
func (r *reader) strings() (list []string, err error) {
	err = r.array(func() error {
		s, present, err := r.text()
		if err == nil && !present {
			err = r.invalid("must be a string")
		}
		list = append(list, s)
		return err
	})
	return list, err
}

// boolean reads true or false and reports whether there was one.
func (r *reader) boolean() (b, present bool, err error) {
	v, err := r.value()
	if err != nil {
		return false, false, err
	}
	switch v.Kind() {
	case 'n':
		return false, false, nil
	case 't', 'f':
		return v.Kind() == 't', true, nil
	}
	return false, false, r.invalid("must be true or false")
}

// integer reads a 32 bit integer, which ProtoJSON allows to be written as 2, 2.0
// or "2", and reports whether there was one.
func (r *reader) integer() (n int, present bool, err error) {
	v, err := r.value()
	if err != nil || v.Kind() == 'n' {
		return 0, false, err
	}
	var s string
	switch v.Kind() {
	case '"':
		s = unquote(v)
	case '0':
		s = string(v)
	}
	n, ok := parseInteger(s)
	if !ok {
		return 0, false, r.invalid("must be an integer")
	}
	return n, true, nil
}

func parseInteger(s string) (int, bool) {
	if strings.Trim(s, "-0123456789.eE+") != "" {
		return 0, false // ParseFloat would take "Inf", "0x1p3" and "1_000" as well
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// historyLength reads the historyLength member into the view.
func (r *reader) historyLength(view *a2a.View) error {
	n, present, err := r.integer()
	switch {
	case err != nil:
		return err
	case !present:
		view.HistoryLength = nil
		return nil
	case n < 0:
		return r.invalid("must not be negative")
	}
	view.HistoryLength = &n
	return nil
}

// id reads an id: a string of at most lim.MaxIDBytes that is not blank and has
// no control characters. "" stands for an absent one.
func (r *reader) id() (string, error) {
	s, _, err := r.text()
	if err != nil {
		return "", err
	}
	if why := badID(s, r.lim.MaxIDBytes); why != "" {
		return "", r.invalid(why)
	}
	return s, nil
}

// badID says what is wrong with an id, or "".
func badID(s string, max int) string {
	switch {
	case s == "":
		return ""
	case len(s) > max:
		return "must not be longer than " + strconv.Itoa(max) + " bytes"
	case strings.TrimSpace(s) == "":
		return "must not be blank"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "must not have control characters"
	}
	return ""
}

// invalid blames the value just read.
func (r *reader) invalid(why string) error {
	return a2a.InvalidParams(r.path(), why)
}

// path is where the value just read is, such as "message.parts[0].text".
func (r *reader) path() string {
	var b strings.Builder
	for token := range r.d.StackPointer().Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	if b.Len() == 0 {
		return "params"
	}
	return b.String()
}

func required(field string) error { return a2a.InvalidParams(field, "is required") }

// errSyntax is the error of params that are no JSON. Those of an Envelope were
// checked with the body, so only other callers get to see it.
func errSyntax(cause error) error {
	return &a2a.Error{Code: a2a.CodeInvalidParams, Message: "Invalid parameters: not valid JSON", Err: cause}
}
