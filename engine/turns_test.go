package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// asker works a second, asks, and completes with the answer.
func asker(ctx context.Context, in skills.Input, emit skills.Emit) error {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if in.Resume == nil {
		if err := in.Save(json.RawMessage(`{"asked":true}`)); err != nil {
			return err
		}
		return emit(a2a.StatusEvent(a2a.StateInputRequired, a2a.AgentText("", "what?")))
	}
	if err := emit(a2a.ArtifactEvent(a2a.Artifact{Parts: []a2a.Part{a2a.TextPart(in.Message.Text())}})); err != nil {
		return err
	}
	return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
}

func TestEngine_Send_to_a_busy_task_that_queues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(asker), Busy: skills.BusyQueue, Limits: skills.Limits{Concurrency: 1}})
		first, waiting := r.start("go"), r.start("go")
		time.Sleep(100 * time.Millisecond)
		var wg sync.WaitGroup
		for _, task := range []*a2a.Task{first, waiting} {
			wg.Go(func() {
				req := message("early " + string(task.ID))
				req.TaskID = task.ID
				got := r.send(req) // waits through the pause that it answers
				if got.Status.State != a2a.StateCompleted || a2a.JoinText(got.Artifacts[0].Parts) != req.Message.Text() {
					t.Errorf("got %s %+v, want the early message taken as the answer", got.Status.State, got.Artifacts)
				}
				var roles []string
				for _, m := range got.History {
					roles = append(roles, string(m.Role))
				}
				if s := strings.Join(roles, " "); s != "user user agent" {
					t.Errorf("got history %s", s)
				}
				r.checkLog(task.ID)
			})
		}
		wg.Wait()
		// A message that comes before the end of a task that never asks is kept, and
		// the sender gets the task as it ends.
		late := r.start("go")
		time.Sleep(1500 * time.Millisecond)
		for i := range 2 {
			req := message(fmt.Sprint("n", i))
			req.TaskID, req.Blocking = late.ID, false
			r.send(req)
		}
		time.Sleep(3 * time.Second)
		if got := r.wantState(late.ID, a2a.StateCompleted); a2a.JoinText(got.Artifacts[0].Parts) != "n0" || !strings.HasSuffix(fmt.Sprint(got.History[len(got.History)-1].ID), "n1") {
			t.Errorf("got %+v", got)
		}
	})
}

// TestEngine_Send_continues: an id of the client's own names the task that waits
// under it, in any context, and is otherwise that of a new run.
func TestEngine_Send_continues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(asker)})
		own := func(text string, context a2a.ContextID) *a2a.SendRequest {
			req := message(text)
			req.NewTaskID, req.ContextID, req.Continues = "mine", context, true
			return req
		}
		first := r.send(own("go", "c-1"))
		if first.ID != "mine" || first.Status.State != a2a.StateInputRequired {
			t.Fatalf("got %s %s, want mine, asking", first.ID, first.Status.State)
		}
		// Another caller's id is another caller's; that it is taken is all he learns.
		if _, err := r.Send(t.Context(), bob, "", own("mine", "c-1")); a2a.AsError(err).Code != a2a.CodeTaskIDConflict {
			t.Errorf("bob: got %v, want task_id_conflict", err)
		}
		answered := r.send(own("blue", "c-2"))
		if answered.Status.State != a2a.StateCompleted || answered.ContextID != "c-1" || len(answered.History) != 3 || answered.Revision != 0 {
			t.Errorf("got %s in %s with %d messages, revision %d; want the same run in c-1, completed", answered.Status.State, answered.ContextID, len(answered.History), answered.Revision)
		}
		again := r.send(own("go", "c-3"))
		if again.Status.State != a2a.StateInputRequired || again.ContextID != "c-3" || again.Revision != 1 {
			t.Errorf("got %s in %s, revision %d; want a second run in c-3", again.Status.State, again.ContextID, again.Revision)
		}
		r.checkLog("mine")
	})
}

func TestEngine_serial_skill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Serial: true})
		in := func(context a2a.ContextID) a2a.TaskID {
			req := message("@sleep 10")
			req.ContextID, req.Blocking = context, false
			return r.send(req).ID
		}
		a1, a2, b1, a3 := in("a"), in("a"), in("b"), in("a")
		time.Sleep(time.Second)
		r.wantState(a1, a2a.StateWorking)
		r.wantState(a2, a2a.StateSubmitted)
		r.wantState(b1, a2a.StateWorking)
		// Another caller's context of the same name is another one.
		req := message("@echo x")
		req.ContextID = "a"
		if res, err := r.Send(t.Context(), bob, "", req); err != nil || res.Task.Status.State != a2a.StateCompleted {
			t.Errorf("bob: got %+v, %v", res, err)
		}
		time.Sleep(10 * time.Second)
		r.wantState(a1, a2a.StateCompleted)
		r.wantState(a2, a2a.StateWorking)
		r.wantState(a3, a2a.StateSubmitted)
		time.Sleep(20 * time.Second)
		r.wantState(a3, a2a.StateCompleted)
	})
}

