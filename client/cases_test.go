package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// The public bug reports whose target is a client, by their numbers.

// hurry retries without real waiting.
var hurry = client.Retry{First: time.Millisecond, Most: 20 * time.Millisecond}

// follow streams a message and returns the fold of what came, and the error.
func follow(t *testing.T, c *client.Client) (client.Fold, string, error) {
	t.Helper()
	var fold client.Fold
	text := ""
	for ev, err := range c.Stream(context10(t), client.Text("hi"), client.SendOptions{}) {
		if err != nil {
			return fold, text, err
		}
		for _, p := range fold.Apply(ev).Artifacts {
			text += a2a.JoinText(p.Artifact.Parts)
		}
	}
	return fold, text, nil
}

func wantState(t *testing.T, fold client.Fold, err error, want a2a.State) {
	t.Helper()
	if err != nil || fold.Task.Status.State != want {
		t.Errorf("got %q, %v, want %s", fold.Task.Status.State, err, want)
	}
}

func TestCase_B067_comments_and_empty_events(t *testing.T) {
	a := New(t, Stream("\xef\xbb\xbf: hello\n\nretry: 3000\n\n", Frame(`{"task":`+Task("SUBMITTED", "")+`}`), ": ping\n\n", Frame(Status("WORKING")),
		"event: ping\ndata:\n\n", Frame(Status("COMPLETED"))))
	fold, _, err := follow(t, dial(t, a.URL, client.Options{}))
	wantState(t, fold, err, a2a.StateCompleted)
}

func TestCase_B070_data_over_several_lines(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		frame := strings.ReplaceAll(Frame(Status("WORKING"))+"id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":__ID__,\ndata:\"result\":{\"statusUpdate\":{\"taskId\":\"t1\",\"contextId\":\"c1\",\ndata: \"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}}\n\n", "\n", end)
		fold, _, err := follow(t, dial(t, New(t, Stream(frame)).URL, client.Options{}))
		wantState(t, fold, err, a2a.StateCompleted)
	}
}

func TestCase_B071_characters_in_pieces(t *testing.T) {
	whole := func(w io.Writer, r Request, id string) {
		frames := strings.ReplaceAll(Frame(Artifact("日本語👍", false))+Frame(Status("COMPLETED")), "__ID__", id)
		pieces := make([]string, len(frames))
		for i := range len(frames) {
			pieces[i] = frames[i : i+1]
		}
		Stream(pieces...)(w, r, id)
	}
	_, text, err := follow(t, dial(t, New(t, whole).URL, client.Options{}))
	if err != nil || text != "日本語👍" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestCase_B073_bare_tail: an end without the blank line is a cut, and the state is
// settled by a read.
func TestCase_B073_bare_tail(t *testing.T) {
	tail := Stream(Frame(Status("WORKING")), strings.TrimRight(Frame(Status("COMPLETED")), "\n"))
	a := New(t, By(map[string]Script{"SendStreamingMessage": tail, "GetTask": JSON(Task("COMPLETED", "x")), "SubscribeToTask": Fail(-32004, "ended")}))
	fold, text, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
	wantState(t, fold, err, a2a.StateCompleted)
	if text != "x" {
		t.Errorf("got %q, want the text of the read task", text)
	}
	// An agent that knows nothing else than to cut is given up.
	_, _, err = follow(t, dial(t, New(t, tail).URL, client.Options{Retry: hurry}))
	if client.KindOf(err) != client.KindInvalid && client.KindOf(err) != client.KindBroken {
		t.Errorf("got %v, want an error", err)
	}
}

func TestCase_B076_no_stream_at_all(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script Script
		kind   client.Kind
		says   string
	}{
		{"json_error", Fail(-32001, "no such task"), client.KindTaskNotFound, "-32001"},
		{"401", HTTP(401, "application/json", `{"detail":"who are you"}`), client.KindAuth, "who are you"},
		{"502", HTTP(502, "text/html", "<html>bad gateway</html>"), client.KindBroken, "502"},
		{"200_html", HTTP(200, "text/html", "<html>login</html>"), client.KindInvalid, "login"},
		{"200_empty", HTTP(200, "application/json", ""), client.KindInvalid, "empty"},
		{"204", HTTP(204, "application/json", ""), client.KindInvalid, ""},
		{"no_frames", Stream(": nothing\n\n"), client.KindBroken, "without an event"},
		{"other_shape", JSON(`{"greeting":"hi"}`), client.KindInvalid, "greeting"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dial(t, New(t, tc.script).URL, client.Options{Retry: hurry})
			_, _, err := follow(t, c)
			if client.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("stream: got %q %v, want %q with %q", client.KindOf(err), err, tc.kind, tc.says)
			}
			if tc.name == "no_frames" {
				return // to a call that is no stream this is another fault
			}
			if _, err = c.Send(context10(t), client.Text("x"), client.SendOptions{}); client.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("send: got %q %v, want %q with %q", client.KindOf(err), err, tc.kind, tc.says)
			}
		})
	}
}

