package mcpserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skillyard/skillyard/a2a"
)

// taskView is a task as models see it.
type taskView struct {
	TaskID    string `json:"task_id"`
	Agent     string `json:"agent"`
	Skill     string `json:"skill,omitempty"`
	ContextID string `json:"context_id,omitempty" jsonschema:"give it to a2a_send to go on with the conversation"`
	State     string `json:"state" jsonschema:"submitted, working, input-required, auth-required, completed, failed, canceled, rejected or unknown"`
	// Text is the agent's word on the state, or its answer if there are no artifacts.
	Text      string         `json:"text,omitempty" jsonschema:"what the agent says: its answer, its question or the reason of its failure"`
	Artifacts []artifactView `json:"artifacts,omitempty" jsonschema:"the results"`
	Cut       bool           `json:"cut,omitempty" jsonschema:"some results are not shown in full; the resource has them"`
	Resource  string         `json:"resource" jsonschema:"the URI of the resource with the whole task"`
	Hint      string         `json:"hint,omitempty" jsonschema:"what to do next"`
}

type artifactView struct {
	Name        string     `json:"name,omitempty"`
	Description string     `json:"description,omitempty"`
	Text        string     `json:"text,omitempty"`
	Data        []rawJSON  `json:"data,omitempty"`
	Files       []fileView `json:"files,omitempty"`
}

// rawJSON is any JSON value. It is a type of its own since a json.RawMessage stands for
// an object in our schemas.
type rawJSON json.RawMessage

// MarshalJSON writes the value as it is.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

type fileView struct {
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     int    `json:"bytes,omitempty"`
	URL       string `json:"url,omitempty" jsonschema:"where the file is, as the agent says"`
	Resource  string `json:"resource,omitempty" jsonschema:"the URI of the resource with the file"`
}

// viewer renders a task within a budget of bytes.
type viewer struct {
	uri  string
	left int
	cut  bool
	// files counts the files with content so far; it is what their URIs number.
	files int
}

// view renders a task that tools know by a name; at most limit bytes of what it says, or
// all of it if limit is negative.
func view(agent *Agent, name string, t *a2a.Task, limit int) *taskView {
	v := &taskView{
		TaskID: name, Agent: agent.Name, Skill: string(t.Skill), ContextID: string(t.ContextID),
		State: string(cmp.Or(t.Status.State, "unknown")), Resource: taskURI(agent, name),
	}
	r := &viewer{uri: v.Resource, left: limit}
	v.Text = r.text(said(t))
	for _, a := range t.Artifacts {
		v.Artifacts = append(v.Artifacts, r.artifact(a))
	}
	// Files in the agent's message are results as well.
	if m := t.Status.Message; m != nil {
		if a := r.artifact(a2a.Artifact{Parts: withoutText(m.Parts)}); len(a.Files)+len(a.Data)+len(a.Text) > 0 {
			v.Artifacts = append(v.Artifacts, a)
		}
	}
	v.Cut = r.cut
	return v
}

// said returns what the agent says of the task: the message of its status; or, since
// some agents answer and ask in the history, its last message if there is neither that
// nor an artifact.
func said(t *a2a.Task) string {
	if text := t.Status.Message.Text(); text != "" || len(t.Artifacts) > 0 || !t.Status.State.Settled() {
		return text
	}
	for i := len(t.History) - 1; i >= 0; i-- {
		if m := &t.History[i]; m.Role == a2a.RoleAgent {
			return m.Text()
		}
	}
	return ""
}

func withoutText(parts []a2a.Part) []a2a.Part {
	var rest []a2a.Part
	for _, p := range parts {
		if p.Kind != a2a.PartText {
			rest = append(rest, p)
		}
	}
	return rest
}

