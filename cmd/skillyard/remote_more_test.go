package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/skillyard/skillyard/client/clienttest"
	"github.com/skillyard/skillyard/server/servertest"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSend_parts_keep_their_order(t *testing.T) {
	_, u := probe(t)
	dir := t.TempDir()
	bin := write(t, dir, "a b.unheard", "\x00\x01\x02\x03")
	obj := write(t, dir, "o.json", "{\n  \"n\": 9007199254740993\n}")
	got := u.do(0, "send", "--wait", "@data", "--file", bin, "--text", "one", "--json", "@"+obj, "--url", "https://example.com/x/y.txt?z=1", "--text", "two")
	got.want(t, 0, "[file a b.unheard application/octet-stream, 4 bytes]\none\n{\"n\":9007199254740993}\n[file y.txt text/plain at https://example.com/x/y.txt?z=1]\ntwo\n")

	if got := u.with("from\na pipe", "send", "--wait", "-"); got.out != "from\na pipe\n" {
		t.Errorf("got %+v", got)
	}
	if got := u.with(`{"x": [1]}`, "send", "--wait", "@data", "--json", "-"); got.out != "{\"x\":[1]}\n" {
		t.Errorf("got %+v", got)
	}
	if got := u.with("\x00\x01", "send", "--wait", "@data", "--file", "-"); got.out != "[file application/octet-stream, 2 bytes]\n" {
		t.Errorf("got %+v", got)
	}
	if got := u.with("\xff\xfe", "send", "-"); got.code != 2 || !strings.Contains(got.err, "--file -") {
		t.Errorf("got %+v", got)
	}
}

func TestSend_metadata_reference_context(t *testing.T) {
	a := New(t, JSON(`{"task":`+Task("WORKING", "")+`}`))
	u := newUser(t, a.URL)
	u.do(0, "send", "--context", "c9", "--reference", "r1", "--reference", "r2", "--metadata", "who=me=you", "--metadata", `{"n":1}`, "--skill", "s", "--key", "k1",
		"--header", "X-Team: blue", "hi")
	r := a.Requests()[0]
	for _, want := range []string{`"contextId":"c9"`, `"referenceTaskIds":["r1","r2"]`, `"who":"me=you"`, `"n":1`, `"skillId":"s"`, `"returnImmediately":true`} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("no %s in %s", want, r.Body)
		}
	}
	if r.Header.Get("Idempotency-Key") != "k1" || r.Header.Get("X-Team") != "blue" || !strings.HasPrefix(r.Header.Get("User-Agent"), "Skillyard/") {
		t.Errorf("got headers %v", r.Header)
	}
	if got := u.rows("pending")[0]["context_id"]; got != "c1" {
		t.Errorf("got context %v, want that of the agent", got)
	}
}

func TestRemote_usage(t *testing.T) {
	u := newUser(t, "")
	for _, c := range []struct {
		args string
		want string
	}{
		{"send hi", "no agent is named"},
		{"send --agent nobody hi", `there is no agent "nobody"`},
		{"send --agent ftp://x hi", "must be http or https"},
		{"send --agent http://user:secret@x hi", "must not hold a user or password"},
		{"send --agent http://127.0.0.1:1", "there is nothing to send"},
		{"send --agent http://127.0.0.1:1 --json {", "--json is no JSON"},
		{"send --agent http://127.0.0.1:1 --file nowhere", "nowhere"},
		{"send --agent http://127.0.0.1:1 --wait --stream hi", "none of the others can be"},
		{"send --agent http://127.0.0.1:1 --token a --token-file b hi", "none of the others can be"},
		{"send --agent http://127.0.0.1:1 --metadata x hi", "--metadata must be"},
		{"send --agent http://127.0.0.1:1 --header x hi", "--header must be"},
		{"send --agent http://127.0.0.1:1 --dialect 2.0 hi", "must be one of 1.0"},
		{"poll --all x", "takes no id"},
		{"get", "the id of the task is missing"},
		{"cancel a b", "accepts at most 1 arg"},
		{"reply", "skillyard pending"},
		{"history --prune soon", "30d"},
		{"list --limit 0 --agent http://127.0.0.1:1", "--limit"},
	} {
		got := u.run(strings.Fields(c.args)...)
		if got.code != 2 || got.out != "" || !strings.Contains(got.err, c.want) || strings.Contains(got.err, "secret") {
			t.Errorf("%s: got %+v, want exit code 2 and %q", c.args, got, c.want)
		}
	}
	// An empty variable, or a pipe from what failed, is no message.
	for _, args := range [][]string{{"send", ""}, {"send", " ", "--text", "\n"}, {"send", "-"}, {"reply", "t1", "-"}} {
		u.do(2, append(args, "--agent", "http://127.0.0.1:1")...).want(t, 2, "", "the message is empty")
	}
	u.do(1, "send", "--agent", "http://127.0.0.1:1", "hi").want(t, 1, "", "connection refused", "is the agent running", "nothing was sent")
	u.do(1, "poll").want(t, 1, "", "no task is pending")
	u.do(1, "poll", "nothing").want(t, 1, "", "nothing is pending here")
	if rows := u.rows("history"); len(rows) != 0 {
		t.Errorf("got %v, want no trace of what never was", rows)
	}
	delete(u.env, "HOME")
	u.do(2, "pending").want(t, 2, "", "HOME is not set", "--state")
}

