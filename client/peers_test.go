package client_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// What the servers of the SDKs do.

// TestStream_refused_with_work_begun: the JS SDK refuses with -32004 a stream that begins
// with a status, when the work is under way. The message is sent again only where the
// error tells that nothing was done, or where nobody said that the agent streams.
func TestStream_refused_with_work_begun(t *testing.T) {
	again := "SendStreamingMessage SendMessage"
	for _, tc := range []struct {
		name    string
		refusal Script
		iface   client.Interface
		want    string
	}{
		{"unsupported", Fail(-32004, "Received statusUpdate before initial Task"), client.Interface{Streaming: true}, "SendStreamingMessage"},
		{"unsupported_idempotent", Fail(-32004, "no"), client.Interface{Streaming: true, Idempotent: true}, again},
		{"unsupported_guessed", Fail(-32004, "no"), client.Interface{Streaming: true, Guessed: true}, again},
		{"no_method", Fail(-32601, "no"), client.Interface{Streaming: true}, again},
		{"405", HTTP(405, "text/plain", "no"), client.Interface{Streaming: true}, again},
	} {
		a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("COMPLETED", "") + `}`), "SendStreamingMessage": tc.refusal}))
		tc.iface.URL, tc.iface.Dialect = a.URL, client.DialectV1
		_, _, err := follow(t, dial(t, a.URL, client.Options{Interface: &tc.iface, Retry: hurry}))
		var methods []string
		for _, r := range a.Requests() {
			methods = append(methods, r.RPC())
		}
		if got := strings.Join(methods, " "); got != tc.want || (err == nil) != (tc.want == again) {
			t.Errorf("%s: got %s, %v, want %s", tc.name, got, err, tc.want)
		}
		if e, ok := err.(*client.Error); ok && e.Hint == "" {
			t.Errorf("%s: the error does not say that the work may have begun", tc.name)
		}
	}
}

// TestSetPush_rest03 says a webhook so that the servers of the Python and the JS SDK read
// it, and those that follow what the JS client sends.
func TestSetPush_rest03(t *testing.T) {
	a := New(t, HTTP(200, "application/json", `{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":{"id":"p1","url":"http://h"}}`))
	c := dial(t, a.URL, client.Options{Dialect: client.DialectRest03})
	if _, err := c.SetPush(context10(t), a2a.PushConfig{TaskID: "t1", ID: "p1", URL: "http://h"}); err != nil {
		t.Fatal(err)
	}
	type config struct {
		Name string
		Push struct{ ID, URL string } `json:"pushNotificationConfig"`
	}
	var got struct {
		config
		Parent, ConfigID string
		Config           config
	}
	if err := json.Unmarshal(a.Requests()[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	name := "tasks/t1/pushNotificationConfigs/p1"
	if got.Parent != "tasks/t1" || got.ConfigID != "p1" || got.Name != name || got.Config.Name != name || got.Push.URL != "http://h" || got.Config.Push.URL != "http://h" {
		t.Errorf("got %s", a.Requests()[0].Body)
	}
}

// TestDeletePush_without_result: the Python SDK leaves a result of null out in 0.3.
func TestDeletePush_without_result(t *testing.T) {
	for body, good := range map[string]bool{`{"jsonrpc":"2.0","id":__ID__}`: true, `{"jsonrpc":"2.0","id":"another"}`: false, `{}`: false} {
		a := New(t, HTTP(200, "application/json", body))
		c := dial(t, a.URL, client.Options{Dialect: client.DialectV03})
		if err := c.DeletePush(context10(t), "t1", "p1"); (err == nil) != good {
			t.Errorf("%s: got %v", body, err)
		}
		if _, err := c.Get(context10(t), "t1", nil); client.KindOf(err) != client.KindInvalid {
			t.Errorf("get %s: got %v, want invalid", body, err)
		}
	}
}

// TestError_odd_shapes reads errors that lack something.
func TestError_odd_shapes(t *testing.T) {
	for body, want := range map[string]client.Kind{
		`{"jsonrpc":"2.0","id":__ID__,"error":{"code":-32603,"message":"Task not found: t1"}}`: client.KindTaskNotFound, // JS SDK 0.3
		`{"jsonrpc":"2.0","id":__ID__,"error":{"code":-32601}}`:                                client.KindUnsupported,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":""}}`:                     client.KindRefused,
		`{"jsonrpc":"2.0","id":__ID__,"error":{}}`:                                             client.KindInvalid,
	} {
		_, err := dial(t, New(t, HTTP(200, "application/json", body)).URL, client.Options{}).Get(context10(t), "t1", nil)
		if client.KindOf(err) != want {
			t.Errorf("%s: got %q %v, want %s", body, client.KindOf(err), err, want)
		}
	}
}

// TestGetPush_authentication returns the scheme and the credentials that an agent shows.
func TestGetPush_authentication(t *testing.T) {
	want := &a2a.PushConfig{TaskID: "t1", ID: "p", URL: "http://h", Scheme: "Bearer", Credentials: "x"}
	for d, result := range map[string]string{
		client.DialectV1:  `{"taskId":"t1","id":"p","url":"http://h","authentication":{"scheme":"Bearer","credentials":"x"}}`,
		client.DialectV03: `{"taskId":"t1","pushNotificationConfig":{"id":"p","url":"http://h","authentication":{"schemes":["Bearer"],"credentials":"x"}}}`,
	} {
		got, err := dial(t, New(t, JSON(result)).URL, client.Options{Dialect: d}).GetPush(context10(t), "t1", "p")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d, diff)
		}
	}
}

// TestClient_500_closes: some servers close the connection behind an answer of 500
// without saying so. The next message would be lost on it, and could not be repeated.
func TestClient_500_closes(t *testing.T) {
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := dial(t, s.URL, client.Options{Interface: &client.Interface{URL: s.URL, Dialect: client.DialectV1}})
	for range 3 {
		if _, err := c.Send(context10(t), client.Text("x"), client.SendOptions{}); client.KindOf(err) != client.KindBroken {
			t.Fatal(err)
		}
	}
	if got := conns.Load(); got != 3 {
		t.Errorf("got %d connections, want one for each message", got)
	}
}
