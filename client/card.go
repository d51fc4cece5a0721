package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// The dialects that this client speaks, as Options.Dialect and Interface.Dialect name
// them.
const (
	DialectV1     = "1.0"      // A2A 1.0 over JSON-RPC
	DialectV03    = "0.3"      // A2A 0.2 and 0.3 over JSON-RPC
	DialectRest   = "rest"     // A2A 1.0, HTTP+JSON
	DialectRest03 = "rest-0.3" // A2A 0.3, HTTP+JSON
	DialectEMM    = "emm"
)

// Dialects returns the names of the dialects that this client speaks.
func Dialects() []string {
	return []string{DialectV1, DialectV03, DialectRest, DialectRest03, DialectEMM}
}

// Interface is one way to reach an agent. It can be kept as JSON, so that another
// process need not read the card again.
type Interface struct {
	// URL is the endpoint of JSON-RPC, or what the paths of HTTP+JSON are added to.
	URL string `json:"url"`
	// Dialect is one of Dialects.
	Dialect string `json:"dialect"`
	// Tenant is what the card wants to have sent along (A2A 1.0 §4.4.6), or "".
	Tenant string `json:"tenant,omitempty"`
	// Streaming says that the agent streams.
	Streaming bool `json:"streaming,omitempty"`
	// Guessed says that no card told so: that is only tried.
	Guessed bool `json:"guessed,omitempty"`
	// Idempotent says that the agent honours Idempotency-Key (see
	// a2a.ExtIdempotencyKey).
	Idempotent bool `json:"idempotent,omitempty"`
	// TokenHeader is the header that takes the token; "" for both usual ones.
	TokenHeader string `json:"tokenHeader,omitempty"`
}

// Lists reports whether the dialect of the interface has a list of tasks (A2A 1.0
// §3.1.4). An agent may lack it all the same.
func (i Interface) Lists() bool {
	f := forms[i.Dialect]
	if f == nil {
		return false
	}
	_, err := f.call(a2a.OpList, &a2a.ListRequest{}, &i)
	return err == nil
}

