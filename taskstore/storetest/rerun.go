package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func rerunCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"ended_task_gets_a_revision": func(f *fixture) {
			a := f.begin()
			a.must(a.step(taskstore.RunEnded, artifact("a1", "first"), status(a2a.StateFailed)))
			first := a.task
			e := created(a.task.ID, start.Add(time.Hour))
			e.Created.Fingerprint = "second"
			sub := f.submission(alice, e)
			sub.Rerun = true
			second := f.submit(sub)

			want := first.Clone()
			e.Seq = want.Seq + 1
			if err := want.Apply(e); err != nil {
				f.Fatal(err)
			}
			f.same("revision", second.task, want)
			if want.Revision != 1 || want.Seq != 4 {
				f.Errorf("got revision %d and seq %d, want 1 and 4", want.Revision, want.Seq)
			}
			if second.lease.Fence <= a.lease.Fence {
				f.Errorf("fence: got %d, want more than %d", second.lease.Fence, a.lease.Fence)
			}
			second.check()
			a.task = second.task.Clone()
			if err := a.step(taskstore.RunRunning, status(a2a.StateWorking)); !errors.Is(err, taskstore.ErrLeaseLost) {
				f.Errorf("append under the lease of the first revision: got %v, want ErrLeaseLost", err)
			}
			second.must(second.step(taskstore.RunEnded, artifact("a1", "second"), status(a2a.StateCompleted)))
			second.check()

			log := f.log(alice, first.ID)
			f.same("fold of the first revision's log", f.fold(log[:first.Seq]...), first)

			third := f.submit(sub)
			if third.task.Revision != 2 || third.task.Seq != 7 {
				f.Errorf("got revision %d and seq %d, want 2 and 7", third.task.Revision, third.task.Seq)
			}
			third.check()
		},
		"revision_born_ended": func(f *fixture) {
			a := f.beginEnded(start)
			failed := status(a2a.StateFailed)
			failed.Seq, failed.At = 2, start.Add(time.Hour)
			sub := f.submission(alice, created(a.task.ID, start.Add(time.Hour)), failed)
			sub.Rerun, sub.Run = true, ended()
			f.submit(sub).check()
		},
		"task_that_has_not_ended": func(f *fixture) {
			queuedSub := f.submission(alice, created(f.newID(), start))
			queuedSub.Run = queued()
			pausing := f.begin()
			pausing.must(pausing.step(taskstore.RunWaiting, status(a2a.StateInputRequired)))
			for _, a := range []*actor{f.begin(), f.submit(queuedSub), pausing} {
				sub := f.submission(alice, created(a.task.ID, start.Add(time.Hour)))
				sub.Rerun = true
				got, err := f.store.Submit(context.Background(), sub)
				if err != nil || !got.Existing {
					f.Fatalf("got existing %t and error %v, want an existing task", got.Existing, err)
				}
				f.same("existing task", got.Task, a.task)
				a.check()
			}
		},
		"concurrent_reruns": func(f *fixture) {
			a := f.beginEnded(start)
			sub := f.submission(alice, created(a.task.ID, start.Add(time.Hour)))
			sub.Rerun = true
			answers := make(chan taskstore.Submitted, 20)
			for range cap(answers) {
				go func() {
					got, err := f.store.Submit(context.Background(), sub)
					if err != nil {
						f.Errorf("Submit: %v", err)
					}
					answers <- got
				}()
			}
			n := 0
			for range cap(answers) {
				got := <-answers
				if !got.Existing {
					n++
				}
				if got.Task == nil || got.Task.Revision != 1 {
					f.Errorf("answer: got %+v, want revision 1", got.Task)
				}
			}
			if n != 1 {
				f.Errorf("new revisions: got %d, want 1", n)
			}
		},
	}
}
