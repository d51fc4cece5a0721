package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/skillyard/skillyard/client/clienttest"
	"github.com/skillyard/skillyard/server/servertest"
)

// user is somebody with a home directory, who runs the commands of the async client in
// this process.
type user struct {
	t   *testing.T
	env map[string]string
}

// newUser returns a user who means the agent at a URL, "" for none.
func newUser(t *testing.T, agent string) *user {
	return &user{t: t, env: map[string]string{"HOME": t.TempDir(), "A2A_SERVER": agent}}
}

// told is how a command ended.
type told struct {
	code     int
	out, err string
}

func (u *user) run(args ...string) told { return u.with("", args...) }

// with runs a command with a standard input.
func (u *user) with(in string, args ...string) told {
	var out, errOut bytes.Buffer
	var environ []string
	for name, value := range u.env {
		environ = append(environ, name+"="+value)
	}
	code := run(args, environ, strings.NewReader(in), &out, &errOut)
	return told{code, out.String(), errOut.String()}
}

// do runs a command that has to end with a code, and returns its output.
func (u *user) do(code int, args ...string) told {
	u.t.Helper()
	got := u.run(args...)
	if got.code != code {
		u.t.Fatalf("skillyard %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got.code, code, got.out, got.err)
	}
	return got
}

// send sends without waiting and returns the id of the task.
func (u *user) send(args ...string) string {
	u.t.Helper()
	return strings.TrimSuffix(u.do(0, append([]string{"send"}, args...)...).out, "\n")
}

// rows are the entries that pending or history print.
// working sends work and waits until the agent is at it, by the list, which is no poll.
func (u *user) working(text string) string {
	id := u.send(text)
	until(u.t, "the task is at work", func() bool { return strings.Contains(u.do(0, "list", "--status", "working", "-o", "json").out, id) })
	return id
}

func (u *user) rows(args ...string) []map[string]any {
	u.t.Helper()
	var rows []map[string]any
	got := u.do(0, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(got.out), &rows); err != nil {
		u.t.Fatalf("%v in %s", err, got.out)
	}
	return rows
}

// state is the state of the one entry that pending or history print.
func (u *user) state(args ...string) any {
	u.t.Helper()
	rows := u.rows(args...)
	if len(rows) != 1 {
		u.t.Fatalf("%v: got %d entries, want 1: %v", args, len(rows), rows)
	}
	return rows[0]["state"]
}

func (g told) want(t *testing.T, code int, out string, errs ...string) {
	t.Helper()
	if g.code != code || g.out != out {
		t.Errorf("got exit code %d and %q, want %d and %q\n%s", g.code, g.out, code, out, g.err)
	}
	for _, text := range errs {
		if !strings.Contains(g.err, text) {
			t.Errorf("got %q, want %q in it", g.err, text)
		}
	}
}

// probe starts a server with the skill that obeys its messages, and returns alice, who
// uses it.
func probe(t *testing.T) (*servertest.Server, *user) {
	t.Helper()
	yaml, err := os.ReadFile(filepath.Join("..", "..", "configs", "examples", "probe.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.New(t, servertest.Options{YAML: string(yaml)})
	u := newUser(t, s.URL)
	u.env["A2A_TOKEN"] = "alice-token"
	return s, u
}

// eachDialect runs a test with alice in every dialect.
func eachDialect(t *testing.T, f func(t *testing.T, u *user, dialect string)) {
	s, alice := probe(t)
	for _, d := range []string{"1.0", "0.3", "rest", "rest-0.3", "emm"} {
		t.Run(d, func(t *testing.T) {
			u := newUser(t, s.URL)
			maps.Copy(u.env, alice.env)
			u.env["HOME"] = t.TempDir()
			if d == "emm" {
				u.env["A2A_SERVER"] += "/api/a2a/tasks"
			}
			f(t, u, d)
		})
	}
}

func TestRemote_every_command_in_every_dialect(t *testing.T) {
	eachDialect(t, func(t *testing.T, u *user, d string) {
		u.do(0, "send", "--dialect", d, "--wait", "@echo hello").want(t, 0, "hello\n")
		u.do(0, "send", "--dialect", d, "--stream", "@chunks 3 1").want(t, 0, "chunk-1 chunk-2 chunk-3 \n")
		u.do(3, "send", "--dialect", d, "--wait", "@fail").want(t, 3, map[bool]string{true: emmFailure}[d == "emm"], "the probe failed, as it was told to")

		id := u.send("--dialect", d, "@hang")
		u.do(8, "poll", id[:12]).want(t, 8, "", "task "+id+": ", "poll "+id)
		if got := u.state("pending"); got != "submitted" && got != "working" {
			t.Errorf("got %v", got)
		}
		u.do(0, "cancel", id).want(t, 0, "", "is canceled")
		u.do(5, "poll", id)
		u.do(1, "cancel", id).want(t, 1, "", "has ended: canceled")
		u.do(0, "pending").want(t, 0, "TASK  AGENT  STATE  AGE  POLLS  LAST POLL  PROMPT  REMARK\n", "nothing is pending")

		id = u.send("--dialect", d, "@ask")
		got := u.do(4, "poll", "--wait", "--interval", "20ms")
		got.want(t, 4, "What is your favourite colour?\n", "reply "+id+" TEXT")
		u.do(0, "reply", id, "--wait", "deep", "blue").want(t, 0, "deep blue\n")
		u.do(1, "reply", id, "red").want(t, 1, "", "has ended: completed")
		u.do(0, "history", id).want(t, 0, "deep blue\n")
		u.do(0, "get", id)

		id = u.send("--dialect", d, "@sleep 0.1")
		watched := u.do(0, "watch")
		if lines := strings.Split(watched.out, "\n"); !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, id+"\tcompleted\t") }) {
			t.Errorf("got %q, want a line that says completed", watched.out)
		}
		u.do(0, "history", id).want(t, 0, "slept\n")

		if d == "1.0" || d == "rest" {
			if rows := u.rows("list", "--dialect", d, "--limit", "2"); len(rows) != 2 {
				t.Errorf("list: got %v", rows)
			}
			return
		}
		u.do(1, "list", "--dialect", d).want(t, 1, "", "no such operation", "skillyard pending")
	})
}

// emmFailure is how EMM says a failure: as the text and the data of an artifact.
const emmFailure = "the probe failed, as it was told to\n{\"code\":\"skill_failed\",\"message\":\"the probe failed, as it was told to\"}\n"

// TestRemote_same_id_twice: two agents may name their tasks alike.
func TestRemote_same_id_twice(t *testing.T) {
	agent := func(text string) *Agent {
		return New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": JSON(Task("COMPLETED", text))}))
	}
	one, two := agent("of one"), agent("of two")
	u := newUser(t, "")
	u.do(0, "send", "--agent", one.URL, "x")
	u.do(0, "send", "--agent", two.URL, "y")
	refs := u.rows("pending")
	got := u.do(2, "poll", "t1")
	got.want(t, 2, "", refs[0]["ref"].(string), refs[1]["ref"].(string), "--agent")
	u.do(0, "poll", "--agent", one.URL, "t1").want(t, 0, "of one\n")
	u.do(0, "poll", "t1").want(t, 0, "of two\n")
	u.do(0, "history", refs[0]["ref"].(string)).want(t, 0, "of two\n")
}
