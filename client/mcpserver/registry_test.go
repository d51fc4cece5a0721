package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client/mcpserver"
	"github.com/skillyard/skillyard/client/pending"
)

// other records a task as another program would that sent it.
func other(t *testing.T, r *pending.Registry, a mcpserver.Agent, task *a2a.Task) {
	t.Helper()
	e, err := r.Begin(t.Context(), pending.Entry{AgentURL: a.Client.URL(), Agent: a.Name, Prompt: "by another program"})
	if err == nil {
		_, err = r.Accepted(t.Context(), e.Ref, task, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func task(id string, state a2a.State) *a2a.Task {
	return &a2a.Task{ID: a2a.TaskID(id), ContextID: "c", Status: a2a.Status{State: state, At: a2a.Now()}}
}

// TestA09_subscription tells subscribers of the pending list, and nobody else, that it
// changed, also when another process changed it.
func TestA09_subscription(t *testing.T) {
	for _, version := range versions {
		t.Run("version "+version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &network{}
				net.agentServer(t, "alpha", nil)
				agent := net.agent(t, "alpha", "alpha", nil)
				path := t.TempDir() + "/pending.db"
				s := newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{agent}, Registry: registryAt(t, path)})
				subscriber, stranger := connect(t, s, version), connect(t, s, version)
				if err := subscriber.Subscribe(t.Context(), &mcp.SubscribeParams{URI: mcpserver.PendingURI}); err != nil {
					t.Fatal(err)
				}
				if !subscriber.InitializeResult().Capabilities.Resources.Subscribe {
					t.Error("that one can subscribe is not said")
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if n := len(subscriber.updated); n != 0 {
					t.Fatalf("got %d updates, want none before a change", n)
				}
				// Another process, and then this one.
				elsewhere := registryAt(t, path)
				other(t, elsewhere, agent, task("t-1", a2a.StateWorking))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := len(subscriber.updated); n != 1 || <-subscriber.updated != mcpserver.PendingURI {
					t.Fatalf("got %d updates after a change, want one", n)
				}
				c, err := subscriber.read(mcpserver.PendingURI)
				if err != nil {
					t.Fatal(err)
				}
				var list struct{ Pending []pendingTask }
				if err := json.Unmarshal([]byte(c.Text), &list); err != nil || len(list.Pending) != 1 || list.Pending[0].TaskID != "t-1" {
					t.Errorf("got %v, %s", err, c.Text)
				}
				stranger.call("a2a_send", args{"text": "@hang"})
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := len(subscriber.updated); n != 1 {
					t.Errorf("got %d updates after a send, want one", n)
				}
				if n := len(stranger.updated); n != 0 {
					t.Errorf("who did not subscribe got %d updates", n)
				}
				<-subscriber.updated
				if err := subscriber.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: mcpserver.PendingURI}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				stranger.call("a2a_send", args{"text": "@hang"})
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := len(subscriber.updated); n != 0 {
					t.Errorf("got %d updates after unsubscribing", n)
				}
				// Watching starts anew, and does not report what came before.
				if err := stranger.Subscribe(t.Context(), &mcp.SubscribeParams{URI: mcpserver.PendingURI}); err != nil {
					t.Fatal(err)
				}
				other(t, elsewhere, agent, task("t-2", a2a.StateWorking))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := len(stranger.updated); n != 1 {
					t.Errorf("got %d updates, want one", n)
				}
			})
		})
	}
}

// TestServer_subscribe_other refuses subscriptions that would never bring anything.
func TestServer_subscribe_other(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "2025-11-25")
		err := u.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "a2a://tasks/alpha/1"})
		if err == nil || !strings.Contains(err.Error(), "only a2a://pending can be subscribed to") {
			t.Errorf("got %v", err)
		}
	})
}

