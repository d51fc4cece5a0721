package mcpserver_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/mcpserver"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probeYAML is a server whose skill does what the message says.
const probeYAML = `
store: {kind: memory}
limits: {read: {requests: 0}, write: {requests: 0}}
default_skill: probe
skills:
  - {id: probe, kind: mock, name: Probe, description: Does what the message says., tags: [test], concurrency: 1000, timeout: 10m,
     input_modes: [text/plain, application/json, application/octet-stream], output_modes: [text/plain, application/json]}
  - {id: other, kind: mock, name: Other, description: Another probe., tags: [test]}
`

// network connects clients to servers without sockets, so that a synctest bubble's
// time can pass.
type network struct {
	mu    sync.Mutex
	hosts map[string]*listener // guarded by mu
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// listen makes a host, or a new one in its place.
func (n *network) listen(host string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts == nil {
		n.hosts = map[string]*listener{}
	}
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	n.hosts[host] = l
	return l
}

// transport returns the clients' side of the network.
func (n *network) transport(t *testing.T) *http.Transport {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		host, _, _ := strings.Cut(addr, ":")
		n.mu.Lock()
		l := n.hosts[host]
		n.mu.Unlock()
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: net.UnknownNetworkError("no host " + host)}
		if l == nil {
			return nil, refused
		}
		ours, theirs := net.Pipe()
		select {
		case l.conns <- theirs:
			return ours, nil
		case <-l.closed:
			return nil, refused
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// agentServer runs a whole A2A server at a host and returns what stops it.
func (n *network) agentServer(t *testing.T, host string, edit func(*configs.Config)) (stop func()) {
	t.Helper()
	cfg, err := configs.Load(configs.Options{Data: []byte(probeYAML), Path: "probe.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Server.PublicURL = "http://" + host
	if edit != nil {
		edit(cfg)
	}
	app, err := server.New(t.Context(), server.Options{
		Config: cfg, DataDir: t.TempDir(), Log: zerolog.Nop(), Version: "test", Listener: n.listen(host),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stop %s: %v", host, err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// agent returns an agent of the network.
func (n *network) agent(t *testing.T, name, host string, edit func(*mcpserver.Agent, *client.Options)) mcpserver.Agent {
	t.Helper()
	a := mcpserver.Agent{Name: name, Description: "The agent " + name + "."}
	o := client.Options{Transport: n.transport(t)}
	if edit != nil {
		edit(&a, &o)
	}
	c, err := client.New("http://"+host, o)
	if err != nil {
		t.Fatal(err)
	}
	a.Client = c
	return a
}

// registryAt opens a registry and closes it at the end of the test.
func registryAt(t *testing.T, path string) *pending.Registry {
	t.Helper()
	r, err := pending.Open(t.Context(), pending.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// newServer makes an MCP server with a registry of its own, if it is given none.
func newServer(t *testing.T, o mcpserver.Options) *mcpserver.Server {
	t.Helper()
	if o.Registry == nil {
		o.Registry = registryAt(t, filepath.Join(t.TempDir(), "pending.db"))
	}
	o.Version = "test"
	s, err := mcpserver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// user is an MCP client, as a model uses it.
type user struct {
	t *testing.T
	*mcp.ClientSession
	// updated gets the URIs of resources that changed.
	updated chan string
}

// connect connects a client of the official SDK in memory; version "" is its newest.
func connect(t *testing.T, s *mcpserver.Server, version string) *user {
	t.Helper()
	theirs, ours := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, theirs) }()
	u := dial(t, ours, version)
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return u
}

// dial connects a client over a transport and closes it at the end of the test.
func dial(t *testing.T, tr mcp.Transport, version string) *user {
	t.Helper()
	u := &user{t: t, updated: make(chan string, 100)}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { u.updated <- req.Params.URI },
	})
	session, err := c.Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	u.ClientSession = session
	t.Cleanup(func() { session.Close() }) //nolint:errcheck // the server may be gone
	return u
}

// reply is a tool's answer.
type reply struct {
	Text  string
	Error bool
	Data  struct {
		Task *struct {
			TaskID    string `json:"task_id"`
			Agent     string
			Skill     string
			ContextID string `json:"context_id"`
			State     string
			Text      string
			Artifacts []struct {
				Name, Text string
				Data       []json.RawMessage
				Files      []struct {
					Name      string
					MediaType string `json:"media_type"`
					Bytes     int
					URL       string
					Resource  string
				}
			}
			Cut      bool
			Resource string
			Hint     string
		}
		Agents []struct {
			Name, Description, Error string
			Skills                   []struct{ ID, Description string }
		}
		Error   *struct{ Message string }
		Pending []pendingTask
		More    int `json:"more_pending"`
	}
}

type pendingTask struct {
	TaskID   string `json:"task_id"`
	Agent    string
	State    string
	Prompt   string
	Age      int `json:"age_seconds"`
	Polls    int
	Question string
	Error    string `json:"last_error"`
	Hint     string
}

// args are a tool's arguments.
type args map[string]any

// call calls a tool.
func (u *user) call(tool string, a args) reply {
	u.t.Helper()
	res, err := u.CallTool(u.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		u.t.Fatalf("%s: %v", tool, err)
	}
	if len(res.Content) != 1 {
		u.t.Fatalf("%s: got %d contents, want one", tool, len(res.Content))
	}
	r := reply{Text: res.Content[0].(*mcp.TextContent).Text, Error: res.IsError}
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &r.Data)
	}
	if err != nil {
		u.t.Fatalf("%s: %v in %s", tool, err, b)
	}
	if r.Error != (r.Data.Error != nil) {
		u.t.Errorf("%s: the answer is an error: %v, but its data says %s", tool, r.Error, b)
	}
	if !strings.Contains(r.Text, "\nPending tasks") && !strings.Contains(r.Text, "No task is pending") && !strings.HasPrefix(r.Text, "Pending tasks") {
		u.t.Errorf("%s: the answer does not end with what is pending:\n%s", tool, r.Text)
	}
	return r
}

// want fails the test unless the answer is no error and has all the words.
func (r reply) want(t *testing.T, words ...string) reply {
	t.Helper()
	if r.Error {
		t.Fatalf("got the error %s", r.Text)
	}
	for _, w := range words {
		if !strings.Contains(r.Text, w) {
			t.Errorf("got\n%s\nwant %q in it", r.Text, w)
		}
	}
	return r
}

// wantError fails the test unless the answer is an error with all the words.
func (r reply) wantError(t *testing.T, words ...string) reply {
	t.Helper()
	if !r.Error {
		t.Fatalf("got no error but\n%s", r.Text)
	}
	for _, w := range words {
		if !strings.Contains(r.Text, w) {
			t.Errorf("got\n%s\nwant %q in it", r.Text, w)
		}
	}
	return r
}
