package pending

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

func TestA10_registry_fields(t *testing.T) {
	ctx := context.Background()
	r, c := newRegistry(t)
	start := c.at
	e := must(t)(r.Begin(ctx, Entry{
		AgentURL: agent, Agent: "writer", Skill: "write", Prompt: " Write \x1b[31m a\n\tpoem ", MessageID: "m-1", Key: "k-1",
	}))
	want := Entry{
		Ref: e.Ref, AgentURL: agent, Agent: "writer", Skill: "write", Prompt: "Write [31m a poem", MessageID: "m-1", Key: "k-1",
		CreatedAt: start.Add(time.Second),
	}
	check := func(step string) {
		t.Helper()
		list, err := r.Pending(ctx, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]Entry{want}, list); d != "" {
			t.Errorf("%s (-want +got):\n%s", step, d)
		}
	}
	check("begun")
	if !e.Sending() || e.Ended() || e.NotSent() {
		t.Errorf("got sending %v, ended %v, not sent %v", e.Sending(), e.Ended(), e.NotSent())
	}

	iface := json.RawMessage(`{"url": "https://agent.example/rpc"}`)
	must(t)(r.Accepted(ctx, e.Ref, task("task-1", a2a.StateSubmitted), iface))
	want.TaskID, want.ContextID, want.State, want.Interface = "task-1", "talk-1", a2a.StateSubmitted, iface
	check("accepted")

	must(t)(r.Polled(ctx, e.Ref, task("task-1", a2a.StateWorking)))
	want.State, want.PollCount, want.LastPolledAt = a2a.StateWorking, 1, start.Add(2*time.Second)
	check("polled")

	asks := task("task-1", a2a.StateInputRequired)
	asks.Status.Message = a2a.AgentText("m-2", "In which\nlanguage?")
	must(t)(r.Streamed(ctx, e.Ref, asks, "17"))
	want.State, want.EventID, want.Question = a2a.StateInputRequired, "17", "In which\nlanguage?"
	check("streamed")

	must(t)(r.Polled(ctx, e.Ref, &a2a.Task{ID: "task-1"}))
	want.State, want.Question, want.PollCount, want.LastPolledAt = a2a.StateUnknown, "", 2, start.Add(3*time.Second)
	check("polled, without a state")
}

