package remote

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
)

func getCommand(sh Shell) *cobra.Command {
	history := -1
	var how showing
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "get ID",
		Short: "Print a task as its agent has it now",
		Long: `Ask the agent for a whole task, also one that has ended, and print its state, its
messages and its artifacts. The exit code is 0 whatever the state is.`,
		Example: "  skillyard get 0190c2b7\n  skillyard get --agent reports --history 10 -o json 0190c2b7",
		Args:    anID(1),
	}, func(ctx context.Context, s *session, args []string) error {
		t, err := s.find(ctx, args[0])
		if err != nil {
			return err
		}
		if t.id == "" {
			return failure("the answer to this send never came, so it has no task yet", "find out with: skillyard poll "+t.entry.Ref)
		}
		var most *int
		if history >= 0 {
			most = &history
		}
		got, err := s.get(ctx, t, most)
		if err != nil {
			return s.later(ctx, t, err)
		}
		return s.whole(t, got, how)
	})
	cmd.Flags().IntVar(&history, "history", -1, "the largest `number` of messages (default the agent's choice)")
	how.add(cmd)
	s.completeTasks(cmd, 1)
	return cmd
}

// whole prints all of a task.
func (s *session) whole(t *task, got *a2a.Task, how showing) error {
	if err := how.files(s, got); err != nil {
		return err
	}
	r := t.result(got)
	if s.f.output != "table" {
		return s.encode(r)
	}
	rows := [][]cell{plain("task", string(r.ID)), plain("context", string(r.ContextID)), plain("agent", r.Agent), plain("skill", string(r.Skill)),
		{{text: "state"}, s.stateCell(string(r.State))}}
	if r.UpdatedAt != nil {
		rows = append(rows, plain("updated", r.UpdatedAt.Local().Format("2006-01-02 15:04:05")))
	}
	if err := table(s.Out, rows); err != nil {
		return err
	}
	p := &printer{s: s}
	if len(r.History) > 0 {
		p.write("\n")
	}
	for _, m := range r.History {
		p.fresh()
		p.write(string(m.Role) + ": ")
		p.parts(m.Parts)
	}
	for _, a := range r.Artifacts {
		p.fresh()
		p.write("\nartifact " + line(a.ID+" "+a.Name, 200) + "\n")
		p.parts(a.Parts)
	}
	if m := r.Message; m != nil && (len(r.History) == 0 || r.History[len(r.History)-1].Text() != m.Text()) {
		p.fresh()
		p.write("\nstatus: ")
		p.parts(m.Parts)
	}
	return p.end()
}
