package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// put stores a task of the given context, state and status time.
func (f *fixture) put(scope a2a.Scope, context a2a.ContextID, state a2a.State, at time.Time) *a2a.Task {
	f.Helper()
	return f.putID(f.newID(), scope, context, state, at)
}

func (f *fixture) putID(id a2a.TaskID, scope a2a.Scope, context a2a.ContextID, state a2a.State, at time.Time) *a2a.Task {
	f.Helper()
	e := created(id, at)
	e.Created.ContextID = context
	events := []a2a.Event{e}
	run := running()
	if state != a2a.StateSubmitted {
		s := status(state)
		s.Seq, s.At = 2, at
		events = append(events, s)
	}
	switch {
	case state.Terminal():
		run = ended()
	case state.Interrupted():
		run = waiting()
	}
	sub := f.submission(scope, events...)
	sub.Run = run
	return f.submit(sub).task
}

// pages reads a whole query page by page and checks Total and More.
func (f *fixture) pages(scope a2a.Scope, q taskstore.Query, total int) []*a2a.Task {
	f.Helper()
	var all []*a2a.Task
	for {
		page, err := f.store.Tasks(context.Background(), scope, q)
		if err != nil {
			f.Fatalf("Tasks(%+v): %v", q, err)
		}
		if page.Total != total {
			f.Fatalf("Tasks(%+v): got total %d, want %d", q, page.Total, total)
		}
		all = append(all, page.Tasks...)
		if len(all) > total {
			f.Fatalf("Tasks(%+v): the pages give more than the total of %d", q, total)
		}
		if !page.More {
			return all
		}
		if len(page.Tasks) != q.Limit {
			f.Fatalf("Tasks(%+v): got %d tasks and more to follow", q, len(page.Tasks))
		}
		last := page.Tasks[len(page.Tasks)-1]
		q.After = &taskstore.Position{StatusAt: last.Status.At, ID: last.ID}
	}
}

// selected is the model: the matches of q in order, computed the plain way.
func selected(tasks []*a2a.Task, q taskstore.Query) []*a2a.Task {
	var out []*a2a.Task
	for _, t := range tasks {
		switch {
		case q.ContextID != "" && t.ContextID != q.ContextID:
		case q.State != "" && t.Status.State != q.State:
		case !q.StatusAfter.IsZero() && t.Status.At.Before(q.StatusAfter):
		default:
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *a2a.Task) int {
		if c := b.Status.At.Compare(a.Status.At); c != 0 {
			return c
		}
		return strings.Compare(string(b.ID), string(a.ID))
	})
	return out
}

