package a2a_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

var at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func created() a2a.Event {
	return a2a.Event{Seq: 1, At: at, Created: &a2a.Task{
		ID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateSubmitted},
		History: []a2a.Message{{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}}},
	}}
}

// in returns a task in the state.
func in(t testing.TB, state a2a.State) *a2a.Task {
	t.Helper()
	task := new(a2a.Task)
	if state == "" {
		return task
	}
	if err := task.Apply(created()); err != nil {
		t.Fatal(err)
	}
	if state != a2a.StateSubmitted {
		ev := a2a.StatusEvent(state, nil)
		ev.Seq, ev.At = 2, at
		if err := task.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	return task
}

// TestTask_Apply_table is every pair of a state and a kind of event.
func TestTask_Apply_table(t *testing.T) {
	events := []string{"created", "artifact", "message"}
	for _, s := range a2a.States() {
		events = append(events, string(s))
	}
	paused := map[string]error{
		"created": a2a.ErrTransition, "artifact": a2a.ErrTransition, "message": nil,
		"submitted": nil, "working": nil, "input-required": nil, "auth-required": nil,
		"completed": nil, "failed": nil, "canceled": nil, "rejected": nil,
	}
	active := map[string]error{
		"created": a2a.ErrTransition, "artifact": nil, "message": nil,
		"submitted": a2a.ErrTransition, "working": nil, "input-required": nil, "auth-required": nil,
		"completed": nil, "failed": nil, "canceled": nil, "rejected": nil,
	}
	ended := map[string]error{"created": nil}
	none := map[string]error{"created": nil}
	for _, e := range events[1:] {
		ended[e], none[e] = a2a.ErrTerminal, a2a.ErrTransition
	}
	table := map[a2a.State]map[string]error{
		"": none, a2a.StateSubmitted: active, a2a.StateWorking: active,
		a2a.StateInputRequired: paused, a2a.StateAuthRequired: paused,
		a2a.StateCompleted: ended, a2a.StateFailed: ended, a2a.StateCanceled: ended, a2a.StateRejected: ended,
	}
	if len(table) != len(a2a.States())+1 {
		t.Fatalf("table has %d states, want every one", len(table))
	}
	for state, row := range table {
		for _, kind := range events {
			t.Run(fmt.Sprintf("%s/%s", state, kind), func(t *testing.T) {
				task := in(t, state)
				before := task.Clone()
				var ev a2a.Event
				switch kind {
				case "created":
					ev = created()
				case "artifact":
					ev = a2a.ArtifactEvent(a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart("x")}})
				case "message":
					ev = a2a.Event{Message: &a2a.Message{ID: "m2", Role: a2a.RoleUser}}
				default:
					ev = a2a.StatusEvent(a2a.State(kind), nil)
				}
				ev.Seq, ev.At = task.Seq+1, at.Add(time.Second)
				err := task.Apply(ev)
				if want := row[kind]; !errors.Is(err, want) || err != nil && want == nil {
					t.Fatalf("got %v, want %v", err, want)
				}
				if err != nil {
					if diff := cmp.Diff(before, task); diff != "" {
						t.Errorf("a refused event changed the task:\n%s", diff)
					}
					return
				}
				if task.Seq != ev.Seq {
					t.Errorf("got seq %d, want %d", task.Seq, ev.Seq)
				}
				if ev.Status != nil && task.Status.State != ev.Status.State {
					t.Errorf("got %s, want %s", task.Status.State, ev.Status.State)
				}
			})
		}
	}
}