func TestRemote_credentials(t *testing.T) {
	yaml := "default_skill: probe\nskills: [{id: probe, kind: mock}]\nauth: {keys: [{name: alice, key: alice-token}]}"
	s := servertest.New(t, servertest.Options{YAML: yaml})
	u := newUser(t, s.URL)
	u.do(7, "send", "x").want(t, 7, "", "A2A_TOKEN")
	if got := u.state("history"); got != "not-sent" {
		t.Errorf("got %v", got)
	}
	u.do(7, "send", "--token", "wrong-secret", "x")
	u.do(0, "send", "--token", "alice-token", "x")
	file := write(t, t.TempDir(), "token", "alice-token\n")
	u.do(0, "send", "--token-file", file, "x")
	u.env["A2A_TOKEN"] = "alice-token"
	u.do(0, "send", "x")
	u.env["A2A_TOKEN"] = "two words"
	u.do(2, "send", "x").want(t, 2, "", "not one word")

	// The token is for the agent that is named, and for no other one's tasks.
	spy := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": JSON(Task("WORKING", ""))}))
	u.env["A2A_TOKEN"] = "alice-token"
	u.do(0, "send", "--agent", spy.URL, "x")
	u.do(8, "poll", "t1")
	for _, r := range spy.Requests() {
		if auth := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"); auth != "" {
			t.Errorf("another agent got %q", auth)
		}
	}
	id := u.send("@hang")
	u.env["A2A_SERVER"] = ""
	u.env["A2A_SERVER"] = s.URL + "/skills/probe" // another URL of the same place
	u.do(8, "poll", id)
	u.env["A2A_SERVER"] = ""
	u.do(2, "poll", "--all").want(t, 2, "", "of several agents")
	u.do(2, "watch").want(t, 2, "", "of several agents")
	u.do(8, "poll", id)
}

func TestRemote_agents_file(t *testing.T) {
	yaml := "default_skill: probe\nskills: [{id: probe, kind: mock}]\nauth: {keys: [{name: alice, key: alice-token}]}"
	s := servertest.New(t, servertest.Options{YAML: yaml})
	u := newUser(t, "")
	u.env["A2A_AGENTS"] = write(t, t.TempDir(), "agents.yaml", fmt.Sprintf("agents:\n  - {name: lab, url: %q, token: '${LAB_TOKEN}', skills: [probe], description: Tries things}\n", s.URL))
	u.env["LAB_TOKEN"] = "alice-token"
	id := strings.TrimSpace(u.do(0, "send", "--agent", "Lab", "@echo x").out)
	u.do(0, "poll", "--wait", id).want(t, 0, "x\n")
	u.do(2, "send", "--agent", "lab", "--skill", "other", "x").want(t, 2, "", "allows no skill")
	u.env["A2A_AGENTS"] = write(t, t.TempDir(), "agents.yaml", fmt.Sprintf("agents:\n  - {name: lab, url: %q, token: '${LAB_TOKEN}', skills: [probe, other]}\n", s.URL))
	u.do(2, "send", "--agent", "lab", "x").want(t, 2, "", "none is named by --skill", "it allows probe, other")
	u.do(2, "send", "--agent", "laboratory", "x").want(t, 2, "", "names lab")
	u.do(2, "send", "x").want(t, 2, "", "by its name in the agents file: lab")
	row := u.rows("history")[0]
	if row["agent"] != "lab" || row["agent_url"] != s.URL {
		t.Errorf("got %v", row)
	}
	// By its URL it is the same agent.
	u.do(0, "send", "--wait", "--skill", "probe", "--server", s.URL, "y").want(t, 0, "y\n")

	u.env["LAB_TOKEN"] = ""
	delete(u.env, "LAB_TOKEN")
	if got := u.run("send", "--agent", "lab", "x"); got.code == 0 || !strings.Contains(got.err, "LAB_TOKEN") {
		t.Errorf("got %+v, want the fault of the file", got)
	}
}

