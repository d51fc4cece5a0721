package remote

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/client/pending"
)

func pendingCommand(sh Shell) *cobra.Command {
	var forget string
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "pending",
		Short: "List what was sent and not collected yet",
		Long: `List the tasks that were sent from here and have not ended as far as is known, the
newest first (of the agent, if --agent is given). No agent is asked.

"sending" is a task whose send was never answered, since the connection or the program
broke in between: poll finds out whether the agent has it.`,
		Example: "  skillyard pending\n  skillyard pending --agent reports -o json\n  skillyard pending --forget 0190c2b7",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, s *session, _ []string) error {
		f, err := s.filter()
		if err != nil {
			return err
		}
		if forget != "" {
			return s.forget(ctx, forget, f)
		}
		list, err := s.registry.Pending(ctx, f)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			s.say("nothing is pending\n")
		}
		return s.printEntries(list)
	})
	cmd.Flags().StringVar(&forget, "forget", "", "drop the task with this `id` from the list, and its answer")
	s.complete(cmd, "forget", s.taskIDs)
	return cmd
}

// forget drops an entry, pending or ended.
func (s *session) forget(ctx context.Context, id string, f pending.Filter) error {
	e, err := s.registry.Find(ctx, id, f)
	switch {
	case errors.Is(err, pending.ErrNone):
		return s.unknown(ctx, id)
	case err != nil:
		return err
	}
	if err := s.registry.Forget(ctx, e.Ref); err != nil {
		return err
	}
	if e.Ended() {
		s.say("task %s and its answer are forgotten\n", nameOf(e))
	} else {
		s.say("task %s is forgotten; its agent may still work on it\n", nameOf(e))
	}
	return nil
}
