package skills_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

const many = 100_000

func schema(t testing.TB, text string) *skills.Schema {
	t.Helper()
	s, err := skills.ParseSchema([]byte(text))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return s
}

func TestParseSchema_refuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "is not JSON",
		`{"type":"object"`:                       "is not JSON",
		`true`:                                   "must be a JSON object",
		`[]`:                                     "must be a JSON object",
		`{"type":"objekt"}`:                      "is not a schema",
		`{"pattern":"("}`:                        "is not a schema",
		`{"$ref":"#/$defs/x"}`:                   "is not a schema",
		`{"$ref":"other.json"}`:                  "refers to https://schema.invalid/other.json",
		`{"$ref":"https://example.com/s.json"}`:  "refers to https://example.com/s.json",
		`{"$ref":"file:///etc/passwd"}`:          "refers to file:///etc/passwd",
		`{"$id":"file:///etc/","$ref":"passwd"}`: "refers to file:///etc/passwd",
		`{"$schema":"https://example.com/meta"}`: "refers to https://example.com/meta",
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`:        "must be of draft 2020-12",
		`{"type":"object","type":"array"}`:                             "is not JSON",
		`{"description":"` + strings.Repeat("x", 256<<10) + `"}`:       "is larger than 262144 bytes",
		strings.Repeat(`{"not":`, 65) + `{}` + strings.Repeat(`}`, 65): "is nested deeper than 64 levels",
	} {
		_, err := skills.ParseSchema([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got error %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{
		`{}`, `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`,
		`{"$id":"https://example.com/mine","$ref":"#/$defs/a","$defs":{"a":{"$anchor":"x"},"b":{"$ref":"#x"}}}`,
	} {
		schema(t, text)
	}
}

func TestSchema_JSON(t *testing.T) {
	if got := string(schema(t, "{ \"type\" :\n\"object\" }").JSON()); got != `{"type":"object"}` {
		t.Errorf("got %s, want it compact", got)
	}
	if got := (*skills.Schema)(nil).JSON(); got != nil {
		t.Errorf("got %s, want nil for no schema", got)
	}
}

func TestSchema_Check(t *testing.T) {
	person := `{"type":"object","required":["name","age"],"additionalProperties":false,"properties":{` +
		`"name":{"type":"string","minLength":2,"maxLength":4,"pattern":"^[a-z]+$"},` +
		`"age":{"type":"integer","minimum":0,"exclusiveMaximum":150,"multipleOf":1},` +
		`"tags":{"type":"array","maxItems":2,"uniqueItems":true,"items":{"enum":["a","b"]}},` +
		`"day":{"type":"string","format":"date"},` +
		`"a/b~c":{"const":1},` +
		`"id":{"anyOf":[{"type":"string"},{"type":"integer"}]},` +
		`"odd":{"oneOf":[{"minimum":1},{"minimum":2}]},` +
		`"either":{"oneOf":[{"required":["x"]},{"required":["y"]}]}}}`
	for _, c := range []struct{ value, want string }{
		{`{"name":"bob","age":3}`, ""},
		{`{"name":"bob","age":3.0,"tags":["a"],"day":"2026-11-30","a/b~c":1,"id":5,"odd":1,"either":{"x":1}}`, ""},
		{`[]`, "the data must be an object, not an array"},
		{`null`, "the data must be an object, not null"},
		{`{}`, "/age: is required; /name: is required"},
		{`{"name":"b","age":-1}`, "/age: must be at least 0; /name: must have at least 2 characters"},
		{`{"name":"BOBBY","age":150}`, `/age: must be less than 150; /name: must have at most 4 characters; /name: must match "^[a-z]+$"`},
		{`{"name":true,"age":"3"}`, "/age: must be an integer, not a string; /name: must be a string, not true or false"},
		{`{"name":"bob","age":3,"nick":1}`, "/nick: is not allowed"},
		{`{"name":"bob","age":3,"tags":["a","c"]}`, `/tags/1: must be one of "a", "b"`},
		{`{"name":"bob","age":3,"tags":["a","a","b"]}`, "/tags: must have at most 2 elements; /tags: must not have equal elements"},
		{`{"name":"bob","age":3,"day":"secret"}`, "/day: is not a valid date"},
		{`{"name":"bob","age":3,"a/b~c":2}`, "/a~1b~0c: must be 1"},
		{`{"name":"bob","age":3,"id":[]}`, "/id: must be a string or an integer, not an array"},
		{`{"name":"bob","age":3,"odd":2}`, "/odd: fits more than one of the alternatives"},
		{`{"name":"bob","age":3,"either":{}}`, "/either: fits none of the alternatives"},
		{`{"name":1,"age":"","tags":1,"day":1,"id":{}}`, "/age: must be an integer, not a string; /day: must be a string, not a number; /id: must be a string or an integer, not an object; and 2 more"},
		{`{"name":"bob","age":1e999999}`, "/age: is too large or too precise a number"},
		{`{"name":"bob","age":` + strings.Repeat("9", 500) + `}`, "/age: is too large or too precise a number"},
		{`{"name":"bob"`, "the data must be JSON"},
	} {
		if got := skills.Sentence(schema(t, person).Check([]byte(c.value), many)); got != c.want {
			t.Errorf("%.80s: got %q, want %q", c.value, got, c.want)
		}
	}
}

// TestSchema_Check_limits: however much is wrong, little is said.
func TestSchema_Check_limits(t *testing.T) {
	s := schema(t, `{"items":{"type":"string"}}`)
	wrong := "[" + strings.Repeat("1,", 999) + "1]"
	if got := len(s.Check([]byte(wrong), many)); got != 10 {
		t.Errorf("got %d violations, want 10", got)
	}
	want := []a2a.FieldViolation{{Description: "must not have more than 100 members and elements"}}
	if diff := cmp.Diff(s.Check([]byte(wrong), 100), want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	long := schema(t, `{"additionalProperties":false}`).Check([]byte(`{"`+strings.Repeat("x", 1000)+`":1}`), many)
	if len(long) != 1 || len(long[0].Field) > 210 {
		t.Errorf("got %v, want one short pointer", long)
	}
}

// TestSchema_Check_cycle: a schema that refers to itself without an end does not hang.
func TestSchema_Check_cycle(t *testing.T) {
	s, err := skills.ParseSchema([]byte(`{"$ref":"#"}`))
	if err != nil {
		return
	}
	if got := s.Check([]byte(`{}`), many); len(got) != 1 {
		t.Errorf("got %v, want one fault", got)
	}
}

func TestEntry_CheckInput(t *testing.T) {
	e := skills.Entry{InputSchema: schema(t, `{"required":["x"]}`), Limits: skills.Limits{MaxValues: many}}
	var coded *a2a.Error
	err := e.CheckInput(json.RawMessage(`{}`))
	if !errors.As(err, &coded) || coded.Code != a2a.CodeInvalidInput || coded.Message != "/x: is required" || len(coded.Fields) != 1 {
		t.Errorf("got %v, want invalid_input at /x", err)
	}
	for _, sent := range []json.RawMessage{nil, json.RawMessage(`{"x":1}`)} {
		if err := e.CheckInput(sent); err != nil {
			t.Errorf("%s: got %v, want no error", sent, err)
		}
	}
	if err := (&skills.Entry{}).CheckInput(json.RawMessage(`{}`)); err != nil {
		t.Errorf("without a schema: got %v, want no error", err)
	}
}

func BenchmarkParseSchema(b *testing.B) {
	for b.Loop() {
		if _, err := skills.ParseSchema([]byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzSchema_Check(f *testing.F) {
	s, err := skills.ParseSchema([]byte(`{"properties":{"a":{"type":"string"},"n":{"minimum":3},"l":{"uniqueItems":true}},"additionalProperties":{"format":"date"}}`))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{}`, `{"a":1}`, `{"n":1e400}`, `{"l":[1,1.0,{}]}`, `{"~/":"x"}`, `[`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, v := range s.Check(value, many) {
			if v.Description == "" || v.Field != "" && v.Field[0] != '/' {
				t.Errorf("%s: got %+v", value, v)
			}
		}
	})
}
