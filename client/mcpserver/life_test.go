package mcpserver_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/client/mcpserver"
)

// versions are the versions of MCP that are spoken; "" is the newest.
var versions = []string{"", "2025-11-25", "2025-06-18", "2024-11-05"}

// TestA09_reminders_between_turns sends work that takes a minute to two agents, goes on,
// is reminded of both with every answer, and collects both at once.
func TestA09_reminders_between_turns(t *testing.T) {
	for _, version := range versions {
		t.Run("version "+version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &network{}
				net.agentServer(t, "alpha", nil)
				net.agentServer(t, "beta", nil)
				s := newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil), net.agent(t, "beta", "beta", nil)}})
				u := connect(t, s, version)

				begin := time.Now()
				a := u.call("a2a_send", args{"agent": "alpha", "text": "@sleep 60"}).want(t, "a2a_poll", "Pending tasks (1)")
				b := u.call("a2a_send", args{"agent": "beta", "text": "@sleep 60"}).want(t, "Pending tasks (2)")
				if took := time.Since(begin); took > time.Second {
					t.Errorf("the sends took %v, want them at once", took)
				}
				if len(b.Data.Pending) != 2 || b.Data.Pending[0].Agent != "beta" || b.Data.Pending[1].TaskID != a.Data.Task.TaskID {
					t.Fatalf("got the pending tasks %+v", b.Data.Pending)
				}

				time.Sleep(30 * time.Second)
				// Also tools that have nothing to do with tasks remind of them.
				r := u.call("a2a_agents", nil).want(t, "Pending tasks (2)", a.Data.Task.TaskID, "sent 30 s ago", `"@sleep 60"`, "collect it with a2a_poll")
				if p := r.Data.Pending[0]; p.Age != 30 || p.State != "working" && p.State != "submitted" {
					t.Errorf("got %+v", p)
				}
				u.call("a2a_poll", args{"task_id": a.Data.Task.TaskID}).want(t, "is working", "Go on with your own work")

				// Two at once, each waiting for what a minute brings.
				time.Sleep(25 * time.Second)
				var wg sync.WaitGroup
				results := make([]reply, 2)
				for i, id := range []string{a.Data.Task.TaskID, b.Data.Task.TaskID} {
					wg.Go(func() { results[i] = u.call("a2a_poll", args{"task_id": id, "wait_seconds": 20}) })
				}
				wg.Wait()
				for _, r := range results {
					r.want(t, "is completed", "slept")
				}
				if took := time.Since(begin); took < 60*time.Second || took > 70*time.Second {
					t.Errorf("the results were there after %v, want a little over a minute", took)
				}
				u.call("a2a_pending", nil).want(t, "No task is pending.")
				// What was collected can be read again.
				u.call("a2a_poll", args{"task_id": a.Data.Task.TaskID}).want(t, "is completed")
				u.call("a2a_poll", nil).want(t, "There is no task to look at.", "Ended last:", a.Data.Task.TaskID, b.Data.Task.TaskID)
			})
		})
	}
}

// TestServer_question answers a task's question.
func TestServer_question(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
		// The only agent need not be named.
		id := u.call("a2a_send", args{"text": "@ask"}).Data.Task.TaskID
		r := u.call("a2a_poll", nil).want(t, "input-required", "What is your favourite colour?", `a2a_reply with task_id "`+id+`"`, `it asks "What is your favourite colour?"`)
		if p := r.Data.Pending[0]; p.Question != "What is your favourite colour?" || p.Hint != "answer it with a2a_reply" {
			t.Errorf("got %+v", p)
		}
		u.call("a2a_reply", args{"text": "blue"}).wantError(t, "task_id is missing")
		u.call("a2a_reply", args{"task_id": id}).wantError(t, "text, or data")
		u.call("a2a_reply", args{"task_id": id, "text": "blue"}).want(t, id)
		u.call("a2a_poll", args{"wait_seconds": 5}).want(t, "is completed", "blue", "No task is pending.")
		u.call("a2a_reply", args{"task_id": id, "text": "red"}).wantError(t, "is completed, so it takes no answer", "context_id")

		id = u.call("a2a_send", args{"text": "@auth"}).Data.Task.TaskID
		u.call("a2a_poll", nil).want(t, "auth-required", "only your user can give", "a2a_reply")
		u.call("a2a_reply", args{"task_id": id, "text": "done"})
		u.call("a2a_poll", args{"task_id": id[:13], "wait_seconds": 5}).want(t, "is completed")
	})
}