// fileAnswer is a task with files under names that an agent may think of.
func fileAnswer(names ...string) string {
	var parts []string
	for _, n := range names {
		name, _ := json.Marshal(n)
		parts = append(parts, fmt.Sprintf(`{"raw":%q,"filename":%s,"mediaType":"text/plain"}`, base64.StdEncoding.EncodeToString([]byte("content of "+n)), name))
	}
	return `{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[` + strings.Join(parts, ",") + `]}]}`
}

func TestSave_stays_in_its_directory(t *testing.T) {
	names := []string{"../../etc/passwd", `..\..\boot.ini`, "/abs", "", "..", ".bashrc", "a.txt", "A.TXT", "con.txt", "x\x1b[31m.md", strings.Repeat("n", 300) + ".csv"}
	a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + fileAnswer(names...) + `}`)}))
	u := newUser(t, a.URL)
	dir := filepath.Join(t.TempDir(), "out", "deep")
	u.do(0, "send", "--wait", "--save", dir, "hi")
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != len(names) {
		t.Fatalf("got %v, %v, want %d files", list, err, len(names))
	}
	for _, f := range list {
		if strings.HasPrefix(f.Name(), ".") || strings.ContainsAny(f.Name(), "/\\\x1b") || len(f.Name()) > 200 {
			t.Errorf("got the name %q", f.Name())
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "passwd")); err != nil || string(b) != "content of ../../etc/passwd" {
		t.Errorf("got %q, %v", b, err)
	}
	if up, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(up) != 1 {
		t.Errorf("got %v, %v above the directory", up, err)
	}
}

