package remote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

func replyCommand(sh Shell) *cobra.Command {
	var f sendFlags
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "reply ID [TEXT|-]",
		Short: "Answer the question of a task",
		Long: `Send the next message of a task, which most often asks for it. The parts are given as
for send. Without any the question is shown, and a line is read from the terminal.`,
		Example: "  skillyard reply 0190c2b7 green\n  skillyard reply 0190c2b7 --wait --file form.pdf\n  skillyard reply 0190c2b7",
		Args:    anID(-1),
	}, func(ctx context.Context, s *session, args []string) error {
		t, err := s.find(ctx, args[0])
		if err != nil {
			return err
		}
		return s.reply(ctx, t, args[1:], &f)
	})
	f.add(cmd)
	s.completeTasks(cmd, 1)
	return cmd
}

func (s *session) reply(ctx context.Context, t *task, args []string, f *sendFlags) error {
	if t.entry.Ended() {
		hint := "a new task in the same conversation: skillyard send --agent " + word(t.client.URL())
		if t.entry.ContextID != "" {
			hint += " --context " + word(line(string(t.entry.ContextID), 200))
		}
		return failure("task "+quoted(t.name())+" has ended: "+stateOf(t.entry), hint)
	}
	if t.id == "" {
		if err := s.recover(ctx, t); err != nil {
			return err
		}
	}
	parts, err := s.parts(args, f.parts)
	if err == nil && len(parts) == 0 {
		parts, err = s.ask(ctx, t)
	}
	if err != nil {
		return err
	}
	if !t.known() {
		t.entry.AgentURL = t.client.URL()
	}
	// Conversation and skill are the task's; naming them, too, would only be another
	// thing to get wrong.
	m := client.Message{Parts: parts, TaskID: t.id}
	return s.deliver(ctx, t, m, f)
}

// ask shows the question and reads the answer from the terminal.
func (s *session) ask(ctx context.Context, t *task) ([]a2a.Part, error) {
	nothing := usage("there is nothing to send", "give a text, - for standard input, or --text, --json, --file, --url")
	if terminal(s.In) < 0 {
		return nil, nothing
	}
	question := t.entry.Question
	if question == "" {
		got, err := s.get(ctx, t, nil)
		if err != nil {
			return nil, s.later(ctx, t, err)
		}
		question = got.Status.Message.Text()
	}
	s.say("%s\n> ", strings.TrimSpace(harmless(question)))
	// A read cannot be interrupted, so a signal does not wait for it.
	type read struct {
		text string
		err  error
	}
	lines := make(chan read, 1)
	go func() {
		text, err := bufio.NewReader(s.In).ReadString('\n')
		lines <- read{text, err}
	}()
	select {
	case r := <-lines:
		text := strings.TrimSpace(r.text)
		if text == "" {
			return nil, nothing
		}
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return nil, r.err
		}
		return []a2a.Part{a2a.TextPart(text)}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
