package remote

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

func cancelCommand(sh Shell) *cobra.Command {
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "cancel ID",
		Short: "Ask an agent to end a task",
		Long: `Ask the agent to end a task. The exit code is 0 if it is canceled, or the agent says
that it will be; else 1.`,
		Example: "  skillyard cancel 0190c2b7",
		Args:    anID(1),
	}, func(ctx context.Context, s *session, args []string) error {
		t, err := s.find(ctx, args[0])
		if err != nil {
			return err
		}
		return s.cancel(ctx, t)
	})
	s.completeTasks(cmd, 1)
	return cmd
}

func (s *session) cancel(ctx context.Context, t *task) error {
	if t.entry.Ended() {
		return failure("task "+quoted(t.name())+" has ended: "+stateOf(t.entry), "see its answer with: skillyard history "+word(t.name()))
	}
	if t.id == "" {
		if err := s.recover(ctx, t); err != nil {
			return err
		}
	}
	got, err := t.client.Cancel(ctx, t.id)
	var e *client.Error
	if errors.As(err, &e) && e.Kind == client.KindRefused {
		// Most often it has ended in the meantime, which a read shows.
		if now, readErr := s.get(ctx, t, nil); readErr == nil && now.Status.State.Terminal() {
			return failure("task "+quoted(t.name())+" had ended before: "+string(now.Status.State), "see its answer with: skillyard history "+word(t.name()))
		}
		return err
	}
	if got, err = s.saw(ctx, t, got, err); err != nil {
		return s.later(ctx, t, err)
	}
	if s.f.output != "table" {
		if err := s.encode(t.result(got)); err != nil {
			return err
		}
	}
	switch state := got.Status.State; {
	case state == a2a.StateCanceled:
		s.say("task %s is canceled\n", t.name())
	case state.Terminal():
		return failure("task "+quoted(t.name())+" had ended before: "+string(state), "see its answer with: skillyard history "+word(t.name()))
	default:
		s.say("the agent was asked to cancel task %s; so far it is %s. See with: skillyard poll %s\n", t.name(), state, word(t.name()))
	}
	return nil
}
