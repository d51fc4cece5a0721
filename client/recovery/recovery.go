// Package recovery finds out what became of a send whose answer never came: its sender
// was killed, or the connection broke. There are three ways, in this order:
//
//	by id    an agent whose ids we choose (EMM) is asked for the task
//	by key   one that honours Idempotency-Key gets the message again under its key, which
//	         is then the same send
//	by list  one that lists its tasks is asked for the list, in which the message has its id
//
// What it refuses: it sends no message to an agent that might take it for another one,
// and gives no send up that may still be under way. It writes nothing into the registry
// and has no words for people; both are its callers' business.
package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/pending"
)

const (
	// UnderWay is how long a send may be under way in another process, so that it is no
	// proof that the agent does not know the task yet.
	UnderWay = 2 * time.Minute
	// KeyLife is how long an agent is trusted to remember an Idempotency-Key.
	KeyLife = 24 * time.Hour
	// listPages bounds a search in the tasks of an agent, and listSkew is how much the
	// clocks of the two may differ.
	listPages = 20
	listSkew  = 10 * time.Minute
)

// Fate is what became of a send.
type Fate string

// The fates of a send.
const (
	// Taken: the agent has it, as Outcome.Task.
	Taken Fate = "taken"
	// Answered: the agent answers with Outcome.Message, and has no task.
	Answered Fate = "answered"
	// NotTaken: the agent does not have it and will not get it.
	NotTaken Fate = "not_taken"
	// Unsettled: the agent does not show it so far. It may still be under way.
	Unsettled Fate = "unsettled"
	// Unknowable: the agent cannot be asked.
	Unknowable Fate = "unknowable"
)

// Outcome is what was found out.
type Outcome struct {
	Fate Fate
	// Task is set if the send was taken.
	Task *a2a.Task
	// Message and ContextID are those of a bare answer.
	Message   *a2a.Message
	ContextID a2a.ContextID
}

// Possible reports whether the agent of a send can be asked for it, by what its interface
// promised at that time. It does no I/O, and an entry of a list is enough for it.
func Possible(e pending.Entry) bool {
	var i client.Interface
	if json.Unmarshal(e.Interface, &i) != nil {
		return false // unknown, so that nothing is promised
	}
	return byID(e, i) || byKey(e, i) || i.Lists()
}

func byID(e pending.Entry, i client.Interface) bool {
	return e.TaskID != "" && e.MessageID != "" && i.Dialect == client.DialectEMM
}

func byKey(e pending.Entry, i client.Interface) bool {
	return e.Key != "" && i.Idempotent && time.Since(e.CreatedAt) < KeyLife
}

// Find finds out what became of a send. The entry has to be whole, as Registry.Get
// returns it: an entry of a list lacks the message. resendFunc is called before the
// message is sent again; it may be nil.
//
// An error is one of package client. It says nothing of the send: the agent could not be
// reached, refused to tell, or does not know a task that may still be on its way to it.
func Find(ctx context.Context, c *client.Client, e pending.Entry, resendFunc func()) (Outcome, error) {
	iface, err := c.Interface(ctx)
	if err != nil {
		return Outcome{}, err
	}
	old := time.Since(e.CreatedAt) > UnderWay
	switch {
	case byID(e, iface):
		got, err := c.Get(ctx, e.TaskID, nil)
		if client.KindOf(err) == client.KindTaskNotFound && old {
			return Outcome{Fate: NotTaken}, nil
		}
		return taken(got, err)
	case byKey(e, iface) && len(e.Message) > 0:
		return again(ctx, c, e, resendFunc)
	}
	got, all, err := search(ctx, c, e)
	switch {
	case client.KindOf(err) == client.KindUnsupported:
		return Outcome{Fate: Unknowable}, nil
	case err != nil || got != nil:
		return taken(got, err)
	case all && old:
		return Outcome{Fate: NotTaken}, nil
	}
	return Outcome{Fate: Unsettled}, nil
}

func taken(t *a2a.Task, err error) (Outcome, error) {
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Fate: Taken, Task: t}, nil
}

// again sends the message once more. Not even a refusal says what became of the first
// one.
func again(ctx context.Context, c *client.Client, e pending.Entry, resendFunc func()) (Outcome, error) {
	var m client.Message
	if err := json.Unmarshal(e.Message, &m); err != nil {
		return Outcome{}, fmt.Errorf("read the message of %s: %w", e.Ref, err)
	}
	if resendFunc != nil {
		resendFunc()
	}
	answer, err := c.Send(ctx, m, client.SendOptions{Key: e.Key})
	if err != nil {
		return Outcome{}, err
	}
	if answer.Message != nil {
		return Outcome{Fate: Answered, Message: answer.Message, ContextID: answer.ContextID}, nil
	}
	return Outcome{Fate: Taken, Task: answer.Task}, nil
}

// search looks for the task of a message in the agent's list, which has to be about as
// new as the entry. all says that the list was read to its end and shows the messages of
// each task, so that what was not found is not there.
func search(ctx context.Context, c *client.Client, e pending.Entry) (got *a2a.Task, all bool, err error) {
	history := 100
	req := a2a.ListRequest{
		ContextID: e.ContextID, PageSize: 100, StatusAfter: e.CreatedAt.Add(-listSkew),
		View: a2a.View{HistoryLength: &history, OmitArtifacts: true},
	}
	all = true
	for range listPages {
		page, err := c.List(ctx, req)
		if err != nil {
			return nil, false, err
		}
		for _, t := range page.Tasks {
			all = all && len(t.History) > 0
			for _, m := range t.History {
				if m.ID == e.MessageID {
					// The list has no artifacts, without which nothing counts as the answer.
					whole, err := c.Get(ctx, t.ID, nil)
					return whole, true, err
				}
			}
		}
		if page.NextPageToken == "" {
			return nil, all, nil
		}
		req.PageToken = page.NextPageToken
	}
	return nil, false, nil
}
