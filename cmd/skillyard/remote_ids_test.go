package main

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	. "github.com/skillyard/skillyard/client/clienttest"
)

// What the commands say and keep of ids that are wrong, lost, or of tasks sent elsewhere.

// TestReply_unknown_task: that the agent does not know the task is its end, whoever asks.
func TestReply_unknown_task(t *testing.T) {
	for _, command := range [][]string{{"reply", "t1", "blue"}, {"reply", "t1", "--stream", "blue"}, {"send", "--task", "t1", "blue"}} {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			a := New(t, By(map[string]Script{
				"SendMessage": JSON(`{"task":` + Task("INPUT_REQUIRED", "") + `}`),
			}), By(map[string]Script{
				"SendMessage": Fail(-32001, "Task not found"), "SendStreamingMessage": Fail(-32001, "Task not found"), "GetTask": Fail(-32001, "Task not found"),
			}))
			u := newUser(t, a.URL)
			u.do(4, "send", "hi")
			u.do(1, command...).want(t, 1, "", "Task not found", "in the history as lost")
			if rows := u.rows("pending"); len(rows) != 0 {
				t.Errorf("got %v, want nothing pending", rows)
			}
			if got := u.state("history"); got != "lost" {
				t.Errorf("got %v, want lost", got)
			}
		})
	}
}

// TestReply_unknown_reference: it may be another id that the agent does not know.
func TestReply_unknown_reference(t *testing.T) {
	a := New(t, By(map[string]Script{
		"SendMessage": JSON(`{"task":` + Task("INPUT_REQUIRED", "") + `}`),
	}), By(map[string]Script{
		"SendMessage": Fail(-32001, "Task not found"), "GetTask": JSON(Task("INPUT_REQUIRED", "")),
	}))
	u := newUser(t, a.URL)
	u.do(4, "send", "hi")
	u.do(1, "reply", "t1", "--reference", "gone", "blue").want(t, 1, "", "Task not found")
	if got := u.state("pending"); got != "input-required" {
		t.Errorf("got %v, want the task as it is", got)
	}
}

// TestReply_elsewhere: a reply that fails says nothing of a task that was sent from
// elsewhere, so nothing stands in the way of the next one.
func TestReply_elsewhere(t *testing.T) {
	a := New(t, HTTP(401, "text/plain", "who are you?"), By(map[string]Script{
		"SendMessage": JSON(`{"task":` + Task("COMPLETED", "thanks") + `}`), "GetTask": JSON(Task("INPUT_REQUIRED", "")),
	}))
	u := newUser(t, a.URL)
	u.do(7, "reply", "t1", "blue")
	if rows := u.rows("history"); len(rows) != 0 {
		t.Errorf("got %v, want no end of a task that goes on", rows)
	}
	u.do(4, "poll", "t1")
	u.do(0, "reply", "t1", "--wait", "blue").want(t, 0, "thanks\n")
}

// TestRemote_wrong_ids: each command says what there is instead.
func TestRemote_wrong_ids(t *testing.T) {
	s, u := probe(t)
	id := u.send("@hang on")
	u.do(1, "reply", "no-such-task", "x").want(t, 1, "", "Task not found", id)
	if rows := u.rows("history"); len(rows) != 0 {
		t.Errorf("got %v, want no trace of a wrong id", rows)
	}
	u.do(1, "pending", "--forget", "no-such-task").want(t, 1, "", `no task "no-such-task"`, id)
	u.do(1, "history", "no-such-task").want(t, 1, "", `no task "no-such-task"`, id)
	u.do(2, "history", "--prune", "30d", id).want(t, 2, "", "--prune takes no id", "--forget")
	// Without an id, too: the agent may be the wrong one.
	u.do(1, "poll", "--agent", "http://127.0.0.1:1").want(t, 1, "", "no task is pending at http://127.0.0.1:1", id)
	u.do(8, "poll", "--agent", s.URL)
}

// TestPoll_newest_without_an_answer: a send whose answer never came is what poll means
// when nothing else is pending.
func TestPoll_newest_without_an_answer(t *testing.T) {
	a := New(t, Cut(), By(map[string]Script{"ListTasks": JSON(`{"tasks":[],"nextPageToken":"","pageSize":100,"totalSize":0}`)}))
	u := newUser(t, a.URL)
	u.do(1, "send", "--timeout", "10s", "hi there")
	ref := u.rows("pending")[0]["ref"].(string)
	u.do(1, "poll").want(t, 1, "", "task "+ref+": hi there", "the answer to this send never came")
}

func TestHistory_completion(t *testing.T) {
	_, u := probe(t)
	ended, pending := u.send("@echo done"), u.send("@hang")
	u.do(0, "poll", "--wait", ended)
	got := u.do(0, "__complete", "history", "").out
	if !strings.Contains(got, ended+"\tcompleted") || strings.Contains(got, pending) {
		t.Errorf("got %q, want what ended", got)
	}
}

func TestWatch_output_for_programs(t *testing.T) {
	_, u := probe(t)
	id := u.send("@sleep 0.1")
	var last map[string]string
	for line := range strings.Lines(u.do(0, "watch", "-o", "json").out) {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
	}
	if last["id"] != id || last["agent"] != u.env["A2A_SERVER"] || last["state"] != "completed" || last["text"] != "slept" {
		t.Errorf("got %v", last)
	}
	id = u.send("@ask")
	got := u.do(4, "watch", id, "-o", "yaml").out
	if !strings.HasPrefix(got, "---\n") || !strings.Contains(got, "\nstate: input-required\ntext: What is your favourite colour?\n") {
		t.Errorf("got %q", got)
	}
}

// TestCase_B182_parallel_sends: none of many programs at once loses the entry of another.
func TestCase_B182_parallel_sends(t *testing.T) {
	_, u := probe(t)
	const sends = 20
	var wg sync.WaitGroup
	for range sends {
		wg.Go(func() {
			if got := u.run("send", "@hang"); got.code != 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
	wg.Wait()
	if rows := u.rows("pending"); len(rows) != sends {
		t.Errorf("got %d entries, want %d", len(rows), sends)
	}
}

// TestRemote_hints_are_words: what is said to be typed next is harmless to paste.
func TestRemote_hints_are_words(t *testing.T) {
	id := "$(touch x)\nskillyard: all is well"
	b, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	task := strings.Replace(Task("INPUT_REQUIRED", ""), `"t1"`, string(b), 1)
	a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + task + `}`), "GetTask": JSON(task)}))
	u := newUser(t, a.URL)
	want := "skillyard reply '$(touch x) skillyard: all is well' TEXT\n"
	if got := u.do(4, "send", "hi"); strings.Contains(got.err, "\nskillyard:") || !strings.Contains(got.err, want) {
		t.Errorf("got %q, want %q in it", got.err, want)
	}
	if got := u.do(4, "poll"); strings.Contains(got.err, "\nskillyard:") || !strings.Contains(got.err, want) {
		t.Errorf("got %q, want %q in it", got.err, want)
	}
}