func TestCase_B077_error_within_a_stream(t *testing.T) {
	bad := `data: {"jsonrpc":"2.0","id":__ID__,"error":{"code":-32005,"message":"bad type","data":[{"@type":"x","reason":"CONTENT_TYPE_NOT_SUPPORTED"}]}}` + "\n\n"
	a := New(t, Stream(Frame(`{"task":`+Task("WORKING", "")+`}`), bad))
	_, _, err := follow(t, dial(t, a.URL, client.Options{Retry: hurry}))
	var e *client.Error
	if !errors.As(err, &e) || e.Code != -32005 || e.Reason != "CONTENT_TYPE_NOT_SUPPORTED" || !strings.Contains(string(e.Data), "@type") {
		t.Errorf("got %+v", e)
	}
	if n := len(a.Requests()); n != 1 {
		t.Errorf("got %d requests, want one: an error is no lost connection", n)
	}
}

func TestCase_B130_cards(t *testing.T) {
	for _, url := range []string{"file:///etc/passwd", "gopher://x/", "http://u:p@h/", "", "http://", "::"} {
		if _, err := client.New(url, client.Options{}); client.KindOf(err) != client.KindUsage {
			t.Errorf("%q: got %v, want usage", url, err)
		}
	}
	t.Run("redirects", func(t *testing.T) {
		var s *httptest.Server
		s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, s.URL+r.URL.Path+"x", http.StatusFound)
		}))
		defer s.Close()
		_, err := dial(t, s.URL, client.Options{}).Card(context10(t))
		if client.KindOf(err) != client.KindForbidden {
			t.Errorf("got %v, want an end to redirects", err)
		}
	})
	t.Run("large", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 200 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 10_000)); err != nil {
					return
				}
			}
		}))
		defer s.Close()
		_, err := dial(t, s.URL, client.Options{}).Card(context10(t))
		if client.KindOf(err) != client.KindTooLarge {
			t.Errorf("got %v, want too large", err)
		}
	})
	t.Run("trickle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			c, err := client.New("http://agent", client.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				pr, pw := io.Pipe()
				go func() {
					for r.Context().Err() == nil {
						<-time.After(time.Second)
						if _, err := pw.Write([]byte(" ")); err != nil {
							return
						}
					}
					pw.CloseWithError(r.Context().Err())
				}()
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: pr, Request: r}, nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Card(t.Context())
			if err == nil || time.Since(start) > 2*time.Minute {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
		})
	})
	t.Run("inner_address", func(t *testing.T) {
		// A public agent (by its name) whose card names an inner address.
		a := New(t)
		c, err := client.New("http://agents.example.com", client.Options{Interface: &client.Interface{URL: a.URL, Dialect: client.DialectV1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{a.URL, "http://169.254.169.254/", "http://[::ffff:127.0.0.1]:1/"} {
			c, err = client.New("http://agents.example.com", client.Options{Interface: &client.Interface{URL: at, Dialect: client.DialectV1}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = c.Get(context10(t), "t1", nil); client.KindOf(err) != client.KindForbidden {
				t.Errorf("%s: got %v, want forbidden", at, err)
			}
		}
		if len(a.Requests()) != 0 {
			t.Error("the inner address was called")
		}
		if _, err = client.New("http://agents.example.com", client.Options{AllowPrivate: true}); err != nil {
			t.Error(err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCase_B131_redirected_posts(t *testing.T) {
	other := New(t, JSON(`{"task":`+Task("COMPLETED", "stolen")+`}`))
	for _, status := range []int{301, 302, 303, 307, 308} {
		same := New(t)
		same = New(t, func(w io.Writer, r Request, id string) {
			if r.Path == "/moved" {
				JSON(`{"task":`+Task("COMPLETED", "x")+`}`)(w, r, id)
				return
			}
			HTTP(status, "text/plain", "", "Location: "+same.URL+"/moved")(w, r, id)
		})
		a, err := dial(t, same.URL, client.Options{}).Send(context10(t), client.Text("x"), client.SendOptions{})
		if status >= 307 {
			if err != nil || words(a.Task) != "x" {
				t.Errorf("%d: got %v, want one more try with the body", status, err)
			}
			if got := same.Requests(); len(got) != 2 || string(got[0].Body) != string(got[1].Body) || got[1].Method != "POST" || got[1].Header.Get("Authorization") == "" {
				t.Errorf("%d: got %d requests", status, len(got))
			}
		} else if client.KindOf(err) != client.KindForbidden || !strings.Contains(err.Error(), "/moved") {
			t.Errorf("%d: got %v, want an error that names the place", status, err)
		}
		away := New(t, HTTP(status, "text/plain", "", "Location: "+other.URL+"/"))
		if _, err = dial(t, away.URL, client.Options{}).Send(context10(t), client.Text("x"), client.SendOptions{}); client.KindOf(err) != client.KindForbidden {
			t.Errorf("%d to another origin: got %v, want an error", status, err)
		}
	}
	if len(other.Requests()) != 0 {
		t.Error("a redirect was followed to another origin")
	}
}

// TestCase_B131_credentials: a card may name another origin, but not get the token there.
func TestCase_B131_credentials(t *testing.T) {
	other := New(t, JSON(`{"task":`+Task("COMPLETED", "x")+`}`))
	a := New(t)
	a.Card["supportedInterfaces"] = []any{map[string]any{"url": other.URL + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}}
	c := dial(t, a.URL, client.Options{Token: "secret", Header: http.Header{"x-team": {"secret"}}})
	if _, err := c.Send(context10(t), client.Text("x"), client.SendOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range other.Requests() {
		if s := fmt.Sprint(r.Header); strings.Contains(s, "secret") {
			t.Errorf("the token went to another origin: %s", s)
		}
	}
}

// TestCase_B154_slow_agents: nothing but the caller's own limit ends a wait for work.
func TestCase_B154_slow_agents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := `{"jsonrpc":"2.0","id":__ID__,"result":{"task":` + Task("COMPLETED", "late") + `}}`
		c := inMemory(t, func(r *http.Request, id string) *http.Response {
			select {
			case <-time.After(70 * time.Second):
			case <-r.Context().Done():
			}
			return answer(200, "application/json", strings.ReplaceAll(body, "__ID__", id))
		})
		a, err := c.Send(t.Context(), client.Text("x"), client.SendOptions{Blocking: true})
		if err != nil || words(a.Task) != "late" {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err = c.Send(ctx, client.Text("x"), client.SendOptions{}); client.KindOf(err) != client.KindTimeout || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a timeout", err)
		}
	})
}

func TestCase_B155_version_header(t *testing.T) {
	one := New(t, By(map[string]Script{
		"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`), "GetTask": JSON(Task("WORKING", "")), "CancelTask": JSON(Task("CANCELED", "")),
		"SendStreamingMessage": Stream(Frame(`{"task":` + Task("COMPLETED", "") + `}`)), "SubscribeToTask": Stream(Frame(`{"task":` + Task("COMPLETED", "") + `}`)),
		"CreateTaskPushNotificationConfig": JSON(`{"taskId":"t1","id":"p","url":"http://h"}`),
	}))
	old := New(t, By(map[string]Script{
		"message/send": JSON(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}`),
		"tasks/get":    JSON(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}`),
		"tasks/cancel": JSON(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"canceled"}}`),
		"message/stream": Stream(Frame(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"submitted"}}`),
			Frame(`{"kind":"status-update","taskId":"t1","contextId":"c1","final":true,"status":{"state":"completed"}}`)),
		"tasks/resubscribe":                Stream(Frame(`{"kind":"status-update","taskId":"t1","contextId":"c1","final":true,"status":{"state":"completed"}}`)),
		"tasks/pushNotificationConfig/set": JSON(`{"taskId":"t1","pushNotificationConfig":{"id":"p","url":"http://h"}}`),
	}))
	delete(old.Card, "supportedInterfaces")
	old.Card["url"], old.Card["protocolVersion"], old.Card["preferredTransport"] = old.URL+"/", "0.3.0", "JSONRPC"
	for _, agent := range []*Agent{one, old} {
		c := dial(t, agent.URL, client.Options{})
		ctx := context10(t)
		_, send := c.Send(ctx, client.Text("x"), client.SendOptions{})
		_, get := c.Get(ctx, "t1", nil)
		_, cancel := c.Cancel(ctx, "t1")
		_, push := c.SetPush(ctx, a2a.PushConfig{TaskID: "t1", URL: "http://h"})
		fold, _, stream := follow(t, c)
		wantState(t, fold, stream, a2a.StateCompleted)
		var subscribe error
		for _, subscribe = range c.Subscribe(ctx, "t1", client.SubscribeOptions{}) {
		}
		if err := errors.Join(send, get, cancel, push, subscribe); err != nil {
			t.Error(err)
		}
		want := 6
		if agent == old {
			want++ // its subscription shows no task, so that is read at the end
		}
		if len(agent.Requests()) != want {
			t.Errorf("got %d requests, want %d", len(agent.Requests()), want)
		}
		for _, r := range agent.Requests() {
			want := "1.0"
			if agent == old {
				want = ""
			}
			if got := r.Header.Get("A2A-Version"); got != want || strings.Contains(r.RPC(), "/") != (agent == old) {
				t.Errorf("%s: A2A-Version %q, want %q", r.RPC(), got, want)
			}
		}
	}
}

func TestCase_B163_submitted_is_not_the_end(t *testing.T) {
	n := 0
	a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("SUBMITTED", "") + `}`), "GetTask": func(w io.Writer, r Request, id string) {
		state := "WORKING"
		if n++; n > 2 {
			state = "COMPLETED"
		}
		JSON(Task(state, "done"))(w, r, id)
	}}))
	a.Card["capabilities"] = map[string]any{"streaming": false}
	c := dial(t, a.URL, client.Options{Retry: hurry})
	got, err := c.Send(context10(t), client.Text("x"), client.SendOptions{Blocking: true})
	if err != nil || got.Task.Status.State != a2a.StateSubmitted {
		t.Fatalf("got %+v, %v", got, err)
	}
	task, err := c.Wait(context10(t), "t1", fast)
	if err != nil || words(task) != "done" {
		t.Errorf("got %+v, %v", task, err)
	}
	// The stream of an agent that has none is polled.
	n = 0
	fold, text, err := follow(t, c)
	wantState(t, fold, err, a2a.StateCompleted)
	if text != "done" {
		t.Errorf("got %q", text)
	}
}

