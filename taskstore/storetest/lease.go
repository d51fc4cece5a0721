package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func leaseCases() map[string]func(*fixture) {
	until := start.Add(time.Hour) // when the leases of running() end
	later := until.Add(time.Millisecond)
	claim := func(f *fixture, id a2a.TaskID, now time.Time) (taskstore.Stored, error) {
		return f.store.Claim(context.Background(), id, "there", now, now.Add(time.Minute))
	}
	return map[string]func(*fixture){
		"claim_a_queued_run": func(f *fixture) {
			sub := f.submission(alice, created(f.newID(), start))
			sub.Run = queued()
			sub.Run.Resume = raw(`[1]`)
			a := f.submit(sub)
			st, err := claim(f, a.task.ID, start)
			if err != nil {
				f.Fatal(err)
			}
			f.same("run", st.Run, taskstore.Run{State: taskstore.RunRunning, Holder: "there", Until: start.Add(time.Minute), Fence: 1, Attempt: 1, Resume: raw(`[1]`)})
			f.same("task", st.Task, a.task)
			if st.Scope != alice {
				f.Errorf("scope: got %v, want %v", st.Scope, alice)
			}
			a.lease = st.Lease
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			a.check()
		},
		"claim_an_expired_run": func(f *fixture) {
			a := f.begin()
			for _, now := range []time.Time{start, until} {
				if _, err := claim(f, a.task.ID, now); !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Claim at %v: got error %v, want ErrNotFound", now, err)
				}
			}
			st, err := claim(f, a.task.ID, later)
			if err != nil {
				f.Fatal(err)
			}
			f.same("run", st.Run, taskstore.Run{State: taskstore.RunRunning, Holder: "there", Until: later.Add(time.Minute), Fence: 2, Attempt: 2})
			a.lease = st.Lease
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			a.check()
		},
		"expired_but_not_taken_up": func(f *fixture) {
			a := f.begin() // its lease ended long ago; only a change of hands takes it away
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			a.check()
		},
		"nothing_to_claim": func(f *fixture) {
			pausing := f.begin()
			pausing.must(pausing.step(taskstore.RunWaiting, status(a2a.StateInputRequired)))
			for _, id := range []a2a.TaskID{"none", "", pausing.task.ID, f.beginEnded(start).task.ID} {
				if _, err := claim(f, id, start.Add(24*time.Hour)); !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Claim(%q): got error %v, want ErrNotFound", id, err)
				}
			}
			pausing.check()
		},
		"one_claim_wins": func(f *fixture) {
			sub := f.submission(alice, created(f.newID(), start))
			sub.Run = queued()
			id := f.submit(sub).task.ID
			won := make(chan bool, 20)
			for range cap(won) {
				go func() {
					_, err := claim(f, id, start)
					if err != nil && !errors.Is(err, taskstore.ErrNotFound) {
						f.Errorf("Claim: %v", err)
					}
					won <- err == nil
				}()
			}
			n := 0
			for range cap(won) {
				if <-won {
					n++
				}
			}
			if n != 1 {
				f.Errorf("claims that won: got %d, want 1", n)
			}
		},
		"renew": func(f *fixture) {
			mine, other := f.begin(), f.submission(alice, created(f.newID(), start))
			other.Run.Holder = "elsewhere"
			theirs := f.submit(other)
			over := f.beginEnded(start)
			if err := f.store.Renew(context.Background(), "here", until.Add(time.Hour)); err != nil {
				f.Fatal(err)
			}
			f.same("open runs", f.open(later), []a2a.TaskID{theirs.task.ID})
			if _, err := claim(f, mine.task.ID, later); !errors.Is(err, taskstore.ErrNotFound) {
				f.Errorf("Claim of a renewed lease: got error %v, want ErrNotFound", err)
			}
			if got := f.stored(alice, mine.task.ID).Run.Until; !got.Equal(until.Add(time.Hour)) {
				f.Errorf("end of the lease: got %v, want %v", got, until.Add(time.Hour))
			}
			f.same("run of an ended task", f.stored(alice, over.task.ID).Run, taskstore.Run{State: taskstore.RunEnded, Fence: 1, Attempt: 1})
			mine.must(mine.step(taskstore.RunEnded, status(a2a.StateCompleted)))
		},
		"renew_after_a_failed_step": func(f *fixture) {
			good, bad := f.begin(), f.begin()
			ap := bad.next(taskstore.RunRunning, status(a2a.StateWorking))
			ap.Events[0].Seq++ // a hole in the log
			if err := f.append(ap); err == nil {
				f.Fatal("append with a gap: got no error")
			}
			if err := f.store.Renew(context.Background(), "here", until); err != nil {
				f.Fatal(err)
			}
			f.same("open runs", f.open(start), []a2a.TaskID{bad.lease.TaskID})
			st, err := claim(f, bad.lease.TaskID, start)
			if err != nil {
				f.Fatal(err)
			}
			if err := f.store.Renew(context.Background(), "there", until); err != nil {
				f.Fatal(err)
			}
			f.same("open runs of the next holder", f.open(start.Add(30*time.Minute)), []a2a.TaskID(nil))
			next := &actor{f: f, scope: alice, task: st.Task.Clone(), lease: st.Lease}
			next.must(next.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			good.must(good.step(taskstore.RunEnded, status(a2a.StateCompleted)))
		},
		"handed_back": func(f *fixture) {
			a := f.begin()
			ap := a.next(taskstore.RunQueued, status(a2a.StateWorking))
			ap.Resume = raw(`"half"`)
			a.must(f.append(ap))
			f.same("run", f.stored(alice, a.task.ID).Run, taskstore.Run{State: taskstore.RunQueued, Fence: 1, Attempt: 1, Resume: raw(`"half"`)})
			st, err := claim(f, a.task.ID, start)
			if err != nil {
				f.Fatal(err)
			}
			if st.Run.Fence != 2 || st.Run.Attempt != 1 {
				f.Errorf("got fence %d and attempt %d, want 2 and 1", st.Run.Fence, st.Run.Attempt)
			}
		},
		"answer_overdue": func(f *fixture) {
			answerBy := start.Add(10 * time.Minute)
			patient, pausing, hasty := f.begin(), f.begin(), f.begin()
			patient.must(patient.step(taskstore.RunWaiting, status(a2a.StateInputRequired)))
			ap := pausing.next(taskstore.RunWaiting, status(a2a.StateInputRequired))
			ap.Until = answerBy
			pausing.must(f.append(ap))
			run := waiting()
			run.Until = start.Add(time.Minute)
			f.update(alice, hasty.task.ID, run, status(a2a.StateAuthRequired))

			f.same("run", f.stored(alice, pausing.task.ID).Run, taskstore.Run{State: taskstore.RunWaiting, Until: answerBy, Fence: 1, Attempt: 1})
			f.same("open before", f.open(start.Add(time.Minute)), []a2a.TaskID(nil))
			f.same("open at the time", f.open(answerBy), []a2a.TaskID{hasty.task.ID})
			f.same("open after", f.open(answerBy.Add(time.Millisecond)), []a2a.TaskID{pausing.task.ID, hasty.task.ID})
			if err := f.store.Renew(context.Background(), "here", start.Add(9*time.Hour)); err != nil {
				f.Fatal(err)
			}
			if _, err := claim(f, pausing.task.ID, start.Add(time.Hour)); !errors.Is(err, taskstore.ErrNotFound) {
				f.Errorf("Claim of an unanswered task: got error %v, want ErrNotFound", err)
			}
			f.update(alice, pausing.task.ID, queued(), status(a2a.StateSubmitted))
			f.same("run once answered", f.stored(alice, pausing.task.ID).Run, taskstore.Run{State: taskstore.RunQueued, Fence: 2, Attempt: 1})
			f.update(alice, hasty.task.ID, ended(), status(a2a.StateFailed))
			f.same("open once acted on", f.open(start.Add(24*time.Hour)), []a2a.TaskID{pausing.task.ID})
			f.same("run in the end", f.stored(alice, hasty.task.ID).Run, taskstore.Run{State: taskstore.RunEnded, Fence: 3, Attempt: 1})
		},
		"until_of_a_run_that_goes_on_is_ignored": func(f *fixture) {
			a := f.begin()
			ap := a.next(taskstore.RunRunning, status(a2a.StateWorking))
			ap.Until = start
			a.must(f.append(ap))
			f.same("run", f.stored(alice, a.task.ID).Run, running())
			ap = a.next(taskstore.RunEnded, status(a2a.StateCompleted))
			ap.Until = start
			a.must(f.append(ap))
			f.same("run", f.stored(alice, a.task.ID).Run, taskstore.Run{State: taskstore.RunEnded, Fence: 1, Attempt: 1})
		},
		"open_oldest_first": func(f *fixture) {
			var want []a2a.TaskID
			for i := range 7 {
				scope := alice
				if i%2 == 0 {
					scope = bob
				}
				sub := f.submission(scope, created(f.newID(), start.Add(-time.Duration(i)*time.Minute)))
				switch i {
				case 0, 3, 5:
					sub.Run = queued()
				}
				a := f.submit(sub)
				switch i {
				case 2:
					a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
				case 4:
					a.must(a.step(taskstore.RunWaiting, status(a2a.StateInputRequired)))
				default:
					want = append(want, a.task.ID)
				}
			}
			f.same("open after the leases ended", f.open(later), want)
			queuedOnly := []a2a.TaskID{"task-000001", "task-000004", "task-000006"}
			f.same("open while the leases last", f.open(until), queuedOnly)

			page, err := f.store.Open(context.Background(), later, 0, 3)
			if err != nil || len(page) != 3 {
				f.Fatalf("Open: got %d runs and error %v, want 3", len(page), err)
			}
			if page[0].Scope != bob || page[1].Scope != alice {
				f.Errorf("scopes: got %v and %v, want bob's and alice's", page[0].Scope, page[1].Scope)
			}
			if !slices.IsSortedFunc(page, func(a, b taskstore.Stored) int { return int(a.Lease.Row - b.Lease.Row) }) {
				f.Error("rows are not ascending")
			}
			f.same("queued run", page[0].Run, queued())
			f.same("running run", page[1].Run, running())
		},
	}
}
