package a2a

import "time"

// Event is one entry of a task's log. Exactly one of its bodies is set.
type Event struct {
	// Seq numbers the events of a task from 1 without gaps.
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`

	// Created starts a task, or a new revision of an ended one. Its History
	// holds the user's message; it has no artifacts.
	Created *Task `json:"created,omitempty"`
	// Status moves the task to another state (or repeats working with a new message).
	Status *Status `json:"status,omitempty"`
	// Artifact adds output.
	Artifact *ArtifactChunk `json:"artifact,omitempty"`
	// Message adds a user's further message to the history.
	Message *Message `json:"message,omitempty"`
}

// StatusEvent returns an event that moves a task to state, with an optional
// agent message. Seq and At are set by whoever appends it.
func StatusEvent(state State, msg *Message) Event {
	return Event{Status: &Status{State: state, Message: msg}}
}

// ArtifactEvent returns an event that adds the whole artifact a.
func ArtifactEvent(a Artifact) Event {
	return Event{Artifact: &ArtifactChunk{Artifact: a, Last: true}}
}
