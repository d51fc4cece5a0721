package server_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// The tasks that the examples speak of.
const (
	askedTask = "01a22d7f-0000-7000-8000-00000000000a"
	endedTask = "01a22d7f-0000-7000-8000-00000000000b"
	// hookedTask has a webhook hook-1.
	hookedTask = "01a22d7f-0000-7000-8000-00000000000c"
)

// TestOpenAPI_Examples sends each example to a new server and compares the answer with
// the example of the same name: all of it, but for ids, times and the server's address.
// An operation without examples is called once. Every answer has to fit its schema.
func TestOpenAPI_Examples(t *testing.T) {
	d := readAPI(t)
	for _, o := range d.operations() {
		requests, answers := o.requests(), o.answers()
		names := map[string]bool{}
		for name := range requests {
			names[name] = true
		}
		for name := range answers {
			names[name] = true
		}
		if len(names) == 0 {
			names[""] = true
		}
		for name := range names {
			t.Run(cmp.Or(o.spec["operationId"].(string)+"/"+name, "x"), func(t *testing.T) {
				answer, ok := answers[name]
				if !ok && name != "" {
					t.Fatalf("the request %s has no answer of that name", name)
				}
				if _, ok := requests[name]; !ok && o.spec["requestBody"] != nil {
					t.Fatalf("the answer %s has no request of that name", name)
				}
				o.replay(t, name, requests[name], answer)
			})
		}
	}
}

func (o apiOperation) replay(t *testing.T, name string, request [2]any, answer answerCase) {
	s := servertest.New(t, servertest.Options{Edit: func(c *configs.Config) {
		c.Store.Kind = "memory"
		c.Skills = append(c.Skills, configs.Skill{ID: "interview", Kind: "mock"})
	}})
	path, query := o.path, url.Values{}
	var headers []string
	real := map[string]string{}
	for _, p := range o.params {
		value := asObject(asObject(p["examples"])[name])["value"]
		if value == nil && p["in"] == "path" {
			for _, e := range sorted(asObject(p["examples"])) {
				value = asObject(asObject(p["examples"])[e])["value"] // any
			}
		}
		if value == nil {
			continue
		}
		text := fmt.Sprint(value)
		switch text {
		case askedTask:
			real[text] = taskOf(t, s, "interview", "@ask")
		case endedTask:
			real[text] = taskOf(t, s, "list_workspaces", "")
		case hookedTask:
			real[text] = taskOf(t, s, "interview", "@ask")
			s.Do("POST", "/rest/tasks/"+real[text]+"/pushNotificationConfigs", `{"id":"hook-1","url":"https://hooks.example.com/a2a"}`)
		}
		text = cmp.Or(real[text], text)
		switch p["in"] {
		case "path":
			path = strings.ReplaceAll(path, "{"+p["name"].(string)+"}", url.PathEscape(text))
		case "query":
			query.Set(p["name"].(string), text)
		default:
			headers = append(headers, p["name"].(string)+": "+text)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	body := ""
	if request[0] != nil {
		headers = append(headers, "Content-Type: "+request[0].(string))
		if text, ok := request[1].(string); ok {
			body = text
		} else {
			b, err := json.Marshal(request[1])
			if err != nil {
				t.Fatal(err)
			}
			body = string(b)
		}
	}
	a := s.Do(strings.ToUpper(o.method), path, body, headers...)
	ct := a.Header.Get("Content-Type")
	if schema := o.schema(a.Status, ct); schema != nil && strings.Contains(ct, "json") {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
		if err != nil {
			t.Fatalf("answer %s: %v", a.Body, err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("answer %s: %v", clip(a.Body), err)
		}
	}
	if ct == "text/event-stream" {
		o.checkFrames(t, a)
	}
	if answer.status == "" {
		if a.Status != http.StatusOK {
			t.Errorf("got HTTP %d, want 200", a.Status)
		}
		return
	}
	if fmt.Sprint(a.Status) != answer.status || ct != answer.contentType {
		t.Errorf("got HTTP %d %s, want %s %s", a.Status, ct, answer.status, answer.contentType)
	}
	if diff := gocmp.Diff(decoded(t, a.Body, s.URL), normal(answer.value, "http://127.0.0.1:8080")); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

// checkFrames holds the data of each event against the schema of the stream's content, if
// it has one.
func (o apiOperation) checkFrames(t *testing.T, a servertest.Answer) {
	t.Helper()
	r, at := o.doc.object(o.pointer + "/responses/" + fmt.Sprint(a.Status))
	media := asObject(asObject(r["content"])["text/event-stream"])
	at += "/content/text~1event-stream/schema"
	if asObject(media["schema"])["$ref"] != nil {
		_, at = o.doc.object(at)
	}
	if asObject(o.doc.at(at))["contentSchema"] == nil {
		return
	}
	s, err := o.doc.c.Compile("openapi.json#" + at + "/contentSchema")
	if err != nil {
		t.Fatal(err)
	}
	frames := framesOf(a)
	if len(frames) == 0 {
		t.Error("the stream has no events")
	}
	for _, f := range frames {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Body))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("event %s: %v", clip(f.Body), err)
		}
	}
}

// taskOf makes a task and returns its id.
func taskOf(t *testing.T, s *servertest.Server, skill, text string) string {
	t.Helper()
	return plainID(t, s.Do("POST", "/skills/"+skill, text, asText))
}

// decoded is an answer as an example would have it.
func decoded(t *testing.T, body []byte, base string) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return normal(string(body), base) // a stream
	}
	return normal(doc, base)
}

