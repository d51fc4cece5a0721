package wire

import (
	"bytes"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// NamePlain is the name of the form that people use with curl. It is no version of
// the protocol and has no methods: its operations are paths.
const NamePlain = "plain"

// newPlain returns the form: a short task with its answer as one text, and what can
// be done next as commands.
func newPlain() *Dialect {
	return &Dialect{Name: NamePlain, Stream: streamPlain()}
}

// Plain says how a task is shown to one client.
type Plain struct {
	// Base is the server's public URL, without a slash at the end.
	Base string
	// Key says that the client sends a key, so that commands need one.
	Key bool
}

// PlainMessage makes a message of a request's body: a text, or one JSON object, which
// becomes data. Errors are *a2a.Error with code invalid_params.
func PlainMessage(body []byte, object bool, lim Limits) (a2a.Message, error) {
	m := a2a.Message{Role: a2a.RoleUser}
	if !object {
		if !utf8.Valid(body) {
			return m, a2a.InvalidParams("body", "must be text in UTF-8")
		}
		m.Parts = []a2a.Part{a2a.TextPart(string(body))}
		return m, nil
	}
	if deeperThan(body, lim.WithDefaults().MaxDepth) {
		return m, &a2a.Error{Code: a2a.CodeInvalidParams, Message: tooDeep(lim.WithDefaults()).Message}
	}
	m.Parts = []a2a.Part{a2a.DataPart(compact(body))}
	return m, nil
}

// PlainObject reports whether a body is one JSON object, and whether that is (or is
// meant to be) a JSON-RPC request: one with a member jsonrpc, or with both method and
// params.
func PlainObject(body []byte) (object, rpc bool) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' || !utf8.Valid(body) || !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) {
		return false, false
	}
	return true, lookup(body, "jsonrpc") != nil || lookup(body, "method") != nil && lookup(body, "params") != nil
}

// Text is a task in one text: the answer of a completed one, else what the task says
// of its state. It may be empty.
func (p Plain) Text(t *a2a.Task) string {
	said := t.Status.Message.Text()
	if t.Status.State != a2a.StateCompleted {
		return said
	}
	if texts := artifactTexts(t); texts != "" {
		return texts
	}
	return said
}

// Answer is Text for those who read nothing else: without any text it is the data.
func (p Plain) Answer(t *a2a.Task) string {
	if text := p.Text(t); text != "" {
		return text
	}
	var lines []string
	for _, a := range plainArtifacts(t) {
		for _, part := range a.Parts {
			switch part.Kind {
			case a2a.PartData:
				lines = append(lines, string(part.Data))
			case a2a.PartURL:
				lines = append(lines, part.URL)
			}
		}
	}
	if len(lines) == 0 {
		return "The task is " + string(t.Status.State) + "."
	}
	return strings.Join(lines, "\n")
}