func TestA11_leaves_pending_on_every_terminal_state(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	for _, state := range a2a.States() {
		for name, see := range map[string]func(ref string, task *a2a.Task) (Entry, error){
			"polled":   func(ref string, task *a2a.Task) (Entry, error) { return r.Polled(ctx, ref, task) },
			"streamed": func(ref string, task *a2a.Task) (Entry, error) { return r.Streamed(ctx, ref, task, "") },
			"accepted": func(ref string, task *a2a.Task) (Entry, error) { return r.Accepted(ctx, ref, task, nil) },
		} {
			t.Run(string(state)+"/"+name, func(t *testing.T) {
				id := a2a.TaskID(string(state) + name)
				e := sent(t, r, id)
				last := task(id, state)
				last.Artifacts = []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart("a result")}}}
				got := must(t)(see(e.Ref, last))
				if got.Ended() != state.Terminal() || got.State != state {
					t.Fatalf("got ended %v, state %q", got.Ended(), got.State)
				}
				if d := cmp.Diff(got, must(t)(r.Get(ctx, e.Ref))); d != "" {
					t.Errorf("returned and stored differ (-returned +stored):\n%s", d)
				}
				if state.Terminal() {
					if d := cmp.Diff(last, got.Answer); d != "" {
						t.Errorf("answer (-want +got):\n%s", d)
					}
					wantLists(t, r, nil, []string{e.Ref})
				} else {
					wantLists(t, r, []string{e.Ref}, nil)
				}
				if err := r.Forget(ctx, e.Ref); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	t.Run("unknown_task", func(t *testing.T) {
		e := sent(t, r, "gone")
		got := must(t)(r.LostTask(ctx, e.Ref, "Task not found"))
		if !got.Ended() || !got.Lost || got.NotSent() || got.LastError != "Task not found" || got.PollCount != 1 || got.State != a2a.StateSubmitted {
			t.Errorf("got %+v", got)
		}
		wantLists(t, r, nil, []string{e.Ref})

		// A process with another key finds it after all.
		got = must(t)(r.Polled(ctx, e.Ref, task("gone", a2a.StateCompleted)))
		if got.Lost || got.LastError != "" || got.Answer == nil || got.State != a2a.StateCompleted || !got.Ended() {
			t.Errorf("got %+v", got)
		}
	})
}

func TestA11_the_end_is_final(t *testing.T) {
	ctx := context.Background()
	late := map[string]func(r *Registry, ref string) (Entry, error){
		"accepted": func(r *Registry, ref string) (Entry, error) {
			return r.Accepted(ctx, ref, task("task-1", a2a.StateWorking), nil)
		},
		"polled": func(r *Registry, ref string) (Entry, error) {
			return r.Polled(ctx, ref, task("task-1", a2a.StateWorking))
		},
		"other_end": func(r *Registry, ref string) (Entry, error) {
			return r.Polled(ctx, ref, task("task-1", a2a.StateCanceled))
		},
		"streamed": func(r *Registry, ref string) (Entry, error) {
			return r.Streamed(ctx, ref, task("task-1", a2a.StateWorking), "9")
		},
		"failed":   func(r *Registry, ref string) (Entry, error) { return r.Failed(ctx, ref, "connection refused") },
		"lost":     func(r *Registry, ref string) (Entry, error) { return r.LostTask(ctx, ref, "Task not found") },
		"rejected": func(r *Registry, ref string) (Entry, error) { return r.Rejected(ctx, ref, "queue full") },
		"answered": func(r *Registry, ref string) (Entry, error) {
			return r.Answered(ctx, ref, a2a.AgentText("m", "hi"), "c")
		},
	}
	polls := map[string]int{"polled": 1, "other_end": 1, "failed": 1, "lost": 1}
	for name, write := range late {
		t.Run("completed/"+name, func(t *testing.T) {
			r, c := newRegistry(t)
			want := must(t)(r.Polled(ctx, sent(t, r, "task-1").Ref, task("task-1", a2a.StateCompleted)))
			got := must(t)(write(r, want.Ref))
			if want.PollCount += polls[name]; polls[name] > 0 {
				want.LastPolledAt = c.at
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			wantLists(t, r, nil, []string{want.Ref})
		})
		t.Run("lost/"+name, func(t *testing.T) {
			r, _ := newRegistry(t)
			e := must(t)(r.LostTask(ctx, sent(t, r, "task-1").Ref, "Task not found"))
			if got := must(t)(write(r, e.Ref)); got.Lost != (name != "other_end") || !got.EndedAt.Equal(e.EndedAt) {
				t.Errorf("got %+v", got)
			}
			wantLists(t, r, nil, []string{e.Ref})
		})
	}
}

func TestA12_connection_errors_keep_the_entry(t *testing.T) {
	ctx := context.Background()
	r, c := newRegistry(t)
	e := must(t)(r.Begin(ctx, Entry{AgentURL: agent}))
	if got := must(t)(r.Failed(ctx, e.Ref, "no answer\nto the send")); got.PollCount != 0 || got.LastError != "no answer to the send" || !got.Sending() {
		t.Errorf("the send failed: got %+v", got)
	}
	must(t)(r.Accepted(ctx, e.Ref, task("task-1", a2a.StateWorking), nil))
	for range 3 {
		must(t)(r.Failed(ctx, e.Ref, strings.Repeat("connection refused ", 100)))
	}
	got := must(t)(r.Get(ctx, e.Ref))
	if got.PollCount != 3 || !got.LastPolledAt.Equal(c.at) || got.State != a2a.StateWorking || !strings.HasPrefix(got.LastError, "connection refused ") || len(got.LastError) > MaxLastError {
		t.Errorf("got %+v", got)
	}
	wantLists(t, r, []string{e.Ref}, nil)
	if got := must(t)(r.Polled(ctx, e.Ref, task("task-1", a2a.StateWorking))); got.LastError != "" || got.PollCount != 4 {
		t.Errorf("after a success: got %+v", got)
	}
}

func TestRegistry_Begin(t *testing.T) {
	ctx := context.Background()
	t.Run("no_url", func(t *testing.T) {
		r, _ := newRegistry(t)
		if _, err := r.Begin(ctx, Entry{}); err == nil || !strings.Contains(err.Error(), "URL") {
			t.Errorf("got %v", err)
		}
		wantLists(t, r, nil, nil)
	})
	t.Run("reply", func(t *testing.T) {
		r, _ := newRegistry(t)
		want := must(t)(r.Accepted(ctx, sent(t, r, "task-1").Ref, task("task-1", a2a.StateInputRequired), nil))
		other := must(t)(r.Begin(ctx, Entry{AgentURL: "https://other.example", TaskID: "task-1"}))
		got := must(t)(r.Begin(ctx, Entry{AgentURL: agent, TaskID: "task-1", Prompt: "in French", MessageID: "m-2", Key: "k-2"}))
		want.MessageID, want.Key = "m-2", "k-2"
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if got := must(t)(r.Rejected(ctx, got.Ref, "queue full")); got.Ended() || got.LastError != "queue full" {
			t.Errorf("refused: got %+v", got)
		}
		if got := must(t)(r.Answered(ctx, got.Ref, a2a.AgentText("m", "noted"), "")); got.Ended() || got.LastError != "" {
			t.Errorf("answered with a message: got %+v", got)
		}
		must(t)(r.Accepted(ctx, got.Ref, task("task-1", a2a.StateWorking), nil))
		wantLists(t, r, []string{other.Ref, want.Ref}, nil)
	})
	t.Run("run_again", func(t *testing.T) {
		r, _ := newRegistry(t)
		first := must(t)(r.Polled(ctx, sent(t, r, "task-1").Ref, task("task-1", a2a.StateCompleted)))
		second := must(t)(r.Begin(ctx, Entry{AgentURL: agent, TaskID: "task-1", Prompt: "again"}))
		if second.Ref == first.Ref || !second.Sending() || second.PollCount != 0 {
			t.Errorf("got %+v", second)
		}
		must(t)(r.Accepted(ctx, second.Ref, task("task-1", a2a.StateWorking), nil))
		// A late poll of the first run leaves the second alone.
		must(t)(r.Polled(ctx, first.Ref, task("task-1", a2a.StateCompleted)))
		wantLists(t, r, []string{second.Ref}, []string{first.Ref})
		if got := must(t)(r.Find(ctx, "task-1", Filter{})); got.Ref != second.Ref {
			t.Errorf("found %+v, want the second run", got)
		}
		must(t)(r.Polled(ctx, second.Ref, task("task-1", a2a.StateFailed)))
		if got := must(t)(r.Find(ctx, "task-1", Filter{})); got.State != a2a.StateFailed {
			t.Errorf("found %+v, want the second run", got)
		}
		wantLists(t, r, nil, []string{second.Ref, first.Ref})
	})
}

func TestRegistry_Accepted(t *testing.T) {
	ctx := context.Background()
	t.Run("known_task_is_merged", func(t *testing.T) {
		r, _ := newRegistry(t)
		first := must(t)(r.Polled(ctx, sent(t, r, "task-1").Ref, task("task-1", a2a.StateWorking)))
		again := must(t)(r.Begin(ctx, Entry{AgentURL: agent, Key: "k-2"}))
		got := must(t)(r.Accepted(ctx, again.Ref, task("task-1", a2a.StateWorking), nil))
		if got.Ref != first.Ref || got.PollCount != 1 || got.Key != "k-2" {
			t.Errorf("got %+v", got)
		}
		wantLists(t, r, []string{first.Ref}, nil)
		if _, err := r.Polled(ctx, again.Ref, task("task-1", a2a.StateWorking)); !errors.Is(err, ErrNone) {
			t.Errorf("merged ref: got %v, want ErrNone", err)
		}
	})
	t.Run("reply_answered_with_another_task", func(t *testing.T) {
		r, _ := newRegistry(t)
		first := sent(t, r, "task-1")
		got := must(t)(r.Accepted(ctx, first.Ref, task("task-2", a2a.StateWorking), nil))
		if got.Ref == first.Ref || got.TaskID != "task-2" || got.AgentURL != agent {
			t.Errorf("got %+v", got)
		}
		wantLists(t, r, []string{got.Ref, first.Ref}, nil)
		if d := cmp.Diff(first, must(t)(r.Get(ctx, first.Ref))); d != "" {
			t.Errorf("the first task changed (-want +got):\n%s", d)
		}
	})
	t.Run("agent_ignores_the_clients_id", func(t *testing.T) {
		r, _ := newRegistry(t)
		e := must(t)(r.Begin(ctx, Entry{AgentURL: agent, TaskID: "mine"}))
		if got := must(t)(r.Accepted(ctx, e.Ref, task("theirs", a2a.StateWorking), nil)); got.Ref != e.Ref || got.TaskID != "theirs" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("taken_after_a_refusal", func(t *testing.T) {
		r, _ := newRegistry(t)
		e := must(t)(r.Begin(ctx, Entry{AgentURL: agent}))
		refused := must(t)(r.Rejected(ctx, e.Ref, "queue full"))
		if !refused.NotSent() || refused.LastError != "queue full" {
			t.Errorf("got %+v", refused)
		}
		wantLists(t, r, nil, []string{e.Ref})
		got := must(t)(r.Accepted(ctx, e.Ref, task("task-1", a2a.StateWorking), nil))
		if got.Ended() || got.LastError != "" {
			t.Errorf("got %+v", got)
		}
		wantLists(t, r, []string{e.Ref}, nil)
	})
	t.Run("no_use", func(t *testing.T) {
		r, _ := newRegistry(t)
		e := must(t)(r.Begin(ctx, Entry{AgentURL: agent}))
		for _, task := range []*a2a.Task{nil, {}} {
			if _, err := r.Accepted(ctx, e.Ref, task, nil); err == nil {
				t.Errorf("%v: got no error", task)
			}
			if _, err := r.Polled(ctx, e.Ref, task); err == nil {
				t.Errorf("%v: got no error", task)
			}
		}
		must(t)(r.Accepted(ctx, e.Ref, task("task-1", a2a.StateWorking), nil))
		if _, err := r.Polled(ctx, e.Ref, task("task-2", a2a.StateCompleted)); err == nil || !strings.Contains(err.Error(), `"task-2" instead of "task-1"`) {
			t.Errorf("another task: got %v", err)
		}
		if _, err := r.Answered(ctx, e.Ref, nil, ""); err == nil {
			t.Error("no message: got no error")
		}
		wantLists(t, r, []string{e.Ref}, nil)
	})
}

func TestRegistry_Answered(t *testing.T) {
	ctx := context.Background()
	r, c := newRegistry(t)
	e := must(t)(r.Begin(ctx, Entry{AgentURL: agent, Skill: "chat"}))
	got := must(t)(r.Answered(ctx, e.Ref, a2a.AgentText("m-2", "Hello!"), "talk-9"))
	want := &a2a.Task{
		ContextID: "talk-9", Skill: "chat", CreatedAt: e.CreatedAt, UpdatedAt: c.at,
		Status: a2a.Status{State: a2a.StateCompleted, Message: a2a.AgentText("m-2", "Hello!"), At: c.at},
	}
	if d := cmp.Diff(want, must(t)(r.Get(ctx, e.Ref)).Answer); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got.State != a2a.StateCompleted || got.ContextID != "talk-9" || got.TaskID != "" {
		t.Errorf("got %+v", got)
	}
	wantLists(t, r, nil, []string{e.Ref})
}

func TestRegistry_UnknownRef(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	before, err := r.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"get":      func() error { _, err := r.Get(ctx, "x"); return err },
		"accepted": func() error { _, err := r.Accepted(ctx, "x", task("t", a2a.StateWorking), nil); return err },
		"polled":   func() error { _, err := r.Polled(ctx, "x", task("t", a2a.StateWorking)); return err },
		"streamed": func() error { _, err := r.Streamed(ctx, "x", task("t", a2a.StateWorking), "1"); return err },
		"failed":   func() error { _, err := r.Failed(ctx, "x", "m"); return err },
		"lost":     func() error { _, err := r.LostTask(ctx, "x", "m"); return err },
		"rejected": func() error { _, err := r.Rejected(ctx, "x", "m"); return err },
		"answered": func() error { _, err := r.Answered(ctx, "x", a2a.AgentText("m", "t"), ""); return err },
		"forget":   func() error { return r.Forget(ctx, "x") },
		"newest":   func() error { _, err := r.Newest(ctx, Filter{}); return err },
	} {
		if err := call(); !errors.Is(err, ErrNone) {
			t.Errorf("%s: got %v, want ErrNone", name, err)
		}
	}
	if after, err := r.Revision(ctx); err != nil || after != before {
		t.Errorf("got revision %d, %v, want %d", after, err, before)
	}
}

func FuzzLine(f *testing.F) {
	f.Add(" two\n\nwords ", 200)
	f.Add("ééééé", 3)
	f.Add("a b", 2)
	f.Add("\xff\x00x", 9)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, 0), 500)
		got := line(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || got != strings.TrimSpace(got) || strings.ContainsAny(got, "\n\r\t\x00\x1b") || strings.Contains(got, "  ") {
			t.Errorf("line(%q, %d) = %q", text, limit, got)
		}
		if again := line(got, limit); again != got {
			t.Errorf("line(%q) = %q", got, again)
		}
	})
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 10, ""}, {" two\n\n words ", 20, "two words"}, {"a b", 2, "a"}, {"a b", 3, "a b"},
		{"ééé", 3, "é"}, {"abc", 2, "ab"}, {"\x1b[1mx", 9, "[1mx"}, {strings.Repeat("x", 300), 200, strings.Repeat("x", 200)},
	} {
		if got := line(c.text, c.limit); got != c.want {
			t.Errorf("line(%q, %d): got %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
