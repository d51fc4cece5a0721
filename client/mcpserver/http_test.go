package mcpserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/mcpserver"
	"github.com/skillyard/skillyard/server/servertest"
)

// realAgent is an agent on a loopback port.
func realAgent(t *testing.T, name string) mcpserver.Agent {
	t.Helper()
	s := servertest.New(t, servertest.Options{YAML: probeYAML})
	c, err := client.New(s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return mcpserver.Agent{Name: name, Client: c}
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// TestServer_HTTP serves clients of the newest version and of older ones at one URL,
// notifications included.
func TestServer_HTTP(t *testing.T) {
	for _, version := range versions {
		t.Run("version "+version, func(t *testing.T) {
			s := newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{realAgent(t, "alpha")}, WatchEvery: 10 * time.Millisecond})
			web := httptest.NewServer(s.Handler("secret"))
			t.Cleanup(web.Close)
			t.Cleanup(s.Close) // before web: streams do not end by themselves
			u := dial(t, &mcp.StreamableClientTransport{
				Endpoint: web.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{"secret", web.Client().Transport}}, MaxRetries: -1,
			}, version)
			want := version
			if want == "" {
				want = "2026-07-28"
			}
			if got := u.InitializeResult().ProtocolVersion; got != want {
				t.Errorf("got the version %q, want %q", got, want)
			}
			if err := u.Subscribe(t.Context(), &mcp.SubscribeParams{URI: mcpserver.PendingURI}); err != nil {
				t.Fatal(err)
			}
			id := u.call("a2a_send", args{"text": "@ask"}).want(t, "Pending tasks (1)").Data.Task.TaskID
			if uri := <-u.updated; uri != mcpserver.PendingURI {
				t.Errorf("got an update of %s", uri)
			}
			u.call("a2a_poll", args{"wait_seconds": 20}).want(t, "input-required")
			u.call("a2a_reply", args{"task_id": id, "text": "blue"})
			r := u.call("a2a_poll", args{"task_id": id, "wait_seconds": 20}).want(t, "blue", "No task is pending.")
			if c, err := u.read(r.Data.Task.Resource); err != nil || !strings.Contains(c.Text, "blue") {
				t.Errorf("got %v, %v", c, err)
			}
		})
	}
}

// TestServer_Handler_refuses looks for ways in from web pages and without the token.
func TestServer_Handler_refuses(t *testing.T) {
	s := newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{realAgent(t, "alpha")}})
	open := httptest.NewServer(s.Handler(""))
	t.Cleanup(open.Close)
	locked := httptest.NewServer(s.Handler("secret"))
	t.Cleanup(locked.Close)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, c := range []struct {
		name, method, url string
		headers           []string
		want              int
	}{
		{"a client", "POST", open.URL + "/mcp", nil, 200},
		{"a page of its own origin", "POST", open.URL + "/mcp", []string{"Origin: " + open.URL}, 200},
		{"a page of another origin", "POST", open.URL + "/mcp", []string{"Origin: https://evil.example.com"}, 403},
		{"a page of another origin listens", "GET", open.URL + "/mcp", []string{"Origin: https://evil.example.com"}, 403},
		{"a page of another site", "POST", open.URL + "/mcp", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"another host's name", "POST", open.URL + "/mcp", []string{"Host: evil.example.com"}, 403},
		{"another host's name, stateless", "POST", open.URL + "/mcp", []string{"Host: evil.example.com", "Mcp-Protocol-Version: 2026-07-28"}, 403},
		{"another path", "POST", open.URL + "/", nil, 404},
		{"no token", "POST", locked.URL + "/mcp", nil, 401},
		{"a wrong token", "POST", locked.URL + "/mcp", []string{"Authorization: Bearer secret2"}, 401},
		{"a wrong scheme", "POST", locked.URL + "/mcp", []string{"Authorization: Basic secret"}, 401},
		{"the token", "POST", locked.URL + "/mcp", []string{"Authorization: bearer secret"}, 200},
		{"a session that is gone", "POST", open.URL + "/mcp", []string{"Mcp-Session-Id: of-another-process"}, 404},
		{"a version to come", "POST", open.URL + "/mcp", []string{"Mcp-Protocol-Version: 2099-01-01"}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(ping))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for _, h := range c.headers {
				name, value, _ := strings.Cut(h, ": ")
				if name == "Host" {
					req.Host = value
				}
				req.Header.Set(name, value)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close() //nolint:errcheck // read to the end
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != c.want {
				t.Errorf("got %s %s, %v, want %d", res.Status, body, err, c.want)
			}
			if (res.StatusCode == 401) != (res.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("got %d with WWW-Authenticate %q", res.StatusCode, res.Header.Get("WWW-Authenticate"))
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestServer_tools shows what clients are offered.
func TestServer_tools(t *testing.T) {
	s := newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{realAgent(t, "alpha"), realAgent(t, "beta")}})
	u := connect(t, s, "")
	res, err := u.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	hints := map[string]string{}
	for _, tool := range res.Tools {
		a := tool.Annotations
		h := ""
		for _, x := range []struct {
			set  bool
			word string
		}{{a.ReadOnlyHint, "r"}, {*a.DestructiveHint, "d"}, {a.IdempotentHint, "i"}, {*a.OpenWorldHint, "o"}} {
			if x.set {
				h += x.word
			}
		}
		hints[tool.Name] = h
		in := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		if names, _ := in["agent"].(map[string]any)["enum"].([]any); len(names) != 2 {
			t.Errorf("%s: the agents are not named in %v", tool.Name, in["agent"])
		}
		if tool.Description == "" || tool.Title == "" || tool.OutputSchema == nil {
			t.Errorf("%s lacks its description, title or output schema", tool.Name)
		}
		if d, ok := in["data"].(map[string]any); ok && d["type"] != "object" {
			t.Errorf("%s: data is %v", tool.Name, d)
		}
	}
	want := map[string]string{"a2a_send": "o", "a2a_poll": "rio", "a2a_reply": "o", "a2a_cancel": "dio", "a2a_pending": "ri", "a2a_agents": "rio"}
	for name, h := range want {
		if got := hints[name]; got != h {
			t.Errorf("%s: got the hints %q, want %q", name, got, h)
		}
	}
	if len(hints) != len(want) {
		t.Errorf("got the tools %v", hints)
	}
	if text := u.InitializeResult().Instructions; !strings.Contains(text, "- alpha") || !strings.Contains(text, "a2a_reply") {
		t.Errorf("got the instructions %s", text)
	}
}

func TestNew_refuses(t *testing.T) {
	c, err := client.New("http://127.0.0.1:1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := registryAt(t, t.TempDir()+"/pending.db")
	for want, o := range map[string]mcpserver.Options{
		"the registry is missing":    {Agents: []mcpserver.Agent{{Name: "a", Client: c}}},
		"there are no agents":        {Registry: r},
		`agent "A" is there twice`:   {Registry: r, Agents: []mcpserver.Agent{{Name: "a", Client: c}, {Name: "A", Client: c}}},
		"lacks its name or its clie": {Registry: r, Agents: []mcpserver.Agent{{Name: "a"}}},
	} {
		if _, err := mcpserver.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
