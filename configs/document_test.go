package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoad_Documents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(" {\"type\":\"array\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := mustLoad(t, `
skills:
  - id: weekly_report
    input_schema:
      type: object
      properties: {price: {type: string, pattern: '^\$[0-9]{2}$$'}, n: {const: 1.50}}
      required: [price]
    output_schema: ${DIR}/schema.json
  - id: list_board
    input_schema: ""
    output_schema:
`, "DIR="+filepath.Dir(file))
	for _, c := range []struct {
		name string
		got  Document
		want string
	}{
		{"a mapping", cfg.Skills[0].InputSchema, `{"type":"object","properties":{"price":{"type":"string","pattern":"^\\$[0-9]{2}$$"},"n":{"const":1.50}},"required":["price"]}`},
		{"a file", cfg.Skills[0].OutputSchema, `{"type":"array"}`},
		{"an empty text", cfg.Skills[1].InputSchema, ""},
		{"nothing", cfg.Skills[1].OutputSchema, ""},
	} {
		if got := string(c.got.JSON()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestLoad_Documents_refused(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"bad.json": `{"type"`, "big.json": `"` + strings.Repeat("x", 256<<10) + `"`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for value, want := range map[string]string{
		"[1]":                      "skills[0].input_schema: must be a mapping, or the path of a JSON file",
		dir + "/none.json":         "no such file",
		dir + "/bad.json":          "bad.json is not JSON",
		dir + "/big.json":          "big.json is larger than 262144 bytes",
		"'${NOT_SET_ANYWHERE}'":    "NOT_SET_ANYWHERE is not set",
		"{a: 1, a: 2}":             "is set already",
		"{a: !!binary x}":          "not supported",
		"{pattern: '${UNTOUCHED'}": "",
	} {
		_, err := load(t, "default_skill: list_board\nskills: [{id: list_board, input_schema: "+value+"}]\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got error %v, want %q", value, err, want)
		}
	}
}
