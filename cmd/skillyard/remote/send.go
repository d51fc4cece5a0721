package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

// sendFlags are those of send and reply.
type sendFlags struct {
	parts                     []given
	skill, context, task, key string
	references, metadata      []string
	wait, stream, block       bool
	interval                  time.Duration
	showing
}

func (f *sendFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	partFlags(fl, &f.parts)
	fl.StringArrayVar(&f.metadata, "metadata", nil, "metadata of the message: `NAME=TEXT` or a JSON object; may be repeated")
	fl.StringArrayVar(&f.references, "reference", nil, "the `id` of a task that the message speaks of; may be repeated")
	fl.StringVar(&f.key, "key", "", "the Idempotency-Key (default a new one)")
	fl.BoolVar(&f.wait, "wait", false, "wait until the task has ended or asks for something, and print its answer")
	fl.BoolVar(&f.stream, "stream", false, "print the answer as it comes")
	fl.BoolVar(&f.block, "blocking", false, "ask the agent not to answer before the task has ended or asks for something")
	intervalFlag(cmd, &f.interval)
	f.showing.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("wait", "stream")
	cmd.MarkFlagsMutuallyExclusive("blocking", "stream")
}

func intervalFlag(cmd *cobra.Command, d *time.Duration) {
	cmd.Flags().DurationVar(d, "interval", 5*time.Second, "the longest `time` between two polls of a wait")
}

func (how *showing) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&how.save, "save", "", "write the files of the answer into this `directory`")
	cmd.Flags().BoolVar(&how.force, "force", false, "with --save: replace files that are there")
}

func sendCommand(sh Shell) *cobra.Command {
	var f sendFlags
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "send [TEXT|-]",
		Short: "Send work to an A2A agent",
		Long: `Send a message to an agent. The id of the task is printed as soon as the agent has
taken the message; the answer is collected later by poll or watch, by any process.

With --wait or --stream the command goes on until the task has ended or asks for
something, and prints the answer instead. What it does not live to see stays pending.

The parts of the message are the text (- is standard input) and what --text, --json,
--file and --url add, in their order.`,
		Example: `  skillyard send --agent https://agents.example.com 'last week, please'
  id=$(skillyard send --agent reports --skill weekly_report 'last week')
  skillyard send --agent reports --stream --file minutes.pdf 'Sum this up'
  git log -5 | skillyard send --agent reports --wait -
  skillyard send --agent boards --json '{"board_id":"roadmap"}'`,
	}, func(ctx context.Context, s *session, args []string) error {
		return s.send(ctx, args, &f)
	})
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.skill, "skill", "", "the `id` of the skill that is meant (default the agent's choice)")
	fl.StringVar(&f.context, "context", "", "the `id` of the conversation that the message goes on with")
	fl.StringVar(&f.task, "task", "", "the `id` of the task that the message goes on with (see reply)")
	s.complete(cmd, "skill", s.skillIDs)
	return cmd
}

func (s *session) send(ctx context.Context, args []string, f *sendFlags) error {
	parts, err := s.parts(args, f.parts)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		return usage("there is nothing to send", "give a text, - for standard input, or --text, --json, --file, --url")
	}
	a, err := s.named(s.f.agent)
	if err != nil {
		return err
	}
	skill, err := a.skill(f.skill)
	if err != nil {
		return err
	}
	c, err := s.clientFor(a, nil)
	if err != nil {
		return err
	}
	m := client.Message{
		Parts: parts, Skill: skill, ContextID: a2a.ContextID(f.context), TaskID: a2a.TaskID(f.task),
	}
	t := &task{client: c, id: m.TaskID}
	t.entry.Agent, t.entry.AgentURL = a.name, c.URL()
	return s.deliver(ctx, t, m, f)
}

