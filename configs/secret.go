package configs

import (
	"fmt"
	"strconv"

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
