package client

import (
	"encoding/json"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// Message is what is sent: the next turn of a task, or the first of a new one.
type Message struct {
	// ID identifies the message; "" makes a UUID.
	ID    string
	Parts []a2a.Part
	// Skill names the skill that is meant, as metadata.skillId (EMM: params.skillId);
	// "" leaves the choice to the agent.
	Skill a2a.SkillID
	// TaskID continues a task, ContextID a conversation.
	TaskID    a2a.TaskID
	ContextID a2a.ContextID
	// NewTaskID is the id of a new task in the EMM dialect, where the client chooses it;
	// "" makes a UUID. The others ignore it.
	NewTaskID a2a.TaskID
	// References are tasks that the message speaks of.
	References []a2a.TaskID
	Extensions []string
	// Metadata is a JSON object, or nil.
	Metadata json.RawMessage
}

// Text returns a message with one text part.
func Text(s string) Message { return Message{Parts: []a2a.Part{a2a.TextPart(s)}} }

// SendOptions say how a message is sent. The zero value returns as soon as the agent has
// taken the message.
type SendOptions struct {
	// Blocking asks the agent to answer when the task has ended or paused. Agents cap
	// that wait, and some ignore the wish, so the answer may be a task at work.
	Blocking bool
	// HistoryLength is the largest number of messages in the answer; nil leaves it to
	// the agent.
	HistoryLength *int
	// AcceptedOutputModes are media types; nil accepts all.
	AcceptedOutputModes []string
	// Push is a webhook for the task, or nil.
	Push *a2a.PushConfig
	// Key is the Idempotency-Key of the send; "" makes a UUID.
	Key string
}

// Answer is what an agent answers to a message: exactly one of a task and a message.
type Answer struct {
	Task    *a2a.Task
	Message *a2a.Message
	// ContextID goes with Message.
	ContextID a2a.ContextID
}

// Event is one event of a stream. Exactly one of Task, Message, Status and Artifact is
// set.
type Event struct {
	// Task is the whole task as it is: the first event of most streams, and whatever
	// follows when only polling is left.
	Task *a2a.Task
	// Message is an answer without a task; the stream ends with it.
	Message  *a2a.Message
	Status   *a2a.Status
	Artifact *a2a.ArtifactChunk

	TaskID    a2a.TaskID
	ContextID a2a.ContextID
	// ID is what SubscribeOptions.After takes to go on behind this event; "" if the
	// agent numbers none.
	ID string
	// Final is the agent's word that the stream ends here (0.3).
	Final bool
}

// SubscribeOptions say where a subscription starts.
type SubscribeOptions struct {
	// After is the ID of the last event that was seen; "" starts with the task as it is.
	After string
}

// WaitOptions bound a wait. The zero value polls after 0.5 s, then ever more rarely,
// every 5 s at last, until the task ends or pauses or the context is done.
type WaitOptions struct {
	// First and Most are the first and the longest time between two polls.
	First, Most time.Duration
	// MaxErrors is how many errors in a row are waited out; default 10.
	MaxErrors int
	// OnTask is called with each answer, also those that change nothing.
	OnTask func(*a2a.Task)
	// OnError is called with each error after which the wait goes on.
	OnError func(error)

	stop func() bool
}
