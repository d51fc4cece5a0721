package skills_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

func TestOffer(t *testing.T) {
	var entries []skills.Entry
	for _, id := range []a2a.SkillID{"b", "a", "p"} {
		entries = append(entries, skills.Entry{Info: skills.Info{ID: id}, Skill: skills.Func(nil), Mapper: noMapper{}, Private: id == "p"})
	}
	s, err := skills.NewSet("a", entries...)
	if err != nil {
		t.Fatal(err)
	}
	only := func(ids ...a2a.SkillID) a2a.Caller { return a2a.Caller{Skills: ids} }
	for _, c := range []struct {
		name     string
		caller   a2a.Caller
		all, def string
		unknown  string
	}{
		{"everything", a2a.Caller{}, "b a p", "a", "a, b, p"},
		{"a stranger", a2a.Caller{Anonymous: true}, "b a", "a", "a, b"},
		{"some", only("a", "p"), "a p", "a", "a, p"},
		{"not the default", only("b", "p"), "b p", "", "b, p"},
		{"one, which then is the default", only("p"), "p", "p", "p"},
		{"one that is gone", only("gone"), "", "", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := s.For(c.caller)
			var ids []string
			for _, e := range o.All() {
				ids = append(ids, string(e.Info.ID))
			}
			if got := strings.Join(ids, " "); got != c.all {
				t.Errorf("got skills %q, want %q", got, c.all)
			}
			def := ""
			if e := o.Default(); e != nil {
				def = string(e.Info.ID)
			}
			if def != c.def {
				t.Errorf("got default %q, want %q", def, c.def)
			}
			nothing := o.Select(&a2a.SendRequest{}, "")
			if (nothing.Entry != nil) != (c.def != "") {
				t.Errorf("a request that names nothing got %v", nothing)
			}
			// A skill that the caller may not use is answered like one that is not there,
			// wherever it is named.
			for _, id := range []a2a.SkillID{"a", "b", "p", "none"} {
				quoted := json.RawMessage(`"` + id + `"`)
				part := a2a.DataPart(json.RawMessage(`{"skill":"` + id + `","operation":"` + id + `"}`))
				for name, choice := range map[string]skills.Choice{
					"hint":      o.Select(&a2a.SendRequest{Skills: []a2a.SkillHint{{Source: "params.skillId", Value: quoted}}}, ""),
					"mount":     o.Select(&a2a.SendRequest{}, id),
					"data part": o.Select(&a2a.SendRequest{Message: a2a.Message{Parts: []a2a.Part{part}}}, ""),
				} {
					may := strings.Contains(" "+c.all+" ", " "+string(id)+" ")
					if (choice.Entry != nil) != may || o.Get(id) != choice.Entry {
						t.Errorf("%s by %s: got %v, want it to be there: %v", id, name, choice.Entry, may)
					}
					if want := `unknown skillId "` + string(id) + `"; available skills: ` + c.unknown; !may && o.UnknownText(choice) != want {
						t.Errorf("%s by %s: got %q, want %q", id, name, o.UnknownText(choice), want)
					}
				}
				operation := o.Select(&a2a.SendRequest{OperationNamesSkill: true, Message: a2a.Message{Parts: []a2a.Part{a2a.TextPart(`{"operation":"` + string(id) + `"}`)}}}, "")
				if operation.Source == skills.SourceOperation && o.Get(id) == nil {
					t.Errorf("operation %s chose a skill that the caller has not", id)
				}
			}
		})
	}
}
