package taskstore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// The stored form of tasks and events is JSON with the member names of package
// a2a's struct tags. Writing is done by hand and not by reflection for two
// reasons: raw JSON has to stay as it is, white space included, and every write
// passes here. A test fills in every field of the structs, so that one added to
// package a2a cannot be forgotten here.

// ErrRawJSON: a raw JSON member of a task or event is not one valid JSON value.
var ErrRawJSON = errors.New("raw JSON is not valid")

// lenient accepts what the encoder writes: clients may send the same member
// name twice, and that is passed through.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// EncodeTask returns the stored form of a task. It fails with ErrRawJSON only.
func EncodeTask(t *a2a.Task) ([]byte, error) {
	e := encoder{b: make([]byte, 0, 1024)}
	e.task(t)
	return e.result("encode task")
}

// EncodeEvents returns the stored form of a list of events. It fails with
// ErrRawJSON only.
func EncodeEvents(events []a2a.Event) ([]byte, error) {
	e := encoder{b: make([]byte, 0, 768)}
	e.open('[')
	for i := range events {
		e.event(&events[i])
	}
	e.close(']')
	return e.result("encode events")
}

// DecodeTask reads what EncodeTask wrote.
func DecodeTask(b []byte) (*a2a.Task, error) {
	t := new(a2a.Task)
	if err := json.Unmarshal(b, t, lenient); err != nil {
		return nil, fmt.Errorf("decode task: %w", err)
	}
	return t, nil
}

// DecodeEvents reads what EncodeEvents wrote.
func DecodeEvents(b []byte) ([]a2a.Event, error) {
	var events []a2a.Event
	if err := json.Unmarshal(b, &events, lenient); err != nil {
		return nil, fmt.Errorf("decode events: %w", err)
	}
	return events, nil
}

// encoder appends JSON to b. Members with a zero value are left out, except by
// the methods named "always".
type encoder struct {
	b   []byte
	err error
}

func (e *encoder) result(what string) ([]byte, error) {
	if e.err != nil {
		return nil, fmt.Errorf("%s: %w", what, e.err)
	}
	return e.b, nil
}

// comma separates from the previous value, if there is one on this level.
func (e *encoder) comma() {
	switch e.b[len(e.b)-1] {
	case '{', '[', ':':
	default:
		e.b = append(e.b, ',')
	}
}

// open starts an object or list as the next value.
func (e *encoder) open(bracket byte) {
	if len(e.b) > 0 {
		e.comma()
	}
	e.b = append(e.b, bracket)
}

func (e *encoder) close(bracket byte) { e.b = append(e.b, bracket) }

