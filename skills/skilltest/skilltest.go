// Package skilltest is the contract of a skill as tests. Every kind passes it.
package skilltest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// Subject is a skill under test.
type Subject struct {
	// New makes the entry. It is called once per test.
	New func(testing.TB) skills.Entry
	// Good are messages that the skill settles.
	Good []a2a.Message
	// Bad are messages that it fails with a coded error, either in its mapper or
	// in its run.
	Bad []a2a.Message
	// Slow is a message on which the skill works until it is stopped; nil if the
	// kind has none. Without it the skill is started under a cancelled context.
	Slow *a2a.Message
}

// prompt is how soon a cancelled skill has to return.
const prompt = 2 * time.Second

// Text is a user message with one text part.
func Text(s string) a2a.Message {
	return a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(s)}}
}

// Data is a user message with one data part.
func Data(s string) a2a.Message {
	return a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.DataPart(json.RawMessage(s))}}
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("settles", func(t *testing.T) {
		for _, m := range s.Good {
			got, err := run(t, t.Context(), s.New(t), m)
			if err != nil {
				t.Errorf("%q: got %v, want a result", m.Text(), err)
				continue
			}
			if !got.Status.State.Settled() {
				t.Errorf("%q: got %s, want a final state", m.Text(), got.Status.State)
			}
			checkArtifacts(t, got)
		}
	})
	t.Run("same message, same result", func(t *testing.T) {
		for _, m := range s.Good {
			e := s.New(t)
			a, errA := run(t, t.Context(), e, m)
			b, errB := run(t, t.Context(), e, m)
			if errA != nil || errB != nil {
				t.Fatalf("%q: got %v and %v", m.Text(), errA, errB)
			}
			if x, y := encode(t, a.Artifacts), encode(t, b.Artifacts); e.Retry == skills.RetryOnCrash && x != y {
				t.Errorf("%q: a repeatable skill gave\n%s\nand then\n%s", m.Text(), x, y)
			}
		}
	})
	t.Run("fails with a code and a sentence", func(t *testing.T) {
		for _, m := range s.Bad {
			_, err := run(t, t.Context(), s.New(t), m)
			var e *a2a.Error
			switch {
			case err == nil:
				t.Errorf("%q: got no error", m.Text())
			case !errors.As(err, &e):
				t.Errorf("%q: got %v, want an *a2a.Error", m.Text(), err)
			case e.Code == "" || e.Code == a2a.CodeInternal || e.Message == "":
				t.Errorf("%q: got %q/%q, want a code and a sentence", m.Text(), e.Code, e.Message)
			}
		}
	})
	t.Run("returns soon when stopped", func(t *testing.T) { stopped(t, s) })
	t.Run("stops at a refused emit", func(t *testing.T) { refused(t, s) })
	t.Run("concurrent runs", func(t *testing.T) {
		e := s.New(t)
		var wg sync.WaitGroup
		for range 8 {
			for _, m := range s.Good {
				wg.Go(func() {
					if _, err := run(t, t.Context(), e, m); err != nil {
						t.Errorf("%q: %v", m.Text(), err)
					}
				})
			}
		}
		wg.Wait()
	})
}

func stopped(t *testing.T, s Subject) {
	if len(s.Good) == 0 && s.Slow == nil {
		t.Fatal("subject has no message")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var m a2a.Message
	if s.Slow != nil {
		m = *s.Slow
		timer := time.AfterFunc(20*time.Millisecond, func() { cancel(skills.ErrCanceled) })
		defer timer.Stop()
	} else {
		m = s.Good[0]
		cancel(skills.ErrCanceled)
	}
	began := time.Now()
	_, err := run(t, ctx, s.New(t), m)
	if took := time.Since(began); took > prompt {
		t.Errorf("returned %s after it was stopped, want at once", took)
	}
	if s.Slow != nil && err == nil {
		t.Error("got a result from a stopped run, want an error")
	}
}

// refused checks that a skill gives up when its events are not taken any more.
func refused(t *testing.T, s Subject) {
	if len(s.Good) == 0 {
		t.Skip("subject has no good message")
	}
	e := s.New(t)
	input, err := e.Mapper.In(s.Good[0])
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	err = e.Skill.Run(t.Context(), inputFor(s.Good[0], input.Payload), func(a2a.Event) error {
		calls.Add(1)
		return skills.ErrLeaseLost
	})
	if err == nil {
		t.Error("got no error although its event was refused")
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("got %d emits, want the first refused one to be the last", n)
	}
}

// run maps the message, runs the skill and folds what it emits. It fails the test
// when the skill emits after it returned.
func run(t testing.TB, ctx context.Context, e skills.Entry, m a2a.Message) (*a2a.Task, error) {
	t.Helper()
	input, err := e.Mapper.In(m)
	if err != nil {
		return nil, err
	}
	if input.Payload != nil && !json.Valid(input.Payload) {
		t.Errorf("mapper made a payload that is not JSON: %s", input.Payload)
	}
	task := new(a2a.Task)
	if err := task.Apply(a2a.Event{Seq: 1, Created: &a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateSubmitted}, History: []a2a.Message{m}}}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	returned := false
	err = e.Skill.Run(ctx, inputFor(m, input.Payload), func(ev a2a.Event) error {
		mu.Lock()
		defer mu.Unlock()
		if returned {
			t.Error("skill emits after it returned")
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		ev.Seq = task.Seq + 1
		return task.Apply(ev)
	})
	mu.Lock()
	defer mu.Unlock()
	returned = true
	return task, err
}

func inputFor(m a2a.Message, payload json.RawMessage) skills.Input {
	return skills.Input{
		Task: &a2a.Task{ID: "t", ContextID: "c", History: []a2a.Message{m}}, Message: m, Payload: payload, Attempt: 1,
		Caller: a2a.Caller{Scope: a2a.Scope{Owner: "tester"}, Name: "tester"},
		Save:   func(json.RawMessage) error { return nil },
	}
}

// checkArtifacts checks what the protocol asks of artifacts (A2A 1.0 §4.1.7).
func checkArtifacts(t testing.TB, task *a2a.Task) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range task.Artifacts {
		if len(a.Parts) == 0 {
			t.Errorf("artifact %q has no parts", a.ID)
		}
		if a.ID != "" && seen[a.ID] {
			t.Errorf("artifact id %q twice", a.ID)
		}
		seen[a.ID] = true
		for _, p := range a.Parts {
			if p.Kind == a2a.PartData && !json.Valid(p.Data) {
				t.Errorf("artifact %q: data is not JSON: %s", a.ID, p.Data)
			}
		}
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
