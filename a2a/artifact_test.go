package a2a_test

import (
	"encoding/json"
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

// TestArtifact_Text: a text that came in pieces has no line breaks that nobody wrote.
func TestArtifact_Text(t *testing.T) {
	parts := func(texts ...string) (list []a2a.Part) {
		for _, s := range texts {
			list = append(list, a2a.TextPart(s))
		}
		return append(list, a2a.DataPart(json.RawMessage("1")))
	}
	chunk := func(seq int64, add bool, texts ...string) a2a.Event {
		return a2a.Event{Seq: seq, Artifact: &a2a.ArtifactChunk{Append: add, Artifact: a2a.Artifact{ID: "a", Parts: parts(texts...)}}}
	}
	created := a2a.Event{Seq: 1, Created: &a2a.Task{ID: "t", Status: a2a.Status{State: a2a.StateSubmitted}}}
	for _, tc := range []struct {
		name   string
		events []a2a.Event
		want   string
	}{
		{"whole", []a2a.Event{chunk(2, false, "a", "b")}, "a\nb"},
		{"pieces", []a2a.Event{chunk(2, false, "Hel"), chunk(3, true, "lo "), chunk(4, true, "you")}, "Hello you"},
		{"replaced", []a2a.Event{chunk(2, false, "x"), chunk(3, true, "y"), chunk(4, false, "a", "b")}, "a\nb"},
	} {
		var task a2a.Task
		if err := task.Fold(append([]a2a.Event{created}, tc.events...)); err != nil {
			t.Fatal(err)
		}
		if got := task.Artifacts[0].Text(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
