package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func pruneCases() map[string]func(*fixture) {
	prune := func(f *fixture, before time.Time, limit, want int) {
		f.Helper()
		if n, err := f.store.Prune(context.Background(), before, limit); n != want || err != nil {
			f.Errorf("Prune(%v, %d): got %d, %v, want %d", before, limit, n, err, want)
		}
	}
	gone := func(f *fixture, scope a2a.Scope, id a2a.TaskID) {
		f.Helper()
		if _, err := f.store.Task(context.Background(), scope, id); !errors.Is(err, taskstore.ErrNotFound) {
			f.Errorf("Task(%s): got error %v, want ErrNotFound", id, err)
		}
		if _, err := f.store.Events(context.Background(), scope, id, 0, 10); !errors.Is(err, taskstore.ErrNotFound) {
			f.Errorf("Events(%s): got error %v, want ErrNotFound", id, err)
		}
	}
	return map[string]func(*fixture){
		"only_old_and_ended": func(f *fixture) {
			type kept struct {
				scope a2a.Scope
				task  *a2a.Task
			}
			var keep []kept
			for _, state := range a2a.States() {
				old := f.put(alice, "c", state, start.Add(-time.Millisecond))
				if !state.Terminal() {
					keep = append(keep, kept{alice, old})
				}
				keep = append(keep, kept{alice, f.put(alice, "c", state, start)}, kept{bob, f.put(bob, "c", state, start)})
			}
			prune(f, start, 1000, 4)
			prune(f, start, 1000, 0)
			for _, k := range keep {
				f.checkStored(k.scope, k.task)
			}
		},
		"limit": func(f *fixture) {
			for i := range 25 {
				scope := a2a.Scope{Owner: fmt.Sprint(i % 3)}
				f.put(scope, "c", a2a.StateCompleted, start.Add(time.Duration(i)*time.Second))
			}
			for _, want := range []int{10, 10, 5, 0} {
				prune(f, start.Add(time.Hour), 10, want)
			}
		},
		"age_counts_from_the_last_status": func(f *fixture) {
			a := f.submit(f.submission(alice, created(f.newID(), start.Add(-time.Hour))))
			a.task.UpdatedAt = start
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			b := f.put(alice, "c", a2a.StateCompleted, start.Add(-time.Hour)) // made later, ended earlier
			prune(f, start, 10, 1)
			gone(f, alice, b.ID)
			a.check()
			prune(f, start.Add(time.Hour), 10, 1)
			gone(f, alice, a.task.ID)
		},
		"log_goes_and_the_id_is_free": func(f *fixture) {
			a := f.begin()
			for range 40 {
				a.must(a.stepLog(chunk("a", "x")))
			}
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			other := f.put(alice, "c", a2a.StateWorking, start)
			prune(f, start.Add(time.Hour), 10, 1)
			gone(f, alice, a.task.ID)
			f.checkStored(alice, other)
			f.submit(f.submission(bob, created(a.task.ID, start))).check()
			gone(f, alice, a.task.ID)
		},
		"discard": func(f *fixture) {
			a, other := f.begin(), f.begin()
			a.must(a.stepLog(chunk("a", "x")))
			a.must(f.append(taskstore.Append{Lease: a.lease, Discard: true}))
			gone(f, alice, a.task.ID)
			if got := f.open(start.Add(24 * time.Hour)); len(got) != 1 || got[0] != other.task.ID {
				f.Errorf("open runs: got %v, want %s", got, other.task.ID)
			}
			f.pages(alice, taskstore.Query{Limit: 10}, 1)
			f.submit(f.submission(bob, created(a.task.ID, start))).check()
			other.check()
		},
	}
}
