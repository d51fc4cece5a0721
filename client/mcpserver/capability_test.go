package mcpserver_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/mcpserver"
)

// What the tools of send-and-poll clients do, row by row, with agents of each dialect.

// each runs f in a bubble for each dialect.
func each(t *testing.T, f func(t *testing.T, u *user)) {
	for _, dialect := range client.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &network{}
				net.agentServer(t, "alpha", nil)
				agent := net.agent(t, "alpha", "alpha", func(_ *mcpserver.Agent, o *client.Options) { o.Dialect = dialect })
				f(t, connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{agent}}), ""))
			})
		})
	}
}

func TestA01_A02_A03_send_poll_result(t *testing.T) {
	each(t, func(t *testing.T, u *user) {
		begin := time.Now()
		sent := u.call("a2a_send", args{"text": "@sleep 30"}).want(t, "collect the result later").Data.Task
		if took := time.Since(begin); took > time.Second || sent.TaskID == "" {
			t.Errorf("got the task %+v after %v, want its id at once", sent, took)
		}
		if s := sent.State; s != "submitted" && s != "working" {
			t.Errorf("got the state %s", s)
		}
		u.call("a2a_poll", args{"task_id": sent.TaskID}).want(t, "It goes on by itself.", "Pending tasks (1)")
		time.Sleep(31 * time.Second)
		r := u.call("a2a_poll", args{"task_id": sent.TaskID}).want(t, "is completed", "slept", "No task is pending.")
		if a := r.Data.Task.Artifacts; len(a) != 1 || !strings.Contains(a[0].Text, "slept") {
			t.Errorf("got the artifacts %+v", a)
		}
	})
}

func TestA04_ends_without_result(t *testing.T) {
	each(t, func(t *testing.T, u *user) {
		u.call("a2a_send", args{"text": "@fail"})
		r := u.call("a2a_poll", args{"wait_seconds": 5}).want(t, "is failed", "the probe failed", "No task is pending.")
		if r.Data.Task.State != "failed" {
			t.Errorf("got %+v", r.Data.Task)
		}
	})
}

func TestA05_unknown_task(t *testing.T) {
	for _, dialect := range client.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &network{}
				stop := net.agentServer(t, "alpha", nil)
				agent := net.agent(t, "alpha", "alpha", func(_ *mcpserver.Agent, o *client.Options) { o.Dialect = dialect })
				u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{agent}}), "")
				id := u.call("a2a_send", args{"text": "@hang"}).Data.Task.TaskID
				stop()
				net.agentServer(t, "alpha", nil) // has forgotten everything
				u.call("a2a_poll", args{"task_id": id}).wantError(t, "does not know task "+id, "Send the work again", "No task is pending.")
			})
		})
	}
}

func TestA06_cancel(t *testing.T) {
	each(t, func(t *testing.T, u *user) {
		id := u.call("a2a_send", args{"text": "@hang"}).Data.Task.TaskID
		u.call("a2a_cancel", args{"task_id": id}).want(t, "is canceled", "No task is pending.")
		u.call("a2a_poll", args{"task_id": id}).want(t, "is canceled")
	})
}

func TestA08_newest_task_of_an_agent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		net.agentServer(t, "beta", nil)
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil), net.agent(t, "beta", "beta", nil)}}), "")
		u.call("a2a_send", args{"agent": "alpha", "text": "@hang"})
		newest := u.call("a2a_send", args{"agent": "alpha", "text": "@hang"}).Data.Task.TaskID
		last := u.call("a2a_send", args{"agent": "beta", "text": "@hang"}).Data.Task.TaskID
		if got := u.call("a2a_poll", args{"agent": "alpha"}).Data.Task.TaskID; got != newest {
			t.Errorf("got %s, want the newest of alpha, %s", got, newest)
		}
		if got := u.call("a2a_poll", nil).Data.Task.TaskID; got != last {
			t.Errorf("got %s, want the newest of all, %s", got, last)
		}
	})
}
