package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/configs"
)

// agent is an agent that is meant, with what is known of it.
type agent struct {
	name, url string // the URL as the client spells it
	// file is its entry in the agents file, or nil.
	file *configs.Agent
}

// skill returns the skill to ask for. Where the agents file allows some skills only, the
// agent does not choose.
func (a agent) skill(asked string) (a2a.SkillID, error) {
	if a.file == nil || len(a.file.Skills) == 0 || slices.Contains(a.file.Skills, asked) {
		return a2a.SkillID(asked), nil
	}
	hint := "it allows " + strings.Join(a.file.Skills, ", ")
	switch {
	case asked != "":
		return "", usage("the agents file allows no skill "+quoted(asked)+" of "+a.name, hint)
	case len(a.file.Skills) > 1:
		return "", usage("the agents file allows some skills of "+a.name+" only, and none is named by --skill", hint)
	}
	return a2a.SkillID(a.file.Skills[0]), nil
}

// loadAgents reads the agents file, once. That there is none is an error only if it was
// asked for.
func (s *session) loadAgents() (*configs.Agents, error) {
	if s.agents != nil {
		return s.agents, nil
	}
	a, err := configs.LoadAgents(configs.AgentsOptions{Path: s.f.agents, Env: s.Env})
	asked := s.f.agents != "" || s.Env["A2A_AGENTS"] != ""
	switch {
	case err == nil:
	case !asked && (errors.Is(err, fs.ErrNotExist) || configs.AgentsPath(s.Env) == ""):
		a = &configs.Agents{}
	default:
		return nil, err
	}
	s.agents = a
	return a, nil
}

// named returns the agent that a name or URL stands for.
func (s *session) named(nameOrURL string) (agent, error) {
	file, err := s.loadAgents()
	if err != nil {
		return agent{}, err
	}
	if a, ok := file.Find(nameOrURL); ok {
		u, err := client.NormalURL(a.URL)
		return agent{name: a.Name, url: u, file: &a}, err
	}
	names := strings.Join(file.Names(), ", ")
	if nameOrURL == "" {
		hint := "name it by --agent URL or A2A_SERVER"
		if names != "" {
			hint += ", or by its name in the agents file: " + names
		}
		return agent{}, usage("no agent is named", hint)
	}
	// A bare word is more likely a misspelt name than a host.
	if !strings.ContainsAny(nameOrURL, ".:/") && !strings.EqualFold(nameOrURL, "localhost") {
		hint := "give its URL, or write it into the agents file"
		if names != "" {
			hint = "the agents file names " + names + "; or give a URL"
		}
		return agent{}, usage("there is no agent "+quoted(nameOrURL), hint)
	}
	u, err := client.NormalURL(nameOrURL)
	if err != nil {
		return agent{}, err
	}
	return s.at(u), nil
}

// at returns the agent at a URL, which may be in the agents file.
func (s *session) at(url string) agent {
	a := agent{url: url}
	for _, f := range s.agents.Agents {
		if u, err := client.NormalURL(f.URL); err == nil && u == url {
			a.name, a.file = f.Name, &f
			break
		}
	}
	return a
}

// agentClient returns a client of the agent that --agent or A2A_SERVER names.
func (s *session) agentClient() (*client.Client, error) {
	a, err := s.named(s.f.agent)
	if err != nil {
		return nil, err
	}
	return s.clientFor(a, nil)
}

// clientOf returns a client of the agent of an entry, which need not be asked for its
// card again.
func (s *session) clientOf(e pending.Entry) (*client.Client, error) {
	if _, err := s.loadAgents(); err != nil {
		return nil, err
	}
	var iface *client.Interface
	if len(e.Interface) > 0 && s.f.dialect == "" {
		iface = &client.Interface{}
		if json.Unmarshal(e.Interface, iface) != nil {
			iface = nil // of a newer program: the card says it, too
		}
	}
	return s.clientFor(s.at(e.AgentURL), iface)
}

