package remote

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

const (
	// underWay is how long a send may be under way in another process, so that it is no
	// proof that the agent does not know the task yet.
	underWay = 2 * time.Minute
	// keyLife is how long an agent is trusted to remember an Idempotency-Key.
	keyLife = 24 * time.Hour
	// listPages bounds a search in the tasks of an agent, and listSkew is how much the
	// clocks of the two may differ.
	listPages = 20
	listSkew  = 10 * time.Minute
)

// recover finds out whether the agent has the task of a send that was never answered. If
// it does, t has it then; if it does not, the entry has ended as not sent. What cannot be
// found out is an error that says what to do.
//
// An agent whose ids we choose is asked for the task; one that honours Idempotency-Key
// gets the message again, which then is the same send; one that lists its tasks is asked
// for the list, in which the message has its id.
func (s *session) recover(ctx context.Context, t *task) error {
	e := t.entry
	iface, err := t.client.Interface(ctx)
	if err != nil {
		return s.later(ctx, t, err)
	}
	t.iface = iface
	age := time.Since(e.CreatedAt)
	switch {
	case t.id != "" && e.MessageID != "" && iface.Dialect == client.DialectEMM:
		got, err := t.client.Get(ctx, t.id, nil)
		if client.KindOf(err) == client.KindTaskNotFound && age > underWay {
			return s.notTaken(ctx, t)
		}
		return s.found(ctx, t, got, err)
	case iface.Idempotent && len(e.Message) > 0 && age < keyLife:
		var m client.Message
		if err := json.Unmarshal(e.Message, &m); err != nil {
			return err
		}
		s.notice(client.Notice{Op: a2a.OpSend, Text: "sending the message again under its key"})
		answer, err := t.client.Send(ctx, m, client.SendOptions{Key: e.Key})
		if err != nil {
			// Not even a refusal says what became of the first one.
			return s.found(ctx, t, nil, err)
		}
		if answer.Message != nil {
			e, err := s.registry.Answered(context.WithoutCancel(ctx), e.Ref, answer.Message, answer.ContextID)
			t.entry = e
			return err
		}
		return s.accepted(ctx, t, answer.Task)
	}
	got, all, err := s.search(ctx, t)
	switch {
	case client.KindOf(err) == client.KindUnsupported:
		return failure("the answer to this send never came, and this agent cannot be asked for it",
			"see at the agent whether it has the task; then send again, and drop this entry with: skillyard pending --forget "+e.Ref)
	case err == nil && got == nil && all && age > underWay:
		return s.notTaken(ctx, t)
	case err == nil && got == nil:
		return failure("the answer to this send never came, and the agent lists no task of it so far",
			"it may still be under way. Try again with: skillyard poll "+e.Ref)
	}
	return s.found(ctx, t, got, err)
}

// found takes the task that a search brought.
func (s *session) found(ctx context.Context, t *task, got *a2a.Task, err error) error {
	if err != nil {
		if _, fault := s.registry.Failed(context.WithoutCancel(ctx), t.entry.Ref, err.Error()); fault != nil {
			err = errors.Join(err, fault)
		}
		return explained(err, "it is still not known whether the agent has the task. Try again with: skillyard poll "+t.entry.Ref)
	}
	return s.accepted(ctx, t, got)
}

// notTaken ends the entry of a send that the agent knows nothing of.
func (s *session) notTaken(ctx context.Context, t *task) error {
	if _, err := s.registry.Rejected(context.WithoutCancel(ctx), t.entry.Ref, "the answer never came, and the agent has no such task"); err != nil {
		return err
	}
	return failure("the agent has no task of this send", "nothing was done; send it again")
}

// search looks for the task of a message in the agent's list, which has to be about as
// new as the entry. all says that the list was read to its end and shows the messages of
// each task, so that what was not found is not there.
func (s *session) search(ctx context.Context, t *task) (got *a2a.Task, all bool, err error) {
	history := 100
	req := a2a.ListRequest{
		ContextID: t.entry.ContextID, PageSize: 100, StatusAfter: t.entry.CreatedAt.Add(-listSkew),
		View: a2a.View{HistoryLength: &history, OmitArtifacts: true},
	}
	all = true
	for range listPages {
		page, err := t.client.List(ctx, req)
		if err != nil {
			return nil, false, err
		}
		for _, got := range page.Tasks {
			all = all && len(got.History) > 0
			for _, m := range got.History {
				if m.ID == t.entry.MessageID {
					// The list has no artifacts, without which nothing counts as the answer.
					whole, err := t.client.Get(ctx, got.ID, nil)
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
