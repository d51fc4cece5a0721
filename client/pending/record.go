package pending

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
)

// Begin records a send before it is on the wire and returns the entry with its Ref.
// What is read of e: AgentURL, Agent, TaskID (of a reply, or an id the client
// chose), ContextID, Skill, Prompt, MessageID, Key, Interface and Message.
//
// If the task is pending already, the send is a reply to it or a repetition: its
// entry takes MessageID and Key and is returned; it stays as it is otherwise.
func (r *Registry) Begin(ctx context.Context, e Entry) (Entry, error) {
	if e.AgentURL == "" {
		return Entry{}, errors.New("begin: the agent's URL is missing")
	}
	var got Entry
	err := r.write(ctx, func(t tx) error {
		known, ok, err := t.live(e.AgentURL, e.TaskID)
		if err != nil {
			return err
		}
		if ok {
			known.MessageID, known.Key = e.MessageID, e.Key
			got = known
			return t.update(known)
		}
		got, err = t.insert(r.fresh(e))
		return err
	})
	if err != nil {
		return Entry{}, fmt.Errorf("begin: %w", err)
	}
	return got, nil
}

// fresh returns the entry of a send that begins now, made of what e says of it.
func (r *Registry) fresh(e Entry) Entry {
	return Entry{
		Ref:    uuid.Must(uuid.NewV7()).String(),
		TaskID: e.TaskID, AgentURL: e.AgentURL, Agent: e.Agent, ContextID: e.ContextID, Skill: e.Skill,
		Prompt: line(e.Prompt, MaxPrompt), MessageID: e.MessageID, Key: e.Key, Interface: e.Interface, Message: e.Message,
		CreatedAt: r.now(),
	}
}

// Accepted records the task that the agent answered the send with, or the first one
// of its stream, and how to reach the agent again (nil leaves that as it is). If the
// task has ended, so has the entry.
//
// The entry that is returned may have another Ref, which counts from then on: if the
// task is pending under an earlier entry, ref is merged into that one; if a reply was
// answered with another task, that task gets an entry of its own.
func (r *Registry) Accepted(ctx context.Context, ref string, task *a2a.Task, iface json.RawMessage) (Entry, error) {
	return r.change(ctx, "accept", ref, func(t tx, e *Entry) error {
		if err := check(task); err != nil {
			return err
		}
		if e.State != "" && e.TaskID != task.ID {
			other := r.fresh(*e)
			other.TaskID = task.ID
			var err error
			if *e, err = t.insert(other); err != nil {
				return err
			}
		}
		// A send that was refused at first and then taken has no end to protect.
		if e.NotSent() {
			e.EndedAt = time.Time{}
		}
		if !e.Ended() {
			known, ok, err := t.live(e.AgentURL, task.ID)
			if err != nil {
				return err
			}
			if ok && known.Ref != e.Ref {
				known.MessageID, known.Key = e.MessageID, e.Key
				if err := t.delete(e.Ref); err != nil {
					return err
				}
				*e = known
			}
			e.TaskID = task.ID
		}
		if len(iface) > 0 {
			e.Interface = iface
		}
		r.see(e, task)
		return nil
	})
}

// Answered records that the agent answered with a bare message instead of a task; the
// conversation it named may be "". The entry has ended, completed; its Answer is a
// task without an id whose status message is msg. A task that was replied to lives on,
// since a message says nothing of its state: its entry stays pending.
func (r *Registry) Answered(ctx context.Context, ref string, msg *a2a.Message, conversation a2a.ContextID) (Entry, error) {
	return r.change(ctx, "record answer", ref, func(_ tx, e *Entry) error {
		if msg == nil {
			return errors.New("the message is missing")
		}
		if e.State != "" || e.Lost {
			e.LastError = ""
			return nil
		}
		if conversation != "" {
			e.ContextID = conversation
		}
		now := r.now()
		e.State, e.EndedAt, e.LastError, e.Message = a2a.StateCompleted, now, "", nil
		e.Answer = &a2a.Task{
			ContextID: e.ContextID, Skill: e.Skill, CreatedAt: e.CreatedAt, UpdatedAt: now,
			Status: a2a.Status{State: a2a.StateCompleted, Message: msg, At: now},
		}
		return nil
	})
}

