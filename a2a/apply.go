package a2a

import (
	"errors"
	"fmt"
)

// Errors of Apply. They are wrapped with the states or numbers concerned.
var (
	// ErrTerminal: the task has ended; no event but a new revision may follow.
	ErrTerminal = errors.New("task has ended")
	// ErrTransition: the event is not allowed in the task's state.
	ErrTransition = errors.New("transition not allowed")
	// ErrSequence: the event's number is not the next one.
	ErrSequence = errors.New("event out of sequence")
	// ErrEvent: the event has no body, or more than one.
	ErrEvent = errors.New("event must have exactly one body")
)

// Apply folds the event into the task. It is the only code that changes a
// task, and it owns every rule of transition:
//
//	            ┌──────────── working ◄──────┐
//	submitted ──┤     ▲        │ │           │
//	            │     │        ▼ │           │
//	            │  input-required / auth-required
//	            ▼              ▼ ▼
//	         completed  failed  canceled  rejected      (terminal: nothing follows)
//
// A pause may also go back to submitted, when the answer has to queue. A
// terminal task takes a Created event only, which starts the next revision.
// On an error the task is unchanged.
func (t *Task) Apply(e Event) error {
	if e.Seq != t.Seq+1 {
		return fmt.Errorf("%w: got %d, want %d", ErrSequence, e.Seq, t.Seq+1)
	}
	bodies := 0
	for _, set := range [...]bool{e.Created != nil, e.Status != nil, e.Artifact != nil, e.Message != nil} {
		if set {
			bodies++
		}
	}
	if bodies != 1 {
		return fmt.Errorf("%w: got %d", ErrEvent, bodies)
	}
	if e.Created != nil {
		return t.applyCreated(e)
	}
	switch {
	case t.Status.State == "":
		return fmt.Errorf("%w: the first event must be the creation", ErrTransition)
	case t.Status.State.Terminal():
		return fmt.Errorf("%w: %s", ErrTerminal, t.Status.State)
	}
	switch {
	case e.Status != nil:
		if !mayMove(t.Status.State, e.Status.State) {
			return fmt.Errorf("%w: %s to %s", ErrTransition, t.Status.State, e.Status.State)
		}
		t.applyStatus(e)
	case e.Artifact != nil:
		if t.Status.State.Interrupted() {
			return fmt.Errorf("%w: artifact while %s", ErrTransition, t.Status.State)
		}
		t.applyArtifact(*e.Artifact)
	case e.Message != nil:
		t.History = append(t.History, *e.Message)
	}
	t.Seq, t.UpdatedAt = e.Seq, e.At
	return nil
}

// Fold applies the events in order and stops at the first that does not fit.
func (t *Task) Fold(events []Event) error {
	for _, e := range events {
		if err := t.Apply(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *Task) applyCreated(e Event) error {
	revision := 0
	switch {
	case t.Status.State == "":
	case !t.Status.State.Terminal():
		return fmt.Errorf("%w: created again while %s", ErrTransition, t.Status.State)
	case e.Created.ID != t.ID:
		return fmt.Errorf("%w: revision of another task", ErrTransition)
	default:
		revision = t.Revision + 1
	}
	if s := e.Created.Status.State; s != StateSubmitted {
		return fmt.Errorf("%w: created as %q", ErrTransition, s)
	}
	*t = *e.Created.Clone()
	t.Status.At, t.CreatedAt, t.UpdatedAt = e.At, e.At, e.At
	t.Artifacts, t.Seq, t.Revision = nil, e.Seq, revision
	return nil
}

// mayMove tells whether a task in state from may be moved to state to.
func mayMove(from, to State) bool {
	switch to {
	case StateSubmitted:
		return from.Interrupted()
	case StateWorking:
		return true // from submitted, a pause, or working again with a new message
	case StateInputRequired, StateAuthRequired, StateCompleted, StateFailed, StateCanceled, StateRejected:
		return true
	}
	return false
}

// applyStatus sets the status. What the agent says at a pause or at the end is
// part of the conversation and joins the history; its words while working are
// progress, which the next word replaces.
func (t *Task) applyStatus(e Event) {
	if t.Status.State.Interrupted() && !e.Status.State.Settled() {
		t.Turn = t.nextTurn()
	}
	t.Status = *e.Status
	t.Status.At = e.At
	if t.Status.State.Settled() && t.Status.Message != nil {
		t.History = append(t.History, *t.Status.Message)
	}
}

// applyArtifact merges a chunk. An append to an artifact not seen before is
// kept as its first chunk: losing the text would be worse than a peer's slip.
func (t *Task) applyArtifact(c ArtifactChunk) {
	for i := len(t.Artifacts) - 1; i >= 0; i-- {
		a := &t.Artifacts[i]
		if a.ID != c.Artifact.ID {
			continue
		}
		if !c.Append {
			*a = c.Artifact
			a.Parts = append([]Part(nil), c.Artifact.Parts...)
			return
		}
		a.Parts = append(a.Parts, c.Artifact.Parts...)
		a.Streamed = true
		if c.Artifact.Name != "" {
			a.Name = c.Artifact.Name
		}
		if c.Artifact.Description != "" {
			a.Description = c.Artifact.Description
		}
		if c.Artifact.Metadata != nil {
			a.Metadata = c.Artifact.Metadata
		}
		return
	}
	n := c.Artifact
	n.Parts = append([]Part(nil), c.Artifact.Parts...)
	t.Artifacts = append(t.Artifacts, n)
}
