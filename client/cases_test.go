package client_test

import (
	"errors"
	"fmt"
	"io"
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
		a := New(t, JSON(Task("COMPLETED", "inner")))
		named := func(at string, allow bool) error {
			c, err := client.New("http://agents.example.com", client.Options{AllowPrivate: allow, Interface: &client.Interface{URL: at, Dialect: client.DialectV1}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Get(context10(t), "t1", nil)
			return err
		}
		for _, at := range []string{a.URL, "http://169.254.169.254/", "http://[::ffff:127.0.0.1]:1/"} {
			if err := named(at, false); client.KindOf(err) != client.KindForbidden {
				t.Errorf("%s: got %v, want forbidden", at, err)
			}
		}
		if len(a.Requests()) != 0 {
			t.Error("the inner address was called")
		}
		if err := named(a.URL, true); err != nil || len(a.Requests()) != 1 {
			t.Errorf("where that is allowed: got %v after %d requests", err, len(a.Requests()))
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
