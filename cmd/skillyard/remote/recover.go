package remote

import (
	"context"
	"errors"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/recovery"
)

// recover finds out whether the agent has the task of a send that was never answered. If
// it does, t has it then; if it does not, the entry has ended as not sent. What cannot be
// found out is an error that says what to do.
func (s *session) recover(ctx context.Context, t *task) error {
	iface, err := t.client.Interface(ctx)
	if err != nil {
		return s.later(ctx, t, err)
	}
	t.iface = iface
	got, err := recovery.Find(ctx, t.client, t.entry, func() {
		s.notice(client.Notice{Op: a2a.OpSend, Text: "sending the message again under its key"})
	})
	if err != nil {
		return s.stillUnknown(ctx, t, err)
	}
	ref := t.entry.Ref
	switch got.Fate {
	case recovery.Taken:
		return s.accepted(ctx, t, got.Task)
	case recovery.Answered:
		e, err := s.registry.Answered(context.WithoutCancel(ctx), ref, got.Message, got.ContextID)
		t.entry = e
		return err
	case recovery.NotTaken:
		return s.notTaken(ctx, t)
	case recovery.Unsettled:
		return failure("the answer to this send never came, and the agent lists no task of it so far",
			"it may still be under way. Try again with: skillyard poll "+ref)
	}
	return failure("the answer to this send never came, and this agent cannot be asked for it",
		"see at the agent whether it has the task; then send again, and drop this entry with: skillyard pending --forget "+ref)
}

// stillUnknown records and explains an error that says nothing of the send.
func (s *session) stillUnknown(ctx context.Context, t *task, err error) error {
	if _, fault := s.registry.Failed(context.WithoutCancel(ctx), t.entry.Ref, err.Error()); fault != nil {
		err = errors.Join(err, fault)
	}
	return explained(err, "it is still not known whether the agent has the task. Try again with: skillyard poll "+t.entry.Ref)
}

// notTaken ends the entry of a send that the agent knows nothing of.
func (s *session) notTaken(ctx context.Context, t *task) error {
	e, err := s.registry.Rejected(context.WithoutCancel(ctx), t.entry.Ref, "the answer never came, and the agent has no such task")
	switch {
	case err != nil:
		return err
	case !e.NotSent(): // another process has found it meanwhile
		return failure("another program has found the task of this send", "ask for it with: skillyard poll "+word(nameOf(e)))
	}
	return failure("the agent has no task of this send", "nothing was done; send it again")
}
