package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/sqlite"
)

// pushRow is a webhook in the JSON output.
type pushRow struct {
	Task      a2a.TaskID `json:"task"`
	Config    string     `json:"config"`
	Owner     string     `json:"owner"`
	URL       string     `json:"url"`
	State     string     `json:"state"`
	Behind    int64      `json:"behind"`
	Attempts  int        `json:"attempts"`
	Due       string     `json:"due,omitempty"`
	LastError string     `json:"last_error,omitempty"`
}

// deadRow is a delivery that was given up, in the JSON output.
type deadRow struct {
	Task     a2a.TaskID `json:"task"`
	Config   string     `json:"config"`
	Event    int64      `json:"event"`
	URL      string     `json:"url"`
	At       string     `json:"at"`
	Attempts int        `json:"attempts"`
	Reason   string     `json:"reason"`
}

func (p *program) pushCommand() *cobra.Command {
	var data string
	cmd := group("push", "Look after push notifications", p.pushListCommand(&data), p.pushDeadCommand(&data), p.pushRetryCommand(&data))
	cmd.Long = `Show and mend the deliveries to clients' webhooks. The server may be running: the
commands read its database beside it.`
	cmd.Example = "  skillyard push list\n  skillyard push dead -o json\n  skillyard push retry TASK"
	cmd.PersistentFlags().StringVar(&data, "data", "", "data `directory` (A2A_DATA)")
	return cmd
}

// outbox calls f with the outbox of the configured database.
func (p *program) outbox(data string, f func(*sqlite.Outbox) error) (err error) {
	cfg, err := p.load(nil)
	if err != nil {
		return err
	}
	if cfg.Store.Kind != "sqlite" {
		return fmt.Errorf("the store is %s: it can only be looked at by its own server", cfg.Store.Kind)
	}
	dir, err := p.dataDir(data)
	if err != nil {
		return err
	}
	o, err := sqlite.OpenOutbox(context.Background(), cfg.Store.File(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return f(o)
}

func outputFlag(cmd *cobra.Command) *string {
	output := "table"
	cmd.Flags().VarP(&oneOf{value: &output, of: []string{"table", "json"}}, "output", "o", "table or json")
	return &output
}

func (p *program) pushListCommand(data *string) *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "list", Short: "List webhooks that still get deliveries, and disabled ones", Args: cobra.NoArgs}
	output := outputFlag(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "how `many` at most")
	cmd.RunE = func(*cobra.Command, []string) error {
		return p.outbox(*data, func(o *sqlite.Outbox) error {
			jobs, err := o.Pushing(context.Background(), limit)
			if err != nil {
				return err
			}
			rows := make([]pushRow, len(jobs))
			lines := make([]string, len(jobs))
			for i, j := range jobs {
				r := pushRow{
					Task: j.Config.TaskID, Config: j.Config.ID, Owner: j.Scope.Owner, URL: j.Config.URL,
					State: pushState(j.State), Behind: j.Seq - j.Cursor, Attempts: j.Attempts, LastError: j.LastError,
				}
				if !j.Due.IsZero() {
					r.Due = j.Due.UTC().Format(time.RFC3339)
				}
				rows[i] = r
				lines[i] = fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s", r.Task, r.Config, r.URL, r.State, r.Behind, r.Attempts, r.Due, r.LastError)
			}
			return p.printRows(*output, rows, "TASK\tCONFIG\tURL\tSTATE\tBEHIND\tATTEMPTS\tDUE\tLAST ERROR", lines)
		})
	}
	return cmd
}

func (p *program) pushDeadCommand(data *string) *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "dead [TASK]", Short: "List deliveries that were given up", Args: cobra.MaximumNArgs(1)}
	output := outputFlag(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "how `many` at most, the newest first")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		var id a2a.TaskID
		if len(args) > 0 {
			id = a2a.TaskID(args[0])
		}
		return p.outbox(*data, func(o *sqlite.Outbox) error {
			dead, err := o.DeadPushes(context.Background(), id, limit)
			if err != nil {
				return err
			}
			rows := make([]deadRow, len(dead))
			lines := make([]string, len(dead))
			for i, d := range dead {
				r := deadRow{
					Task: d.TaskID, Config: d.Config, Event: d.Seq, URL: d.URL,
					At: d.At.UTC().Format(time.RFC3339), Attempts: d.Attempts, Reason: d.Reason,
				}
				rows[i] = r
				lines[i] = fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%d\t%s", r.Task, r.Config, r.Event, r.URL, r.At, r.Attempts, r.Reason)
			}
			return p.printRows(*output, rows, "TASK\tCONFIG\tEVENT\tURL\tGIVEN UP\tATTEMPTS\tREASON", lines)
		})
	}
	return cmd
}

func (p *program) pushRetryCommand(data *string) *cobra.Command {
	return &cobra.Command{
		Use:   "retry TASK [CONFIG]",
		Short: "Deliver again what was given up",
		Long: `Make the dead letters of a task, or of one of its webhooks, due again, and enable
the webhook. Deliveries go on from the oldest of them, in order; later ones that the
webhook has had already come again, with the same webhook-id.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			config := ""
			if len(args) > 1 {
				config = args[1]
			}
			return p.outbox(*data, func(o *sqlite.Outbox) error {
				n, err := o.RevivePush(context.Background(), a2a.TaskID(args[0]), config)
				if err != nil {
					return err
				}
				if n == 0 {
					return fmt.Errorf("task %s has nothing to deliver again; `skillyard push dead` lists what was given up", args[0])
				}
				p.say("%d webhook(s) of task %s will be called again.\n", n, args[0])
				return nil
			})
		},
	}
}

func pushState(s taskstore.PushState) string {
	switch s {
	case taskstore.PushActive:
		return "active"
	case taskstore.PushDone:
		return "done"
	case taskstore.PushDisabled:
		return "disabled"
	}
	return "unknown"
}

// printRows prints rows as JSON, or lines of tab-separated columns as a table.
func (p *program) printRows(output string, rows any, head string, lines []string) error {
	if output == "json" {
		return p.printJSON(rows)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, strings.Join(append([]string{head}, lines...), "\n")); err != nil {
		return err
	}
	return w.Flush()
}
