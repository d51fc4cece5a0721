package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The two callers of the probe configuration.
const (
	alice = "Authorization: Bearer alice-token"
	bob   = "Authorization: Bearer bob-token"
	v10   = "A2A-Version: 1.0"
)

// probeYAML is the example configuration with the probe skill.
func probeYAML(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "configs", "examples", "probe.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// probe starts a server with the probe skill and, since most tests need no disk,
// tasks in memory.
func probe(t testing.TB, edits ...func(*configs.Config)) *client {
	t.Helper()
	return &client{t: t, Server: servertest.New(t, servertest.Options{YAML: probeYAML(t), Edit: func(c *configs.Config) {
		c.Store.Kind = "memory"
		for _, edit := range edits {
			edit(c)
		}
	}})}
}

// plain starts a server with the default configuration, which has the demo boards.
func plain(t testing.TB, edits ...func(*configs.Config)) *servertest.Server {
	t.Helper()
	return servertest.New(t, servertest.Options{Edit: func(c *configs.Config) {
		c.Store.Kind = "memory"
		for _, edit := range edits {
			edit(c)
		}
	}})
}

// skill returns the configuration of a skill, to change it.
func skill(t testing.TB, c *configs.Config, id string) *configs.Skill {
	t.Helper()
	for i := range c.Skills {
		if c.Skills[i].ID == id {
			return &c.Skills[i]
		}
	}
	t.Fatalf("configuration has no skill %s", id)
	return nil
}

// client speaks to a server as a caller of 1.0 and 0.3; every answer of it is held
// against the official types, or against a strict 0.3 client.
type client struct {
	*servertest.Server
	t testing.TB
}

// v1 calls a 1.0 method as alice, or as the caller of the headers.
func (c *client) v1(method, params string, headers ...string) servertest.Answer {
	c.t.Helper()
	a := c.RPC(call(method, params), append([]string{alice, v10}, headers...)...)
	checkV1(c.t, method, a.Body)
	return a
}

// v03 calls a 0.3 method as alice, or as the caller of the headers.
func (c *client) v03(method, params string, headers ...string) servertest.Answer {
	c.t.Helper()
	a := c.RPC(call(method, params), append([]string{alice}, headers...)...)
	checkV03(c.t, a.Body)
	return a
}

// send sends a text by SendMessage. extra are members of the message and
// configuration those of the configuration, as JSON objects or "".
func (c *client) send(text, extra, configuration string, headers ...string) servertest.Answer {
	c.t.Helper()
	return c.v1("SendMessage", message(text, extra, configuration), headers...)
}

// bg sends a text without waiting and returns the task's id.
func (c *client) bg(text string, headers ...string) string {
	c.t.Helper()
	a := c.send(text, "", `{"returnImmediately":true}`, headers...)
	want(c.t, a, one("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), "result", "task", "status", "state")
	return taskID(a)
}

// done sends a text and returns the id of its task, which has ended or paused.
func (c *client) done(text, extra string, headers ...string) string {
	c.t.Helper()
	return taskID(c.send(text, extra, "", headers...))
}

func (c *client) get(id string, headers ...string) servertest.Answer {
	c.t.Helper()
	return c.v1("GetTask", params("id", id), headers...)
}

func (c *client) cancel(id string, headers ...string) servertest.Answer {
	c.t.Helper()
	return c.v1("CancelTask", params("id", id), headers...)
}

// until gets the task until it is in the state, for at most ten seconds.
func (c *client) until(id, state string) servertest.Answer {
	c.t.Helper()
	var a servertest.Answer
	eventually(c.t, "task "+id+" is "+state, func() bool {
		a = c.get(id)
		return a.Get("result", "status", "state") == state
	})
	return a
}

// eventually polls until ok, and fails the test after ten seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}

// call is the body of a JSON-RPC request with id 1.
func call(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// message is the params of SendMessage.
func message(text, extra, configuration string) string {
	m := merge(`{"messageId":"`+uuid.NewString()+`","role":"ROLE_USER","parts":[{"text":`+quote(text)+`}]}`, extra)
	if configuration != "" {
		m += `,"configuration":` + configuration
	}
	return `{"message":` + m + `}`
}

// message03 is the params of message/send with the given parts.
func message03(parts, extra, configuration string) string {
	m := merge(`{"kind":"message","messageId":"`+uuid.NewString()+`","role":"user","parts":[`+parts+`]}`, extra)
	if configuration != "" {
		m += `,"configuration":` + configuration
	}
	return `{"message":` + m + `}`
}

func text03(text string) string { return `{"kind":"text","text":` + quote(text) + `}` }

// merge puts the members of the object extra at the end of the object o.
func merge(o, extra string) string {
	if extra = strings.TrimSpace(extra); extra == "" || extra == "{}" {
		return o
	}
	return strings.TrimSuffix(o, "}") + "," + strings.TrimPrefix(extra, "{")
}

// params is an object with the members name, value, name, value …
func params(members ...any) string {
	var b strings.Builder
	for i := 0; i < len(members); i += 2 {
		v, err := json.Marshal(members[i+1])
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, ",%q:%s", members[i], v)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// taskID is the id of the task in an answer of any dialect.
func taskID(a servertest.Answer) string {
	for _, path := range [][]any{{"result", "task", "id"}, {"result", "id"}, {"task", "id"}} {
		if id, ok := a.Get(path...).(string); ok {
			return id
		}
	}
	return ""
}

// anyOf is one of several wanted values.
type anyOf []any

func one(values ...any) anyOf { return values }

// want checks one value of an answer; nil means that it is absent. Numbers are
// compared by their text.
func want(t testing.TB, a servertest.Answer, wanted any, path ...any) {
	t.Helper()
	got := a.Get(path...)
	if n, ok := got.(json.Number); ok {
		got = n.String()
	}
	same := func(w any) bool {
		if i, ok := w.(int); ok {
			w = fmt.Sprint(i)
		}
		return got == w
	}
	if list, ok := wanted.(anyOf); ok {
		for _, w := range list {
			if same(w) {
				return
			}
		}
	} else if same(wanted) {
		return
	}
	t.Errorf("%v: got %v, want %v\n%s", path, got, wanted, clip(a.Body))
}

// wantCode checks that the answer is a JSON-RPC error with one of the codes, in an
// HTTP answer of status 200.
func wantCode(t testing.TB, a servertest.Answer, codes ...any) {
	t.Helper()
	if a.Status != 200 {
		t.Errorf("got HTTP %d, want 200: %s", a.Status, clip(a.Body))
	}
	want(t, a, one(codes...), "error", "code")
	want(t, a, nil, "result")
}

func wantState(t testing.TB, a servertest.Answer, state string) {
	t.Helper()
	if a.Get("result", "task") != nil {
		want(t, a, state, "result", "task", "status", "state")
		return
	}
	want(t, a, state, "result", "status", "state")
}

// texts joins the text parts of a value that has parts.
func texts(v any) string {
	m, _ := v.(map[string]any)
	parts, _ := m["parts"].([]any)
	var b strings.Builder
	for _, p := range parts {
		p, _ := p.(map[string]any)
		s, _ := p["text"].(string)
		b.WriteString(s)
	}
	return b.String()
}

func clip(b []byte) string {
	const most = 600
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

// logBuffer collects a server's log.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines returns the lines with the message, decoded.
func (l *logBuffer) lines(t testing.TB, msg string) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("log line is not JSON: %v\n%s", err, line)
		}
		if m["message"] == msg {
			lines = append(lines, m)
		}
	}
	return lines
}

// timestamp is a time as every dialect shows it: RFC 3339, UTC, milliseconds.
var timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func withExtendedCard(c *configs.Config) { c.Card.Extended = true }

// pruning keeps ended tasks for a moment only.
func pruning(c *configs.Config) {
	c.Store.Retention, c.Store.PruneEvery = 200*time.Millisecond, 20*time.Millisecond
}
