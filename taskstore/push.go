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
// nothing when nobody wants it: appending an event touches no config. Deliveries of
// one config are in order because the cursor only moves forward.
//
//	due ──ClaimPush──► claimed ──FinishPush──► due    behind: at once, or after a wait
//	 ▲                    │                ├──► idle   caught up
//	 └──the claim ran out─┘                ├──► done   caught up, and the task has ended
//	                                       └──► disabled
//	idle ──ClaimPush with the task's id, once it is behind──► claimed
//
// A delivery is leased by moving its due time: a process that dies with one under
// way delivers late, and perhaps twice, but never not at all.
//
// A config that has caught up with its task is idle: it has no due time, so that
// looking for due configs does not meet it. Since an append does not wake it, who
// commits an event must call ClaimPush with the task's id afterwards, and who starts
// up must do so for every task of PushTasks.
type Pushes interface {
	// PutPush adds a push config to a task of the scope, or replaces the one of the
	// same id, which keeps its place and its dead letters but loses a claim under way.
	// The cursor starts at after (of an existing config too). The config is active and
	// due at once if that is behind the log, else idle, or done if the task has ended.
	// ErrNotFound if there is no such task, ErrTooMany if the task would have more than
	// max, in whatever state.
	PutPush(ctx context.Context, scope a2a.Scope, c a2a.PushConfig, after int64, max int) error

	// PushList returns the push configs of a task in the order they were made, whatever
	// their state. ErrNotFound if there is no such task.
	PushList(ctx context.Context, scope a2a.Scope, id a2a.TaskID) ([]a2a.PushConfig, error)

	// DeletePush removes a push config with its dead letters; it is no error if there
	// is none. ErrNotFound if there is no such task.
	DeletePush(ctx context.Context, scope a2a.Scope, id a2a.TaskID, config string) error

	// PushTasks returns the active push configs of all scopes, oldest first, after the
	// given PushJob.Row of the last one seen (0 at first). A task comes once for each
	// of its configs. Nothing is claimed.
	PushTasks(ctx context.Context, after int64, limit int) ([]PushJob, error)

	// ClaimPush takes up active configs that are behind their task's log and makes them
	// due at until. Which ones depends on id:
	//
	//   - "" takes those of any task that have a due time not after now: new ones, those
	//     whose claim ran out, and those that have waited long enough after a failure.
	//     It never takes an idle one, even if that is behind by now.
	//   - A task's id takes the same of that task, and its idle ones.
	//
	// Neither takes one whose due time is after now, be it that somebody else has it or
	// that it waits after a failure. Oldest due first, idle ones last; those due at the
	// same time in the order they were made. None, or an unknown id, is no error.
	ClaimPush(ctx context.Context, id a2a.TaskID, now, until time.Time, limit int) ([]PushJob, error)

	// FinishPush records how far a claimed job came; see PushOutcome. Without Keep the
	// claim is over. ErrLeaseLost if it was over already, or the config was deleted,
	// replaced, revived or claimed by somebody else since; nothing is written then.
	FinishPush(ctx context.Context, j PushJob, o PushOutcome) error

	// DeadPushes returns dead letters of all scopes, those stored last first, and, with
	// id, of one task only.
	DeadPushes(ctx context.Context, id a2a.TaskID, limit int) ([]DeadPush, error)

	// Pushing returns active and disabled configs of all scopes with their state,
	// oldest due first, then those without a due time in the order they were made.
	// Nothing is claimed.
	Pushing(ctx context.Context, limit int) ([]PushJob, error)

	// RevivePush makes dead letters due again: the config (of any scope) is active, its
	// cursor goes back to before its oldest dead letter, its dead letters are removed,
	// and a claim under way is lost. A disabled config without dead letters goes on
	// where it stopped. An empty config means all of the task. It returns how many
	// configs it changed.
	RevivePush(ctx context.Context, id a2a.TaskID, config string) (int, error)
}

// PushState says whether a config still gets deliveries.
type PushState int

// The states of a push config.
const (
	PushActive PushState = iota
	// PushDone: the task has ended and everything was delivered. If the task is
	// submitted again, its new events make the config active again.
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
	Attempts int
	// Due is when the config may be claimed next; of a claimed job, when the claim
	// ends. Zero is as soon as there is something to deliver.
	Due       time.Time
	LastError string
	// Row and Fence are the store's own. A job that was not claimed has no Fence.
	Row, Fence int64
}

// PushOutcome is what became of a job.
type PushOutcome struct {
	// Cursor is the last event dealt with. It never moves back, nor beyond the log.
	Cursor   int64
	Attempts int
	// Due is when to go on if the config is still behind the log, zero for at once.
	Due time.Time
	// State is PushDisabled to end it. Else it does not matter: the store makes the
	// config PushDone if it has caught up with a task that has ended, and PushActive
	// otherwise, since an event may have been stored that the caller does not know of.
	State     PushState
	LastError string
	// Keep says that the job is not over: the claim, Due and State stay as they are.
	Keep bool
	// Dead, if not nil, is kept as a dead letter of the job's task and config, whatever
	// its own TaskID and Config say.
	Dead *DeadPush
}

// Settle is for stores. It returns the outcome as it is to be kept for a config
// whose cursor was at the given place, of a task whose last event is seq, and whether
// the config has no due time.
func (o PushOutcome) Settle(cursor, seq int64, ended bool) (_ PushOutcome, idle bool) {
	o.Cursor = min(max(o.Cursor, cursor), seq)
	switch {
	case o.State == PushDisabled:
	case o.Cursor < seq:
		o.State = PushActive
		return o, false
	case ended:
		o.State = PushDone
	default:
		o.State = PushActive
	}
	o.Due = time.Time{}
	return o, true
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
