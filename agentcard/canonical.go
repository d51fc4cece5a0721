package agentcard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the bytes of a card that signatures are about (A2A 1.0 §8.4.1): the
// card without its signatures and without the members that hold a default of the
// protocol's schema, in the canonical form of RFC 8785. A member stays whatever it holds
// if the schema requires it or gives it presence (capabilities.streaming and its like,
// and every object). Members that the schema does not know stay as they are, so that a
// signature of ours covers a 0.3 card as well.
//
// Signing and verifying both take this form. It fails for what is not a JSON object, or
// has a member twice.
func Canonical(card []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(card, &v); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("read card: it is not a JSON object")
	}
	delete(object, "signatures")
	cardSchema().strip(object)
	b, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write card: %w", err)
	}
	text := jsontext.Value(b)
	if err := text.Canonicalize(); err != nil {
		return nil, fmt.Errorf("write card: %w", err)
	}
	return text, nil
}

// schema is what a message type of the protocol says about default values.
type schema struct {
	// drop are the members that go when they hold their default: scalars without
	// presence, lists and maps.
	drop []string
	// in are the types of the members that are messages, or lists or maps of them.
	in map[string]*schema
	// maps are the members of in that are maps.
	maps []string
}

// strip removes the defaults from an object. Null is the absence of a member.
func (s *schema) strip(object map[string]any) {
	for name, v := range object {
		if v == nil {
			delete(object, name)
		}
	}
	for name, in := range s.in {
		in.descend(object[name], slices.Contains(s.maps, name))
	}
	for _, name := range s.drop {
		if v, there := object[name]; there && isDefault(v) {
			delete(object, name)
		}
	}
}

// descend strips a message, each of a list, or each of a map.
func (s *schema) descend(v any, isMap bool) {
	switch v := v.(type) {
	case map[string]any:
		if !isMap {
			s.strip(v)
			return
		}
		for _, e := range v {
			s.descend(e, false)
		}
	case []any:
		for _, e := range v {
			s.descend(e, false)
		}
	}
}

func isDefault(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// cardSchema is the part of a2a.proto (1.0.1) below AgentCard that has members which
// can go. What is named nowhere stays.
func cardSchema() *schema {
	scopes := &schema{drop: []string{"list"}}
	requirement := &schema{drop: []string{"schemes"}, in: map[string]*schema{"schemes": scopes}, maps: []string{"schemes"}}
	described := &schema{drop: []string{"description"}}
	flow := &schema{drop: []string{"refreshUrl", "pkceRequired"}}
	loose := &schema{drop: []string{"authorizationUrl", "tokenUrl", "refreshUrl", "scopes"}}
	scheme := &schema{in: map[string]*schema{
		"apiKeySecurityScheme":        described,
		"httpAuthSecurityScheme":      {drop: []string{"description", "bearerFormat"}},
		"oauth2SecurityScheme":        {drop: []string{"description", "oauth2MetadataUrl"}, in: map[string]*schema{"flows": {in: map[string]*schema{"authorizationCode": flow, "clientCredentials": flow, "deviceCode": flow, "implicit": loose, "password": loose}}}},
		"openIdConnectSecurityScheme": described,
		"mtlsSecurityScheme":          described,
	}}
	return &schema{
		drop: []string{"securitySchemes", "securityRequirements"},
		in: map[string]*schema{
			"supportedInterfaces": {drop: []string{"tenant"}},
			"capabilities": {
				drop: []string{"extensions"},
				in:   map[string]*schema{"extensions": {drop: []string{"uri", "description", "required"}}},
			},
			"securitySchemes":      scheme,
			"securityRequirements": requirement,
			"skills": {
				drop: []string{"examples", "inputModes", "outputModes", "securityRequirements"},
				in:   map[string]*schema{"securityRequirements": requirement},
			},
		},
		maps: []string{"securitySchemes"},
	}
}
