package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// streamEvents is a task's log with one event of each kind, and more states.
func streamEvents() []a2a.Event {
	at := time.Date(2026, 11, 30, 12, 0, 0, 5e6, time.UTC)
	events := []a2a.Event{
		{Created: &a2a.Task{ID: "t", ContextID: "c", Skill: "s", SkillSource: "default", Status: a2a.Status{State: a2a.StateSubmitted},
			History: []a2a.Message{{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}}}}},
		a2a.StatusEvent(a2a.StateWorking, a2a.AgentText("w", "on it")),
		{Artifact: &a2a.ArtifactChunk{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.DataPart(json.RawMessage(`[9007199254740993]`))}}}},
		{Artifact: &a2a.ArtifactChunk{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart("é\n")}}, Append: true, Last: true}},
		a2a.StatusEvent(a2a.StateInputRequired, a2a.AgentText("q", "which?")),
		{Message: &a2a.Message{ID: "m2", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("that")}}},
		a2a.StatusEvent(a2a.StateAuthRequired, a2a.AgentText("l", "sign in")),
		a2a.StatusEvent(a2a.StateRejected, a2a.AgentText("r", "no")),
	}
	for i := range events {
		events[i].Seq, events[i].At = int64(i+1), at
		if events[i].Status != nil {
			events[i].Status.At = at
		}
	}
	return events
}

func TestStreamForm_Event(t *testing.T) {
	want := map[string][]string{
		wire.NameV1: {
			`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-11-30T12:00:00.005Z"},"history":[{"messageId":"m1","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"hi"}]}],"metadata":{"skillId":"s","skillSource":"default"}}}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"w","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":[{"text":"on it"}]},"timestamp":"2026-11-30T12:00:00.005Z"}}}`,
			`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":[9007199254740993]}]},"append":false,"lastChunk":false}}`,
			`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"é\n"}]},"append":true,"lastChunk":true}}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"q","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":[{"text":"which?"}]},"timestamp":"2026-11-30T12:00:00.005Z"}}}`,
			``,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"messageId":"l","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":[{"text":"sign in"}]},"timestamp":"2026-11-30T12:00:00.005Z"}}}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_REJECTED","message":{"messageId":"r","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":[{"text":"no"}]},"timestamp":"2026-11-30T12:00:00.005Z"}}}`,
		},
		wire.NameV03: {
			`{"kind":"task","id":"t","contextId":"c","status":{"state":"submitted","timestamp":"2026-11-30T12:00:00.005Z"},"history":[{"kind":"message","messageId":"m1","contextId":"c","taskId":"t","role":"user","parts":[{"kind":"text","text":"hi"}]}],"metadata":{"skillId":"s","skillSource":"default"}}`,
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working","message":{"kind":"message","messageId":"w","contextId":"c","taskId":"t","role":"agent","parts":[{"kind":"text","text":"on it"}]},"timestamp":"2026-11-30T12:00:00.005Z"},"final":false}`,
			`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"data","data":{"value":[9007199254740993]},"metadata":{"data_part_compat":true}}]},"append":false,"lastChunk":false}`,
			`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"é\n"}]},"append":true,"lastChunk":true}`,
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required","message":{"kind":"message","messageId":"q","contextId":"c","taskId":"t","role":"agent","parts":[{"kind":"text","text":"which?"}]},"timestamp":"2026-11-30T12:00:00.005Z"},"final":true}`,
			``,
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"auth-required","message":{"kind":"message","messageId":"l","contextId":"c","taskId":"t","role":"agent","parts":[{"kind":"text","text":"sign in"}]},"timestamp":"2026-11-30T12:00:00.005Z"},"final":true}`,
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"failed","message":{"kind":"message","messageId":"r","contextId":"c","taskId":"t","role":"agent","parts":[{"kind":"text","text":"no"}]},"timestamp":"2026-11-30T12:00:00.005Z"},"final":true}`,
		},
	}
	dialects := wire.New(wire.Options{})
	for _, d := range []*wire.Dialect{dialects.V1, dialects.V03} {
		task := &a2a.Task{ID: "t", ContextID: "c"}
		for i, ev := range streamEvents() {
			got := string(d.Stream.Event(nil, task, &ev))
			if got != want[d.Name][i] {
				t.Errorf("%s event %d: got\n%s\nwant\n%s", d.Name, i+1, got, want[d.Name][i])
			}
			if strings.ContainsAny(got, "\r\n") {
				t.Errorf("%s event %d has a line break", d.Name, i+1)
			}
			if d == dialects.V1 && got != "" {
				if err := protojson.Unmarshal([]byte(got), new(a2apb.StreamResponse)); err != nil {
					t.Errorf("event %d is no StreamResponse: %v", i+1, err)
				}
			}
		}
	}
}

