package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func raceCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"answers_belong_to_the_caller": func(f *fixture) {
			e := full(f.newID())
			sub := f.submission(alice, e)
			sub.Key, sub.Fingerprint = "key", "fingerprint"
			sub.Run.Resume = raw(`"resume"`)
			a := f.submit(sub)
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking), artifact("a1", "text")))
			want := a.task.Clone()
			ctx := context.Background()

			scribble(f.read(alice, want.ID))
			page, err := f.store.Tasks(ctx, alice, taskstore.Query{Limit: 5})
			if err != nil {
				f.Fatal(err)
			}
			scribble(page.Tasks[0])
			open, err := f.store.Open(ctx, start.Add(24*time.Hour), 0, 5)
			if err != nil {
				f.Fatal(err)
			}
			scribble(open[0].Task)
			copy(open[0].Run.Resume, "xxxxxxxx")
			log := f.log(alice, want.ID)
			for i := range log {
				log[i] = a2a.Event{}
			}
			for _, key := range []string{"key", "", "other"} {
				sub.Key = key
				again, err := f.store.Submit(ctx, sub)
				if err != nil || !again.Existing {
					f.Fatalf("Submit: got %+v, %v, want the existing task", again, err)
				}
				scribble(again.Task)
			}
			st := f.update(alice, want.ID, running(), status(a2a.StateWorking))
			want = st.Task.Clone()
			scribble(st.Task)
			copy(st.Run.Resume, "xxxxxxxx")
			f.checkStored(alice, want)
			f.same("resume", f.stored(alice, want.ID).Run.Resume, raw(`"resume"`))
			copy(f.store.Secret(), "scribbled")
			if string(f.store.Secret()[:9]) == "scribbled" {
				f.Error("the secret was changed through the slice it was returned in")
			}
		},
		"readers_beside_a_writer": func(f *fixture) {
			a := f.begin()
			id, scope := a.task.ID, a.scope
			stop := make(chan struct{})
			var wg sync.WaitGroup
			f.Cleanup(wg.Wait)
			halt := sync.OnceFunc(func() { close(stop) })
			f.Cleanup(halt)
			for i := range 8 {
				wg.Go(func() {
					seen := int64(0)
					for {
						select {
						case <-stop:
							return
						default:
						}
						t, err := f.store.Task(context.Background(), scope, id)
						if err != nil {
							f.Errorf("Task: %v", err)
							return
						}
						if _, err := json.Marshal(t); err != nil {
							f.Errorf("marshal: %v", err)
						}
						if t.Seq < seen || len(t.Artifacts) != max(int(t.Seq)-1, 0) {
							f.Errorf("got seq %d after %d, with %d artifacts", t.Seq, seen, len(t.Artifacts))
							return
						}
						seen = t.Seq
						if i%2 == 0 {
							scribble(t)
						}
						if log, err := f.store.Events(context.Background(), scope, id, seen-1, 10); err != nil || len(log) == 0 || log[0].Seq != seen {
							f.Errorf("Events(after %d): got %d, %v", seen-1, len(log), err)
							return
						}
					}
				})
			}
			for i := range 300 {
				ap := a.next(taskstore.RunRunning, artifact(fmt.Sprint(i), "x"))
				ap.Snapshot = i%4 == 0
				a.must(f.append(ap))
			}
			halt()
			wg.Wait()
			a.check()
		},
		"one_end_wins": func(f *fixture) {
			for range 40 {
				a := f.begin()
				id := a.task.ID
				finished := make(chan error, 1)
				f.store.AppendAsync(a.next(taskstore.RunEnded, artifact("a", "x"), status(a2a.StateCompleted)), func(err error) { finished <- err })
				canceled := make(chan error, 2)
				for range cap(canceled) {
					go func() {
						_, err := f.store.Update(context.Background(), alice, id, change(ended(), status(a2a.StateCanceled)))
						canceled <- err
					}()
				}
				won := map[a2a.State]int{}
				switch err := <-finished; {
				case err == nil:
					won[a2a.StateCompleted]++
				case !errors.Is(err, taskstore.ErrLeaseLost):
					f.Errorf("append: got error %v, want ErrLeaseLost", err)
				}
				for range cap(canceled) {
					switch err := <-canceled; {
					case err == nil:
						won[a2a.StateCanceled]++
					case !errors.Is(err, a2a.ErrTerminal):
						f.Errorf("Update: got error %v, want ErrTerminal", err)
					}
				}
				got := f.read(alice, id)
				if len(won) != 1 || won[got.Status.State] != 1 {
					f.Errorf("got state %s, and successes %v, want the one of the state", got.Status.State, won)
				}
				f.same("fold of the log", f.fold(f.log(alice, id)...), got)
			}
		},
		"everything_at_once": everythingAtOnce,
	}
}

