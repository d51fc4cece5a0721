package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func appendCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"snapshot_is_the_fold_at_every_step": func(f *fixture) {
			a := f.begin()
			a.check()
			for i := range 30 {
				text := fmt.Sprint(i)
				switch i % 3 {
				case 0:
					a.must(a.stepLog(chunk("a1", text), chunk("a2", text)))
				case 1:
					a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking), chunk("a2", text)))
				default:
					a.must(a.stepLog(artifact("a1", text)))
				}
				a.check()
			}
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			a.check()
		},
		"status_without_snapshot": func(f *fixture) {
			// A word while working moves the status time and with it the place in lists.
			a, b := f.begin(), f.begin()
			b.must(b.step(taskstore.RunRunning, status(a2a.StateWorking)))
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
			a.must(a.stepLog(status(a2a.StateWorking), chunk("a1", "x")))
			a.check()
			page, err := f.store.Tasks(context.Background(), alice, taskstore.Query{Limit: 10})
			if err != nil {
				f.Fatal(err)
			}
			f.same("list", page.Tasks, []*a2a.Task{a.task, b.task})
		},
		"without_snapshot_folded_by_every_read": func(f *fixture) {
			a := f.begin()
			for i := range 40 {
				a.must(a.stepLog(chunk("a1", fmt.Sprint(i))))
			}
			a.check()
			f.same("Update", f.stored(alice, a.task.ID).Task, a.task)
			page, err := f.store.Tasks(context.Background(), alice, taskstore.Query{Limit: 10})
			if err != nil {
				f.Fatal(err)
			}
			f.same("Tasks", page.Tasks, []*a2a.Task{a.task})
			late := start.Add(2 * time.Hour)
			open, err := f.store.Open(context.Background(), late, 0, 10)
			if err != nil || len(open) != 1 {
				f.Fatalf("Open: got %d runs and error %v, want 1", len(open), err)
			}
			f.same("Open", open[0].Task, a.task)
			claimed, err := f.store.Claim(context.Background(), a.task.ID, "there", late, late.Add(time.Hour))
			if err != nil {
				f.Fatal(err)
			}
			f.same("Claim", claimed.Task, a.task)
			a.lease = claimed.Lease
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			a.check()
		},
		"events_in_order_and_in_pieces": func(f *fixture) {
			a := f.begin()
			for i := range 5 {
				a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking), chunk("a", fmt.Sprint(i)), chunk("a", "-")))
			}
			for after := int64(-1); after <= 18; after++ {
				for _, limit := range []int{1, 2, 3, 16, 1000} {
					got, err := f.store.Events(context.Background(), alice, a.task.ID, after, limit)
					if err != nil {
						f.Fatalf("Events: %v", err)
					}
					from := max(after, 0)
					want := min(int64(limit), max(16-from, 0))
					if int64(len(got)) != want {
						f.Fatalf("Events(after %d, limit %d): got %d events, want %d", after, limit, len(got), want)
					}
					for i, e := range got {
						if e.Seq != from+int64(i)+1 {
							f.Fatalf("Events(after %d, limit %d): got seq %d at %d", after, limit, e.Seq, i)
						}
					}
				}
			}
		},
		"no_events": func(f *fixture) {
			a := f.begin()
			a.must(f.append(taskstore.Append{Lease: a.lease, Run: taskstore.RunRunning, Resume: raw(`{"at": 1}`)}))
			a.check()
			f.same("resume", f.stored(alice, a.task.ID).Run.Resume, raw(`{"at": 1}`))
		},
		"resume_is_kept_until_replaced": func(f *fixture) {
			a := f.begin()
			ap := a.next(taskstore.RunRunning, status(a2a.StateWorking))
			ap.Resume = raw(`12345678901234567890`)
			a.must(f.append(ap))
			a.must(a.step(taskstore.RunRunning, chunk("a", "x")))
			a.must(a.stepLog(chunk("a", "y")))
			f.same("resume", f.stored(alice, a.task.ID).Run.Resume, raw(`12345678901234567890`))
			ap = a.next(taskstore.RunWaiting, status(a2a.StateInputRequired))
			ap.Resume = raw(`"next"`)
			a.must(f.append(ap))
			f.same("resume", f.stored(alice, a.task.ID).Run.Resume, raw(`"next"`))
			a.check()
		},
		"steps_in_the_order_of_the_calls": func(f *fixture) {
			a := f.begin()
			const steps = 500
			results := make(chan error, steps)
			last := int64(0)
			for i := range steps {
				ap := a.next(taskstore.RunRunning, chunk("a", fmt.Sprint(i, " ")))
				ap.Snapshot = i%2 == 0
				seq := ap.Events[0].Seq
				f.store.AppendAsync(ap, func(err error) {
					// done is called in the same order too, by one goroutine at a time.
					if was := atomic.SwapInt64(&last, seq); err == nil && was >= seq {
						err = fmt.Errorf("done for event %d after the one for %d", seq, was)
					}
					results <- err
				})
			}
			for range steps {
				if err := <-results; err != nil {
					f.Fatalf("append: %v", err)
				}
			}
			a.check()
		},
		"append_from_within_done": func(f *fixture) {
			a := f.begin()
			finished := make(chan error, 1)
			n := 0
			var again func(error)
			again = func(err error) {
				if n++; err != nil || n == 200 {
					finished <- err
					return
				}
				f.store.AppendAsync(a.next(taskstore.RunRunning, chunk("a", fmt.Sprint(n, " "))), again)
			}
			f.store.AppendAsync(a.next(taskstore.RunRunning, status(a2a.StateWorking)), again)
			select {
			case err := <-finished:
				a.must(err)
			case <-time.After(patience):
				f.Fatal("done was not called")
			}
			a.check()
		},
		"given_slices_may_be_changed_afterwards": func(f *fixture) {
			a := f.begin()
			ap := a.next(taskstore.RunRunning, status(a2a.StateWorking), artifact("a1", "x"))
			want := a.task.Clone()
			done := make(chan error, 1)
			f.store.AppendAsync(ap, func(err error) { done <- err })
			scribble(ap.Task)
			ap.Events[0], ap.Events[1] = a2a.Event{}, a2a.Event{}
			a.must(<-done)
			f.checkStored(alice, want)
		},
		"big_event": func(f *fixture) {
			a := f.begin()
			text := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
			a.must(a.step(taskstore.RunEnded, artifact("big", text), status(a2a.StateCompleted)))
			a.check()
		},
		"many_chunks": func(f *fixture) {
			a := f.begin()
			const steps = 3000
			results := make(chan error, steps)
			for range steps {
				e := stamp(a.task, []a2a.Event{chunk("a", "token ")})
				if err := a.task.Fold(e); err != nil {
					f.Fatal(err)
				}
				f.store.AppendAsync(taskstore.Append{Lease: a.lease, Events: e, Run: taskstore.RunRunning}, func(err error) { results <- err })
			}
			for range steps {
				a.must(<-results)
			}
			f.same("folded", f.read(alice, a.task.ID), a.task)
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			f.same("stored", f.read(alice, a.task.ID), a.task)
		},
		"invalid_raw_json_is_refused_whole": func(f *fixture) {
			// A store that cannot keep it must not keep a part of it. One that can
			// may.
			a := f.begin()
			before := a.task.Clone()
			bad := a2a.ArtifactEvent(a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.DataPart(raw(`{"a":`))}})
			if err := a.step(taskstore.RunRunning, status(a2a.StateWorking), bad); err != nil {
				f.checkStored(alice, before)
			}
			f.read(alice, a.task.ID)
		},
	}
}

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
