package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func keyCases() map[string]func(*fixture) {
	keyed := func(f *fixture, scope a2a.Scope, key, fingerprint string) taskstore.Submission {
		sub := f.submission(scope, created(f.newID(), start))
		sub.Key, sub.Fingerprint = key, fingerprint
		return sub
	}
	// replay expects that sub returns want.
	replay := func(f *fixture, sub taskstore.Submission, want *a2a.Task) {
		f.Helper()
		got, err := f.store.Submit(context.Background(), sub)
		if err != nil || !got.Existing {
			f.Fatalf("got existing %t and error %v, want an existing task", got.Existing, err)
		}
		f.same("task of the key", got.Task, want)
	}
	return map[string]func(*fixture){
		"replay": func(f *fixture) {
			a := f.submit(keyed(f, alice, "k", "f"))
			second := keyed(f, alice, "k", "f")
			replay(f, second, a.task)
			if _, err := f.store.Task(context.Background(), alice, second.Task.ID); !errors.Is(err, taskstore.ErrNotFound) {
				f.Errorf("task of the replay: got error %v, want ErrNotFound", err)
			}
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			replay(f, second, a.task)
		},
		"other_fingerprint": func(f *fixture) {
			a := f.submit(keyed(f, alice, "k", "f"))
			for _, fingerprint := range []string{"", "F", "f2"} {
				got, err := f.store.Submit(context.Background(), keyed(f, alice, "k", fingerprint))
				if !errors.Is(err, taskstore.ErrIdempotency) {
					f.Errorf("Submit: got error %v, want ErrIdempotency", err)
				}
				f.same("answer", got, taskstore.Submitted{})
			}
			a.check()
		},
		"per_scope": func(f *fixture) {
			a := f.submit(keyed(f, alice, "k", "f"))
			b := f.submit(keyed(f, bob, "k", "other"))
			replay(f, keyed(f, alice, "k", "f"), a.task)
			replay(f, keyed(f, bob, "k", "other"), b.task)
		},
		"not_used_up_by_a_refusal": func(f *fixture) {
			a := f.begin()
			sub := keyed(f, bob, "k", "f")
			sub.Task, sub.Events = a.task, f.log(alice, a.task.ID)
			if _, err := f.store.Submit(context.Background(), sub); !errors.Is(err, taskstore.ErrForeign) {
				f.Fatalf("Submit: got error %v, want ErrForeign", err)
			}
			f.submit(keyed(f, bob, "k", "other")).check()
		},
		"of_a_revision": func(f *fixture) {
			a := f.beginEnded(start)
			sub := f.submission(alice, created(a.task.ID, start.Add(time.Hour)))
			sub.Rerun, sub.Key, sub.Fingerprint = true, "k", "f"
			second := f.submit(sub)
			replay(f, sub, second.task)
			second.must(second.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			replay(f, sub, second.task)
		},
		"goes_with_the_task": func(f *fixture) {
			a := f.submit(keyed(f, alice, "pruned", "f"))
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			b := f.submit(keyed(f, alice, "discarded", "f"))
			b.must(f.append(taskstore.Append{Lease: b.lease, Discard: true}))
			if n, err := f.store.Prune(context.Background(), start.Add(time.Hour), 10); n != 1 || err != nil {
				f.Fatalf("Prune: got %d, %v, want 1", n, err)
			}
			f.submit(keyed(f, alice, "pruned", "other")).check()
			f.submit(keyed(f, alice, "discarded", "other")).check()
		},
		"concurrent_replays": func(f *fixture) {
			answers := make(chan taskstore.Submitted, 20)
			for range cap(answers) {
				sub := keyed(f, alice, "k", "f")
				go func() {
					got, err := f.store.Submit(context.Background(), sub)
					if err != nil {
						f.Errorf("Submit: %v", err)
					}
					answers <- got
				}()
			}
			n, ids := 0, map[a2a.TaskID]bool{}
			for range cap(answers) {
				got := <-answers
				if got.Task == nil {
					continue
				}
				ids[got.Task.ID] = true
				if !got.Existing {
					n++
				}
			}
			if n != 1 || len(ids) != 1 {
				f.Errorf("got %d new tasks and %d ids, want 1 and 1", n, len(ids))
			}
		},
	}
}
