package remote

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/configs"
)

// session is one command under way: its flags, and what it opened.
type session struct {
	Shell
	f flags
	// agentGiven says that the agent is named on the command line, and not by the
	// environment.
	agentGiven bool

	registry *pending.Registry
	agents   *configs.Agents // nil until the agents file was read
	clients  map[string]*client.Client
	// lost counts the streams that were lost.
	lost atomic.Int64
	// hushed says that a watch draws on the terminal, which others must not write to.
	hushed bool
}

// flags are those that all commands of this package have.
type flags struct {
	agent, token, tokenFile, agents, state, dialect string
	headers                                         []string
	output                                          string
	timeout                                         time.Duration
	allowPrivate, verbose                           bool
}

// newCommand makes a command with the common flags. run is called with a session whose
// registry is open.
func newCommand(sh Shell, cmd *cobra.Command, run func(ctx context.Context, s *session, args []string) error) (*cobra.Command, *session) {
	s := &session{Shell: sh, clients: map[string]*client.Client{}}
	fl := cmd.Flags()
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "server" {
			name = "agent"
		}
		return pflag.NormalizedName(name)
	})
	fl.StringVar(&s.f.agent, "agent", sh.Env["A2A_SERVER"], "the agent: a `URL`, or a name from the agents file (A2A_SERVER; alias --server)")
	fl.StringVar(&s.f.token, "token", "", "the `token` for the agent (A2A_TOKEN)")
	fl.StringVar(&s.f.tokenFile, "token-file", "", "a `file` with the token")
	fl.StringArrayVar(&s.f.headers, "header", nil, "a further header for the agent, as `'Name: value'`; may be repeated")
	fl.StringVar(&s.f.agents, "agents", "", "the agents `file` (A2A_AGENTS)")
	fl.StringVar(&s.f.state, "state", "", "the `file` of what was sent (A2A_STATE)")
	fl.Var(&choice{&s.f.dialect, client.Dialects()}, "dialect", "speak this to the agent, whatever its card says")
	fl.BoolVar(&s.f.allowPrivate, "allow-private", false, "let the card of a public agent name private addresses")
	fl.DurationVar(&s.f.timeout, "timeout", 0, "the longest `time` the command may take, as 30s or 5m (default none)")
	s.f.output = "table"
	fl.VarP(&choice{&s.f.output, []string{"table", "json", "yaml"}}, "output", "o", "table, json or yaml")
	fl.BoolVarP(&s.f.verbose, "verbose", "v", false, "say more of what happens on the way")
	cmd.MarkFlagsMutuallyExclusive("token", "token-file")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return err
			}
		}
		return cmd.ValidateFlagGroups() // here, as an error of usage
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.agentGiven = fl.Changed("agent")
		return s.run(cmd.Context(), func(ctx context.Context) error { return run(ctx, s, args) })
	}
	s.completeFlags(cmd)
	return cmd, s
}

// anID wants the id of a task, and at most n arguments; -1 is any number.
func anID(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return errors.New("the id of the task is missing; `skillyard pending` lists what is pending")
		case n >= 0:
			return cobra.MaximumNArgs(n)(cmd, args)
		}
		return nil
	}
}

// run opens the registry, runs a command until it is done, its time is over or a signal
// comes, and says how to go on.
func (s *session) run(ctx context.Context, f func(context.Context) error) error {
	ctx, stop := onSignal(ctx)
	defer stop()
	ctx, cancel := limited(ctx, s.f.timeout)
	defer cancel()
	err := s.open(ctx)
	if err == nil {
		err = f(ctx)
	}
	return explained(errors.Join(err, s.close()), "")
}

func (s *session) open(ctx context.Context) error {
	path, err := s.StateFileFunc(s.f.state)
	if err != nil {
		return &Exit{Code: exitUsage, Err: err}
	}
	s.registry, err = pending.Open(ctx, pending.Options{Path: path})
	return err
}

func (s *session) close() error {
	for _, c := range s.clients {
		c.Close()
	}
	if s.registry == nil {
		return nil
	}
	return s.registry.Close()
}

// filter chooses the tasks of the agent that the command line names, or all.
func (s *session) filter() (pending.Filter, error) {
	if !s.agentGiven {
		return pending.Filter{}, nil
	}
	a, err := s.named(s.f.agent)
	return pending.Filter{AgentURL: a.url}, err
}

// task is one task of an agent. entry has no Ref if it was not sent from here.
type task struct {
	entry  pending.Entry
	id     a2a.TaskID
	client *client.Client
	// iface is how the agent is reached.
	iface client.Interface
}

