package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
)

func watchCommand(sh Shell) *cobra.Command {
	cmd, s := newCommand(sh, &cobra.Command{
		Use:   "watch [ID...]",
		Short: "Watch tasks until they are done",
		Long: `Watch the tasks with these ids, or all that are pending (of the agent, if one is
named), until each has ended or asks for something. A terminal shows a line for each
task; elsewhere there is a line for each change: id, state, and the last words. With
-o json each change is an object on a line of its own, with -o yaml a document.

A connection that is lost is taken up again behind the last event. What is interrupted
stays pending. The answers are then shown by: skillyard history ID`,
		Example: "  skillyard watch\n  skillyard watch 0190c2b7 0190c2b9\n  skillyard watch --agent reports --timeout 1h",
	}, func(ctx context.Context, s *session, args []string) error {
		return s.watch(ctx, args)
	})
	s.completeTasks(cmd, -1)
	return cmd
}

// row is one watched task on its way.
type row struct {
	name, state, words string
	agent              string
	since              time.Time
	done               bool
	err                error
}

func (s *session) watch(ctx context.Context, ids []string) error {
	tasks, err := s.watched(ctx, ids)
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		s.say("nothing is pending\n")
		return nil
	}
	rows := make([]row, len(tasks))
	v := s.newView(rows)
	changes := make(chan func())
	var wg sync.WaitGroup
	for i, t := range tasks {
		rows[i] = row{name: t.name(), agent: t.client.URL(), state: string(t.entry.State), since: t.entry.CreatedAt}
		wg.Go(func() {
			change := func(f func(*row)) {
				changes <- func() { f(&rows[i]); v.changed(&rows[i]) }
			}
			err := s.watchOne(ctx, t, change)
			change(func(r *row) { r.done, r.err = true, err })
		})
	}
	go func() { wg.Wait(); close(changes) }()
	v.run(changes)
	s.hushed = false
	end := s.watchEnd(rows)
	if v.err != nil {
		return v.err
	}
	return end
}

