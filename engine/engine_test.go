package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/mock"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
)

var (
	alice = a2a.Caller{Scope: a2a.Scope{Owner: "alice"}, Name: "alice"}
	bob   = a2a.Caller{Scope: a2a.Scope{Owner: "bob"}, Name: "bob"}
)

// rig is an engine with the probe skill, inside a synctest bubble.
type rig struct {
	t     *testing.T
	store taskstore.Store
	*engine.Engine
}

// newRig starts an engine on store (nil: a new memory store) and stops it at the
// end of the test.
func newRig(t *testing.T, store taskstore.Store, entry skills.Entry, more ...skills.Entry) *rig {
	t.Helper()
	if store == nil {
		store = memory.New(memory.Options{})
	}
	if entry.Info.ID == "" {
		entry.Info = mock.Info("probe")
	}
	if entry.Skill == nil {
		skill, err := mock.New(mock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		entry.Skill = skill
	}
	if entry.Mapper == nil {
		entry.Mapper = mock.Mapper{}
	}
	if entry.Retry == "" {
		entry.Retry = skills.RetryOnCrash
	}
	set, err := skills.NewSet(entry.Info.ID, append([]skills.Entry{entry}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{Store: store, Skills: set, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	r := &rig{t: t, store: store, Engine: e}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := e.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return r
}

func message(text string) *a2a.SendRequest {
	return &a2a.SendRequest{
		Message:  a2a.Message{ID: "m-" + text, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}},
		Blocking: true,
		Dialect:  "1.0",
	}
}

// send sends and fails the test on an error.
func (r *rig) send(req *a2a.SendRequest) *a2a.Task {
	r.t.Helper()
	res, err := r.Send(r.t.Context(), alice, "", req)
	if err != nil {
		r.t.Fatalf("send %q: %v", req.Message.Text(), err)
	}
	if res.Task == nil {
		r.t.Fatalf("send %q: got a message, want a task", req.Message.Text())
	}
	return res.Task
}

// start sends without blocking.
func (r *rig) start(text string) *a2a.Task {
	r.t.Helper()
	req := message(text)
	req.Blocking = false
	return r.send(req)
}

func (r *rig) get(id a2a.TaskID) *a2a.Task {
	r.t.Helper()
	t, err := r.Get(r.t.Context(), alice, &a2a.GetRequest{ID: id})
	if err != nil {
		r.t.Fatalf("get %s: %v", id, err)
	}
	return t
}

func (r *rig) wantState(id a2a.TaskID, want a2a.State) *a2a.Task {
	r.t.Helper()
	t := r.get(id)
	if t.Status.State != want {
		r.t.Errorf("task %s: got %s (%s), want %s", id, t.Status.State, t.Status.Message.Text(), want)
	}
	return t
}

func wantCode(t *testing.T, err error, want a2a.Code) *a2a.Error {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Code != want {
		t.Fatalf("got error %v, want code %s", err, want)
	}
	return e
}

// checkLog checks that the log folds to the snapshot.
func (r *rig) checkLog(id a2a.TaskID) {
	r.t.Helper()
	events, err := r.store.Events(r.t.Context(), alice.Scope, id, 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	var folded a2a.Task
	if err := folded.Fold(events); err != nil {
		r.t.Fatalf("fold log of %s: %v", id, err)
	}
	want, err := json.Marshal(r.get(id))
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := json.Marshal(&folded)
	if err != nil {
		r.t.Fatal(err)
	}
	if string(got) != string(want) {
		r.t.Errorf("log of %s folds to\n%s\nwant the snapshot\n%s", id, got, want)
	}
}

func TestEngine_Send(t *testing.T) {
	for _, c := range []struct {
		text string
		want a2a.State
		says string
		code a2a.Code
		took time.Duration
	}{
		{text: "@echo hello", want: a2a.StateCompleted, says: "hello"},
		{text: "plain", want: a2a.StateCompleted, says: "plain"},
		{text: "@sleep 5", want: a2a.StateCompleted, says: "slept", took: 5 * time.Second},
		{text: "@ask", want: a2a.StateInputRequired, says: "colour"},
		{text: "@auth", want: a2a.StateAuthRequired, says: "sign in"},
		{text: "@fail", want: a2a.StateFailed, says: "failed", code: a2a.CodeSkillFailed},
		{text: "@panic", want: a2a.StateFailed, says: "internal error", code: a2a.CodeInternal},
		{text: "@noterm", want: a2a.StateFailed, says: "without a final state", code: a2a.CodeNoFinalState},
		{text: "@hang", want: a2a.StateFailed, says: "skill timed out after 60s", code: a2a.CodeTimeout, took: time.Minute},
		{text: "@ignorecancel 90", want: a2a.StateFailed, says: "skill timed out after 60s", code: a2a.CodeTimeout, took: 65 * time.Second},
		{text: "@big 40000000", want: a2a.StateFailed, says: "more than 33554432 bytes", code: a2a.CodeOutputTooLarge},
		{text: "@chunks 5 100", want: a2a.StateCompleted, says: "chunk-1 \nchunk-2 \nchunk-3 \nchunk-4 \nchunk-5 ", took: 400 * time.Millisecond},
	} {
		t.Run(strings.Fields(c.text)[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, skills.Entry{})
				began := time.Now()
				got := r.send(message(c.text))
				if got.Status.State != c.want || got.Status.Code != c.code {
					t.Errorf("got %s/%s, want %s/%s", got.Status.State, got.Status.Code, c.want, c.code)
				}
				text := got.Status.Message.Text()
				for _, a := range got.Artifacts {
					text += a2a.JoinText(a.Parts)
				}
				if !strings.Contains(text, c.says) {
					t.Errorf("got text %.200q, want %q in it", text, c.says)
				}
				if took := time.Since(began).Round(50 * time.Millisecond); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
				r.checkLog(got.ID)
				if after := r.send(message("@echo alive")); after.Status.State != a2a.StateCompleted {
					t.Errorf("server after: got %s", after.Status.State)
				}
				time.Sleep(2 * time.Minute) // skills that were let go end too
			})
		})
	}
}

func TestEngine_Send_not_blocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		task := r.start("@sleep 5")
		if task.Status.State != a2a.StateSubmitted {
			t.Errorf("got %s, want submitted", task.Status.State)
		}
		time.Sleep(time.Second)
		r.wantState(task.ID, a2a.StateWorking)
		time.Sleep(5 * time.Second)
		r.wantState(task.ID, a2a.StateCompleted)
		r.checkLog(task.ID)
	})
}

