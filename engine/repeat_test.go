package engine_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// keyed is a message to a task under a key. Its id is new each time, as with clients
// that try again.
func keyed(id a2a.TaskID, key, text, messageID string) *a2a.SendRequest {
	req := message(text)
	req.TaskID, req.IdempotencyKey, req.Message.ID = id, key, messageID
	return req
}

func userMessages(t *a2a.Task) (n int) {
	for _, m := range t.History {
		if m.Role == a2a.RoleUser {
			n++
		}
	}
	return n
}

// wantConflict sends, and expects that the key is taken.
func (r *rig) wantConflict(req *a2a.SendRequest) {
	r.t.Helper()
	if _, err := r.Send(r.t.Context(), alice, "", req); err == nil || a2a.AsError(err).Code != a2a.CodeIdempotencyConflict {
		r.t.Errorf("send %q under key %s: got %v, want an idempotency conflict", req.Message.Text(), req.IdempotencyKey, err)
	}
}

func TestEngine_Send_repeated_answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(asker)})
		id := r.send(message("go")).ID
		first := keyed(id, "k", "blue", "m-1")
		first.Blocking = false
		if got := r.send(first); got.Status.State != a2a.StateWorking {
			t.Fatalf("got %s, want the answer taken", got.Status.State)
		}
		// While the turn is at work, which else refuses messages.
		again := keyed(id, "k", "blue", "m-2")
		again.Blocking = false
		if got := r.send(again); got.Status.State != a2a.StateWorking || userMessages(got) != 2 {
			t.Errorf("got %s with %d messages, want it working with 2", got.Status.State, userMessages(got))
		}
		// A repeated call that blocks waits for what the first one started.
		got := r.send(keyed(id, "k", "blue", "m-3"))
		if got.Status.State != a2a.StateCompleted || userMessages(got) != 2 {
			t.Errorf("got %s with %d messages, want it completed with 2", got.Status.State, userMessages(got))
		}
		// After the end, which else takes no message.
		if late := r.send(keyed(id, "k", "blue", "m-4")); late.Seq != got.Seq {
			t.Errorf("got event %d, want nothing after %d", late.Seq, got.Seq)
		}
		task, reader, err := r.Stream(t.Context(), alice, "", keyed(id, "k", "blue", "m-5"))
		if err != nil || reader != nil || task.Seq != got.Seq {
			t.Errorf("stream: got %+v, %v, %v, want the ended task alone", task, reader, err)
		}
		r.checkLog(id)
		r.wantConflict(keyed(id, "k", "red", "m-6"))
		r.wantConflict(keyed("another", "k", "blue", "m-7"))
		r.wantConflict(keyed("", "k", "blue", "m-8"))
		if _, err := r.Send(t.Context(), bob, "", keyed(id, "k", "blue", "m-9")); err == nil || a2a.AsError(err).Code != a2a.CodeTaskNotFound {
			t.Errorf("another caller: got %v, want no such task", err)
		}
	})
}

func TestEngine_Send_key_of_a_new_task(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(asker)})
		id := r.send(keyed("", "k", "go", "m-1")).ID
		r.wantConflict(keyed(id, "k", "go", "m-2"))
		// A message that is refused does not use its key up.
		fail := keyed(id, "k-2", "blue", "m-3")
		fail.ContextID = "another"
		if _, err := r.Send(t.Context(), alice, "", fail); err == nil || a2a.AsError(err).Code != a2a.CodeInvalidParams {
			t.Errorf("got %v, want it refused", err)
		}
		if got := r.send(keyed(id, "k-2", "blue", "m-4")); got.Status.State != a2a.StateCompleted {
			t.Errorf("got %s, want it completed", got.Status.State)
		}
	})
}

func TestEngine_Send_repeated_at_once(t *testing.T) {
	for name, busy := range map[string]skills.Busy{"paused": skills.BusyRefuse, "working": skills.BusyQueue} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, skills.Entry{Skill: skills.Func(asker), Busy: busy})
				id := r.start("go").ID
				if busy == skills.BusyRefuse {
					time.Sleep(2 * time.Second)
					r.wantState(id, a2a.StateInputRequired)
				}
				var wg sync.WaitGroup
				for range 20 {
					wg.Go(func() {
						got := r.send(keyed(id, "k", "blue", "m"))
						if got.Status.State != a2a.StateCompleted || userMessages(got) != 2 {
							t.Errorf("got %s with %d messages, want it completed with 2", got.Status.State, userMessages(got))
						}
					})
				}
				wg.Wait()
				r.checkLog(id)
			})
		})
	}
}

// TestEngine_Send_repeated_to_a_waiting_task: the task is in its skill's queue.
func TestEngine_Send_repeated_to_a_waiting_task(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(asker), Busy: skills.BusyQueue, Limits: skills.Limits{Concurrency: 1}})
		r.start("go")
		id := r.start("go").ID
		for _, messageID := range []string{"m-1", "m-2"} {
			req := keyed(id, "k", "blue", messageID)
			req.Blocking = false
			if got := r.send(req); got.Status.State != a2a.StateSubmitted || userMessages(got) != 2 {
				t.Errorf("got %s with %d messages, want it submitted with 2", got.Status.State, userMessages(got))
			}
		}
		r.wantConflict(keyed(id, "k", "red", "m-3"))
		time.Sleep(time.Minute)
		if got := r.wantState(id, a2a.StateCompleted); userMessages(got) != 2 {
			t.Errorf("got %d messages, want 2", userMessages(got))
		}
	})
}
