package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/skills"
)

// skillRow is a skill in the JSON output.
type skillRow struct {
	ID          string   `json:"id"`
	Kind        string   `json:"kind"`
	Default     bool     `json:"default"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Retry       string   `json:"retry"`
	Concurrency int      `json:"concurrency"`
	Queue       int      `json:"queue"`
	Timeout     string   `json:"timeout"`
}

func (p *program) skillsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "skills",
		Short:   "List the skills of a configuration",
		Example: "  skillyard skills\n  skillyard skills -o json",
		Args:    cobra.NoArgs,
	}
	output := outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		cfg, err := p.load(nil)
		if err != nil {
			return err
		}
		set, err := p.buildSkills(cfg)
		if err != nil {
			return err
		}
		rows := skillRows(cfg, set)
		return p.printRows(*output, rows, "ID\tKIND\tNAME\tTIMEOUT\tCONCURRENCY\tQUEUE\tRETRY", skillLines(rows))
	}
	return cmd
}

func skillRows(cfg *configs.Config, set *skills.Set) []skillRow {
	rows := make([]skillRow, 0, len(cfg.Skills))
	for i, e := range set.All() {
		timeout := "none"
		if e.Limits.Timeout > 0 {
			timeout = e.Limits.Timeout.String()
		}
		rows = append(rows, skillRow{
			ID: string(e.Info.ID), Kind: cfg.Skills[i].Kind, Default: e == set.Default(),
			Name: e.Info.Name, Description: e.Info.Description, Tags: e.Info.Tags, Retry: string(e.Retry),
			Concurrency: e.Limits.Concurrency, Queue: max(0, e.Limits.Queue), Timeout: timeout,
		})
	}
	return rows
}

func skillLines(rows []skillRow) []string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		id := r.ID
		if r.Default {
			id += " (default)"
		}
		lines[i] = fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%d\t%s", id, r.Kind, r.Name, r.Timeout, r.Concurrency, r.Queue, r.Retry)
	}
	return lines
}

// printJSON writes v as indented JSON to standard output.
func (p *program) printJSON(v any) error {
	b, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(b, '\n'))
	return err
}

// oneOf is a flag with few values.
type oneOf struct {
	value *string
	of    []string
}

func (o *oneOf) String() string {
	if o.value == nil {
		return ""
	}
	return *o.value
}

func (o *oneOf) Set(s string) error {
	for _, v := range o.of {
		if s == v {
			*o.value = s
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(o.of, ", "))
}

func (o *oneOf) Type() string { return strings.Join(o.of, "|") }