func (r *viewer) artifact(a a2a.Artifact) artifactView {
	v := artifactView{Name: cmp.Or(a.Name, string(a.ID)), Description: oneLine(a.Description, 300)}
	v.Text = r.text(a2a.JoinText(a.Parts))
	for _, p := range a.Parts {
		switch p.Kind {
		case a2a.PartData:
			if r.left >= 0 && len(p.Data) > r.left {
				// A part of a JSON value is none, so it is shown as text.
				v.Text = strings.TrimLeft(v.Text+"\n"+r.text(string(p.Data)), "\n")
				continue
			}
			r.spend(len(p.Data))
			v.Data = append(v.Data, rawJSON(p.Data))
		case a2a.PartRaw:
			r.files++
			v.Files = append(v.Files, fileView{
				Name: oneLine(p.Filename, 200), MediaType: p.MediaType, Bytes: rawSize(p.Raw),
				Resource: fmt.Sprintf("%s/files/%d", r.uri, r.files),
			})
		case a2a.PartURL:
			v.Files = append(v.Files, fileView{Name: oneLine(p.Filename, 200), MediaType: p.MediaType, URL: p.URL})
		}
	}
	return v
}

// text returns as much of a text as the budget has left, on a rune border.
func (r *viewer) text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if r.left >= 0 && len(s) > r.left {
		r.cut = true
		s = cutAt(s, r.left)
	}
	r.spend(len(s))
	return s
}

func (r *viewer) spend(n int) {
	if r.left >= 0 {
		r.left -= n
	}
}

// rawSize returns the size of padded base64 content.
func rawSize(raw string) int {
	n := base64.StdEncoding.DecodedLen(len(raw))
	return n - strings.Count(raw[max(0, len(raw)-2):], "=")
}

// files returns the parts of a task that are files with content, in the order in which
// their URIs number them.
func files(t *a2a.Task) []a2a.Part {
	var list []a2a.Part
	collect := func(parts []a2a.Part) {
		for _, p := range parts {
			if p.Kind == a2a.PartRaw {
				list = append(list, p)
			}
		}
	}
	for _, a := range t.Artifacts {
		collect(a.Parts)
	}
	if t.Status.Message != nil {
		collect(t.Status.Message.Parts)
	}
	return list
}

// String is the task as text: its state, what the agent says, its results.
func (v *taskView) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Task %s at %s is %s.", v.TaskID, v.Agent, v.State)
	if v.Text != "" {
		b.WriteString("\n\n" + v.Text)
	}
	for _, a := range v.Artifacts {
		b.WriteString("\n\n")
		if a.Name != "" {
			fmt.Fprintf(&b, "[%s]", oneLine(a.Name, 100))
		}
		if a.Description != "" {
			b.WriteString(" " + a.Description)
		}
		if a.Text != "" {
			b.WriteString("\n" + a.Text)
		}
		for _, d := range a.Data {
			b.WriteString("\n" + string(d))
		}
		for _, f := range a.Files {
			b.WriteString("\n" + f.String())
		}
	}
	if v.Cut {
		fmt.Fprintf(&b, "\n\n[Cut here. The whole result is in the resource %s.]", v.Resource)
	}
	if v.Hint != "" {
		b.WriteString("\n\n" + v.Hint)
	}
	return strings.TrimSpace(b.String())
}

// String names the file.
func (f fileView) String() string {
	words := []string{"File " + cmp.Or(f.Name, "without a name")}
	if f.MediaType != "" {
		words = append(words, f.MediaType)
	}
	if f.URL != "" {
		words = append(words, "at "+f.URL)
	} else {
		words = append(words, fmt.Sprintf("%d bytes", f.Bytes), "resource "+f.Resource)
	}
	return strings.Join(words, ", ")
}

// taskURI names the resource of a task.
func taskURI(agent *Agent, name string) string {
	// QueryEscape leaves nothing that a URI template's simple expression does not match.
	return "a2a://tasks/" + agent.Name + "/" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// oneLine returns a text on one line of at most limit bytes and an ellipsis.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(s) > limit {
		return cutAt(s, limit) + "…"
	}
	return s
}

// cutAt cuts at most n bytes off the front of a text, on a rune border.
func cutAt(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