// known reports whether the registry has the task.
func (t *task) known() bool { return t.entry.Ref != "" }

// sending reports whether it is not known if the agent has the task.
func (t *task) sending() bool { return t.known() && t.entry.Sending() }

// name is what finds the task again.
func (t *task) name() string {
	return nameOf(pending.Entry{TaskID: t.id, Ref: t.entry.Ref})
}

// find returns the task that an id, or the beginning of one, stands for. One that was not
// sent from here needs an agent that is named.
func (s *session) find(ctx context.Context, id string) (*task, error) {
	f, err := s.filter()
	if err != nil {
		return nil, err
	}
	e, err := s.registry.Find(ctx, id, f)
	switch {
	case err == nil:
		return s.taskOf(ctx, e)
	case !errors.Is(err, pending.ErrNone):
		return nil, err
	case s.f.agent == "":
		return nil, s.unknown(ctx, id)
	}
	t := &task{id: a2a.TaskID(id)}
	if t.client, err = s.agentClient(); err != nil {
		return nil, err
	}
	return t, nil
}

// taskOf returns the task of an entry.
func (s *session) taskOf(ctx context.Context, e pending.Entry) (*task, error) {
	c, err := s.clientOf(e)
	return &task{entry: e, id: e.TaskID, client: c}, err
}

// unknown says what there is instead of a task that was asked for.
func (s *session) unknown(ctx context.Context, id string) error {
	return failure("there is no task "+quoted(id)+" among those sent from here", "if it was sent from elsewhere, name its agent by --agent; "+s.instead(ctx))
}

// instead names tasks that may be meant.
func (s *session) instead(ctx context.Context) string {
	const most = 5
	list, err := s.registry.Pending(context.WithoutCancel(ctx), pending.Filter{})
	if err != nil || len(list) == 0 {
		return "nothing is pending here, and what ended is in `skillyard history`"
	}
	hint := "pending here:"
	for i, e := range list {
		if i == most {
			return hint + "\n  … (skillyard pending)"
		}
		hint += "\n  " + nameOf(e) + "  " + e.Prompt
	}
	return hint
}

// nameOf is what finds an entry again; an agent's id is made harmless.
func nameOf(e pending.Entry) string {
	if e.TaskID != "" {
		return line(string(e.TaskID), 200)
	}
	return e.Ref
}

// get reads a task once and records what came of it.
func (s *session) get(ctx context.Context, t *task, history *int) (*a2a.Task, error) {
	got, err := t.client.Get(ctx, t.id, history)
	return s.saw(ctx, t, got, err)
}

// wait asks for a task until it has ended or wants something, and records each answer.
func (s *session) wait(ctx context.Context, t *task, most time.Duration) (*a2a.Task, error) {
	told := a2a.State("")
	var fault error
	got, err := t.client.Wait(ctx, t.id, client.WaitOptions{
		First: min(most, 500*time.Millisecond), Most: most,
		OnTask: func(got *a2a.Task) {
			_, fault = s.saw(ctx, t, got, nil)
			if state := got.Status.State; !state.Settled() && state != told {
				told = state
				s.sayProgress(t, got)
			}
		},
		OnError: func(err error) { _, _ = s.saw(ctx, t, nil, err) }, // the wait goes on
	})
	if err != nil {
		_, err = s.saw(ctx, t, nil, err)
	}
	return got, errors.Join(err, fault)
}

// saw records what a read of a task brought, and returns it. What has happened is
// recorded even if the command is being ended.
func (s *session) saw(ctx context.Context, t *task, got *a2a.Task, err error) (*a2a.Task, error) {
	if !t.known() {
		return got, err
	}
	late := context.WithoutCancel(ctx)
	var e pending.Entry
	var fault error
	switch {
	case err == nil:
		e, fault = s.registry.Polled(late, t.entry.Ref, got)
	case client.KindOf(err) == client.KindTaskNotFound:
		e, fault = s.registry.LostTask(late, t.entry.Ref, err.Error())
	case ctx.Err() != nil:
		return got, err // ended by us, which says nothing of the agent
	default:
		e, fault = s.registry.Failed(late, t.entry.Ref, err.Error())
	}
	if fault == nil {
		t.entry = e
	}
	return got, errors.Join(err, fault)
}

// marshalInterface is an interface as an entry keeps it.
func marshalInterface(i client.Interface) json.RawMessage {
	b, err := json.Marshal(i)
	if err != nil {
		return nil // of strings and booleans only, so it cannot be
	}
	return b
}
