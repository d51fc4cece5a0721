package client

import (
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// Fold makes a task of the events of a stream, whatever agents repeat in them. The zero
// value is ready. It holds a peer's words and so refuses nothing.
type Fold struct {
	// Task is the task so far. It is changed by Apply.
	Task a2a.Task
	// Message is the answer of an agent that made no task.
	Message *a2a.Message

	size int64 // about what the artifacts take, in bytes
}

// Change is what an event brought that was not known before.
type Change struct {
	// State is the new state, "" if it is the old one.
	State a2a.State
	// Words is the status message if it is new, or the message.
	Words *a2a.Message
	// Artifacts are the pieces of artifacts that are new: of a text that grows only what
	// was added.
	Artifacts []Piece
}

// Piece is a new piece of an artifact.
type Piece struct {
	// Artifact has the new parts only.
	Artifact a2a.Artifact
	// Continues says that the first part goes on where the last piece of this artifact
	// ended.
	Continues bool
}

// Any reports whether anything is new.
func (c Change) Any() bool { return c.State != "" || c.Words != nil || len(c.Artifacts) > 0 }

// Apply folds an event in and returns what is new in it.
func (f *Fold) Apply(ev Event) Change {
	var c Change
	t := &f.Task
	if ev.TaskID != "" {
		t.ID = ev.TaskID
	}
	if ev.ContextID != "" {
		t.ContextID = ev.ContextID
	}
	switch {
	case ev.Message != nil:
		f.Message, c.Words = ev.Message, ev.Message
	case ev.Status != nil:
		f.status(ev.Status, &c)
	case ev.Artifact != nil:
		f.chunk(ev.Artifact, &c)
	case ev.Task != nil:
		f.status(&ev.Task.Status, &c)
		same := map[string]int{} // artifacts may lack an id, or share one
		for i := range ev.Task.Artifacts {
			a := &ev.Task.Artifacts[i]
			f.whole(a, same[a.ID], &c)
			same[a.ID]++
		}
		artifacts := t.Artifacts
		*t = *ev.Task.Clone()
		if len(t.Artifacts) == 0 {
			t.Artifacts = artifacts // a status without them, which some agents send
		}
		f.size = 0
		for i := range t.Artifacts {
			f.size += sizeOf(&t.Artifacts[i])
		}
	}
	return c
}

// sizeOf is about what an artifact takes. Empty parts count as well.
func sizeOf(a *a2a.Artifact) int64 {
	const each = 128
	n := each + len(a.ID) + len(a.Metadata)
	for i := range a.Parts {
		p := &a.Parts[i]
		n += each + len(p.Text) + len(p.Raw) + len(p.URL) + len(p.Data) + len(p.Metadata)
	}
	return int64(n)
}

func (f *Fold) status(s *a2a.Status, c *Change) {
	if s.State != f.Task.Status.State {
		c.State = s.State
	}
	if s.Message != nil && !sameWords(s.Message, f.Task.Status.Message) {
		c.Words = s.Message
	}
	f.Task.Status = *s
	f.Task.UpdatedAt = s.At
}

func sameWords(a, b *a2a.Message) bool {
	return b != nil && (a.ID != "" && a.ID == b.ID || a.ID == "" && a.Text() == b.Text()) && sameParts(a.Parts, b.Parts)
}

func sameParts(a, b []a2a.Part) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !samePart(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func samePart(a, b *a2a.Part) bool {
	return a.Kind == b.Kind && a.Text == b.Text && a.Raw == b.Raw && a.URL == b.URL && string(a.Data) == string(b.Data)
}

// chunk takes a piece of an artifact.
func (f *Fold) chunk(k *a2a.ArtifactChunk, c *Change) {
	old := f.artifact(k.Artifact.ID, 0)
	if old == nil || !k.Append {
		f.whole(&k.Artifact, 0, c)
		return
	}
	f.size += sizeOf(&k.Artifact)
	c.Artifacts = append(c.Artifacts, Piece{Artifact: k.Artifact, Continues: true})
	old.Parts = append(old.Parts, k.Artifact.Parts...)
}

// whole takes an artifact as it is now, the nth of its id. If it goes on from what was
// known, only the rest is new.
func (f *Fold) whole(a *a2a.Artifact, nth int, c *Change) {
	old := f.artifact(a.ID, nth)
	f.size += sizeOf(a)
	n := *a
	n.Parts = append([]a2a.Part(nil), a.Parts...)
	if old == nil {
		f.Task.Artifacts = append(f.Task.Artifacts, n)
		c.Artifacts = append(c.Artifacts, Piece{Artifact: *a})
		return
	}
	f.size -= sizeOf(old)
	if rest, goesOn := restOf(old.Parts, a.Parts); !goesOn {
		c.Artifacts = append(c.Artifacts, Piece{Artifact: *a})
	} else if len(rest) > 0 {
		piece := *a
		piece.Parts = rest
		c.Artifacts = append(c.Artifacts, Piece{Artifact: piece, Continues: true})
	}
	*old = n
}

// restOf returns the parts of now that were not before. Texts are compared as one, since
// an agent that sent a text in pieces may show it whole at the end.
func restOf(before, now []a2a.Part) (rest []a2a.Part, goesOn bool) {
	if allText(before) && allText(now) {
		added, ok := strings.CutPrefix(joined(now), joined(before))
		if !ok {
			return nil, false
		}
		if added == "" {
			return nil, true
		}
		return []a2a.Part{a2a.TextPart(added)}, true
	}
	if len(now) < len(before) || !sameParts(before, now[:len(before)]) {
		return nil, false
	}
	return now[len(before):], true
}

func allText(parts []a2a.Part) bool {
	for i := range parts {
		if parts[i].Kind != a2a.PartText {
			return false
		}
	}
	return true
}

func joined(parts []a2a.Part) string {
	var b strings.Builder
	for i := range parts {
		b.WriteString(parts[i].Text)
	}
	return b.String()
}

// artifact returns the nth artifact of an id, from 0, or nil.
func (f *Fold) artifact(id string, nth int) *a2a.Artifact {
	for i := range f.Task.Artifacts {
		if f.Task.Artifacts[i].ID != id {
			continue
		}
		if nth == 0 {
			return &f.Task.Artifacts[i]
		}
		nth--
	}
	return nil
}

// differs reports whether a task that was read is news.
func (f *Fold) differs(t *a2a.Task) bool {
	probe := Fold{Task: *f.Task.Clone()}
	return f.Task.Status.State == "" || probe.Apply(Event{Task: t}).Any() || t.Status.State.Settled()
}
