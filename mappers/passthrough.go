package mappers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// Passthrough is the mapper of skills that have no mapper of their own: data
// goes in and comes out as it is.
type Passthrough struct{}

// NewPassthrough returns the mapper.
func NewPassthrough() Passthrough { return Passthrough{} }

// In returns the first data part; a value that is not an object becomes
// {"data": value}, because a payload is an object. Without a data part it is
// {"text": …} with the text parts joined by line breaks. Parts that found no
// place are named in warnings.
func (Passthrough) In(m a2a.Message) (Input, error) {
	chosen := -1
	for i, p := range m.Parts {
		if p.Kind == a2a.PartData {
			chosen = i
			break
		}
	}
	f := &fields{}
	for i, p := range m.Parts {
		path := "message.parts[" + strconv.Itoa(i) + "]"
		switch {
		case i == chosen, chosen < 0 && p.Kind == a2a.PartText:
		case p.Kind == a2a.PartText, p.Kind == a2a.PartData:
			f.warn("ignored " + path)
		default:
			f.warn("ignored file part " + path)
		}
	}
	if chosen < 0 {
		return Input{Payload: append(appendMember(nil, "text", m.Text()), '}'), Warnings: f.finish()}, nil
	}
	data := bytes.TrimSpace(m.Parts[chosen].Data)
	if len(data) == 0 {
		data = []byte("null")
	}
	sent := data
	if data[0] != '{' {
		data = append(append([]byte(`{"data":`), data...), '}')
	}
	return Input{Payload: data, Warnings: f.finish(), Sent: sent}, nil
}

// Out makes an artifact named "result" of one part: an object or an array as
// data, a string as text, another value as the text of its JSON. A null result
// has no artifact.
func (Passthrough) Out(result json.RawMessage) ([]a2a.Artifact, error) {
	v := jsontext.Value(bytes.Clone(result))
	if err := v.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	var part a2a.Part
	switch v.Kind() {
	case jsontext.KindNull:
		return nil, nil
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		part = a2a.DataPart(json.RawMessage(v))
	case jsontext.KindString:
		var s string
		if err := jsonv2.Unmarshal(v, &s); err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		part = a2a.TextPart(s)
	default:
		part = a2a.TextPart(string(v))
	}
	return []a2a.Artifact{{ID: "result", Name: "result", Parts: []a2a.Part{part}}}, nil
}