// Skill is a skill of a card (A2A 1.0 §4.4.5).
type Skill struct {
	ID          a2a.SkillID `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Tags        []string    `json:"tags,omitempty"`
	Examples    []string    `json:"examples,omitempty"`
	InputModes  []string    `json:"inputModes,omitempty"`
	OutputModes []string    `json:"outputModes,omitempty"`
}

// Card is an agent card of any version, as far as a client needs it.
type Card struct {
	Name, Description, Version string
	// URL is where the card was found.
	URL             string
	Streaming, Push bool
	Skills          []Skill
	// Interfaces are those that this client can use, the best first: those of 1.0
	// before older ones, else in the order of the card. Others names the rest.
	Interfaces []Interface
	Others     []string
	// Offers are all interfaces of the card as it names them, in the same order.
	Offers []Offer
	// Secured says that the card declares how to authenticate.
	Secured bool
	// Extensions are the URIs of the extensions that the agent declares.
	Extensions []string
	// Raw is the card as it came.
	Raw []byte
}

// rawCard has the members of the cards of all versions.
type rawCard struct {
	Name            string `json:"name"`
	Description     string `json:"description"`
	Version         string `json:"version"`
	ProtocolVersion string `json:"protocolVersion"`
	URL             string `json:"url"`
	Preferred       string `json:"preferredTransport"`
	Additional      []struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
	} `json:"additionalInterfaces"`
	Supported []struct {
		URL     string `json:"url"`
		Binding string `json:"protocolBinding"`
		Version string `json:"protocolVersion"`
		Tenant  string `json:"tenant"`
	} `json:"supportedInterfaces"`
	Capabilities struct {
		Streaming  bool `json:"streaming"`
		Push       bool `json:"pushNotifications"`
		Extensions []struct {
			URI string `json:"uri"`
		} `json:"extensions"`
	} `json:"capabilities"`
	Schemes map[string]json.RawMessage `json:"securitySchemes"`
	Skills  []Skill                    `json:"skills"`
}

// ParseCard reads a card of any version that was found at a URL. It is lenient: what a
// client need not know may be missing or of any shape.
func ParseCard(body []byte, at *url.URL) (*Card, error) {
	var raw rawCard
	invalid := func(why string, err error) error {
		return &Error{Kind: KindNoCard, URL: shown(at), Message: why, Body: excerpt(body), Err: err}
	}
	// A member of another type is left out; the others are read all the same.
	var odd *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &raw); err != nil && !errors.As(err, &odd) {
		return nil, invalid("what is there is no agent card", err)
	}
	raw.Skills = slices.DeleteFunc(raw.Skills, func(s Skill) bool { return s.ID == "" })
	if raw.Name == "" && raw.URL == "" && len(raw.Supported) == 0 {
		return nil, invalid("what is there is no agent card: it has neither a name nor a URL", nil)
	}
	c := &Card{
		Name: raw.Name, Description: raw.Description, Version: raw.Version, URL: shown(at),
		Streaming: raw.Capabilities.Streaming, Push: raw.Capabilities.Push, Skills: raw.Skills, Raw: body,
	}
	for _, x := range raw.Capabilities.Extensions {
		c.Extensions = append(c.Extensions, x.URI)
	}
	c.interfaces(&raw, at)
	return c, nil
}

// Offer is an interface as a card names it.
type Offer struct {
	URL     string // as it is written there
	Binding string // such as JSONRPC, HTTP+JSON and GRPC
	Version string
	Tenant  string
}

func (raw *rawCard) offers() []Offer {
	var list []Offer
	for _, i := range raw.Supported {
		list = append(list, Offer{i.URL, i.Binding, cmp.Or(i.Version, "1.0"), i.Tenant})
	}
	if raw.URL != "" {
		version := raw.ProtocolVersion
		if strings.HasPrefix(version, "1.") || version == "" {
			version = "0.3" // the members of 0.3 say nothing of 1.0
		}
		list = append(list, Offer{raw.URL, cmp.Or(raw.Preferred, "JSONRPC"), version, ""})
		for _, i := range raw.Additional {
			list = append(list, Offer{i.URL, i.Transport, version, ""})
		}
	}
	slices.SortStableFunc(list, func(a, b Offer) int { return cmp.Compare(major(b.Version), major(a.Version)) })
	return list
}

func major(version string) int {
	if strings.HasPrefix(version, "1.") || version == "1" {
		return 1
	}
	return 0
}

// interfaces fills in the interfaces of a card.
func (c *Card) interfaces(raw *rawCard, at *url.URL) {
	header := tokenHeader(raw.Schemes)
	c.Offers, c.Secured = raw.offers(), len(raw.Schemes) > 0
	for _, o := range c.Offers {
		i := Interface{
			Tenant: o.Tenant, Streaming: c.Streaming, TokenHeader: header,
			Idempotent: slices.Contains(c.Extensions, a2a.ExtIdempotencyKey),
		}
		u, err := url.Parse(o.URL)
		i.Dialect = dialectOf(o, raw)
		if err != nil || i.Dialect == "" || o.URL == "" {
			if o.Binding != "" {
				c.Others = append(c.Others, o.Binding+" "+o.Version)
			}
			continue
		}
		if at != nil {
			u = at.ResolveReference(u)
			if strings.HasPrefix(o.Version, "0.2") {
				u = besideCard(u, at)
			}
		}
		i.URL = u.String()
		if !slices.ContainsFunc(c.Interfaces, func(x Interface) bool { return x.URL == i.URL && x.Dialect == i.Dialect }) {
			c.Interfaces = append(c.Interfaces, i)
		}
	}
}

// dialectOf returns the dialect of an offer, "" if this client does not speak it.
func dialectOf(o Offer, raw *rawCard) string {
	old := strings.HasPrefix(o.Version, "0.2") || strings.HasPrefix(o.Version, "0.3")
	switch {
	case raw.ProtocolVersion == "" && len(raw.Supported) == 0 && strings.HasSuffix(strings.TrimRight(o.URL, "/"), "/api/a2a/tasks"):
		return DialectEMM
	case o.Binding == "JSONRPC" && major(o.Version) == 1:
		return DialectV1
	case o.Binding == "JSONRPC" && old:
		return DialectV03
	case o.Binding == "HTTP+JSON" && major(o.Version) == 1:
		return DialectRest
	case o.Binding == "HTTP+JSON" && old:
		return DialectRest03
	}
	return ""
}

// besideCard corrects the URL of a FastA2A card (protocol 0.2), which names a default
// such as http://localhost:8000 whatever the server's address is: its endpoint is always
// beside its card.
func besideCard(u, at *url.URL) *url.URL {
	base, _, found := strings.Cut(at.Path, "/.well-known/")
	if origin(u) == origin(at) || !found {
		return u
	}
	return &url.URL{Scheme: at.Scheme, Host: at.Host, Path: base + "/"}
}

// tokenHeader returns the header that takes the token: that of the one kind of scheme
// that a card declares, or "" for both usual ones.
func tokenHeader(schemes map[string]json.RawMessage) string {
	headers := map[string]bool{}
	for _, raw := range schemes {
		var s struct {
			Type   string `json:"type"` // 0.3
			In     string `json:"in"`
			Name   string `json:"name"`
			APIKey *struct {
				Location string `json:"location"`
				Name     string `json:"name"`
			} `json:"apiKeySecurityScheme"` // 1.0
			MTLS json.RawMessage `json:"mtlsSecurityScheme"`
		}
		if json.Unmarshal(raw, &s) != nil {
			continue
		}
		switch {
		case s.APIKey != nil && s.APIKey.Location == "header":
			headers[s.APIKey.Name] = true
		case s.Type == "apiKey" && s.In == "header":
			headers[s.Name] = true
		case s.APIKey != nil || s.Type == "apiKey" || s.Type == "mutualTLS" || s.MTLS != nil:
		default:
			headers["Authorization"] = true
		}
	}
	if len(headers) != 1 {
		return ""
	}
	for h := range headers {
		if headerName(h) {
			return h
		}
	}
	return ""
}
