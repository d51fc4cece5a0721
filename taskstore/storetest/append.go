package storetest

import (
	"context"
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
