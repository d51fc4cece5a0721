package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

func TestPlainObject(t *testing.T) {
	for body, want := range map[string][2]bool{
		`{}`: {true, false}, ` {"a":1}` + "\n": {true, false}, `{"method":"x"}`: {true, false}, `{"params":1}`: {true, false},
		`{"a":{"jsonrpc":"2.0"}}`: {true, false}, `{"jsonrpc":"2.0"}`: {true, true}, `{"jsonrpc":null}`: {true, true},
		`{"method":"x","params":{}}`: {true, true}, `{"\u006asonrpc":1}`: {true, true},
		``: {}, `[]`: {}, `"x"`: {}, `5`: {}, `{`: {}, `{}{}`: {}, `{"a":1,}`: {}, "{\"a\":\"\xff\"}": {},
	} {
		if object, rpc := PlainObject([]byte(body)); [2]bool{object, rpc} != want {
			t.Errorf("%s: got object %v, rpc %v; want %v", body, object, rpc, want)
		}
	}
}

func TestPlainMessage(t *testing.T) {
	m, err := PlainMessage([]byte("  hello\n"), false, Limits{})
	if err != nil || len(m.Parts) != 1 || m.Parts[0].Text != "  hello\n" || m.Role != a2a.RoleUser {
		t.Errorf("got %+v, %v; want the text as it is", m, err)
	}
	m, err = PlainMessage([]byte(" { \"n\" : 1.50 } "), true, Limits{})
	if err != nil || len(m.Parts) != 1 || string(m.Parts[0].Data) != `{"n":1.50}` {
		t.Errorf("got %+v, %v; want compact data", m, err)
	}
	for _, bad := range []struct {
		body   string
		object bool
	}{{"\xff", false}, {`{"a":[[[[]]]]}`, true}} {
		_, err := PlainMessage([]byte(bad.body), bad.object, Limits{MaxDepth: 4})
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams {
			t.Errorf("%q: got %v, want invalid_params", bad.body, err)
		}
	}
}

func TestPlain_Task(t *testing.T) {
	at := time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC)
	artifact := func(parts ...a2a.Part) []a2a.Artifact { return []a2a.Artifact{{ID: "r", Name: "result", Parts: parts}} }
	said := func(s a2a.State, text string) a2a.Status {
		return a2a.Status{State: s, Message: a2a.AgentText("m", text), At: at}
	}
	data := a2a.DataPart(json.RawMessage(`{"n":1}`))
	for _, c := range []struct {
		name         string
		task         a2a.Task
		text, answer string
		links        string
		next         int
	}{
		{"text", a2a.Task{Status: said(a2a.StateCompleted, "done"), Artifacts: artifact(a2a.TextPart("hello"), data)}, "hello", "hello", "self", 0},
		{"data alone", a2a.Task{Status: a2a.Status{State: a2a.StateCompleted}, Artifacts: artifact(data)}, "", `{"n":1}`, "self", 0},
		{"a link", a2a.Task{Status: a2a.Status{State: a2a.StateCompleted}, Artifacts: artifact(a2a.Part{Kind: a2a.PartURL, URL: "https://x.example"})}, "", "https://x.example", "self", 0},
		{"words alone", a2a.Task{Status: said(a2a.StateCompleted, "done")}, "done", "done", "self", 0},
		{"nothing", a2a.Task{Status: a2a.Status{State: a2a.StateCanceled}}, "", "The task is canceled.", "self", 0},
		{"at work, with some output", a2a.Task{Status: said(a2a.StateWorking, "reading"), Artifacts: artifact(a2a.TextPart("half"))}, "reading", "reading", "self wait stream cancel", 3},
		{"a question", a2a.Task{Status: said(a2a.StateInputRequired, "which?")}, "which?", "which?", "self answer wait stream cancel", 2},
		{"a failure", a2a.Task{Status: said(a2a.StateFailed, "no")}, "no", "no", "self", 0},
		{"data that does not fit", a2a.Task{Skill: "s", Status: a2a.Status{State: a2a.StateFailed, Code: a2a.CodeInvalidInput, Message: a2a.AgentText("m", "/n: bad")}}, "/n: bad", "/n: bad", "self", 1},
	} {
		c.task.ID = "t 1'"
		p := Plain{Base: "http://h"}
		if got := p.Text(&c.task); got != c.text {
			t.Errorf("%s: got text %q, want %q", c.name, got, c.text)
		}
		if got := p.Answer(&c.task); got != c.answer {
			t.Errorf("%s: got answer %q, want %q", c.name, got, c.answer)
		}
		var shown struct {
			ID, Status, Text string
			Links            map[string]string
			Next             []string
		}
		b := p.Task(nil, &c.task)
		if err := json.Unmarshal(b, &shown); err != nil {
			t.Fatalf("%s: %s: %v", c.name, b, err)
		}
		if shown.ID != "t 1'" || shown.Status != string(c.task.Status.State) || shown.Text != c.text {
			t.Errorf("%s: got %s", c.name, b)
		}
		want := map[string]string{}
		for name := range strings.FieldsSeq(c.links) {
			want[name] = "http://h/tasks/t%201%27" + map[string]string{"wait": "?wait=30s", "stream": "/stream"}[name]
		}
		if diff := cmp.Diff(shown.Links, want); diff != "" {
			t.Errorf("%s: links, got - want +:\n%s", c.name, diff)
		}
		if len(shown.Next) != c.next {
			t.Errorf("%s: got %v to do next, want %d commands", c.name, shown.Next, c.next)
		}
		for _, line := range shown.Next {
			if strings.Count(line, "'")%2 != 0 || !strings.HasPrefix(line, "curl ") {
				t.Errorf("%s: got command %s", c.name, line)
			}
		}
	}
}

func TestPlain_Run(t *testing.T) {
	if got, want := (Plain{Base: "http://h", Key: true}).Run("s", "it's"), `curl -d 'it'\''s' -H "X-API-Key: $API_KEY" 'http://h/skills/s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// To curl -d this is a file's name.
	if got, want := (Plain{Base: "http://h"}).Run("s", "@ask"), `curl --data-raw '@ask' 'http://h/skills/s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzPlainObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"jsonrpc":"2.0"}`, `{"a":[{"b":"\""}]}`, `{`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		object, rpc := PlainObject(body)
		if rpc && !object {
			t.Error("a request that is no object")
		}
		if !object {
			return
		}
		m, err := PlainMessage(body, true, Limits{})
		if err == nil && !json.Valid(m.Parts[0].Data) {
			t.Errorf("got data %s, want it valid", m.Parts[0].Data)
		}
	})
}
