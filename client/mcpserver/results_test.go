package mcpserver_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/mcpserver"
	"github.com/skillyard/skillyard/configs"
)

// read reads a resource with one content.
func (u *user) read(uri string) (*mcp.ResourceContents, error) {
	u.t.Helper()
	res, err := u.ReadResource(u.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	if len(res.Contents) != 1 {
		u.t.Fatalf("%s: got %d contents, want one", uri, len(res.Contents))
	}
	return res.Contents[0], nil
}

// TestServer_large_result cuts a large result in the answer and has it in full in the
// task's resource.
func TestServer_large_result(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{MaxText: 1000, Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
		u.call("a2a_send", args{"text": "@echo small"})
		r := u.call("a2a_poll", args{"wait_seconds": 5}).want(t, "small")
		if r.Data.Task.Cut || strings.Contains(r.Text, "Cut here") {
			t.Errorf("a small result is cut: %s", r.Text)
		}
		u.call("a2a_send", args{"text": "@big 50000"})
		r = u.call("a2a_poll", args{"wait_seconds": 5}).want(t, "Cut here", r.Data.Task.Resource[:20])
		if !r.Data.Task.Cut || len(r.Text) > 2000 || len(r.Data.Task.Artifacts[0].Text) != 1000 {
			t.Errorf("got %d bytes of text and %d of data, cut: %v", len(r.Text), len(r.Data.Task.Artifacts[0].Text), r.Data.Task.Cut)
		}
		c, err := u.read(r.Data.Task.Resource)
		if err != nil || c.MIMEType != "text/plain" || strings.Count(c.Text, "x") < 50000 {
			t.Errorf("got %v, %+.200v", err, c)
		}
		// JSON that is too large is shown as text, since a part of it is no JSON.
		u.call("a2a_send", args{"text": "@data", "data": map[string]string{"k": strings.Repeat("ї", 3000)}})
		r = u.call("a2a_poll", args{"wait_seconds": 5}).want(t, "Cut here", `{"k":"її`)
		if a := r.Data.Task.Artifacts[0]; len(a.Data) != 0 || len(a.Text) > 1000 || !strings.HasSuffix(a.Text, "ї") {
			t.Errorf("got the artifact %+v", a)
		}
	})
}

// TestServer_data_and_files passes data on as it is and names files.
func TestServer_data_and_files(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		agent := net.agent(t, "alpha", "alpha", nil)
		registry := registryAt(t, t.TempDir()+"/pending.db")
		u := connect(t, newServer(t, mcpserver.Options{Registry: registry, Agents: []mcpserver.Agent{agent}}), "")
		u.call("a2a_send", args{"text": "@data", "data": map[string]any{"n": 12345678901234567, "k": []any{nil}}})
		r := u.call("a2a_poll", args{"wait_seconds": 5}).want(t, `{"k":[null],"n":12345678901234567}`)
		if got := string(r.Data.Task.Artifacts[0].Data[0]); !strings.Contains(got, `{"k":[null],`) {
			t.Errorf("got the data %s", got)
		}

		// A model sends no files, so another program does.
		raw := base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 hello"))
		a, err := agent.Client.Send(t.Context(), client.Message{Parts: []a2a.Part{
			a2a.TextPart("@data"),
			{Kind: a2a.PartRaw, Raw: raw, MediaType: "application/pdf", Filename: "report.pdf"},
			{Kind: a2a.PartURL, URL: "https://files.example.com/x", Filename: "x"},
		}}, client.SendOptions{Blocking: true})
		if err != nil {
			t.Fatal(err)
		}
		other(t, registry, agent, a.Task)
		r = u.call("a2a_poll", args{"task_id": string(a.Task.ID)}).want(t, "File report.pdf, application/pdf, 14 bytes, resource a2a://tasks/alpha/", "File x, at https://files.example.com/x")
		if strings.Contains(r.Text, raw) {
			t.Errorf("the file's content is in the answer: %s", r.Text)
		}
		f := r.Data.Task.Artifacts[0].Files[0]
		c, err := u.read(f.Resource)
		if err != nil || string(c.Blob) != "%PDF-1.7 hello" || c.MIMEType != "application/pdf" || f.Bytes != 14 {
			t.Errorf("got %v, %+v of %+v", err, c, f)
		}
		for _, uri := range []string{
			r.Data.Task.Resource + "/files/2", r.Data.Task.Resource + "/files/0", r.Data.Task.Resource + "/files/x",
			"a2a://tasks/alpha", "a2a://tasks/nobody/" + string(a.Task.ID), "a2a://other",
		} {
			if c, err := u.read(uri); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("%s: got %+v, %v, want that there is no such resource", uri, c, err)
			}
		}
		if _, err := u.read("a2a://tasks/alpha/unknown"); err == nil || !strings.Contains(err.Error(), `No task "unknown" at alpha is known here`) {
			t.Errorf("got %v", err)
		}
	})
}

