package agentcard

import (
	"errors"
	"fmt"
	"strings"
)

// Bindings as both versions spell them.
const (
	BindingJSONRPC = "JSONRPC"
	BindingREST    = "HTTP+JSON"
	BindingGRPC    = "GRPC"
)

// Protocol versions as interfaces name them.
const (
	Version1  = "1.0"
	Version03 = "0.3"
)

// Interface is one way to call the agent (A2A 1.0 §4.4.6 AgentInterface).
type Interface struct {
	// URL is relative to the base when it is empty or begins with a slash, else it is
	// taken as it is.
	URL string
	// SkillURL is the same for the card of one skill; {id} in it stands for the
	// skill's id. "" leaves the interface out of such cards.
	SkillURL string
	// Binding is BindingJSONRPC, BindingREST, BindingGRPC or a URI.
	Binding string
	// Version is Version1 or Version03.
	Version string
}

// at returns the URL on a card: of one skill, or with "" of the whole agent.
func (i Interface) at(base, skill string) string {
	u := i.URL
	if skill != "" {
		u = strings.ReplaceAll(i.SkillURL, "{id}", skill)
	}
	if u == "" || u[0] == '/' {
		return base + u
	}
	return u
}

// checkInterfaces holds a list to what both versions ask for: some interface of each,
// one entry for a binding and version, and in 0.3 one transport for a URL (§5.6.4).
func checkInterfaces(list []Interface) error {
	var errs []error
	versions := map[string]bool{}
	entries := map[[2]string]bool{}
	transports := map[string]string{}
	focused := map[string]string{}
	for _, i := range list {
		switch {
		case i.Binding == "":
			errs = append(errs, fmt.Errorf("card interface %q has no binding", i.URL))
		case i.Version != Version1 && i.Version != Version03:
			errs = append(errs, fmt.Errorf("card interface %q has version %q; it must be %s or %s", i.URL, i.Version, Version1, Version03))
		}
		if entry := [2]string{i.Binding, i.Version}; entries[entry] {
			errs = append(errs, fmt.Errorf("card has two interfaces for %s %s", i.Binding, i.Version))
		} else {
			entries[entry] = true
		}
		versions[i.Version] = true
		if i.Version != Version03 {
			continue
		}
		if other := transports[i.URL]; other != "" {
			errs = append(errs, fmt.Errorf("card has one URL %q for %s and %s, which %s forbids", i.URL, other, i.Binding, Version03))
		}
		transports[i.URL] = i.Binding
		if i.SkillURL == "" {
			continue
		}
		if other := focused[i.SkillURL]; other != "" {
			errs = append(errs, fmt.Errorf("card of a skill has one URL %q for %s and %s, which %s forbids", i.SkillURL, other, i.Binding, Version03))
		}
		focused[i.SkillURL] = i.Binding
	}
	for _, v := range [...]string{Version1, Version03} {
		if !versions[v] {
			errs = append(errs, fmt.Errorf("card has no interface of version %s", v))
		}
	}
	return errors.Join(errs...)
}

// shown returns the interfaces with their URLs: of the whole agent, or of one skill.
func shown(list []Interface, base, skill string) (all []interface1, old []interface03) {
	for _, i := range list {
		if skill != "" && i.SkillURL == "" {
			continue
		}
		u := i.at(base, skill)
		all = append(all, interface1{URL: u, ProtocolBinding: i.Binding, ProtocolVersion: i.Version})
		if i.Version == Version03 {
			old = append(old, interface03{URL: u, Transport: i.Binding})
		}
	}
	return all, old
}