// TestServer_cancel ends tasks.
func TestServer_cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
		id := u.call("a2a_send", args{"text": "@hang"}).Data.Task.TaskID
		u.call("a2a_cancel", args{}).wantError(t, "task_id is missing")
		u.call("a2a_cancel", args{"task_id": id}).want(t, "is canceled", "No task is pending.")
		u.call("a2a_cancel", args{"task_id": id}).want(t, "nothing to end", "is canceled already")

		// It ends before the cancel comes.
		id = u.call("a2a_send", args{"text": "@sleep 1"}).Data.Task.TaskID
		time.Sleep(2 * time.Second)
		u.call("a2a_cancel", args{"task_id": id}).want(t, "had ended before it could be cancelled", "is completed")
	})
}

// TestServer_restart loses the MCP server between the send and the poll: another one
// knows the task, and so does another process at the same time.
func TestServer_restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		path := t.TempDir() + "/pending.db"
		agents := []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}
		first := connect(t, newServer(t, mcpserver.Options{Agents: agents, Registry: registryAt(t, path)}), "")
		id := first.call("a2a_send", args{"text": "@sleep 10"}).Data.Task.TaskID
		first.Close() //nolint:errcheck // it is gone
		second := connect(t, newServer(t, mcpserver.Options{Agents: agents, Registry: registryAt(t, path)}), "")
		second.call("a2a_pending", nil).want(t, id, "sent 0 s ago")
		second.call("a2a_poll", args{"wait_seconds": 15}).want(t, id, "is completed")
	})
}

// TestServer_lost loses the agent, and then its tasks.
func TestServer_lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		stop := net.agentServer(t, "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
		id := u.call("a2a_send", args{"text": "@hang"}).Data.Task.TaskID
		stop()
		r := u.call("a2a_poll", nil).wantError(t, "alpha cannot be reached just now", "The task stays pending.", "last error: alpha cannot be reached")
		if p := r.Data.Pending[0]; p.Polls != 1 || p.Error == "" {
			t.Errorf("got %+v", p)
		}
		if strings.Contains(r.Text, "dial") || strings.Contains(r.Text, "http://") {
			t.Errorf("the answer shows the inside: %s", r.Text)
		}
		u.call("a2a_cancel", args{"task_id": id}).wantError(t, "cannot be reached", "was not ended")
		u.call("a2a_send", args{"text": "hello"}).wantError(t, "cannot be reached", "Nothing was ")
		// Another server in its place, which does not know the task.
		net.agentServer(t, "alpha", nil)
		u.call("a2a_poll", nil).wantError(t, "does not know task "+id+" any more", "No task is pending.")
		u.call("a2a_poll", args{"task_id": "none-such"}).wantError(t, `No task "none-such" is known here`, "Ended last:", id, "lost")
	})
}

// TestServer_reply_lost replies to a task that its agent does not know any more: that ends
// it as a poll would.
func TestServer_reply_lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		stop := net.agentServer(t, "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
		id := u.call("a2a_send", args{"text": "@ask"}).Data.Task.TaskID
		u.call("a2a_poll", nil).want(t, "input-required")
		stop()
		net.agentServer(t, "alpha", nil)
		u.call("a2a_reply", args{"task_id": id, "text": "blue"}).wantError(t, "does not know task "+id+" any more", "No task is pending.")
		u.call("a2a_poll", args{"task_id": id}).wantError(t, "does not know", "No task is pending.")
	})
}
