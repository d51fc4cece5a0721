package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	. "github.com/skillyard/skillyard/client/clienttest"
)

// These tests kill real processes at the worst moment, and look at what is left.

// command makes a command of the real program with a user's environment.
func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.Command("skillyard", args...)
	cmd.Env = append(cmd.Environ(), "A2A_TOKEN=", "A2A_SERVER=", "NOTIFY_SOCKET=")
	for name, value := range u.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
}

// until waits for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not in 20 s", what)
		}
	}
}

// TestKill_client_before_the_answer kills the sender when the server has the task and
// the client does not know it yet.
func TestKill_client_before_the_answer(t *testing.T) {
	eachDialect(t, func(t *testing.T, u *user, d string) {
		cmd := u.command("send", "--dialect", d, "--blocking", "@sleep 2.5")
		start(t, cmd)
		until(t, "an entry", func() bool { return len(u.rows("pending")) == 1 })
		// The list of 1.0 shows what the server has, whatever it was sent in.
		own := func() int { return len(u.rows("list", "--dialect", "1.0", "--status", "working")) }
		until(t, "a task at the server", func() bool { return own() == 1 })
		kill(t, cmd)
		row := u.rows("pending")[0]
		if row["state"] != "sending" || row["prompt"] != "@sleep 2.5" {
			t.Fatalf("got %v, want what is known", row)
		}
		ref := row["ref"].(string)
		u.do(0, "poll", "--wait", ref).want(t, 0, "slept\n")
		if rows := u.rows("history"); len(rows) != 1 || rows[0]["ref"] != ref {
			t.Errorf("got %v, want the one entry", rows)
		}
		if n := own(); n != 0 {
			t.Errorf("%d more tasks at the server, want the work done once", n)
		}
	})
}

// held is an agent that holds back its answer to the first message, as if it died over
// it, wants other credentials for the second, and answers then. It tells of each.
func held(t *testing.T, rest map[string]Script) (a *Agent, got chan Request) {
	got = make(chan Request, 16)
	var n atomic.Int32
	send := func(w io.Writer, r Request, id string) {
		got <- r
		switch n.Add(1) {
		case 1:
			<-t.Context().Done()
			return
		case 2:
			HTTP(401, "text/plain", "who are you")(w, r, id)
			return
		}
		JSON(`{"task":`+Task("COMPLETED", "done")+`}`)(w, r, id)
	}
	scripts := map[string]Script{"SendMessage": send, "message/send": send, "tasks/submit": send}
	for name, s := range rest {
		scripts[name] = s
	}
	return New(t, By(scripts)), got
}

// killed sends to an agent that holds back its answer, kills the sender, and returns the
// request, the user and the ref of the entry.
func killed(t *testing.T, a *Agent, got chan Request) (Request, *user, string) {
	t.Helper()
	u := newUser(t, a.URL)
	cmd := u.command("send", "precious work")
	start(t, cmd)
	var r Request
	select {
	case r = <-got:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was sent")
	}
	kill(t, cmd)
	if got := u.state("pending"); got != "sending" {
		t.Fatalf("got %v", got)
	}
	return r, u, u.rows("pending")[0]["ref"].(string)
}

func messageID(r Request) string {
	var env struct {
		Params struct {
			TaskID  string `json:"taskId"`
			Message struct {
				ID string `json:"messageId"`
			} `json:"message"`
		} `json:"params"`
	}
	_ = json.Unmarshal(r.Body, &env) // what is missing is ""
	if env.Params.TaskID != "" {
		return env.Params.TaskID
	}
	return env.Params.Message.ID
}

func TestRecover_by_key(t *testing.T) {
	a, got := held(t, nil)
	a.Change(func(card map[string]any) {
		card["capabilities"] = map[string]any{"extensions": []any{map[string]any{"uri": a2a.ExtIdempotencyKey}}}
	})
	first, u, ref := killed(t, a, got)
	// A refusal now says nothing of what was sent before.
	u.do(7, "poll", ref).want(t, 7, "", "401", "still not known")
	if got := u.state("pending"); got != "sending" {
		t.Errorf("got %v", got)
	}
	<-got
	u.do(0, "poll", ref).want(t, 0, "done\n", "again under its key")
	second := <-got
	if k := first.Header.Get("Idempotency-Key"); k == "" || second.Header.Get("Idempotency-Key") != k {
		t.Errorf("got keys %q and %q, want one", k, second.Header.Get("Idempotency-Key"))
	}
	if messageID(first) == "" || messageID(first) != messageID(second) {
		t.Errorf("got messages %q and %q, want the same", messageID(first), messageID(second))
	}
}

func TestRecover_by_list(t *testing.T) {
	var id string
	list := func(w io.Writer, r Request, rpc string) {
		other := `{"id":"t0","contextId":"c0","status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"other","role":"ROLE_USER","parts":[{"text":"x"}]}]}`
		mine := fmt.Sprintf(`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"history":[{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"x"}]}]}`, id)
		if strings.Contains(string(r.Body), `"pageToken":"2"`) {
			JSON(`{"tasks":[`+mine+`],"nextPageToken":""}`)(w, r, rpc)
			return
		}
		JSON(`{"tasks":[`+other+`],"nextPageToken":"2"}`)(w, r, rpc)
	}
	a, got := held(t, map[string]Script{"ListTasks": list, "GetTask": JSON(Task("COMPLETED", "found"))})
	first, u, ref := killed(t, a, got)
	id = messageID(first)
	u.do(0, "poll", ref).want(t, 0, "found\n")
	if len(got) != 0 {
		t.Error("the message was sent again, to an agent that honours no keys")
	}
}

