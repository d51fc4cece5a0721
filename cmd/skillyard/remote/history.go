package remote

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/client/pending"
)

// historyFlags are those of history.
type historyFlags struct {
	limit int
	prune string
	showing
}

func historyCommand(sh Shell) *cobra.Command {
	var f historyFlags
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "history [ID]",
		Short: "Show what ended, and its answers again",
		Long: `List the tasks that have ended, the last one first, or show the answer of one again.
Answers are kept here; no agent is asked. The exit code of history ID is that of poll.

--prune deletes what ended longer ago than a time, such as 30d or 12h.`,
		Example: "  skillyard history --limit 5\n  skillyard history 0190c2b7\n  skillyard history --prune 30d",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, s *session, args []string) error {
		switch {
		case f.prune != "" && len(args) > 0:
			return usage("--prune takes no id", "drop one task with: skillyard pending --forget "+line(args[0], 80))
		case f.prune != "":
			return s.prune(ctx, f.prune)
		case len(args) > 0:
			return s.again(ctx, args[0], f.showing)
		}
		filter, err := s.filter()
		if err != nil {
			return err
		}
		list, err := s.registry.History(ctx, filter, f.limit)
		if err != nil {
			return err
		}
		return s.printEntries(list)
	})
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how `many` at most; 0 for all")
	cmd.Flags().StringVar(&f.prune, "prune", "", "delete what ended longer ago than this `time`")
	f.showing.add(cmd)
	s.completeArgs(cmd, 1, s.endedIDs)
	return cmd
}

func (s *session) prune(ctx context.Context, text string) error {
	d, err := parseAge(text)
	if err != nil {
		return usage("--prune: "+err.Error(), "")
	}
	n, err := s.registry.Prune(ctx, time.Now().Add(-d))
	s.say("%d deleted\n", n)
	return err
}

// again shows an answer that is kept.
func (s *session) again(ctx context.Context, id string, how showing) error {
	f, err := s.filter()
	if err != nil {
		return err
	}
	e, err := s.registry.Find(ctx, id, f)
	switch {
	case errors.Is(err, pending.ErrNone):
		return s.unknown(ctx, id)
	case err != nil:
		return err
	case !e.Ended():
		return failure("task "+quoted(nameOf(e))+" is pending: "+stateOf(e), "ask for it with: skillyard poll "+word(nameOf(e)))
	}
	return s.kept(e, how)
}

// kept shows what is known of an entry that has ended.
func (s *session) kept(e pending.Entry, how showing) error {
	if e.Answer == nil {
		why := "was not sent"
		if e.Lost {
			why = "is lost: the agent does not know it any more"
		}
		hint := e.LastError
		return failure("task "+quoted(nameOf(e))+" "+why, hint)
	}
	c, err := s.clientOf(e)
	if err != nil {
		return err
	}
	s.say("task %s ended %s ago; this is the answer that was kept\n", nameOf(e), age(time.Now(), e.EndedAt))
	return s.show(&task{entry: e, id: e.TaskID, client: c}, e.Answer, how)
}