func TestCase_B164_every_state_ends_a_wait(t *testing.T) {
	for state, want := range map[string]a2a.State{
		"TASK_STATE_COMPLETED": a2a.StateCompleted, "completed": a2a.StateCompleted, "TASK_STATE_FAILED": a2a.StateFailed, "failed": a2a.StateFailed,
		"TASK_STATE_CANCELED": a2a.StateCanceled, "canceled": a2a.StateCanceled, "cancelled": a2a.StateCanceled, "TASK_STATE_CANCELLED": a2a.StateCanceled,
		"TASK_STATE_REJECTED": a2a.StateRejected, "rejected": a2a.StateRejected, "TASK_STATE_INPUT_REQUIRED": a2a.StateInputRequired,
		"input-required": a2a.StateInputRequired, "TASK_STATE_AUTH_REQUIRED": a2a.StateAuthRequired, "auth-required": a2a.StateAuthRequired,
	} {
		a := New(t, JSON(fmt.Sprintf(`{"id":"t1","contextId":"c1","status":{"state":%q}}`, state)))
		task, err := dial(t, a.URL, client.Options{}).Wait(context10(t), "t1", fast)
		if err != nil || task.Status.State != want || len(a.Requests()) != 1 {
			t.Errorf("%s: got %+v, %v after %d reads, want %s at once", state, task, err, len(a.Requests()), want)
		}
	}
	for _, state := range []string{"TASK_STATE_UNSPECIFIED", "unknown", "dancing", ""} {
		a := New(t, JSON(fmt.Sprintf(`{"id":"t1","contextId":"c1","status":{"state":%q}}`, state)))
		task, err := dial(t, a.URL, client.Options{}).Wait(context10(t), "t1", client.WaitOptions{First: time.Millisecond, Most: time.Millisecond})
		if err == nil || task.Status.State != a2a.StateUnknown || len(a.Requests()) < 2 {
			t.Errorf("%q: got %+v, %v after %d reads, want an end after several", state, task, err, len(a.Requests()))
		}
	}
	t.Run("Retry-After", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start, n := time.Now(), 0
			c := inMemory(t, func(r *http.Request, id string) *http.Response {
				if n++; n < 3 {
					resp := answer(429, "text/plain", "slow down")
					resp.Header.Set("Retry-After", "30")
					return resp
				}
				return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":`+Task("COMPLETED", "")+`}`)
			})
			if _, err := c.Wait(t.Context(), "t1", client.WaitOptions{}); err != nil || time.Since(start) < time.Minute || n != 3 {
				t.Errorf("got %v after %v and %d reads", err, time.Since(start), n)
			}
		})
	})
}