// clientFor makes a client of an agent, or returns the one that there is.
func (s *session) clientFor(a agent, iface *client.Interface) (*client.Client, error) {
	key := a.url
	if iface != nil {
		key += " " + iface.Dialect + " " + iface.URL
	}
	if c := s.clients[key]; c != nil {
		return c, nil
	}
	header, err := s.header(a)
	if err != nil {
		return nil, err
	}
	token, err := s.token(a)
	if err != nil {
		return nil, err
	}
	o := client.Options{
		Token: token, Header: header, Interface: iface, Dialect: s.f.dialect, AllowPrivate: s.f.allowPrivate,
		UserAgent: "Skillyard/" + cmp.Or(s.Version, "devel"), OnNotice: s.notice,
	}
	if a.file != nil {
		o.AllowPrivate = o.AllowPrivate || a.file.AllowPrivate
		o.Dialect = cmp.Or(o.Dialect, a.file.Dialect)
	}
	c, err := client.New(a.url, o)
	if err != nil {
		return nil, err
	}
	s.clients[key] = c
	return c, nil
}

// ours reports whether credentials are for an agent that come with the naming of
// another, "" for none: they are for the origin that is named. Without a name they are
// for any, since a command is then about one task.
func (s *session) ours(a agent, with string) (bool, error) {
	if with == "" {
		return true, nil
	}
	n, err := s.named(with)
	return origin(n.url) == origin(a.url), err
}

// origin is the first part of a URL in the client's spelling, to which credentials are
// bound.
func origin(agentURL string) string {
	u, err := url.Parse(agentURL)
	if err != nil {
		return "" // it was parsed before
	}
	return u.Scheme + "://" + u.Host
}

// token returns the token for an agent: that of the command line, of the agents file, or
// of the environment.
func (s *session) token(a agent) (string, error) {
	ours, err := s.ours(a, s.f.agent)
	if err != nil {
		return "", err
	}
	switch {
	case ours && s.f.tokenFile != "":
		b, err := os.ReadFile(s.f.tokenFile)
		if err != nil {
			return "", usage("the token cannot be read: "+err.Error(), "")
		}
		return oneWord(string(b), "the token in "+s.f.tokenFile)
	case ours && s.f.token != "":
		return oneWord(s.f.token, "the token")
	case a.file != nil && a.file.Token != "":
		return a.file.Token.Reveal(), nil
	}
	// The variables belong together: with --agent another one is meant.
	if ours, err = s.ours(a, cmp.Or(s.Env["A2A_SERVER"], s.f.agent)); err != nil || !ours {
		return "", err
	}
	return oneWord(s.Env["A2A_TOKEN"], "A2A_TOKEN")
}

// oneWord refuses what cannot be sent in a header, without repeating it.
func oneWord(secret, what string) (string, error) {
	secret = strings.TrimSpace(secret)
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", usage(what+" is not one word", "")
	}
	return secret, nil
}

// header returns the further headers for an agent.
func (s *session) header(a agent) (http.Header, error) {
	h := http.Header{}
	if a.file != nil {
		for name, value := range a.file.Headers {
			h.Set(name, value.Reveal())
		}
	}
	ours, err := s.ours(a, s.f.agent)
	if err != nil || !ours {
		return h, err
	}
	for _, line := range s.f.headers {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, usage("--header must be 'Name: value'", "")
		}
		h.Add(name, value)
	}
	return h, nil
}

// several refuses credentials that are meant for nobody in particular when the tasks are
// of several agents.
func (s *session) several(list []pending.Entry) error {
	if s.f.agent != "" || len(list) == 0 || s.f.token == "" && s.f.tokenFile == "" && s.Env["A2A_TOKEN"] == "" && len(s.f.headers) == 0 {
		return nil
	}
	if slices.ContainsFunc(list, func(e pending.Entry) bool { return origin(e.AgentURL) != origin(list[0].AgentURL) }) {
		return usage("a token is given, and the tasks are of several agents", "name its agent by --agent or A2A_SERVER, or write the tokens into the agents file")
	}
	return nil
}

// notice says what a client does on the way.
func (s *session) notice(n client.Notice) {
	if n.Op == a2a.OpSubscribe {
		s.lost.Add(1)
	}
	switch {
	case s.hushed:
	case s.f.verbose && n.Err != nil:
		s.say("%s (%v)\n", n.Text, n.Err)
	default:
		s.say("%s\n", n.Text)
	}
}