// TestServer_foreign_entries shows nothing of agents that are not in the list, and tells
// agents apart that have one URL or one id.
func TestServer_foreign_entries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		r := registryAt(t, t.TempDir()+"/pending.db")
		alpha, twin, beta := net.agent(t, "alpha", "alpha", nil), net.agent(t, "twin", "alpha", nil), net.agent(t, "beta", "beta", nil)
		foreign := net.agent(t, "secret", "secret", nil)
		other(t, r, foreign, task("foreign-1", a2a.StateWorking))
		other(t, r, foreign, task("foreign-2", a2a.StateCompleted))
		other(t, r, alpha, task("same-id", a2a.StateCompleted))
		other(t, r, twin, task("of-twin", a2a.StateWorking))
		other(t, r, beta, task("same-id", a2a.StateCompleted))
		// Sent by its URL, before it had this name.
		nameless := beta
		nameless.Name = ""
		other(t, r, nameless, task("nameless", a2a.StateCompleted))
		u := connect(t, newServer(t, mcpserver.Options{Registry: r, Agents: []mcpserver.Agent{alpha, twin, beta}}), "")
		list := u.call("a2a_pending", nil).want(t, "of-twin at twin")
		if len(list.Data.Pending) != 1 {
			t.Errorf("got %+v", list.Data.Pending)
		}
		u.call("a2a_pending", args{"agent": "beta"}).want(t, "No task is pending at beta.")
		u.call("a2a_pending", args{"agent": "twin"}).want(t, "Pending tasks at twin (1)", "of-twin")
		u.call("a2a_pending", args{"agent": "alpha"}).want(t, "No task is pending at alpha.")
		u.call("a2a_poll", args{"task_id": "nameless"}).want(t, "nameless at beta is completed")
		u.call("a2a_poll", args{"task_id": "same-id"}).wantError(t, "same-id (at alpha), same-id (at beta)")
		u.call("a2a_poll", args{"task_id": "same-id", "agent": "beta"}).want(t, "same-id at beta is completed")
		u.call("a2a_poll", args{"task_id": "of-twin", "agent": "alpha"}).wantError(t, `No task "of-twin" at alpha is known here`)
		for _, id := range []string{"foreign-1", "foreign-2", "foreign"} {
			reply := u.call("a2a_poll", args{"task_id": id}).wantError(t, "is known here")
			if strings.Contains(strings.ReplaceAll(reply.Text, fmt.Sprintf("%q", id), ""), "foreign") {
				t.Errorf("got %s", reply.Text)
			}
		}
	})
}

// TestServer_long_list names the newest tasks only, but all in the list itself.
func TestServer_long_list(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		r := registryAt(t, t.TempDir()+"/pending.db")
		alpha := net.agent(t, "alpha", "alpha", nil)
		for i := range 13 {
			other(t, r, alpha, task(fmt.Sprintf("task-%02d", i), a2a.StateWorking))
		}
		u := connect(t, newServer(t, mcpserver.Options{Registry: r, Agents: []mcpserver.Agent{alpha}}), "")
		reply := u.call("a2a_send", args{"text": ""}).wantError(t, "Pending tasks (13)", "task-12", "and 3 older ones; a2a_pending lists them")
		if len(reply.Data.Pending) != 10 || reply.Data.More != 3 {
			t.Errorf("got %d tasks and %d more", len(reply.Data.Pending), reply.Data.More)
		}
		if reply := u.call("a2a_pending", nil).want(t, "task-00"); len(reply.Data.Pending) != 13 {
			t.Errorf("got %d tasks", len(reply.Data.Pending))
		}
		u.call("a2a_poll", args{"task_id": "task"}).wantError(t, `"task" stands for several tasks`, "task-03")
	})
}

