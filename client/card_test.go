package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
)

func TestNormalURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://H.Example:80/": "http://h.example", "HTTPS://h:443/a/b/": "https://h/a/b", "http://h:8080/x/?y=z#f": "http://h:8080/x?y=z", "http://h/?": "http://h",
		"localhost:8080": "http://localhost:8080", "agent:8000/a2a/": "http://agent:8000/a2a", "127.0.0.1": "http://127.0.0.1",
		"agents.example.com": "https://agents.example.com", "agents.example.com/x": "https://agents.example.com/x", "agents.example.com:8080": "http://agents.example.com:8080",
		"agents.example.com:443": "https://agents.example.com", "[::1]:9": "http://[::1]:9", "[::1]": "http://[::1]", " http://h ": "http://h", "http://h:": "http://h",
	} {
		got, err := client.NormalURL(in)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", " ", "ftp://h", "http://", "http:///x", "http://u:secret@h/", "http://h:x/", "a b", "http://%zz"} {
		_, err := client.NormalURL(in)
		if client.KindOf(err) != client.KindUsage {
			t.Errorf("%q: got %v, want usage", in, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", in, err)
		}
	}
}

func TestParseCard_interfaces(t *testing.T) {
	at, _ := url.Parse("http://real:9000/a2a/.well-known/agent.json")
	for _, tc := range []struct {
		name, card string
		want       []client.Interface
		others     []string
	}{
		{"1.0", `{"name":"x","supportedInterfaces":[
			{"url":"grpc://h","protocolBinding":"GRPC","protocolVersion":"1.0"},
			{"url":"http://h/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
			{"url":"http://h/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"acme"},
			{"url":"http://h/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.1"}]}`,
			[]client.Interface{{URL: "http://h/rest", Dialect: "rest", Tenant: "acme"}, {URL: "http://h/rpc", Dialect: "1.0"}, {URL: "http://h/old", Dialect: "0.3"}},
			[]string{"GRPC 1.0"}},
		{"0.3", `{"name":"x","protocolVersion":"0.3.0","url":"http://h/","capabilities":{"streaming":true},
			"additionalInterfaces":[{"url":"http://h/","transport":"JSONRPC"},{"url":"http://h/r","transport":"HTTP+JSON"},{"url":"h:1","transport":"GRPC"}]}`,
			[]client.Interface{{URL: "http://h/", Dialect: "0.3", Streaming: true}, {URL: "http://h/r", Dialect: "rest-0.3", Streaming: true}}, []string{"GRPC 0.3.0"}},
		{"0.3_rest_first", `{"name":"x","protocolVersion":"0.3.0","url":"http://h/r","preferredTransport":"HTTP+JSON"}`, []client.Interface{{URL: "http://h/r", Dialect: "rest-0.3"}}, nil},
		{"relative", `{"name":"x","supportedInterfaces":[{"url":"../rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
			[]client.Interface{{URL: "http://real:9000/a2a/rpc", Dialect: "1.0"}}, nil},
		// FastA2A says where it believes to be.
		{"fasta2a", `{"name":"T","url":"http://localhost:8000","protocolVersion":"0.2.5","capabilities":{"streaming":false}}`,
			[]client.Interface{{URL: "http://real:9000/a2a/", Dialect: "0.3"}}, nil},
		{"fasta2a_right", `{"name":"T","url":"http://real:9000/a2a","protocolVersion":"0.2.5"}`, []client.Interface{{URL: "http://real:9000/a2a", Dialect: "0.3"}}, nil},
		{"emm", `{"name":"EMM","url":"http://h:8000/api/a2a/tasks","capabilities":{"streaming":true},"skills":[{"id":"weekly_report","name":"W"}]}`,
			[]client.Interface{{URL: "http://h:8000/api/a2a/tasks", Dialect: "emm", Streaming: true}}, nil},
		{"api_key", `{"name":"x","protocolVersion":"0.3.0","url":"http://h/","securitySchemes":{"k":{"type":"apiKey","in":"header","name":"X-Key"}}}`,
			[]client.Interface{{URL: "http://h/", Dialect: "0.3", TokenHeader: "X-Key"}}, nil},
		{"api_key_1.0", `{"name":"x","supportedInterfaces":[{"url":"http://h/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"header","name":"X-Key"}}}}`,
			[]client.Interface{{URL: "http://h/", Dialect: "1.0", TokenHeader: "X-Key"}}, nil},
		{"bearer", `{"name":"x","protocolVersion":"0.3.0","url":"http://h/","securitySchemes":{"k":{"type":"http","scheme":"bearer"},"q":{"type":"apiKey","in":"query","name":"k"}}}`,
			[]client.Interface{{URL: "http://h/", Dialect: "0.3", TokenHeader: "Authorization"}}, nil},
		{"both", `{"name":"x","protocolVersion":"0.3.0","url":"http://h/","securitySchemes":{"k":{"type":"http","scheme":"bearer"},"q":{"type":"apiKey","in":"header","name":"X-API-Key"}}}`,
			[]client.Interface{{URL: "http://h/", Dialect: "0.3"}}, nil},
		{"odd_members", `{"name":"x","protocolVersion":"0.3.0","url":"http://h/","skills":null,"provider":5,"icon":[],"securitySchemes":{"k":5}}`,
			[]client.Interface{{URL: "http://h/", Dialect: "0.3"}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			card, err := client.ParseCard([]byte(tc.card), at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, card.Interfaces); diff != "" {
				t.Errorf("interfaces (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.others, card.Others); diff != "" {
				t.Errorf("others (-want +got):\n%s", diff)
			}
		})
	}
	for _, body := range []string{"", "x", "[]", "{}", `"x"`, "null", `{"detail":"Not Found"}`, "<html>"} {
		if _, err := client.ParseCard([]byte(body), at); client.KindOf(err) != client.KindNoCard {
			t.Errorf("%q: got %v, want no card", body, err)
		}
	}
}

// TestClient_Card_places finds the card of a base, below a mount, and further up, under
// both names, and says where it looked.
func TestClient_Card_places(t *testing.T) {
	var asked []string
	where := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.URL.Path != where {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>everything is here</html>")) // as single page apps do
			return
		}
		_, _ = w.Write([]byte(`{"name":"x","protocolVersion":"0.3.0","url":"/rpc"}`))
	}))
	defer s.Close()
	for _, tc := range []struct {
		url, card string
		asks      int
	}{
		{"", "/.well-known/agent-card.json", 1}, {"", "/.well-known/agent.json", 2}, {"/a2a", "/a2a/.well-known/agent.json", 2},
		{"/api/a2a/tasks", "/api/.well-known/agent.json", 6}, {"/api/a2a/tasks", "/.well-known/agent-card.json", 7}, {"/x/card.json", "/x/card.json", 1},
	} {
		asked, where = nil, tc.card
		c := dial(t, s.URL+tc.url, client.Options{})
		card, err := c.Card(context10(t))
		if err != nil || len(asked) != tc.asks || card.URL != s.URL+tc.card {
			t.Errorf("%s: got %+v, %v after %v", tc.url, card, err, asked)
		}
	}
	where = "nowhere"
	_, err := dial(t, s.URL, client.Options{}).Send(context10(t), client.Text("x"), client.SendOptions{})
	e, ok := err.(*client.Error)
	if !ok || e.Kind != client.KindNoCard || !strings.Contains(e.Hint, "/.well-known/agent-card.json") {
		t.Errorf("got %v, want a hint where a card belongs", err)
	}
}

// TestClient_Card_query: the query of a URL may be what tells the agents of a host apart.
func TestClient_Card_query(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/agent-card.json" || r.URL.Query().Get("assistant") == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"name":"x","protocolVersion":"0.3.0","url":"/a2a/` + r.URL.Query().Get("assistant") + `"}`))
	}))
	defer s.Close()
	for _, given := range []string{"/.well-known/agent-card.json?assistant=one", "/a2a/?assistant=two", "?assistant=three"} {
		c := dial(t, s.URL+given, client.Options{})
		i, err := c.Interface(context10(t))
		if _, want, _ := strings.Cut(given, "="); err != nil || i.URL != s.URL+"/a2a/"+want {
			t.Errorf("%s: got %+v, %v", given, i, err)
		}
	}
	c := dial(t, s.URL+"/rpc?v=1", client.Options{Dialect: client.DialectV03})
	if i, err := c.Interface(context10(t)); err != nil || i.URL != s.URL+"/rpc?v=1" {
		t.Errorf("without a card: got %+v, %v", i, err)
	}
}