func TestRecover_by_the_clients_id(t *testing.T) {
	known := false
	status := func(w io.Writer, r Request, id string) {
		if !known {
			JSON(`{"status":"not_found"}`)(w, r, id)
			return
		}
		JSON(fmt.Sprintf(`{"task":{"id":%q,"status":"completed","artifact":{"parts":[{"type":"text","text":"found"}]}}}`, messageID(r)))(w, r, id)
	}
	a, got := held(t, map[string]Script{"tasks/status": status})
	a.Change(func(card map[string]any) {
		delete(card, "supportedInterfaces")
		card["url"] = a.URL + "/api/a2a/tasks"
	})
	_, u, ref := killed(t, a, got)
	u.do(1, "poll", ref).want(t, 1, "", "not known whether the agent has the task") // it may be under way
	known = true
	u.do(0, "poll", ref).want(t, 0, "found\n")
}

func TestRecover_not_possible(t *testing.T) {
	a, got := held(t, nil)
	a.Change(func(card map[string]any) {
		delete(card, "supportedInterfaces")
		card["url"], card["protocolVersion"] = a.URL+"/", "0.3.0"
	})
	_, u, ref := killed(t, a, got)
	u.do(1, "poll", ref).want(t, 1, "", "the answer to this send never came", "pending --forget "+ref)
	u.do(1, "reply", ref, "x")
	u.do(1, "get", ref)
	all := u.do(1, "poll", "--all")
	if !strings.Contains(all.out, "sending") {
		t.Errorf("got %s", all.out)
	}
	u.do(0, "pending", "--forget", ref[:8])
	if rows := u.rows("pending"); len(rows) != 0 {
		t.Errorf("got %v", rows)
	}
}

// TestKill_server kills the server while tasks are pending: they are known afterwards,
// and end.
func TestKill_server(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	u := newUser(t, "http://"+addr)
	u.env["A2A_TOKEN"] = "alice-token"
	serve := func() *exec.Cmd {
		cmd := u.command("serve", "-c", filepath.Join("..", "..", "configs", "examples", "probe.yaml"), "--addr", addr, "--data", u.env["HOME"]+"/data")
		start(t, cmd)
		until(t, "the server", func() bool {
			resp, err := http.Get("http://" + addr + "/readyz")
			if err != nil {
				return false
			}
			defer resp.Body.Close() //nolint:errcheck // the status is all that counts
			return resp.StatusCode == http.StatusOK
		})
		return cmd
	}
	server := serve()
	asked := u.send("@ask")
	u.do(4, "poll", "--wait", asked)
	slow := u.send("@sleep 0.7")
	kill(t, server)
	u.do(1, "poll", "--timeout", "20s", slow).want(t, 1, "", "stays pending")

	// Polls and watches that begin without a server, or lose it, see the end.
	var out, polled bytes.Buffer
	watch, poll := u.command("watch", slow), u.command("poll", "--wait", slow)
	watch.Stdout, poll.Stdout = &out, &polled
	start(t, poll)
	start(t, watch)
	serve()
	u.do(0, "reply", "--wait", asked, "blue").want(t, 0, "blue\n")
	until(t, "the end of the slow task", func() bool { return len(u.rows("pending")) == 0 })
	u.do(0, "history", slow).want(t, 0, "slept\n")
	if err := watch.Wait(); err != nil || !strings.Contains(out.String(), "completed") {
		t.Errorf("watch: %v, %s", err, out.String())
	}
	if err := poll.Wait(); err != nil || polled.String() != "slept\n" {
		t.Errorf("poll: %v, %q", err, polled.String())
	}
}

// TestKill_client_between_send_and_poll kills a sender that waits for the end.
func TestKill_client_between_send_and_poll(t *testing.T) {
	eachDialect(t, func(t *testing.T, u *user, d string) {
		for _, how := range []string{"--wait", "--stream"} {
			cmd := u.command("send", "--dialect", d, how, "@sleep 1")
			start(t, cmd)
			until(t, "a task", func() bool { rows := u.rows("pending"); return len(rows) == 1 && rows[0]["state"] != "sending" })
			kill(t, cmd)
			id := u.rows("pending")[0]["task_id"].(string)
			u.do(0, "poll", "--wait", id).want(t, 0, "slept\n")
		}
	})
}

// TestSignal ends waits as a person does: what is waited for stays pending.
func TestSignal(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		code   int
		args   []string
	}{
		{os.Interrupt, 130, []string{"poll", "--wait", "--interval", "50ms"}},
		{syscall.SIGTERM, 143, []string{"poll", "--wait", "--interval", "50ms"}},
		{os.Interrupt, 130, []string{"send", "--stream", "@hang"}},
		{os.Interrupt, 130, []string{"send", "--wait", "@hang"}},
		{os.Interrupt, 130, []string{"watch"}},
	} {
		t.Run(strings.Join(c.args, " ")+" "+c.signal.String(), func(t *testing.T) {
			_, u := probe(t)
			if c.args[0] != "send" {
				u.send("@hang")
			}
			cmd := u.command(c.args...)
			var errOut, out bytes.Buffer
			cmd.Stderr, cmd.Stdout = &errOut, &out
			start(t, cmd)
			until(t, "work", func() bool {
				rows := u.rows("pending")
				// A poll is counted, and a stream has an event.
				return len(rows) == 1 && rows[0]["state"] == "working"
			})
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the exit code says it
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("got exit code %d, want %d\n%s", code, c.code, errOut.String())
			}
			if !strings.Contains(errOut.String(), "pending") {
				t.Errorf("got %q, want how to go on", errOut.String())
			}
			if rows := u.rows("pending"); len(rows) != 1 {
				t.Errorf("got %v", rows)
			}
			u.do(8, "poll")
		})
	}
}
