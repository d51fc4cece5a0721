package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/client/recovery"
)

// recover finds out what became of a send whose answer never came, and returns its entry
// as it is then. The task is nil if it was found out by another process meanwhile. What
// cannot be found out is a note or a trouble that says what to do.
func (s *Server) recover(ctx context.Context, k known) (known, *a2a.Task, error) {
	// Lists lack the message, and another process may have the answer by now.
	e, err := s.Registry.Get(ctx, k.Ref)
	switch {
	case errors.Is(err, pending.ErrNone):
		return known{}, nil, s.unknown(ctx, k.Ref, nil)
	case err != nil:
		return known{}, nil, err
	case !e.Sending():
		return known{e, k.agent}, nil, nil
	}
	k.Entry = e
	record := context.WithoutCancel(ctx)
	got, err := recovery.Find(ctx, k.agent.Client, e, func() {
		s.Log.Info().Str("agent", k.agent.Name).Str("ref", e.Ref).Msg("send again under its key")
	})
	if err != nil {
		words := s.words(k.agent, err)
		if _, ferr := s.Registry.Failed(record, e.Ref, string(words)); ferr != nil {
			return known{}, nil, ferr
		}
		return known{}, nil, words.with("It is still not known whether it has this work, which stays in the list: look again later with a2a_poll.")
	}
	task := got.Task
	switch got.Fate {
	case recovery.Taken:
		e, err = s.recordFound(record, k, task)
	case recovery.Answered:
		e, err = s.Registry.Answered(record, e.Ref, got.Message, got.ContextID)
	case recovery.NotTaken:
		e, err = s.Registry.Rejected(record, e.Ref, "the answer never came, and the agent has no such task")
		if err == nil && e.NotSent() {
			err = troublef("%s does not have this work: nothing was done. Send it again if it is still needed.", k.agent.Name)
		}
	default:
		err = s.notFound(record, k, got.Fate)
	}
	if err != nil {
		return known{}, nil, err
	}
	// What was seen first counts, be it by another process.
	if e.Ended() {
		task = e.Answer
	}
	return known{e, k.agent}, task, nil
}

// recordFound records the task of a send, and how its agent is reached.
func (s *Server) recordFound(ctx context.Context, k known, t *a2a.Task) (pending.Entry, error) {
	iface, err := k.agent.Client.Interface(ctx) // which is known, since the task came by it
	if err != nil {
		return pending.Entry{}, err
	}
	how, err := json.Marshal(iface)
	if err != nil {
		return pending.Entry{}, err
	}
	return s.Registry.Accepted(ctx, k.Ref, t, how)
}

// notFound says that it is not known what became of a send, and what to do.
func (s *Server) notFound(ctx context.Context, k known, fate recovery.Fate) error {
	switch {
	case fate == recovery.Unsettled:
		return note(fmt.Sprintf("%s lists no task of %s so far. It may still be under way: look again in two minutes with a2a_poll.", k.agent.Name, k.Ref))
	case fresh(k, a2a.Now()):
		return note(fmt.Sprintf("%s is being sent just now, perhaps by another program. Look again in two minutes.", k.Ref))
	}
	words := troublef("%s cannot be asked whether it has the work of %s. Send it again if doing it twice does no harm, and drop this one with a2a_cancel.", k.agent.Name, k.Ref)
	if _, err := s.Registry.Failed(ctx, k.Ref, string(words)); err != nil {
		return err
	}
	return words
}
