package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/skillyard/skillyard/a2a"
)

// Bounds of a schema. Its owner writes it, so they only stop slips.
const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 64
)

// schemaBase is what the references of a schema are relative to. Nothing is ever
// read from there.
const schemaBase = "https://schema.invalid/skill"

// Schema is a JSON Schema (draft 2020-12) of what a skill takes or gives. It is
// immutable and safe for concurrent use.
type Schema struct {
	raw      json.RawMessage
	compiled *jsonschema.Schema
}

// ParseSchema compiles a schema: one JSON object of at most 256 KiB. References
// lead to the schema itself or to the draft's own meta-schemas; any other is an
// error, as nothing is fetched and no file is read. Formats are checked, not only
// noted.
func ParseSchema(raw []byte) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("is larger than %d bytes", maxSchemaBytes)
	}
	text := jsontext.Value(bytes.Clone(raw))
	if err := text.Compact(jsontext.AllowDuplicateNames(false)); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if text.Kind() != '{' {
		return nil, errors.New("must be a JSON object")
	}
	if depth(text) > maxSchemaDepth {
		return nil, fmt.Errorf("is nested deeper than %d levels", maxSchemaDepth)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaBase, doc); err != nil {
		return nil, fmt.Errorf("is not a schema: %w", err)
	}
	compiled, err := c.Compile(schemaBase)
	var load *jsonschema.LoadURLError
	switch {
	case errors.As(err, &load):
		return nil, fmt.Errorf("refers to %s; only references within the schema are followed", load.URL)
	case err != nil:
		return nil, fmt.Errorf("is not a schema: %w", err)
	case compiled.DraftVersion != 2020:
		return nil, errors.New("must be of draft 2020-12")
	}
	return &Schema{raw: json.RawMessage(text), compiled: compiled}, nil
}

// noLoader refuses to load what a schema refers to.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("not followed") }

// JSON returns the schema as compact JSON. The caller must not change it.
func (s *Schema) JSON() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.raw
}

// Check holds one JSON value against the schema and says what is wrong with it,
// each fault with the JSON Pointer (RFC 6901) of its place; nil if nothing is. At
// most maxViolations faults are told. A value of more than most members and elements is
// not looked at, and is at fault for that. The words repeat nothing of the value but
// the names of its members.
func (s *Schema) Check(value []byte, most int) []a2a.FieldViolation {
	if v := tooMuch(value, most); v != nil {
		return []a2a.FieldViolation{*v}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []a2a.FieldViolation{{Description: "must be JSON"}}
	}
	var bad *jsonschema.ValidationError
	switch err := s.compiled.Validate(doc); {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return violations(bad)
	default:
		return []a2a.FieldViolation{{Description: "cannot be held against the schema"}}
	}
}

// maxExponent bounds the numbers that are compared exactly: 1e1000000 has a
// million digits.
const (
	maxExponent = 400
	maxDigits   = 400
)

// tooMuch looks for what would take long to check.
func tooMuch(value []byte, most int) *a2a.FieldViolation {
	d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for n := 0; ; n++ {
		if d.PeekKind() == '0' {
			v, err := d.ReadValue()
			if err == nil && !modest(string(v)) {
				return &a2a.FieldViolation{Field: clipPointer(string(d.StackPointer())), Description: "is too large or too precise a number"}
			}
			if err != nil {
				return &a2a.FieldViolation{Description: "must be JSON"}
			}
		} else if _, err := d.ReadToken(); err == io.EOF {
			return nil
		} else if err != nil {
			return &a2a.FieldViolation{Description: "must be JSON"}
		}
		if n > most {
			return &a2a.FieldViolation{Description: "must not have more than " + strconv.Itoa(most) + " members and elements"}
		}
	}
}

// modest reports whether a number is written with a bearable number of digits.
func modest(number string) bool {
	digits, exponent, has := strings.Cut(strings.ToLower(number), "e")
	if len(digits) > maxDigits {
		return false
	}
	if !has {
		return true
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && -maxExponent <= n && n <= maxExponent
}

// depth returns how deep the arrays and objects of a valid JSON value are nested.
func depth(v jsontext.Value) (deepest int) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		if _, err := d.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, d.StackDepth())
	}
}

// CheckInput holds the data that a client sent against the skill's input schema. The
// error is an *a2a.Error with code invalid_input; nil means that all is well, that
// there is no schema, or that no data was sent.
func (e *Entry) CheckInput(sent json.RawMessage) error {
	if e.InputSchema == nil || sent == nil {
		return nil
	}
	list := e.InputSchema.Check(sent, e.Limits.MaxValues)
	if len(list) == 0 {
		return nil
	}
	return &a2a.Error{Code: a2a.CodeInvalidInput, Message: Sentence(list), Fields: list}
}
