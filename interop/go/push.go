package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	a2alegacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// runPush checks push notifications and their configs.
func (s *suite) runPush() {
	s.check("push: in order, with token and credentials", s.pushInOrder)
	s.check("push configs: create, get, list, delete", s.pushConfigs)
}

// webhook keeps what it is sent, in the order of arrival.
type webhook struct {
	*httptest.Server
	mu         sync.Mutex
	deliveries []delivery // guarded by mu
}

type delivery struct {
	header http.Header
	body   []byte
}

// openWebhook makes a webhook on this machine; the caller must Close it.
func openWebhook() *webhook {
	h := &webhook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.deliveries = append(h.deliveries, delivery{r.Header, body})
	}))
	return h
}

func (h *webhook) all() []delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.deliveries)
}

// until waits for a delivery after which the task is in the state, and returns all
// that came, as events.
func (h *webhook) until(ctx context.Context, s *suite, want a2a.TaskState) ([]a2a.Event, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var events []a2a.Event
		for _, d := range h.all() {
			ev, err := s.pushed(d.body)
			if err != nil {
				return nil, fmt.Errorf("%w: %s", err, d.body)
			}
			events = append(events, ev)
		}
		if len(events) > 0 && stateAfter(events[len(events)-1]) == want {
			return events, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("no %s among %s: %w", want, asJSON(events), ctx.Err())
		}
	}
}

// pushed reads a body in the dialect of the suite.
func (s *suite) pushed(body []byte) (a2a.Event, error) {
	if s.version == a2av0.Version {
		old, err := a2alegacy.UnmarshalEventJSON(body)
		if err != nil {
			return nil, err
		}
		return a2av0.ToV1Event(old)
	}
	var res a2a.StreamResponse
	err := json.Unmarshal(body, &res)
	return res.Event, err
}

func stateAfter(ev a2a.Event) a2a.TaskState {
	switch ev := ev.(type) {
	case *a2a.Task:
		return ev.Status.State
	case *a2a.TaskStatusUpdateEvent:
		return ev.Status.State
	}
	return ""
}

func (s *suite) pushInOrder(ctx context.Context) error {
	hook := openWebhook()
	defer hook.Close()
	req := text("@chunks 3 100")
	req.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{
		URL: hook.URL, Token: "the-token", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "the-secret"},
	}}
	t, err := sendTask(ctx, s.alice, req)
	if err != nil {
		return err
	}
	events, err := hook.until(ctx, s, a2a.TaskStateCompleted)
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for i, d := range hook.all() {
		if got := events[i].TaskInfo().TaskID; got != t.ID {
			return fmt.Errorf("delivery %d is about %s, want %s", i, got, t.ID)
		}
		for name, want := range map[string]string{
			"A2A-Notification-Token": "the-token", "X-A2A-Notification-Token": "the-token", "Authorization": "Bearer the-secret",
		} {
			if got := d.header.Get(name); got != want {
				return fmt.Errorf("%s of delivery %d: got %q, want %q", name, i, got, want)
			}
		}
		ids[d.header.Get("Webhook-Id")] = true
	}
	if err := wantEqual("distinct delivery ids", len(ids), len(events)); err != nil {
		return err
	}
	if s.version == a2av0.Version {
		return growing(events)
	}
	return errors.Join(
		wantEqual("state first told", stateAfter(events[0]), a2a.TaskStateWorking),
		wantEqual("chunks", fold(events), chunksBetween(1, 3)),
		wantEqual("deliveries", len(events), 5),
		wantEnd(events, a2a.TaskStateCompleted),
	)
}

// growing wants whole tasks, none older than the one before.
func growing(events []a2a.Event) error {
	var before int
	for i, ev := range events {
		t, ok := ev.(*a2a.Task)
		if !ok {
			return fmt.Errorf("delivery %d is a %T, want a task", i, ev)
		}
		words := wordsOf(partsOf(t))
		if len(words) < before || !slices.Equal(words, chunksBetween(1, len(words))) {
			return fmt.Errorf("delivery %d has %q after %d chunks", i, words, before)
		}
		if before = len(words); t.Status.State.Terminal() && (before != 3 || i != len(events)-1) {
			return fmt.Errorf("delivery %d of %d is the end, with %d chunks", i, len(events), before)
		}
	}
	return nil
}

func (s *suite) pushConfigs(ctx context.Context) error {
	kept, dropped := openWebhook(), openWebhook()
	defer kept.Close()
	defer dropped.Close()
	t, err := sendTask(ctx, s.alice, immediately(text("@sleep 60")))
	if err != nil {
		return err
	}
	if _, err := s.poll(ctx, t.ID, func(t *a2a.Task) bool { return t.Status.State == a2a.TaskStateWorking }); err != nil {
		return err
	}
	for id, hook := range map[string]*webhook{"kept": kept, "dropped": dropped} {
		made, err := s.alice.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: t.ID, ID: id, URL: hook.URL, Token: "t"})
		if err != nil {
			return err
		}
		if made.ID != id || made.TaskID != t.ID {
			return fmt.Errorf("made %s", asJSON(made))
		}
	}
	get := func(id string) (*a2a.PushConfig, error) {
		return s.alice.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: t.ID, ID: id})
	}
	list := func() []string {
		configs, e := s.alice.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: t.ID})
		err = errors.Join(err, e)
		ids := []string{}
		for _, c := range configs {
			ids = append(ids, c.ID)
		}
		slices.Sort(ids)
		return ids
	}
	got, err := get("kept")
	if err != nil {
		return err
	}
	before := list()
	if e := s.alice.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: t.ID, ID: "dropped"}); e != nil {
		return e
	}
	after := list()
	_, goneErr := get("dropped")
	_, foreignErr := s.bob.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: t.ID})
	if err := errors.Join(err,
		wantEqual("config; its token is not shown", []string{got.ID, got.URL, got.Token}, []string{"kept", kept.URL, ""}),
		wantEqual("list", before, []string{"dropped", "kept"}),
		wantEqual("list after the deletion", after, []string{"kept"}),
		wantError(goneErr, a2a.ErrTaskNotFound),
		wantError(foreignErr, a2a.ErrTaskNotFound),
	); err != nil {
		return err
	}
	if _, err := s.alice.CancelTask(ctx, &a2a.CancelTaskRequest{ID: t.ID}); err != nil {
		return err
	}
	_, err = kept.until(ctx, s, a2a.TaskStateCanceled)
	return errors.Join(err, wantEqual("deliveries of the deleted config", len(dropped.all()), 0))
}
