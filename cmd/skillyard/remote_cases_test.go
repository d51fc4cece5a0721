package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/skillyard/skillyard/client/clienttest"
)

// The public bug reports whose target is a command line, by their numbers.

// stream is a script that answers the message with a stream, and reads with a task.
func stream(reads Script, pieces ...string) Script {
	return By(map[string]Script{"SendStreamingMessage": Stream(pieces...), "SubscribeToTask": Fail(-32004, "no"), "GetTask": reads})
}

// begun is the first event of most streams.
var begun = Frame(`{"task":` + Task("WORKING", "") + `}`)

func TestCase_B067_comments_and_empty_events(t *testing.T) {
	a := New(t, stream(JSON(Task("COMPLETED", "")), "\xef\xbb\xbf: hello\n\nretry: 3000\n\n", begun, ": ping\n\n", Frame(Status("WORKING")),
		"event: ping\ndata:\n\n", Frame(Status("COMPLETED"))))
	u := newUser(t, a.URL)
	u.do(0, "send", "--stream", "hi")
	if got := u.state("history"); got != "completed" {
		t.Errorf("got %v", got)
	}
}

func TestCase_B070_data_over_several_lines(t *testing.T) {
	a := New(t, stream(JSON(Task("COMPLETED", "")), begun,
		"id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":__ID__,\ndata:\"result\":{\"statusUpdate\":{\"taskId\":\"t1\",\"contextId\":\"c1\",\ndata: \"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}}\n\n"))
	newUser(t, a.URL).do(0, "send", "--stream", "hi")
}

func TestCase_B071_characters_cut_by_the_network(t *testing.T) {
	pieces := []string{begun}
	for _, b := range []byte(Frame(Artifact("日本語👍", false))) {
		pieces = append(pieces, string([]byte{b}))
	}
	joined := strings.Join(pieces[1:], "")
	if !strings.Contains(joined, "__ID__") {
		t.Fatal("the frame has no id")
	}
	// The id is no part of what is cut.
	head, tail, _ := strings.Cut(joined, "日")
	cut := []string{begun, head}
	for _, b := range []byte("日" + tail) {
		cut = append(cut, string([]byte{b}))
	}
	a := New(t, stream(JSON(Task("COMPLETED", "日本語👍")), append(cut, Frame(Status("COMPLETED")))...))
	newUser(t, a.URL).do(0, "send", "--stream", "hi").want(t, 0, "日本語👍\n")
}

func TestCase_B073_stream_without_its_last_line(t *testing.T) {
	bare := strings.TrimRight(Frame(Status("COMPLETED")), "\n")
	a := New(t, stream(JSON(Task("COMPLETED", "settled by a read")), begun, bare))
	newUser(t, a.URL).do(0, "send", "--stream", "hi").want(t, 0, "settled by a read\n", "the stream was lost")

	// Without a read that answers the cut is an error.
	a = New(t, stream(HTTP(404, "text/html", "<html>"), begun, bare))
	u := newUser(t, a.URL)
	u.do(1, "send", "--stream", "hi").want(t, 1, "", "the task stays pending")
	if got := u.state("pending"); got != "working" {
		t.Errorf("got %v", got)
	}
}

func TestCase_B076_answers_that_are_no_stream(t *testing.T) {
	for _, c := range []struct {
		name   string
		script Script
		code   int
		says   []string
	}{
		{"error", Fail(-32001, "no such task"), 1, []string{"-32001", "no such task"}},
		{"unauthorised", HTTP(401, "application/json", `{"detail":"who are you"}`), 7, []string{"401", "who are you", "token"}},
		{"proxy", HTTP(502, "text/html", "<html>bad gateway</html>"), 1, []string{"502", "bad gateway"}},
		{"empty", HTTP(200, "application/json", ""), 1, []string{"empty"}},
		{"no events", Stream(), 1, []string{"without an event"}},
		{"no endpoint", HTTP(404, "text/html", "<html>nothing here</html>"), 1, []string{"404", "nothing here", "endpoint"}},
		{"page", HTTP(200, "text/html", "<html>welcome</html>"), 1, []string{"text/html", "welcome"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUser(t, New(t, c.script).URL)
			u.do(c.code, "send", "--stream", "hi").want(t, c.code, "", c.says...)
			// What was refused is over; of the rest nobody knows.
			refused := c.name == "error" || c.name == "unauthorised" || c.name == "no endpoint"
			if n := len(u.rows("pending")); n != 1 && !refused || n != 0 && refused {
				t.Errorf("got %d pending", n)
			}
		})
	}
}

func TestCase_B077_error_inside_a_stream(t *testing.T) {
	a := New(t, Stream(begun, `data: {"jsonrpc":"2.0","id":__ID__,"error":{"code":-32005,"message":"bad type","data":[{"@type":"x","reason":"CONTENT_TYPE_NOT_SUPPORTED"}]}}`+"\n\n"))
	newUser(t, a.URL).do(1, "send", "--stream", "hi").want(t, 1, "", "-32005", "bad type")
	if n := len(a.Requests()); n != 1 {
		t.Errorf("got %d requests, want no second", n)
	}
}