func idsOf(tasks []*a2a.Task) []a2a.TaskID {
	ids := make([]a2a.TaskID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	return ids
}

func queryCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"nothing": func(f *fixture) {
			f.put(alice, "c", a2a.StateWorking, start)
			for _, q := range []taskstore.Query{
				{ContextID: "other", Limit: 5}, {State: a2a.StateFailed, Limit: 5}, {StatusAfter: start.Add(time.Hour), Limit: 5},
			} {
				page, err := f.store.Tasks(context.Background(), alice, q)
				if err != nil {
					f.Fatal(err)
				}
				f.same("page", page, taskstore.Page{})
			}
			page, err := f.store.Tasks(context.Background(), bob, taskstore.Query{Limit: 5})
			if err != nil {
				f.Fatal(err)
			}
			f.same("page of somebody without tasks", page, taskstore.Page{})
		},
		"burst_in_one_millisecond": func(f *fixture) {
			var all []*a2a.Task
			for range 60 {
				all = append(all, f.put(alice, "c", a2a.StateCompleted, start))
			}
			for _, limit := range []int{1, 7, 59, 60, 61} {
				for _, q := range []taskstore.Query{{}, {ContextID: "c"}, {State: a2a.StateCompleted}} {
					q.Limit = limit
					f.same(fmt.Sprintf("tasks by %d", limit), idsOf(f.pages(alice, q, 60)), idsOf(selected(all, q)))
				}
			}
		},
		"filters_agree_with_the_model": func(f *fixture) {
			rnd := rand.New(rand.NewPCG(1, 2))
			states := a2a.States()
			contexts := []a2a.ContextID{"c1", "c2", "c3", "C1", "c1 "}
			tasks := map[a2a.Scope][]*a2a.Task{}
			for range 200 {
				scope := []a2a.Scope{alice, bob}[rnd.IntN(2)]
				at := start.Add(time.Duration(rnd.IntN(20)) * time.Millisecond)
				t := f.put(scope, contexts[rnd.IntN(len(contexts))], states[rnd.IntN(len(states))], at)
				tasks[scope] = append(tasks[scope], t)
			}
			for range 150 {
				scope := []a2a.Scope{alice, bob}[rnd.IntN(2)]
				q := taskstore.Query{Limit: 1 + rnd.IntN(30)}
				if rnd.IntN(2) == 0 {
					q.ContextID = contexts[rnd.IntN(len(contexts))]
				}
				if rnd.IntN(2) == 0 {
					q.State = states[rnd.IntN(len(states))]
				}
				if rnd.IntN(2) == 0 {
					q.StatusAfter = start.Add(time.Duration(rnd.IntN(22)-1) * time.Millisecond)
				}
				want := selected(tasks[scope], q)
				f.same(fmt.Sprintf("tasks of %+v", q), idsOf(f.pages(scope, q, len(want))), idsOf(want))
			}
		},
		"status_after_is_inclusive": func(f *fixture) {
			f.put(alice, "c", a2a.StateWorking, start.Add(-time.Millisecond))
			at := f.put(alice, "c", a2a.StateWorking, start)
			after := f.put(alice, "c", a2a.StateWorking, start.Add(time.Millisecond))
			f.same("tasks", f.pages(alice, taskstore.Query{StatusAfter: start, Limit: 10}, 2), []*a2a.Task{after, at})
		},
		"time_zone_of_the_query": func(f *fixture) {
			at := f.put(alice, "c", a2a.StateWorking, start)
			elsewhere := start.In(time.FixedZone("far", 9*3600))
			f.same("tasks", f.pages(alice, taskstore.Query{StatusAfter: elsewhere, Limit: 10}, 1), []*a2a.Task{at})
		},
		"a_new_status_moves_a_task_to_the_top": func(f *fixture) {
			a := f.begin()
			b := f.put(alice, "context-1", a2a.StateWorking, start.Add(time.Second))
			f.same("before", f.pages(alice, taskstore.Query{Limit: 1}, 2), []*a2a.Task{b, a.task})
			a.task.UpdatedAt = start.Add(2 * time.Second) // the next event comes after this
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			f.same("after", f.pages(alice, taskstore.Query{Limit: 1}, 2), []*a2a.Task{a.task, b})
			f.same("by state", f.pages(alice, taskstore.Query{State: a2a.StateSubmitted, Limit: 1}, 0), []*a2a.Task(nil))
			f.same("by context", f.pages(alice, taskstore.Query{ContextID: "context-1", Limit: 1}, 2), []*a2a.Task{a.task, b})
		},
		"position_of_a_deleted_task_goes_on": func(f *fixture) {
			old := start.Add(-time.Hour)
			var keep []*a2a.Task
			for range 5 {
				keep = append(keep, f.put(alice, "c", a2a.StateWorking, old))
			}
			gone := f.put(alice, "c", a2a.StateCompleted, old)
			page, err := f.store.Tasks(context.Background(), alice, taskstore.Query{Limit: 1})
			if err != nil || page.Tasks[0].ID != gone.ID {
				f.Fatalf("first page: got %+v, %v, want task %s", page, err, gone.ID)
			}
			if n, err := f.store.Prune(context.Background(), start, 10); n != 1 || err != nil {
				f.Fatalf("Prune: got %d, %v, want 1", n, err)
			}
			for _, after := range []taskstore.Position{
				{StatusAt: old, ID: gone.ID}, {StatusAt: old, ID: "zzz"}, {StatusAt: old.Add(time.Microsecond), ID: ""},
			} {
				q := taskstore.Query{Limit: 2, After: &after}
				f.same("rest", f.pages(alice, q, 5), selected(keep, taskstore.Query{}))
			}
		},
		"more_is_exact": func(f *fixture) {
			for range 4 {
				f.put(alice, "c", a2a.StateWorking, start)
			}
			for limit, more := range map[int]bool{3: true, 4: false, 5: false} {
				page, err := f.store.Tasks(context.Background(), alice, taskstore.Query{Limit: limit})
				if err != nil || page.More != more || len(page.Tasks) != min(limit, 4) {
					f.Errorf("limit %d: got %d tasks, more %t, %v, want more %t", limit, len(page.Tasks), page.More, err, more)
				}
			}
		},
	}
}

func scopeCases() map[string]func(*fixture) {
	others := []a2a.Scope{bob, {Tenant: "other", Owner: "alice"}, {Tenant: "acme"}, {Owner: "alice"}, {}, {Tenant: "acmealice"}, {Tenant: "alice", Owner: "acme"}}
	return map[string]func(*fixture){
		"reads_and_updates": func(f *fixture) {
			a := f.beginEnded(start)
			for _, scope := range others {
				if _, err := f.store.Task(context.Background(), scope, a.task.ID); !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Task from %v: got error %v, want ErrNotFound", scope, err)
				}
				if _, err := f.store.Events(context.Background(), scope, a.task.ID, 0, 10); !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Events from %v: got error %v, want ErrNotFound", scope, err)
				}
				if _, err := f.store.Events(context.Background(), scope, a.task.ID, 99, 10); !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Events behind the end from %v: got error %v, want ErrNotFound", scope, err)
				}
				if _, err := f.store.Update(context.Background(), scope, a.task.ID, change(ended())); !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Update from %v: got error %v, want ErrNotFound", scope, err)
				}
				f.pages(scope, taskstore.Query{Limit: 10}, 0)
				f.pages(scope, taskstore.Query{ContextID: a.task.ContextID, Limit: 10}, 0)
			}
			a.check()
		},
		"same_context_in_two_scopes": func(f *fixture) {
			a := f.put(alice, "shared", a2a.StateWorking, start)
			b := f.put(bob, "shared", a2a.StateWorking, start)
			f.same("alice's", f.pages(alice, taskstore.Query{ContextID: "shared", Limit: 10}, 1), []*a2a.Task{a})
			f.same("bob's", f.pages(bob, taskstore.Query{ContextID: "shared", Limit: 10}, 1), []*a2a.Task{b})
		},
		"every_scope_is_its_own": func(f *fixture) {
			want := map[a2a.Scope]*a2a.Task{}
			for _, scope := range append(others, alice) {
				want[scope] = f.put(scope, "c", a2a.StateWorking, start)
			}
			for scope, task := range want {
				f.same(fmt.Sprint(scope), f.pages(scope, taskstore.Query{Limit: 10}, 1), []*a2a.Task{task})
			}
		},
	}
}
