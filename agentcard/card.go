package agentcard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// Variant is a form of the card.
type Variant string

// The variants.
const (
	// Hybrid has the members of both versions; it is what clients get that do not
	// say theirs.
	Hybrid Variant = "hybrid"
	// V03 is a card of A2A 0.3 (§5.5), which 0.2 clients read as well.
	V03 Variant = "v0.3"
	// V03Proto is V03 with its security schemes spelled as Protocol Buffers have them as
	// well: clients of the REST of 0.3 read them so, or as JSON Schema has them.
	V03Proto Variant = "v0.3-proto"
	// V1 is a card of A2A 1.0 (§4.4.1) without any other member.
	V1 Variant = "v1"
)

// pure03 reports whether a card has members of 0.3 only, but for the schemes.
func (v Variant) pure03() bool { return v == V03 || v == V03Proto }

// protocol03 is the version that a 0.3 card itself has, and all of its interfaces.
const protocol03 = "0.3.0"

// Provider is who runs the agent.
type Provider struct {
	Organization string
	URL          string
}

// Options say what the card says. Name, Description, Version and Skills are
// required.
type Options struct {
	// Skills are listed in their order.
	Skills      *skills.Set
	Name        string
	Description string
	// Version is the agent's version.
	Version string
	// Interfaces are the ways to call the agent, the preferred one first, at least one
	// of each version. The first of 0.3 is the main one of a 0.3 card.
	Interfaces []Interface
	// Provider is left out when its Organization is "".
	Provider         Provider
	DocumentationURL string
	IconURL          string

	// Streaming, PushNotifications and Extended are the capabilities.
	Streaming         bool
	PushNotifications bool
	Extended          bool

	// Extensions are declared in their order.
	Extensions a2a.Extensions

	// Secured says that calls need a key: the card then declares how to send one.
	Secured bool
	// SecurityRequirements puts the requirement into the V1 card as well. Without
	// it that card only declares the schemes.
	SecurityRequirements bool

	// Signer signs the pure cards; nil does not. The hybrid one is never signed: a
	// verifier drops what it does not know before it looks, and half of that card is
	// unknown to each.
	Signer *Signer

	// InputModes and OutputModes are the defaults of skills that name none; nil
	// means text/plain and application/json.
	InputModes  []string
	OutputModes []string
}

// card is every member of every variant; a variant leaves some out. Slices without
// omitempty are required lists and encode as [] when they are nil.
type card struct {
	ProtocolVersion      string         `json:"protocolVersion,omitempty"`
	Name                 string         `json:"name"`
	Description          string         `json:"description"`
	URL                  string         `json:"url,omitempty"`
	PreferredTransport   string         `json:"preferredTransport,omitempty"`
	AdditionalInterfaces []interface03  `json:"additionalInterfaces,omitempty"`
	SupportedInterfaces  []interface1   `json:"supportedInterfaces,omitempty"`
	Provider             *provider      `json:"provider,omitempty"`
	Version              string         `json:"version"`
	DocumentationURL     string         `json:"documentationUrl,omitempty"`
	IconURL              string         `json:"iconUrl,omitempty"`
	Capabilities         capabilities   `json:"capabilities"`
	SecuritySchemes      jsontext.Value `json:"securitySchemes,omitempty"`
	Security             jsontext.Value `json:"security,omitempty"`
	SecurityRequirements jsontext.Value `json:"securityRequirements,omitempty"`
	DefaultInputModes    []string       `json:"defaultInputModes"`
	DefaultOutputModes   []string       `json:"defaultOutputModes"`
	Skills               []skill        `json:"skills"`
	ExtendedCard         bool           `json:"supportsAuthenticatedExtendedCard,omitzero"`
	Signatures           []signature    `json:"signatures,omitempty"`
}

type interface03 struct {
	URL       string `json:"url"`
	Transport string `json:"transport"`
}