// TestClient_Card_itself: an agent may have its card at a place of its own, but not all
// that answers there is one.
func TestClient_Card_itself(t *testing.T) {
	body := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/agents/7/card" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	for _, tc := range []struct {
		body, want string
		kind       client.Kind
	}{
		{`{"name":"x","protocolVersion":"0.3.0","url":"../a2a"}`, "/v1/agents/a2a", ""},
		{`{"name":"the API's root"}`, "", client.KindNoCard},
		{`<html>`, "", client.KindNoCard},
	} {
		body = tc.body
		i, err := dial(t, s.URL+"/v1/agents/7/card", client.Options{}).Interface(context10(t))
		if client.KindOf(err) != tc.kind || err == nil && i.URL != s.URL+tc.want {
			t.Errorf("%s: got %+v, %v", tc.body, i, err)
		}
	}
}

// TestClient_Card_cached asks with the ETag, and not before the card is old.
func TestClient_Card_cached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var etags []string
		c, err := client.New("http://agent", client.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			etags = append(etags, r.Header.Get("If-None-Match"))
			resp := answer(200, "application/json", `{"name":"x","protocolVersion":"0.3.0","url":"/rpc"}`)
			if r.Header.Get("If-None-Match") == `"1"` {
				resp = answer(304, "", "")
			}
			resp.Header.Set("ETag", `"1"`)
			resp.Header.Set("Cache-Control", "public, max-age=300")
			return resp, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			card, err := c.Card(t.Context())
			if err != nil || card.Name != "x" {
				t.Fatalf("got %+v, %v", card, err)
			}
			<-time.After(time.Minute)
		}
		if diff := cmp.Diff([]string{"", `"1"`, `"1"`}, etags); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// TestClient_tenant echoes what the card wants to have sent along.