func TestEngine_fair_queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Limits: skills.Limits{Concurrency: 1, Queue: 10_000}})
		for range 10_000 {
			r.start("@sleep 1")
		}
		res, err := r.Send(t.Context(), bob, "", &a2a.SendRequest{Message: message("@echo bob").Message})
		if err != nil {
			t.Fatal(err)
		}
		if place := res.Task.QueuePlace; place > 2 {
			t.Errorf("got place %d behind another caller's 10,000, want at most 2", place)
		}
		time.Sleep(3 * time.Second)
		got, err := r.Get(t.Context(), bob, &a2a.GetRequest{ID: res.Task.ID})
		if err != nil || got.Status.State != a2a.StateCompleted {
			t.Errorf("got %+v, %v; want it done within three runs", got, err)
		}
	})
}

// TestEngine_queue_place: the place that is shown is the order of service.
func TestEngine_queue_place(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Limits: skills.Limits{Concurrency: 1}})
		r.start("@sleep 1")
		type waiter struct {
			caller a2a.Caller
			id     a2a.TaskID
			place  int
		}
		var all []waiter
		for _, c := range []a2a.Caller{alice, alice, alice, bob, alice, bob} {
			res, err := r.Send(t.Context(), c, "", &a2a.SendRequest{Message: message("@sleep 1").Message})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, waiter{caller: c, id: res.Task.ID})
		}
		for i, w := range all {
			got, err := r.Get(t.Context(), w.caller, &a2a.GetRequest{ID: w.id})
			if err != nil {
				t.Fatal(err)
			}
			all[i].place = got.QueuePlace
		}
		time.Sleep(500 * time.Millisecond)
		for step := 1; step <= len(all); step++ {
			time.Sleep(time.Second)
			for _, w := range all {
				got, err := r.Get(t.Context(), w.caller, &a2a.GetRequest{ID: w.id})
				if err != nil {
					t.Fatal(err)
				}
				want := a2a.StateSubmitted
				switch {
				case w.place == step:
					want = a2a.StateWorking
				case w.place < step:
					want = a2a.StateCompleted
				}
				if got.Status.State != want {
					t.Errorf("step %d: place %d is %s, want %s", step, w.place, got.Status.State, want)
				}
			}
		}
	})
}

func TestEngine_unanswered_pause(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         a2a.State
		says         string
	}{
		{"fails", "", a2a.StateFailed, "nobody answered within 1h0m0s"},
		{"takes the default answer", "blue", a2a.StateCompleted, "blue"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, skills.Entry{AnswerWithin: time.Hour, DefaultAnswer: c.answer})
				id, answered := r.send(message("@ask")).ID, r.send(message("@ask")).ID
				time.Sleep(59 * time.Minute)
				r.wantState(id, a2a.StateInputRequired)
				req := message("green")
				req.TaskID = answered
				r.send(req)
				time.Sleep(2 * time.Minute)
				got := r.wantState(id, c.want)
				text := got.Status.Message.Text()
				for _, a := range got.Artifacts {
					text += a2a.JoinText(a.Parts)
				}
				if text != c.says {
					t.Errorf("got %q, want %q", text, c.says)
				}
				r.checkLog(id)
				r.wantState(answered, a2a.StateCompleted)
			})
		})
	}
}

// TestEngine_attempts: the first run of a turn is attempt 1, whether it waited for
// a slot or not.
func TestEngine_attempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var attempts []int
		skill := skills.Func(func(ctx context.Context, in skills.Input, emit skills.Emit) error {
			mu.Lock()
			attempts = append(attempts, in.Attempt)
			mu.Unlock()
			return asker(ctx, in, emit)
		})
		r := newRig(t, nil, skills.Entry{Skill: skill, Limits: skills.Limits{Concurrency: 1}})
		var ids []a2a.TaskID
		for range 3 {
			ids = append(ids, r.start("go").ID)
		}
		time.Sleep(10 * time.Second)
		for _, id := range ids {
			answer := message("a")
			answer.TaskID, answer.Blocking = id, false
			r.send(answer)
		}
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if got := fmt.Sprint(attempts); got != "[1 1 1 1 1 1]" {
			t.Errorf("got attempts %s, want all first", got)
		}
	})
}
