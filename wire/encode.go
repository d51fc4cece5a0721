package wire

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// The functions of this file append JSON to a buffer. Those that write a member
// or an element put the comma where one is needed.

// element prepares for the next element of an array or the next member.
func element(b []byte) []byte {
	switch b[len(b)-1] {
	case '{', '[':
		return b
	}
	return append(b, ',')
}

// key appends a member's name, which needs no escaping.
func key(b []byte, name string) []byte {
	b = element(b)
	b = append(b, '"')
	b = append(b, name...)
	return append(b, `":`...)
}

// appendString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	// The error would only tell of such bytes.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func stringMember(b []byte, name, s string) []byte {
	return appendString(key(b, name), s)
}

// optionalMember appends a string member unless it is empty.
func optionalMember(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return stringMember(b, name, s)
}

// rawMember appends a member with a raw value; none is null.
func rawMember(b []byte, name string, raw []byte) []byte {
	b = key(b, name)
	if len(raw) == 0 {
		return append(b, "null"...)
	}
	return appendRaw(b, raw)
}

// appendRaw appends a raw value, on one line in any case.
func appendRaw(b, raw []byte) []byte {
	for _, c := range raw {
		if c == '\n' || c == '\r' {
			return appendCompact(b, raw)
		}
	}
	return append(b, raw...)
}

// openObject appends the object raw without its closing brace, so that members
// can be added. If raw is no object, it opens a new one.
func openObject(b, raw []byte) []byte {
	if !isObject(raw) {
		return append(b, '{')
	}
	n := len(b)
	b = appendCompact(b, raw)
	if b[len(b)-1] != '}' {
		return append(b[:n], '{')
	}
	return b[:len(b)-1]
}

func integerMember(b []byte, name string, n int) []byte {
	return strconv.AppendInt(key(b, name), int64(n), 10)
}

// timeMember appends t in UTC with milliseconds (A2A 1.0 §5.6.1), unless it is zero.
func timeMember(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(key(b, name), '"')
	b = t.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, '"')
}

// stringsMember appends a list of strings unless it is empty.
func stringsMember[S ~string](b []byte, name string, list []S) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(key(b, name), '[')
	for _, s := range list {
		b = appendString(element(b), string(s))
	}
	return append(b, ']')
}

// recent returns the n most recent messages; all for nil.
func recent(history []a2a.Message, n *int) []a2a.Message {
	if n == nil || *n >= len(history) {
		return history
	}
	return history[len(history)-max(*n, 0):]
}

// appendTaskMetadata appends the metadata member of a task: the skill's own and
// what the server adds to it, which never replaces a member of the skill's.
func appendTaskMetadata(b []byte, t *a2a.Task, view a2a.View) []byte {
	if !hasMetadata(t, view) {
		return b
	}
	return appendMergedMetadata(key(b, "metadata"), t, view)
}

// appendMergedMetadata appends the object itself.
func appendMergedMetadata(b []byte, t *a2a.Task, view a2a.View) []byte {
	b = openObject(b, t.Metadata)
	if t.Skill != "" && lookup(t.Metadata, "skillId") == nil {
		b = stringMember(b, "skillId", string(t.Skill))
	}
	if t.SkillSource != "" && lookup(t.Metadata, "skillSource") == nil {
		b = stringMember(b, "skillSource", t.SkillSource)
	}
	if t.QueuePlace > 0 && lookup(t.Metadata, "queuePlace") == nil {
		b = integerMember(b, "queuePlace", t.QueuePlace)
	}
	if lookup(t.Metadata, "warnings") == nil {
		b = stringsMember(b, "warnings", t.Warnings)
	}
	if view.Sequence && lookup(t.Metadata, a2a.ExtEventSequence) == nil {
		b = sequenceMember(b, t.Seq)
	}
	return append(b, '}')
}

// sequenceMember appends the member of a metadata object that says the number of an
// event.
func sequenceMember(b []byte, seq int64) []byte {
	b = append(key(b, a2a.ExtEventSequence), `{"sequence":`...)
	b = strconv.AppendInt(b, seq, 10)
	return append(b, '}')
}

func hasMetadata(t *a2a.Task, view a2a.View) bool {
	return view.Sequence || len(t.Metadata) > 0 || t.Skill != "" || t.SkillSource != "" || t.QueuePlace > 0 || len(t.Warnings) > 0
}