// watched are the tasks that are meant.
func (s *session) watched(ctx context.Context, ids []string) ([]*task, error) {
	var tasks []*task
	for _, id := range ids {
		t, err := s.find(ctx, id)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	if len(ids) > 0 {
		return tasks, nil
	}
	f, err := s.filter()
	if err != nil {
		return nil, err
	}
	list, err := s.registry.Pending(ctx, f)
	if err == nil {
		err = s.several(list)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e, err = s.registry.Get(ctx, e.Ref); err != nil {
			return nil, err
		}
		t, err := s.taskOf(ctx, e)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// watchOne follows a task to its end or question.
func (s *session) watchOne(ctx context.Context, t *task, change func(func(*row))) error {
	if t.entry.Ended() {
		change(func(r *row) { r.state, r.words = stateOf(t.entry), "ended before" })
		return nil
	}
	if t.sending() {
		if err := s.recover(ctx, t); err != nil {
			return err
		}
		change(func(r *row) { r.name, r.state = t.name(), string(t.entry.State) })
		if t.entry.Ended() {
			return nil
		}
	}
	l := &live{s: s, t: t, accepted: true}
	o := client.SubscribeOptions{After: t.entry.EventID}
	for ev, err := range t.client.Subscribe(ctx, t.id, o) {
		if err != nil {
			return l.failed(ctx, err)
		}
		news, err := l.take(ctx, ev)
		if err != nil {
			return err
		}
		words := wordsOf(news)
		if news.State == "" && words == "" {
			continue
		}
		state := string(l.fold.Task.Status.State)
		change(func(r *row) {
			if state != "" {
				r.state = state
			}
			if words != "" {
				r.words = words
			}
		})
	}
	if l.fold.Task.Status.State.Settled() {
		return nil
	}
	// A stream behind its last event has nothing to say of a task that ended before.
	got, err := s.get(ctx, t, nil)
	if err == nil {
		change(func(r *row) { r.state, r.words = string(got.Status.State), line(got.Status.Message.Text(), 200) })
	}
	return err
}

// wordsOf are the last words of a change.
func wordsOf(c client.Change) string {
	if text := c.Words.Text(); text != "" {
		return line(text, 200)
	}
	if n := len(c.Artifacts); n > 0 {
		return line(textOf(c.Artifacts[n-1].Artifact.Parts), 200)
	}
	return ""
}

// watchEnd is how a watch ends: like its first task that did not end well.
func (s *session) watchEnd(rows []row) error {
	var first error
	for _, r := range rows {
		err := r.err
		if err != nil {
			x := explained(err, "").(*Exit)
			if !isSignal(err) && !errors.Is(err, context.DeadlineExceeded) && client.KindOf(err) != client.KindTimeout {
				s.say("task %s: %v\n", r.name, x)
			}
			err = &Exit{Code: x.Code}
		} else {
			err = ended(a2a.State(r.state))
		}
		if first == nil {
			first = err
		}
	}
	open := 0
	for _, r := range rows {
		if r.err != nil {
			open++
		}
	}
	if open > 0 {
		s.say("%d of %d not settled; see skillyard pending\n", open, len(rows))
	}
	return first
}

// view shows rows: on a terminal as a block of lines that is written again, elsewhere a
// line for each change.
type view struct {
	s     *session
	rows  []row
	lines int // of the block
	block bool
	err   error // of the output
}

func (s *session) newView(rows []row) *view {
	v := &view{s: s, rows: rows}
	if terminal(s.Out) >= 0 && !s.f.verbose && s.f.output == "table" {
		_, height := s.size()
		v.block = len(rows) < height // the cursor cannot go up further
	}
	s.hushed = v.block
	return v
}

// run applies changes until there are no more, and keeps the ages of a block fresh.
func (v *view) run(changes <-chan func()) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	v.draw()
	for {
		select {
		case f, ok := <-changes:
			if !ok {
				return
			}
			f()
		case <-tick.C:
			v.draw()
		}
	}
}

// changed shows a row that has changed.
func (v *view) changed(r *row) {
	if v.block {
		v.draw()
		return
	}
	if r.done {
		return // its state was shown
	}
	if v.err == nil {
		v.err = v.write(r)
	}
}

// changeRow is a change of a task in the output for programs.
type changeRow struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	State string `json:"state"`
	Text  string `json:"text,omitempty"`
}

// write writes a row as it is now.
func (v *view) write(r *row) error {
	b, err := json.Marshal(changeRow{ID: r.name, Agent: r.agent, State: r.state, Text: r.words})
	if err != nil {
		return err
	}
	switch v.s.f.output {
	case "json":
		return v.s.print(string(b) + "\n")
	case "yaml":
		if b, err = yaml.JSONToYAML(b); err != nil {
			return err
		}
		return v.s.print("---\n" + string(b))
	}
	return v.s.print(fmt.Sprintf("%s\t%s\t%s\n", line(r.name, 200), r.state, r.words))
}

// draw writes the block over the one before.
func (v *view) draw() {
	if !v.block {
		return
	}
	var b strings.Builder
	if v.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.lines)
	}
	width, _ := v.s.size()
	for _, text := range block(v.rows, time.Now(), width) {
		b.WriteString("\r\x1b[2K" + text + "\n")
	}
	v.lines = len(v.rows)
	_, _ = fmt.Fprint(v.s.Out, b.String())
}

// block are the lines of a block, each short enough for a terminal of some width.
func block(rows []row, now time.Time, width int) []string {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len([]rune(line(r.name, 40))))
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		state := r.state
		if state == "" {
			state = "sending"
		}
		if r.err != nil {
			state += " (interrupted)"
		}
		text := fmt.Sprintf("%-*s  %-14s  %4s  %s", longest, line(r.name, 40), state, age(now, r.since), r.words)
		if runes := []rune(text); len(runes) >= width {
			text = string(runes[:max(width-2, 0)]) + "…"
		}
		lines[i] = strings.TrimRight(text, " ")
	}
	return lines
}