func TestEngine_Send_wait_cap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		req := message("@sleep 30")
		req.MaxWait = 20 * time.Second
		began := time.Now()
		task := r.send(req)
		if took := time.Since(began); took != 20*time.Second || task.Status.State != a2a.StateWorking {
			t.Errorf("got %s after %s, want working after 20s", task.Status.State, took)
		}
		time.Sleep(11 * time.Second)
		r.wantState(task.ID, a2a.StateCompleted)
	})
}

func TestEngine_Send_client_leaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req := message("@sleep 3")
		req.ContextID = "ctx"
		if _, err := r.Send(ctx, alice, "", req); err == nil {
			t.Fatal("want an error for a client that is gone")
		}
		time.Sleep(3 * time.Second)
		page, err := r.List(t.Context(), alice, &a2a.ListRequest{ContextID: "ctx"})
		if err != nil || len(page.Tasks) != 1 || page.Tasks[0].Status.State != a2a.StateCompleted {
			t.Errorf("got %+v, %v; want one completed task", page, err)
		}
	})
}

func TestEngine_Send_queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Limits: skills.Limits{Concurrency: 2, Queue: 3}})
		var ids []a2a.TaskID
		for range 5 {
			ids = append(ids, r.start("@sleep 10").ID)
		}
		for i, want := range []int{0, 0, 1, 2, 3} {
			if got := r.get(ids[i]).QueuePlace; got != want {
				t.Errorf("task %d: got place %d, want %d", i, got, want)
			}
		}
		began := time.Now()
		_, err := r.Send(t.Context(), alice, "", message("@echo x"))
		e := wantCode(t, err, a2a.CodeQueueFull)
		if e.RetryAfter < time.Second || time.Since(began) != 0 {
			t.Errorf("got Retry-After %s after %s, want at least 1s at once", e.RetryAfter, time.Since(began))
		}
		// A cancelled one leaves the queue; the others move up, in order.
		if _, err := r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: ids[2]}); err != nil {
			t.Fatal(err)
		}
		if got := r.get(ids[4]).QueuePlace; got != 2 {
			t.Errorf("got place %d after a cancel, want 2", got)
		}
		time.Sleep(11 * time.Second)
		r.wantState(ids[0], a2a.StateCompleted)
		r.wantState(ids[2], a2a.StateCanceled)
		r.wantState(ids[3], a2a.StateWorking)
		time.Sleep(10 * time.Second)
		for _, i := range []int{0, 1, 3, 4} {
			r.wantState(ids[i], a2a.StateCompleted)
			r.checkLog(ids[i])
		}
	})
}

