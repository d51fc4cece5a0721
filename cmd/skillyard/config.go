package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/configs"
)

func (p *program) configCommand() *cobra.Command {
	return group("config", "Print the configuration's documentation",
		&cobra.Command{
			Use:   "example",
			Short: "Print a configuration with every setting, its default and what it means",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := io.WriteString(p.out, configs.Example())
				return err
			},
		},
		&cobra.Command{
			Use:   "schema",
			Short: "Print the JSON Schema of a configuration, for editors",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := io.WriteString(p.out, configs.Schema())
				return err
			},
		},
	)
}