// everythingAtOnce lets many goroutines work on few tasks and checks that what
// is left is sound: every log is gapless and folds to its snapshot, lists and
// tasks agree, and no acknowledged event is missing.
func everythingAtOnce(f *fixture) {
	const workers, rounds, ids = 16, 60, 12
	scopes := []a2a.Scope{alice, bob}
	scopeOf := func(n int) a2a.Scope { return scopes[n%2] }
	idOf := func(n int) a2a.TaskID { return a2a.TaskID(fmt.Sprintf("shared-%02d", n)) }
	// run works on a task it holds a lease of, until it ends it or loses it.
	run := func(rnd *rand.Rand, task *a2a.Task, lease taskstore.Lease) error {
		a := &actor{f: f, task: task.Clone(), lease: lease}
		if err := a.step(taskstore.RunRunning, status(a2a.StateWorking)); err != nil {
			return err
		}
		for range rnd.IntN(5) {
			if err := a.stepLog(chunk("a", "x")); err != nil {
				return err
			}
		}
		switch rnd.IntN(4) {
		case 0:
			return a.step(taskstore.RunWaiting, status(a2a.StateInputRequired))
		case 1:
			return a.step(taskstore.RunQueued, status(a2a.StateWorking))
		}
		return a.step(taskstore.RunEnded, status(a2a.StateCompleted))
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 7))
			ctx := context.Background()
			for range rounds {
				n := rnd.IntN(ids)
				scope, id := scopeOf(n), idOf(n)
				var err error
				switch rnd.IntN(6) {
				case 0, 1, 2:
					sub := f.submission(scope, created(id, start))
					sub.Rerun = true
					if rnd.IntN(2) == 0 {
						sub.Run = queued()
					}
					var got taskstore.Submitted
					if got, err = f.store.Submit(ctx, sub); err == nil && got.Lease.Fence != 0 {
						err = run(rnd, got.Task, got.Lease)
					}
				case 3:
					var got taskstore.Stored
					if got, err = f.store.Claim(ctx, id, "there", start, start.Add(time.Hour)); err == nil {
						err = run(rnd, got.Task, got.Lease)
					}
				case 4:
					_, err = f.store.Update(ctx, scope, id, change(ended(), status(a2a.StateCanceled)))
				default:
					_, err = f.store.Tasks(ctx, scope, taskstore.Query{Limit: 5})
				}
				switch {
				case err == nil, errors.Is(err, taskstore.ErrNotFound), errors.Is(err, taskstore.ErrLeaseLost), errors.Is(err, a2a.ErrTerminal):
				default:
					f.Errorf("worker %d on %s: %v", w, id, err)
				}
			}
		})
	}
	wg.Wait()
	all := map[a2a.Scope][]*a2a.Task{}
	for n := range ids {
		task, err := f.store.Task(context.Background(), scopeOf(n), idOf(n))
		if errors.Is(err, taskstore.ErrNotFound) {
			continue
		}
		if err != nil {
			f.Fatal(err)
		}
		f.same("fold of the log", f.fold(f.log(scopeOf(n), idOf(n))...), task)
		all[scopeOf(n)] = append(all[scopeOf(n)], task)
	}
	for _, scope := range scopes {
		f.same("list", f.pages(scope, taskstore.Query{Limit: 4}, len(all[scope])), selected(all[scope], taskstore.Query{}))
	}
}
