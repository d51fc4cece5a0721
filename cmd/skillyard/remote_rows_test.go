package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/skillyard/skillyard/client/clienttest"
)

// What clients that send and poll must be able to do, row by row, on the command line.

func TestA01_send_returns_the_id_at_once(t *testing.T) {
	eachDialect(t, func(t *testing.T, u *user, d string) {
		began := time.Now()
		got := u.do(0, "send", "--dialect", d, "@sleep 60")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		id := strings.TrimSuffix(got.out, "\n")
		if id == "" || strings.ContainsAny(id, " \n") || !strings.Contains(got.err, "poll "+id) {
			t.Errorf("got %q and %q, want the id alone, and how to poll it", got.out, got.err)
		}
		u.do(0, "cancel", id)
	})
}

func TestA02_poll_of_a_running_task_says_so(t *testing.T) {
	_, u := probe(t)
	id := u.working("@hang")
	u.do(8, "poll", id).want(t, 8, "", "working", "poll "+id)
}

func TestA03_completed_text_and_artifacts(t *testing.T) {
	// FastA2A: the text is the last word of the history and an artifact, too.
	a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": JSON(`{"id":"t1","contextId":"c1",
		"status":{"state":"completed","message":{"messageId":"m","role":"agent","parts":[{"kind":"text","text":"the whole answer"}]}},
		"artifacts":[{"artifactId":"a","parts":[{"text":"the whole "},{"text":"answer"},{"data":{"n":9007199254740993}}]}],
		"history":[{"messageId":"m","role":"agent","parts":[{"text":"the whole answer"}]}]}`)}))
	u := newUser(t, a.URL)
	id := u.send("hi")
	u.do(0, "poll", id).want(t, 0, "the whole answer\n{\"n\":9007199254740993}\n")

	// An agent that answers in the history only is understood as well.
	a = New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": JSON(`{"id":"t1",
		"status":{"state":"completed"},"history":[{"role":"user","parts":[{"text":"hi"}]},{"role":"agent","parts":[{"text":"ho"}]}]}`)}))
	u = newUser(t, a.URL)
	u.send("hi")
	u.do(0, "poll", "t1").want(t, 0, "ho\n")
}

func TestA04_failures_say_why(t *testing.T) {
	_, u := probe(t)
	u.do(3, "send", "--wait", "@fail").want(t, 3, "", "is failed: the probe failed, as it was told to")
	u.do(3, "send", "--skill", "nothing", "x")
	got := u.do(3, "send", "--wait", "--skill", "nothing", "x")
	got.want(t, 3, "", `unknown skillId "nothing"`, `card has no skill "nothing"`, "weekly_report")
}

func TestA05_unknown_task_is_readable(t *testing.T) {
	_, u := probe(t)
	u.do(1, "poll", "no-such-task").want(t, 1, "", "Task not found")
	u.do(1, "watch", "no-such-task").want(t, 1, "", "Task not found")
	u.do(1, "get", "no-such-task").want(t, 1, "", "Task not found")
	u.do(1, "cancel", "no-such-task").want(t, 1, "", "Task not found")
	u.do(1, "reply", "neither-task", "x").want(t, 1, "", "Task not found")
	if rows := u.rows("pending"); len(rows) != 0 {
		t.Errorf("got %v, want nothing that was never sent", rows)
	}
	id := u.send("@hang please")
	delete(u.env, "A2A_SERVER")
	u.do(1, "poll", "no-such-task").want(t, 1, "", "no-such-task", "--agent", id, "@hang please")
}

func TestA06_A07_cancel(t *testing.T) {
	eachDialect(t, func(t *testing.T, u *user, d string) {
		id := u.send("--dialect", d, "@hang")
		u.do(0, "cancel", id)
		if got := u.state("history"); got != "canceled" {
			t.Errorf("got %v", got)
		}
	})
}

func TestA08_poll_without_an_id_takes_the_newest(t *testing.T) {
	s, u := probe(t)
	first := u.send("@hang")
	second := u.send("@ask")
	u.do(4, "poll", "--wait").want(t, 4, "What is your favourite colour?\n", second)
	other := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": JSON(Task("COMPLETED", "from the other"))}))
	u.send("--agent", other.URL, "x")
	u.do(4, "poll", "--agent", s.URL)
	u.do(0, "poll", "--agent", other.URL).want(t, 0, "from the other\n")
	u.do(1, "poll", "--agent", other.URL).want(t, 1, "", "no task is pending at "+other.URL)
	u.do(0, "cancel", second)
	u.do(8, "poll").want(t, 8, "", first)

	all := u.do(0, "poll", "--all")
	if !strings.Contains(all.out, first) || strings.Contains(all.out, second) {
		t.Errorf("got %s, want the one that is pending", all.out)
	}
}

func TestA09_pending_for_people(t *testing.T) {
	_, u := probe(t)
	id := u.send("@ask   me\nsomething")
	u.do(4, "poll", "--wait", id)
	got := u.do(0, "pending")
	for _, want := range []string{"TASK", id, "input-required", "@ask me something", "What is your favourite colour?"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
}

func TestA10_pending_shows_the_fields(t *testing.T) {
	_, u := probe(t)
	id := u.working("@hang")
	u.do(8, "poll", id)
	u.do(8, "poll", id)
	row := u.rows("pending")[0]
	if row["task_id"] != id || row["agent_url"] != u.env["A2A_SERVER"] || row["context_id"] == "" || row["state"] != "working" || row["poll_count"] != 2.0 {
		t.Errorf("got %v", row)
	}
	for _, name := range []string{"created_at", "last_polled_at"} {
		text, _ := row[name].(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err != nil || time.Since(at) > time.Minute {
			t.Errorf("%s: got %v", name, row[name])
		}
	}
}

func TestA11_ends_leave_pending_and_stay_in_the_history(t *testing.T) {
	_, u := probe(t)
	id := u.send("@sleep 0.05")
	u.do(0, "poll", "--wait", id).want(t, 0, "slept\n")
	if rows := u.rows("pending"); len(rows) != 0 {
		t.Errorf("got %v", rows)
	}
	u.do(0, "history", id).want(t, 0, "slept\n", "was kept")
	u.do(0, "history", "--prune", "1h")
	u.do(0, "history", id).want(t, 0, "slept\n")
	u.do(0, "history", "--prune", "0s").want(t, 0, "", "1 deleted")
	u.do(1, "history", id)
}

func TestA12_connection_errors_keep_the_entry(t *testing.T) {
	s, u := probe(t)
	id := u.send("@hang")
	s.Stop()
	u.do(1, "poll", id).want(t, 1, "", "connection refused", "stays pending")
	row := u.rows("pending")[0]
	if row["task_id"] != id || !strings.Contains(fmt.Sprint(row["last_error"]), "refused") {
		t.Errorf("got %v", row)
	}
}

func TestA13_any_process_can_poll(t *testing.T) {
	_, u := probe(t)
	u.env["A2A_STATE"] = u.env["HOME"] + "/one.db"
	id := u.send("@echo x")
	other := newUser(t, "") // another user's home, the same file
	other.env["A2A_STATE"], other.env["A2A_TOKEN"] = u.env["A2A_STATE"], "alice-token"
	other.do(0, "poll", "--wait", id).want(t, 0, "x\n")
	other.do(1, "poll", "--state", other.env["HOME"]+"/another.db", id).want(t, 1, "", "no task")
}

func TestA14_parallel_workers(t *testing.T) {
	_, u := probe(t)
	const workers = 8
	ids := make([]string, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			got := u.run("send", fmt.Sprintf("@sleep 0.%d", i))
			ids[i] = strings.TrimSpace(got.out)
			if got.code != 0 || ids[i] == "" {
				t.Errorf("send: %+v", got)
				return
			}
			if got := u.run("poll", "--wait", "--interval", "50ms", ids[i]); got.code != 0 || got.out != "slept\n" {
				t.Errorf("poll: %+v", got)
			}
		})
	}
	wg.Wait()
	if rows := u.rows("history"); len(rows) != workers {
		t.Errorf("got %d entries, want %d", len(rows), workers)
	}
}

// TestA24: no limit of the client's own is as short as that of its predecessors.
func TestA24_no_limit_but_the_one_asked_for(t *testing.T) {
	slow := func(w io.Writer, r Request, id string) {
		Slow(700*time.Millisecond, JSON(`{"task":`+Task("COMPLETED", "late")+`}`))(w, r, id)
	}
	newUser(t, New(t, slow).URL).do(0, "send", "--wait", "hi").want(t, 0, "late\n")
	u := newUser(t, New(t, slow).URL)
	u.do(6, "send", "--timeout", "100ms", "hi").want(t, 6, "", "not known whether the agent took the message")
	if got := u.state("pending"); got != "sending" {
		t.Errorf("got %v", got)
	}
}
