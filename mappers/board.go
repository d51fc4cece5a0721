package mappers

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// Board is the mapper of the reading skills of the Task Manager: one closed
// operation and a few ids. The input comes as JSON (text or data), or as bare
// text, which stands for the first id.
type Board struct {
	operation string
	required  []string
	optional  []string
}

// NewBoard returns the mapper of an operation that is also the skill's id, with
// the names of the ids it cannot do without. A message that names another
// operation is refused, so that a reading skill never runs anything else.
func NewBoard(operation string, required ...string) *Board {
	return &Board{operation: operation, required: slices.Clone(required)}
}

// WithOptional returns a copy of b that also knows ids that may be absent.
func (b *Board) WithOptional(names ...string) *Board {
	c := *b
	c.optional = append(slices.Clone(b.optional), names...)
	return &c
}

// In makes {"operation":…, id:…} of the message. Ids are strings; integers are
// taken as their digits. Unknown keys and files are ignored with a warning.
func (b *Board) In(m a2a.Message) (Input, error) {
	f, err := gather(m, b.takeText)
	if err != nil {
		return Input{}, err
	}
	if err := f.operation(b.operation, nil); err != nil {
		return Input{Sent: f.sent}, err
	}
	payload := appendMember(nil, "operation", b.operation)
	for _, name := range b.required {
		id, err := f.takeString(name)
		if err != nil {
			return Input{Sent: f.sent}, err
		}
		if id == "" {
			return Input{Sent: f.sent}, invalid(name + " is required")
		}
		payload = appendMember(payload, name, id)
	}
	for _, name := range b.optional {
		id, err := f.takeString(name)
		if err != nil {
			return Input{Sent: f.sent}, err
		}
		if id != "" {
			payload = appendMember(payload, name, id)
		}
	}
	return Input{Payload: append(payload, '}'), Warnings: f.finish(), Sent: f.sent}, nil
}

// takeText reads bare text as the first id. A skill without a required id is
// more likely asked in words ("show all boards"), so text with blanks in it is
// then ignored with a warning.
func (b *Board) takeText(f *fields, path, text string) error {
	if text[0] == '[' {
		return invalid(path + " must be a JSON object or a bare id, not an array")
	}
	switch {
	case len(b.required) > 0:
		f.set(b.required[0], quoted(text))
	case len(b.optional) > 0 && !strings.ContainsFunc(text, unicode.IsSpace):
		f.set(b.optional[0], quoted(text))
	default:
		f.warn("ignored " + path)
	}
	return nil
}

// Out makes one artifact of the result, a JSON object: its JSON as text first,
// the object itself as data second. The artifact is named after what the
// operation lists ("board").
func (b *Board) Out(result json.RawMessage) ([]a2a.Artifact, error) {
	data, err := object(result)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(b.operation, "list_")
	return []a2a.Artifact{{
		ID: name, Name: name,
		Parts: []a2a.Part{a2a.TextPart(string(data)), a2a.DataPart(data)},
	}}, nil
}

// quoted returns s as a JSON string.
func quoted(s string) jsontext.Value {
	// The only error is about text that is not UTF-8, which is made valid first.
	v, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	return v
}

// appendMember adds a string member to the object begun in b; nil begins one.
func appendMember(b []byte, name, value string) []byte {
	if b == nil {
		b = append(b, '{')
	} else {
		b = append(b, ',')
	}
	b = append(b, quoted(name)...)
	b = append(b, ':')
	return append(b, quoted(value)...)
}