func TestClient_tenant(t *testing.T) {
	for d, want := range map[string]string{client.DialectV1: "/", client.DialectRest: "/acme%2Fx/message:send"} {
		a := New(t, By(map[string]Script{"SendMessage": JSON(`{"task":` + Task("COMPLETED", "") + `}`), "": HTTP(200, "application/json", `{"task":`+Task("COMPLETED", "")+`}`)}))
		c := dial(t, a.URL, client.Options{Interface: &client.Interface{URL: a.URL, Dialect: d, Tenant: "acme/x"}})
		if _, err := c.Send(context10(t), client.Text("x"), client.SendOptions{}); err != nil {
			t.Fatal(err)
		}
		r := a.Requests()[0]
		var body struct{ Params struct{ Tenant string } }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if r.Path != want || (body.Params.Tenant == "acme/x") != (d == client.DialectV1) {
			t.Errorf("%s: got %s and tenant %q", d, r.Path, body.Params.Tenant)
		}
	}
}

// TestClient_hostile_ids keeps an id from another path.
func TestClient_hostile_ids(t *testing.T) {
	a := New(t, HTTP(404, "application/json", `{"error":{"code":404,"status":"NOT_FOUND","message":"no"}}`))
	c := dial(t, a.URL, client.Options{Interface: &client.Interface{URL: a.URL + "/rest", Dialect: client.DialectRest}})
	for _, id := range []string{"../../admin", "a/b", "a?x=y", "a#b", "a%2fb", "..", "a b"} {
		_, err := c.Get(context10(t), a2a.TaskID(id), nil)
		want := client.KindTaskNotFound
		if id == ".." {
			want = client.KindUsage
		}
		if client.KindOf(err) != want {
			t.Errorf("%q: got %v", id, err)
		}
	}
	for _, r := range a.Requests() {
		if !strings.HasPrefix(r.Path, "/rest/tasks/") || strings.Count(r.Path, "/") != 3 {
			t.Errorf("an id led to %s", r.Path)
		}
	}
}
