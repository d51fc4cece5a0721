package a2a

import (
	"encoding/json"
	"time"
)

// Op is an operation of the engine. Operations have one name everywhere: here,
// as engine methods, in tests, metrics and logs.
type Op string

// The operations.
const (
	OpSend         Op = "Send"
	OpGet          Op = "Get"
	OpList         Op = "List"
	OpCancel       Op = "Cancel"
	OpExtendedCard Op = "ExtendedCard"
	OpStream       Op = "Stream"
	OpSubscribe    Op = "Subscribe"
	OpSetPush      Op = "SetPush"
	OpGetPush      Op = "GetPush"
	OpListPush     Op = "ListPush"
	OpDeletePush   Op = "DeletePush"
)

// Reads reports whether the operation only reads (the rate limit's read class).
func (o Op) Reads() bool {
	switch o {
	case OpGet, OpList, OpExtendedCard, OpSubscribe, OpGetPush, OpListPush:
		return true
	}
	return false
}

// SkillHint is one place in a request that may name a skill.
type SkillHint struct {
	// Source is the place, such as "params.skillId".
	Source string
	// Value is the raw JSON value found there.
	Value json.RawMessage
}

// SendRequest asks for work: a new task, or the next turn of one.
type SendRequest struct {
	Message Message
	// TaskID names an existing task to continue; "" makes a new one.
	TaskID TaskID
	// NewTaskID is a client-chosen id for a new task (EMM and 0.1); "" lets the
	// server make one.
	NewTaskID TaskID
	// Continues lets NewTaskID name a task that waits for its client, which the
	// message then answers, in whatever context the task is.
	Continues bool
	// ContextID is the conversation; "" lets the server infer or make one.
	ContextID ContextID
	// Skills are the places that may name the skill, in order of precedence.
	Skills []SkillHint
	// OperationNamesSkill lets an "operation" in a JSON part that is a skill's
	// id choose it, as the message dialects allow.
	OperationNamesSkill bool
	// Blocking waits until the task is terminal or interrupted.
	Blocking bool
	// MaxWait caps the wait of a blocking call; 0 means no cap.
	MaxWait time.Duration
	// Dialect is the name of the dialect the request came in.
	Dialect string
	// AcceptedOutputModes are media types the client can use; nil accepts all.
	AcceptedOutputModes []string
	// Push is the inline push config, or nil. Its TaskID is "" (the task may not
	// exist yet).
	Push *PushConfig
	// Extensions are the extension URIs the client asked to activate, declared or not.
	Extensions []string
	// IdempotencyKey is the Idempotency-Key header, or "".
	IdempotencyKey string
	View           View
}

// SendResult is what a send answers: exactly one of a task and a message.
type SendResult struct {
	Task    *Task
	Message *Message
	// ContextID goes with Message, and so does TaskID: the id that the task has whose
	// place the message takes.
	ContextID ContextID
	TaskID    TaskID
}

// View says which parts of a task an answer shows. Reads never change a task.
type View struct {
	// HistoryLength is the largest number of most recent messages; nil shows
	// all, 0 none.
	HistoryLength *int
	// OmitArtifacts leaves the artifacts out.
	OmitArtifacts bool
	// Sequence puts the number of the task's last event into its metadata (see
	// ExtEventSequence).
	Sequence bool `json:",omitempty"`
}

// GetRequest asks for one task.
type GetRequest struct {
	ID TaskID
	// Wait is how long to wait for the task to be terminal or interrupted before it
	// is returned as it is; 0 does not wait.
	Wait time.Duration
	View View
}

// CancelRequest asks to end one task.
type CancelRequest struct {
	ID TaskID
	// Again says that cancelling a canceled task is a success, as 1.0 has it;
	// without it that is an error like for any ended task.
	Again bool
}

// ListRequest asks for a page of the caller's tasks, newest status first.
type ListRequest struct {
	ContextID   ContextID
	State       State     // "" for any
	StatusAfter time.Time // inclusive; zero for any
	PageSize    int       // 1..100; 0 means the default of 50
	PageToken   string
	View        View
}

// ListResult is a page of tasks.
type ListResult struct {
	Tasks         []*Task
	NextPageToken string // "" on the last page
	PageSize      int
	TotalSize     int
}
