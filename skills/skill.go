// Package skills defines what a skill is, the set of skills a server offers, and
// how a request chooses one of them.
//
// A skill is to a task what an http.Handler is to a request. The kinds of skill
// live in folders below this one; package kinds holds the one map of them.
package skills

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/skillyard/skillyard/a2a"
)

// Skill does work. It is safe for concurrent use.
type Skill interface {
	// Run works on one turn of a task. It reports progress and results through
	// emit, and it must end with a terminal or interrupted status, or with an
	// error: an *a2a.Error ends the task as failed with its code and public
	// message, any other error as failed with a fixed text. Returning nil without
	// a final status is a fault of the skill and also ends the task as failed.
	//
	// ctx is cancelled with a cause (ErrCanceled, ErrTimeout, ErrStopping,
	// ErrLeaseLost) when the run should stop; Run must then return soon, and what
	// it still emits is refused. emit must not be called after Run returned.
	Run(ctx context.Context, in Input, emit Emit) error
}

// Func adapts a function to a Skill.
type Func func(ctx context.Context, in Input, emit Emit) error

// Run calls f.
func (f Func) Run(ctx context.Context, in Input, emit Emit) error { return f(ctx, in, emit) }

// Emit reports one event of a run; its Seq and At are set by the engine. It is
// safe for concurrent use. An error means that the run is over (cancelled, out
// of time, over its limits, lease lost) and should be returned.
//
// An agent message (Event.Message with RoleAgent) answers without a task; it is
// allowed as the only event, when Input.MayReply is set.
type Emit func(a2a.Event) error

// Input is what a run gets.
type Input struct {
	// Task is the task at the start of the run. It must not be changed.
	Task *a2a.Task
	// Message is the user's message of this turn, the last one of the history.
	Message a2a.Message
	// Payload is what the skill's mapper made of Message.
	Payload json.RawMessage
	// Resume is what an earlier turn or a crashed attempt saved with Save, or nil.
	Resume json.RawMessage
	// Attempt is 1 for the first run of a turn and grows after each crash.
	Attempt int
	// Caller is who sent the message. After a restart only its scope is known.
	Caller a2a.Caller
	// Extensions are the URIs of the extensions that are active for this turn. What
	// they bring is in the metadata of Message, under their URIs; it is a client's word.
	Extensions []string
	// MayReply says that the skill may answer with a message instead of a task.
	MayReply bool
	// Save stores resume data durably before it returns; it replaces what was
	// saved before.
	Save func(resume json.RawMessage) error
}

// Causes with which a run's context is cancelled.
var (
	ErrCanceled  = errors.New("task canceled")
	ErrTimeout   = errors.New("skill timed out")
	ErrStopping  = errors.New("server is stopping")
	ErrLeaseLost = errors.New("run was taken over")
)