func TestEngine_Send_unknown_skill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		req := message("x")
		req.Skills = []a2a.SkillHint{{Source: "params.skillId", Value: json.RawMessage(`"foo"`)}}
		task := r.send(req)
		if got, want := task.Status.Message.Text(), `unknown skillId "foo"; available skills: probe`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		stored := r.wantState(task.ID, a2a.StateFailed)
		if stored.SkillSource != "params.skillId" || stored.Status.Code != a2a.CodeUnknownSkill {
			t.Errorf("got source %q, code %q", stored.SkillSource, stored.Status.Code)
		}
		r.checkLog(task.ID)
	})
}

func TestEngine_Cancel(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"while_running", "@sleep 30"}, {"while_paused", "@ask"}, {"while_hanging", "@hang"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, skills.Entry{})
				id := r.start(c.text).ID
				time.Sleep(time.Second)
				got, err := r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: id})
				if err != nil || got.Status.State != a2a.StateCanceled {
					t.Fatalf("cancel: got %+v, %v", got, err)
				}
				time.Sleep(time.Minute)
				r.wantState(id, a2a.StateCanceled)
				r.checkLog(id)
				if _, err := r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: id, Again: true}); err != nil {
					t.Errorf("cancel again: %v", err)
				}
				_, err = r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: id})
				wantCode(t, err, a2a.CodeTaskNotCancelable)
			})
		})
	}
}

func TestEngine_Cancel_wakes_a_blocking_caller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		req := message("@sleep 30")
		req.NewTaskID = "t-1"
		done := make(chan *a2a.SendResult, 1)
		go func() {
			res, err := r.Send(t.Context(), alice, "", req)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		time.Sleep(time.Second)
		if _, err := r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: "t-1"}); err != nil {
			t.Fatal(err)
		}
		if res := <-done; res.Task.Status.State != a2a.StateCanceled {
			t.Errorf("got %s, want canceled", res.Task.Status.State)
		}
	})
}

func TestEngine_Cancel_is_final(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A skill that ignores its cancellation and reports a result all the same:
		// its slot is free after the grace time, its result goes nowhere.
		r := newRig(t, nil, skills.Entry{Limits: skills.Limits{Concurrency: 1}})
		id := r.start("@ignorecancel 20").ID
		next := r.start("@echo next").ID
		time.Sleep(time.Second)
		if _, err := r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
		r.wantState(next, a2a.StateSubmitted)
		time.Sleep(6 * time.Second)
		r.wantState(next, a2a.StateCompleted)
		time.Sleep(20 * time.Second)
		if got := r.wantState(id, a2a.StateCanceled); len(got.Artifacts) != 0 {
			t.Errorf("got artifacts %+v after the cancel", got.Artifacts)
		}
		r.checkLog(id)
	})
}

func TestEngine_Cancel_ended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		for _, text := range []string{"@echo x", "@fail"} {
			id := r.send(message(text)).ID
			before, _ := json.Marshal(r.get(id))
			_, err := r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: id, Again: true})
			wantCode(t, err, a2a.CodeTaskNotCancelable)
			if after, _ := json.Marshal(r.get(id)); string(after) != string(before) {
				t.Errorf("%s: a refused cancel changed the task", text)
			}
		}
		_, err := r.Cancel(t.Context(), alice, &a2a.CancelRequest{ID: "none"})
		wantCode(t, err, a2a.CodeTaskNotFound)
	})
}

func TestEngine_Send_next_turn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		asked := r.send(message("@ask"))
		answer := message("blue")
		answer.TaskID = asked.ID
		got := r.send(answer)
		if got.ID != asked.ID || got.ContextID != asked.ContextID || got.Status.State != a2a.StateCompleted {
			t.Errorf("got %s %s %s, want the same task completed", got.ID, got.ContextID, got.Status.State)
		}
		if text := a2a.JoinText(got.Artifacts[0].Parts); text != "blue" {
			t.Errorf("got %q, want the answer", text)
		}
		var turns []string
		for _, m := range got.History {
			turns = append(turns, string(m.Role)+":"+m.ID)
		}
		if len(turns) != 3 || turns[0] != "user:m-@ask" || turns[2] != "user:m-blue" || !strings.HasPrefix(turns[1], "agent:") {
			t.Errorf("got history %v, want question between the two messages", turns)
		}
		r.checkLog(got.ID)

		before, _ := json.Marshal(r.get(got.ID))
		again := message("more")
		again.TaskID = got.ID
		_, err := r.Send(t.Context(), alice, "", again)
		wantCode(t, err, a2a.CodeUnsupportedOperation)
		if after, _ := json.Marshal(r.get(got.ID)); string(after) != string(before) {
			t.Error("a refused message changed the task")
		}
	})
}

