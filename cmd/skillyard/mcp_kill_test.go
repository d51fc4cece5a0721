package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// agentsHome returns a home directory with an agents file of one agent.
func agentsHome(t *testing.T, url, more string) string {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "skillyard")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	agents := fmt.Sprintf("agents:\n  - {name: probe, url: %q, token: \"${PROBE_TOKEN}\"%s}\n", url, more)
	if err := os.WriteFile(filepath.Join(dir, "agents.yaml"), []byte(agents), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// killedMCP sends through an MCP server, kills it when the agent has the message and
// before it has the answer, and returns a client of another server with the ref of what
// is left.
func killedMCP(t *testing.T, home string, got <-chan Request, text string) (*mcp.ClientSession, Request, string) {
	t.Helper()
	cmd, first, _ := mcpProcess(t, home)
	answered := make(chan error, 1)
	go func() {
		_, err := first.CallTool(t.Context(), &mcp.CallToolParams{Name: "a2a_send", Arguments: map[string]any{"text": text}})
		answered <- err
	}()
	var r Request
	select {
	case r = <-got:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was sent")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err == nil {
		t.Fatal("the send was answered before the kill")
	}
	_, second, _ := mcpProcess(t, home)
	list, _ := callMCP(t, second, "a2a_pending", nil)
	_, line, _ := strings.Cut(list, "\n- ")
	ref, state, _ := strings.Cut(line, " at probe, ")
	if !strings.HasPrefix(state, "sending, ") || !strings.Contains(state, "find out with a2a_poll") {
		t.Fatalf("got %s, want what is known", list)
	}
	return second, r, ref
}

// TestMCP_killed_before_the_answer kills the MCP server when this project's server has
// the task already: the next one finds it, and the work is done once.
func TestMCP_killed_before_the_answer(t *testing.T) {
	for _, dialect := range client.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			front := httptest.NewUnstartedServer(nil)
			public := "http://" + front.Listener.Addr().String()
			server := servertest.New(t, servertest.Options{
				YAML: "auth: {keys: [{name: alice, key: token-of-alice}]}\ndefault_skill: probe\nskills: [{id: probe, kind: mock}]\n",
				Edit: func(cfg *configs.Config) { cfg.Server.PublicURL = public },
			})
			target, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			// The answer to the first message is on its way for ever.
			got := make(chan Request, 1)
			var posts atomic.Int32
			front.Config.Handler = &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
				ModifyResponse: func(resp *http.Response) error {
					if resp.Request.Method == http.MethodPost && posts.Add(1) == 1 {
						got <- Request{}
						<-resp.Request.Context().Done()
					}
					return nil
				},
			}
			front.Start()
			t.Cleanup(front.Close)

			second, _, ref := killedMCP(t, agentsHome(t, public, ", dialect: "+dialect), got, "@sleep 1")
			_, id := callMCP(t, second, "a2a_poll", nil)
			// In EMM the id was chosen before the send.
			if id == "" || (id == ref) != (dialect == client.DialectEMM) {
				t.Fatalf("got the id %q, and before it %q", id, ref)
			}
			text, _ := callMCP(t, second, "a2a_poll", map[string]any{"task_id": id, "wait_seconds": 20})
			if !strings.Contains(text, "is completed") || !strings.Contains(text, "No task is pending.") {
				t.Errorf("got %s", text)
			}
			list := server.Do(http.MethodGet, "/rest/tasks", "", "Authorization: Bearer token-of-alice", "A2A-Version: 1.0")
			if tasks, ok := list.Get("tasks").([]any); !ok || len(tasks) != 1 || list.Get("tasks", 0, "id") != id {
				t.Errorf("got %s, want the one task", list.Body)
			}
		})
	}
}

// TestMCP_killed_recovers_by_list finds the task of an agent that honours no keys in its
// list.
func TestMCP_killed_recovers_by_list(t *testing.T) {
	var message atomic.Value
	a, got := held(t, map[string]Script{
		"ListTasks": func(w io.Writer, r Request, id string) {
			JSON(fmt.Sprintf(`{"tasks":[{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"history":[{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"x"}]}]}],"nextPageToken":""}`,
				message.Load()))(w, r, id)
		},
		"GetTask": JSON(Task("COMPLETED", "found")),
	})
	second, first, ref := killedMCP(t, agentsHome(t, a.URL, ""), got, "precious work")
	message.Store(messageID(first))
	if text, _ := callMCP(t, second, "a2a_poll", map[string]any{"task_id": ref}); !strings.Contains(text, "Task t1 at probe is completed") || !strings.Contains(text, "found") {
		t.Errorf("got %s", text)
	}
	if len(got) != 0 {
		t.Error("the message was sent again, to an agent that honours no keys")
	}
}

// TestMCP_killed_for_good: an agent that cannot be asked leaves the entry as it is, until
// it is dropped.
func TestMCP_killed_for_good(t *testing.T) {
	a, got := held(t, nil)
	a.Change(func(card map[string]any) {
		delete(card, "supportedInterfaces")
		card["url"], card["protocolVersion"] = a.URL+"/", "0.3.0"
	})
	second, _, ref := killedMCP(t, agentsHome(t, a.URL, ""), got, "precious work")
	if text, _ := callMCP(t, second, "a2a_poll", nil); !strings.Contains(text, ref+" is being sent just now") || !strings.Contains(text, "Pending tasks (1)") {
		t.Errorf("got %s", text)
	}
	if len(got) != 0 {
		t.Error("the message was sent again")
	}
	if text, _ := callMCP(t, second, "a2a_cancel", map[string]any{"task_id": ref}); !strings.Contains(text, "No task is pending.") {
		t.Errorf("got %s", text)
	}
}
