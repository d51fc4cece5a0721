package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func pushDeadCases() map[string]func(*fixture) {
	revive := func(f *fixture, id a2a.TaskID, config string, want int) {
		f.Helper()
		if n, err := f.store.RevivePush(context.Background(), id, config); n != want || err != nil {
			f.Errorf("RevivePush(%q, %q): got %d, %v, want %d", id, config, n, err, want)
		}
	}
	// giveUp delivers the first event and gives up the second to fourth.
	giveUp := func(f *fixture, j taskstore.PushJob, last taskstore.PushOutcome) {
		f.Helper()
		for seq := int64(2); seq <= 4; seq++ {
			o := taskstore.PushOutcome{Keep: true, Cursor: seq}
			if seq == 4 {
				o = last
				o.Cursor = seq
			}
			o.Dead = &taskstore.DeadPush{
				TaskID: "made up", Config: "made up", URL: j.Config.URL, Seq: seq,
				At: start.Add(time.Duration(seq) * time.Second), Attempts: 7, Reason: "answered 500 <\x00>",
			}
			f.finish(j, o)
		}
	}
	dead := func(id a2a.TaskID, config string, seq int64) taskstore.DeadPush {
		return taskstore.DeadPush{
			TaskID: id, Config: config, URL: hook(id, config).URL, Seq: seq,
			At: start.Add(time.Duration(seq) * time.Second), Attempts: 7, Reason: "answered 500 <\x00>",
		}
	}
	// beginDead is a task of four events.
	beginDead := func(f *fixture, configs ...string) *actor {
		f.Helper()
		a := f.beginPush(configs...)
		a.must(a.stepLog(chunk("x", "2"), chunk("x", "3"), chunk("x", "4")))
		return a
	}
	return map[string]func(*fixture){
		"newest_first": func(f *fixture) {
			a, b := beginDead(f, "a", "b"), beginDead(f, "c")
			jobs := f.claim("", start)
			for _, n := range []int{2, 0, 1} {
				giveUp(f, jobs[n], taskstore.PushOutcome{})
			}
			ida, idb := a.task.ID, b.task.ID
			want := []taskstore.DeadPush{
				dead(ida, "b", 4), dead(ida, "b", 3), dead(ida, "b", 2),
				dead(ida, "a", 4), dead(ida, "a", 3), dead(ida, "a", 2),
				dead(idb, "c", 4), dead(idb, "c", 3), dead(idb, "c", 2),
			}
			f.same("all", f.deadPushes("", 100), want)
			f.same("the first", f.deadPushes("", 4), want[:4])
			f.same("of a task", f.deadPushes(ida, 100), want[:6])
			f.same("the first of a task", f.deadPushes(idb, 2), want[6:8])
			f.same("none", f.deadPushes("", 0), want[:0])
			f.same("of an unknown task", f.deadPushes("none", 10), want[:0])
			f.claims("given up", ida, start.Add(time.Hour))
			f.putPush(alice, hook(ida, "a"), 4)
			f.same("after a replacement", f.deadPushes("", 100), want)
		},
		"revive": func(f *fixture) {
			a, b := beginDead(f, "idle", "claimed", "disabled", "fine", "refused"), beginDead(f, "other")
			id := a.task.ID
			jobs := f.claim(id, start)
			giveUp(f, jobs[0], taskstore.PushOutcome{Attempts: 1, LastError: "x"})
			giveUp(f, jobs[1], taskstore.PushOutcome{Keep: true})
			giveUp(f, jobs[2], taskstore.PushOutcome{State: taskstore.PushDisabled, LastError: "410"})
			f.finish(jobs[3], taskstore.PushOutcome{Cursor: 4})
			f.finish(jobs[4], taskstore.PushOutcome{Cursor: 2, State: taskstore.PushDisabled})
			giveUp(f, f.claimOne("", start), taskstore.PushOutcome{})

			revive(f, "none", "", 0)
			revive(f, id, "none", 0)
			revive(f, id, "fine", 0)
			f.claims("nothing was revived", id, start)
			f.same("dead letters", len(f.deadPushes("", 100)), 12)

			revive(f, id, "disabled", 1)
			f.same("dead letters of the task", len(f.deadPushes(id, 100)), 6)
			j := f.claimOne("", start)
			f.same("revived", brief([]taskstore.PushJob{j}), []string{job(id, "disabled", 1, 4)})
			if j.Attempts != 0 || j.LastError != "" || j.State != taskstore.PushActive {
				f.Errorf("got state %d, %d attempts and error %q, want none", j.State, j.Attempts, j.LastError)
			}
			revive(f, id, "", 3)
			f.lost("claim of a revived config", jobs[1])
			f.claims("the rest", "", start, job(id, "idle", 1, 4), job(id, "claimed", 1, 4), job(id, "refused", 2, 4))
			f.finish(j, taskstore.PushOutcome{Cursor: 4})
			f.same("dead letters of others", f.deadPushes("", 100), []taskstore.DeadPush{
				dead(b.task.ID, "other", 4), dead(b.task.ID, "other", 3), dead(b.task.ID, "other", 2),
			})
			revive(f, id, "", 0)
		},
		"revive_on_an_ended_task": func(f *fixture) {
			a := beginDead(f, "a", "b")
			id := a.task.ID
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			jobs := f.claim(id, start)
			giveUp(f, jobs[0], taskstore.PushOutcome{Keep: true})
			f.finish(jobs[0], taskstore.PushOutcome{Cursor: 5})
			f.finish(jobs[1], taskstore.PushOutcome{Cursor: 5, State: taskstore.PushDisabled})
			f.same("active configs", f.pushTasks(), []string{})
			revive(f, id, "", 2)
			f.claims("revived", "", start, job(id, "a", 1, 5)) // the other has nothing to get any more
			f.same("active configs", f.pushTasks(), []string{job(id, "a", 1, 5)})
		},
		"list_of_all": func(f *fixture) {
			a := f.beginPush("disabled", "done", "idle", "waiting")
			id := a.task.ID
			jobs := f.claim(id, start)
			failed := taskstore.PushOutcome{Attempts: 2, LastError: "refused", Due: start.Add(time.Second)}
			f.finish(jobs[3], failed)
			f.finish(jobs[2], taskstore.PushOutcome{Cursor: 1})
			f.finish(jobs[0], taskstore.PushOutcome{State: taskstore.PushDisabled, Cursor: 1, Due: start, LastError: "answered 410"})
			b := f.submit(f.submission(bob, created(f.newID(), start)))
			f.putPush(bob, hook(b.task.ID, "claimed"), 0)
			claimed := f.claimOne(b.task.ID, start)
			c := f.beginPush("done") // the only one that has ended
			c.must(c.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			f.deliver(c.task.ID, start)
			f.finish(jobs[1], taskstore.PushOutcome{Due: start.Add(time.Hour)})

			list := f.pushing()
			for i := range list {
				if list[i].Row == 0 || list[i].Fence != 0 {
					f.Errorf("%s: got row %d and fence %d, want one and none", list[i].Config.ID, list[i].Row, list[i].Fence)
				}
				list[i].Row = 0
			}
			mine := func(config string) taskstore.PushJob {
				return taskstore.PushJob{Scope: alice, Config: hook(id, config), Seq: 1}
			}
			waiting, busy, long, disabled, idle := mine("waiting"), claimed, mine("done"), mine("disabled"), mine("idle")
			waiting.Attempts, waiting.LastError, waiting.Due = 2, "refused", failed.Due
			busy.Row, busy.Fence = 0, 0
			long.Due = start.Add(time.Hour)
			disabled.Cursor, disabled.State, disabled.LastError = 1, taskstore.PushDisabled, "answered 410"
			idle.Cursor = 1
			want := []taskstore.PushJob{waiting, busy, long, disabled, idle}
			f.same("configs", list, want)
			some, err := f.store.Pushing(context.Background(), 2)
			if err != nil {
				f.Fatal(err)
			}
			f.same("the first", brief(some), brief(want[:2]))
			f.same("active configs", f.pushTasks(), []string{job(id, "done", 0, 1), job(id, "idle", 1, 1), job(id, "waiting", 0, 1), job(b.task.ID, "claimed", 0, 1)})
		},
		"calls_after_close": func(f *fixture) {
			a := f.beginPush("a")
			j := f.claimOne("", start)
			if err := f.store.Close(); err != nil {
				f.Fatalf("Close: %v", err)
			}
			ctx, id := context.Background(), a.task.ID
			calls := map[string]func() error{
				"PutPush":    func() error { return f.store.PutPush(ctx, alice, hook(id, "b"), 0, 10) },
				"PushList":   func() error { _, err := f.store.PushList(ctx, alice, id); return err },
				"DeletePush": func() error { return f.store.DeletePush(ctx, alice, id, "a") },
				"PushTasks":  func() error { _, err := f.store.PushTasks(ctx, 0, 1); return err },
				"ClaimPush":  func() error { _, err := f.store.ClaimPush(ctx, "", start, start, 1); return err },
				"FinishPush": func() error { return f.store.FinishPush(ctx, j, taskstore.PushOutcome{}) },
				"DeadPushes": func() error { _, err := f.store.DeadPushes(ctx, "", 1); return err },
				"Pushing":    func() error { _, err := f.store.Pushing(ctx, 1); return err },
				"RevivePush": func() error { _, err := f.store.RevivePush(ctx, id, ""); return err },
			}
			for name, call := range calls {
				if err := call(); !errors.Is(err, taskstore.ErrClosed) {
					f.Errorf("%s: got error %v, want ErrClosed", name, err)
				}
			}
		},
	}
}

// durablePush expects push configs, their claims and dead letters in another life of
// the store, after a stop and after a crash.
func durablePush(t *testing.T, open OpenDirFunc) {
	dir, crashed := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	f := newFixture(t, open(t, dir))
	a := f.beginPush("claimed", "idle", "waiting", "disabled")
	a.must(a.stepLog(chunk("x", "1"), chunk("x", "2")))
	id := a.task.ID
	jobs := f.claim(id, start)
	f.finish(jobs[0], taskstore.PushOutcome{Keep: true, Cursor: 1, Attempts: 2, LastError: "refused"})
	f.finish(jobs[1], taskstore.PushOutcome{Cursor: 3})
	f.finish(jobs[2], taskstore.PushOutcome{Cursor: 2, Due: start.Add(time.Hour)})
	letter := taskstore.DeadPush{TaskID: id, Config: "disabled", URL: "https://example.com", Seq: 2, At: start, Attempts: 1, Reason: "gone"}
	f.finish(jobs[3], taskstore.PushOutcome{Cursor: 2, State: taskstore.PushDisabled, Dead: &letter})
	a.must(a.stepLog(chunk("x", "3"))) // and the process dies before it can claim

	sub := f.submission(bob, created(f.newID(), start))
	c := hook(sub.Task.ID, "new")
	sub.Push = &c
	b := f.submit(sub)
	over := f.beginPush("over") // all is delivered, but the claim is not over
	over.must(over.step(taskstore.RunEnded, status(a2a.StateCompleted)))
	f.finish(f.claimOne(over.task.ID, start), taskstore.PushOutcome{Keep: true, Cursor: 2})

	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil { // nothing is under way
		t.Fatal(err)
	}
	if err := f.store.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	for name, dir := range map[string]string{"stop": dir, "crash": crashed} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, open(t, dir))
			f.same("configs", f.hooks(alice, id), []a2a.PushConfig{hook(id, "claimed"), hook(id, "idle"), hook(id, "waiting"), hook(id, "disabled")})
			f.same("active configs", f.pushTasks(), []string{job(id, "claimed", 1, 4), job(id, "idle", 3, 4), job(id, "waiting", 2, 4), job(b.task.ID, "new", 0, 1)})
			f.same("dead letters", f.deadPushes("", 10), []taskstore.DeadPush{letter})
			f.claims("due at once", "", start, job(b.task.ID, "new", 0, 1))
			f.claims("event that nobody knew of", id, start.Add(lease-time.Microsecond), job(id, "idle", 3, 4))
			f.claims("before the claim ends", "", start.Add(lease-time.Microsecond))
			now := start.Add(lease)
			page, err := f.store.ClaimPush(context.Background(), "", now, now.Add(lease), 1)
			if err != nil || fmt.Sprint(brief(page)) != fmt.Sprint([]string{job(id, "claimed", 1, 4)}) {
				t.Fatalf("when the claim ends: got %v, %v, want the claimed one", brief(page), err)
			}
			if page[0].Attempts != 2 || page[0].LastError != "refused" {
				t.Errorf("got %d attempts and error %q, want 2 and refused", page[0].Attempts, page[0].LastError)
			}
			f.lost("claim of the earlier life", jobs[0])
			f.finish(page[0], taskstore.PushOutcome{Cursor: 4})
			f.claims("after the wait", "", start.Add(time.Hour), job(b.task.ID, "new", 0, 1), job(id, "idle", 3, 4), job(id, "waiting", 2, 4))
			if n, err := f.store.RevivePush(context.Background(), id, ""); n != 1 || err != nil {
				t.Errorf("RevivePush: got %d, %v, want 1", n, err)
			}
			f.claims("revived", "", start, job(id, "disabled", 1, 4))
			f.putPush(alice, hook(id, "new"), 0) // new rows do not clash with old ones
			f.claims("new", "", start, job(id, "new", 0, 4))
		})
	}
}