// TestStreamForm_Ends pins when a stream is over: A2A 1.0 §3.1.2, §3.1.6, §7.6.1,
// and the final flag of 0.3.
func TestStreamForm_Ends(t *testing.T) {
	dialects := wire.New(wire.Options{})
	for _, s := range a2a.States() {
		for _, c := range []struct {
			d    *wire.Dialect
			op   a2a.Op
			want bool
		}{
			{dialects.V1, a2a.OpStream, s.Terminal() || s == a2a.StateInputRequired},
			{dialects.V1, a2a.OpSubscribe, s.Terminal()},
			{dialects.V03, a2a.OpStream, s.Settled()},
			{dialects.V03, a2a.OpSubscribe, s.Settled()},
			{dialects.EMM, a2a.OpSubscribe, s.Terminal()},
		} {
			if got := c.d.Stream.Ends(c.op, s); got != c.want {
				t.Errorf("%s %s at %s: got %v, want %v", c.d.Name, c.op, s, got, c.want)
			}
		}
	}
}

// TestStreamForm_emm: each frame of an EMM stream holds the whole task.
func TestStreamForm_emm(t *testing.T) {
	d := wire.New(wire.Options{}).EMM
	task := new(a2a.Task)
	var got []string
	for _, ev := range streamEvents() {
		if err := task.Apply(ev); err != nil {
			t.Fatal(err)
		}
		b := d.Stream.Event(nil, task, &ev)
		if len(b) == 0 {
			continue
		}
		var frame struct {
			TaskID, Status string
			Task           struct{ ID, Status string }
		}
		if err := json.Unmarshal(b, &frame); err != nil || frame.TaskID != "t" || frame.Task.ID != "t" || frame.Task.Status != frame.Status {
			t.Errorf("got %s, %v", b, err)
		}
		got = append(got, frame.Status)
	}
	if s := strings.Join(got, " "); s != "working input-required auth-required failed" {
		t.Errorf("got %s", s)
	}
}

// TestStreamForm_Numbered: the numbered form is the plain one with one more member in
// the metadata.
func TestStreamForm_Numbered(t *testing.T) {
	dialects := wire.New(wire.Options{})
	for _, d := range append(dialects.All(), dialects.RestV1, dialects.RestV03) {
		if d.Name == wire.NameEMM || d == dialects.V01 {
			if d.Stream.Numbered != nil {
				t.Errorf("%s numbers events, but knows no extensions", d.Name)
			}
			continue
		}
		task := &a2a.Task{ID: "t", ContextID: "c", Seq: 9, Status: a2a.Status{State: a2a.StateWorking}}
		for _, ev := range streamEvents() {
			plain, numbered := d.Stream.Event(nil, task, &ev), d.Stream.Numbered.Event(nil, task, &ev)
			if len(plain) == 0 {
				if len(numbered) != 0 {
					t.Errorf("%s event %d: got %s, want nothing", d.Name, ev.Seq, numbered)
				}
				continue
			}
			rest, seq := cutSequence(t, numbered)
			if seq != ev.Seq || !sameJSON(t, rest, plain) {
				t.Errorf("%s event %d: got %s, want %s and the number", d.Name, ev.Seq, numbered, plain)
			}
		}
		plain, numbered := d.Stream.Snapshot(nil, task, a2a.View{}), d.Stream.Snapshot(nil, task, a2a.View{Sequence: true})
		if rest, seq := cutSequence(t, numbered); seq != 9 || !sameJSON(t, rest, plain) {
			t.Errorf("%s snapshot: got %s", d.Name, numbered)
		}
		if d.Stream.Numbered.Name == d.Stream.Name {
			t.Errorf("%s: readers of both forms would share frames", d.Name)
		}
	}
}

// cutSequence takes the sequence out of a frame's metadata.
func cutSequence(t *testing.T, frame []byte) (rest []byte, seq int64) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(frame, &v); err != nil {
		t.Fatalf("%v in %s", err, frame)
	}
	body := v
	for _, name := range []string{"task", "statusUpdate", "artifactUpdate"} {
		if m, ok := v[name].(map[string]any); ok {
			body = m
		}
	}
	meta, _ := body["metadata"].(map[string]any)
	own, _ := meta[a2a.ExtEventSequence].(map[string]any)
	n, _ := own["sequence"].(float64)
	delete(meta, a2a.ExtEventSequence)
	if len(meta) == 0 {
		delete(body, "metadata")
	}
	rest, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return rest, int64(n)
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}
