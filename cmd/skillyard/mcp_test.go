package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// mcpProcess starts "skillyard mcp" as a process of its own, and a client for it.
func mcpProcess(t *testing.T, home string) (*exec.Cmd, *mcp.ClientSession, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command("skillyard", "mcp")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "PROBE_TOKEN=token-of-alice")
	cmd.Stderr = &log
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	t.Cleanup(func() { session.Close() }) //nolint:errcheck // it may have been killed
	return cmd, session, &log
}

// callMCP calls a tool and returns the text of its answer and the task's id.
func callMCP(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text, id string) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text = res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		t.Fatalf("%s: %s", tool, text)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Task struct {
			ID string `json:"task_id"`
		}
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return text, out.Task.ID
}

// TestMCP_killed kills the process between the send and the poll: the next one knows
// the task and collects its result.
func TestMCP_killed(t *testing.T) {
	server := servertest.New(t, servertest.Options{YAML: `
auth: {keys: [{name: alice, key: token-of-alice}]}
default_skill: probe
skills: [{id: probe, kind: mock}]
`})
	home := agentsHome(t, server.URL, "")
	cmd, first, _ := mcpProcess(t, home)
	_, id := callMCP(t, first, "a2a_send", map[string]any{"text": "@ask"})
	if id == "" {
		t.Fatal("the send has no task id")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err == nil {
		t.Error("the process ended well, though it was killed")
	}

	_, second, log := mcpProcess(t, home)
	if text, _ := callMCP(t, second, "a2a_pending", nil); !strings.Contains(text, id) {
		t.Errorf("got %s, want the task %s", text, id)
	}
	callMCP(t, second, "a2a_poll", map[string]any{"wait_seconds": 20})
	callMCP(t, second, "a2a_reply", map[string]any{"task_id": id, "text": "blue"})
	if text, _ := callMCP(t, second, "a2a_poll", map[string]any{"task_id": id, "wait_seconds": 20}); !strings.Contains(text, "blue") {
		t.Errorf("got %s, want the result", text)
	}
	// The client leaves, and the process ends by itself.
	if err := second.Close(); err != nil {
		t.Errorf("close: %v\n%s", err, log.String())
	}
	if log.Len() > 0 {
		t.Errorf("the log is not empty:\n%s", log.String())
	}
}

// TestMCP_signal ends the server by its context, as a signal does, while its client
// stays. Until then nothing but the protocol is on standard output.
func TestMCP_signal(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "agents.yaml")
	if err := os.WriteFile(file, []byte("agents: [{name: a, url: 'http://127.0.0.1:1'}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	var errOut bytes.Buffer
	p := &program{in: in, out: out, err: &errOut, env: map[string]string{"HOME": home}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- p.serveMCP(ctx, mcpFlags{agents: file})
		out.Close() //nolint:errcheck // never fails
	}()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if _, err := io.WriteString(feed, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(answers)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"jsonrpc":"2.0","id":1,"result":`) {
		t.Fatalf("got %q, %v\n%s", lines.Text(), lines.Err(), errOut.String())
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("got %v\n%s", err, errOut.String())
	}
	for lines.Scan() {
		t.Errorf("got %q after the end", lines.Text())
	}
}

// TestMCP_docs reads the files that docs/mcp.md shows.
func TestMCP_docs(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) []byte {
		_, after, ok := strings.Cut(string(doc), "```"+language+"\n")
		text, _, closed := strings.Cut(after, "```")
		if !ok || !closed {
			t.Fatalf("no %s in docs/mcp.md", language)
		}
		return []byte(text)
	}
	var clients struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(block("json"), &clients); err != nil {
		t.Fatal(err)
	}
	entry := clients.Servers["agents"]
	agents, err := configs.LoadAgents(configs.AgentsOptions{Path: "docs/mcp.md", Data: block("yaml"), Env: entry.Env})
	if err != nil || len(agents.Agents) != 2 || entry.Command != "skillyard" || len(entry.Args) != 1 {
		t.Errorf("got %v, %v, %+v", agents, err, entry)
	}
	for _, a := range agents.Agents {
		if _, err := mcpAgent(a); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
}

func TestMCPAddr(t *testing.T) {
	for _, c := range []struct {
		addr      string
		protected bool
		want      string
	}{
		{":8090", false, "127.0.0.1:8090"},
		{"127.0.0.1:8090", false, "127.0.0.1:8090"},
		{"[::1]:8090", false, "[::1]:8090"},
		{"localhost:0", false, "localhost:0"},
		{"0.0.0.0:8090", true, "0.0.0.0:8090"},
		{"0.0.0.0:8090", false, ""},
		{"192.168.1.2:8090", false, ""},
		{"agents.example.com:8090", false, ""},
		{"8090", true, ""},
	} {
		got, err := mcpAddr(c.addr, c.protected)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", c.addr, got, err, c.want)
		}
	}
}
