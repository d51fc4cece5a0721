package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// The cases of K15: what a client does between its agent and its caller.

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
