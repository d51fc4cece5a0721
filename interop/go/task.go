package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

func text(words string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(words))}
}

func immediately(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return req
}

func sendTask(ctx context.Context, client *a2aclient.Client, req *a2a.SendMessageRequest) (*a2a.Task, error) {
	res, err := client.SendMessage(ctx, req)
	if err != nil {
		return nil, err
	}
	t, ok := res.(*a2a.Task)
	if !ok {
		return nil, fmt.Errorf("got a %T, want a task", res)
	}
	return t, nil
}

// echo sends a text and wants it back in a task or a message.
func echo(ctx context.Context, client *a2aclient.Client) error {
	word := "hello-" + a2a.NewMessageID()
	res, err := client.SendMessage(ctx, text("@echo "+word))
	if err != nil {
		return err
	}
	var parts a2a.ContentParts
	switch res := res.(type) {
	case *a2a.Message:
		parts = res.Parts
	case *a2a.Task:
		if err := wantState(res, a2a.TaskStateCompleted); err != nil {
			return err
		}
		parts = partsOf(res)
	}
	if got := textOf(parts); !strings.Contains(got, word) {
		return fmt.Errorf("got %q, want %q in it", got, word)
	}
	return nil
}

// poll reads the task until accept likes it.
func (s *suite) poll(ctx context.Context, id a2a.TaskID, accept func(*a2a.Task) bool) (*a2a.Task, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		t, err := s.alice.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err != nil || accept(t) {
			return t, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return t, fmt.Errorf("still %s: %w", t.Status.State, ctx.Err())
		}
	}
}

func partsOf(t *a2a.Task) a2a.ContentParts {
	var parts a2a.ContentParts
	for _, a := range t.Artifacts {
		parts = append(parts, a.Parts...)
	}
	return parts
}

func textOf(parts a2a.ContentParts) string {
	var words []string
	for _, p := range parts {
		if w := p.Text(); w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, "\n")
}

// dataOf returns the first data part's object.
func dataOf(t *a2a.Task) map[string]any {
	for _, p := range partsOf(t) {
		if object, ok := p.Data().(map[string]any); ok {
			return object
		}
	}
	return nil
}

// firstBoard returns the id of the first board of a list_boards answer.
func firstBoard(t *a2a.Task) (string, error) {
	if err := wantState(t, a2a.TaskStateCompleted); err != nil {
		return "", err
	}
	if boards, ok := dataOf(t)["boards"].([]any); ok && len(boards) > 0 {
		if board, ok := boards[0].(map[string]any); ok {
			if id, ok := board["id"].(string); ok {
				return id, nil
			}
		}
	}
	return "", fmt.Errorf("no board in %s", asJSON(t.Artifacts))
}

func statusText(t *a2a.Task) string {
	if t.Status.Message == nil {
		return ""
	}
	return textOf(t.Status.Message.Parts)
}

func wantState(t *a2a.Task, want a2a.TaskState) error {
	switch {
	case t == nil:
		return fmt.Errorf("got no task, want state %s", want)
	case t.Status.State != want:
		return fmt.Errorf("task %s: got state %s (%s), want %s", t.ID, t.Status.State, statusText(t), want)
	}
	return nil
}

func wantError(got, want error) error {
	if !errors.Is(got, want) {
		return fmt.Errorf("got error %v, want %v", got, want)
	}
	return nil
}

func wantEqual(what string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: got %s, want %s", what, asJSON(got), asJSON(want))
	}
	return nil
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
