package remote

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

// listFlags are those of list.
type listFlags struct {
	conversation, state string
	all                 bool
	limit               int
}

func listCommand(sh Shell) *cobra.Command {
	var f listFlags
	states := make([]string, 0, len(a2a.States()))
	for _, s := range a2a.States() {
		states = append(states, string(s))
	}
	cmd, _ := newCommand(sh, &cobra.Command{
		Use:   "list",
		Short: "List the tasks that an agent has of you",
		Long: `Ask an agent which tasks it has of you, wherever they were sent from, the newest
first. A2A 1.0 has such a list, 0.3 and EMM have none; what was sent from here is
listed by pending and history without asking anybody.`,
		Example: "  skillyard list --agent reports\n  skillyard list --agent reports --status working --all -o json",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, s *session, _ []string) error { return s.list(ctx, &f) })
	fl := cmd.Flags()
	fl.StringVar(&f.conversation, "context", "", "only tasks of the conversation with this `id`")
	fl.Var(&choice{&f.state, states}, "status", "only tasks in this state")
	fl.BoolVar(&f.all, "all", false, "all there are, page by page")
	fl.IntVar(&f.limit, "limit", 50, "how `many` at most")
	cmd.MarkFlagsMutuallyExclusive("all", "limit")
	return cmd
}

func (s *session) list(ctx context.Context, f *listFlags) error {
	const page = 100
	if f.limit < 1 {
		return usage("--limit must be 1 or more", "")
	}
	c, err := s.agentClient()
	if err != nil {
		return err
	}
	none := 0
	req := a2a.ListRequest{
		ContextID: a2a.ContextID(f.conversation), State: a2a.State(f.state), PageSize: page,
		View: a2a.View{HistoryLength: &none, OmitArtifacts: true},
	}
	if !f.all {
		req.PageSize = min(page, f.limit)
	}
	tasks := []*a2a.Task{}
	for more := true; more; more = req.PageToken != "" && (f.all || len(tasks) < f.limit) {
		res, err := c.List(ctx, req)
		if client.KindOf(err) == client.KindUnsupported {
			return explained(err, "`skillyard pending` and `skillyard history` list what was sent from here")
		}
		if err != nil {
			return err
		}
		if res.NextPageToken == req.PageToken && req.PageToken != "" {
			return failure("the agent's list does not end: it names the same page again", "")
		}
		tasks, req.PageToken = append(tasks, res.Tasks...), res.NextPageToken
	}
	if !f.all && len(tasks) > f.limit {
		tasks = tasks[:f.limit]
	}
	if req.PageToken != "" {
		s.say("there are more; --all lists them\n")
	}
	if s.f.output != "table" {
		list := make([]result, len(tasks))
		for i, t := range tasks {
			list[i] = resultOf(c.URL(), t)
		}
		return s.encode(list)
	}
	now := time.Now()
	rows := [][]cell{plain("TASK", "STATE", "AGE", "SKILL", "CONTEXT", "WORDS")}
	for _, t := range tasks {
		row := plain(string(t.ID), "", age(now, t.UpdatedAt), string(t.Skill), string(t.ContextID), line(t.Status.Message.Text(), 60))
		row[1] = s.stateCell(string(t.Status.State))
		rows = append(rows, row)
	}
	return table(s.Out, rows)
}
