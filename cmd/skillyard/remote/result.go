package remote

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/skillyard/skillyard/a2a"
)

// result is a task in the output of the commands.
type result struct {
	ID        a2a.TaskID     `json:"id,omitempty"`
	Ref       string         `json:"ref,omitempty"` // in the registry
	ContextID a2a.ContextID  `json:"contextId,omitempty"`
	Agent     string         `json:"agent"`
	Skill     a2a.SkillID    `json:"skill,omitempty"`
	State     a2a.State      `json:"state"`
	UpdatedAt *time.Time     `json:"updatedAt,omitempty"`
	Message   *a2a.Message   `json:"message,omitempty"`
	Artifacts []a2a.Artifact `json:"artifacts,omitempty"`
	History   []a2a.Message  `json:"history,omitempty"`
}

func resultOf(agent string, t *a2a.Task) result {
	r := result{
		ID: t.ID, ContextID: t.ContextID, Agent: agent, Skill: t.Skill, State: t.Status.State,
		Message: t.Status.Message, Artifacts: t.Artifacts, History: t.History,
	}
	if !t.UpdatedAt.IsZero() {
		r.UpdatedAt = &t.UpdatedAt
	}
	return r
}

// result is the task as output.
func (t *task) result(got *a2a.Task) result {
	r := resultOf(t.client.URL(), got)
	r.Ref = t.entry.Ref
	return r
}

// encode prints a value as JSON or YAML.
func (s *session) encode(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	out := b.Bytes()
	if s.f.output == "yaml" {
		var err error
		if out, err = yaml.JSONToYAML(out); err != nil {
			return err
		}
	}
	return s.print(string(out))
}

// print writes data. What goes to a terminal is harmless there.
func (s *session) print(text string) error {
	if terminal(s.Out) >= 0 {
		text = harmless(text)
	}
	_, err := io.WriteString(s.Out, text)
	return err
}

// showing says how results are shown.
type showing struct {
	save  string // a directory for files, or ""
	force bool
}

// show prints what came of a task and returns how the command ends. What the agent says
// about an end that is none of success goes to the person.
func (s *session) show(t *task, got *a2a.Task, how showing) error {
	if err := how.files(s, got); err != nil {
		return err
	}
	if s.f.output != "table" {
		if err := s.encode(t.result(got)); err != nil {
			return err
		}
	} else {
		p := &printer{s: s}
		p.artifacts(got.Artifacts)
		p.words(got)
		if err := p.end(); err != nil {
			return err
		}
	}
	s.sayState(t, got)
	return ended(got.Status.State)
}

// sayState says what a task is at and what to do about it.
func (s *session) sayState(t *task, got *a2a.Task) {
	name := line(string(got.ID), 200)
	if name == "" {
		name = t.entry.Ref // an answer without a task
	}
	where := ""
	if !t.known() {
		where = " --agent " + word(t.client.URL())
	}
	state := got.Status.State
	switch {
	case state == a2a.StateCompleted:
		return
	case state == a2a.StateInputRequired:
		s.say("task %s asks for input. Answer it with: skillyard reply%s %s TEXT\n", name, where, word(name))
	case state == a2a.StateAuthRequired:
		s.say("task %s asks for authorisation. When that is done, go on with: skillyard reply%s %s TEXT\n", name, where, word(name))
	case state.Terminal():
		text := line(got.Status.Message.Text(), 2000)
		if text != "" {
			text = ": " + text
		}
		s.say("task %s is %s%s\n", name, state, text)
	default:
		s.sayProgress(t, got)
		s.say("Ask again with: skillyard poll%s %s\n", where, word(name))
	}
}

// sayProgress says what a task is at that is not done.
func (s *session) sayProgress(t *task, got *a2a.Task) {
	text := string(got.Status.State)
	if t.known() {
		text += ", sent " + age(time.Now(), t.entry.CreatedAt) + " ago"
	}
	if words := line(got.Status.Message.Text(), 200); words != "" {
		text += ": " + words
	}
	s.say("task %s: %s\n", line(string(got.ID), 200), text)
}