var (
	anID   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	aTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	number = regexp.MustCompile(`(?m)^id: \d+$`)
)

// normal replaces what differs from run to run.
func normal(v any, base string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			out[name] = normal(x, base)
			if name == "methods" {
				out[name] = "…" // the list grows
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = normal(x, base)
		}
		return out
	case string:
		v = strings.ReplaceAll(v, base, "BASE")
		v = number.ReplaceAllString(anID.ReplaceAllString(aTime.ReplaceAllString(v, "TIME"), "ID"), "id: N")
		return v
	case json.Number:
		return v.String()
	}
	return v
}

// TestOpenAPI_Structure holds the description to the rules of OpenAPI 3.1 that matter
// to its readers.
func TestOpenAPI_Structure(t *testing.T) {
	d := readAPI(t)
	if v, _ := d.root["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("got version %q, want 3.1", v)
	}
	ids := map[any]bool{}
	for _, o := range d.operations() {
		what := o.method + " " + o.path
		id := o.spec["operationId"]
		if id == nil || ids[id] || o.spec["summary"] == nil || o.spec["tags"] == nil {
			t.Errorf("%s: got id %v, summary %v; want one of its own", what, id, o.spec["summary"])
		}
		ids[id] = true
		inPath := map[string]bool{}
		seen := map[string]bool{}
		for _, p := range o.params {
			key := fmt.Sprint(p["in"], " ", p["name"])
			if seen[key] || p["schema"] == nil || !slices.Contains([]any{"path", "query", "header"}, p["in"]) {
				t.Errorf("%s: parameter %s is there twice or incomplete", what, key)
			}
			seen[key] = true
			if p["in"] == "path" {
				inPath["{"+p["name"].(string)+"}"] = true
				if p["required"] != true {
					t.Errorf("%s: parameter %s must be required", what, key)
				}
			}
		}
		for _, name := range regexp.MustCompile(`\{[^}]*\}`).FindAllString(o.path, -1) {
			if !inPath[name] {
				t.Errorf("%s: no parameter %s", what, name)
			}
			delete(inPath, name)
		}
		if len(inPath) > 0 {
			t.Errorf("%s: parameters %v are not in the path", what, inPath)
		}
		responses := asObject(o.spec["responses"])
		for _, status := range sorted(responses) {
			r, _ := d.object(o.pointer + "/responses/" + status)
			if r["description"] == nil || !regexp.MustCompile(`^[1-5][0-9][0-9]$`).MatchString(status) {
				t.Errorf("%s: answer %s has no description", what, status)
			}
		}
	}
	// Every reference leads somewhere, and every component is referred to.
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				d.at(strings.TrimPrefix(ref, "#"))
				d.used[ref] = true
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(d.root)
	for _, kind := range sorted(asObject(d.root["components"])) {
		for _, name := range sorted(asObject(asObject(d.root["components"])[kind])) {
			ref := "#/components/" + kind + "/" + name
			if kind != "securitySchemes" && !d.used[ref] {
				t.Errorf("nothing refers to %s", ref)
			}
			if kind == "schemas" {
				if _, err := d.c.Compile("openapi.json" + ref); err != nil {
					t.Errorf("%s: %v", ref, err)
				}
			}
		}
	}
}

// TestOpenAPI_Rest: every operation of REST is described, with the HTTP method that clients
// use for it.
func TestOpenAPI_Rest(t *testing.T) {
	paths := asObject(readAPI(t).root["paths"])
	for _, l := range tongues {
		if l.binding != rest {
			continue
		}
		for op := range methods[shapeV1] {
			verb, path, _ := l.request(op, ask{task: "{task}", config: "{config}"})
			path, err := url.PathUnescape(path)
			if err != nil {
				t.Fatal(err)
			}
			if asObject(paths[path])[strings.ToLower(verb)] == nil {
				t.Errorf("%s: %s %s is not described", l.name, verb, path)
			}
		}
	}
}

// TestOpenAPI_Served: what is served is the file. With -update the file is packed.
func TestOpenAPI_Served(t *testing.T) {
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		pack(t, "openapi.json.gz", want)
	}
	c := probe(t)
	a := c.Do("GET", "/openapi.json", "")
	if a.Status != 200 || !bytes.Equal(a.Body, want) || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got HTTP %d %s with %d bytes, want the file, packed by go test -run OpenAPI -update", a.Status, a.Header.Get("Content-Type"), len(a.Body))
	}
	if a := c.Do("GET", "/openapi.json", "", "If-None-Match: "+a.Header.Get("ETag")); a.Status != http.StatusNotModified {
		t.Errorf("got HTTP %d, want 304", a.Status)
	}
}

func pack(t *testing.T, name string, body []byte) {
	t.Helper()
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
