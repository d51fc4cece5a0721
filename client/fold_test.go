package client_test

import (
	"encoding/json"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

func artifact(id string, texts ...string) a2a.Artifact {
	a := a2a.Artifact{ID: id}
	for _, s := range texts {
		a.Parts = append(a.Parts, a2a.TextPart(s))
	}
	return a
}

// TestFold says each text once, however agents repeat it.
func TestFold(t *testing.T) {
	chunk := func(add bool, texts ...string) client.Event {
		return client.Event{TaskID: "t", Artifact: &a2a.ArtifactChunk{Artifact: artifact("a", texts...), Append: add}}
	}
	snapshot := func(s a2a.State, texts ...string) client.Event {
		return client.Event{TaskID: "t", Task: &a2a.Task{ID: "t", Status: a2a.Status{State: s}, Artifacts: []a2a.Artifact{artifact("a", texts...)}}}
	}
	for _, tc := range []struct {
		name        string
		events      []client.Event
		said, whole string
	}{
		{"chunks", []client.Event{chunk(false, "a"), chunk(true, "b"), chunk(true, "c")}, "a|b|c", "abc"},
		{"then_whole_task", []client.Event{chunk(false, "a"), chunk(true, "b"), snapshot(a2a.StateCompleted, "ab")}, "a|b", "ab"},
		{"then_whole_artifact", []client.Event{chunk(false, "a"), chunk(true, "b"), chunk(false, "ab")}, "a|b", "ab"},
		{"growing", []client.Event{chunk(false, "a"), chunk(false, "ab"), chunk(false, "abc")}, "a|b|c", "abc"},
		{"another", []client.Event{chunk(false, "draft"), chunk(false, "final")}, "draft|final", "final"},
		{"snapshot_again", []client.Event{snapshot(a2a.StateWorking, "a"), snapshot(a2a.StateWorking, "a"), chunk(true, "b")}, "a|b", "ab"},
		{"status_without_artifacts", []client.Event{chunk(false, "a"), {TaskID: "t", Task: &a2a.Task{ID: "t", Status: a2a.Status{State: a2a.StateCompleted}}}}, "a", "a"},
		{"append_first", []client.Event{chunk(true, "a"), chunk(true, "b")}, "a|b", "ab"},
	} {
		var f client.Fold
		said := ""
		for _, ev := range tc.events {
			for _, p := range f.Apply(ev).Artifacts {
				if said != "" {
					said += "|"
				}
				for _, part := range p.Artifact.Parts {
					said += part.Text
				}
			}
		}
		whole := ""
		for _, p := range f.Task.Artifacts[0].Parts {
			whole += p.Text
		}
		if said != tc.said || whole != tc.whole {
			t.Errorf("%s: said %q with %q at the end, want %q and %q", tc.name, said, whole, tc.said, tc.whole)
		}
	}
}

func TestFold_status(t *testing.T) {
	var f client.Fold
	say := func(s a2a.State, m *a2a.Message) client.Change {
		return f.Apply(client.Event{TaskID: "t", Status: &a2a.Status{State: s, Message: m}})
	}
	if c := say(a2a.StateWorking, nil); c.State != a2a.StateWorking || c.Words != nil {
		t.Errorf("got %+v", c)
	}
	if c := say(a2a.StateWorking, a2a.AgentText("m1", "10 %")); c.State != "" || c.Words.Text() != "10 %" {
		t.Errorf("got %+v", c)
	}
	if c := say(a2a.StateWorking, a2a.AgentText("m1", "10 %")); c.Any() {
		t.Errorf("got %+v, want nothing new", c)
	}
	if c := say(a2a.StateWorking, a2a.AgentText("m2", "20 %")); c.Words.Text() != "20 %" {
		t.Errorf("got %+v", c)
	}
}

// FuzzFold: what is said in pieces is what the artifact holds at the end, as long as an
// agent only adds.
func FuzzFold(f *testing.F) {
	f.Add("abc", uint64(3), uint64(5))
	f.Fuzz(func(t *testing.T, text string, cuts, kinds uint64) {
		var fold client.Fold
		said, sent, at := "", "", 0
		for i := 0; at < len(text) && i < 64; i++ {
			n := 1 + int(cuts>>uint(i)&7)
			piece := text[at:min(at+n, len(text))]
			at += len(piece)
			sent += piece
			ev := client.Event{TaskID: "t"}
			switch kinds >> uint(i) & 3 {
			case 0, 1:
				ev.Artifact = &a2a.ArtifactChunk{Artifact: artifact("a", piece), Append: true}
			case 2:
				ev.Artifact = &a2a.ArtifactChunk{Artifact: artifact("a", sent)}
			case 3:
				ev.Task = &a2a.Task{ID: "t", Artifacts: []a2a.Artifact{artifact("a", sent)}}
			}
			for _, p := range fold.Apply(ev).Artifacts {
				for _, part := range p.Artifact.Parts {
					said += part.Text
				}
			}
		}
		if said != sent {
			t.Errorf("said %q, want %q", said, sent)
		}
	})
}

// FuzzParseCard reads anything without a panic.
func FuzzParseCard(f *testing.F) {
	f.Add([]byte(`{"name":"x","supportedInterfaces":[{"url":"../rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"securitySchemes":{"k":{"type":"http"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		card, err := client.ParseCard(b, nil)
		if err == nil && !json.Valid(card.Raw) {
			t.Error("a card that is no JSON")
		}
	})
}

// TestFold_without_ids tells artifacts apart by their place if they have no ids, or the
// same one.
func TestFold_without_ids(t *testing.T) {
	for _, id := range []string{"", "same"} {
		var f client.Fold
		said := ""
		for _, texts := range [][]string{{"a", "b"}, {"a", "b"}, {"a", "bc"}} {
			task := &a2a.Task{ID: "t", Status: a2a.Status{State: a2a.StateWorking}}
			for _, s := range texts {
				task.Artifacts = append(task.Artifacts, artifact(id, s))
			}
			for _, p := range f.Apply(client.Event{TaskID: "t", Task: task}).Artifacts {
				said += a2a.JoinText(p.Artifact.Parts)
			}
		}
		if said != "abc" || len(f.Task.Artifacts) != 2 {
			t.Errorf("%q: said %q with %d artifacts, want abc with 2", id, said, len(f.Task.Artifacts))
		}
	}
}