// TestServer_skills lets a model use the skills that the operator allows, and no others.
func TestServer_skills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		only := func(ids ...a2a.SkillID) func(*mcpserver.Agent, *client.Options) {
			return func(a *mcpserver.Agent, _ *client.Options) { a.Skills = ids }
		}
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{
			net.agent(t, "all", "alpha", nil), net.agent(t, "one", "alpha", only("other")), net.agent(t, "two", "alpha", only("other", "hidden")),
		}}), "")
		r := u.call("a2a_agents", nil).want(t, "all: The agent all.", `skill "probe": Does what the message says.`, `skill "hidden"`)
		got := map[string][]string{}
		for _, a := range r.Data.Agents {
			for _, s := range a.Skills {
				got[a.Name] = append(got[a.Name], s.ID)
			}
		}
		want := map[string][]string{"all": {"probe", "other"}, "one": {"other"}, "two": {"other", "hidden"}}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if r := u.call("a2a_agents", args{"agent": "ONE"}); len(r.Data.Agents) != 1 {
			t.Errorf("got %+v", r.Data.Agents)
		}

		if s := u.call("a2a_send", args{"agent": "one", "text": "@echo x"}).Data.Task.Skill; s != "other" {
			t.Errorf("got the skill %q, want the only one that is allowed", s)
		}
		if s := u.call("a2a_send", args{"agent": "all", "skill": "other", "text": "@echo x"}).Data.Task.Skill; s != "other" {
			t.Errorf("got the skill %q", s)
		}
		u.call("a2a_send", args{"agent": "two", "text": "x"}).wantError(t, "Name the skill of two: other, hidden.")
		u.call("a2a_send", args{"agent": "one", "skill": "probe", "text": "x"}).wantError(t, `"probe" of one may not be used`, "other")
		u.call("a2a_send", args{"text": "x"}).wantError(t, "Name the agent: all, one, two.")
		u.call("a2a_send", args{"agent": "http://evil.example.com", "text": "x"}).wantError(t, `There is no agent "http://evil.example.com". The agents are: all, one, two.`)
	})
}

// TestServer_context goes on with a conversation.
func TestServer_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
		first := u.call("a2a_send", args{"text": "one"}).Data.Task
		second := u.call("a2a_send", args{"text": "two", "context_id": first.ContextID}).Data.Task
		if first.ContextID == "" || second.ContextID != first.ContextID || second.TaskID == first.TaskID {
			t.Errorf("got %+v, then %+v", first, second)
		}
	})
}

// TestServer_arguments says what is wrong in arguments.
func TestServer_arguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", nil)
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
		for _, c := range []struct {
			tool string
			args args
			want string
		}{
			{"a2a_send", nil, "Say what is meant"},
			{"a2a_send", args{"text": " \n"}, "Say what is meant"},
			{"a2a_send", args{"text": nil}, "Say what is meant"},
			{"a2a_send", args{"text": 5}, "The argument text of a2a_send must be of type string, not number."},
			{"a2a_send", args{"text": "x", "data": "y"}, "data must be a JSON object"},
			{"a2a_send", args{"text": "x", "url": "http://evil.example.com"}, `a2a_send has no argument "url"; it takes agent, text, data, skill, context_id.`},
			{"a2a_poll", args{"wait_seconds": 60}, "between 0 and 20"},
			{"a2a_poll", args{"wait_seconds": "5"}, "must be of type integer, not string"},
			{"a2a_poll", args{"task_id": "ab"}, `No task "ab" is known here`},
			{"a2a_poll", args{"agent": "beta"}, `There is no agent "beta"`},
			{"a2a_pending", args{"agent": "beta"}, `There is no agent "beta"`},
			{"a2a_agents", args{"agent": "beta"}, `There is no agent "beta"`},
			{"a2a_cancel", args{"task_id": "nope-nope"}, `No task "nope-nope" is known here`},
			{"a2a_reply", args{"task_id": "nope-nope", "text": "x"}, `No task "nope-nope" is known here`},
		} {
			u.call(c.tool, c.args).wantError(t, c.want, "No task is pending.")
		}
		if _, err := u.CallTool(t.Context(), &mcp.CallToolParams{Name: "a2a_none"}); err == nil {
			t.Error("a tool that is not there can be called")
		}
	})
}

