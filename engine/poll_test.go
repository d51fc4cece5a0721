package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// poll gets a task with a wait, and returns how long that took.
func (r *rig) poll(id a2a.TaskID, wait time.Duration) (*a2a.Task, time.Duration, error) {
	began := time.Now()
	t, err := r.Get(r.t.Context(), alice, &a2a.GetRequest{ID: id, Wait: wait})
	return t, time.Since(began).Round(100 * time.Millisecond), err
}

func TestEngine_Get_waits(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		wait  time.Duration
		state a2a.State
		took  time.Duration
	}{
		"until it ends":               {"@sleep 5", 30 * time.Second, a2a.StateCompleted, 5 * time.Second},
		"until it pauses":             {"@ask", 30 * time.Second, a2a.StateInputRequired, 0},
		"until it fails":              {"@panic", 30 * time.Second, a2a.StateFailed, 0},
		"until the wait is over":      {"@sleep 50", 30 * time.Second, a2a.StateWorking, 30 * time.Second},
		"not without a wait":          {"@sleep 5", 0, a2a.StateSubmitted, 0},
		"past events that end it not": {"@chunks 20 1000", 30 * time.Second, a2a.StateCompleted, 19 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, skills.Entry{})
				id := r.start(c.text).ID
				got, took, err := r.poll(id, c.wait)
				if err != nil || got.Status.State != c.state || took != c.took {
					t.Fatalf("got %+v after %s (%v), want %s after %s", got, took, err, c.state, c.took)
				}
				if !c.state.Settled() {
					return
				}
				// What has settled is not waited for.
				if again, took, err := r.poll(id, time.Hour); err != nil || took != 0 || again.Seq != r.get(id).Seq {
					t.Errorf("again: got %+v after %s (%v), want it at once", again, took, err)
				}
			})
		})
	}
}

func TestEngine_Get_waits_for_a_queued_task(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Limits: skills.Limits{Concurrency: 1}})
		r.start("@sleep 10")
		id := r.start("@sleep 10").ID
		if got, took, err := r.poll(id, 5*time.Second); err != nil || got.QueuePlace != 1 || took != 5*time.Second {
			t.Errorf("got %+v after %s (%v), want place 1 after 5s", got, took, err)
		}
		if got, took, err := r.poll(id, time.Minute); err != nil || got.Status.State != a2a.StateCompleted || took != 15*time.Second {
			t.Errorf("got %+v after %s (%v), want it completed after 15s", got, took, err)
		}
	})
}

// TestEngine_Get_waits_through_an_answer: a pause that is over does not end the wait.
func TestEngine_Get_waits_through_an_answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(asker)})
		id := r.start("go").ID
		if got, took, err := r.poll(id, time.Minute); err != nil || got.Status.State != a2a.StateInputRequired || took != time.Second {
			t.Fatalf("got %+v after %s (%v), want a question after 1s", got, took, err)
		}
		req := message("blue")
		req.TaskID, req.Blocking = id, false
		r.send(req)
		if got, took, err := r.poll(id, time.Minute); err != nil || got.Status.State != a2a.StateCompleted || took != time.Second {
			t.Errorf("got %+v after %s (%v), want it completed after 1s", got, took, err)
		}
	})
}

func TestEngine_Get_wait_ends_early(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		id := r.start("@hang").ID
		if _, took, err := r.poll("nope", time.Minute); a2a.AsError(err) == nil || a2a.AsError(err).Code != a2a.CodeTaskNotFound || took != 0 {
			t.Errorf("unknown task: got %v after %s, want it not found at once", err, took)
		}
		if _, err := r.Get(t.Context(), bob, &a2a.GetRequest{ID: id, Wait: time.Minute}); a2a.AsError(err) == nil || a2a.AsError(err).Code != a2a.CodeTaskNotFound {
			t.Errorf("foreign task: got %v, want it not found", err)
		}
		// The client leaves.
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := r.Get(ctx, alice, &a2a.GetRequest{ID: id, Wait: time.Minute}); err == nil {
			t.Error("got no error for a client that left")
		}
		// Somebody cancels.
		time.AfterFunc(2*time.Second, func() {
			if _, err := r.Cancel(context.Background(), alice, &a2a.CancelRequest{ID: id}); err != nil {
				t.Error(err)
			}
		})
		if got, took, err := r.poll(id, time.Minute); err != nil || got.Status.State != a2a.StateCanceled || took != 2*time.Second {
			t.Errorf("got %+v after %s (%v), want it canceled after 2s", got, took, err)
		}
		// The server stops.
		id = r.start("@hang").ID
		time.AfterFunc(3*time.Second, func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := r.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
		if got, took, err := r.poll(id, time.Minute); err != nil || got.Status.State != a2a.StateWorking || took != 3*time.Second {
			t.Errorf("got %+v after %s (%v), want it working after 3s", got, took, err)
		}
	})
}

// TestEngine_Get_waits_for_a_task_that_becomes_a_message: such a task is gone.
func TestEngine_Get_waits_for_a_task_that_becomes_a_message(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan a2a.TaskID, 1)
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(func(_ context.Context, in skills.Input, emit skills.Emit) error {
			seen <- in.Task.ID
			time.Sleep(time.Second)
			return emit(a2a.Event{Message: a2a.AgentText("", "hello")})
		})})
		go r.Send(t.Context(), alice, "", message("hi")) //nolint:errcheck // its answer is not what is tested
		if _, took, err := r.poll(<-seen, time.Minute); a2a.AsError(err) == nil || a2a.AsError(err).Code != a2a.CodeTaskNotFound || took != time.Second {
			t.Errorf("got %v after %s, want it not found after 1s", err, took)
		}
	})
}
