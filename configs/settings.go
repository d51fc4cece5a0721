package configs

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Settings is a JSON object that this package passes on without looking inside.
// It may hold secrets, so it prints as ***; JSON returns it.
type Settings struct{ raw json.RawMessage }

func rawSettings(object string) Settings { return Settings{raw: json.RawMessage(object)} }

// JSON returns the object, "{}" when nothing was set. Numbers are written as they
// were in the file. The caller must not change it.
func (s Settings) JSON() json.RawMessage {
	if s.raw == nil {
		return json.RawMessage("{}")
	}
	return s.raw
}

// String returns *** or, when nothing was set, "".
func (s Settings) String() string { return Secret(s.raw).String() }

// Format hides the settings from every verb.
func (s Settings) Format(f fmt.State, verb rune) { Secret(s.raw).Format(f, verb) }

// MarshalJSON hides the settings.
func (s Settings) MarshalJSON() ([]byte, error) { return Secret(s.raw).MarshalJSON() }

// MarshalYAML hides the settings.
func (s Settings) MarshalYAML() (any, error) { return s.String(), nil }

// UnmarshalYAML keeps the node as JSON.
func (s *Settings) UnmarshalYAML(n ast.Node) error {
	b, err := appendJSON(nil, n)
	if err != nil {
		return err
	}
	s.raw = b
	return nil
}

// free resolves the references in a tree without a type. An unquoted value that
// became one by a reference is read as YAML would read it (${PORT} is a number), and
// so is one that is a number but too long for the library; a quoted one stays a
// string.
func (r *reader) free(n ast.Node, path string, depth int) ast.Node {
	if depth > maxNesting {
		r.fault(n, path, "nested too deep")
		return n
	}
	r.place(n, path)
	if entries := asMapping(n); entries != nil {
		seen := make(map[string]int, len(entries))
		for _, entry := range entries {
			key, ok := r.key(entry, path, seen)
			if !ok {
				continue
			}
			entry.Value = r.free(entry.Value, join2(path, key), depth+1)
		}
		return n
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		for i, item := range n.Values {
			n.Values[i] = r.free(item, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
	case *ast.StringNode, *ast.LiteralNode:
		text, _ := scalarText(n)
		var err error
		if !r.plain {
			text, err = interpolate(text, r.env)
		}
		switch {
		case err != nil:
			r.fault(n, path, "%s", err)
		case n.GetToken().Type != token.StringType:
			return textNode(n.GetToken(), text)
		case text == "true" || text == "false":
			return ast.Bool(retext(n.GetToken(), text))
		case jsonNumber.MatchString(text):
			return ast.Float(retext(n.GetToken(), text))
		default:
			return textNode(n.GetToken(), text)
		}
	default:
		r.fault(n, path, "this kind of value is not supported")
	}
	return n
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// appendJSON appends a tree that free has seen as JSON.
func appendJSON(b []byte, n ast.Node) ([]byte, error) {
	if entries := asMapping(n); entries != nil {
		b = append(b, '{')
		for i, entry := range entries {
			if i > 0 {
				b = append(b, ',')
			}
			key, _ := scalarText(entry.Key)
			b = append(appendString(b, key), ':')
			var err error
			if b, err = appendJSON(b, entry.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Values {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendJSON(b, item); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case *ast.NullNode:
		return append(b, "null"...), nil
	case *ast.BoolNode:
		return strconv.AppendBool(b, n.Value), nil
	case *ast.IntegerNode, *ast.FloatNode:
		return appendNumber(b, n.GetToken())
	}
	text, ok := scalarText(n)
	if !ok {
		return nil, &yaml.SyntaxError{Message: "this kind of value is not supported", Token: n.GetToken()}
	}
	return appendString(b, text), nil
}

// appendNumber keeps a number's digits if JSON has them so, and else its value.
func appendNumber(b []byte, t *token.Token) ([]byte, error) {
	if jsonNumber.MatchString(t.Value) {
		return append(b, t.Value...), nil
	}
	if i, ok := new(big.Int).SetString(strings.TrimPrefix(t.Value, "+"), 0); ok {
		return i.Append(b, 10), nil
	}
	if f, err := strconv.ParseFloat(strings.ReplaceAll(t.Value, "_", ""), 64); err == nil && f-f == 0 {
		return strconv.AppendFloat(b, f, 'g', -1, 64), nil
	}
	return nil, &yaml.SyntaxError{Message: fmt.Sprintf("%q is not a number of JSON", t.Value), Token: t}
}

func appendString(b []byte, s string) []byte {
	// Invalid UTF-8 is the only error, and it is replaced.
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	return b
}
