package configs

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestLoad_Example_commentsEveryKey(t *testing.T) {
	s, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, node map[string]any)
	walk = func(path string, node map[string]any) {
		if path != "" && node["description"] == nil {
			t.Errorf("%s has no comment", path)
		}
		if props, ok := node["properties"].(map[string]any); ok {
			for key, sub := range props {
				walk(join2(path, key), sub.(map[string]any))
			}
		}
		if items, ok := node["items"].(map[string]any); ok && items["properties"] != nil {
			walk(path+"[0]", items)
		}
	}
	walk("", tree)
}

func TestLoad_Examples(t *testing.T) {
	paths, err := fs.Glob(examples, "examples/*.yaml")
	if err != nil || len(paths) < 6 {
		t.Fatalf("examples: %v, %v", paths, err)
	}
	validator := compileSchema(t)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := examples.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Load(Options{Path: path, Data: data}); err != nil {
				t.Errorf("load: %v", err)
			}
			validateYAML(t, validator, data)
			fromDisk, err := Load(Options{Path: path})
			if err != nil || fromDisk == nil {
				t.Errorf("load from disk: %v", err)
			}
		})
	}
	validateYAML(t, validator, []byte(Example()))
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validateYAML(t *testing.T, s *jsonschema.Schema, data []byte) {
	t.Helper()
	if err := validYAML(t, s, data); err != nil {
		t.Errorf("schema: %v", err)
	}
}

func validYAML(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	b, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchema_refuses(t *testing.T) {
	s := compileSchema(t)
	for _, text := range []string{
		"sever: {}", "server: {addr: [1]}", "log: {level: loud}", "skills: [{name: x}]",
		"store: {lease: soon}", "limits: {max_parts: 0}", "server: {request_id: maybe}",
	} {
		if validYAML(t, s, []byte(text)) == nil {
			t.Errorf("schema accepts %q", text)
		}
	}
	for _, text := range []string{
		"server: {addr: '${ADDR}', max_body_bytes: 65536, read_timeout: 0}", "server:", "auth: {required: true}",
		"limits: {max_parts: '${PARTS:-7}'}",
	} {
		validateYAML(t, s, []byte(text))
	}
}

func TestSchema_golden(t *testing.T) {
	made, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(made, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile("schema.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
		return // the embedded one is that of before
	}
	if diff := cmp.Diff(Schema(), string(got)); diff != "" {
		t.Errorf("schema changed; run with -update (-want +got):\n%s", diff)
	}
}
