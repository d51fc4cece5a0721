package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// shared gives bob two of the skills and keeps weekly_report for those with a key.
func shared(t testing.TB) func(*configs.Config) {
	return func(c *configs.Config) {
		c.Card.Extended = true
		c.Auth.Keys[1].Skills = []string{"list_board", "probe"}
		skill(t, c, "weekly_report").Private = true
	}
}

// skillIDs are the ids of a card's skills.
func skillIDs(a servertest.Answer, path ...any) string {
	list, _ := a.Get(append(path, "skills")...).([]any)
	ids := make([]string, len(list))
	for i, s := range list {
		ids[i], _ = members(s)["id"].(string)
	}
	return strings.Join(ids, " ")
}

// TestCallers_Skills: a skill that a caller may not use is not there for it, whatever
// the dialect and the place that names it.
func TestCallers_Skills(t *testing.T) {
	c := probe(t, shared(t))
	const list = "; available skills: list_board, probe"
	for _, id := range []string{"weekly_report", "list_boards", "no_such"} {
		says := `unknown skillId "` + id + `"` + list
		by := `{"metadata":{"skillId":"` + id + `"}}`
		a := c.send("x", by, "", bob)
		wantState(t, a, "TASK_STATE_FAILED")
		want(t, a, says, "result", "task", "status", "message", "parts", 0, "text")
		a = c.get(taskID(a), bob)
		want(t, a, says, "result", "status", "message", "parts", 0, "text")
		a = c.v03("message/send", message03(text03("x"), by, ""), bob)
		wantState(t, a, "failed")
		want(t, a, says, "result", "status", "message", "parts", 0, "text")
		a = c.Do("POST", "/skills/"+id, call("SendMessage", message("x", "", "")), bob, v10)
		wantState(t, a, "TASK_STATE_FAILED")
		want(t, a, says, "result", "task", "status", "message", "parts", 0, "text")
		a = c.Do("POST", "/rest/message:send", message("x", by, ""), bob, v10)
		want(t, a, says, "task", "status", "message", "parts", 0, "text")
		a = c.RPC(call("tasks/submit", `{"skillId":"`+id+`","message":{"role":"user","parts":[{"type":"text","text":"x"}]}}`), bob)
		if !strings.Contains(string(a.Body), `available skills: list_board, probe`) {
			t.Errorf("tasks/submit with %s: got %s", id, clip(a.Body))
		}
	}
	// Plain HTTP tells no more.
	for _, method := range []string{"GET /skills/ID/schema", "POST /skills/ID"} {
		verb, path, _ := strings.Cut(method, " ")
		gone := c.Do(verb, strings.Replace(path, "ID", "no_such", 1), "x", bob, "Content-Type: text/plain")
		a := c.Do(verb, strings.Replace(path, "ID", "weekly_report", 1), "x", bob, "Content-Type: text/plain")
		if a.Status != http.StatusNotFound || gone.Status != http.StatusNotFound ||
			strings.ReplaceAll(string(a.Body), "weekly_report", "no_such") != string(gone.Body) {
			t.Errorf("%s: got HTTP %d %s, want that of an unknown skill: %d %s", method, a.Status, a.Body, gone.Status, gone.Body)
		}
	}
	for key, ids := range map[string]string{alice: "probe weekly_report list_board list_boards list_workspaces", bob: "probe list_board"} {
		if got := skillIDs(c.Do("GET", "/skills", "", key)); got != ids {
			t.Errorf("GET /skills of %s: got %s, want %s", key, got, ids)
		}
	}
	// An operation that is the name of such a skill is just a part of the input.
	a := c.v03("message/send", message03(text03(`{"operation":"weekly_report"}`), "", ""), bob)
	want(t, a, "probe", "result", "metadata", "skillId")
	for _, id := range []string{"weekly_report", "list_boards"} {
		wantState(t, c.send("{}", `{"metadata":{"skillId":"`+id+`"}}`, ""), "TASK_STATE_COMPLETED")
	}
}

// TestCallers_TaskOfALostSkill: a task goes no further with a skill that its caller may
// not use any more, and stays readable.
func TestCallers_TaskOfALostSkill(t *testing.T) {
	dir := t.TempDir()
	open := func(ids ...string) *client {
		return &client{t: t, Server: servertest.New(t, servertest.Options{YAML: probeYAML(t), Dir: dir, Edit: func(c *configs.Config) {
			c.Auth.Keys[1].Skills = ids
		}})}
	}
	c := open()
	a := c.send("@ask", "", "", bob)
	wantState(t, a, "TASK_STATE_INPUT_REQUIRED")
	id := taskID(a)
	c.Stop()
	c = open("list_board")
	wantCode(t, c.send("yes", `{"taskId":"`+id+`"}`, "", bob), -32004)
	wantState(t, c.get(id, bob), "TASK_STATE_INPUT_REQUIRED")
}

