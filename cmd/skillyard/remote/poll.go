package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client/pending"
)

// pollFlags are those of poll.
type pollFlags struct {
	all, wait bool
	interval  time.Duration
	showing
}

func pollCommand(sh Shell) *cobra.Command {
	var f pollFlags
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "poll [ID]",
		Short: "Ask what became of a task, and collect its answer",
		Long: `Ask the agent of a task once what became of it, and print its answer if there is one.
The task is named by its id, the beginning of it, or the ref that pending shows. Without
an id it is the task that was sent last and is pending, of the agent if one is named.

The exit code says the state: 0 completed, 3 failed or rejected, 4 the agent asks for
input, 5 canceled, 7 it asks for authorisation, 8 it is still at work. An agent that
cannot be reached leaves the task pending; a task that the agent does not know is lost.

If the answer to a send never came, poll finds out whether the agent has the task, as
far as that can be found out.`,
		Example: `  skillyard poll
  skillyard poll --agent reports
  skillyard poll --wait --timeout 10m 0190c2b7
  skillyard poll --all`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, s *session, args []string) error {
		if f.all {
			if len(args) > 0 {
				return usage("--all polls every pending task; it takes no id", "")
			}
			return s.pollAll(ctx, &f)
		}
		t, err := s.pollee(ctx, args)
		if err != nil {
			return err
		}
		return s.poll(ctx, t, &f)
	})
	cmd.Flags().BoolVar(&f.all, "all", false, "ask for every pending task, and print a table")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "go on until the task has ended or asks for something")
	intervalFlag(cmd, &f.interval)
	f.showing.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("all", "save")
	s.completeTasks(cmd, 1)
	return cmd
}

// pollee is the task that is meant: the one that is named, or the newest.
func (s *session) pollee(ctx context.Context, args []string) (*task, error) {
	if len(args) > 0 {
		return s.find(ctx, args[0])
	}
	f := pending.Filter{}
	if s.f.agent != "" {
		a, err := s.named(s.f.agent)
		if err != nil {
			return nil, err
		}
		f.AgentURL = a.url
	}
	e, err := s.newest(ctx, f)
	if errors.Is(err, pending.ErrNone) {
		of := ""
		if f.AgentURL != "" {
			of = " at " + f.AgentURL
		}
		return nil, failure("no task is pending"+of, s.instead(ctx))
	}
	if err != nil {
		return nil, err
	}
	s.say("task %s: %s\n", nameOf(e), line(e.Prompt, 60))
	return s.taskOf(ctx, e)
}

// newest is the pending entry that was sent last: of those that the agent is known to
// have, else of those whose send was never answered.
func (s *session) newest(ctx context.Context, f pending.Filter) (pending.Entry, error) {
	e, err := s.registry.Newest(ctx, f)
	if !errors.Is(err, pending.ErrNone) {
		return e, err
	}
	list, fault := s.registry.Pending(ctx, f)
	if fault != nil || len(list) == 0 {
		return e, errors.Join(fault, err)
	}
	return s.registry.Get(ctx, list[0].Ref) // lists have no message, which may have to be sent again
}

// poll asks for one task and shows it.
func (s *session) poll(ctx context.Context, t *task, f *pollFlags) error {
	if t.entry.Ended() {
		return s.kept(t.entry, f.showing)
	}
	if t.sending() {
		if err := s.recover(ctx, t); err != nil {
			return err
		}
		if t.entry.Ended() {
			return s.kept(t.entry, f.showing)
		}
	}
	var got *a2a.Task
	var err error
	if f.wait {
		got, err = s.wait(ctx, t, f.interval)
	} else {
		got, err = s.get(ctx, t, nil)
	}
	if err != nil {
		return s.later(ctx, t, err)
	}
	if !got.Status.State.Settled() {
		if s.f.output != "table" {
			return s.show(t, got, showing{})
		}
		s.sayState(t, got)
		return ended(got.Status.State)
	}
	return s.shown(ctx, t, got, f.showing)
}

// polling is how many tasks are asked for at a time.
const polling = 8

// pollAll asks for every pending task, and prints what is known then.
func (s *session) pollAll(ctx context.Context, f *pollFlags) error {
	filter, err := s.filter()
	if err != nil {
		return err
	}
	list, err := s.registry.Pending(ctx, filter)
	if err == nil {
		err = s.several(list)
	}
	if err != nil {
		return err
	}
	tasks := make([]*task, len(list))
	for i, e := range list {
		if e.Sending() { // lists have no message, which may have to be sent again
			if e, err = s.registry.Get(ctx, e.Ref); err != nil {
				return err
			}
		}
		if tasks[i], err = s.taskOf(ctx, e); err != nil {
			return err
		}
	}
	faults := make([]error, len(list))
	slots := make(chan struct{}, polling)
	var wg sync.WaitGroup
	for i, t := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			faults[i] = s.pollOne(ctx, t, f)
		})
	}
	wg.Wait()
	for i, t := range tasks {
		if faults[i] != nil {
			s.say("task %s: %v\n", t.name(), explained(faults[i], ""))
		}
		list[i] = t.entry
	}
	if err := s.printEntries(list); err != nil {
		return err
	}
	for _, fault := range faults {
		if fault != nil {
			x := explained(fault, "").(*Exit)
			return &Exit{Code: x.Code}
		}
	}
	return nil
}

func (s *session) pollOne(ctx context.Context, t *task, f *pollFlags) error {
	if t.sending() {
		if err := s.recover(ctx, t); err != nil || t.entry.Ended() {
			return err
		}
	}
	if f.wait {
		_, err := s.wait(ctx, t, f.interval)
		return err
	}
	_, err := s.get(ctx, t, nil)
	return err
}