// Rejected records that the agent does not have what was sent for sure: it refused
// the request, or the request never left. The entry moves to the history as not sent,
// with the reason in LastError, so that whoever looks for it learns why. A task that
// was replied to stays pending. If the same send is taken later after all, Accepted
// makes the entry pending again.
func (r *Registry) Rejected(ctx context.Context, ref, reason string) (Entry, error) {
	return r.change(ctx, "record refusal", ref, func(_ tx, e *Entry) error {
		if e.Ended() {
			return nil
		}
		e.LastError = line(reason, MaxLastError)
		if e.State == "" {
			e.EndedAt, e.Message = r.now(), nil
		}
		return nil
	})
}

// Polled records what a poll saw and counts it. If the task has ended, the entry moves
// to the history with the task as its Answer in the same step. On an entry that ended
// before only the poll is counted; but a task that was lost and is found ended gets
// its answer.
func (r *Registry) Polled(ctx context.Context, ref string, task *a2a.Task) (Entry, error) {
	return r.change(ctx, "record poll", ref, func(_ tx, e *Entry) error {
		if err := check(task, e.TaskID); err != nil {
			return err
		}
		r.count(e)
		r.see(e, task)
		return nil
	})
}

// Streamed records what a stream showed: Polled without counting. The id of the event
// is kept to resume after; "" leaves the one before. Every call is a commit that waits
// for the disk: a caller writes when the state changes and otherwise now and then, not
// with every chunk.
func (r *Registry) Streamed(ctx context.Context, ref string, task *a2a.Task, eventID string) (Entry, error) {
	return r.change(ctx, "record event", ref, func(_ tx, e *Entry) error {
		if err := check(task, e.TaskID); err != nil {
			return err
		}
		if eventID != "" && !e.Ended() {
			e.EventID = eventID
		}
		r.see(e, task)
		return nil
	})
}

// Failed records that the agent could not be reached, or answered with an error that
// says nothing of the task. The entry stays pending with msg in LastError; it counts
// as a poll unless the send has not been answered yet.
func (r *Registry) Failed(ctx context.Context, ref, msg string) (Entry, error) {
	return r.change(ctx, "record failure", ref, func(_ tx, e *Entry) error {
		if e.State != "" {
			r.count(e)
		}
		if !e.Ended() {
			e.LastError = line(msg, MaxLastError)
		}
		return nil
	})
}

// LostTask records a poll that the agent answered with "unknown task". The entry moves
// to the history as lost, with msg in LastError and the state last seen. If it has
// ended before, only the poll is counted: agents forget tasks that are over.
func (r *Registry) LostTask(ctx context.Context, ref, msg string) (Entry, error) {
	return r.change(ctx, "record loss", ref, func(_ tx, e *Entry) error {
		r.count(e)
		if !e.Ended() {
			e.LastError, e.Lost, e.EndedAt = line(msg, MaxLastError), true, r.now()
		}
		return nil
	})
}

// Forget deletes an entry, pending or ended, with its answer.
func (r *Registry) Forget(ctx context.Context, ref string) error {
	err := r.write(ctx, func(t tx) error {
		if _, err := t.entry(ref); err != nil {
			return err
		}
		return t.delete(ref)
	})
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	return nil
}

// check refuses a task that cannot be recorded: none, one without an id, or another
// than the one asked for.
func check(task *a2a.Task, want ...a2a.TaskID) error {
	switch {
	case task == nil:
		return errors.New("the task is missing")
	case task.ID == "":
		return errors.New("the agent's task has no id")
	}
	for _, id := range want {
		if id != "" && id != task.ID {
			return fmt.Errorf("the agent answered with task %q instead of %q", task.ID, id)
		}
	}
	return nil
}

// count counts a poll.
func (r *Registry) count(e *Entry) {
	e.PollCount++
	e.LastPolledAt = r.now()
}

// see folds what an agent says of a task into its entry.
func (r *Registry) see(e *Entry, task *a2a.Task) {
	state := task.Status.State
	if e.Ended() && (e.Answer != nil || !state.Terminal()) {
		return // late: the end was seen
	}
	if state == "" {
		state = a2a.StateUnknown
	}
	e.TaskID, e.State, e.LastError, e.Lost, e.Question, e.Message = task.ID, state, "", false, "", nil
	if task.ContextID != "" {
		e.ContextID = task.ContextID
	}
	if task.Skill != "" {
		e.Skill = task.Skill
	}
	if state.Interrupted() {
		e.Question = task.Status.Message.Text()
	}
	if state.Terminal() {
		e.Answer = task
		if !e.Ended() {
			e.EndedAt = r.now()
		}
	}
}
