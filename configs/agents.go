package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Agents are the remote agents that this user's programs talk to: the agents file.
type Agents struct {
	Agents []Agent `yaml:"agents" validate:"required,min=1,dive"`

	from *document
}

// Agent is a remote agent with its credentials. They are for the origin of its URL
// alone.
type Agent struct {
	// Name is what people and models call it.
	Name string `yaml:"name" validate:"required"`
	// URL is the base of its card, the card itself or its endpoint.
	URL         string `yaml:"url" validate:"required,max=2048"`
	Description string `yaml:"description" validate:"max=2000"`
	// Token goes where the agent's card says, Headers go with every request.
	Token   Secret            `yaml:"token"`
	Headers map[string]Secret `yaml:"headers"`
	// Dialect overrides what the card says; "" leaves it to the card.
	Dialect string `yaml:"dialect" validate:"omitempty,oneof=1.0 0.3 rest rest-0.3 emm"`
	// Skills are the ids of the only skills that may be asked for; empty means all.
	Skills []string `yaml:"skills" validate:"dive,required,max=256"`
	// AllowPrivate lets the card of a public agent name private addresses.
	AllowPrivate bool `yaml:"allow_private"`
}

// credential finds the names of headers that carry credentials.
var credential = regexp.MustCompile(`(?i)key|secret|token|password|credential|authorization|cookie`)

// Secrets returns the texts that only the agent itself may get to see: the token, and
// what headers that are named like credentials hold, without a scheme such as Bearer.
func (a Agent) Secrets() []string {
	var list []string
	if a.Token != "" {
		list = append(list, a.Token.Reveal())
	}
	for name, value := range a.Headers {
		if words := strings.Fields(value.Reveal()); credential.MatchString(name) && len(words) > 0 {
			list = append(list, words[len(words)-1])
		}
	}
	slices.Sort(list)
	return list
}

// AgentsOptions says where the agents file is.
type AgentsOptions struct {
	// Path is the file, "-" being standard input; "" means AgentsPath.
	Path string
	// Data is the content of the file, if it was read already; nil reads Path.
	Data []byte
	// Env are environment variables by name, which the file may refer to.
	Env map[string]string
}

// AgentsPath returns where the agents file is: A2A_AGENTS, else skillyard/agents.yaml
// in XDG_CONFIG_HOME or ~/.config; "" if none of the variables that name a place is set.
func AgentsPath(env map[string]string) string {
	if path := env["A2A_AGENTS"]; path != "" {
		return path
	}
	// A relative path must be ignored, says the XDG specification.
	dir := env["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(dir) {
		home := env["HOME"]
		if home == "" {
			home = env["USERPROFILE"]
		}
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "skillyard", "agents.yaml")
}

// LoadAgents reads the agents file. The error joins all the problems found (see
// Problems), or says that there is no file and how to write one; it then wraps
// fs.ErrNotExist.
func LoadAgents(o AgentsOptions) (*Agents, error) {
	if o.Path == "" {
		o.Path = AgentsPath(o.Env)
	}
	data := o.Data
	if data == nil {
		if o.Path == "" {
			return nil, errors.New("no agents file, as HOME is not set; use --agents FILE or A2A_AGENTS")
		}
		var err error
		if data, err = readConfig(o.Path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: the agents file names the agents that may be used:\n\n%s", err, agentsExample)
		} else if err != nil {
			return nil, fmt.Errorf("read agents: %w", err)
		}
	}
	a := &Agents{}
	doc, err := readYAML(a, o.Path, data, o.Env)
	if err != nil {
		return nil, err
	}
	a.from = doc
	if err := join(a.check()); err != nil {
		return nil, err
	}
	return a, nil
}

const agentsExample = `agents:
  - name: reports
    url: https://agents.example.com
    token: ${REPORTS_TOKEN}
`

// Find returns the agent of that name, whatever the case of its letters.
func (a *Agents) Find(name string) (Agent, bool) {
	for _, agent := range a.Agents {
		if strings.EqualFold(agent.Name, name) {
			return agent, true
		}
	}
	return Agent{}, false
}

// Names returns the names in the order of the file.
func (a *Agents) Names() []string {
	names := make([]string, len(a.Agents))
	for i, agent := range a.Agents {
		names[i] = agent.Name
	}
	return names
}

// agentName is short and fits into a URI as it is.
var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ownHeaders belong to the protocols, and to no agent's entry.
var ownHeaders = []string{"Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Accept", "A2a-Version"}

func (a *Agents) check() []*Problem {
	var problems []*Problem
	bad := map[string]bool{}
	fault := func(path, format string, args ...any) {
		if !bad[path] {
			bad[path] = true
			problems = append(problems, a.from.problem(path, fmt.Sprintf(format, args...)))
		}
	}
	tagFaults(a, func(path, message string) { fault(path, "%s", message) })
	for i, agent := range a.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		if !agentName.MatchString(agent.Name) {
			fault(at+".name", "%q must be letters, digits, '.', '_' and '-', at most 64", agent.Name)
		}
		for j, other := range a.Agents[:i] {
			if strings.EqualFold(agent.Name, other.Name) {
				fault(at+".name", "%q is also the name of agents[%d]", agent.Name, j)
			}
		}
		if err := checkAgentURL(agent.URL); err != nil {
			fault(at+".url", "%s", err)
		}
		if !httpguts.ValidHeaderFieldValue(agent.Token.Reveal()) || strings.ContainsAny(agent.Token.Reveal(), " \t") {
			fault(at+".token", "must be one word, as it is sent in a header")
		}
		for name, value := range agent.Headers {
			path := at + ".headers." + name
			switch {
			case !httpguts.ValidHeaderFieldName(name):
				fault(path, "%q is not the name of a header", name)
			case slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.EqualFold(own, name) }):
				fault(path, "is set by the protocol")
			case !httpguts.ValidHeaderFieldValue(value.Reveal()):
				fault(path, "must be one line, as it is sent in a header")
			}
		}
	}
	return problems
}

// checkAgentURL checks the URL of an agent, which may lack its scheme. What is wrong in
// it is not repeated, as it may be a secret.
func checkAgentURL(text string) error {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return errors.New("is not a URL such as https://agents.example.com")
	case u.User != nil:
		return errors.New("must not contain a user or password; use token or headers")
	case u.Fragment != "": // a query may be what names the agent
		return errors.New("must not contain a fragment; use token or headers for credentials")
	}
	return nil
}
