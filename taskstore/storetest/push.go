package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// hook returns a push config with everything in it. The secrets have what a store
// could stumble over.
func hook(id a2a.TaskID, config string) a2a.PushConfig {
	return a2a.PushConfig{
		ID: config, TaskID: id, URL: "https://example.com/hook?a=1&b=<2>",
		Token: "t'o\"k\\e\x00n\n</é😀\u2028", Scheme: "Bearer", Credentials: " s3cr3t=; ",
		Dialect: "1.0", CreatedAt: start.Add(123456 * time.Microsecond),
	}
}

// putPush stores a push config that nothing speaks against.
func (f *fixture) putPush(scope a2a.Scope, c a2a.PushConfig, after int64) {
	f.Helper()
	if err := f.store.PutPush(context.Background(), scope, c, after, 10); err != nil {
		f.Fatalf("PutPush(%s, %s): %v", c.TaskID, c.ID, err)
	}
}

// beginPush stores a new running task of alice with the push configs, which have got
// nothing yet.
func (f *fixture) beginPush(configs ...string) *actor {
	f.Helper()
	a := f.begin()
	for _, c := range configs {
		f.putPush(alice, hook(a.task.ID, c), 0)
	}
	return a
}

// lease is how long the suite's claims last.
const lease = time.Minute

// claim claims up to ten jobs, of a task or ("") of any.
func (f *fixture) claim(id a2a.TaskID, now time.Time) []taskstore.PushJob {
	f.Helper()
	jobs, err := f.store.ClaimPush(context.Background(), id, now, now.Add(lease), 10)
	if err != nil {
		f.Fatalf("ClaimPush(%q): %v", id, err)
	}
	return jobs
}

// claimOne claims the one job that there is.
func (f *fixture) claimOne(id a2a.TaskID, now time.Time) taskstore.PushJob {
	f.Helper()
	jobs := f.claim(id, now)
	if len(jobs) != 1 {
		f.Fatalf("ClaimPush(%q): got jobs %v, want one", id, brief(jobs))
	}
	return jobs[0]
}

// claims fails the test unless a claim gives these jobs; see brief.
func (f *fixture) claims(what string, id a2a.TaskID, now time.Time, want ...string) {
	f.Helper()
	f.same(what, brief(f.claim(id, now)), want)
}

// brief names jobs and what they have to deliver: "task/config cursor-seq".
func brief(jobs []taskstore.PushJob) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, fmt.Sprintf("%s/%s %d-%d", j.Config.TaskID, j.Config.ID, j.Cursor, j.Seq))
	}
	return out
}

// job is a line of brief.
func job(id a2a.TaskID, config string, cursor, seq int64) string {
	return fmt.Sprintf("%s/%s %d-%d", id, config, cursor, seq)
}

// finish records an outcome that nothing speaks against.
func (f *fixture) finish(j taskstore.PushJob, o taskstore.PushOutcome) {
	f.Helper()
	if err := f.store.FinishPush(context.Background(), j, o); err != nil {
		f.Fatalf("FinishPush(%s): %v", brief([]taskstore.PushJob{j}), err)
	}
}

// deliver claims a task's configs and finishes them with all that is in the log.
func (f *fixture) deliver(id a2a.TaskID, now time.Time) {
	f.Helper()
	for _, j := range f.claim(id, now) {
		f.finish(j, taskstore.PushOutcome{Cursor: j.Seq})
	}
}

// lost fails the test unless the job's claim is void.
func (f *fixture) lost(what string, j taskstore.PushJob) {
	f.Helper()
	for _, keep := range []bool{true, false} {
		o := taskstore.PushOutcome{Cursor: j.Seq, Keep: keep, Dead: &taskstore.DeadPush{Seq: j.Seq}}
		if err := f.store.FinishPush(context.Background(), j, o); !errors.Is(err, taskstore.ErrLeaseLost) {
			f.Errorf("%s: FinishPush, keep %t: got error %v, want ErrLeaseLost", what, keep, err)
		}
	}
}

// hooks returns the push configs of a task.
func (f *fixture) hooks(scope a2a.Scope, id a2a.TaskID) []a2a.PushConfig {
	f.Helper()
	list, err := f.store.PushList(context.Background(), scope, id)
	if err != nil {
		f.Fatalf("PushList(%s): %v", id, err)
	}
	return list
}

func (f *fixture) pushing() []taskstore.PushJob {
	f.Helper()
	jobs, err := f.store.Pushing(context.Background(), 100)
	if err != nil {
		f.Fatalf("Pushing: %v", err)
	}
	return jobs
}