func TestTask_Apply_refuses(t *testing.T) {
	task := in(t, a2a.StateWorking)
	for name, c := range map[string]struct {
		ev   a2a.Event
		want error
	}{
		"gap":        {a2a.Event{Seq: task.Seq + 2, Message: &a2a.Message{}}, a2a.ErrSequence},
		"repetition": {a2a.Event{Seq: task.Seq, Message: &a2a.Message{}}, a2a.ErrSequence},
		"no body":    {a2a.Event{Seq: task.Seq + 1}, a2a.ErrEvent},
		"two bodies": {a2a.Event{Seq: task.Seq + 1, Message: &a2a.Message{}, Status: &a2a.Status{State: a2a.StateWorking}}, a2a.ErrEvent},
		"odd state":  {a2a.Event{Seq: task.Seq + 1, Status: &a2a.Status{State: "sleeping"}}, a2a.ErrTransition},
	} {
		if err := task.Clone().Apply(c.ev); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestTask_Apply_revision(t *testing.T) {
	task := in(t, a2a.StateCompleted)
	ev := created()
	ev.Seq = 3
	if err := task.Apply(ev); err != nil {
		t.Fatal(err)
	}
	if task.Revision != 1 || task.Seq != 3 || task.Status.State != a2a.StateSubmitted || len(task.Artifacts) != 0 {
		t.Errorf("got %+v, want a fresh revision that counts on", task)
	}
	other := created()
	other.Created.ID, other.Seq = "another", 3
	if err := in(t, a2a.StateCompleted).Apply(other); !errors.Is(err, a2a.ErrTransition) {
		t.Errorf("revision of another task: got %v, want ErrTransition", err)
	}
}

func TestTask_Apply_artifacts(t *testing.T) {
	task := in(t, a2a.StateWorking)
	chunk := func(id, text string, more bool) {
		ev := a2a.Event{Seq: task.Seq + 1, At: at, Artifact: &a2a.ArtifactChunk{
			Artifact: a2a.Artifact{ID: id, Parts: []a2a.Part{a2a.TextPart(text)}}, Append: more,
		}}
		if err := task.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	chunk("a", "1", false)
	chunk("b", "x", false)
	chunk("a", "2", true)
	chunk("b", "y", true)
	chunk("c", "first chunk appends", true) // kept: losing it would be worse
	chunk("b", "anew", false)               // replaces
	got := map[string]string{}
	for _, a := range task.Artifacts {
		got[a.ID] = a2a.JoinText(a.Parts)
	}
	want := map[string]string{"a": "1\n2", "b": "anew", "c": "first chunk appends"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTask_Apply_history: what the agent says at a pause or at the end is part of
// the conversation; its progress is not.
func TestTask_Apply_history(t *testing.T) {
	task := in(t, a2a.StateSubmitted)
	for i, s := range []a2a.State{a2a.StateWorking, a2a.StateInputRequired, a2a.StateWorking, a2a.StateFailed} {
		ev := a2a.StatusEvent(s, a2a.AgentText(fmt.Sprint(i), string(s)))
		ev.Seq, ev.At = task.Seq+1, at
		if err := task.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range task.History {
		got = append(got, m.Text())
	}
	if diff := cmp.Diff([]string{"hi", "input-required", "failed"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTask_Clone_shares_nothing_that_grows(t *testing.T) {
	task := in(t, a2a.StateWorking)
	grow := func(x *a2a.Task, text string) {
		for _, ev := range []a2a.Event{
			{Artifact: &a2a.ArtifactChunk{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart(text)}}, Append: true}},
			{Message: &a2a.Message{ID: text}},
		} {
			ev.Seq, ev.At = x.Seq+1, at
			if err := x.Apply(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5 {
		grow(task, "base")
	}
	one, two := task.Clone(), task.Clone()
	want := task.Clone()
	grow(one, "one")
	grow(two, "two")
	if diff := cmp.Diff(want, task); diff != "" {
		t.Errorf("growing a clone changed the original:\n%s", diff)
	}
	if got := one.History[len(one.History)-1].ID; got != "one" {
		t.Errorf("clones share history: got %q", got)
	}
}

// FuzzTask_Fold: whatever comes, a terminal state is only left by a new revision,
// the sequence only grows, and a refused event changes nothing.
func FuzzTask_Fold(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Fuzz(func(t *testing.T, script []byte) {
		task := new(a2a.Task)
		for i, b := range script {
			var ev a2a.Event
			switch kind := int(b) % 12; kind {
			case 0:
				ev = created()
			case 1, 2:
				ev = a2a.ArtifactEvent(a2a.Artifact{ID: fmt.Sprint(b % 3), Parts: []a2a.Part{a2a.TextPart("x")}})
				ev.Artifact.Append = kind == 2
			case 3:
				ev = a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleUser}}
			default:
				ev = a2a.StatusEvent(a2a.States()[kind-4], a2a.AgentText("s", "s"))
			}
			ev.Seq, ev.At = task.Seq+1, at
			if b > 250 {
				ev.Seq = int64(binary.BigEndian.Uint16([]byte{b, byte(i)}))
			}
			before := task.Clone()
			err := task.Apply(ev)
			switch {
			case err != nil && !cmp.Equal(before, task):
				t.Fatal("a refused event changed the task")
			case err == nil && task.Seq != before.Seq+1:
				t.Fatalf("seq went from %d to %d", before.Seq, task.Seq)
			case before.Status.State.Terminal() && task.Status.State != before.Status.State && task.Revision != before.Revision+1:
				t.Fatalf("%s was left for %s", before.Status.State, task.Status.State)
			}
		}
	})
}
