package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func pushClaimCases() map[string]func(*fixture) {
	soon, late := start.Add(10*time.Second), start.Add(time.Hour)
	return map[string]func(*fixture){
		// Who may be claimed, by whom and when. Each config stands for one situation.
		"rule": func(f *fixture) {
			event := func(a *actor) { a.must(a.stepLog(chunk("x", "y"))) }
			situations := map[string]func(*actor){
				"new":         func(*actor) {},
				"claimed":     func(a *actor) { f.claim(a.task.ID, start) },
				"idle":        func(a *actor) { f.deliver(a.task.ID, start) },
				"idle_behind": func(a *actor) { f.deliver(a.task.ID, start); event(a) },
				"waiting":     func(a *actor) { f.finish(f.claimOne(a.task.ID, start), taskstore.PushOutcome{Due: start.Add(lease)}) },
				"waiting_and_an_event": func(a *actor) {
					f.finish(f.claimOne(a.task.ID, start), taskstore.PushOutcome{Due: start.Add(lease)})
					event(a)
				},
				"claimed_and_an_event": func(a *actor) { f.claim(a.task.ID, start); event(a) },
				"event_while_claimed": func(a *actor) {
					j := f.claimOne(a.task.ID, start)
					event(a)
					f.finish(j, taskstore.PushOutcome{Cursor: j.Seq})
				},
				"put_idle":      func(a *actor) { f.putPush(alice, hook(a.task.ID, "a"), a.task.Seq) },
				"put_idle_then": func(a *actor) { f.putPush(alice, hook(a.task.ID, "a"), a.task.Seq); event(a) },
				"done": func(a *actor) {
					a.must(a.step(taskstore.RunEnded, status(a2a.StateFailed)))
					f.deliver(a.task.ID, start)
				},
				"disabled": func(a *actor) {
					f.finish(f.claimOne(a.task.ID, start), taskstore.PushOutcome{State: taskstore.PushDisabled})
				},
			}
			// When a config can be claimed: "" never, else at once or when its time has come.
			byAny := map[string]string{
				"new": "at once", "claimed": "in time", "waiting": "in time", "waiting_and_an_event": "in time",
				"claimed_and_an_event": "in time", "event_while_claimed": "at once",
			}
			byTask := map[string]string{"idle_behind": "at once", "put_idle_then": "at once"}
			for name, when := range byAny {
				byTask[name] = when
			}
			claimable := func(id func(*actor) a2a.TaskID, set func(*actor)) string {
				a := f.beginPush("a")
				set(a)
				defer func() { // so that the next situation is alone
					if err := f.store.DeletePush(context.Background(), alice, a.task.ID, "a"); err != nil {
						f.Fatal(err)
					}
				}()
				switch {
				case len(f.claim(id(a), start.Add(time.Millisecond))) > 0:
					return "at once"
				case len(f.claim(id(a), start.Add(lease-time.Millisecond))) > 0:
					return "too early"
				case len(f.claim(id(a), start.Add(lease))) > 0:
					return "in time"
				case len(f.claim(id(a), start.Add(1000*time.Hour))) > 0:
					return "too late"
				}
				return ""
			}
			for name, set := range situations {
				if got := claimable(func(*actor) a2a.TaskID { return "" }, set); got != byAny[name] {
					f.Errorf("%s, for any task: got claimed %q, want %q", name, got, byAny[name])
				}
				if got := claimable(func(a *actor) a2a.TaskID { return a.task.ID }, set); got != byTask[name] {
					f.Errorf("%s, for its task: got claimed %q, want %q", name, got, byTask[name])
				}
			}
		},
		"oldest_due_first": func(f *fixture) {
			a, b := f.beginPush("a", "b", "c", "d", "e"), f.beginPush("x")
			id := a.task.ID
			dues := []time.Time{start.Add(3 * time.Second), start.Add(time.Second), {}, start.Add(2 * time.Second), start.Add(time.Second)}
			for i, j := range f.claim(id, start) {
				f.finish(j, taskstore.PushOutcome{Due: dues[i]})
			}
			jobs, err := f.store.ClaimPush(context.Background(), "", soon, late, 3)
			if err != nil {
				f.Fatal(err)
			}
			f.same("first page", brief(jobs), []string{job(id, "c", 0, 1), job(b.task.ID, "x", 0, 1), job(id, "b", 0, 1)})
			if !jobs[0].Due.Equal(late) {
				f.Errorf("due time of a job: got %v, want %v", jobs[0].Due, late)
			}
			f.claims("the rest", "", soon, job(id, "e", 0, 1), job(id, "d", 0, 1), job(id, "a", 0, 1))
			for _, limit := range []int{0, -1} {
				if jobs, err := f.store.ClaimPush(context.Background(), "", late, late, limit); len(jobs) > 0 || err != nil {
					f.Errorf("ClaimPush, limit %d: got %v, %v, want none", limit, brief(jobs), err)
				}
			}
		},
		"idle_last": func(f *fixture) {
			a := f.beginPush("idle1", "late", "idle2", "early")
			jobs := f.claim(a.task.ID, start)
			f.finish(jobs[0], taskstore.PushOutcome{Cursor: 1})
			f.finish(jobs[1], taskstore.PushOutcome{Due: soon})
			f.finish(jobs[2], taskstore.PushOutcome{Cursor: 1})
			f.finish(jobs[3], taskstore.PushOutcome{Due: start})
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
			id := a.task.ID
			f.claims("of a task", id, soon, job(id, "early", 0, 2), job(id, "late", 0, 2), job(id, "idle1", 1, 2), job(id, "idle2", 1, 2))
		},
		"sees_every_kind_of_commit": func(f *fixture) {
			a := f.beginPush("a")
			id := a.task.ID
			f.deliver(id, start)
			a.must(a.stepLog(chunk("x", "1"), chunk("x", "2")))
			f.claims("events without a snapshot", id, start, job(id, "a", 1, 3))
			a.must(a.step(taskstore.RunWaiting, status(a2a.StateInputRequired)))
			f.claims("a pause, while claimed", id, start)
			f.claims("a pause, later", "", start.Add(lease), job(id, "a", 1, 4))
			st := f.update(alice, id, running(), status(a2a.StateWorking))
			a.task, a.lease = st.Task.Clone(), st.Lease
			f.claims("an update", "", start.Add(2*lease), job(id, "a", 1, 5))
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			f.deliver(id, start.Add(3*lease))
			f.same("configs not done", f.pushing(), []taskstore.PushJob{})
			a.check()
		},
		"claim_taken_over": func(f *fixture) {
			a := f.beginPush("a")
			id := a.task.ID
			old := f.claimOne("", start)
			f.finish(old, taskstore.PushOutcome{Keep: true}) // still its own
			now := f.claimOne("", start.Add(lease))
			f.lost("claim that ran out", old)
			f.finish(now, taskstore.PushOutcome{Cursor: 1})
			f.lost("claim that is over", now)
			for _, j := range f.pushing() {
				f.lost("config that was listed only", j)
			}
			page, err := f.store.PushTasks(context.Background(), 0, 10)
			if err != nil || len(page) != 1 {
				f.Fatalf("PushTasks: got %v, %v, want one", brief(page), err)
			}
			f.lost("config that was listed only", page[0])
			f.lost("job of nowhere", taskstore.PushJob{})
			f.same("dead letters", f.deadPushes("", 10), []taskstore.DeadPush{})
			a.must(a.stepLog(chunk("x", "y")))
			f.claims("nothing was written", id, start, job(id, "a", 1, 2))
		},
		"claim_that_ran_out_may_still_finish": func(f *fixture) {
			a := f.beginPush("a")
			j := f.claimOne("", start)
			f.finish(j, taskstore.PushOutcome{Cursor: 1}) // nobody took it up meanwhile
			f.claims("idle", a.task.ID, late)
		},
		"keep": func(f *fixture) {
			a := f.beginPush("a")
			id := a.task.ID
			a.must(a.stepLog(chunk("x", "1"), chunk("x", "2"), chunk("x", "3")))
			j := f.claimOne("", start)
			f.finish(j, taskstore.PushOutcome{Keep: true, Cursor: 2, Attempts: 1, LastError: "slow", Due: start, State: taskstore.PushDisabled})
			got := f.pushing()
			want := j
			want.Cursor, want.Attempts, want.LastError, want.Fence, want.Row = 2, 1, "slow", 0, got[0].Row
			f.same("kept", got, []taskstore.PushJob{want})
			f.claims("while claimed, for any", "", start.Add(lease-time.Microsecond))
			f.claims("while claimed, for its task", id, start.Add(lease-time.Microsecond))
			f.finish(j, taskstore.PushOutcome{Keep: true, Cursor: 3, Dead: &taskstore.DeadPush{Seq: 3, At: start}})
			f.claims("from where it was kept", "", start.Add(lease), job(id, "a", 3, 4))
		},
		"cursor_stays_within_what_is_left": func(f *fixture) {
			a := f.beginPush("a")
			id := a.task.ID
			a.must(a.stepLog(chunk("x", "1"), chunk("x", "2")))
			j := f.claimOne("", start)
			f.finish(j, taskstore.PushOutcome{Keep: true, Cursor: 2})
			f.finish(j, taskstore.PushOutcome{Keep: true, Cursor: 1})
			f.finish(j, taskstore.PushOutcome{})
			f.claims("not back", "", start, job(id, "a", 2, 3))
			f.finish(f.claimOne("", start.Add(lease)), taskstore.PushOutcome{Cursor: 1000})
			a.must(a.stepLog(chunk("x", "3")))
			f.claims("not beyond", id, start, job(id, "a", 3, 4))
		},
		"done_only_when_all_is_delivered": func(f *fixture) {
			a := f.beginPush("a")
			id := a.task.ID
			j := f.claimOne("", start)
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			f.finish(j, taskstore.PushOutcome{Cursor: 1, State: taskstore.PushDone})
			f.same("active configs", f.pushTasks(), []string{job(id, "a", 1, 2)})
			j = f.claimOne("", start)
			f.finish(j, taskstore.PushOutcome{Cursor: 2, State: taskstore.PushDone})
			f.same("active configs", f.pushTasks(), []string{})
			f.same("configs", f.hooks(alice, id), []a2a.PushConfig{hook(id, "a")})

			b := f.beginPush("b")
			f.finish(f.claimOne("", start), taskstore.PushOutcome{Cursor: 1, State: taskstore.PushDone})
			f.same("active configs of a running task", f.pushTasks(), []string{job(b.task.ID, "b", 1, 1)})
		},
		"one_claim_wins": func(f *fixture) {
			const tasks, claimers = 40, 8
			var want []string
			for range tasks {
				want = append(want, job(f.beginPush("a").task.ID, "a", 0, 1))
			}
			var mu sync.Mutex
			var got []string // guarded by mu
			var wg sync.WaitGroup
			for i := range claimers {
				wg.Go(func() {
					for range tasks {
						jobs, err := f.store.ClaimPush(context.Background(), "", start, start.Add(lease), 1+i%3)
						if err != nil {
							f.Errorf("ClaimPush: %v", err)
							return
						}
						mu.Lock()
						got = append(got, brief(jobs)...)
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.Sort(got)
			f.same("claimed", got, want)
		},
		"nothing_is_missed": nothingIsMissed,
	}
}

// nothingIsMissed lets writers append and workers deliver at the same time, as a
// server does: after each commit somebody claims by the task's id, and goes on until
// there is nothing. Every config gets the whole log, in order and once.
func nothingIsMissed(f *fixture) {
	const tasks, events = 12, 25
	var mu sync.Mutex
	got := map[string][]int64{} // guarded by mu; the events a config got
	work := func(id a2a.TaskID) {
		for {
			jobs, err := f.store.ClaimPush(context.Background(), id, start, start.Add(lease), 2)
			if err != nil {
				f.Errorf("ClaimPush: %v", err)
				return
			}
			if len(jobs) == 0 {
				return
			}
			for _, j := range jobs {
				log, err := f.store.Events(context.Background(), j.Scope, j.Config.TaskID, j.Cursor, 3)
				if err != nil {
					f.Errorf("Events: %v", err)
					return
				}
				o := taskstore.PushOutcome{Cursor: j.Cursor}
				mu.Lock()
				for _, e := range log {
					name := fmt.Sprintf("%s/%s", j.Config.TaskID, j.Config.ID)
					got[name] = append(got[name], e.Seq)
					o.Cursor = e.Seq
				}
				mu.Unlock()
				if err := f.store.FinishPush(context.Background(), j, o); err != nil {
					f.Errorf("FinishPush: %v", err)
					return
				}
			}
		}
	}
	want := map[string][]int64{}
	var wg sync.WaitGroup
	for range tasks {
		a := f.beginPush("a", "b")
		id := a.task.ID
		for seq := range int64(events + 2) {
			for _, c := range []string{"a", "b"} {
				name := fmt.Sprintf("%s/%s", id, c)
				want[name] = append(want[name], seq+1)
			}
		}
		wg.Go(func() {
			for i := range events {
				if err := a.stepLog(chunk("x", fmt.Sprint(i))); err != nil {
					f.Errorf("append: %v", err)
				}
				wg.Go(func() { work(id) })
			}
			if err := a.step(taskstore.RunEnded, status(a2a.StateCompleted)); err != nil {
				f.Errorf("append: %v", err)
			}
			wg.Go(func() { work(id); work("") })
		})
	}
	wg.Wait()
	f.same("delivered", got, want)
	f.same("configs not done", f.pushing(), []taskstore.PushJob{})
}