// deliver sends a message, which may go on with a task, and shows what the flags want.
func (s *session) deliver(ctx context.Context, t *task, m client.Message, f *sendFlags) error {
	var err error
	if m.Metadata, err = metadata(f.metadata); err != nil {
		return err
	}
	for _, id := range f.references {
		m.References = append(m.References, a2a.TaskID(id))
	}
	m.ID = uuid.NewString()
	o := client.SendOptions{Blocking: f.block, Key: f.key}
	if o.Key == "" {
		o.Key = uuid.NewString()
	}
	if t.iface, err = t.client.Interface(ctx); err != nil {
		return explained(err, "nothing was sent")
	}
	if err := s.begin(ctx, t, &m, o); err != nil {
		return err
	}
	if f.stream {
		return s.streamed(ctx, t, m, o, f)
	}
	answer, err := t.client.Send(ctx, m, o)
	if err != nil {
		return s.unsent(ctx, t, &m, err)
	}
	if answer.Message != nil {
		return s.message(ctx, t, answer.Message, answer.ContextID, f)
	}
	if err := s.accepted(ctx, t, answer.Task); err != nil {
		return err
	}
	return s.follow(ctx, t, answer.Task, f)
}

// begin writes into the registry what is about to be sent.
func (s *session) begin(ctx context.Context, t *task, m *client.Message, o client.SendOptions) error {
	e := t.entry
	e.TaskID, e.ContextID, e.Skill = m.TaskID, cmp.Or(m.ContextID, e.ContextID), cmp.Or(m.Skill, e.Skill)
	if t.iface.Dialect == client.DialectEMM && m.TaskID == "" {
		m.NewTaskID = a2a.TaskID(uuid.NewString())
		e.TaskID = m.NewTaskID
	}
	e.MessageID, e.Key, e.Interface = m.ID, o.Key, marshalInterface(t.iface)
	e.Prompt = promptOf(m.Parts)
	if t.iface.Idempotent {
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		e.Message = b
	}
	var err error
	t.entry, err = s.registry.Begin(ctx, e)
	return err
}

// promptOf are the words that a task is recognised by.
func promptOf(parts []a2a.Part) string {
	if text := a2a.JoinText(parts); strings.TrimSpace(text) != "" {
		return text
	}
	if p := parts[0]; p.Kind == a2a.PartData {
		return string(p.Data)
	}
	return describe(parts[0])
}

// accepted records the task that a message made or went on with.
func (s *session) accepted(ctx context.Context, t *task, got *a2a.Task) error {
	e, err := s.registry.Accepted(context.WithoutCancel(ctx), t.entry.Ref, got, marshalInterface(t.iface))
	if err != nil {
		return err
	}
	t.entry, t.id = e, got.ID
	return nil
}

// follow goes on after a task was accepted: at once, or when it is settled.
func (s *session) follow(ctx context.Context, t *task, got *a2a.Task, f *sendFlags) error {
	if !f.wait {
		return s.sent(t, got)
	}
	if !got.Status.State.Settled() {
		s.say("sent as task %s\n", t.id)
		var err error
		if got, err = s.wait(ctx, t, f.interval); err != nil {
			return s.later(ctx, t, err)
		}
	}
	return s.shown(ctx, t, got, f.showing)
}

// sent prints the id of a task that was taken, and what to do next.
func (s *session) sent(t *task, got *a2a.Task) error {
	if s.f.output != "table" {
		if err := s.encode(t.result(got)); err != nil {
			return err
		}
	} else if err := s.print(line(string(got.ID), 1000) + "\n"); err != nil {
		return err
	}
	switch state := got.Status.State; {
	case state == a2a.StateCompleted:
		s.say("task %s is completed. See its answer with: skillyard history %s\n", t.name(), word(t.name()))
		return nil
	case state.Settled():
		s.sayState(t, got)
		return ended(state)
	}
	s.say("sent to %s. Collect the answer with: skillyard poll %s (or watch %[2]s)\n", t.client.URL(), word(t.name()))
	return nil
}