func TestEngine_Send_next_turn_refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		asked := r.send(message("@ask"))
		other := message("blue")
		other.TaskID, other.ContextID = asked.ID, "another"
		_, err := r.Send(t.Context(), alice, "", other)
		wantCode(t, err, a2a.CodeInvalidParams)
		unknown := message("blue")
		unknown.TaskID = "none"
		_, err = r.Send(t.Context(), alice, "", unknown)
		wantCode(t, err, a2a.CodeTaskNotFound)
		foreign := message("blue")
		foreign.TaskID = asked.ID
		_, err = r.Send(t.Context(), bob, "", foreign)
		wantCode(t, err, a2a.CodeTaskNotFound)
		busy := message("blue")
		busy.TaskID = r.start("@sleep 5").ID
		_, err = r.Send(t.Context(), alice, "", busy)
		wantCode(t, err, a2a.CodeUnsupportedOperation)
		r.wantState(asked.ID, a2a.StateInputRequired)
	})
}

func TestEngine_Send_next_turn_queues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{Limits: skills.Limits{Concurrency: 1}})
		asked := r.send(message("@ask"))
		synctest.Wait() // the slot is free again
		r.start("@sleep 10")
		answer := message("blue")
		answer.TaskID, answer.Blocking = asked.ID, false
		if got := r.send(answer); got.Status.State != a2a.StateSubmitted || got.QueuePlace != 1 {
			t.Errorf("got %s at place %d, want submitted at 1", got.Status.State, got.QueuePlace)
		}
		time.Sleep(11 * time.Second)
		if got := r.wantState(asked.ID, a2a.StateCompleted); a2a.JoinText(got.Artifacts[0].Parts) != "blue" {
			t.Errorf("got %+v, want the answer", got.Artifacts)
		}
		r.checkLog(asked.ID)
	})
}

func TestEngine_Send_own_id(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		own := func(text string) *a2a.SendRequest {
			req := message(text)
			req.NewTaskID = "cli-1"
			return req
		}
		first := r.send(own("@echo one"))
		second := r.send(own("@echo two"))
		if second.ID != first.ID || second.Revision != 1 || a2a.JoinText(second.Artifacts[0].Parts) != "two" {
			t.Errorf("got %+v, want the next revision", second)
		}
		events, err := r.store.Events(t.Context(), alice.Scope, "cli-1", 0, 100)
		if err != nil || !strings.Contains(fmt.Sprint(events[0].Created.History, events[2].Artifact), "one") {
			t.Errorf("the first revision is gone from the log: %v", err)
		}
		r.checkLog("cli-1")

		slow := own("@sleep 5")
		slow.Blocking = false
		running := r.send(slow)
		same := own("@sleep 5")
		if got := r.send(same); got.ID != running.ID || got.Revision != running.Revision || got.Status.State != a2a.StateCompleted {
			t.Errorf("got revision %d %s, want to join the running one", got.Revision, got.Status.State)
		}
		slow = own("@sleep 6")
		slow.Blocking = false
		r.send(slow)
		_, err = r.Send(t.Context(), alice, "", own("@echo different"))
		wantCode(t, err, a2a.CodeTaskIDConflict)
		_, err = r.Send(t.Context(), bob, "", own("@sleep 6"))
		wantCode(t, err, a2a.CodeTaskIDConflict)
	})
}

func TestEngine_Send_idempotency_key(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		r := newRig(t, nil, skills.Entry{Skill: skills.Func(func(_ context.Context, _ skills.Input, emit skills.Emit) error {
			ran.Add(1)
			return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
		})})
		keyed := func(text, id string) *a2a.SendRequest {
			req := message(text)
			req.IdempotencyKey, req.Message.ID = "k-1", id
			return req
		}
		first, second := r.send(keyed("a", "m1")), r.send(keyed("a", "m2"))
		if first.ID != second.ID || ran.Load() != 1 {
			t.Errorf("got tasks %s and %s, %d runs; want one", first.ID, second.ID, ran.Load())
		}
		_, err := r.Send(t.Context(), alice, "", keyed("b", "m3"))
		wantCode(t, err, a2a.CodeIdempotencyConflict)
		res, err := r.Send(t.Context(), bob, "", keyed("a", "m4"))
		if err != nil || res.Task.ID == first.ID || ran.Load() != 2 {
			t.Errorf("bob with the same key: got %+v, %v; want a task of his own", res, err)
		}
	})
}