// TestCase_B166_text_once: chunks, then the whole again.
func TestCase_B166_text_once(t *testing.T) {
	a := New(t, Stream(Frame(Status("WORKING")), Frame(Artifact("aa", false)), Frame(Artifact("bb", true)), Frame(Artifact("cc", true)),
		Frame(`{"task":`+Task("COMPLETED", "aabbcc")+`}`)))
	fold, text, err := follow(t, dial(t, a.URL, client.Options{}))
	wantState(t, fold, err, a2a.StateCompleted)
	if text != "aabbcc" || words(&fold.Task) != "aabbcc" {
		t.Errorf("got %q and %q, want aabbcc", text, words(&fold.Task))
	}
}

func TestCase_B167_a_wait_outlives_a_restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := inMemory(t, func(r *http.Request, id string) *http.Response {
			if n++; n < 6 {
				return nil // connection refused
			}
			return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":`+Task("COMPLETED", "")+`}`)
		})
		if task, err := c.Wait(t.Context(), "t1", client.WaitOptions{}); err != nil || task.Status.State != a2a.StateCompleted {
			t.Errorf("got %v", err)
		}
		n = -1000
		if _, err := c.Wait(t.Context(), "t1", client.WaitOptions{MaxErrors: 3}); client.KindOf(err) != client.KindUnreachable || n != -996 {
			t.Errorf("got %v after %d reads, want an end", err, n+1000)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		n = -1000
		if _, err := c.Wait(ctx, "t1", client.WaitOptions{}); client.KindOf(err) != client.KindTimeout {
			t.Errorf("got %v, want a timeout", err)
		}
	})
}

