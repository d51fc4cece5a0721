package remote

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/client/pending"
)

// completeTime bounds what a shell waits for the words it could go on with.
const completeTime = 2 * time.Second

// words finds what a flag or argument may be, each with a description behind a tab. What
// cannot be found out is left out.
type words func(ctx context.Context) []string

// complete makes the shell complete a flag.
func (s *session) complete(cmd *cobra.Command, flag string, find words) {
	// An error says that there is no such flag, which the tests of completion show.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return s.look(find), cobra.ShellCompDirectiveNoFileComp
	})
}

func (s *session) completeFlags(cmd *cobra.Command) {
	s.complete(cmd, "agent", s.agentNames)
	for name, f := range map[string]words{
		"dialect": func(context.Context) []string { return cmd.Flag("dialect").Value.(*choice).of },
		"output":  func(context.Context) []string { return cmd.Flag("output").Value.(*choice).of },
	} {
		s.complete(cmd, name, f)
	}
}

// completeTasks makes the shell complete the ids of pending tasks, at most n of them; -1
// is any number.
func (s *session) completeTasks(cmd *cobra.Command, n int) { s.completeArgs(cmd, n, s.taskIDs) }

// completeArgs makes the shell complete at most n arguments; -1 is any number.
func (s *session) completeArgs(cmd *cobra.Command, n int, find words) {
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if n >= 0 && len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.look(find), cobra.ShellCompDirectiveNoFileComp
	}
}

// look finds words with a session of its own.
func (s *session) look(find words) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completeTime)
	defer cancel()
	if s.open(ctx) != nil {
		return nil
	}
	defer s.close() //nolint:errcheck // only read
	return find(ctx)
}

// taskIDs are the tasks that are pending.
func (s *session) taskIDs(ctx context.Context) []string {
	list, _ := s.registry.Pending(ctx, pending.Filter{})
	return described(list)
}

// recent is how many of the entries that have ended are offered.
const recent = 100

// endedIDs are the tasks that ended last.
func (s *session) endedIDs(ctx context.Context) []string {
	list, _ := s.registry.History(ctx, pending.Filter{}, recent)
	return described(list)
}

func described(list []pending.Entry) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = nameOf(e) + "\t" + line(stateOf(e)+" "+e.Prompt, 60)
	}
	return out
}

// agentNames are the agents of the agents file and those that something was sent to.
func (s *session) agentNames(ctx context.Context) []string {
	var out []string
	if file, err := s.loadAgents(); err == nil {
		for _, a := range file.Agents {
			out = append(out, a.Name+"\t"+line(a.Description, 60))
		}
	}
	seen := map[string]bool{}
	list, _ := s.registry.Pending(ctx, pending.Filter{})
	ended, _ := s.registry.History(ctx, pending.Filter{}, recent)
	for _, e := range slices.Concat(list, ended) {
		if !seen[e.AgentURL] {
			seen[e.AgentURL] = true
			out = append(out, e.AgentURL)
		}
	}
	return out
}

// skillIDs are the skills of the card of the agent that is named.
func (s *session) skillIDs(ctx context.Context) []string {
	c, err := s.agentClient()
	if err != nil {
		return nil
	}
	card, err := c.Card(ctx)
	if err != nil {
		return nil
	}
	out := make([]string, len(card.Skills))
	for i, k := range card.Skills {
		out[i] = string(k.ID) + "\t" + strings.ReplaceAll(line(k.Name, 60), "\t", " ")
	}
	return out
}
