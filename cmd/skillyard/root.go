package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/cmd/skillyard/remote"
	"github.com/skillyard/skillyard/configs"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	// exitTimeout and exitAuth are for commands that ask a server.
	exitTimeout = 6
	exitAuth    = 7
)

// program is what the commands share.
type program struct {
	in       io.Reader
	out, err io.Writer
	// env are the environment variables by name.
	env map[string]string
	// config is the path of the configuration file, "" for none.
	config string
	// running is set when the command line was understood: an error before that is
	// one of usage.
	running bool
}

// run executes a command line and returns the exit code.
func run(args, environ []string, in io.Reader, out, errOut io.Writer) int {
	p := &program{in: in, out: out, err: errOut, env: configs.Environ(environ)}
	root := p.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	switch {
	case err == nil:
		return exitOK
	case !p.running:
		p.say("skillyard: %v\nRun '%s --help' for usage.\n", err, cmd.CommandPath())
		return exitUsage
	}
	var end *remote.Exit
	if errors.As(err, &end) {
		if !end.Silent() {
			p.sayError(err)
		}
		return end.Code
	}
	p.sayError(err)
	return exitError
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "skillyard",
		Short: "One A2A server in front of many skills",
		Long: `Skillyard serves many skills to A2A clients from one endpoint, with one agent
card and durable tasks.

  skillyard serve              start with four skills over a demo workspace
  skillyard config example     see every setting, with its default
  skillyard validate -c FILE   check a configuration
  skillyard doctor URL         look at a deployed server from outside

It is also a client of A2A agents everywhere, which need not wait for them:

  skillyard send --agent URL TEXT   send work, and get the task's id at once
  skillyard poll                    collect the answer later`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		PersistentPreRun: func(*cobra.Command, []string) {
			p.running = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.PersistentFlags().StringVarP(&p.config, "config", "c", p.env["A2A_CONFIG"],
		"configuration `file`, - for standard input (A2A_CONFIG)")
	addGroup(root, "serve", "Serve skills:",
		p.serveCommand(), p.validateCommand(), p.cardCommand(), p.skillsCommand(), p.pushCommand(),
		p.configCommand(), p.keysCommand(), p.healthcheckCommand(), p.doctorCommand())
	addGroup(root, "use", "Use A2A agents:", append(remote.Commands(remote.Shell{
		In: p.in, Out: p.out, Err: p.err, Env: p.env, StateFileFunc: p.stateFile, Version: buildVersion(),
	}), p.mcpCommand())...)
	root.AddCommand(p.versionCommand())
	return root
}

// addGroup adds commands under a title of their own in the help.
func addGroup(root *cobra.Command, id, title string, cmds ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range cmds {
		cmd.GroupID = id
	}
	root.AddCommand(cmds...)
}

// group makes a command that only has subcommands.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return cmd.Help()
	}}
	cmd.AddCommand(subs...)
	return cmd
}

// onlyFlags takes no arguments, and checks what flags exclude each other before the
// command counts as understood.
func onlyFlags(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return err
	}
	return cmd.ValidateFlagGroups()
}

// load reads the configuration. change may be nil.
func (p *program) load(change func(*configs.Config)) (*configs.Config, error) {
	return configs.Load(configs.Options{Path: p.config, Env: p.env, Override: change})
}

// say writes to the person at the terminal. There is nobody to tell if that fails.
func (p *program) say(format string, args ...any) { _, _ = fmt.Fprintf(p.err, format, args...) }

// sayError explains an error: problems of a configuration each with its excerpt.
func (p *program) sayError(err error) {
	problems := configs.Problems(err)
	if len(problems) == 0 {
		p.say("skillyard: %v\n", err)
		return
	}
	for _, q := range problems {
		p.say("%v\n", q)
		if q.Excerpt != "" {
			p.say("%s\n", q.Excerpt)
		}
	}
}

// sayUnknown warns of variables that look like settings but are none.
func (p *program) sayUnknown() {
	unknown := configs.Unknown(p.env)
	names := make([]string, 0, len(unknown))
	for name := range unknown {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p.say("warning: %s is not a setting", name)
		if near := unknown[name]; near != "" {
			p.say("; did you mean %s?", near)
		}
		p.say("\n")
	}
}

// dataDir returns the directory of a server's data: the flag, else A2A_DATA, else
// skillyard in the user's directory for state.
func (p *program) dataDir(flag string) (string, error) {
	for _, dir := range [...]string{flag, p.env["A2A_DATA"]} {
		if dir != "" {
			return filepath.Abs(dir)
		}
	}
	dir, err := p.userState()
	if err != nil {
		return "", errors.New("no place for the data, as HOME is not set; use --data DIR or A2A_DATA")
	}
	return dir, nil
}

// userState returns skillyard in the user's directory for state.
func (p *program) userState() (string, error) {
	// A relative path must be ignored, says the XDG specification.
	if state := p.env["XDG_STATE_HOME"]; filepath.IsAbs(state) {
		return filepath.Join(state, "skillyard"), nil
	}
	home := p.env["HOME"]
	if home == "" {
		home = p.env["USERPROFILE"]
	}
	if !filepath.IsAbs(home) {
		return "", errors.New("HOME is not set")
	}
	return filepath.Join(home, ".local", "state", "skillyard"), nil
}

// exists reports whether a path is there.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