type interface1 struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`
	ProtocolVersion string `json:"protocolVersion"`
}

type provider struct {
	Organization string `json:"organization"`
	URL          string `json:"url"`
}

type capabilities struct {
	Streaming         bool        `json:"streaming"`
	PushNotifications bool        `json:"pushNotifications"`
	Extensions        []extension `json:"extensions,omitempty"`
	ExtendedAgentCard bool        `json:"extendedAgentCard,omitzero"`
}

type skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// The security of both versions: a key in a header of its own or as a bearer token.
// Names of schemes are free. In a hybrid card each scheme is spelled in both ways at
// once, as parsers look for their own way and skip the other; the requirement is
// there in the way of 0.3 only, which the others do not mind.
const (
	schemes03 = `{"apiKey":{"type":"apiKey","in":"header","name":"X-API-Key"},"bearer":{"type":"http","scheme":"bearer"}}`
	schemes1  = `{"apiKey":{"apiKeySecurityScheme":{"location":"header","name":"X-API-Key"}},"bearer":{"httpAuthSecurityScheme":{"scheme":"bearer"}}}`
	schemesHy = `{"apiKey":{"type":"apiKey","in":"header","name":"X-API-Key","apiKeySecurityScheme":{"location":"header","name":"X-API-Key"}},` +
		`"bearer":{"type":"http","scheme":"bearer","httpAuthSecurityScheme":{"scheme":"bearer"}}}`
	needed03 = `[{"apiKey":[]},{"bearer":[]}]`
	needed1  = `[{"schemes":{"apiKey":{"list":[]}}},{"schemes":{"bearer":{"list":[]}}}]`
	// A signed card has no empty lists, which verifiers do not agree on: most drop them,
	// and then the whole requirement. So it names a role, which is what other schemes
	// than OAuth may do, and nobody asks for it.
	neededSigned = `[{"schemes":{"apiKey":{"list":["caller"]}}},{"schemes":{"bearer":{"list":["caller"]}}}]`
)

// check reports what is missing, all at once.
func (o Options) check() error {
	var errs []error
	for _, m := range [...]struct{ name, value string }{
		{"name", o.Name}, {"description", o.Description}, {"version", o.Version},
	} {
		if m.value == "" {
			errs = append(errs, fmt.Errorf("card %s is empty", m.name))
		}
	}
	if o.Skills == nil {
		errs = append(errs, errors.New("card has no set of skills"))
	}
	errs = append(errs, checkInterfaces(o.Interfaces))
	if err := errors.Join(errs...); err != nil || o.Signer == nil {
		return err
	}
	return o.checkSigned()
}

// checkSigned says what a signed card would have that verifiers treat differently:
// empty values, wherever they are.
func (o Options) checkSigned() error {
	b, err := o.encode("", V1, o.Skills.All(), "")
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("read card: %w", err)
	}
	if at := findEmpty(v, ""); at != "" {
		return fmt.Errorf("card has an empty value at %s, which a signed card must not have", at)
	}
	return nil
}

// findEmpty returns the place of an empty value in v, as a JSON Pointer, or "".
func findEmpty(v any, at string) string {
	switch v := v.(type) {
	case nil:
		return at
	case string:
		if v == "" {
			return at
		}
	case []any:
		if len(v) == 0 {
			return at
		}
		for i, e := range v {
			if found := findEmpty(e, at+"/"+strconv.Itoa(i)); found != "" {
				return found
			}
		}
	case map[string]any:
		if len(v) == 0 {
			return at
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := findEmpty(v[name], at+"/"+name); found != "" {
				return found
			}
		}
	}
	return ""
}

// encode returns a card as JSON with a line break at the end. It lists the entries;
// one is the id of the skill of a focused card, whose only entry that is, or "".
func (o Options) encode(base string, v Variant, entries []*skills.Entry, one a2a.SkillID) ([]byte, error) {
	c := card{
		Name:             o.Name,
		Description:      o.Description,
		Version:          o.Version,
		DocumentationURL: o.DocumentationURL,
		IconURL:          o.IconURL,
		Capabilities: capabilities{
			Streaming: o.Streaming, PushNotifications: o.PushNotifications,
			ExtendedAgentCard: o.Extended && !v.pure03(),
		},
		DefaultInputModes:  modes(o.InputModes),
		DefaultOutputModes: modes(o.OutputModes),
	}
	for _, x := range o.Extensions {
		c.Capabilities.Extensions = append(c.Capabilities.Extensions, extension{
			URI: x.URI, Description: x.Description, Required: x.Required, Params: jsontext.Value(x.Params),
		})
	}
	if o.Provider.Organization != "" {
		c.Provider = &provider{Organization: o.Provider.Organization, URL: o.Provider.URL}
	}
	if one != "" {
		s := o.describe(entries[0])
		c.Name, c.Description = s.Name, s.Description
	}
	all, old := shown(o.Interfaces, base, string(one))
	for _, e := range entries {
		c.Skills = append(c.Skills, o.describe(e))
	}
	schemas, err := o.schemaExtension(base, entries)
	if err != nil {
		return nil, fmt.Errorf("encode card: %w", err)
	}
	if schemas != nil {
		c.Capabilities.Extensions = append(c.Capabilities.Extensions, *schemas)
	}
	if v != V1 {
		c.ProtocolVersion, c.ExtendedCard, c.AdditionalInterfaces = protocol03, o.Extended, old
		if len(old) > 0 {
			c.URL, c.PreferredTransport = old[0].URL, old[0].Transport
		}
	}
	if !v.pure03() {
		c.SupportedInterfaces = all
	}
	switch {
	case !o.Secured:
	case v == V1:
		c.SecuritySchemes = jsontext.Value(schemes1)
		if o.SecurityRequirements {
			c.SecurityRequirements = jsontext.Value(needed1)
			if o.Signer != nil {
				c.SecurityRequirements = jsontext.Value(neededSigned)
			}
		}
	case v == V03:
		c.SecuritySchemes, c.Security = jsontext.Value(schemes03), jsontext.Value(needed03)
	default:
		c.SecuritySchemes, c.Security = jsontext.Value(schemesHy), jsontext.Value(needed03)
	}
	b, err := json.Marshal(&c)
	if err == nil && o.Signer != nil && v != Hybrid {
		if c.Signatures, err = o.Signer.sign(b); err == nil {
			b, err = json.Marshal(&c)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encode card: %w", err)
	}
	return append(b, '\n'), nil
}

// describe fills in what a skill does not say: clients require a name and a
// description.
func (o Options) describe(e *skills.Entry) skill {
	s := skill{
		ID: string(e.Info.ID), Name: e.Info.Name, Description: e.Info.Description, Tags: e.Info.Tags,
		Examples: e.Info.Examples, InputModes: e.Info.InputModes, OutputModes: e.Info.OutputModes,
	}
	if s.Name == "" {
		s.Name = s.ID
	}
	if s.Description == "" {
		s.Description = s.Name
	}
	if len(s.Tags) == 0 && o.Signer != nil {
		s.Tags = []string{s.ID} // an empty list is not signed alike everywhere
	}
	return s
}

func modes(list []string) []string {
	if list == nil {
		return []string{"text/plain", "application/json"}
	}
	return list
}
