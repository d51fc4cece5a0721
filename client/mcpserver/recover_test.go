package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/mcpserver"
	"github.com/skillyard/skillyard/client/pending"
)

// lossy loses the answer to the first POST: the agent has the message, and the client
// waits in vain.
type lossy struct {
	http.RoundTripper
	posts atomic.Int32
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost || l.posts.Add(1) > 1 {
		return resp, err
	}
	resp.Body.Close() //nolint:errcheck // it is lost
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestServer_recover finds the task of a send whose answer was lost, in every dialect, and
// the work is done once.
func TestServer_recover(t *testing.T) {
	for _, dialect := range client.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &network{}
				net.agentServer(t, "alpha", nil)
				agent := net.agent(t, "alpha", "alpha", func(_ *mcpserver.Agent, o *client.Options) {
					o.Dialect, o.Transport = dialect, &lossy{RoundTripper: o.Transport}
				})
				u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{agent}}), "")
				r := u.call("a2a_send", args{"text": "@sleep 40"}).wantError(t, "alpha did not answer", "Don't send it again", "find out later with a2a_poll")
				p := r.Data.Pending[0]
				if p.State != "sending" || !strings.Contains(p.Hint, "find out with a2a_poll whether it has the task") {
					t.Fatalf("got %+v", p)
				}
				u.call("a2a_reply", args{"task_id": p.TaskID, "text": "x"}).wantError(t, "answer to the send is not known", "find out with a2a_poll")
				// A resource is only read, and nothing is sent for it.
				if _, err := u.read("a2a://tasks/alpha/" + p.TaskID); err == nil || !strings.Contains(err.Error(), "find out with a2a_poll") {
					t.Errorf("got %v", err)
				}
				// Without an id it is meant as long as nothing else is pending.
				begin := time.Now()
				found := u.call("a2a_poll", nil).want(t, "is working", "Pending tasks (1)").Data.Task
				if took := time.Since(begin); took > time.Second {
					t.Errorf("the poll took %v, want a look", took)
				}
				u.call("a2a_poll", args{"task_id": found.TaskID, "wait_seconds": 20}).want(t, "is working")
				u.call("a2a_poll", args{"task_id": found.TaskID, "wait_seconds": 20}).want(t, "is completed", "slept", "No task is pending.")
				// The list of 1.0 shows what the server has, whatever it was sent in.
				list := net.agent(t, "list", "alpha", func(_ *mcpserver.Agent, o *client.Options) { o.Dialect = client.DialectV1 })
				if l, err := list.Client.List(t.Context(), a2a.ListRequest{}); err != nil || len(l.Tasks) != 1 {
					t.Errorf("got %+v, %v, want one task", l, err)
				}
			})
		})
	}
}

// TestServer_recover_waits waits in the same call for the task that it finds, within the
// time of a call.
func TestServer_recover_waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		agent := net.agent(t, "alpha", "alpha", func(_ *mcpserver.Agent, o *client.Options) { o.Transport = &lossy{RoundTripper: o.Transport} })
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{agent}}), "")
		p := u.call("a2a_send", args{"text": "@sleep 50"}).wantError(t, "did not answer").Data.Pending[0]
		// A task that the agent is known to have comes first.
		id := u.call("a2a_send", args{"text": "@hang"}).Data.Task.TaskID
		if got := u.call("a2a_poll", nil).want(t).Data.Task; got.TaskID != id {
			t.Errorf("got %s, want %s", got.TaskID, id)
		}
		begin := time.Now()
		u.call("a2a_poll", args{"task_id": p.TaskID, "wait_seconds": 20}).want(t, "is working")
		if took := time.Since(begin); took < 19*time.Second || took > 21*time.Second {
			t.Errorf("the poll took %v, want 20 s", took)
		}
		u.call("a2a_poll", args{"task_id": p.TaskID, "wait_seconds": 20}).want(t, "is completed")
	})
}

// scripted is an agent that answers each method of JSON-RPC with what a function returns:
// a result, or a status for no answer of the protocol.
func scripted(t *testing.T, net *network, card string, answer func(method string) any) mcpserver.Agent {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			io.WriteString(w, card) //nolint:errcheck // the client notices
			return
		}
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		switch a := answer(req.Method).(type) {
		case int:
			w.WriteHeader(a)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, a) //nolint:errcheck // the client notices
		}
	})}
	go server.Serve(net.listen("alpha")) //nolint:errcheck // ends with the test
	t.Cleanup(func() { server.Close() }) //nolint:errcheck // the test is over
	return net.agent(t, "alpha", "alpha", nil)
}

