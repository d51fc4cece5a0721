package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// stuck is an answer whose body begins and then says nothing until its request is over.
func stuck(r *http.Request, contentType, begin string) *http.Response {
	resp := answer(200, contentType, "")
	pr, pw := io.Pipe()
	go func() {
		_, _ = io.WriteString(pw, begin)
		<-r.Context().Done()
		_ = pw.CloseWithError(r.Context().Err())
	}()
	resp.Body = pr
	return resp
}

// TestClient_ended_within_a_body says who ended a call, also in the middle of an answer.
func TestClient_ended_within_a_body(t *testing.T) {
	frame := func(id string) string {
		return strings.ReplaceAll(Frame(`{"task":`+Task("WORKING", "")+`}`), "__ID__", id)
	}
	for _, tc := range []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		kind client.Kind
		is   error
	}{
		{"canceled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, client.KindCanceled, context.Canceled},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, client.KindTimeout, context.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				c := inMemory(t, func(r *http.Request, id string) *http.Response {
					requests++
					if strings.Contains(r.Header.Get("Accept"), "event-stream") {
						return stuck(r, "text/event-stream", frame(id))
					}
					return stuck(r, "application/json", "{")
				})
				for name, call := range map[string]func(context.Context) error{
					"get": func(ctx context.Context) error { _, err := c.Get(ctx, "t1", nil); return err },
					"send": func(ctx context.Context) error {
						_, err := c.Send(ctx, client.Text("x"), client.SendOptions{})
						return err
					},
					"wait": func(ctx context.Context) error { _, err := c.Wait(ctx, "t1", client.WaitOptions{}); return err },
					"stream": func(ctx context.Context) (last error) {
						for _, last = range c.Stream(ctx, client.Text("x"), client.SendOptions{}) {
						}
						return last
					},
				} {
					requests = 0
					ctx, cancel := tc.end(t.Context())
					err := call(ctx)
					cancel()
					if client.KindOf(err) != tc.kind || !errors.Is(err, tc.is) || requests != 1 {
						t.Errorf("%s: got %q %v after %d requests, want %s after one", name, client.KindOf(err), err, requests, tc.kind)
					}
				}
			})
		})
	}
}

// TestClient_slow_body: the time for an answer holds for its body, and is a time limit.
func TestClient_slow_body(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := inMemory(t, func(r *http.Request, _ string) *http.Response { return stuck(r, "application/json", "{") })
		_, err := c.Cancel(t.Context(), "t1")
		if took := time.Since(start); client.KindOf(err) != client.KindTimeout || took != time.Minute {
			t.Errorf("got %q %v after %v, want a timeout after a minute", client.KindOf(err), err, took)
		}
	})
}

// TestClient_ended_between_tries: who gives up in the pause before the next try is told so,
// and what the last one failed with.
func TestClient_ended_between_tries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, func(*http.Request, string) *http.Response { return nil })
		for name, call := range map[string]func(context.Context) error{
			"get": func(ctx context.Context) error { _, err := c.Get(ctx, "t1", nil); return err },
			"stream": func(ctx context.Context) (last error) {
				for _, last = range c.Stream(ctx, client.Text("x"), client.SendOptions{}) {
				}
				return last
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			err := call(ctx)
			if client.KindOf(err) != client.KindCanceled || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cannot connect") {
				t.Errorf("%s: got %q %v, want canceled, with the last failure", name, client.KindOf(err), err)
			}
		}
	})
}