// name starts a member; names need no escaping.
func (e *encoder) name(name string) {
	e.comma()
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

// quote appends a string. Bytes that are not UTF-8 become U+FFFD, as they would
// on the wire.
func (e *encoder) quote(s string) {
	e.b, _ = jsontext.AppendQuote(e.b, s) // the error only says that such bytes were there
}

func (e *encoder) alwaysString(name, s string) {
	e.name(name)
	e.quote(s)
}

func (e *encoder) string(name, s string) {
	if s != "" {
		e.alwaysString(name, s)
	}
}

func (e *encoder) alwaysInt(name string, n int64) {
	e.name(name)
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) int(name string, n int64) {
	if n != 0 {
		e.alwaysInt(name, n)
	}
}

func (e *encoder) bool(name string, v bool) {
	if v {
		e.name(name)
		e.b = append(e.b, "true"...)
	}
}

func (e *encoder) time(name string, t time.Time) {
	e.name(name)
	e.b = append(e.b, '"')
	e.b = t.UTC().AppendFormat(e.b, time.RFC3339Nano)
	e.b = append(e.b, '"')
}

func (e *encoder) raw(name string, v []byte) {
	if len(v) == 0 {
		return
	}
	if !jsontext.Value(v).IsValid(lenient) {
		e.err = fmt.Errorf("%w: %s", ErrRawJSON, name)
	}
	e.name(name)
	e.b = append(e.b, v...)
}

// list appends a member that is a list of strings.
func list[S ~string](e *encoder, name string, values []S) {
	if len(values) == 0 {
		return
	}
	e.name(name)
	e.open('[')
	for _, v := range values {
		e.comma()
		e.quote(string(v))
	}
	e.close(']')
}

func (e *encoder) task(t *a2a.Task) {
	e.open('{')
	e.alwaysString("id", string(t.ID))
	e.alwaysString("contextId", string(t.ContextID))
	e.string("skill", string(t.Skill))
	e.string("skillSource", t.SkillSource)
	e.string("dialect", t.Dialect)
	e.name("status")
	e.status(&t.Status)
	if len(t.History) > 0 {
		e.name("history")
		e.open('[')
		for i := range t.History {
			e.message(&t.History[i])
		}
		e.close(']')
	}
	if len(t.Artifacts) > 0 {
		e.name("artifacts")
		e.open('[')
		for i := range t.Artifacts {
			e.artifact(&t.Artifacts[i])
		}
		e.close(']')
	}
	list(e, "warnings", t.Warnings)
	e.raw("metadata", t.Metadata)
	e.time("createdAt", t.CreatedAt)
	e.time("updatedAt", t.UpdatedAt)
	e.alwaysInt("seq", t.Seq)
	e.int("revision", int64(t.Revision))
	e.int("turn", int64(t.Turn))
	e.string("fingerprint", t.Fingerprint)
	e.close('}')
}

func (e *encoder) event(v *a2a.Event) {
	e.open('{')
	e.alwaysInt("seq", v.Seq)
	e.time("at", v.At)
	if v.Created != nil {
		e.name("created")
		e.task(v.Created)
	}
	if v.Status != nil {
		e.name("status")
		e.status(v.Status)
	}
	if v.Artifact != nil {
		e.name("artifact")
		e.open('{')
		e.name("artifact")
		e.artifact(&v.Artifact.Artifact)
		e.bool("append", v.Artifact.Append)
		e.bool("lastChunk", v.Artifact.Last)
		e.close('}')
	}
	if v.Message != nil {
		e.name("message")
		e.message(v.Message)
	}
	e.close('}')
}

func (e *encoder) status(s *a2a.Status) {
	e.open('{')
	e.alwaysString("state", string(s.State))
	if s.Message != nil {
		e.name("message")
		e.message(s.Message)
	}
	e.string("code", string(s.Code))
	e.time("at", s.At)
	e.close('}')
}

func (e *encoder) message(m *a2a.Message) {
	e.open('{')
	e.alwaysString("messageId", m.ID)
	e.alwaysString("role", string(m.Role))
	e.parts(m.Parts)
	list(e, "referenceTaskIds", m.ReferenceTaskIDs)
	list(e, "extensions", m.Extensions)
	e.raw("metadata", m.Metadata)
	e.raw("request", m.Request)
	list(e, "active", m.Active)
	e.close('}')
}

func (e *encoder) artifact(a *a2a.Artifact) {
	e.open('{')
	e.alwaysString("artifactId", a.ID)
	e.string("name", a.Name)
	e.string("description", a.Description)
	e.parts(a.Parts)
	list(e, "extensions", a.Extensions)
	e.raw("metadata", a.Metadata)
	e.bool("streamed", a.Streamed)
	e.close('}')
}

func (e *encoder) parts(parts []a2a.Part) {
	e.name("parts")
	e.open('[')
	for i := range parts {
		p := &parts[i]
		e.open('{')
		e.alwaysString("kind", string(p.Kind))
		e.string("text", p.Text)
		e.string("raw", p.Raw)
		e.string("url", p.URL)
		e.raw("data", p.Data)
		e.string("mediaType", p.MediaType)
		e.string("filename", p.Filename)
		e.raw("metadata", p.Metadata)
		e.close('}')
	}
	e.close(']')
}
