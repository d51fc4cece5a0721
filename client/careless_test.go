package client_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// What careless callers do.

// TestNew_headers refuses what a header cannot carry at once, and without showing it; a
// token read from a file often ends with a line break.
func TestNew_headers(t *testing.T) {
	for name, opts := range map[string]client.Options{
		"token":      {Token: "secret\nX-Evil: 1"},
		"header":     {Header: http.Header{"X-Team": {"secret\r\nX-Evil: 1"}}},
		"name":       {Header: http.Header{"X Team": {"secret"}}},
		"user_agent": {UserAgent: "x\ny"},
		"extension":  {Extensions: []string{"https://x\r\nX-Evil: 1"}},
	} {
		_, err := client.New("http://h", opts)
		if client.KindOf(err) != client.KindUsage || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want usage without the secret", name, err)
		}
	}
	c := dial(t, "http://h", client.Options{Dialect: client.DialectV1})
	if _, err := c.Send(context10(t), client.Text("x"), client.SendOptions{Key: "a\nb"}); client.KindOf(err) != client.KindUsage {
		t.Errorf("key: got %v, want usage", err)
	}
}

// TestNew_keeps_options: what the caller does with its options later changes nothing.
func TestNew_keeps_options(t *testing.T) {
	a := New(t, JSON(Task("COMPLETED", "")))
	h := http.Header{"X-Team": {"one"}}
	c := dial(t, a.URL, client.Options{Header: h, Dialect: client.DialectV1})
	h.Set("X-Team", "two")
	if _, err := c.Get(context10(t), "t1", nil); err != nil {
		t.Fatal(err)
	}
	if got := a.Requests()[0].Header.Get("X-Team"); got != "one" {
		t.Errorf("got %q, want one", got)
	}
}

// TestClient_empty_ids: over HTTP+JSON a task without an id would be the list of all.
func TestClient_empty_ids(t *testing.T) {
	for _, d := range client.Dialects() {
		a := New(t, HTTP(200, "application/json", `{}`))
		c := dial(t, a.URL, client.Options{Interface: &client.Interface{URL: a.URL, Dialect: d, Streaming: true}})
		ctx := context10(t)
		errs := map[string]error{}
		_, errs["get"] = c.Get(ctx, "", nil)
		_, errs["cancel"] = c.Cancel(ctx, "")
		_, errs["wait"] = c.Wait(ctx, "", fast)
		for _, err := range c.Subscribe(ctx, "", client.SubscribeOptions{}) {
			errs["subscribe"] = err
		}
		if d != client.DialectEMM {
			_, errs["set_push"] = c.SetPush(ctx, a2a.PushConfig{URL: "http://h"})
			_, errs["get_push"] = c.GetPush(ctx, "", "p")
			_, errs["list_push"] = c.ListPush(ctx, "")
			errs["delete_push"] = c.DeletePush(ctx, "t1", "")
		}
		for op, err := range errs {
			if client.KindOf(err) != client.KindUsage {
				t.Errorf("%s %s: got %v, want usage", d, op, err)
			}
		}
		if len(a.Requests()) != 0 {
			t.Errorf("%s: %d requests went out", d, len(a.Requests()))
		}
	}
}

// TestClient_metadata keeps the metadata of messages and parts, whatever is added.
func TestClient_metadata(t *testing.T) {
	for _, d := range []string{client.DialectV1, client.DialectV03, client.DialectRest03} {
		a := New(t, HTTP(200, "application/json", `{"jsonrpc":"2.0","id":__ID__,"result":{"task":`+Task("COMPLETED", "")+`}}`))
		c := dial(t, a.URL, client.Options{Dialect: d})
		m := client.Message{Skill: "s", Metadata: json.RawMessage("null"), Parts: []a2a.Part{
			{Kind: a2a.PartData, Data: json.RawMessage(`[1]`), Metadata: json.RawMessage(`{"mine":1}`)},
			{Kind: a2a.PartData, Data: json.RawMessage(" {\"a\":1}")},
		}}
		_, _ = c.Send(context10(t), m, client.SendOptions{}) // the answer fits one of them only
		body := string(a.Requests()[0].Body)
		if !strings.Contains(body, `"skillId":"s"`) || !strings.Contains(body, `"mine":1`) {
			t.Errorf("%s: got %s, want the skill and the part's metadata", d, body)
		}
		if strings.Contains(body, `"value":{"a":1}`) {
			t.Errorf("%s: an object was wrapped: %s", d, body)
		}
	}
}

// TestWait_odd_times: negative times and times that an agent asks for are bounded.
func TestWait_odd_times(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), 0
		c := inMemory(t, func(_ *http.Request, id string) *http.Response {
			switch n++; n {
			case 1:
				return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":`+Task("WORKING", "")+`}`)
			case 2:
				resp := answer(429, "text/plain", "go away")
				resp.Header.Set("Retry-After", "2000000000")
				return resp
			}
			return answer(200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":`+Task("COMPLETED", "")+`}`)
		})
		_, err := c.Wait(t.Context(), "t1", client.WaitOptions{First: -time.Second, Most: -time.Second})
		if took := time.Since(start); err != nil || took > 10*time.Minute {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// TestLimits_none takes the largest limit for what it says.
func TestLimits_none(t *testing.T) {
	a := New(t, JSON(Task("COMPLETED", "x")))
	c := dial(t, a.URL, client.Options{Limits: client.Limits{Answer: math.MaxInt64, Card: math.MaxInt64}})
	task, err := c.Get(context10(t), "t1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("x", words(task)); diff != "" {
		t.Error(diff)
	}
}

// TestRetry_at_once: a first pause below zero is none.
func TestRetry_at_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), 0
		c, err := client.New("http://agent", client.Options{
			Dialect: client.DialectRest, Retry: client.Retry{First: -1},
			Interface: &client.Interface{URL: "http://agent", Dialect: client.DialectRest},
			Transport: roundTrip(func(*http.Request) (*http.Response, error) { n++; return answer(502, "text/plain", "x"), nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Get(t.Context(), "t1", nil); err == nil || n != 5 || time.Since(start) > time.Millisecond {
			t.Errorf("got %v after %d tries and %v, want five at once", err, n, time.Since(start))
		}
	})
}
