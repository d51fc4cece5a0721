package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func fenceCases() map[string]func(*fixture) {
	// lost expects that the actor may not write any more, and that nothing of
	// what it tries is kept.
	lost := func(f *fixture, a *actor, scope a2a.Scope) {
		f.Helper()
		before := f.read(scope, a.lease.TaskID)
		tries := map[string]taskstore.Append{
			"snapshot":    a.next(taskstore.RunRunning, chunk("late", "x")),
			"end":         a.next(taskstore.RunEnded, status(a2a.StateCompleted)),
			"no events":   {Lease: a.lease, Run: taskstore.RunRunning, Resume: raw(`"late"`)},
			"end, silent": {Lease: a.lease, Run: taskstore.RunEnded},
			"discard":     {Lease: a.lease, Discard: true},
		}
		for name, ap := range tries {
			if err := f.append(ap); !errors.Is(err, taskstore.ErrLeaseLost) {
				f.Errorf("%s: got error %v, want ErrLeaseLost", name, err)
			}
		}
		f.checkStored(scope, before)
		if resume := f.stored(scope, before.ID).Run.Resume; string(resume) == `"late"` {
			f.Error("resume data was written")
		}
	}
	return map[string]func(*fixture){
		"after_the_end": func(f *fixture) {
			for _, state := range []a2a.State{a2a.StateCompleted, a2a.StateFailed, a2a.StateCanceled, a2a.StateRejected} {
				a := f.begin()
				a.must(a.step(taskstore.RunEnded, status(state)))
				a.task.Status.State = a2a.StateWorking // so that it goes on as if nothing had happened
				lost(f, a, alice)
			}
		},
		"after_a_pause": func(f *fixture) {
			a := f.begin()
			a.must(a.step(taskstore.RunWaiting, status(a2a.StateInputRequired)))
			a.task.Status.State = a2a.StateWorking
			lost(f, a, alice)
		},
		"after_handing_back": func(f *fixture) {
			a := f.begin()
			a.must(a.step(taskstore.RunQueued, status(a2a.StateWorking)))
			lost(f, a, alice)
		},
		"after_an_update": func(f *fixture) {
			a := f.begin()
			f.update(alice, a.task.ID, running(), status(a2a.StateWorking))
			lost(f, a, alice)
		},
		"after_a_cancel": func(f *fixture) {
			a := f.begin()
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
			f.update(alice, a.task.ID, ended(), status(a2a.StateCanceled))
			lost(f, a, alice)
			if got := f.read(alice, a.lease.TaskID).Status.State; got != a2a.StateCanceled {
				f.Errorf("state: got %s, want canceled", got)
			}
		},
		"after_a_claim": func(f *fixture) {
			a := f.begin()
			late := start.Add(2 * time.Hour)
			if _, err := f.store.Claim(context.Background(), a.task.ID, "there", late, late.Add(time.Hour)); err != nil {
				f.Fatal(err)
			}
			lost(f, a, alice)
		},
		"after_a_discard": func(f *fixture) {
			a := f.begin()
			a.must(f.append(taskstore.Append{Lease: a.lease, Discard: true}))
			for _, ap := range []taskstore.Append{
				{Lease: a.lease, Run: taskstore.RunEnded},
				{Lease: a.lease, Discard: true},
				a.next(taskstore.RunRunning, status(a2a.StateWorking)),
			} {
				if err := f.append(ap); !errors.Is(err, taskstore.ErrLeaseLost) {
					f.Errorf("append: got error %v, want ErrLeaseLost", err)
				}
			}
		},
		"a_new_task_does_not_inherit_a_lease": func(f *fixture) {
			a := f.begin()
			a.must(f.append(taskstore.Append{Lease: a.lease, Discard: true}))
			b := f.submit(f.submission(bob, created(a.task.ID, start)))
			a.task = b.task.Clone()
			lost(f, a, bob)
			b.check()
		},
		"wrong_fence": func(f *fixture) {
			a := f.begin()
			for _, fence := range []int64{0, 2, -1} {
				b := &actor{f: f, scope: alice, task: a.task.Clone(), lease: a.lease}
				b.lease.Fence = fence
				lost(f, b, alice)
			}
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
		},
		"after_a_failed_step": func(f *fixture) {
			a := f.begin()
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
			want := a.task.Clone()
			gap := a.next(taskstore.RunRunning, chunk("a", "x"))
			gap.Events[0].Seq++
			if err := f.append(gap); err == nil {
				f.Fatal("append with a gap: got no error")
			}
			f.checkStored(alice, want)
			a.task = want.Clone()
			lost(f, a, alice)

			// Whoever takes the task up may write again.
			st := f.update(alice, a.task.ID, running(), status(a2a.StateWorking))
			b := &actor{f: f, scope: alice, task: st.Task.Clone(), lease: st.Lease}
			b.must(b.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			b.check()
		},
		"after_a_failed_step_under_way": func(f *fixture) {
			a := f.begin()
			before := a.task.Clone()
			gap := a.next(taskstore.RunRunning, status(a2a.StateWorking))
			gap.Events[0].Seq++
			steps := []taskstore.Append{gap}
			a.task = before.Clone()
			steps = append(steps,
				a.next(taskstore.RunRunning, status(a2a.StateWorking)),
				taskstore.Append{Lease: a.lease, Run: taskstore.RunEnded},
				taskstore.Append{Lease: a.lease, Discard: true})
			results := make(chan error, len(steps))
			for _, ap := range steps {
				f.store.AppendAsync(ap, func(err error) { results <- err })
			}
			for range steps {
				if err := <-results; err == nil {
					f.Error("append: got no error after a failed step")
				}
			}
			f.checkStored(alice, before)
		},
		"gap_and_repetition": func(f *fixture) {
			for _, shift := range []int64{-1, 1, 5} {
				a := f.begin()
				a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
				want := a.task.Clone()
				for _, snapshot := range []bool{true, false} {
					ap := a.next(taskstore.RunRunning, chunk("a", "x"), chunk("a", "y"))
					ap.Snapshot = snapshot
					for i := range ap.Events {
						ap.Events[i].Seq += shift
					}
					if err := f.append(ap); err == nil {
						f.Errorf("shift %d, snapshot %t: got no error", shift, snapshot)
					}
					a.task = want.Clone()
				}
				f.checkStored(alice, want)
			}
		},
		"one_loss_spoils_no_other_task": func(f *fixture) {
			const n = 60
			results := make(chan error, n)
			var actors []*actor
			for i := range n {
				a := f.begin()
				if i%3 == 0 {
					f.update(alice, a.task.ID, ended(), status(a2a.StateCanceled))
				}
				actors = append(actors, a)
			}
			for i, a := range actors {
				lostOne := i%3 == 0
				f.store.AppendAsync(a.next(taskstore.RunEnded, status(a2a.StateCompleted)), func(err error) {
					if errors.Is(err, taskstore.ErrLeaseLost) != lostOne {
						results <- fmt.Errorf("task %d: got %v, want lease lost %t", i, err, lostOne)
						return
					}
					results <- nil
				})
			}
			for range n {
				if err := <-results; err != nil {
					f.Error(err)
				}
			}
			for i, a := range actors {
				want := a2a.StateCompleted
				if i%3 == 0 {
					want = a2a.StateCanceled
				}
				if got := f.read(alice, a.task.ID).Status.State; got != want {
					f.Errorf("task %d: got state %s, want %s", i, got, want)
				}
			}
		},
	}
}
