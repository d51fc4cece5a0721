package agentcard

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// extension is an AgentExtension (A2A 1.0 §4.4.4), the same in both versions.
type extension struct {
	URI         string         `json:"uri"`
	Description string         `json:"description,omitempty"`
	Required    bool           `json:"required,omitzero"`
	Params      jsontext.Value `json:"params,omitempty"`
}

// skillSchema is what the extension says of a skill. The output is for those who read
// the result; it stands at the URL only, which keeps cards short.
type skillSchema struct {
	URL   string         `json:"url"`
	Input jsontext.Value `json:"input,omitempty"`
}

// schemaExtension describes the data of the entries, nil if none has a schema. A signed
// card leaves out a schema with empty values, which are not signed alike everywhere: it
// has the URL.
func (o Options) schemaExtension(base string, entries []*skills.Entry) (*extension, error) {
	list := map[string]skillSchema{}
	for _, e := range entries {
		if e.InputSchema != nil || e.OutputSchema != nil {
			s := skillSchema{URL: base + SchemaPath(string(e.Info.ID)), Input: jsontext.Value(e.InputSchema.JSON())}
			if o.Signer != nil && s.Input != nil {
				var v any
				if err := json.Unmarshal(s.Input, &v); err != nil {
					return nil, err
				}
				if findEmpty(v, "") != "" {
					s.Input = nil
				}
			}
			list[string(e.Info.ID)] = s
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	params, err := json.Marshal(map[string]any{"skills": list}, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return &extension{
		URI:         a2a.ExtSkillSchema,
		Description: "JSON Schemas of the data that the skills take and give.",
		Params:      params,
	}, nil
}

// SchemaPath returns the path of a skill's schemas.
func SchemaPath(id string) string { return "/skills/" + id + "/schema" }
