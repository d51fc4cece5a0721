package configs

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

// makeSchema returns the JSON Schema (draft 2020-12) of a configuration file, made
// from the Go types, with the comments of Example as descriptions. It is for
// editors: it accepts every file that Load accepts, and it does not see what
// values say together.
func makeSchema() (*jsonschema.Schema, error) {
	bounded := func(pattern string) *jsonschema.Schema {
		return &jsonschema.Schema{Types: []string{"string", "integer"}, Pattern: pattern}
	}
	s, err := jsonschema.For[Config](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): bounded(`^([-+]?(0|([0-9.]+(ns|us|µs|ms|s|m|h))+)|.*\$\{.*)$`),
		reflect.TypeFor[Size]():          bounded(`^([-+]?[0-9.]+ *([kKMG]i?)?B?|.*\$\{.*)$`),
		reflect.TypeFor[Secret]():        {Type: "string"},
		reflect.TypeFor[Settings]():      {Type: "object"},
		reflect.TypeFor[Document]():      {Types: []string{"object", "string"}},
	}})
	if err != nil {
		return nil, fmt.Errorf("make config schema: %w", err)
	}
	comments, err := exampleComments()
	if err != nil {
		return nil, err
	}
	s.ID, s.Schema, s.Title = SchemaID, "https://json-schema.org/draft/2020-12/schema", "Skillyard configuration"
	describe(s, reflect.TypeFor[Config](), "", comments)
	return s, nil
}

// describe completes the schema of a type: keys instead of field names, what the
// validate tags say, nothing required but what has no default, and comments.
func describe(s *jsonschema.Schema, t reflect.Type, path string, comments map[string]string) {
	s.Description = comments[path]
	nullable(s)
	switch {
	case s.Items != nil:
		describe(s.Items, t.Elem(), path+"[0]", comments)
	case t.Kind() == reflect.Struct && s.Properties != nil:
		properties := make(map[string]*jsonschema.Schema, len(s.Properties))
		s.Required, s.PropertyOrder = nil, nil
		for f := range t.Fields() {
			sub, key := s.Properties[f.Name], keyOf(f)
			if sub == nil || key == "" {
				continue
			}
			describe(sub, f.Type, join2(path, key), comments)
			rules(sub, f.Tag.Get("validate"))
			properties[key] = sub
			s.PropertyOrder = append(s.PropertyOrder, key)
		}
		s.Properties = properties
		if path == "auth.keys[0]" {
			s.Required = []string{"name"}
		}
		if path == "skills[0]" {
			s.Required = []string{"id"}
		}
	}
}

// nullable lets a value be empty, which means its default, and a scalar be a
// reference such as ${PORT}, or a number or truth value where text is wanted.
func nullable(s *jsonschema.Schema) {
	types := append([]string{"null", s.Type}, s.Types...)
	switch {
	case slices.Contains(types, "integer"), slices.Contains(types, "boolean"):
		types = append(types, "string")
		if s.Pattern == "" {
			s.Pattern = reference
		}
	case slices.Contains(types, "string"):
		types = append(types, "number", "boolean")
	}
	types = slices.DeleteFunc(types, func(t string) bool { return t == "" })
	slices.Sort(types)
	s.Type, s.Types = "", slices.Compact(types)
}

// reference is a string in the place of a number or a truth value: itself, quoted,
// or a reference.
const reference = `^(true|false|[-+]?[0-9_]+|.*\$\{.*)$`

// rules puts the validate tags that JSON Schema can say into s.
func rules(s *jsonschema.Schema, tag string) {
	for rule := range strings.SplitSeq(tag, ",") {
		name, param, _ := strings.Cut(rule, "=")
		n, err := strconv.ParseFloat(param, 64)
		number := err == nil && slices.Contains(s.Types, "integer")
		switch {
		case name == "oneof":
			alternatives := strings.Fields(param)
			for i, a := range alternatives {
				alternatives[i] = regexp.QuoteMeta(a)
			}
			s.Pattern = `^(` + strings.Join(alternatives, "|") + `|.*\$\{.*|)$`
			s.Types = []string{"null", "string"}
			if slices.Contains(alternatives, "true") {
				s.Types = []string{"boolean", "null", "string"}
			}
		case name == "gte" && number:
			s.Minimum = &n
		case name == "lte" && number:
			s.Maximum = &n
		}
	}
}

// exampleComments returns the comments of Example by path.
func exampleComments() (map[string]string, error) {
	comments := yaml.CommentMap{}
	var ignored any
	if err := yaml.UnmarshalWithOptions([]byte(example), &ignored, yaml.CommentToMap(comments)); err != nil {
		return nil, fmt.Errorf("read the comments of the example: %w", err)
	}
	texts := make(map[string]string, len(comments)+len(itemComments))
	for path, text := range itemComments {
		texts[path] = text
	}
	for path, list := range comments {
		var words []string
		for _, c := range list {
			for _, line := range c.Texts {
				words = append(words, strings.TrimSpace(line))
			}
		}
		path = strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(path, "$"), "."), "'", "")
		if text := strings.Join(words, " "); texts[path] == "" && text != "" {
			texts[path] = text
		}
	}
	return texts, nil
}

// itemComments describe the members of items that the example has none of.
var itemComments = map[string]string{
	"auth.keys[0]":                   "One key, given by one of key, sha256 and file.",
	"auth.keys[0].name":              "The caller. Tasks belong to the name; two entries with one name are one caller.",
	"auth.keys[0].key":               "The key itself; better a reference such as ${CI_KEY}.",
	"auth.keys[0].sha256":            "The SHA-256 of the key in hexadecimal.",
	"auth.keys[0].file":              "A file that holds the key.",
	"auth.keys[0].tenant":            "Callers of different tenants share nothing.",
	"auth.keys[0].skills":            "The ids of the only skills the caller may use. Empty: all.",
	"card.extensions[0]":             "One extension.",
	"card.extensions[0].uri":         "The URI by which clients activate it, with its version.",
	"card.extensions[0].description": "What it is for.",
	"card.extensions[0].required":    "Refuse work for clients that do not activate it.",
	"card.extensions[0].params":      "An object with what clients have to know, shown on the card.",
	"card.signing.keys[0]":           "One key. All of them sign each card.",
	"card.signing.keys[0].kid":       "The key's id. Empty: its thumbprint (RFC 7638).",
	"card.signing.keys[0].file":      "A file with the private key in PEM (PKCS #8): P-256 for ES256, Ed25519 for EdDSA.",
	"skills[0].id":                   "The id clients choose the skill by. The skill has its own card and endpoint under /skills/ID.",
	"skills[0]":                      "One skill. With the id of a built-in skill everything else may be left out.",
}
