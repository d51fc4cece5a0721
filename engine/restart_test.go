package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
)

// dead returns a store with one task whose run is held by a process that is gone
// and was the attempt-th to try.
func dead(t *testing.T, attempt int) (taskstore.Store, a2a.TaskID) {
	t.Helper()
	store := memory.New(memory.Options{})
	at := a2a.Now()
	task := &a2a.Task{
		ID: "t-dead", ContextID: "c", Skill: "probe", Seq: 1, CreatedAt: at, UpdatedAt: at,
		Status:  a2a.Status{State: a2a.StateSubmitted, At: at},
		History: []a2a.Message{{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("@echo back")}}},
	}
	skeleton := *task
	_, err := store.Submit(t.Context(), taskstore.Submission{
		Scope: alice.Scope, Task: task,
		Events: []a2a.Event{{Seq: 1, At: at, Created: &skeleton}},
		Run:    taskstore.Run{State: taskstore.RunRunning, Holder: "gone", Until: at.Add(time.Second), Fence: 1, Attempt: attempt},
	})
	if err != nil {
		t.Fatal(err)
	}
	return store, task.ID
}

func TestEngine_restart(t *testing.T) {
	for _, c := range []struct {
		name    string
		attempt int
		retry   skills.Retry
		want    a2a.State
		says    string
	}{
		{"taken_up_again", 1, skills.RetryOnCrash, a2a.StateCompleted, ""},
		{"not_repeatable", 1, skills.RetryNever, a2a.StateFailed, "interrupted by a restart"},
		{"too_many_attempts", 3, skills.RetryOnCrash, a2a.StateFailed, "interrupted by a restart; given up after 3 attempts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, id := dead(t, c.attempt)
				r := newRig(t, store, skills.Entry{Retry: c.retry})
				time.Sleep(500 * time.Millisecond)
				r.wantState(id, a2a.StateSubmitted) // the lease is not over
				time.Sleep(15 * time.Second)
				got := r.wantState(id, c.want)
				if got.Status.Message.Text() != c.says {
					t.Errorf("got %q, want %q", got.Status.Message.Text(), c.says)
				}
				r.checkLog(id)
			})
		})
	}
}

func TestEngine_restart_skill_gone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, id := dead(t, 1)
		r := newRig(t, store, skills.Entry{Info: skills.Info{ID: "another"}})
		time.Sleep(15 * time.Second)
		if got := r.wantState(id, a2a.StateFailed); got.Status.Message.Text() != `skill "probe" is no longer offered` {
			t.Errorf("got %q", got.Status.Message.Text())
		}
	})
}

func TestEngine_Stop_hands_back(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		var runs atomic.Int32
		skill := skills.Func(func(ctx context.Context, in skills.Input, emit skills.Emit) error {
			if runs.Add(1) == 1 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
		})
		first := newRig(t, store, skills.Entry{Skill: skill, Limits: skills.Limits{Concurrency: 1}})
		running, waiting := first.start("a").ID, first.start("b").ID
		blocked := make(chan a2a.State, 1)
		go func() {
			res, err := first.Send(context.Background(), alice, "", message("c"))
			if err != nil {
				t.Error(err)
				return
			}
			blocked <- res.Task.Status.State
		}()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := first.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("stop took %s, want the grace of 3s", took)
		}
		if state := <-blocked; state != a2a.StateSubmitted {
			t.Errorf("blocking caller: got %s, want the task as it is", state)
		}
		_, err := first.Send(t.Context(), alice, "", message("d"))
		wantCode(t, err, a2a.CodeUnavailable)

		second := newRig(t, store, skills.Entry{Skill: skill})
		time.Sleep(time.Second)
		for _, id := range []a2a.TaskID{running, waiting} {
			second.wantState(id, a2a.StateCompleted)
			second.checkLog(id)
		}
	})
}

func TestEngine_Stop_not_repeatable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Retry: skills.RetryNever})
		id := r.start("@sleep 60").ID
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		r.wantState(id, a2a.StateFailed)
	})
}

func TestEngine_Follow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		id := r.start("@chunks 3000 1").ID
		read := func(slow time.Duration) func() int {
			reader, snapshot, err := r.Follow(t.Context(), alice.Scope, id)
			if err != nil {
				t.Fatal(err)
			}
			folded := snapshot.Clone()
			return func() int {
				defer reader.Close()
				for n := 0; ; n++ {
					ev, err := reader.Next(t.Context())
					if err != nil {
						t.Error(err)
						return n
					}
					if err := folded.Apply(ev.Event); err != nil {
						t.Errorf("event %d: %v", ev.Seq, err)
						return n
					}
					if folded.Status.State.Terminal() {
						return n
					}
					if slow > 0 && n%500 == 0 {
						time.Sleep(slow)
					}
				}
			}
		}
		fast, slow := read(0), read(2*time.Second)
		done := make(chan int, 2)
		go func() { done <- fast() }()
		go func() { done <- slow() }()
		if a, b := <-done, <-done; a != b || a < 3000 {
			t.Errorf("readers saw %d and %d events, want the same, all", a, b)
		}
		r.checkLog(id)
	})
}