const (
	cardV1    = `{"name":"a","version":"1","skills":[],"supportedInterfaces":[{"url":"http://alpha/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]%s}`
	cardKeyed = `,"capabilities":{"extensions":[{"uri":"` + a2a.ExtIdempotencyKey + `"}]}`
	cardV03   = `{"name":"a","protocolVersion":"0.3.0","url":"http://alpha/","skills":[]}`
	cardEMM   = `{"name":"a","skills":[],"url":"http://alpha/api/a2a/tasks"}`
)

// abandoned records a send as a process does that is killed over it.
func abandoned(t *testing.T, r *pending.Registry, a mcpserver.Agent, e pending.Entry) pending.Entry {
	t.Helper()
	iface, err := a.Client.Interface(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.AgentURL, e.Agent, e.Prompt, e.MessageID = a.Client.URL(), a.Name, "abandoned", "m1"
	if e.Interface, err = json.Marshal(iface); err != nil {
		t.Fatal(err)
	}
	if e, err = r.Begin(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestServer_recover_unsure gives a send up only when its agent had the time to take it.
func TestServer_recover_unsure(t *testing.T) {
	for _, c := range []struct{ name, card, answer, soon, want string }{
		{"no list", cardV03, `{}`, "is being sent just now", "cannot be asked whether it has the work"},
		{"list", fmt.Sprintf(cardV1, ""), `{"tasks":[],"nextPageToken":""}`, "alpha lists no task of", "alpha does not have this work: nothing was done."},
		{"id", cardEMM, `{"status":"not_found"}`, "It is still not known whether it has this work", "alpha does not have this work: nothing was done."},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := scripted(t, &network{}, c.card, func(string) any { return c.answer })
				r := registryAt(t, t.TempDir()+"/pending.db")
				id := a2a.TaskID("")
				if c.card == cardEMM {
					id = "chosen-1"
				}
				e := abandoned(t, r, agent, pending.Entry{TaskID: id})
				u := connect(t, newServer(t, mcpserver.Options{Registry: r, Agents: []mcpserver.Agent{agent}}), "")
				u.call("a2a_pending", nil).want(t, "it is being sent just now; if that lasts, find out with a2a_poll")
				if got := u.call("a2a_poll", args{"task_id": e.Ref}); !strings.Contains(got.Text, c.soon) || got.Data.Pending[0].State != "sending" {
					t.Errorf("got %s", got.Text)
				}
				time.Sleep(3 * time.Minute)
				got := u.call("a2a_poll", nil).wantError(t, c.want)
				if strings.Contains(c.want, "nothing was done") {
					if len(got.Data.Pending) != 0 {
						t.Errorf("got %+v, want it off the list", got.Data.Pending)
					}
					u.call("a2a_poll", args{"task_id": e.Ref}).wantError(t, "it did not take the work")
				} else if p := got.Data.Pending[0]; !strings.Contains(p.Hint, "drop this one with a2a_cancel") {
					t.Errorf("got %+v", p)
				}
			})
		})
	}
}

// TestServer_recover_words sends again under the key, to an agent that wants other
// credentials first, and then answers without a task.
func TestServer_recover_words(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		agent := scripted(t, &network{}, fmt.Sprintf(cardV1, cardKeyed), func(string) any {
			if sent.Add(1) == 1 {
				return http.StatusUnauthorized
			}
			return `{"message":{"messageId":"m9","contextId":"c9","role":"ROLE_AGENT","parts":[{"text":"just words"}]}}`
		})
		r := registryAt(t, t.TempDir()+"/pending.db")
		message, err := json.Marshal(client.Message{ID: "m1", Parts: []a2a.Part{a2a.TextPart("hello")}})
		if err != nil {
			t.Fatal(err)
		}
		e := abandoned(t, r, agent, pending.Entry{Key: "k", Message: message})
		u := connect(t, newServer(t, mcpserver.Options{Registry: r, Agents: []mcpserver.Agent{agent}}), "")
		p := u.call("a2a_poll", nil).wantError(t, "refuses our credentials", "still not known").Data.Pending[0]
		if p.State != "sending" || !strings.Contains(p.Hint, "find out with a2a_poll whether") {
			t.Errorf("got %+v", p)
		}
		u.call("a2a_poll", args{"task_id": e.Ref}).want(t, "is completed", "just words", "No task is pending.")
		u.call("a2a_poll", args{"task_id": e.Ref}).want(t, "just words")
		u.call("a2a_reply", args{"task_id": e.Ref, "text": "thanks"}).wantError(t, "is completed, so it takes no answer", `"c9"`)
		if n := sent.Load(); n != 2 {
			t.Errorf("the message was sent %d times", n)
		}
	})
}
