package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// full returns a Created event with every member set, and with raw JSON that
// would not survive a decoder that uses float64, sorts members or rewrites
// strings.
func full(id a2a.TaskID) a2a.Event {
	const object = `{"z":12345678901234567890,"a":1e400, "s":"\u00e9\/","n":-0.10,"z":[null,{}]}`
	message := a2a.Message{
		ID:   "m1",
		Role: a2a.RoleUser,
		Parts: []a2a.Part{
			{Kind: a2a.PartText, Text: "line\n\"quoted\" <b>&amp; \u2028 é 日本 \U0001f600 \x00", MediaType: "text/plain", Metadata: raw(object)},
			{Kind: a2a.PartData, Data: raw(`null`)},
			{Kind: a2a.PartData, Data: raw(`9007199254740993`)},
			{Kind: a2a.PartData, Data: raw(object), MediaType: "application/json"},
			{Kind: a2a.PartRaw, Raw: "AAEC/w==", Filename: "a b.bin", MediaType: "application/octet-stream"},
			{Kind: a2a.PartURL, URL: "https://example.org/?a=1&b=<2>"},
			{Kind: a2a.PartText},
		},
		ReferenceTaskIDs: []a2a.TaskID{"other"},
		Extensions:       []string{"https://example.org/ext"},
		Metadata:         raw(object),
		Request:          raw(`{ "trace" : "x" }`),
		Active:           []string{"https://example.org/ext"},
	}
	return a2a.Event{Seq: 1, At: start.Add(123 * time.Millisecond), Created: &a2a.Task{
		ID: id, ContextID: "c 1", Skill: "skill", SkillSource: "params.skillId", Dialect: "emm",
		Status:      a2a.Status{State: a2a.StateSubmitted},
		History:     []a2a.Message{message},
		Warnings:    []string{"ignored key \"x\""},
		Metadata:    raw(object),
		Fingerprint: "f1",
	}}
}

func submitCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"read_back_every_member": func(f *fixture) {
			e := full(f.newID())
			sub := f.submission(alice, e)
			want := sub.Task.Clone()
			a := f.submit(sub)
			f.same("answer of Submit", a.task, want)
			a.check()

			failed := status(a2a.StateFailed)
			failed.Status.Code = a2a.CodeTimeout
			failed.Status.Message = &e.Created.History[0]
			all := artifact("a1", "x")
			all.Artifact.Artifact = a2a.Artifact{
				ID: "a1", Name: "name", Description: "text", Parts: e.Created.History[0].Parts,
				Extensions: []string{"e"}, Metadata: e.Created.Metadata,
			}
			further := a2a.Event{Message: &e.Created.History[0]}
			a.must(a.step(taskstore.RunEnded, status(a2a.StateWorking), all, chunk("a1", "more"), further, failed))
			a.check()
		},
		"lease_of_a_running_task": func(f *fixture) {
			a := f.begin()
			if a.lease.TaskID != a.task.ID || a.lease.Fence != 1 {
				f.Errorf("lease: got %+v, want task %s and fence 1", a.lease, a.task.ID)
			}
			f.same("run", f.stored(alice, a.task.ID).Run, running())
		},
		"queued_task_has_no_lease": func(f *fixture) {
			sub := f.submission(alice, created(f.newID(), start))
			sub.Run = queued()
			a := f.submit(sub)
			f.same("lease", a.lease, taskstore.Lease{})
			a.check()
		},
		"born_ended": func(f *fixture) {
			id := f.newID()
			failed := status(a2a.StateFailed)
			failed.Seq, failed.At = 2, start
			sub := f.submission(alice, created(id, start), failed)
			sub.Run = ended()
			a := f.submit(sub)
			a.check()
			if got := f.open(start.Add(24 * time.Hour)); len(got) != 0 {
				f.Errorf("open runs: got %v, want none", got)
			}
		},
		"existing_id_is_left_alone_in_every_state": func(f *fixture) {
			for _, state := range []a2a.State{a2a.StateSubmitted, a2a.StateWorking, a2a.StateInputRequired, a2a.StateCompleted} {
				a := f.begin()
				switch {
				case state.Terminal():
					a.must(a.step(taskstore.RunEnded, status(state)))
				case state.Interrupted():
					a.must(a.step(taskstore.RunWaiting, status(state)))
				case state != a2a.StateSubmitted:
					a.must(a.step(taskstore.RunRunning, status(state)))
				}
				e := created(a.task.ID, start.Add(time.Hour))
				got, err := f.store.Submit(context.Background(), f.submission(alice, e))
				if err != nil || !got.Existing {
					f.Fatalf("%s: got existing %t and error %v, want an existing task", state, got.Existing, err)
				}
				f.same("existing task", got.Task, a.task)
				f.same("lease", got.Lease, taskstore.Lease{})
				a.check()
			}
		},
		"other_scope": func(f *fixture) {
			a := f.begin()
			before := a.task.Clone()
			for _, scope := range []a2a.Scope{bob, {Tenant: "other", Owner: "alice"}, {}} {
				for _, rerun := range []bool{false, true} {
					sub := f.submission(scope, created(a.task.ID, start))
					sub.Rerun, sub.Key, sub.Fingerprint = rerun, "key", "f"
					got, err := f.store.Submit(context.Background(), sub)
					if !errors.Is(err, taskstore.ErrForeign) {
						f.Errorf("Submit from %v: got error %v, want ErrForeign", scope, err)
					}
					f.same("answer", got, taskstore.Submitted{})
					if _, err := f.store.Task(context.Background(), scope, a.task.ID); !errors.Is(err, taskstore.ErrNotFound) {
						f.Errorf("Task from %v: got error %v, want ErrNotFound", scope, err)
					}
				}
			}
			f.same("task", f.read(alice, a.task.ID), before)
			a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
			a.check()
		},
		"odd_ids": func(f *fixture) {
			ids := []a2a.TaskID{
				"none", "..%2f", "../../etc/passwd", "a b", "o'clock", `"`, "%", "_", "\x00", "a\x00b", "a\x00c",
				"é", "e\u0301", "A", "a", "日本", "\U0001f600", a2a.TaskID(strings.Repeat("x", 5000)),
				a2a.TaskID(strings.Repeat("x", 5001)), "", "null", "0", "00", "1e3",
			}
			for _, id := range ids {
				if _, err := f.store.Task(context.Background(), alice, id); !errors.Is(err, taskstore.ErrNotFound) {
					f.Errorf("Task(%q): got error %v, want ErrNotFound", short(id), err)
				}
			}
			var actors []*actor
			for i, id := range ids {
				e := created(id, start.Add(time.Duration(i)*time.Second))
				e.Created.ContextID = a2a.ContextID(id)
				actors = append(actors, f.submit(f.submission(a2a.Scope{Owner: string(id)}, e)))
			}
			for i, a := range actors {
				a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
				a.check()
				if ids[i] == "" {
					continue // an empty context means any
				}
				page, err := f.store.Tasks(context.Background(), a.scope, taskstore.Query{ContextID: a.task.ContextID, Limit: 10})
				if err != nil {
					f.Fatalf("Tasks(%q): %v", short(a.task.ID), err)
				}
				f.same("tasks of the context", page.Tasks, []*a2a.Task{a.task})
			}
		},
		"concurrent_submits_of_one_id": func(f *fixture) {
			id := f.newID()
			sub := f.submission(alice, created(id, start))
			made := make(chan bool, 20)
			for range cap(made) {
				go func() {
					got, err := f.store.Submit(context.Background(), sub)
					if err != nil {
						f.Errorf("Submit: %v", err)
					}
					made <- err == nil && !got.Existing
				}()
			}
			n := 0
			for range cap(made) {
				if <-made {
					n++
				}
			}
			if n != 1 {
				f.Errorf("new tasks: got %d, want 1", n)
			}
			f.checkStored(alice, sub.Task)
		},
		"given_task_may_be_changed_afterwards": func(f *fixture) {
			sub := f.submission(alice, created(f.newID(), start))
			a := f.submit(sub)
			scribble(sub.Task)
			sub.Events[0].Created = nil
			a.check()
		},
		"done_context": func(f *fixture) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			sub := f.submission(alice, created(f.newID(), start))
			if _, err := f.store.Submit(ctx, sub); !errors.Is(err, context.Canceled) {
				f.Errorf("Submit: got error %v, want context.Canceled", err)
			}
			if _, err := f.store.Task(context.Background(), alice, sub.Task.ID); !errors.Is(err, taskstore.ErrNotFound) {
				f.Errorf("Task: got error %v, want ErrNotFound", err)
			}
		},
	}
}

// scribble changes everything in a task that its holder may change.
func scribble(t *a2a.Task) {
	for i := range t.History {
		t.History[i] = a2a.Message{ID: "scribbled"}
	}
	for i := range t.Artifacts {
		for j := range t.Artifacts[i].Parts {
			t.Artifacts[i].Parts[j] = a2a.TextPart("scribbled")
		}
		t.Artifacts[i] = a2a.Artifact{ID: "scribbled"}
	}
	for i := range t.Warnings {
		t.Warnings[i] = "scribbled"
	}
	*t = a2a.Task{ID: "scribbled", History: append(t.History, a2a.Message{}), Artifacts: append(t.Artifacts, a2a.Artifact{})}
}
