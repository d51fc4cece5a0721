package a2a

import (
	"encoding/json"
	"time"
)

// TaskID names a task. Ids made by the server are UUIDs; the EMM dialect lets
// the client choose one (see ValidTaskID).
type TaskID string

// ContextID names a conversation: tasks of one caller that belong together.
type ContextID string

// SkillID names a skill of this server.
type SkillID string

// State is the state of a task, in the spelling of A2A 0.3 (§ TaskState).
type State string

// The states of a task. The zero State means "no task yet".
const (
	StateSubmitted     State = "submitted"
	StateWorking       State = "working"
	StateInputRequired State = "input-required"
	StateAuthRequired  State = "auth-required"
	StateCompleted     State = "completed"
	StateFailed        State = "failed"
	StateCanceled      State = "canceled"
	StateRejected      State = "rejected"
)

// StateUnknown is what a client has for the state of a remote agent's task if the agent
// names one that the protocol does not have, or none. No task of this server is in it, and
// it is not terminal: who waits asks again, but not for ever.
const StateUnknown State = "unknown"

// states is in the order of the protocol's enum.
var states = [...]State{
	StateSubmitted, StateWorking, StateCompleted, StateFailed,
	StateCanceled, StateInputRequired, StateRejected, StateAuthRequired,
}

// States returns every state a task can be in, in the order of the protocol's
// enum (TASK_STATE_SUBMITTED first).
func States() []State { return append([]State(nil), states[:]...) }

// Terminal reports whether the state is final: no event may follow it.
func (s State) Terminal() bool {
	switch s {
	case StateCompleted, StateFailed, StateCanceled, StateRejected:
		return true
	}
	return false
}

// Interrupted reports whether the task waits for its client (A2A 1.0 §3.2.2).
func (s State) Interrupted() bool {
	return s == StateInputRequired || s == StateAuthRequired
}

// Settled reports whether a blocking call is over: terminal or interrupted.
func (s State) Settled() bool { return s.Terminal() || s.Interrupted() }

// Status is what a task is at, since when, and what it says about it.
type Status struct {
	State State `json:"state"`
	// Message is the agent's word on the state: the question of an
	// input-required task, the reason of a failed one. It may be nil.
	Message *Message `json:"message,omitempty"`
	// Code is the machine-readable reason of a failed task (see Code), else "".
	Code Code      `json:"code,omitempty"`
	At   time.Time `json:"at"`
}

// Task is a snapshot: the fold of its events up to and including Seq.
// A Task that was handed out is never changed; code that needs to change one
// works on its own Clone.
type Task struct {
	ID        TaskID    `json:"id"`
	ContextID ContextID `json:"contextId"`
	// Skill is the skill that does the work; "" when the request named an
	// unknown one (the task is then born failed).
	Skill SkillID `json:"skill,omitempty"`
	// SkillSource says which part of the request chose the skill
	// ("params.skillId", "default", …); see skills.Select.
	SkillSource string `json:"skillSource,omitempty"`
	// Dialect is the name of the wire dialect that created the task.
	Dialect   string     `json:"dialect,omitempty"`
	Status    Status     `json:"status"`
	History   []Message  `json:"history,omitempty"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// Warnings are remarks on the request that did not stop it, such as
	// ignored keys. They are shown in the task's metadata.
	Warnings []string `json:"warnings,omitempty"`
	// Metadata is a JSON object of the skill's own, or nil. It is passed
	// through to clients byte for byte.
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	CreatedAt time.Time       `json:"createdAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
	// Seq numbers the last event folded in; the first event of a task is 1.
	// It counts on over revisions.
	Seq int64 `json:"seq"`
	// Revision counts how often the task was run again under the same id
	// (EMM dialect only); 0 for the first run.
	Revision int `json:"revision,omitempty"`
	// Turn is the index in History of the user's message that the present run works
	// on. Leaving a pause moves it to the next one.
	Turn int `json:"turn,omitempty"`
	// Fingerprint identifies the request that made this revision, so that a
	// repeated submit is told from a different one under the same id.
	Fingerprint string `json:"fingerprint,omitempty"`

	// QueuePlace is the place in the skill's queue, 1 being next; 0 when the
	// task does not wait. It is filled in on reads and never stored.
	QueuePlace int `json:"-"`
}

// Clone returns a copy that shares no slice with t that Apply could grow or
// change. Message and part contents, which nothing ever changes, are shared.
func (t *Task) Clone() *Task {
	c := *t
	c.History = append([]Message(nil), t.History...)
	c.Artifacts = make([]Artifact, len(t.Artifacts))
	for i, a := range t.Artifacts {
		a.Parts = append([]Part(nil), a.Parts...)
		c.Artifacts[i] = a
	}
	if len(c.Artifacts) == 0 {
		c.Artifacts = nil
	}
	c.Warnings = append([]string(nil), t.Warnings...)
	return &c
}

// TurnMessage returns the message the present turn works on; an empty one if there
// is none.
func (t *Task) TurnMessage() Message {
	if t.Turn < len(t.History) {
		return t.History[t.Turn]
	}
	return Message{Role: RoleUser}
}

// nextTurn returns the index of the first user's message behind the present
// turn's, or the present one if there is none.
func (t *Task) nextTurn() int {
	for i := t.Turn + 1; i < len(t.History); i++ {
		if t.History[i].Role == RoleUser {
			return i
		}
	}
	return t.Turn
}

// Unanswered reports whether the history holds a user's message that no turn has
// taken up.
func (t *Task) Unanswered() bool { return t.nextTurn() != t.Turn }

// Now is the time as Skillyard keeps it: UTC, whole milliseconds, so that a
// stored, sent and compared timestamp are one value (A2A 1.0 §5.6.1).
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