// appendCode appends a message's metadata with the code of the task's status.
func appendCode(b, metadata []byte, code a2a.Code) []byte {
	b = openObject(b, metadata)
	return append(stringMember(b, "code", string(code)), '}')
}

// codeOf is the code that a message of the task's history shows: that of the status
// if it is the status message.
func codeOf(t *a2a.Task, m *a2a.Message) a2a.Code {
	if t.Status.Message == nil || t.Status.Message.ID != m.ID {
		return ""
	}
	return t.Status.Code
}

// spelling is what differs between 0.3 and 1.0 in tasks and messages.
type spelling struct {
	// kinds puts a kind member into every object that has one in 0.3.
	kinds bool
	// oldProto is ProtoJSON of the older package a2a.v1.
	oldProto    bool
	user, agent string
	state       func(a2a.State) string
	part        func([]byte, *a2a.Part) []byte
}

// message appends a message of the task (A2A 1.0 §4.1.4). A code becomes a member
// of its metadata, where clients of any version can read it.
func (s *spelling) message(b []byte, m *a2a.Message, context a2a.ContextID, task a2a.TaskID, code a2a.Code) []byte {
	b = append(b, '{')
	if s.kinds {
		b = append(b, `"kind":"message"`...)
	}
	b = stringMember(b, "messageId", m.ID)
	b = optionalMember(b, "contextId", string(context))
	b = optionalMember(b, "taskId", string(task))
	role := s.agent
	if m.Role == a2a.RoleUser {
		role = s.user
	}
	b = stringMember(b, "role", role)
	if s.oldProto {
		b = s.parts(key(b, "content"), m.Parts)
	} else {
		b = s.parts(key(b, "parts"), m.Parts)
	}
	if code != "" && lookup(m.Metadata, "code") == nil {
		b = appendCode(key(b, "metadata"), m.Metadata, code)
	} else if len(m.Metadata) > 0 {
		b = rawMember(b, "metadata", m.Metadata)
	}
	b = stringsMember(b, "extensions", m.Extensions)
	if !s.oldProto { // strict clients of it know no such member
		b = stringsMember(b, "referenceTaskIds", m.ReferenceTaskIDs)
	}
	return append(b, '}')
}

func (s *spelling) parts(b []byte, parts []a2a.Part) []byte {
	b = append(b, '[')
	for i := range parts {
		b = s.part(element(b), &parts[i])
	}
	return append(b, ']')
}

func (s *spelling) artifact(b []byte, a *a2a.Artifact) []byte {
	b = append(b, '{')
	b = stringMember(b, "artifactId", a.ID)
	b = optionalMember(b, "name", a.Name)
	b = optionalMember(b, "description", a.Description)
	b = s.parts(key(b, "parts"), a.Parts)
	if len(a.Metadata) > 0 {
		b = rawMember(b, "metadata", a.Metadata)
	}
	b = stringsMember(b, "extensions", a.Extensions)
	return append(b, '}')
}

// artifacts appends the artifacts member. Without any it is left out, unless
// always is set.
func (s *spelling) artifacts(b []byte, list []a2a.Artifact, always bool) []byte {
	if len(list) == 0 && !always {
		return b
	}
	b = append(key(b, "artifacts"), '[')
	for i := range list {
		b = s.artifact(element(b), &list[i])
	}
	return append(b, ']')
}

// status appends the status member of the task.
func (s *spelling) status(b []byte, t *a2a.Task) []byte {
	b = append(key(b, "status"), '{')
	b = stringMember(b, "state", s.state(t.Status.State))
	if m := t.Status.Message; m != nil {
		b = s.message(key(b, "message"), m, t.ContextID, t.ID, t.Status.Code)
	}
	b = timeMember(b, "timestamp", t.Status.At)
	return append(b, '}')
}

// history appends the history member with the n most recent messages.
func (s *spelling) history(b []byte, t *a2a.Task, n *int) []byte {
	b = append(key(b, "history"), '[')
	list := recent(t.History, n)
	for i := range list {
		b = s.message(element(b), &list[i], t.ContextID, t.ID, codeOf(t, &list[i]))
	}
	return append(b, ']')
}
