package agentcard

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

func TestServer_JSON_schemas(t *testing.T) {
	in, err := skills.ParseSchema([]byte(`{"type":"object","properties":{"n":{"maximum":1.50}}}`))
	if err != nil {
		t.Fatal(err)
	}
	both, out, none := entry(skills.Info{ID: "both"}), entry(skills.Info{ID: "out"}), entry(skills.Info{ID: "none"})
	both.InputSchema, both.OutputSchema, out.OutputSchema = in, in, in
	set, err := skills.NewSet("both", both, out, none)
	if err != nil {
		t.Fatal(err)
	}
	o := minimal(t)
	o.Skills = set
	s := newServer(t, o, Resolver{PublicURL: public})
	for _, v := range []Variant{Hybrid, V03, V1} {
		for id, want := range map[a2a.SkillID]string{
			"":     `{"skills":{"both":{"url":"` + public + `/skills/both/schema","input":{"type":"object","properties":{"n":{"maximum":1.50}}}},"out":{"url":"` + public + `/skills/out/schema"}}}`,
			"out":  `{"skills":{"out":{"url":"` + public + `/skills/out/schema"}}}`,
			"none": "",
		} {
			body, err := s.JSON(public, v, id)
			if err != nil {
				t.Fatal(err)
			}
			checkForm(t, v, body)
			var card struct {
				Capabilities struct {
					Extensions []struct {
						URI    string
						Params json.RawMessage
					}
				}
			}
			if err := json.Unmarshal(body, &card); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, x := range card.Capabilities.Extensions {
				if x.URI == a2a.ExtSkillSchema {
					got = string(x.Params)
				}
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("%s card of %q, params got - want +:\n%s", v, id, diff)
			}
		}
	}
}
