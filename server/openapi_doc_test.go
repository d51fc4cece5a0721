package server_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// apiDoc is the description, resolved as far as the tests look into it.
type apiDoc struct {
	t    testing.TB
	root map[string]any
	used map[string]bool // components that something refers to
	c    *jsonschema.Compiler
}

func readAPI(t testing.TB) *apiDoc {
	t.Helper()
	b, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	d := &apiDoc{t: t, root: doc.(map[string]any), used: map[string]bool{}, c: jsonschema.NewCompiler()}
	d.c.DefaultDraft(jsonschema.Draft2020)
	d.c.AssertFormat()
	if err := d.c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return d
}

// at returns the value at a JSON Pointer.
func (d *apiDoc) at(pointer string) any {
	d.t.Helper()
	var v any = d.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		m, ok := v.(map[string]any)
		if !ok || m[token] == nil {
			d.t.Fatalf("nothing at %s", pointer)
		}
		v = m[token]
	}
	return v
}

// object returns the object at pointer with the pointer it really has.
func (d *apiDoc) object(pointer string) (map[string]any, string) {
	d.t.Helper()
	m, ok := d.at(pointer).(map[string]any)
	if !ok {
		d.t.Fatalf("%s is no object", pointer)
	}
	if ref, ok := m["$ref"].(string); ok && len(m) == 1 {
		d.used[ref] = true
		return d.object(strings.TrimPrefix(ref, "#"))
	}
	return m, pointer
}

func token(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1") }

func asObject(v any) map[string]any { m, _ := v.(map[string]any); return m }

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// apiOperation is one method of one path.
type apiOperation struct {
	doc          *apiDoc
	path, method string
	pointer      string
	spec         map[string]any
	params       []map[string]any
}

func (d *apiDoc) operations() []apiOperation {
	var list []apiOperation
	for _, path := range sorted(asObject(d.root["paths"])) {
		item, at := d.object("/paths/" + token(path))
		for _, method := range []string{"get", "post", "delete", "put", "patch", "head"} {
			if item[method] == nil {
				continue
			}
			o := apiOperation{doc: d, path: path, method: method, pointer: at + "/" + method, spec: asObject(item[method])}
			for _, base := range []string{at, o.pointer} {
				holder := asObject(d.at(base))
				list, _ := holder["parameters"].([]any)
				for i := range list {
					if ref, ok := asObject(list[i])["$ref"].(string); ok {
						p, _ := d.object(strings.TrimPrefix(ref, "#"))
						d.used[ref] = true
						o.params = append(o.params, p)
						continue
					}
					o.params = append(o.params, asObject(list[i]))
				}
			}
			list = append(list, o)
		}
	}
	return list
}

// answerCase is an example of an answer.
type answerCase struct {
	status, contentType string
	value               any
}

// answers returns the examples of answers by name.
func (o apiOperation) answers() map[string]answerCase {
	cases := map[string]answerCase{}
	responses := asObject(o.spec["responses"])
	for _, status := range sorted(responses) {
		r, _ := o.doc.object(o.pointer + "/responses/" + status)
		content := asObject(r["content"])
		for _, ct := range sorted(content) {
			for name, e := range asObject(asObject(content[ct])["examples"]) {
				if _, twice := cases[name]; twice {
					o.doc.t.Errorf("%s %s: two answers are named %s", o.method, o.path, name)
				}
				cases[name] = answerCase{status, ct, asObject(e)["value"]}
			}
		}
	}
	return cases
}

// requests returns the examples of bodies by name: type and value.
func (o apiOperation) requests() map[string][2]any {
	cases := map[string][2]any{}
	if o.spec["requestBody"] == nil {
		return cases
	}
	body, _ := o.doc.object(o.pointer + "/requestBody")
	for ct, media := range asObject(body["content"]) {
		for name, e := range asObject(asObject(media)["examples"]) {
			if _, twice := cases[name]; twice {
				o.doc.t.Errorf("%s %s: two requests are named %s", o.method, o.path, name)
			}
			cases[name] = [2]any{ct, asObject(e)["value"]}
		}
	}
	return cases
}

// schema compiles the schema of an answer, nil if there is none for its type.
func (o apiOperation) schema(status int, contentType string) *jsonschema.Schema {
	o.doc.t.Helper()
	responses := asObject(o.spec["responses"])
	if responses[fmt.Sprint(status)] == nil {
		o.doc.t.Errorf("%s %s: the status %d is not described", o.method, o.path, status)
		return nil
	}
	r, at := o.doc.object(o.pointer + "/responses/" + fmt.Sprint(status))
	ct, _, _ := strings.Cut(contentType, ";")
	if asObject(r["content"])[ct] == nil {
		o.doc.t.Errorf("%s %s: the type %s of status %d is not described", o.method, o.path, ct, status)
		return nil
	}
	s, err := o.doc.c.Compile("openapi.json#" + at + "/content/" + token(ct) + "/schema")
	if err != nil {
		o.doc.t.Fatal(err)
	}
	return s
}
