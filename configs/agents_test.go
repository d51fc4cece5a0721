package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func loadAgents(text string, env ...string) (*Agents, error) {
	return LoadAgents(AgentsOptions{Path: "agents.yaml", Data: []byte(text), Env: Environ(env)})
}

func TestLoadAgents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadAgents(`
agents:
  - name: reports
    url: https://agents.example.com/a2a
    description: Weekly reports.
    token: ${TOKEN}
    headers: {X-Team: blue, X-Api-Key: "${file:`+file+`}"}
    dialect: "1.0"
    skills: [weekly_report]
    allow_private: true
  - {name: local, url: "localhost:8080/?assistant=a"}
`, "TOKEN=from-env")
	if err != nil {
		t.Fatal(err)
	}
	want := &Agents{Agents: []Agent{
		{
			Name: "reports", URL: "https://agents.example.com/a2a", Description: "Weekly reports.", Token: "from-env",
			Headers: map[string]Secret{"X-Team": "blue", "X-Api-Key": "from-file"},
			Dialect: "1.0", Skills: []string{"weekly_report"}, AllowPrivate: true,
		},
		{Name: "local", URL: "localhost:8080/?assistant=a"},
	}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Agents{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"reports", "local"}, got.Names()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"from-env", "from-file"}, got.Agents[0].Secrets()); d != "" {
		t.Error(d)
	}
	if a, ok := got.Find("LOCAL"); !ok || a.Name != "local" {
		t.Errorf("Find gives %v, %v", a.Name, ok)
	}
	if _, ok := got.Find("other"); ok {
		t.Error("Find finds an agent that is not there")
	}
	if text := fmt.Sprintf("%v %+v %#v", got, *got, got.Agents); strings.Contains(text, "from-") {
		t.Errorf("a secret shows in %s", text)
	}
}

func TestLoadAgents_problems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "agents: is required"},
		{"none", "agents: []", "agents: must have at least 1"},
		{"a mapping", "agents: {a: b}", "agents: must be a list"},
		{"unknown key", "agents: [{name: a, url: h, tokn: x}]", `agents[0].tokn: unknown key; did you mean "token"?`},
		{"no name", "agents: [{url: h}]", "agents[0].name: is required"},
		{"no URL", "agents: [{name: a}]", "agents[0].url: is required"},
		{"a name with a slash", "agents: [{name: a/b, url: h}]", "agents[0].name: \"a/b\" must be letters"},
		{"one name twice", "agents: [{name: a, url: h}, {name: A, url: h}]", `agents[1].name: "A" is also the name of agents[0]`},
		{"a scheme", "agents: [{name: a, url: 'ftp://h'}]", "agents[0].url: is not a URL"},
		{"a dialect", "agents: [{name: a, url: h, dialect: '2.0'}]", "agents[0].dialect: is \"2.0\"; must be one of 1.0, 0.3"},
		{"a token of two words", "agents: [{name: a, url: h, token: 'Bearer pst'}]", "agents[0].token: must be one word"},
		{"headers as a list", "agents: [{name: a, url: h, headers: [x]}]", "agents[0].headers: must be a mapping"},
		{"a header twice", "agents:\n- name: a\n  url: h\n  headers:\n    X: 1\n    X: 2", "agents[0].headers.X: is set already in line 5"},
		{"a header's name", "agents: [{name: a, url: h, headers: {'X Y': 1}}]", `agents[0].headers.X Y: "X Y" is not the name of a header`},
		{"a header of the protocol", "agents: [{name: a, url: h, headers: {a2a-version: '1.0'}}]", "agents[0].headers.a2a-version: is set by the protocol"},
		{"a header's value", "agents: [{name: a, url: h, headers: {X: \"a\\nb\"}}]", "agents[0].headers.X: must be one line"},
		{"an unset variable", "agents: [{name: a, url: h, token: '${NOPE}'}]", "agents[0].token: environment variable NOPE is not set"},
		{"an empty skill", "agents: [{name: a, url: h, skills: ['']}]", "agents[0].skills[0]: is required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadAgents(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if len(Problems(err)) == 0 {
				t.Errorf("%v holds no problems", err)
			}
		})
	}
}

// TestLoadAgents_masked looks for secrets where a person is shown the line.
func TestLoadAgents_masked(t *testing.T) {
	_, err := loadAgents(`agents:
  - {name: a, url: "https://user:hunter2@h/"}
  - {name: b, url: h, headers: {Authorization: "hunter2\n"}}
  - {name: c, url: "https://h/#hunter2"}
`)
	problems := Problems(err)
	if len(problems) != 3 {
		t.Fatalf("got %d problems in %v, want 3", len(problems), err)
	}
	for _, p := range problems {
		if strings.Contains(p.Error()+p.Excerpt, "hunter2") || p.Excerpt == "" {
			t.Errorf("got\n%v\n%s", p, p.Excerpt)
		}
	}
}

func TestLoadAgents_missing(t *testing.T) {
	_, err := LoadAgents(AgentsOptions{Env: map[string]string{"A2A_AGENTS": filepath.Join(t.TempDir(), "none.yaml")}})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.yaml") || !strings.Contains(err.Error(), "- name: reports") {
		t.Errorf("got %v, want the place of the file and how to write one", err)
	}
	if _, err := LoadAgents(AgentsOptions{}); err == nil || !strings.Contains(err.Error(), "A2A_AGENTS") {
		t.Errorf("got %v, want how to say where the file is", err)
	}
	if _, err := loadAgents(agentsExample, "REPORTS_TOKEN=x"); err != nil {
		t.Errorf("the example: %v", err)
	}
}

func TestAgentsPath(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"A2A_AGENTS=here.yaml", "HOME=/h"}, "here.yaml"},
		{[]string{"XDG_CONFIG_HOME=/x", "HOME=/h"}, "/x/skillyard/agents.yaml"},
		{[]string{"XDG_CONFIG_HOME=x", "HOME=/h"}, "/h/.config/skillyard/agents.yaml"},
		{[]string{"USERPROFILE=/u"}, "/u/.config/skillyard/agents.yaml"},
		{[]string{"HOME=h"}, ""},
		{nil, ""},
	} {
		if got := AgentsPath(Environ(c.env)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.env, got, c.want)
		}
	}
}