func TestSave_replaces_nothing(t *testing.T) {
	a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + fileAnswer("a.txt") + `}`)}))
	u := newUser(t, a.URL)
	dir := t.TempDir()
	victim := write(t, t.TempDir(), "victim", "precious")
	write(t, dir, "a.txt", "mine")
	u.do(1, "send", "--wait", "--save", dir, "hi").want(t, 1, "", "is there already", "--force")
	u.do(0, "history", "t1") // the answer is not lost for that
	if err := os.Remove(filepath.Join(dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	u.do(1, "history", "t1", "--save", dir)
	u.do(0, "history", "t1", "--save", dir, "--force")
	if b, _ := os.ReadFile(victim); string(b) != "precious" {
		t.Errorf("a link was followed: got %q", b)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(b) != "content of a.txt" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestRemote_answer_without_a_task(t *testing.T) {
	a := New(t, By(map[string]Script{
		"SendMessage":          JSON(`{"message":{"messageId":"m","role":"ROLE_AGENT","contextId":"c7","parts":[{"text":"just words"}]}}`),
		"SendStreamingMessage": Stream(Frame(`{"message":{"messageId":"m","role":"ROLE_AGENT","contextId":"c7","parts":[{"text":"just words"}]}}`)),
	}))
	for _, how := range []string{"", "--wait", "--stream"} {
		u := newUser(t, a.URL)
		u.do(0, append([]string{"send", "hi"}, strings.Fields(how)...)...).want(t, 0, "just words\n", "without a task")
		ref := u.rows("history")[0]["ref"].(string)
		u.do(0, "history", ref).want(t, 0, "just words\n")
	}
}

func TestRemote_output(t *testing.T) {
	_, u := probe(t)
	got := u.do(0, "send", "--wait", "-o", "yaml", "@echo a: b")
	for _, want := range []string{"state: completed", `text: "a: b"`, "agent: " + u.env["A2A_SERVER"]} {
		if !strings.Contains(strings.ReplaceAll(got.out, "'", `"`), want) {
			t.Errorf("no %s in\n%s", want, got.out)
		}
	}
	got = u.do(0, "send", "--stream", "-o", "json", "@chunks 2 1")
	if !strings.Contains(got.out, `"state": "completed"`) || !strings.Contains(got.out, "chunk-2") {
		t.Errorf("got %s", got.out)
	}
	id := u.send("@ask")
	u.do(4, "poll", "--wait", id)
	got = u.do(0, "get", id)
	for _, want := range []string{"input-required", "user: @ask", "What is your favourite colour?"} {
		if strings.Count(got.out, want) != 1 {
			t.Errorf("want %q once in\n%s", want, got.out)
		}
	}
	for _, args := range [][]string{{"pending"}, {"history"}, {"list"}, {"get", id}, {"poll", id}} {
		if got := u.run(append(args, "-o", "yaml")...); !strings.Contains(got.out, "state: ") {
			t.Errorf("%v: got %+v", args, got)
		}
	}
}

func TestRemote_says_no_secret(t *testing.T) {
	_, u := probe(t)
	u.env["A2A_TOKEN"] = ""
	id := u.send("--token", "alice-token", "--header", "X-Secret: hidden", "@hang")
	for _, args := range [][]string{{"pending", "-o", "json"}, {"get", id}, {"poll", id, "-v"}, {"cancel", id, "-o", "json"}, {"history", "-o", "json"}} {
		got := u.run(append(args, "--token", "alice-token", "--header", "X-Secret: hidden")...)
		if text := got.out + got.err; strings.Contains(text, "alice-token") || strings.Contains(text, "hidden") {
			t.Errorf("%v: got %s", args, text)
		}
	}
}

func TestRemote_completion(t *testing.T) {
	s, u := probe(t)
	id := u.send("@hang   on\tthere")
	complete := func(args ...string) string { return u.do(0, append([]string{"__complete"}, args...)...).out }
	for _, c := range []struct {
		got  string
		want string
	}{
		{complete("poll", ""), id + "\tsubmitted @hang on there\n"},
		{complete("send", "--skill", ""), "weekly_report\t"},
		{complete("send", "--agent", ""), s.URL},
		{complete("send", "--dialect", ""), "rest-0.3"},
		{complete("pending", "--forget", ""), id},
	} {
		if !strings.Contains(strings.ReplaceAll(c.got, "working", "submitted"), c.want) {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	u.env["A2A_SERVER"] = "http://127.0.0.1:1"
	if got := complete("send", "--skill", ""); strings.Contains(got, "weekly") {
		t.Errorf("got %q", got)
	}
}

func TestSend_dialects_without_a_card(t *testing.T) {
	a := New(t, func(w io.Writer, r Request, id string) {
		JSON(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}`)(w, r, id)
	})
	a.Card = map[string]any{}
	u := newUser(t, a.URL)
	u.do(1, "send", "hi").want(t, 1, "", "agent card", "nothing was sent")
	u.do(0, "send", "--dialect", "0.3", "hi")
	if got := a.Requests()[0].RPC(); got != "message/send" {
		t.Errorf("got %s", got)
	}
}

// TestWatch_goes_on_behind_the_last_event: another process takes a stream up where the
// first one left it, and the answer is whole all the same.
func TestWatch_goes_on_behind_the_last_event(t *testing.T) {
	half := func(w io.Writer, r Request, id string) {
		Stream("id: 6\n"+begun, "id: 7\n"+Frame(Artifact("first ", false)))(w, r, id)
		<-t.Context().Done()
	}
	a := New(t, By(map[string]Script{
		"SendStreamingMessage": half,
		"SubscribeToTask":      Stream("id: 8\n"+Frame(Artifact("second", true)), "id: 9\n"+Frame(Status("COMPLETED"))),
		"GetTask":              JSON(Task("COMPLETED", "first second")),
	}))
	u := newUser(t, a.URL)
	u.do(6, "send", "--stream", "--timeout", "400ms", "hi").want(t, 6, "first \n")
	u.do(0, "watch", "t1").want(t, 0, "t1\tworking\tsecond\nt1\tcompleted\tfirst second\n")
	for _, r := range a.Requests() {
		if got := r.Header.Get("Last-Event-ID"); r.RPC() == "SubscribeToTask" && got != "7" {
			t.Errorf("got Last-Event-ID %q, want 7", got)
		}
	}
	u.do(0, "history", "t1").want(t, 0, "first second\n")
}

// TestWatch_several: each to its own end, at once, and the exit code of the first that is
// not good.
func TestWatch_several(t *testing.T) {
	_, u := probe(t)
	ids := []string{u.send("@sleep 0.2"), u.send("@fail"), u.send("@ask"), u.send("@chunks 3 20")}
	got := u.do(4, append([]string{"watch"}, ids[0], ids[2], ids[1], ids[3])...)
	for i, state := range []string{"completed", "failed", "input-required", "completed"} {
		if !strings.Contains(got.out, ids[i]+"\t"+state+"\t") {
			t.Errorf("no %s of task %d in\n%s", state, i, got.out)
		}
	}
	if !strings.Contains(got.out, "What is your favourite colour?") {
		t.Errorf("no question in\n%s", got.out)
	}
}