// printer writes an answer as text, also piece by piece.
type printer struct {
	s *session
	// last is the artifact that was written last, seen the text so far.
	last string
	seen strings.Builder
	err  error
}

func (p *printer) write(text string) {
	if text == "" || p.err != nil {
		return
	}
	p.seen.WriteString(text)
	p.err = p.s.print(text)
}

// fresh begins a new line.
func (p *printer) fresh() {
	if n := p.seen.Len(); n > 0 && p.seen.String()[n-1] != '\n' {
		p.write("\n")
	}
}

// end ends the last line.
func (p *printer) end() error {
	p.fresh()
	return p.err
}

func (p *printer) artifacts(list []a2a.Artifact) {
	for _, a := range list {
		p.piece(a, false)
	}
}

// piece writes an artifact, or more of the one before.
func (p *printer) piece(a a2a.Artifact, continues bool) {
	if !continues || a.ID != p.last {
		p.fresh()
	}
	p.last = a.ID
	p.parts(a.Parts)
}

// parts writes texts as they are, one behind the other, since an agent may send a text
// in pieces; others on lines of their own.
func (p *printer) parts(list []a2a.Part) {
	for _, part := range list {
		if part.Kind == a2a.PartText {
			p.write(part.Text)
			continue
		}
		p.fresh()
		if part.Kind == a2a.PartData {
			p.write(string(part.Data) + "\n")
		} else {
			p.write(describe(part) + "\n")
		}
	}
}

// describe names a file.
func describe(part a2a.Part) string {
	text := "[file"
	for _, word := range []string{line(part.Filename, 120), line(part.MediaType, 80)} {
		if word != "" {
			text += " " + word
		}
	}
	if part.Kind == a2a.PartURL {
		return text + " at " + line(part.URL, 1000) + "]"
	}
	return fmt.Sprintf("%s, %d bytes]", text, base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(part.Raw, "="))))
}

// words writes what the agent says at a good end or as a question, unless an
// artifact says the same. An agent that answers in the history only is understood, too.
func (p *printer) words(t *a2a.Task) {
	m := t.Status.Message
	switch state := t.Status.State; {
	case state == a2a.StateCompleted && m == nil && len(t.Artifacts) == 0:
		m = lastWords(t.History)
	case state != a2a.StateCompleted && !state.Interrupted():
		return
	}
	if m == nil {
		return
	}
	for _, a := range t.Artifacts {
		if len(m.Parts) == 1 && strings.TrimSpace(textOf(a.Parts)) == strings.TrimSpace(m.Text()) {
			return
		}
	}
	p.fresh()
	p.parts(m.Parts)
}

// textOf is the text of an artifact, whose parts may be pieces of one.
func textOf(parts []a2a.Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func lastWords(history []a2a.Message) *a2a.Message {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Role == a2a.RoleAgent {
			return &history[i]
		}
	}
	return nil
}

// files writes the files of a task into a directory, if there is one to write to.
func (how *showing) files(s *session, t *a2a.Task) error {
	if how.save == "" {
		return nil
	}
	if err := os.MkdirAll(how.save, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(how.save)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // a directory
	sv := saver{root: root, force: how.force, used: map[string]bool{}}
	lists := make([][]a2a.Part, 0, len(t.Artifacts)+1)
	for _, a := range t.Artifacts {
		lists = append(lists, a.Parts)
	}
	if m := t.Status.Message; m != nil {
		lists = append(lists, m.Parts)
	}
	for _, parts := range lists {
		for _, p := range parts {
			if p.Kind != a2a.PartRaw {
				continue
			}
			name, n, err := sv.write(p)
			if err != nil {
				return err
			}
			s.say("%s: %d bytes\n", name, n)
		}
	}
	return nil
}