// TestCallers_PrivateSkill: the card and the schema of a private skill, which lists and
// errors link to, are there for those who may use it, and unknown to all others.
func TestCallers_PrivateSkill(t *testing.T) {
	c := probe(t, shared(t))
	for _, path := range []string{"/skills/ID/.well-known/agent-card.json", "/skills/ID/rest/.well-known/agent.json", "/skills/ID/schema"} {
		private, public := strings.Replace(path, "ID", "weekly_report", 1), strings.Replace(path, "ID", "list_boards", 1)
		for _, headers := range [][]string{{}, {bob}, {"X-API-Key: wrong"}, {"Authorization: Basic eDp5"}} {
			a := c.Do("GET", private, "", headers...)
			none := c.Do("GET", strings.Replace(path, "ID", "no_such", 1), "", headers...)
			if a.Status != http.StatusNotFound || none.Status != http.StatusNotFound || string(a.Body) != string(none.Body) {
				t.Errorf("%s for %v: got HTTP %d %s, want that of an unknown skill", path, headers, a.Status, a.Body)
			}
			if cc, vary := a.Header.Get("Cache-Control"), strings.Join(a.Header.Values("Vary"), ", "); cc != "private" || !strings.Contains(vary, "X-API-Key") {
				t.Errorf("%s for %v: got Cache-Control %q, Vary %q", path, headers, cc, vary)
			}
			if a := c.Do("GET", public, "", headers...); a.Status != 200 || !strings.HasPrefix(a.Header.Get("Cache-Control"), "public") {
				t.Errorf("%s for %v: got HTTP %d, Cache-Control %q, want it as public as ever", public, headers, a.Status, a.Header.Get("Cache-Control"))
			}
		}
		for _, key := range []string{alice, "Authorization: Bearer alice-token"} {
			a := c.Do("GET", private, "", key)
			if cc, vary := a.Header.Get("Cache-Control"), strings.Join(a.Header.Values("Vary"), ", "); a.Status != 200 || !strings.HasPrefix(cc, "private") || !strings.Contains(vary, "X-API-Key") {
				t.Errorf("%s for %s: got HTTP %d, Cache-Control %q, Vary %q", path, key, a.Status, cc, vary)
			}
		}
	}
	list := c.Do("GET", "/skills", "", alice)
	for _, name := range []string{"schema", "card"} {
		link, _ := list.Get("skills", 1, "links", name).(string)
		if a := c.Do("GET", strings.TrimPrefix(link, c.URL), "", alice); a.Status != 200 {
			t.Errorf("GET /skills links to %q, which answers HTTP %d", link, a.Status)
		}
	}
}

// TestCallers_Cards: the public card is the same for everybody, the extended one is not.
func TestCallers_Cards(t *testing.T) {
	c := probe(t, shared(t))
	const public = "probe list_board list_boards list_workspaces"
	for _, headers := range [][]string{{}, {alice}, {bob}, {v10}} {
		if got := skillIDs(c.Do("GET", cardPath, "", headers...)); got != public {
			t.Errorf("public card for %v: got %s", headers, got)
		}
	}
	for key, ids := range map[string]string{alice: "probe weekly_report list_board list_boards list_workspaces", bob: "probe list_board"} {
		a := c.v1("GetExtendedAgentCard", `{}`, key)
		if got := skillIDs(a, "result"); got != ids {
			t.Errorf("extended card for %s: got %s, want %s", key, got, ids)
		}
		if cc, vary := a.Header.Get("Cache-Control"), strings.Join(a.Header.Values("Vary"), ", "); !strings.Contains(cc, "private") || !strings.Contains(vary, "Authorization") {
			t.Errorf("got Cache-Control %q, Vary %q", cc, vary)
		}
		if got := skillIDs(c.v03("agent/getAuthenticatedExtendedCard", `{}`, key), "result"); got != ids {
			t.Errorf("extended 0.3 card for %s: got %s, want %s", key, got, ids)
		}
	}

	// REST shows the same.
	for path, header := range map[string]string{"/rest/extendedAgentCard": v10, "/rest/v1/card": "A2A-Version: 0.3"} {
		a := c.Do("GET", path, "", header)
		if a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without a key: got HTTP %d", path, a.Status)
		}
		a = c.Do("GET", path, "", header, bob)
		if got := skillIDs(a); got != "probe list_board" || !strings.Contains(a.Header.Get("Cache-Control"), "private") {
			t.Errorf("%s: got %s, Cache-Control %q", path, got, a.Header.Get("Cache-Control"))
		}
		strangers := probe(t, shared(t), func(cfg *configs.Config) { cfg.Auth.Required = "false" })
		if a := strangers.Do("GET", path, "", header); a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s where calls need no key: got HTTP %d", path, a.Status)
		}
	}

	closed := probe(t, shared(t), func(cfg *configs.Config) { cfg.Auth.ProtectCard = true })
	for key, ids := range map[string]string{alice: public, bob: "probe list_board"} {
		a := closed.Do("GET", cardPath, "", key)
		if got := skillIDs(a); got != ids || !strings.Contains(a.Header.Get("Cache-Control"), "private") {
			t.Errorf("protected card for %s: got %s, Cache-Control %q, want %s", key, got, a.Header.Get("Cache-Control"), ids)
		}
	}
}

// TestCallers_Strangers: without a key there are no private skills and no extended card,
// also where calls need none.
func TestCallers_Strangers(t *testing.T) {
	c := probe(t, shared(t), func(cfg *configs.Config) { cfg.Auth.Required = "false" })
	a := c.RPC(call("SendMessage", message("x", `{"metadata":{"skillId":"weekly_report"}}`, "")), v10)
	want(t, a, `unknown skillId "weekly_report"; available skills: list_board, list_boards, list_workspaces, probe`,
		"result", "task", "status", "message", "parts", 0, "text")
	for method, header := range map[string]string{"GetExtendedAgentCard": v10, "agent/getAuthenticatedExtendedCard": "X: y"} {
		a := c.RPC(call(method, `{}`), header)
		if a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" || a.Get("result") != nil {
			t.Errorf("%s without a key: got HTTP %d %s, want 401", method, a.Status, clip(a.Body))
		}
	}
}
