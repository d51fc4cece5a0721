package configs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// mask stands for a secret wherever one would be printed.
const mask = "***"

// Secret is a string that prints as *** with every verb and in every encoding.
// Reveal is the only way to it, so that a search for Reveal finds every use.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns *** or, when there is no secret, "".
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// Format hides the secret from every verb, also from wrong ones such as %d, for
// which fmt would print the value itself.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	_, _ = f.Write([]byte(text)) // a fmt.State never fails
}

// MarshalText hides the secret from JSON, YAML and what else encodes text, and
// from zerolog's Interface.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(s.GoString()), nil }

// MarshalYAML hides the secret.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// UnmarshalText takes the text as the secret.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// UnmarshalYAML takes a scalar's text as the secret.
func (s *Secret) UnmarshalYAML(n ast.Node) error {
	text, _ := scalarText(n)
	*s = Secret(text)
	return nil
}

// Size is a number of bytes, written as a number or with a unit: 64KiB, 10MiB,
// 1GiB (binary), or kB, MB, GB (decimal).
type Size int64

// units is ordered so that a unit is tried before its own suffix "B".
var units = [...]struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

// ParseSize reads a size.
func ParseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n != n || n*unit > 1<<53 || n*unit < -(1<<53) {
		return 0, fmt.Errorf("%q is not a size such as 65536, 64KiB or 10MiB", text)
	}
	return Size(n * unit), nil
}

// String writes the size with the largest binary unit that divides it.
func (s Size) String() string {
	for i := 2; i >= 0; i-- {
		if unit := Size(units[i].size); s != 0 && s%unit == 0 {
			return strconv.FormatInt(int64(s/unit), 10) + units[i].name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := ParseSize(string(text))
	if err != nil {
		return err
	}
	*s = n
	return nil
}

// UnmarshalYAML reads a size.
func (s *Size) UnmarshalYAML(n ast.Node) error {
	text, _ := scalarText(n)
	return s.UnmarshalText([]byte(text))
}

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