func artifactTexts(t *a2a.Task) string {
	var texts []string
	for i := range t.Artifacts {
		if s := t.Artifacts[i].Text(); s != "" {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}

// plainArtifacts returns the artifacts; an answer that is a message counts as one.
func plainArtifacts(t *a2a.Task) []a2a.Artifact {
	if s := t.Status; s.State == a2a.StateCompleted && len(t.Artifacts) == 0 && s.Message != nil {
		return []a2a.Artifact{{ID: s.Message.ID, Name: "message", Parts: s.Message.Parts}}
	}
	return t.Artifacts
}

// Task appends a task with its links and with commands to try next.
func (p Plain) Task(b []byte, t *a2a.Task) []byte {
	b = appendPlainTask(append(b, '{'), t, false)
	if t.ID == "" {
		return append(b, '}')
	}
	b = append(key(b, "links"), '{')
	for _, l := range p.links(t) {
		b = stringMember(b, l.name, l.url)
	}
	b = append(b, '}')
	b = stringsMember(b, "next", p.Next(t))
	return append(b, '}')
}

// Tasks appends a page of tasks, each without its artifacts; next is the URL of the
// next page, or "".
func (p Plain) Tasks(b []byte, res *a2a.ListResult, next string) []byte {
	b = append(b, `{"tasks":[`...)
	for _, t := range res.Tasks {
		b = appendPlainTask(append(element(b), '{'), t, true)
		b = append(key(b, "links"), '{')
		b = append(stringMember(b, "self", p.URL(t.ID)), "}}"...)
	}
	b = append(b, ']')
	b = integerMember(b, "total", res.TotalSize)
	b = optionalMember(b, "next", next)
	return append(b, '}')
}

// URL returns the URL of a task.
func (p Plain) URL(id a2a.TaskID) string { return p.Base + "/tasks/" + url.PathEscape(string(id)) }

type plainLink struct{ name, url string }

// links are what can be done with the task in its state.
func (p Plain) links(t *a2a.Task) []plainLink {
	self := p.URL(t.ID)
	links := []plainLink{{"self", self}}
	if t.Status.State.Terminal() {
		return links
	}
	if t.Status.State.Interrupted() {
		links = append(links, plainLink{"answer", self})
	}
	return append(links, plainLink{"wait", self + "?wait=30s"}, plainLink{"stream", self + "/stream"}, plainLink{"cancel", self})
}

// Next returns commands that make sense for the task in its state.
func (p Plain) Next(t *a2a.Task) []string {
	self := p.URL(t.ID)
	switch s := t.Status; {
	case s.Code == a2a.CodeInvalidInput && t.Skill != "":
		return []string{p.curl("", p.Base+"/skills/"+url.PathEscape(string(t.Skill))+"/schema")}
	case s.State.Terminal():
		return nil
	case s.State.Interrupted():
		return []string{p.curl("-d 'your answer'", self), p.curl("-X DELETE", self)}
	}
	return []string{p.curl("", self+"?wait=30s"), p.curl("-N", self+"/stream"), p.curl("-X DELETE", self)}
}

// curl is a command line. The URL is escaped, so that quotes cannot end early.
func (p Plain) curl(options, target string) string {
	c := "curl"
	if options != "" {
		c += " " + options
	}
	if p.Key {
		c += ` -H "X-API-Key: $API_KEY"`
	}
	return c + " '" + target + "'"
}

// Run is the command that sends a text to a skill. To curl -d a text that begins with an
// at sign is the name of a file.
func (p Plain) Run(skill a2a.SkillID, text string) string {
	option := "-d"
	if strings.HasPrefix(text, "@") {
		option = "--data-raw"
	}
	quoted := strings.ReplaceAll(text, "'", `'\''`)
	return p.curl(option+" '"+quoted+"'", p.Base+"/skills/"+url.PathEscape(string(skill)))
}

// appendPlainTask appends the members of a task to an open object.
func appendPlainTask(b []byte, t *a2a.Task, short bool) []byte {
	b = optionalMember(b, "id", string(t.ID))
	b = stringMember(b, "status", string(t.Status.State))
	b = optionalMember(b, "code", string(t.Status.Code))
	b = optionalMember(b, "skill", string(t.Skill))
	b = optionalMember(b, "context", string(t.ContextID))
	text := t.Status.Message.Text()
	if !short {
		text = Plain{}.Text(t)
	}
	b = optionalMember(b, "text", text)
	if t.Status.Message != nil {
		if v := lookup(t.Status.Message.Metadata, "violations"); v != nil {
			b = rawMember(b, "violations", v)
		}
	}
	if list := plainArtifacts(t); len(list) > 0 && !short {
		b = append(key(b, "artifacts"), '[')
		for i := range list {
			b = appendPlainArtifact(element(b), &list[i])
		}
		b = append(b, ']')
	}
	if t.QueuePlace > 0 {
		b = integerMember(b, "place", t.QueuePlace)
	}
	b = stringsMember(b, "warnings", t.Warnings)
	b = timeMember(b, "created", t.CreatedAt)
	return timeMember(b, "updated", t.UpdatedAt)
}

// appendPlainArtifact appends an artifact; its parts are those of A2A 1.0.
func appendPlainArtifact(b []byte, a *a2a.Artifact) []byte {
	b = append(b, '{')
	b = stringMember(b, "id", a.ID)
	b = optionalMember(b, "name", a.Name)
	b = optionalMember(b, "description", a.Description)
	b = append(key(b, "parts"), '[')
	for i := range a.Parts {
		b = appendPartV1(element(b), &a.Parts[i])
	}
	return append(b, "]}"...)
}

// streamPlain shows the task, then its changes. A stream is over at a pause as well,
// since it is then the reader's turn.
func streamPlain() *StreamForm {
	task := func(b []byte, t *a2a.Task) []byte {
		return append(appendPlainTask(append(b, `{"event":"task"`...), t, false), '}')
	}
	return &StreamForm{
		Name:     NamePlain,
		Ended:    true,
		Snapshot: func(b []byte, t *a2a.Task, _ a2a.View) []byte { return task(b, t) },
		Event: func(b []byte, t *a2a.Task, ev *a2a.Event) []byte {
			switch {
			case ev.Created != nil:
				return task(b, asCreated(ev))
			case ev.Status != nil:
				b = append(b, `{"event":"status"`...)
				b = stringMember(b, "status", string(ev.Status.State))
				b = optionalMember(b, "code", string(ev.Status.Code))
				b = optionalMember(b, "text", ev.Status.Message.Text())
				return append(b, '}')
			case ev.Artifact != nil:
				b = append(b, `{"event":"artifact"`...)
				b = appendPlainArtifact(key(b, "artifact"), &ev.Artifact.Artifact)
				b = boolMember(b, "append", ev.Artifact.Append)
				b = boolMember(b, "last", ev.Artifact.Last)
				return append(b, '}')
			}
			return b
		},
		Ends: func(_ a2a.Op, s a2a.State) bool { return s.Settled() },
	}
}

// PlainState reads the name of a state.
func PlainState(name string) (a2a.State, bool) {
	for _, s := range a2a.States() {
		if string(s) == name {
			return s, true
		}
	}
	return "", false
}

// Problem says what an error means to somebody at a terminal (RFC 9457).
type Problem struct {
	Status int
	Title  string
	Hint   string
}

// PlainStatus is the HTTP status of an error of the code (A2A 1.0.1 §5.4), whatever the
// clients of REST want.
func PlainStatus(code a2a.Code) int { return rowOf(code).http }

// AppendProblem appends an error as application/problem+json. Its type is the default
// one, about:blank: title and status say the same, and code tells more.
func AppendProblem(b []byte, p Problem, e *a2a.Error) []byte {
	b = append(b, '{')
	b = stringMember(b, "title", p.Title)
	b = integerMember(b, "status", p.Status)
	b = stringMember(b, "detail", e.Message)
	b = stringMember(b, "code", string(e.Code))
	b = optionalMember(b, "hint", p.Hint)
	if len(e.Fields) > 0 {
		b = append(key(b, "errors"), appendFields(nil, e.Fields)...)
	}
	if len(e.Details) > 0 {
		b = append(key(b, "details"), appendStringMap(nil, e.Details)...)
	}
	return append(b, '}')
}

// PlainSkill is a skill in the list of them.
type PlainSkill struct {
	ID          a2a.SkillID
	Name        string
	Description string
	Tags        []string
	Examples    []string
	InputModes  []string
	OutputModes []string
	// Default says that requests without a skill go to it.
	Default bool
}

// Skills appends the list of skills, each with its URLs and a command to try.
func (p Plain) Skills(b []byte, list []PlainSkill) []byte {
	b = append(b, `{"skills":[`...)
	for _, s := range list {
		self := p.Base + "/skills/" + url.PathEscape(string(s.ID))
		b = append(element(b), '{')
		b = stringMember(b, "id", string(s.ID))
		b = stringMember(b, "name", s.Name)
		b = stringMember(b, "description", s.Description)
		if s.Default {
			b = boolMember(b, "default", true)
		}
		b = stringsMember(b, "tags", s.Tags)
		b = stringsMember(b, "examples", s.Examples)
		b = stringsMember(b, "input_modes", s.InputModes)
		b = stringsMember(b, "output_modes", s.OutputModes)
		b = append(key(b, "links"), '{')
		b = stringMember(b, "run", self)
		b = stringMember(b, "schema", self+"/schema")
		b = append(stringMember(b, "card", self+"/.well-known/agent-card.json"), '}')
		text := "hello"
		if len(s.Examples) > 0 {
			text = s.Examples[0]
		}
		b = append(stringsMember(b, "next", []string{p.Run(s.ID, text)}), '}')
	}
	return append(b, "]}"...)
}