// TestCase_B181_retries: what may have been done is not done again.
func TestCase_B181_retries(t *testing.T) {
	done := JSON(`{"task":` + Task("COMPLETED", "x") + `}`)
	after := "Retry-After: 0"
	for _, tc := range []struct {
		name       string
		first      Script
		idempotent bool
		want       int // requests
	}{
		{"cut", Cut(), false, 1},
		{"cut_idempotent", Cut(), true, 2},
		{"502", HTTP(502, "text/html", "x"), false, 1},
		{"503", HTTP(503, "text/plain", "x"), false, 1},
		{"503_retry_after", HTTP(503, "text/plain", "x", "Retry-After: 1"), false, 2},
		{"429_retry_after", HTTP(429, "text/plain", "x", "Retry-After: 1"), false, 2},
		{"429_at_once", HTTP(429, "text/plain", "x", after), true, 2},
		{"429_much_later", HTTP(429, "text/plain", "x", "Retry-After: 3600"), false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := New(t, tc.first, done)
			c := dial(t, a.URL, client.Options{
				Retry:     client.Retry{First: time.Millisecond, Most: 2 * time.Second},
				Interface: &client.Interface{URL: a.URL + "/", Dialect: client.DialectV1, Streaming: true, Idempotent: tc.idempotent},
			})
			_, err := c.Send(context10(t), client.Text("x"), client.SendOptions{})
			got := a.Requests()
			if len(got) != tc.want || (err == nil) != (tc.want == 2) {
				t.Fatalf("got %d requests, %v, want %d", len(got), err, tc.want)
			}
			if tc.want == 2 && (string(got[0].Body) != string(got[1].Body) || got[0].Header.Get("Idempotency-Key") == "" || got[0].Header.Get("Idempotency-Key") != got[1].Header.Get("Idempotency-Key")) {
				t.Error("the second try is not the first one again")
			}
		})
	}
	t.Run("after_the_first_byte", func(t *testing.T) {
		a := New(t, func(w io.Writer, r Request, id string) {
			_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		}, done)
		c := dial(t, a.URL, client.Options{Retry: hurry})
		if _, err := c.Send(context10(t), client.Text("x"), client.SendOptions{}); client.KindOf(err) != client.KindBroken || len(a.Requests()) != 1 {
			t.Errorf("got %v after %d requests", err, len(a.Requests()))
		}
	})
	t.Run("refused", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		tries := 0
		c, err := client.New("http://"+ln.Addr().String(), client.Options{Dialect: client.DialectV1, Retry: hurry, OnNotice: func(client.Notice) { tries++ }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Send(context10(t), client.Text("x"), client.SendOptions{}); client.KindOf(err) != client.KindUnreachable || tries < 4 {
			t.Errorf("got %v after %d further tries", err, tries)
		}
	})
	t.Run("reads", func(t *testing.T) {
		a := New(t, Cut(), HTTP(502, "text/html", "x"), JSON(Task("COMPLETED", "")))
		if _, err := dial(t, a.URL, client.Options{Retry: hurry}).Get(context10(t), "t1", nil); err != nil || len(a.Requests()) != 3 {
			t.Errorf("got %v after %d requests", err, len(a.Requests()))
		}
	})
}

// inMemory returns a client whose agent is a function; a nil answer is a refused
// connection. It serves synctest, which cannot wait for sockets.
func inMemory(t *testing.T, f func(r *http.Request, id string) *http.Response) *client.Client {
	t.Helper()
	return inMemoryAs(t, client.DialectV1, f)
}

func inMemoryAs(t *testing.T, dialect string, f func(r *http.Request, id string) *http.Response) *client.Client {
	t.Helper()
	c, err := client.New("http://agent", client.Options{
		Interface: &client.Interface{URL: "http://agent/", Dialect: dialect, Streaming: true},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			resp := f(r, idOf(body))
			if resp == nil {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
			}
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			resp.Request = r
			return resp, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func idOf(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"id":`)
	end := strings.IndexAny(rest, ",}")
	return rest[:end]
}

func answer(status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}
}
