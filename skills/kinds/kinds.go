// Package kinds is the one map of skill kinds: from the name in a configuration
// to the code that makes such a skill.
package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/mock"
	"github.com/skillyard/skillyard/skills/processmanager"
	"github.com/skillyard/skillyard/skills/taskmanager"
)

// Spec says which skill is wanted. Empty fields keep what the kind says of itself.
type Spec struct {
	// Kind is a name of Names.
	Kind        string
	Info        skills.Info
	Limits      skills.Limits
	Retry       skills.Retry
	StrictInput bool
	Busy        skills.Busy
	Serial      bool
	// AnswerWithin and DefaultAnswer are those of skills.Entry.
	AnswerWithin  time.Duration
	DefaultAnswer string
	// InputSchema and OutputSchema are JSON Schemas that replace the kind's own; nil
	// keeps those.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	// Settings is a JSON object of the kind's own, or nil. Unknown members are
	// errors.
	Settings json.RawMessage
}

// Deps is what kinds build on.
type Deps struct {
	// Boards is read by the board kinds.
	Boards boards.Source
	// Report are the defaults of weekly_report; its source is Boards.
	Report processmanager.Options
}

// builder makes an entry with the kind's own description and defaults.
type builder func(Spec, Deps) (skills.Entry, error)

// builders is the map.
func builders() map[string]builder {
	return map[string]builder{
		"taskmanager":    buildTaskManager,
		"processmanager": buildProcessManager,
		"mock":           buildMock,
	}
}

// Names returns the names of all kinds, sorted.
func Names() []string { return slices.Sorted(maps.Keys(builders())) }

// Build makes the entry for a spec. Errors name the skill and the setting at fault.
func Build(s Spec, d Deps) (skills.Entry, error) {
	build := builders()[s.Kind]
	if build == nil {
		return skills.Entry{}, fmt.Errorf("skill %q: kind is %q; it must be one of %s", s.Info.ID, s.Kind, strings.Join(Names(), ", "))
	}
	e, err := build(s, d)
	if err != nil {
		return skills.Entry{}, fmt.Errorf("skill %q: %w", s.Info.ID, err)
	}
	overlay(&e.Info, s.Info)
	e.Limits = s.Limits
	e.StrictInput, e.Busy, e.Serial = s.StrictInput, s.Busy, s.Serial
	e.AnswerWithin, e.DefaultAnswer = s.AnswerWithin, s.DefaultAnswer
	if s.Retry != "" {
		e.Retry = s.Retry
	}
	if err := schemas(&e, s.InputSchema, s.OutputSchema); err != nil {
		return skills.Entry{}, fmt.Errorf("skill %q: %w", s.Info.ID, err)
	}
	return e, nil
}

// schemas puts schemas over those that the entry has; nil keeps them.
func schemas(e *skills.Entry, input, output json.RawMessage) error {
	for _, f := range []struct {
		key string
		raw json.RawMessage
		to  **skills.Schema
	}{{"input_schema", input, &e.InputSchema}, {"output_schema", output, &e.OutputSchema}} {
		if len(f.raw) == 0 {
			continue
		}
		compiled, err := skills.ParseSchema(f.raw)
		if err != nil {
			return fmt.Errorf("%s %w", f.key, err)
		}
		*f.to = compiled
	}
	if len(output) > 0 {
		e.ProvenOutput = false // a schema that no test of the kind knows
	}
	return nil
}

// typed gives a built-in entry the schemas of its kind, which the kind's tests hold
// its results to.
func typed(e skills.Entry, input, output []byte) (skills.Entry, error) {
	if err := schemas(&e, input, output); err != nil {
		return skills.Entry{}, err
	}
	e.ProvenOutput = true
	return e, nil
}

// overlay puts what the spec says over what the kind says.
func overlay(info *skills.Info, over skills.Info) {
	info.ID = over.ID
	for _, f := range []struct{ to, from *string }{{&info.Name, &over.Name}, {&info.Description, &over.Description}} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	for _, f := range []struct{ to, from *[]string }{
		{&info.Tags, &over.Tags}, {&info.Examples, &over.Examples},
		{&info.InputModes, &over.InputModes}, {&info.OutputModes, &over.OutputModes},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
}

// settings decodes a kind's settings into v.
func settings(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := jsonv2.Unmarshal(raw, v, jsonv2.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

func buildTaskManager(s Spec, d Deps) (skills.Entry, error) {
	set := struct {
		// Operation is what the skill does; default: the skill's id.
		Operation string `json:"operation"`
	}{Operation: string(s.Info.ID)}
	if err := settings(s.Settings, &set); err != nil {
		return skills.Entry{}, err
	}
	var names []string
	for _, e := range taskmanager.Entries(d.Boards) {
		if e.Info.ID == a2a.SkillID(set.Operation) {
			input, output := taskmanager.Schemas(set.Operation)
			return typed(e, input, output)
		}
		names = append(names, string(e.Info.ID))
	}
	return skills.Entry{}, fmt.Errorf("settings.operation is %q; it must be one of %s", set.Operation, strings.Join(names, ", "))
}

func buildProcessManager(s Spec, d Deps) (skills.Entry, error) {
	set := struct {
		// Operation is what the skill does; there is one.
		Operation string `json:"operation"`
	}{Operation: "weekly_report"}
	if err := settings(s.Settings, &set); err != nil {
		return skills.Entry{}, err
	}
	if set.Operation != "weekly_report" {
		return skills.Entry{}, fmt.Errorf("settings.operation is %q; it must be weekly_report", set.Operation)
	}
	o := d.Report
	o.Source = d.Boards
	if err := o.Validate(); err != nil {
		return skills.Entry{}, err
	}
	input, output := processmanager.Schemas()
	return typed(processmanager.Entry(o), input, output)
}

func buildMock(s Spec, _ Deps) (skills.Entry, error) {
	var o mock.Options
	if err := settings(s.Settings, &o); err != nil {
		return skills.Entry{}, err
	}
	skill, err := mock.New(o)
	if err != nil {
		return skills.Entry{}, fmt.Errorf("settings.%w", err)
	}
	return skills.Entry{Info: mock.Info(s.Info.ID), Skill: skill, Mapper: mock.Mapper{}, Retry: skills.RetryOnCrash}, nil
}
