package skills

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// Sources of a choice that the request's hints do not name themselves.
const (
	// SourceMount is the path /skills/{id} the request was sent to.
	SourceMount = "mount"
	// SourceDataPart is a data part {"skill": "id"}.
	SourceDataPart = "dataPart.skill"
	// SourceOperation is an "operation" in a JSON part that is a skill's id.
	SourceOperation = "part.operation"
	// SourceDefault means that the request named no skill.
	SourceDefault = "default"
)

// Choice is the outcome of Select.
type Choice struct {
	// Entry is the chosen skill; nil when the request names one that does not exist for
	// the caller, or names none and the caller has no default.
	Entry *Entry
	// Source is the place in the request that decided.
	Source string
	// Unknown is what stood there, as a short JSON text, when Entry is nil.
	Unknown string
}

// maxNamed is how much of an unknown skill's name is repeated to the client, in bytes.
const maxNamed = 100

// Select finds the skill a request means. The first place that holds something
// wins: the hints in their order (params.skillId, params.skill, configuration,
// params.metadata, message.metadata), the mount, a data part {"skill": …}, for
// the message dialects an operation that is the name of a skill, and at last the
// caller's default. Null, "", 0, false, [] and {} count as nothing; anything else that is
// not exactly the id of a skill makes the choice unknown, so that a slip is
// answered and never silently served by another skill.
func (o Offer) Select(req *a2a.SendRequest, mount a2a.SkillID) Choice {
	for _, h := range req.Skills {
		if !nothing(h.Value) {
			return o.named(h.Source, h.Value)
		}
	}
	if mount != "" {
		if e := o.Get(mount); e != nil {
			return Choice{Entry: e, Source: SourceMount}
		}
		return Choice{Source: SourceMount, Unknown: quote(string(mount))}
	}
	for _, p := range req.Message.Parts {
		if p.Kind != a2a.PartData {
			continue
		}
		if v := member(p.Data, "skill"); v.Kind() == '"' && !nothing([]byte(v)) {
			return o.named(SourceDataPart, []byte(v))
		}
	}
	if req.OperationNamesSkill {
		if e := o.operation(req.Message.Parts); e != nil {
			return Choice{Entry: e, Source: SourceOperation}
		}
	}
	e := o.Default()
	if e == nil {
		return Choice{Source: SourceDefault, Unknown: `""`}
	}
	return Choice{Entry: e, Source: SourceDefault}
}

func (o Offer) named(source string, value []byte) Choice {
	if jsontext.Value(value).Kind() == '"' {
		if id, err := jsontext.AppendUnquote(nil, value); err == nil {
			if e := o.Get(a2a.SkillID(id)); e != nil {
				return Choice{Entry: e, Source: source}
			}
		}
	}
	text := string(value)
	if len(text) > maxNamed {
		text = strings.ToValidUTF8(text[:maxNamed], "") + "…"
	}
	return Choice{Source: source, Unknown: text}
}

// operation looks for the first JSON part whose operation is a skill's id.
func (o Offer) operation(parts []a2a.Part) *Entry {
	for _, p := range parts {
		var raw []byte
		switch p.Kind {
		case a2a.PartData:
			raw = p.Data
		case a2a.PartText:
			text := strings.TrimSpace(p.Text)
			if !strings.HasPrefix(text, "{") || !strings.Contains(text, `"operation"`) {
				continue
			}
			raw = []byte(text)
		default:
			continue
		}
		v := member(raw, "operation")
		if v.Kind() != '"' {
			continue
		}
		if id, err := jsontext.AppendUnquote(nil, v); err == nil {
			if e := o.Get(a2a.SkillID(id)); e != nil {
				return e
			}
		}
	}
	return nil
}

// nothing reports whether a raw JSON value counts as not given.
func nothing(v []byte) bool {
	switch string(bytes.TrimSpace(v)) {
	case "", "null", `""`, "0", "false", "[]", "{}":
		return true
	}
	return false
}

// member returns the last member of that name of a JSON object, or nil if raw is
// not an object, has no such member or is malformed.
func member(raw []byte, name string) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	var found jsontext.Value
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil
		}
		hit := t.String() == name
		v, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if hit {
			found = v.Clone()
		}
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '}' {
		return nil
	}
	return found
}

func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return `"?"`
	}
	return string(b)
}
