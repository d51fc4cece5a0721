package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server"
	"github.com/skillyard/skillyard/skills"
)

func (p *program) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate [file]",
		Short: "Check a configuration",
		Long: `Check a configuration as serve would read it: the file, the environment and the
settings of every skill. All problems are shown, each with its line. Nothing is
started and nothing is written.`,
		Example: "  skillyard validate -c skillyard.yaml\n  skillyard config example | skillyard validate -",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				p.config = args[0]
			}
			p.sayUnknown()
			cfg, err := p.load(nil)
			if err != nil {
				return err
			}
			set, err := p.buildSkills(cfg)
			if err != nil {
				return err
			}
			if _, err := server.BuildCard(cfg, set, cfg.Server.Addr, buildVersion()); err != nil {
				return err
			}
			for _, w := range cfg.Warnings() {
				p.say("warning: %s\n", w)
			}
			name := p.config
			if name == "" {
				name = "the default configuration"
			}
			_, err = fmt.Fprintf(p.out, "%s is valid: %d skills, default %s\n", name, len(cfg.Skills), cfg.DefaultSkill)
			return err
		},
	}
}

// buildSkills makes the skills without running any. Each one's fault is shown at
// its place in the file, all of them together.
func (p *program) buildSkills(cfg *configs.Config) (*skills.Set, error) {
	dir, err := p.dataDir("")
	if err != nil {
		dir = "." // the skills are only looked at, so any directory will do
	}
	set, err := server.BuildSkills(cfg, dir, zerolog.Nop())
	if err == nil {
		return set, nil
	}
	var faults []error
	for i, s := range cfg.Skills {
		alone := *cfg
		alone.Skills, alone.DefaultSkill = cfg.Skills[i:i+1], s.ID
		if _, err := server.BuildSkills(&alone, dir, zerolog.Nop()); err != nil {
			faults = append(faults, skillProblem(cfg, i, err))
		}
	}
	if len(faults) == 0 {
		return nil, err
	}
	return nil, errors.Join(faults...)
}

// skillProblem finds the place of what is wrong with a skill: texts about its kind,
// settings and schemas begin with the key at fault.
func skillProblem(cfg *configs.Config, i int, err error) error {
	path := fmt.Sprintf("skills[%d]", i)
	_, message, found := strings.Cut(err.Error(), fmt.Sprintf("skill %q: ", cfg.Skills[i].ID))
	if !found {
		message = err.Error()
	}
	if key, rest, ok := strings.Cut(message, " "); ok && (key == "kind" || strings.HasPrefix(key, "settings") || strings.HasSuffix(key, "put_schema")) {
		return cfg.Problem(path+"."+strings.TrimSuffix(key, ":"), rest)
	}
	return cfg.Problem(path, message)
}