// pushTasks returns all active configs, read in small pages.
func (f *fixture) pushTasks() []string {
	f.Helper()
	var out []string
	for after := int64(0); ; {
		page, err := f.store.PushTasks(context.Background(), after, 2)
		if err != nil {
			f.Fatalf("PushTasks: %v", err)
		}
		if len(page) == 0 {
			return out
		}
		out = append(out, brief(page)...)
		after = page[len(page)-1].Row
	}
}

func (f *fixture) deadPushes(id a2a.TaskID, limit int) []taskstore.DeadPush {
	f.Helper()
	dead, err := f.store.DeadPushes(context.Background(), id, limit)
	if err != nil {
		f.Fatalf("DeadPushes(%q): %v", id, err)
	}
	return dead
}

func pushConfigCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"put_and_list": func(f *fixture) {
			a, other := f.begin(), f.begin()
			var want []a2a.PushConfig
			for _, id := range []string{"z", "a", "m"} {
				c := hook(a.task.ID, id)
				c.Token += id
				f.putPush(alice, c, 0)
				want = append(want, c)
			}
			plain := a2a.PushConfig{ID: "a", TaskID: other.task.ID, URL: "http://localhost:1", Dialect: "0.3", CreatedAt: start}
			f.putPush(alice, plain, 0)
			f.same("configs", f.hooks(alice, a.task.ID), want)
			f.same("configs of the other", f.hooks(alice, other.task.ID), []a2a.PushConfig{plain})
			f.same("configs of none", f.hooks(alice, f.begin().task.ID), []a2a.PushConfig{})
			got := f.claim(a.task.ID, start)
			for i := range got {
				f.same("config of a job", got[i].Config, want[i])
				if got[i].Scope != alice {
					f.Errorf("scope of a job: got %v, want %v", got[i].Scope, alice)
				}
			}
			a.check()
		},
		"same_id_replaces_in_place": func(f *fixture) {
			a := f.beginPush("z", "a", "m")
			a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
			id := a.task.ID
			jobs := f.claim(id, start)
			f.finish(jobs[1], taskstore.PushOutcome{Attempts: 3, LastError: "refused", Due: start.Add(time.Hour)})
			old := f.claim(id, start.Add(time.Hour))
			f.same("claimed again", brief(old), []string{job(id, "z", 0, 2), job(id, "m", 0, 2), job(id, "a", 0, 2)})

			c := hook(id, "a")
			c.URL, c.Token, c.CreatedAt = "https://example.org/", "", start.Add(time.Hour)
			f.putPush(alice, c, 1)
			f.same("configs", f.hooks(alice, id), []a2a.PushConfig{hook(id, "z"), c, hook(id, "m")})
			f.lost("claim before the replacement", old[2])
			now := f.claimOne(id, start)
			f.same("config", now.Config, c)
			if now.Cursor != 1 || now.Attempts != 0 || now.LastError != "" {
				f.Errorf("got cursor %d, %d attempts and error %q, want 1, 0 and none", now.Cursor, now.Attempts, now.LastError)
			}
			f.putPush(alice, c, 0) // the cursor goes back too
			f.claims("cursor back", id, start, job(id, "a", 0, 2))
			f.putPush(alice, c, 99)
			f.claims("cursor beyond the log", id, start)
			a.must(a.stepLog(chunk("x", "y")))
			f.claims("cursor was cut to the log", id, start, job(id, "a", 2, 3))
		},
		"too_many": func(f *fixture) {
			a := f.begin()
			id := a.task.ID
			put := func(config string, limit int) error {
				return f.store.PutPush(context.Background(), alice, hook(id, config), 0, limit)
			}
			expect := func(config string, limit int, want error) {
				f.Helper()
				if err := put(config, limit); !errors.Is(err, want) {
					f.Errorf("PutPush(%s) of at most %d: got error %v, want %v", config, limit, err, want)
				}
			}
			expect("a", 0, taskstore.ErrTooMany)
			expect("a", 2, nil)
			expect("b", 2, nil)
			expect("c", 2, taskstore.ErrTooMany)
			expect("a", 2, nil) // there is one other
			expect("a", 1, taskstore.ErrTooMany)
			f.putPush(alice, hook(f.begin().task.ID, "c"), 0) // another task's
			f.same("configs", len(f.hooks(alice, id)), 2)
			f.finish(f.claim(id, start)[0], taskstore.PushOutcome{State: taskstore.PushDisabled})
			expect("c", 2, taskstore.ErrTooMany) // disabled ones count
			if err := f.store.DeletePush(context.Background(), alice, id, "a"); err != nil {
				f.Fatal(err)
			}
			expect("c", 2, nil)
		},
		"delete": func(f *fixture) {
			a := f.beginPush("a", "b", "c")
			id := a.task.ID
			jobs := f.claim(id, start)
			for _, j := range jobs[:2] {
				f.finish(j, taskstore.PushOutcome{Keep: true, Dead: &taskstore.DeadPush{Seq: 1, At: start}})
			}
			for range 2 { // the second time it is gone already
				if err := f.store.DeletePush(context.Background(), alice, id, "a"); err != nil {
					f.Errorf("DeletePush: %v", err)
				}
			}
			f.same("configs", f.hooks(alice, id), []a2a.PushConfig{hook(id, "b"), hook(id, "c")})
			if dead := f.deadPushes("", 10); len(dead) != 1 || dead[0].Config != "b" {
				f.Errorf("dead letters: got %v, want b's", dead)
			}
			f.lost("claim of a deleted config", jobs[0])
			f.finish(jobs[1], taskstore.PushOutcome{Cursor: 1})
			if err := f.store.DeletePush(context.Background(), alice, id, "c"); err != nil {
				f.Fatal(err)
			}
			f.putPush(alice, hook(id, "c"), 0) // as new, even where a number is given again
			f.claims("put again", id, start, job(id, "c", 0, 1))
			f.lost("claim of an earlier config of the id", jobs[2])
		},
		"unknown_and_foreign": func(f *fixture) {
			a, ctx := f.beginPush("a"), context.Background()
			for _, scope := range []a2a.Scope{bob, {Tenant: "else", Owner: "alice"}, {Owner: "alice"}, {}} {
				for _, id := range []a2a.TaskID{a.task.ID, "none", ""} {
					if err := f.store.PutPush(ctx, scope, hook(id, "a"), 0, 10); !errors.Is(err, taskstore.ErrNotFound) {
						f.Errorf("PutPush(%v, %q): got error %v, want ErrNotFound", scope, id, err)
					}
					if list, err := f.store.PushList(ctx, scope, id); !errors.Is(err, taskstore.ErrNotFound) {
						f.Errorf("PushList(%v, %q): got %v, error %v, want ErrNotFound", scope, id, list, err)
					}
					if err := f.store.DeletePush(ctx, scope, id, "a"); !errors.Is(err, taskstore.ErrNotFound) {
						f.Errorf("DeletePush(%v, %q): got error %v, want ErrNotFound", scope, id, err)
					}
				}
			}
			f.same("configs", f.hooks(alice, a.task.ID), []a2a.PushConfig{hook(a.task.ID, "a")})
			f.claims("an unknown task", "none", start)
			f.same("dead letters of an unknown task", f.deadPushes("none", 10), []taskstore.DeadPush{})
			f.claims("the task", a.task.ID, start, job(a.task.ID, "a", 0, 1))
		},
		"on_an_ended_task": func(f *fixture) {
			a := f.beginEnded(start)
			id := a.task.ID
			f.putPush(alice, hook(id, "late"), a.task.Seq)
			f.same("configs", f.hooks(alice, id), []a2a.PushConfig{hook(id, "late")})
			f.claims("nothing will come", id, start)
			f.same("active configs", f.pushTasks(), []string{})
			f.putPush(alice, hook(id, "all"), 0)
			f.claims("all that there was", "", start, job(id, "all", 0, 2))
		},
		"submit_with_a_config": func(f *fixture) {
			sub := f.submission(alice, created(f.newID(), start))
			sub.Key, sub.Fingerprint = "key", "fingerprint"
			c := hook(sub.Task.ID, "a")
			sub.Push = &c
			a := f.submit(sub)
			id := a.task.ID
			f.same("configs", f.hooks(alice, id), []a2a.PushConfig{c})

			other := hook(id, "b")
			sub.Push = &other
			for _, rerun := range []bool{false, true} {
				sub.Rerun = rerun
				got, err := f.store.Submit(context.Background(), sub)
				if err != nil || !got.Existing {
					f.Fatalf("Submit again: got %+v, %v, want the existing task", got, err)
				}
				sub.Key = ""
			}
			sub.Scope = bob
			if _, err := f.store.Submit(context.Background(), sub); !errors.Is(err, taskstore.ErrForeign) {
				f.Errorf("Submit of a foreign id: got error %v, want ErrForeign", err)
			}
			f.same("configs after repeated requests", f.hooks(alice, id), []a2a.PushConfig{c})
			f.claims("due at once", "", start, job(id, "a", 0, 1))

			done := created(f.newID(), start)
			born := f.submission(alice, append([]a2a.Event{done}, stamp(f.fold(done), []a2a.Event{status(a2a.StateCompleted)})...)...)
			born.Run = ended()
			born.Push = &a2a.PushConfig{ID: "x", URL: "http://localhost:1"}
			f.submit(born)
			f.same("config gets the task's id", f.hooks(alice, born.Task.ID)[0].TaskID, born.Task.ID)
			f.claims("born ended", "", start, job(born.Task.ID, "x", 0, 2))
		},
		"rerun_keeps_configs": func(f *fixture) {
			a := f.beginPush("idle")
			id := a.task.ID
			f.deliver(id, start)
			for _, config := range []string{"done", "gone", "behind", "again"} {
				f.putPush(alice, hook(id, config), 0)
			}
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			jobs := f.claim("", start) // without the idle one, whose last event nobody looked at
			f.finish(jobs[0], taskstore.PushOutcome{Cursor: 2, Attempts: 1, LastError: "slow"})
			f.finish(jobs[1], taskstore.PushOutcome{State: taskstore.PushDisabled})
			f.finish(jobs[2], taskstore.PushOutcome{Cursor: 1, Due: start.Add(time.Hour), Attempts: 1})
			f.finish(jobs[3], taskstore.PushOutcome{Cursor: 2})
			want := f.hooks(alice, id)

			sub := f.submission(alice, created(id, start.Add(time.Hour)))
			sub.Rerun = true
			c := hook(id, "again")
			c.URL = "https://example.org/"
			sub.Push = &c
			b := f.submit(sub)
			want[4] = c
			f.same("configs", f.hooks(alice, id), want)
			due := f.claim("", start)
			f.same("due at once", brief(due), []string{job(id, "idle", 1, 3), job(id, "done", 2, 3), job(id, "again", 2, 3)})
			if due[1].Attempts != 0 || due[1].LastError != "" {
				f.Errorf("got %d attempts and error %q, want none", due[1].Attempts, due[1].LastError)
			}
			f.claims("after its wait", "", start.Add(time.Hour),
				job(id, "idle", 1, 3), job(id, "done", 2, 3), job(id, "again", 2, 3), job(id, "behind", 1, 3))
			b.must(b.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			b.check()
		},
		"prune_and_discard": func(f *fixture) {
			prune := func(want int) {
				f.Helper()
				if n, err := f.store.Prune(context.Background(), start.Add(time.Hour), 10); n != want || err != nil {
					f.Errorf("Prune: got %d, %v, want %d", n, err, want)
				}
			}
			a := f.beginPush("a", "b")
			id := a.task.ID
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			prune(0)
			jobs := f.claim(id, start)
			f.finish(jobs[0], taskstore.PushOutcome{Cursor: 2, Dead: &taskstore.DeadPush{Seq: 2, At: start}})
			f.finish(jobs[1], taskstore.PushOutcome{Cursor: 1, Due: start.Add(time.Hour)})
			prune(0)
			f.same("configs", len(f.hooks(alice, id)), 2)
			j := f.claimOne(id, start.Add(time.Hour))
			f.finish(j, taskstore.PushOutcome{Cursor: 1, State: taskstore.PushDisabled})
			prune(1)
			f.same("dead letters", f.deadPushes("", 10), []taskstore.DeadPush{})
			f.same("configs of any task", f.pushing(), []taskstore.PushJob{})

			b := f.submit(f.submission(alice, created(id, start))) // the id is free, and has no configs
			f.same("configs of the new task", f.hooks(alice, id), []a2a.PushConfig{})
			f.putPush(alice, hook(id, "a"), 0)
			j = f.claimOne("", start)
			f.finish(j, taskstore.PushOutcome{Keep: true, Dead: &taskstore.DeadPush{Seq: 1, At: start}})
			b.must(f.append(taskstore.Append{Lease: b.lease, Discard: true}))
			f.lost("claim of a discarded task", j)
			f.same("dead letters", f.deadPushes("", 10), []taskstore.DeadPush{})
			f.same("active configs", f.pushTasks(), []string{})
		},
	}
}
