package wire

import (
	"encoding/json"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// This file is what other encodings of the protocol (package pb) share with the
// JSON ones, so that a client reads the same whichever it uses.

// CheckID refuses an id of a request that is too long, blank or has control
// characters; "" is fine. The error blames field.
func (l Limits) CheckID(field, id string) error {
	if why := badID(id, l.WithDefaults().MaxIDBytes); why != "" {
		return a2a.InvalidParams(field, why)
	}
	return nil
}

// CheckPush refuses a push config that could not be used. The error blames a member,
// whose name has the prefix in front; scheme is the name of that with the scheme.
func (l Limits) CheckPush(prefix, scheme string, c *a2a.PushConfig) error {
	l = l.WithDefaults()
	authentication := prefix + "authentication."
	for _, m := range [...]struct{ field, why string }{
		{prefix + "id", badID(c.ID, l.MaxIDBytes)},
		{prefix + "url", badWebhook(c.URL, l.MaxURLBytes)},
		{prefix + "token", badHeaderText(c.Token, l.MaxSecretBytes)},
		{authentication + scheme, badHeaderText(c.Scheme, l.MaxSecretBytes)},
		{authentication + scheme, badScheme(c.Scheme)},
		{authentication + "credentials", badHeaderText(c.Credentials, l.MaxSecretBytes)},
	} {
		if m.why != "" {
			return a2a.InvalidParams(m.field, m.why)
		}
	}
	if c.Credentials != "" && c.Scheme == "" {
		return required(authentication + scheme)
	}
	return nil
}

// MetadataHints returns what the metadata of a send and that of its message (JSON
// objects, or nil) say about the skill, in order of precedence.
func MetadataHints(params, message json.RawMessage) []a2a.SkillHint {
	var h hints
	h[hintParamsMetadata], h[hintMessageMetadata] = lookup(params, "skillId"), lookup(message, "skillId")
	return h.list()
}

// Recent returns the n most recent messages; all for nil.
func Recent(history []a2a.Message, n *int) []a2a.Message { return recent(history, n) }

// EventMetadata returns the metadata of a status or artifact event as a client with the
// view sees it: a JSON object, or nil.
func EventMetadata(ev *a2a.Event, view a2a.View) json.RawMessage {
	if !view.Sequence {
		return nil
	}
	return append(sequenceMember([]byte{'{'}, ev.Seq), '}')
}

// TaskMetadata returns the metadata of a task as a client with the view sees it, with
// what the server adds: a JSON object, or nil.
func TaskMetadata(t *a2a.Task, view a2a.View) json.RawMessage {
	if !hasMetadata(t, view) {
		return nil
	}
	return appendMergedMetadata(nil, t, view)
}

// MessageMetadata returns the metadata of a message as a client sees it, with the
// code of a failed task's status ("" for none): a JSON object, or nil.
func MessageMetadata(m *a2a.Message, code a2a.Code) json.RawMessage {
	if code != "" && lookup(m.Metadata, "code") == nil {
		return appendCode(nil, m.Metadata, code)
	}
	return m.Metadata
}

// WithAnswer is the task as clients of 0.3 read it: one that has ended has a last word of
// the agent in its history.
func WithAnswer(t *a2a.Task) *a2a.Task { return withAnswer(t) }

// OldPart returns the data and the metadata that a part has in 0.3, which has no member
// for some of what is in it: they are in the metadata, and data that is no object is
// wrapped in one. data is nil unless the part is one of data.
func OldPart(p *a2a.Part) (data, metadata json.RawMessage) {
	wrapped := p.Kind == a2a.PartData && !isObject(p.Data)
	if data = p.Data; wrapped {
		data = append(rawMember([]byte{'{'}, "value", p.Data), '}')
	}
	return data, lookup(append(appendSideMetadata([]byte{'{'}, p, wrapped), '}'), "metadata")
}

// UnwrapData undoes the wrapping of OldPart in a part that came in.
func UnwrapData(p *a2a.Part) { unwrapData(p) }

// The names of resources in 0.3: tasks/{id}/pushNotificationConfigs/{id}.
const (
	tasksPrefix  = "tasks/"
	configsInfix = "/pushNotificationConfigs/"
)

// TaskOfName returns the id in tasks/{id}. A name without the prefix is the id.
func TaskOfName(name string) a2a.TaskID { return a2a.TaskID(strings.TrimPrefix(name, tasksPrefix)) }

// ConfigName is the name of a push config.
func ConfigName(c *a2a.PushConfig) string {
	return tasksPrefix + string(c.TaskID) + configsInfix + c.ID
}

// NamesOfConfig returns the ids in the name of a push config, as far as they are there.
func NamesOfConfig(name string) (task a2a.TaskID, id string) {
	parent, id, _ := strings.Cut(name, configsInfix)
	if bare, ok := strings.CutPrefix(parent, tasksPrefix); ok {
		task = a2a.TaskID(bare)
	}
	return task, id
}

// NameConfig gives a push config of 0.3 an id: its own, or the first of those beside it,
// or that of a task's one config, which counts as none of its own.
func NameConfig(c *a2a.PushConfig, beside ...string) {
	for _, other := range beside {
		if other != "" && (c.ID == "" || c.ID == pushIDV03) {
			c.ID = other
		}
	}
	if c.ID == "" {
		c.ID = pushIDV03
	}
}

// HistoryCode is the code that goes with a message of the task's history.
func HistoryCode(t *a2a.Task, m *a2a.Message) a2a.Code { return codeOf(t, m) }

// AsCreated is the task as it was when the event created it: what a replay of the
// whole log begins with.
func AsCreated(ev *a2a.Event) *a2a.Task { return asCreated(ev) }

// ValidText is s with bytes that are no UTF-8 replaced, one by one, as in JSON.
func ValidText(s string) string { return strings.Map(func(r rune) rune { return r }, s) }
