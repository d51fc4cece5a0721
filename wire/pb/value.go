package pb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// object returns a raw JSON object as a Struct; nil if it is none.
func object(raw json.RawMessage) *structpb.Struct { return value(raw).GetStructValue() }

// value returns a raw JSON value as a Value. No value is null, and so is what is not
// JSON: the store holds none.
func value(raw json.RawMessage) *structpb.Value {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := read(d)
	if err != nil {
		return structpb.NewNullValue()
	}
	return v
}

// read reads the next value.
func read(d *jsontext.Decoder) (*structpb.Value, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 't', 'f':
		return structpb.NewBoolValue(t.Bool()), nil
	case '"':
		return structpb.NewStringValue(wire.ValidText(t.String())), nil
	case '0':
		return number(t.String()), nil
	case '{':
		return readObject(d)
	case '[':
		return readList(d)
	}
	return structpb.NewNullValue(), nil
}

func readObject(d *jsontext.Decoder) (*structpb.Value, error) {
	fields := make(map[string]*structpb.Value)
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := wire.ValidText(name.String()) // the token is good until the next read
		if fields[key], err = read(d); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return structpb.NewStructValue(&structpb.Struct{Fields: fields}), err
}

func readList(d *jsontext.Decoder) (*structpb.Value, error) {
	list := new(structpb.ListValue)
	for d.PeekKind() != ']' {
		v, err := read(d)
		if err != nil {
			return nil, err
		}
		list.Values = append(list.Values, v)
	}
	_, err := d.ReadToken()
	return structpb.NewListValue(list), err
}

// number returns a JSON number as a Value; see the package's documentation.
func number(text string) *structpb.Value {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return structpb.NewStringValue(text)
	}
	return structpb.NewNumberValue(f)
}

// jsonReader turns Values into JSON.
type jsonReader struct {
	field string // to blame
	depth int    // how many levels may follow
	max   int
}

// rawObject returns a Struct as a raw JSON object; nil for nil. The field is level
// levels deep in the JSON form of the request, all of which limit the depth.
func rawObject(field string, s *structpb.Struct, level int, lim wire.Limits) (json.RawMessage, error) {
	if s == nil {
		return nil, nil
	}
	r := jsonReader{field, lim.MaxDepth - level, lim.MaxDepth}
	return r.object(nil, s, r.depth)
}

// rawValue is rawObject for any value; nil is null.
func rawValue(field string, v *structpb.Value, level int, lim wire.Limits) (json.RawMessage, error) {
	r := jsonReader{field, lim.MaxDepth - level, lim.MaxDepth}
	return r.value(nil, v, r.depth)
}

func (r *jsonReader) value(b []byte, v *structpb.Value, depth int) ([]byte, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(b, k.BoolValue), nil
	case *structpb.Value_StringValue:
		return quote(b, k.StringValue), nil
	case *structpb.Value_NumberValue:
		return r.number(b, k.NumberValue)
	case *structpb.Value_StructValue:
		return r.object(b, k.StructValue, depth)
	case *structpb.Value_ListValue:
		if depth <= 0 {
			return nil, r.tooDeep()
		}
		b = append(b, '[')
		for i, e := range k.ListValue.GetValues() {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = r.value(b, e, depth-1); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	return append(b, "null"...), nil
}

func (r *jsonReader) object(b []byte, s *structpb.Struct, depth int) ([]byte, error) {
	if depth <= 0 {
		return nil, r.tooDeep()
	}
	fields := s.GetFields()
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names) // so that equal requests are equal
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, name), ':')
		var err error
		if b, err = r.value(b, fields[name], depth-1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// number appends a number as short as it can be, with an exponent where ECMAScript
// has one.
func (r *jsonReader) number(b []byte, f float64) ([]byte, error) {
	size := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, a2a.InvalidParams(r.field, "must not hold a number that is not finite")
	case size == 0 || 1e-6 <= size && size < 1e21:
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b) - 2; b[n-1] == '-' && b[n] == '0' { // e-07
		b = append(b[:n], b[n+1])
	}
	return b, nil
}

func (r *jsonReader) tooDeep() error {
	return a2a.InvalidParams(r.field, fmt.Sprintf("makes a request that is nested deeper than %d levels", r.max))
}

func quote(b []byte, s string) []byte {
	// The error would tell of bytes that are no UTF-8, of which messages have none.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
