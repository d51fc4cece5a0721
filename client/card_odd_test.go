package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// Cards that come late, move, or are not quite as they should be.

// TestCard_tried_again asks again where a gateway answers for an agent that restarts.
func TestCard_tried_again(t *testing.T) {
	good := `{"name":"x","protocolVersion":"0.3.0","url":"/rpc"}`
	for name, bad := range map[string]func(http.ResponseWriter){
		"502": func(w http.ResponseWriter) { w.WriteHeader(502) },
		"503": func(w http.ResponseWriter) { w.WriteHeader(503) },
		"429": func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1"); w.WriteHeader(429) },
		"cut": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n++; n < 3 {
					bad(w)
					return
				}
				_, _ = w.Write([]byte(good))
			}))
			defer s.Close()
			c := dial(t, s.URL, client.Options{Retry: client.Retry{First: time.Millisecond, Most: 2 * time.Second}})
			if card, err := c.Card(context10(t)); err != nil || card.Name != "x" || n != 3 {
				t.Errorf("got %v after %d requests", err, n)
			}
		})
	}
}

// TestCard_moved looks for the card anew when it is gone from where it was.
func TestCard_moved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := "/old.json"
		c, err := client.New("http://agent", client.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			switch r.URL.Path {
			case "/.well-known/agent-card.json":
				resp := answer(307, "", "")
				resp.Header.Set("Location", at)
				return resp, nil
			case at:
				return answer(200, "application/json", `{"name":"x","protocolVersion":"0.3.0","url":"/rpc"}`), nil
			}
			return answer(404, "text/plain", "gone"), nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		for _, at = range []string{"/old.json", "/new.json"} {
			card, err := c.Card(t.Context())
			if err != nil || card.URL != "http://agent"+at {
				t.Errorf("got %+v, %v, want that at %s", card, err, at)
			}
			<-time.After(2 * time.Minute)
		}
	})
}

// TestClient_interface_moved takes another interface of a new card when the one that it
// knew is gone, and keeps what it knows as long as that is answered.
func TestClient_interface_moved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, cards := "/v1", 0
		c, err := client.New("http://agent", client.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, "/.well-known/") {
				cards++
				return answer(200, "application/json", `{"name":"x","supportedInterfaces":[{"url":"`+path+`","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`), nil
			}
			if strings.HasPrefix(r.URL.Path, path+"/") {
				return answer(200, "application/json", Task("WORKING", "")), nil
			}
			return answer(404, "text/html", "<html>gone</html>"), nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		get := func() error { _, err := c.Get(t.Context(), "t1", nil); return err }
		for range 5 {
			if err := get(); err != nil {
				t.Fatal(err)
			}
			<-time.After(5 * time.Minute)
		}
		if cards != 1 {
			t.Errorf("got %d reads of the card, want one", cards)
		}
		path = "/v2"
		if err := get(); client.KindOf(err) != client.KindInvalid {
			t.Errorf("got %v, want an error once", err)
		}
		if err := get(); err != nil || cards != 2 {
			t.Errorf("got %v after %d reads of the card, want the new interface", err, cards)
		}
	})
}

// TestParseCard_lenient reads what a client needs, whatever the rest is.
func TestParseCard_lenient(t *testing.T) {
	iface := `"supportedInterfaces":[{"url":"http://h/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`
	for _, extra := range []string{
		`"version":1`, `"description":["a"]`, `"capabilities":[]`, `"capabilities":{"streaming":"yes","extensions":{}}`, `"skills":{}`,
		`"skills":["a",{"id":"s","tags":"x","examples":[{"a":1}],"inputModes":"text"}]`, `"securitySchemes":[]`, `"additionalInterfaces":{}`, `"preferredTransport":5`,
	} {
		card, err := client.ParseCard([]byte(`{"name":"x",`+iface+`,`+extra+`}`), nil)
		if err != nil {
			t.Errorf("%s: %v", extra, err)
			continue
		}
		if diff := cmp.Diff([]client.Interface{{URL: "http://h/", Dialect: "1.0"}}, card.Interfaces); diff != "" {
			t.Errorf("%s: interfaces (-want +got):\n%s", extra, diff)
		}
		if strings.Contains(extra, `"id":"s"`) && (len(card.Skills) != 1 || card.Skills[0].ID != "s") {
			t.Errorf("got skills %+v, want s", card.Skills)
		}
	}
	card, err := client.ParseCard([]byte(`{"name":"x","supportedInterfaces":[{"url":"","protocolBinding":"JSONRPC","protocolVersion":"1.0"},5]}`), nil)
	if err != nil || len(card.Interfaces) != 0 {
		t.Errorf("got %+v, %v, want no interface without a URL", card, err)
	}
}

// TestClient_withheld_token: who is refused because the token stays at home is told so.
func TestClient_withheld_token(t *testing.T) {
	other := New(t, HTTP(401, "application/json", `{"jsonrpc":"2.0","id":__ID__,"error":{"code":-32000,"message":"who are you"}}`))
	a := New(t)
	a.Card["supportedInterfaces"] = []any{map[string]any{"url": other.URL + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}}
	_, err := dial(t, a.URL, client.Options{Token: "secret-token"}).Get(context10(t), "t1", nil)
	e, ok := err.(*client.Error)
	if !ok || e.Kind != client.KindAuth || !strings.Contains(e.Hint, a.URL) || strings.Contains(fmt.Sprint(e, e.Hint), "secret-token") {
		t.Errorf("got %v with hint %q, want one that names %s", err, e.Hint, a.URL)
	}
}

// TestError_shows_no_credentials: an agent may say them back to us, however they were sent.
func TestError_shows_no_credentials(t *testing.T) {
	for _, s := range []Script{
		HTTP(401, "text/plain", "bad key secret-token"), HTTP(200, "text/html", "secret-token"), Fail(-32000, "no: secret-token"),
		HTTP(200, "application/json", `{"jsonrpc":"2.0","id":__ID__,"result":"secret-token"}`),
		HTTP(200, "application/json", `{"jsonrpc":"2.0","id":__ID__,"error":{"code":-32000,"message":"no","data":["secret-token"]}}`),
	} {
		for _, o := range []client.Options{
			{Token: "secret-token"}, {Header: http.Header{"Authorization": {"Basic secret-token"}}}, {Header: http.Header{"x-api-key": {"secret-token"}}},
		} {
			o.Dialect = client.DialectV1
			c := dial(t, New(t, s).URL, o)
			_, get := c.Get(context10(t), "t1", nil)
			var stream error
			for _, stream = range c.Subscribe(context10(t), a2a.TaskID("t1"), client.SubscribeOptions{}) {
			}
			for _, err := range []error{get, stream} {
				e, ok := err.(*client.Error)
				if !ok || strings.Contains(e.Error()+string(e.Data), "secret-token") {
					t.Errorf("got %v with %s", err, e.Data)
				}
			}
		}
	}
	// An interface's URL may have a key in its query.
	c := dial(t, "http://h", client.Options{Interface: &client.Interface{URL: "http://h/?key=secret", Dialect: client.DialectV03}})
	if _, err := c.List(context10(t), a2a.ListRequest{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