func TestEngine_Send_message_reply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := skills.Func(func(ctx context.Context, in skills.Input, emit skills.Emit) error {
			time.Sleep(time.Second)
			return emit(a2a.Event{Message: a2a.AgentText("", "just a word")})
		})
		r := newRig(t, nil, skills.Entry{Skill: answer})
		res, err := r.Send(t.Context(), alice, "", message("hi"))
		if err != nil || res.Message.Text() != "just a word" || res.Task != nil || res.ContextID == "" || res.TaskID == "" {
			t.Fatalf("got %+v, %v; want a message", res, err)
		}
		if page, err := r.List(t.Context(), alice, &a2a.ListRequest{}); err != nil || page.TotalSize != 0 {
			t.Errorf("got %+v, %v; want no task", page, err)
		}
		// Who does not wait for it gets a task that says the same.
		id := r.start("hi").ID
		req := message("hi")
		req.MaxWait = time.Millisecond
		capped := r.send(req).ID
		time.Sleep(2 * time.Second)
		for _, id := range []a2a.TaskID{id, capped} {
			if got := r.wantState(id, a2a.StateCompleted); got.Status.Message.Text() != "just a word" {
				t.Errorf("got %q", got.Status.Message.Text())
			}
		}
	})
}

func TestEngine_scope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		req := message("@sleep 5")
		req.Blocking, req.ContextID = false, "shared"
		id := r.send(req).ID
		_, unknown := r.Get(t.Context(), bob, &a2a.GetRequest{ID: "no-such-task"})
		_, foreign := r.Get(t.Context(), bob, &a2a.GetRequest{ID: id})
		if a, b := wantCode(t, unknown, a2a.CodeTaskNotFound), wantCode(t, foreign, a2a.CodeTaskNotFound); a.Message != b.Message {
			t.Errorf("got %q and %q, want one answer", a.Message, b.Message)
		}
		_, err := r.Cancel(t.Context(), bob, &a2a.CancelRequest{ID: id})
		wantCode(t, err, a2a.CodeTaskNotFound)
		page, err := r.List(t.Context(), bob, &a2a.ListRequest{ContextID: "shared"})
		if err != nil || page.TotalSize != 0 {
			t.Errorf("got %+v, %v; want nothing", page, err)
		}
		if _, _, err := r.Follow(t.Context(), bob.Scope, id); err == nil {
			t.Error("bob follows alice's task")
		}
	})
}

func TestEngine_List_pages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		for range 60 {
			req := message("@echo x") // all in one fake millisecond
			req.ContextID = "c"
			r.send(req)
		}
		seen := map[a2a.TaskID]bool{}
		req := &a2a.ListRequest{ContextID: "c", PageSize: 7}
		for {
			page, err := r.List(t.Context(), alice, req)
			if err != nil || page.TotalSize != 60 || page.PageSize != 7 {
				t.Fatalf("got %+v, %v", page, err)
			}
			for _, task := range page.Tasks {
				seen[task.ID] = true
			}
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				break
			}
			_, err = r.List(t.Context(), bob, req)
			wantCode(t, err, a2a.CodeInvalidParams)
			_, err = r.List(t.Context(), alice, &a2a.ListRequest{ContextID: "other", PageToken: req.PageToken})
			wantCode(t, err, a2a.CodeInvalidParams)
		}
		if len(seen) != 60 {
			t.Errorf("got %d tasks, want 60", len(seen))
		}
		for _, size := range []int{-1, 101} {
			_, err := r.List(t.Context(), alice, &a2a.ListRequest{PageSize: size})
			wantCode(t, err, a2a.CodeInvalidParams)
		}
		_, err := r.List(t.Context(), alice, &a2a.ListRequest{PageToken: "!!"})
		wantCode(t, err, a2a.CodeInvalidParams)
	})
}

func TestEngine_Send_many_at_once(t *testing.T) {
	r := newRig(t, nil, skills.Entry{Limits: skills.Limits{Concurrency: 8, Queue: 1000}})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			text := fmt.Sprintf("n-%d-", i)
			res, err := r.Send(t.Context(), alice, "", message("@echo "+text))
			if err != nil || res.Task.Status.State != a2a.StateCompleted || a2a.JoinText(res.Task.Artifacts[0].Parts) != text {
				t.Errorf("%s: got %+v, %v", text, res, err)
			}
		})
	}
	wg.Wait()
}