// message shows an answer that came without a task.
func (s *session) message(ctx context.Context, t *task, m *a2a.Message, conversation a2a.ContextID, f *sendFlags) error {
	e, err := s.registry.Answered(context.WithoutCancel(ctx), t.entry.Ref, m, conversation)
	if err != nil {
		return err
	}
	t.entry = e
	s.say("the agent answered at once, without a task\n")
	got := &a2a.Task{ContextID: e.ContextID, Skill: e.Skill, Status: a2a.Status{State: a2a.StateCompleted, Message: m}}
	return s.show(t, got, f.showing)
}

// unsent records a send that was not answered well, and says whether the agent may have
// the message.
func (s *session) unsent(ctx context.Context, t *task, m *client.Message, err error) error {
	late := context.WithoutCancel(ctx)
	unknown := client.KindOf(err) == client.KindTaskNotFound
	if unknown && t.entry.State != "" {
		// It may be another task that the message names, so this one is read.
		if _, lost := s.get(ctx, t, nil); t.entry.Lost {
			return s.later(ctx, t, lost)
		}
	}
	if !client.MayHaveArrived(err) {
		if m.TaskID != "" && t.entry.State == "" {
			// A reply to a task that was sent from elsewhere: an end of the entry would
			// stand for one of that task.
			if fault := s.registry.Forget(late, t.entry.Ref); fault != nil {
				return errors.Join(err, fault)
			}
			if unknown {
				return explained(err, s.instead(ctx))
			}
			return explained(err, "")
		}
		if _, fault := s.registry.Rejected(late, t.entry.Ref, err.Error()); fault != nil {
			return errors.Join(err, fault)
		}
		return explained(err, s.skillHint(ctx, t, m.Skill))
	}
	if _, fault := s.registry.Failed(late, t.entry.Ref, err.Error()); fault != nil {
		return errors.Join(err, fault)
	}
	return explained(err, "it is not known whether the agent took the message. Find out with: skillyard poll "+t.entry.Ref)
}

// later explains an error of a read or a wait: the task goes on, unless it is known to
// have ended.
func (s *session) later(ctx context.Context, t *task, err error) error {
	switch {
	case !t.known() && client.KindOf(err) == client.KindTaskNotFound:
		return explained(err, s.instead(ctx))
	case !t.known():
		return explained(err, "")
	case t.entry.Lost:
		return explained(err, "it is in the history as lost: skillyard history "+word(t.name()))
	case t.entry.Ended():
		return explained(err, "the answer was kept: skillyard history "+word(t.name()))
	}
	return explained(err, "the task stays pending. Go on with: skillyard poll --wait "+word(t.name()))
}

// shown shows a settled task, and which skills there are if it failed for the lack of
// one.
func (s *session) shown(ctx context.Context, t *task, got *a2a.Task, how showing) error {
	err := s.show(t, got, how)
	if hint := s.failedHint(ctx, t, got); hint != "" {
		s.say("%s\n", hint)
	}
	return err
}

func (s *session) failedHint(ctx context.Context, t *task, got *a2a.Task) string {
	if st := got.Status.State; st != a2a.StateFailed && st != a2a.StateRejected {
		return ""
	}
	return s.skillHint(ctx, t, t.entry.Skill)
}

// skillHint names the skills of an agent if one was asked for that its card does not
// have; else it is "".
func (s *session) skillHint(ctx context.Context, t *task, skill a2a.SkillID) string {
	if skill == "" || ctx.Err() != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	card, err := t.client.Card(ctx)
	if err != nil {
		return "" // the failure at hand is the one that counts
	}
	var ids []string
	for _, k := range card.Skills {
		if k.ID == skill {
			return ""
		}
		ids = append(ids, string(k.ID))
	}
	if len(ids) == 0 {
		return ""
	}
	return "the agent's card has no skill " + quoted(string(skill)) + "; it has " + line(strings.Join(ids, ", "), 2000)
}
