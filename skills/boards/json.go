package boards

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// NullString is a string that is null in JSON when it is empty.
type NullString string

// MarshalJSONTo writes the string, or null for "".
func (s NullString) MarshalJSONTo(enc *jsontext.Encoder) error {
	if s == "" {
		return enc.WriteToken(jsontext.Null)
	}
	return enc.WriteToken(jsontext.String(string(s)))
}

// Label marks a card. In JSON it is a string, or an object when it has a color.
type Label struct {
	Text  string
	Color string
}

// labelObject is the long form of a Label.
type labelObject struct {
	Text  string `json:"text"`
	Name  string `json:"name,omitempty"` // read only: what other products call it
	Color string `json:"color,omitempty"`
}

// MarshalJSONTo writes the short form when it says all.
func (l Label) MarshalJSONTo(enc *jsontext.Encoder) error {
	if l.Color == "" {
		return enc.WriteToken(jsontext.String(l.Text))
	}
	return json.MarshalEncode(enc, labelObject{Text: l.Text, Color: l.Color})
}

// UnmarshalJSONFrom reads either form.
func (l *Label) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == jsontext.KindString {
		l.Color = ""
		return json.UnmarshalDecode(dec, &l.Text)
	}
	var o labelObject
	if err := json.UnmarshalDecode(dec, &o); err != nil {
		return err
	}
	if o.Text == "" {
		o.Text = o.Name
	}
	*l = Label{Text: o.Text, Color: o.Color}
	return nil
}

// Marshal returns v, a value of this package or a slice of them, as compact JSON
// in which lists are never null. The output is the same for the same value.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true))
}
