package taskstore

import (
	"context"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// ErrTooMany: the task has as many push configs as it may have.
var ErrTooMany = errors.New("too many push configs")

// Pushes is the outbox of push notifications.
//
// The log of a task is its outbox: each push config has a cursor in it, the number
// of the last event that its webhook has got (or that was given up). An event is
// thereby due for delivery in the very transaction that stores it, and costs
// nothing when nobody wants it. Deliveries of one config are in order because the
// cursor only moves forward.
//
// A delivery is leased by moving its due time: a process that dies with one under
// way delivers late, and perhaps twice, but never not at all.
type Pushes interface {
	// PutPush adds a push config to a task of the scope, or replaces the one of the
	// same id. The cursor starts at after (of an existing config too); the config is
	// active and due at once. ErrNotFound if there is no such task, ErrTooMany if it
	// would be more than max.
	PutPush(ctx context.Context, scope a2a.Scope, c a2a.PushConfig, after int64, max int) error

	// PushList returns the push configs of a task in the order they were made.
	// ErrNotFound if there is no such task.
	PushList(ctx context.Context, scope a2a.Scope, id a2a.TaskID) ([]a2a.PushConfig, error)

	// DeletePush removes a push config with its dead letters; it is no error if there
	// is none. ErrNotFound if there is no such task.
	DeletePush(ctx context.Context, scope a2a.Scope, id a2a.TaskID, config string) error

	// PushTasks returns the ids of tasks with active push configs, oldest first,
	// after the given PushJob.Row of the last one seen (0 at first).
	PushTasks(ctx context.Context, after int64, limit int) ([]PushJob, error)

	// ClaimPush takes up active configs that are behind their task's log and due by
	// now, oldest due first, and makes them due at until. id limits it to one task;
	// "" means any.
	ClaimPush(ctx context.Context, id a2a.TaskID, now, until time.Time, limit int) ([]PushJob, error)

	// FinishPush records how far a claimed job came. ErrLeaseLost if the config was
	// deleted or replaced, or claimed by somebody else since; nothing is written then.
	FinishPush(ctx context.Context, j PushJob, o PushOutcome) error

	// DeadPushes returns dead letters of all scopes, newest first, and, with id, of
	// one task only.
	DeadPushes(ctx context.Context, id a2a.TaskID, limit int) ([]DeadPush, error)

	// Pushing returns active and disabled configs of all scopes with their state,
	// oldest due first.
	Pushing(ctx context.Context, limit int) ([]PushJob, error)

	// RevivePush makes dead letters due again: the config (of any scope) is active,
	// its cursor goes back to before its oldest dead letter, and its dead letters are
	// removed. An empty config means all of the task. It returns how many configs.
	RevivePush(ctx context.Context, id a2a.TaskID, config string) (int, error)
}

// PushState says whether a config still gets deliveries.
type PushState int

// The states of a push config.
const (
	PushActive PushState = iota
	// PushDone: the task has ended and everything was delivered.
	PushDone
	// PushDisabled: the webhook said that it is gone (410), or was refused for good.
	PushDisabled
)

// PushJob is a config that has deliveries to make.
type PushJob struct {
	Scope  a2a.Scope
	Config a2a.PushConfig
	State  PushState
	// Cursor is the last event dealt with, Seq the last one of the log.
	Cursor, Seq int64
	// Attempts counts the failed tries of the event after Cursor.
	Attempts  int
	Due       time.Time
	LastError string
	// Row and Fence are the store's own.
	Row, Fence int64
}

// PushOutcome is what became of a job.
type PushOutcome struct {
	Cursor    int64
	Attempts  int
	Due       time.Time
	State     PushState
	LastError string
	// Keep says that the job is not over: the claim stays as it is.
	Keep bool
	// Dead, if not nil, is kept as a dead letter.
	Dead *DeadPush
}

// DeadPush is a delivery that was given up.
type DeadPush struct {
	TaskID a2a.TaskID
	Config string
	URL    string
	// Seq is the event's number in the task's log.
	Seq      int64
	At       time.Time
	Attempts int
	Reason   string
}