// TestServer_secrets has an agent that answers with the credentials it was sent.
func TestServer_secrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{}
		net.agentServer(t, "alpha", func(c *configs.Config) { c.Auth.Keys = []configs.Key{{Name: "me", Key: "token-of-alpha"}} })
		agent := net.agent(t, "alpha", "alpha", func(a *mcpserver.Agent, o *client.Options) {
			o.Token, a.Secrets = "token-of-alpha", []string{"token-of-alpha", "short"}
		})
		u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{agent}}), "")
		u.call("a2a_send", args{"text": "@echo short token-of-alpha"})
		r := u.call("a2a_poll", args{"wait_seconds": 5}).want(t, "short ***")
		c, err := u.read(r.Data.Task.Resource)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Text+c.Text+r.Data.Task.Artifacts[0].Text, "token-of-alpha") {
			t.Errorf("the token shows in\n%s\n%s", r.Text, c.Text)
		}

		// Also where JSON spells them differently.
		quoted := net.agent(t, "alpha", "alpha", func(a *mcpserver.Agent, o *client.Options) {
			o.Token, a.Secrets = "token-of-alpha", []string{`pass"word`}
		})
		u = connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{quoted}}), "")
		u.call("a2a_send", args{"text": `@echo pass"word`})
		r = u.call("a2a_poll", args{"wait_seconds": 5}).want(t, "***")
		if strings.Contains(r.Text+r.Data.Task.Artifacts[0].Text, `pass"word`) {
			t.Errorf("the secret shows in %s", r.Text)
		}

		wrong := net.agent(t, "alpha", "alpha", func(_ *mcpserver.Agent, o *client.Options) { o.Token = "wrong-token" })
		u = connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{wrong}}), "")
		r = u.call("a2a_send", args{"text": "hello"}).wantError(t, "refuses our credentials", "your user has to renew them", "No task is pending.")
		if strings.Contains(r.Text, "wrong-token") {
			t.Errorf("the token shows in %s", r.Text)
		}
	})
}

// TestServer_no_agent has something else in the place of an agent.
func TestServer_no_agent(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"a page", 200, "<html>Welcome to https://user:pass@intranet</html>", "no agent card"},
		{"nothing", 404, "not here", "no agent card"},
		{"an error", 500, "panic at /srv/app.go:12", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := &network{}
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					w.WriteHeader(c.status)
					w.Write([]byte(c.body)) //nolint:errcheck // the client notices
				})}
				l := net.listen("alpha")
				go server.Serve(l)                   //nolint:errcheck // ends with the test
				t.Cleanup(func() { server.Close() }) //nolint:errcheck // the test is over
				u := connect(t, newServer(t, mcpserver.Options{Agents: []mcpserver.Agent{net.agent(t, "alpha", "alpha", nil)}}), "")
				r := u.call("a2a_send", args{"text": "hello"}).wantError(t, "alpha", "Nothing was sent.", "No task is pending.", c.want)
				list := u.call("a2a_agents", nil).want(t, "alpha")
				if list.Data.Agents[0].Error == "" {
					t.Errorf("got %+v", list.Data.Agents)
				}
				for _, inner := range []string{"http", "panic", "html", "card:"} {
					if strings.Contains(r.Text+list.Text, inner) {
						t.Errorf("%q shows in\n%s\n%s", inner, r.Text, list.Text)
					}
				}
			})
		})
	}
}