// TestCase_B154: the only limit of time is --timeout, and it loses nothing. That an answer
// may take minutes is shown in package client, in a time of its own.
func TestCase_B154_slow_agents(t *testing.T) {
	late := func(w io.Writer, r Request, id string) {
		Stream(begun)(w, r, id)
		Slow(600*time.Millisecond, func(w io.Writer, _ Request, id string) {
			_, _ = io.WriteString(w, strings.ReplaceAll(Frame(Artifact("late", false))+Frame(Status("COMPLETED")), "__ID__", id))
		})(w, r, id)
	}
	newUser(t, New(t, late).URL).do(0, "send", "--stream", "hi").want(t, 0, "late\n")

	u := newUser(t, New(t, By(map[string]Script{"SendStreamingMessage": late, "GetTask": JSON(Task("COMPLETED", "late"))})).URL)
	u.do(6, "send", "--stream", "--timeout", "200ms", "hi").want(t, 6, "", "t1", "poll --wait t1")
	if got := u.state("pending"); got != "working" {
		t.Errorf("got %v", got)
	}
	u.do(0, "poll", "t1").want(t, 0, "late\n")
}

func TestCase_B163_submitted_is_no_answer(t *testing.T) {
	reads := 0
	a := New(t, By(map[string]Script{
		"SendMessage": JSON(`{"task":` + Task("SUBMITTED", "") + `}`),
		"GetTask": func(w io.Writer, r Request, id string) {
			if reads++; reads < 3 {
				JSON(Task("SUBMITTED", ""))(w, r, id)
				return
			}
			JSON(Task("COMPLETED", "three seconds later"))(w, r, id)
		},
	}))
	newUser(t, a.URL).do(0, "send", "--wait", "--blocking", "--interval", "10ms", "hi").want(t, 0, "three seconds later\n")
}

// stateNames are the states at which a poll stops, in both spellings, and the exit codes.
var stateNames = []struct {
	v1, v03 string
	code    int
}{
	{"COMPLETED", "completed", 0}, {"FAILED", "failed", 3}, {"REJECTED", "rejected", 3}, {"INPUT_REQUIRED", "input-required", 4},
	{"CANCELED", "canceled", 5}, {"AUTH_REQUIRED", "auth-required", 7},
}

func TestCase_B164_polls_stop_at_every_settled_state(t *testing.T) {
	for _, s := range stateNames {
		for _, name := range []string{"TASK_STATE_" + s.v1, s.v03} {
			t.Run(name, func(t *testing.T) {
				a := New(t, By(map[string]Script{
					"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`),
					"GetTask":     JSON(fmt.Sprintf(`{"id":"t1","contextId":"c1","status":{"state":%q}}`, name)),
				}))
				u := newUser(t, a.URL)
				u.send("hi")
				u.do(s.code, "poll", "--wait", "t1")
				if n := len(a.Requests()); n != 2 {
					t.Errorf("got %d requests, want one read", n)
				}
			})
		}
	}
	fake := func(read Script) *user {
		u := newUser(t, New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": read})).URL)
		u.send("hi")
		return u
	}
	t.Run("unknown", func(t *testing.T) {
		u := fake(JSON(`{"id":"t1","status":{"state":"TASK_STATE_UNSPECIFIED"}}`))
		u.do(8, "poll", "t1")
		u.do(1, "poll", "--wait", "--interval", "2ms", "t1").want(t, 1, "", "no state", "stays pending")
		if got := u.state("pending"); got != "unknown" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("busy", func(t *testing.T) {
		reads := 0
		u := fake(func(w io.Writer, r Request, id string) {
			if reads++; reads == 1 {
				HTTP(503, "text/plain", "later", "Retry-After: 1")(w, r, id)
				return
			}
			JSON(Task("COMPLETED", "ok"))(w, r, id)
		})
		began := time.Now()
		u.do(0, "poll", "t1").want(t, 0, "ok\n")
		if took := time.Since(began); took < time.Second {
			t.Errorf("asked again after %s, want the second that was asked for", took)
		}
	})
	t.Run("lost", func(t *testing.T) {
		u := fake(Fail(-32001, "Task not found"))
		u.do(1, "poll", "t1").want(t, 1, "", "Task not found", "lost")
		if got := u.state("history"); got != "lost" {
			t.Errorf("got %v", got)
		}
		if rows := u.rows("pending"); len(rows) != 0 {
			t.Errorf("got %v", rows)
		}
		u.do(1, "poll", "t1").want(t, 1, "", "is lost")
	})
}

func TestCase_B166_text_that_comes_twice(t *testing.T) {
	a := New(t, Stream(begun, Frame(Artifact("aa", false)), Frame(Artifact("bb", true)), Frame(Artifact("cc", true)),
		Frame(`{"task":`+Task("COMPLETED", "aabbcc")+`}`)))
	u := newUser(t, a.URL)
	u.do(0, "send", "--stream", "hi").want(t, 0, "aabbcc\n")
	u.do(0, "history", "t1").want(t, 0, "aabbcc\n")
}

func TestCase_B167_poll_that_times_out(t *testing.T) {
	_, u := probe(t)
	id := u.working("@hang")
	u.do(6, "poll", "--wait", "--timeout", "300ms", id).want(t, 6, "", "not done in time", "poll --wait "+id)
	if got := u.state("pending"); got != "working" {
		t.Errorf("got %v", got)
	}
	u.do(8, "poll", id)
	u.do(0, "cancel", id)
}
