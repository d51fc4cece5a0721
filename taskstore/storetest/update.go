package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// change returns a decide function that adds the events.
func change(run taskstore.Run, events ...a2a.Event) func(taskstore.Stored) (taskstore.Change, error) {
	return func(s taskstore.Stored) (taskstore.Change, error) {
		task := s.Task.Clone()
		stamped := stamp(task, events)
		if err := task.Fold(stamped); err != nil {
			return taskstore.Change{}, err
		}
		run := run
		run.Resume = s.Run.Resume
		return taskstore.Change{Events: stamped, Task: task, Run: run}, nil
	}
}

// update adds events to a task and gives it a new run.
func (f *fixture) update(scope a2a.Scope, id a2a.TaskID, run taskstore.Run, events ...a2a.Event) taskstore.Stored {
	f.Helper()
	got, err := f.store.Update(context.Background(), scope, id, change(run, events...))
	if err != nil {
		f.Fatalf("Update(%s): %v", short(id), err)
	}
	return got
}

func updateCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"next_turn": func(f *fixture) {
			a := f.begin()
			ap := a.next(taskstore.RunWaiting, status(a2a.StateInputRequired))
			ap.Resume = raw(`{"thread":1}`)
			a.must(f.append(ap))
			f.same("run", f.stored(alice, a.task.ID).Run,
				taskstore.Run{State: taskstore.RunWaiting, Fence: 1, Attempt: 1, Resume: raw(`{"thread":1}`)})

			answer := a2a.Event{Message: &a2a.Message{ID: "answer", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("yes")}}}
			st := f.update(alice, a.task.ID, running(), answer, status(a2a.StateWorking))
			if st.Scope != alice || st.Run.Fence != 2 || st.Lease.Fence != 2 || st.Lease.TaskID != a.task.ID {
				f.Errorf("got scope %v, fence %d, lease %+v, want alice's with fence 2", st.Scope, st.Run.Fence, st.Lease)
			}
			f.same("resume", st.Run.Resume, raw(`{"thread":1}`))
			b := &actor{f: f, scope: alice, task: st.Task.Clone(), lease: st.Lease}
			b.check()
			b.must(b.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			b.check()
		},
		"to_queued": func(f *fixture) {
			a := f.begin()
			a.must(a.step(taskstore.RunWaiting, status(a2a.StateInputRequired)))
			st := f.update(alice, a.task.ID, queued(), status(a2a.StateSubmitted))
			f.same("lease", st.Lease, taskstore.Lease{})
			f.same("open runs", f.open(start), []a2a.TaskID{a.task.ID})
			f.checkStored(alice, st.Task)
		},
		"error_of_decide": func(f *fixture) {
			a := f.begin()
			refusal := errors.New("refused")
			got, err := f.store.Update(context.Background(), alice, a.task.ID, func(taskstore.Stored) (taskstore.Change, error) {
				return taskstore.Change{Run: ended()}, refusal
			})
			if err != refusal {
				f.Errorf("got error %v, want the very error of decide", err)
			}
			f.same("answer", got, taskstore.Stored{})
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking))) // the lease is still good
			a.check()
		},
		"no_such_task": func(f *fixture) {
			a := f.begin()
			for scope, id := range map[a2a.Scope]a2a.TaskID{bob: a.task.ID, alice: "none", {Tenant: "acme"}: a.task.ID} {
				_, err := f.store.Update(context.Background(), scope, id, func(taskstore.Stored) (taskstore.Change, error) {
					f.Errorf("decide was called for %v %s", scope, id)
					return taskstore.Change{}, errLook
				})
				if !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Update(%v, %s): got error %v, want ErrNotFound", scope, id, err)
				}
			}
			a.check()
		},
		"ended_task_stays_ended": func(f *fixture) {
			a := f.beginEnded(start)
			_, err := f.store.Update(context.Background(), alice, a.task.ID, change(ended(), status(a2a.StateCanceled)))
			if !errors.Is(err, a2a.ErrTerminal) {
				f.Errorf("got error %v, want ErrTerminal", err)
			}
			a.check()
		},
		"after_many_events": func(f *fixture) {
			a := f.begin()
			for range 60 {
				a.must(a.stepLog(chunk("a", "x")))
			}
			st := f.update(alice, a.task.ID, ended(), status(a2a.StateCanceled))
			f.checkStored(alice, st.Task)
			if st.Task.Seq != 62 {
				f.Errorf("seq: got %d, want 62", st.Task.Seq)
			}
		},
		"panic_in_decide": func(f *fixture) {
			a := f.begin()
			func() {
				defer func() {
					if recover() == nil {
						f.Error("the panic of decide did not reach its caller")
					}
				}()
				f.store.Update(context.Background(), alice, a.task.ID, func(taskstore.Stored) (taskstore.Change, error) { panic("decide") })
			}()
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			a.check()
		},
		"concurrent_updates_lose_nothing": func(f *fixture) {
			a := f.begin()
			const n = 50
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					name := fmt.Sprintf("a%02d", i)
					message := a2a.Event{Message: &a2a.Message{ID: name, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(name)}}}
					if _, err := f.store.Update(context.Background(), alice, a.task.ID, change(running(), artifact(name, name), message)); err != nil {
						f.Errorf("Update %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			got := f.read(alice, a.task.ID)
			if len(got.Artifacts) != n || len(got.History) != n+1 || got.Seq != 2*n+1 {
				f.Errorf("got %d artifacts, %d messages and seq %d, want %d, %d and %d", len(got.Artifacts), len(got.History), got.Seq, n, n+1, 2*n+1)
			}
			f.same("fold of the log", f.fold(f.log(alice, a.task.ID)...), got)
			if fence := f.stored(alice, a.task.ID).Run.Fence; fence != n+1 {
				f.Errorf("fence: got %d, want %d", fence, n+1)
			}
		},
		"update_against_a_busy_run": func(f *fixture) {
			// A task that appends without a pause can still be canceled.
			a := f.begin()
			stopped := make(chan error, 1)
			var again func(error)
			again = func(err error) {
				if err != nil {
					stopped <- err
					return
				}
				e := stamp(a.task, []a2a.Event{status(a2a.StateWorking)})
				if err := a.task.Fold(e); err != nil {
					stopped <- err
					return
				}
				// On a goroutine, for a store that calls done before it returns.
				go f.store.AppendAsync(taskstore.Append{Lease: a.lease, Events: e, Task: a.task, Snapshot: true, Run: taskstore.RunRunning}, again)
			}
			again(nil)
			st := f.update(alice, a.lease.TaskID, ended(), status(a2a.StateCanceled))
			select {
			case err := <-stopped:
				if !errors.Is(err, taskstore.ErrLeaseLost) {
					f.Errorf("run: got error %v, want ErrLeaseLost", err)
				}
			case <-time.After(patience):
				f.Fatal("the run did not notice")
			}
			f.checkStored(alice, st.Task)
		},
	}
}
