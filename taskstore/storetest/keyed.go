package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// note is a user's message as an event.
func note(id string) a2a.Event {
	return a2a.Event{Message: &a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(id)}}}
}

// keyedUpdate adds a message to a task under a key.
func (f *fixture) keyedUpdate(a *actor, k taskstore.Key, message string) (taskstore.Stored, error) {
	return f.store.Update(context.Background(), a.scope, a.task.ID, func(s taskstore.Stored) (taskstore.Change, error) {
		c, err := change(running(), note(message))(s)
		c.Key = k
		return c, err
	})
}

// keyed expects what Keyed answers: the task, or an error.
func (f *fixture) keyed(scope a2a.Scope, k taskstore.Key, want *a2a.Task, wantErr error) {
	f.Helper()
	got, err := f.store.Keyed(context.Background(), scope, k)
	if !errors.Is(err, wantErr) {
		f.Errorf("Keyed(%v, %v): got error %v, want %v", scope, k, err, wantErr)
	}
	if want == nil && got != nil {
		f.Errorf("Keyed(%v, %v): got task %s, want none", scope, k, got.ID)
	}
	if want != nil {
		f.same("task of the key", got, want)
	}
}

// keyedCases are about keys of requests that change a task.
func keyedCases() map[string]func(*fixture) {
	k := taskstore.Key{Key: "k", Fingerprint: "f"}
	other := taskstore.Key{Key: "k", Fingerprint: "g"}
	return map[string]func(*fixture){
		"of_an_update": func(f *fixture) {
			a := f.begin()
			f.keyed(alice, k, nil, taskstore.ErrNotFound)
			st, err := f.keyedUpdate(a, k, "one")
			if err != nil {
				f.Fatalf("Update: %v", err)
			}
			f.keyed(alice, k, st.Task, nil)
			f.keyed(alice, other, nil, taskstore.ErrIdempotency)
			f.keyed(bob, k, nil, taskstore.ErrNotFound)

			for key, want := range map[taskstore.Key]error{k: taskstore.ErrRepeated, other: taskstore.ErrIdempotency} {
				got, err := f.keyedUpdate(a, key, "two")
				if !errors.Is(err, want) {
					f.Errorf("Update with %v: got error %v, want %v", key, err, want)
				}
				f.same("answer", got, taskstore.Stored{})
			}
			f.checkStored(alice, st.Task)
			// The lease of the first is still good: nothing was written.
			b := &actor{f: f, scope: alice, task: st.Task.Clone(), lease: st.Lease}
			b.must(b.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			f.keyed(alice, k, b.task, nil)
		},
		"one_for_all_tasks_of_a_scope": func(f *fixture) {
			a, b := f.begin(), f.begin()
			st, err := f.keyedUpdate(a, k, "one")
			if err != nil {
				f.Fatalf("Update: %v", err)
			}
			if _, err := f.keyedUpdate(b, k, "two"); !errors.Is(err, taskstore.ErrRepeated) {
				f.Errorf("Update of another task: got error %v, want ErrRepeated", err)
			}
			b.check()
			// A submission is told apart by its fingerprint, too.
			sub := f.submission(alice, created(f.newID(), start))
			sub.Key, sub.Fingerprint = k.Key, k.Fingerprint
			if got, err := f.store.Submit(context.Background(), sub); err != nil || !got.Existing || got.Task.ID != a.task.ID {
				f.Errorf("Submit: got %+v, %v, want the task of the update", got, err)
			}
			sub.Fingerprint = other.Fingerprint
			if _, err := f.store.Submit(context.Background(), sub); !errors.Is(err, taskstore.ErrIdempotency) {
				f.Errorf("Submit: got error %v, want ErrIdempotency", err)
			}
			f.checkStored(alice, st.Task)
			c := f.submit(f.submission(bob, created(f.newID(), start)))
			if _, err := f.keyedUpdate(c, other, "three"); err != nil {
				f.Errorf("Update in another scope: %v", err)
			}
		},
		"of_a_submission": func(f *fixture) {
			sub := f.submission(alice, created(f.newID(), start))
			sub.Key, sub.Fingerprint = k.Key, k.Fingerprint
			a := f.submit(sub)
			f.keyed(alice, k, a.task, nil)
			f.keyed(alice, other, nil, taskstore.ErrIdempotency)
			if _, err := f.keyedUpdate(a, other, "one"); !errors.Is(err, taskstore.ErrIdempotency) {
				f.Errorf("Update: got error %v, want ErrIdempotency", err)
			}
			a.check()
		},
		"not_used_up_by_an_error_of_decide": func(f *fixture) {
			a := f.begin()
			refusal := errors.New("refused")
			_, err := f.store.Update(context.Background(), alice, a.task.ID, func(taskstore.Stored) (taskstore.Change, error) {
				return taskstore.Change{Key: k}, refusal
			})
			if err != refusal {
				f.Errorf("got error %v, want that of decide", err)
			}
			f.keyed(alice, k, nil, taskstore.ErrNotFound)
		},
		"of_a_step": func(f *fixture) {
			a := f.begin()
			ap := a.next(taskstore.RunRunning, note("one"), note("two"))
			ap.Keys = []taskstore.Key{k, {Key: "k2", Fingerprint: "f"}}
			a.must(f.append(ap))
			f.keyed(alice, k, a.task, nil)
			f.keyed(alice, taskstore.Key{Key: "k2", Fingerprint: "f"}, a.task, nil)
			// A step is not refused for its keys.
			ap = a.next(taskstore.RunRunning, note("three"))
			ap.Keys = []taskstore.Key{other}
			a.must(f.append(ap))
			f.keyed(alice, other, nil, taskstore.ErrIdempotency)
			f.keyed(alice, k, a.task, nil)
			a.check()
		},
		"of_a_step_that_is_refused": func(f *fixture) {
			a := f.begin()
			f.update(alice, a.task.ID, ended(), status(a2a.StateCanceled))
			ap := a.next(taskstore.RunRunning, note("one"))
			ap.Keys = []taskstore.Key{k}
			if err := f.append(ap); !errors.Is(err, taskstore.ErrLeaseLost) {
				f.Errorf("got error %v, want ErrLeaseLost", err)
			}
			f.keyed(alice, k, nil, taskstore.ErrNotFound)
		},
		"goes_with_the_task": func(f *fixture) {
			a := f.begin()
			st, err := f.keyedUpdate(a, k, "one")
			if err != nil {
				f.Fatalf("Update: %v", err)
			}
			b := &actor{f: f, scope: alice, task: st.Task.Clone(), lease: st.Lease}
			ap := b.next(taskstore.RunEnded, note("two"), status(a2a.StateCompleted))
			ap.Keys = []taskstore.Key{{Key: "k2", Fingerprint: "f"}}
			b.must(f.append(ap))
			if n, err := f.store.Prune(context.Background(), start.Add(time.Hour), 10); n != 1 || err != nil {
				f.Fatalf("Prune: got %d, %v, want 1", n, err)
			}
			for _, key := range []string{"k", "k2"} {
				f.keyed(alice, taskstore.Key{Key: key, Fingerprint: "f"}, nil, taskstore.ErrNotFound)
			}
		},
		"concurrent_updates": func(f *fixture) {
			a := f.begin()
			var wg sync.WaitGroup
			wins := make(chan struct{}, 20)
			for range cap(wins) {
				wg.Go(func() {
					switch _, err := f.keyedUpdate(a, k, "one"); {
					case err == nil:
						wins <- struct{}{}
					case !errors.Is(err, taskstore.ErrRepeated):
						f.Errorf("Update: got error %v, want ErrRepeated", err)
					}
				})
			}
			wg.Wait()
			if n, task := len(wins), f.read(alice, a.task.ID); n != 1 || len(task.History) != 2 {
				f.Errorf("got %d changes and %d messages, want 1 and 2", n, len(task.History))
			}
		},
	}
}
