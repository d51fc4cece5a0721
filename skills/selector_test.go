package skills_test

import (
	"encoding/json"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
)

type noMapper struct{}

func (noMapper) In(a2a.Message) (mappers.Input, error)       { return mappers.Input{}, nil }
func (noMapper) Out(json.RawMessage) ([]a2a.Artifact, error) { return nil, nil }

func set(t testing.TB) *skills.Set {
	t.Helper()
	var entries []skills.Entry
	for _, id := range []a2a.SkillID{"weekly_report", "list_board"} {
		entries = append(entries, skills.Entry{Info: skills.Info{ID: id}, Skill: skills.Func(nil), Mapper: noMapper{}})
	}
	s, err := skills.NewSet("weekly_report", entries...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func hints(pairs ...string) (hs []a2a.SkillHint) {
	for i := 0; i < len(pairs); i += 2 {
		hs = append(hs, a2a.SkillHint{Source: pairs[i], Value: json.RawMessage(pairs[i+1])})
	}
	return hs
}

func TestOffer_Select(t *testing.T) {
	data := func(s string) []a2a.Part { return []a2a.Part{a2a.DataPart(json.RawMessage(s))} }
	text := func(s string) []a2a.Part { return []a2a.Part{a2a.TextPart(s)} }
	for _, c := range []struct {
		name      string
		hints     []a2a.SkillHint
		mount     a2a.SkillID
		parts     []a2a.Part
		operation bool
		want      a2a.SkillID
		source    string
		unknown   string
	}{
		{name: "nothing", want: "weekly_report", source: "default"},
		{name: "first hint", hints: hints("params.skillId", `"list_board"`, "params.skill", `"weekly_report"`), want: "list_board", source: "params.skillId"},
		{name: "empty hints fall through", hints: hints("params.skillId", `""`, "params.skill", `null`, "message.metadata.skillId", `"list_board"`), want: "list_board", source: "message.metadata.skillId"},
		{name: "null", hints: hints("params.skillId", `null`), want: "weekly_report", source: "default"},
		{name: "zero", hints: hints("params.skillId", `0`), want: "weekly_report", source: "default"},
		{name: "false", hints: hints("params.skillId", `false`), want: "weekly_report", source: "default"},
		{name: "empty list", hints: hints("params.skillId", `[]`), want: "weekly_report", source: "default"},
		{name: "empty object", hints: hints("params.skillId", `{}`), want: "weekly_report", source: "default"},
		{name: "leading space", hints: hints("params.skillId", `" list_board"`), source: "params.skillId", unknown: `" list_board"`},
		{name: "upper case", hints: hints("params.skillId", `"LIST_BOARD"`), source: "params.skillId", unknown: `"LIST_BOARD"`},
		{name: "number", hints: hints("params.skillId", `5`), source: "params.skillId", unknown: `5`},
		{name: "list", hints: hints("params.skillId", `["list_board"]`), source: "params.skillId", unknown: `["list_board"]`},
		{name: "escaped", hints: hints("params.skillId", `"list\u005fboard"`), want: "list_board", source: "params.skillId"},
		{name: "hint before mount", hints: hints("params.skillId", `"weekly_report"`), mount: "list_board", want: "weekly_report", source: "params.skillId"},
		{name: "mount", mount: "list_board", want: "list_board", source: "mount"},
		{name: "unknown mount", mount: "nope", source: "mount", unknown: `"nope"`},
		{name: "mount before data part", mount: "weekly_report", parts: data(`{"skill":"list_board"}`), want: "weekly_report", source: "mount"},
		{name: "data part", parts: data(`{"a":1,"skill":"list_board"}`), want: "list_board", source: "dataPart.skill"},
		{name: "data part, last of two", parts: data(`{"skill":"weekly_report","skill":"list_board"}`), want: "list_board", source: "dataPart.skill"},
		{name: "data part, unknown", parts: data(`{"skill":"nope"}`), source: "dataPart.skill", unknown: `"nope"`},
		{name: "data part, other use of the word", parts: data(`{"skill":{"level":3}}`), want: "weekly_report", source: "default"},
		{name: "operation in text", parts: text(`{"operation":"list_board","board_id":"b"}`), operation: true, want: "list_board", source: "part.operation"},
		{name: "operation in data", parts: data(`{"operation":"list_board"}`), operation: true, want: "list_board", source: "part.operation"},
		{name: "operation that is no skill", parts: data(`{"operation":"drop_board"}`), operation: true, want: "weekly_report", source: "default"},
		{name: "operation where it does not count", parts: data(`{"operation":"list_board"}`), want: "weekly_report", source: "default"},
		{name: "broken JSON", parts: text(`{"operation":"list_board"`), operation: true, want: "weekly_report", source: "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := set(t).For(a2a.Caller{}).Select(&a2a.SendRequest{
				Skills: c.hints, Message: a2a.Message{Parts: c.parts}, OperationNamesSkill: c.operation,
			}, c.mount)
			var id a2a.SkillID
			if got.Entry != nil {
				id = got.Entry.Info.ID
			}
			if id != c.want || got.Source != c.source || got.Unknown != c.unknown {
				t.Errorf("got %q from %q, unknown %s; want %q from %q, %s", id, got.Source, got.Unknown, c.want, c.source, c.unknown)
			}
		})
	}
}

func TestOffer_UnknownText(t *testing.T) {
	s := set(t).For(a2a.Caller{})
	c := s.Select(&a2a.SendRequest{Skills: hints("params.skillId", `"foo"`)}, "")
	if got, want := s.UnknownText(c), `unknown skillId "foo"; available skills: list_board, weekly_report`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNewSet_refuses(t *testing.T) {
	ok := skills.Entry{Info: skills.Info{ID: "a"}, Skill: skills.Func(nil), Mapper: noMapper{}}
	for name, f := range map[string]func() error{
		"no skills":       func() error { _, err := skills.NewSet("a"); return err },
		"an id twice":     func() error { _, err := skills.NewSet("a", ok, ok); return err },
		"unknown default": func() error { _, err := skills.NewSet("b", ok); return err },
		"no mapper":       func() error { _, err := skills.NewSet("a", skills.Entry{Info: ok.Info, Skill: ok.Skill}); return err },
	} {
		if f() == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
