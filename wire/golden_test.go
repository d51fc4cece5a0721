package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/skillyard/skillyard/a2a"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// transcript is one golden file: a request, what it means, a result of the
// engine, and the answer.
//
//	-- request --   optional "A2A-Version: x" line, then the body as it was sent
//	-- result --    optional stored form of the *a2a.SendResult, *a2a.Task,
//	                *a2a.ListResult or *a2a.Error; without it a send is answered
//	                by echo, a get by "unknown task", and what is about push
//	                configs by one that has everything
//	-- decoded --   written by -update
//	-- response --  written by -update, indented
type transcript struct {
	path    string
	archive *txtar.Archive
	version string
	body    []byte
	result  []byte

	dialect  *Dialect
	op       a2a.Op
	decoded  string
	response []byte
}

func transcripts(t testing.TB, pattern string) []*transcript {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts in %s: %v", pattern, err)
	}
	var list []*transcript
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		x := &transcript{path: path, archive: ar}
		for _, f := range ar.Files {
			switch f.Name {
			case "request":
				x.body = bytes.TrimSuffix(f.Data, []byte("\n"))
				if v, rest, ok := bytes.Cut(x.body, []byte("\n")); ok && bytes.HasPrefix(v, []byte("A2A-Version: ")) {
					x.version, x.body = string(v[len("A2A-Version: "):]), rest
				}
			case "result":
				x.result = f.Data
			}
		}
		x.run(t)
		list = append(list, x)
	}
	return list
}

// run sends the request through the package as a binding does.
func (x *transcript) run(t testing.TB) {
	t.Helper()
	dialects := New(Options{})
	fail := func(id []byte, d *Dialect, e *a2a.Error) {
		x.decoded = "error " + string(e.Code) + ": " + e.Message + "\n"
		x.response = AppendErrorResponse(nil, id, d, e)
	}
	env, e := ParseEnvelope(x.body, Limits{})
	if e != nil {
		fail(env.ID, nil, e)
		return
	}
	d, m, e := dialects.Detect(env.Method, x.version)
	x.dialect, x.op = d, m.Op
	if e != nil {
		fail(env.ID, d, e)
		return
	}
	req, err := m.Decode(env.Params, Limits{})
	if err != nil {
		fail(env.ID, d, a2a.AsError(err))
		return
	}
	x.decoded = string(m.Op) + " " + stored(t, req)
	res, view, e := x.answer(t, req)
	switch {
	case e != nil && e.Code == a2a.CodeTaskNotFound && m.NotFound != nil:
		id := req.(*a2a.GetRequest).ID
		x.response = AppendResult(nil, env.ID, func(b []byte) []byte { return m.NotFound(b, id) })
	case e != nil:
		x.response = AppendErrorResponse(nil, env.ID, d, e)
	default:
		x.response = AppendResult(nil, env.ID, func(b []byte) []byte { return m.Append(b, res, view) })
	}
}

// answer plays the engine.
func (x *transcript) answer(t testing.TB, req any) (res any, view a2a.View, e *a2a.Error) {
	t.Helper()
	var failure struct{ Error *a2a.Error }
	load := func(into any) {
		if err := json.Unmarshal(x.result, into); err != nil {
			t.Fatalf("%s: result: %v", x.path, err)
		}
	}
	if x.result != nil {
		if load(&failure); failure.Error != nil {
			return nil, view, failure.Error
		}
	}
	switch req := req.(type) {
	case *a2a.SendRequest:
		if x.op == a2a.OpStream {
			return nil, view, &a2a.Error{Code: a2a.CodeUnsupportedOperation}
		}
		out := &a2a.SendResult{Task: echo(req)}
		if x.result != nil {
			out = &a2a.SendResult{}
			load(out)
		}
		return out, req.View, nil
	case *a2a.GetRequest:
		if x.result == nil {
			return nil, view, a2a.TaskNotFound(req.ID)
		}
		task := &a2a.Task{}
		load(task)
		return task, req.View, nil
	case *a2a.CancelRequest:
		if x.result == nil {
			return nil, view, a2a.TaskNotFound(req.ID)
		}
		task := &a2a.Task{}
		load(task)
		return task, view, nil
	case *a2a.ListRequest:
		list := &a2a.ListResult{PageSize: 50}
		if x.result != nil {
			load(list)
		}
		return list, req.View, nil
	}
	push := req.(*a2a.PushRequest)
	c := push.Config
	switch x.op {
	case a2a.OpSetPush:
		if c.ID == "" {
			c.ID = "p-1"
		}
		return &c, view, nil
	case a2a.OpDeletePush:
		return nil, view, nil
	}
	c = a2a.PushConfig{ID: "p-1", TaskID: push.TaskID, URL: "https://h", Token: "secret-token", Scheme: "Bearer", Credentials: "secret-word", Dialect: NameV1, CreatedAt: at}
	if x.op == a2a.OpListPush {
		return []a2a.PushConfig{c, {ID: "p-2", TaskID: push.TaskID, URL: "https://g"}}, view, nil
	}
	return &c, view, nil
}

// at is a fixed time of the tests.
var at = time.Date(2026, 11, 30, 13, 0, 0, 7_000_000, time.UTC)

// echo is a completed task whose artifact has the parts of the message.
func echo(req *a2a.SendRequest) *a2a.Task {
	t := &a2a.Task{
		ID: "t-1", ContextID: "c-1", Skill: "echo", SkillSource: "default",
		Status:    a2a.Status{State: a2a.StateCompleted, At: at.Add(time.Second)},
		History:   []a2a.Message{req.Message},
		Artifacts: []a2a.Artifact{{ID: "a-1", Name: "echo", Parts: req.Message.Parts}},
		CreatedAt: at, UpdatedAt: at.Add(time.Second), Seq: 3,
	}
	if req.NewTaskID != "" {
		t.ID = req.NewTaskID
	}
	if req.ContextID != "" {
		t.ContextID = req.ContextID
	}
	if len(req.Skills) > 0 {
		t.SkillSource = req.Skills[0].Source
	}
	if !req.Blocking {
		t.Status.State, t.Artifacts, t.Seq = a2a.StateSubmitted, nil, 1
	}
	return t
}

// zero is a member of a request at its zero value.
var zero = regexp.MustCompile(`(?m)^  "\w+": (""|null|0|false),?\n`)

// stored is v as indented JSON with Go's member names, zero values left out.
func stored(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return zero.ReplaceAllString(b.String(), "")
}

func indented(t *testing.T, raw []byte) string {
	t.Helper()
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatalf("answer is not JSON: %v\n%s", err, raw)
	}
	return string(v) + "\n"
}

// TestTranscripts compares every request of testdata with its meaning and its
// answer. Run with -update after a wanted change.
func TestTranscripts(t *testing.T) {
	for _, x := range transcripts(t, "*") {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(x.path, "testdata/"), ".txtar"), func(t *testing.T) {
			if bytes.ContainsAny(x.response, "\r\n") {
				t.Errorf("answer has line breaks: %q", x.response)
			}
			got := map[string]string{"decoded": x.decoded, "response": indented(t, x.response)}
			ar := &txtar.Archive{Comment: x.archive.Comment}
			want := map[string]string{}
			for _, f := range x.archive.Files {
				if _, made := got[f.Name]; made {
					want[f.Name] = string(f.Data)
				} else {
					ar.Files = append(ar.Files, f)
				}
			}
			if *update {
				for _, name := range []string{"decoded", "response"} {
					ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(x.path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("transcript differs (-want +got):\n%s", d)
			}
		})
	}
}
