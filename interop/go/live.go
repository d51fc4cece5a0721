package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// runLive checks the task alive: streams and turns.
func (s *suite) runLive() {
	s.check("stream: every chunk in order, the end last", s.streamInOrder)
	s.check("resubscribe after a broken connection", s.resubscribe)
	s.check("subscribe to what does not run", s.subscribeInVain)
	s.check("stream a question, answer it", s.questionStreamed)
	s.check("cancel while streaming", s.cancelWhileStreaming)
}

func (s *suite) stream(ctx context.Context, words string) iter.Seq2[a2a.Event, error] {
	return s.alice.SendStreamingMessage(ctx, text(words))
}

func (s *suite) subscribe(ctx context.Context, id a2a.TaskID) iter.Seq2[a2a.Event, error] {
	return s.alice.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id})
}

// readAll reads a stream to its end.
func readAll(stream iter.Seq2[a2a.Event, error]) ([]a2a.Event, error) {
	var events []a2a.Event
	for ev, err := range stream {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// chunksBetween returns the words of the probe's numbered chunks.
func chunksBetween(first, last int) []string {
	var words []string
	for i := first; i <= last; i++ {
		words = append(words, fmt.Sprintf("chunk-%d ", i))
	}
	return words
}

func wordsOf(parts a2a.ContentParts) []string {
	var words []string
	for _, p := range parts {
		words = append(words, p.Text())
	}
	return words
}

// updateWords returns the texts of an artifact update, and nil of other events.
func updateWords(ev a2a.Event) []string {
	if u, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok {
		return wordsOf(u.Artifact.Parts)
	}
	return nil
}

// snapshotOf returns the task a stream has to begin with.
func snapshotOf(events []a2a.Event) (*a2a.Task, error) {
	if len(events) == 0 {
		return nil, errors.New("the stream has no event")
	}
	t, ok := events[0].(*a2a.Task)
	if !ok {
		return nil, fmt.Errorf("the stream begins with a %T, want a task", events[0])
	}
	return t, nil
}

// fold returns the texts of all parts after the events of a stream.
func fold(events []a2a.Event) []string {
	var order []a2a.ArtifactID
	parts := map[a2a.ArtifactID][]string{}
	put := func(a *a2a.Artifact, after bool) {
		if _, ok := parts[a.ID]; !ok {
			order = append(order, a.ID)
		}
		if !after {
			parts[a.ID] = nil
		}
		parts[a.ID] = append(parts[a.ID], wordsOf(a.Parts)...)
	}
	for _, ev := range events {
		switch ev := ev.(type) {
		case *a2a.Task:
			order = nil
			clear(parts)
			for _, a := range ev.Artifacts {
				put(a, false)
			}
		case *a2a.TaskArtifactUpdateEvent:
			put(ev.Artifact, ev.Append)
		}
	}
	var words []string
	for _, id := range order {
		words = append(words, parts[id]...)
	}
	return words
}

// wantEnd wants the last event, and none before it, to be the status.
func wantEnd(events []a2a.Event, want a2a.TaskState) error {
	at := slices.IndexFunc(events, func(ev a2a.Event) bool {
		u, ok := ev.(*a2a.TaskStatusUpdateEvent)
		return ok && u.Status.State == want
	})
	if at < 0 || at != len(events)-1 {
		return fmt.Errorf("status %s is event %d of %s", want, at, asJSON(events))
	}
	return nil
}

func (s *suite) streamInOrder(ctx context.Context) error {
	events, err := readAll(s.stream(ctx, "@chunks 5 100"))
	if err != nil {
		return err
	}
	first, err := snapshotOf(events)
	if err != nil {
		return err
	}
	var words []string
	var last []bool
	for _, ev := range events {
		if u, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok {
			words, last = append(words, updateWords(ev)...), append(last, u.LastChunk)
		}
	}
	t, err := s.alice.GetTask(ctx, &a2a.GetTaskRequest{ID: first.ID})
	if err != nil {
		return err
	}
	return errors.Join(
		wantEqual("chunks", words, chunksBetween(1, 5)),
		wantEqual("last chunk", last, []bool{false, false, false, false, true}),
		wantEqual("the stream folded, against the task", fold(events), wordsOf(partsOf(t))),
		wantEnd(events, a2a.TaskStateCompleted),
	)
}

func (s *suite) resubscribe(ctx context.Context) error {
	var events []a2a.Event
	for ev, err := range s.stream(ctx, "@chunks 10 100") {
		if err != nil {
			return err
		}
		events = append(events, ev)
		if slices.Equal(updateWords(ev), chunksBetween(3, 3)) {
			break // closes the connection, with the rest of the stream in it
		}
	}
	first, err := snapshotOf(events)
	if err != nil {
		return err
	}
	rest, err := readAll(s.subscribe(ctx, first.ID))
	if err != nil {
		return err
	}
	again, err := snapshotOf(rest)
	return errors.Join(err,
		wantState(again, a2a.TaskStateWorking),
		wantEqual("the second stream folded", fold(rest), chunksBetween(1, 10)),
		wantEnd(rest, a2a.TaskStateCompleted),
	)
}

func (s *suite) subscribeInVain(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, text("@echo over"))
	if err != nil {
		return err
	}
	events, endedErr := readAll(s.subscribe(ctx, t.ID))
	_, unknownErr := readAll(s.subscribe(ctx, "none-"+a2a.NewTaskID()))
	if s.version == a2av0.Version { // 0.3 gets the task, and the stream ends
		first, err := snapshotOf(events)
		return errors.Join(endedErr, err, wantEqual("events", len(events), 1),
			wantState(first, a2a.TaskStateCompleted), wantError(unknownErr, a2a.ErrTaskNotFound))
	}
	return errors.Join(wantError(endedErr, a2a.ErrUnsupportedOperation), wantError(unknownErr, a2a.ErrTaskNotFound))
}

func (s *suite) questionStreamed(ctx context.Context) error {
	asked, err := readAll(s.stream(ctx, "@ask"))
	if err != nil {
		return err
	}
	t, err := snapshotOf(asked)
	if err := errors.Join(err, wantEnd(asked, a2a.TaskStateInputRequired)); err != nil {
		return err
	}
	// Who subscribes while the task waits sees the answer's effect. (In 0.3 the
	// stream of a waiting task ends.)
	watching := func() (a2a.Event, error, bool) { return nil, nil, false }
	watched := []a2a.Event{}
	if s.version != a2av0.Version {
		next, stop := iter.Pull2(s.subscribe(ctx, t.ID))
		defer stop()
		watching = next
		ev, err, _ := next()
		if err != nil {
			return err
		}
		watched = append(watched, ev)
	}
	answer := text("answer-" + a2a.NewMessageID())
	answer.Message.TaskID, answer.Message.ContextID = t.ID, t.ContextID
	answered, err := readAll(s.alice.SendStreamingMessage(ctx, answer))
	if err != nil {
		return err
	}
	for ev, err, ok := watching(); ok; ev, err, ok = watching() {
		if err != nil {
			return err
		}
		watched = append(watched, ev)
	}
	again, err := snapshotOf(answered)
	if err != nil {
		return err
	}
	if got, want := strings.Join(fold(answered), ""), textOf(answer.Message.Parts); again.ID != t.ID || !strings.Contains(got, want) {
		return fmt.Errorf("answered by %s: %q, want %q", again.ID, got, want)
	}
	if len(watched) > 0 {
		err = wantEnd(watched, a2a.TaskStateCompleted)
	}
	return errors.Join(err, wantEnd(answered, a2a.TaskStateCompleted))
}

func (s *suite) cancelWhileStreaming(ctx context.Context) error {
	var events []a2a.Event
	for ev, err := range s.stream(ctx, "@chunks 300 100") {
		if err != nil {
			return err
		}
		events = append(events, ev)
		if slices.Equal(updateWords(ev), chunksBetween(2, 2)) {
			first, err := snapshotOf(events)
			if err != nil {
				return err
			}
			t, err := s.alice.CancelTask(ctx, &a2a.CancelTaskRequest{ID: first.ID})
			if err := errors.Join(err, wantState(t, a2a.TaskStateCanceled)); err != nil {
				return err
			}
		}
	}
	return wantEnd(events, a2a.TaskStateCanceled)
}