// TestServer_unknown_outcome sends to an agent that takes the message and never
// answers: it stays in the list, and can be dropped from it.
func TestServer_unknown_outcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		l := net.listen("alpha")
		taken := make(chan struct{}, 10)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, `{"name":"slow","protocolVersion":"0.3.0","url":"http://alpha/","skills":[]}`) //nolint:errcheck // the client notices
				return
			}
			taken <- struct{}{}
			io.Copy(io.Discard, r.Body) //nolint:errcheck // a test
			<-r.Context().Done()
		})}
		go server.Serve(l)                   //nolint:errcheck // ends with the test
		t.Cleanup(func() { server.Close() }) //nolint:errcheck // the test is over
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")

		begin := time.Now()
		r := u.call("a2a_send", args{"text": "hello"}).wantError(t, "alpha did not answer", "It may have got the work or not", "doing it twice")
		if took := time.Since(begin); took > 21*time.Second {
			t.Errorf("the send took %v, want an end after 20 s", took)
		}
		if n := len(taken); n != 1 {
			t.Errorf("the message was sent %d times", n)
		}
		p := r.Data.Pending[0]
		if p.State != "sending" || !strings.Contains(p.Hint, "drop this one with a2a_cancel") {
			t.Errorf("got %+v", p)
		}
		// This agent can be asked neither for a list nor under a key.
		u.call("a2a_poll", nil).wantError(t, "alpha cannot be asked whether it has the work of "+p.TaskID, "Send it again if doing it twice does no harm")
		u.call("a2a_poll", args{"task_id": p.TaskID}).wantError(t, "cannot be asked")
		if n := len(taken); n != 1 {
			t.Errorf("the message was sent %d times", n)
		}
		u.call("a2a_reply", args{"task_id": p.TaskID, "text": "x"}).wantError(t, "answer to the send is not known")

		// The caller gives up: the send is recorded all the same.
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := u.CallTool(ctx, &mcp.CallToolParams{Name: "a2a_send", Arguments: args{"text": "given up"}})
			done <- err
		}()
		<-taken
		<-taken
		cancel()
		if err := <-done; err == nil {
			t.Error("the cancelled call has an answer")
		}
		u.call("a2a_pending", nil).want(t, `"given up"`, "is being sent just now")
		u.call("a2a_cancel", args{"task_id": p.TaskID}).want(t, "is off the list", "Pending tasks (1)")
	})
}

// TestServer_odd_ids reads the resources of tasks whose ids are no UUIDs.
func TestServer_odd_ids(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		r := registryAt(t, t.TempDir()+"/pending.db")
		alpha := net.agent(t, "alpha", "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{Registry: r, Agents: []mcpserver.Agent{alpha}}), "")
		for _, id := range []string{"a/b/files/1", "with space & more", "100%25", "ключ", "a+b", "{id}", "..", "q?x#y"} {
			done := task(id, a2a.StateCompleted)
			done.Artifacts = []a2a.Artifact{{ID: "1", Parts: []a2a.Part{a2a.TextPart("result of " + id)}}}
			other(t, r, alpha, done)
			uri := u.call("a2a_poll", args{"task_id": id}).want(t, "result of "+id).Data.Task.Resource
			if c, err := u.read(uri); err != nil || !strings.Contains(c.Text, "result of "+id) || c.Blob != nil {
				t.Errorf("%s: %s: got %+v, %v", id, uri, c, err)
			}
		}
	})
}

// TestServer_bare_message talks to an agent that answers with words instead of a task.
func TestServer_bare_message(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		l := net.listen("alpha")
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				io.WriteString(w, `{"name":"talker","protocolVersion":"0.3.0","url":"http://alpha/","skills":[]}`) //nolint:errcheck // the client notices
				return
			}
			var req struct{ ID json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"message","messageId":"m","contextId":"c-7","role":"agent","parts":[{"kind":"text","text":"just words"}]}}`, req.ID) //nolint:errcheck // the client notices
		})}
		go server.Serve(l)                   //nolint:errcheck // ends with the test
		t.Cleanup(func() { server.Close() }) //nolint:errcheck // the test is over
		alpha := net.agent(t, "alpha", "alpha", nil)
		r := registryAt(t, t.TempDir()+"/pending.db")
		u := connect(t, newServer(t, mcpserver.Options{Registry: r, Agents: []mcpserver.Agent{alpha}}), "")
		got := u.call("a2a_send", args{"text": "hello"}).want(t, "is completed", "just words", "No task is pending.").Data.Task
		if got.ContextID != "c-7" || got.State != "completed" || got.TaskID == "" {
			t.Errorf("got %+v", got)
		}
		// It can be read again.
		u.call("a2a_poll", args{"task_id": got.TaskID}).want(t, "just words")
		if c, err := u.read(got.Resource); err != nil || !strings.Contains(c.Text, "just words") {
			t.Errorf("got %+v, %v", c, err)
		}
		// As the answer to a reply it does not end the task.
		other(t, r, alpha, task("t-1", a2a.StateInputRequired))
		u.call("a2a_reply", args{"task_id": "t-1", "text": "blue"}).want(t, "just words", "look with a2a_poll", "Pending tasks (1)")
	})
}
