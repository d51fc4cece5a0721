package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

func (s *suite) run() {
	s.check("card: the transport is the one that was chosen", s.cardAtTheRoot)
	s.check("card under the endpoint", s.cardUnderTheEndpoint)
	if s.binding != a2a.TransportProtocolGRPC { // an rpc has no path to choose a skill by
		s.check("card of one skill", s.cardOfOneSkill)
	}
	s.check("send, blocking", s.sendBlocking)
	s.check("send waits for the end", s.sendWaits)
	s.check("data and metadata unchanged", s.dataUnchanged)
	s.check("get, with and without history", s.getAndHistory)
	// JSON-RPC 0.3 has no list, and over REST 0.3 the SDK loses all of an answer but its tasks.
	if s.version != a2av0.Version || s.binding == a2a.TransportProtocolGRPC {
		s.check("list", s.list)
	}
	s.check("send, not blocking, then poll", s.sendThenPoll)
	s.check("cancel a running task", s.cancelRunning)
	s.check("cancel of an ended task is the typed error", s.cancelEnded)
	s.check("unknown task is the typed error", s.unknownTask)
	s.check("question and answer", s.questionAndAnswer)
	s.check("skill chosen by metadata", s.skillByMetadata)
	s.check("a failed task says why", s.failedTask)
	s.check("no token is refused", s.noToken)
	s.check("another caller's task is unknown", s.foreignTask)
	if s.version == a2av0.Version { // the parser of 1.0 takes no form of the requirements that others take
		s.check("the key goes where the card says", s.keyAsTheCardSays)
	}
	if s.version == a2av0.Version || s.binding == a2a.TransportProtocolGRPC { // for the same reason
		s.check("card of the caller", s.cardOfTheCaller)
	}
	s.check("extension: events are numbered on request", s.eventsNumbered)
}

func (s *suite) cardAtTheRoot(ctx context.Context) error {
	card, err := s.card(ctx, "")
	if err != nil {
		return err
	}
	for _, id := range []string{"probe", "list_board", "weekly_report"} {
		if !slices.ContainsFunc(card.Skills, func(k a2a.AgentSkill) bool { return k.ID == id }) {
			return fmt.Errorf("skill %s is not in the card", id)
		}
	}
	if !slices.ContainsFunc(card.SupportedInterfaces, func(i *a2a.AgentInterface) bool {
		return strings.HasPrefix(string(i.ProtocolVersion), string(s.version)) &&
			i.ProtocolBinding == s.binding && (s.binding == a2a.TransportProtocolGRPC || strings.HasPrefix(i.URL, s.base))
	}) {
		return fmt.Errorf("no %s interface of version %s in the card", s.binding, s.version)
	}
	if s.alice, err = s.connect(ctx, aliceToken, ""); err != nil {
		return err
	}
	s.bob, err = s.connect(ctx, bobToken, "")
	return err
}

func (s *suite) cardUnderTheEndpoint(ctx context.Context) error {
	client, err := s.connect(ctx, aliceToken, "/api/a2a/tasks")
	if err != nil {
		return err
	}
	return echo(ctx, client)
}

func (s *suite) cardOfOneSkill(ctx context.Context) error {
	card, err := s.card(ctx, "/skills/list_boards")
	if err != nil {
		return err
	}
	if len(card.Skills) != 1 || card.Skills[0].ID != "list_boards" {
		return fmt.Errorf("got skills %v, want list_boards alone", card.Skills)
	}
	client, err := s.connect(ctx, aliceToken, "/skills/list_boards")
	if err != nil {
		return err
	}
	t, err := sendTask(ctx, client, text("{}"))
	if err != nil {
		return err
	}
	_, err = firstBoard(t)
	return err
}

func (s *suite) sendBlocking(ctx context.Context) error { return echo(ctx, s.alice) }

func (s *suite) sendWaits(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, text("@sleep 1"))
	return errors.Join(err, wantState(t, a2a.TaskStateCompleted))
}

func (s *suite) dataUnchanged(ctx context.Context) error {
	// Numbers as the client reads them back: it decodes them as float64.
	data := map[string]any{
		"big": float64(9007199254740991), "zero": 0.0, "neg": -7.0, "half": 0.5,
		"list": []any{1.0, "2", nil, true}, "deep": map[string]any{"ключ": "значення"},
	}
	meta := map[string]any{"n": float64(12345678901), "list": []any{1.0, 2.0, 3.0}, "none": nil}
	req := text("@data")
	part := a2a.NewDataPart(data)
	part.SetMeta("unit", 3.0)
	req.Message.Parts = append(req.Message.Parts, part)
	req.Message.Metadata = map[string]any{"x-interop": meta}
	t, err := sendTask(ctx, s.alice, req)
	if err != nil {
		return err
	}
	parts := partsOf(t)
	i := slices.IndexFunc(parts, func(p *a2a.Part) bool { return p.Data() != nil })
	if i < 0 {
		return errors.New("no data part came back")
	}
	got, err := s.alice.GetTask(ctx, &a2a.GetTaskRequest{ID: t.ID})
	if err != nil {
		return err
	}
	if len(got.History) == 0 || len(got.History[0].Parts) != 2 {
		return fmt.Errorf("history: %s", asJSON(got.History))
	}
	return errors.Join(
		wantEqual("data", parts[i].Data(), data),
		wantEqual("metadata of the part", parts[i].Meta(), map[string]any{"unit": 3.0}),
		wantEqual("metadata of the message", got.History[0].Metadata["x-interop"], meta),
		wantEqual("data in the history", got.History[0].Parts[1].Data(), data),
	)
}

func (s *suite) getAndHistory(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, text("@echo kept"))
	if err != nil {
		return err
	}
	get := func(length *int) *a2a.Task {
		got, e := s.alice.GetTask(ctx, &a2a.GetTaskRequest{ID: t.ID, HistoryLength: length})
		err = errors.Join(err, e)
		if e != nil {
			return &a2a.Task{}
		}
		return got
	}
	zero, one := 0, 1
	whole, none, last, again := get(nil), get(&zero), get(&one), get(nil)
	if err != nil {
		return err
	}
	if len(whole.History) == 0 || whole.History[0].Role != a2a.MessageRoleUser {
		return fmt.Errorf("history: %s", asJSON(whole.History))
	}
	return errors.Join(
		wantState(whole, a2a.TaskStateCompleted),
		wantEqual("ids", []string{string(whole.ID), whole.ContextID}, []string{string(t.ID), t.ContextID}),
		wantEqual("history of length 0", len(none.History), s.shownOfNone(whole)),
		wantEqual("history of length 1", last.History, whole.History[len(whole.History)-1:]),
		wantEqual("task after the reads", again, whole),
	)
}

// shownOfNone is how much of a task's history comes for a length of 0, which the messages
// of 0.3 cannot tell from no length.
func (s *suite) shownOfNone(whole *a2a.Task) int {
	if s.version == a2av0.Version && s.binding == a2a.TransportProtocolGRPC {
		return len(whole.History)
	}
	return 0
}

func (s *suite) list(ctx context.Context) error {
	contextID, ids := "interop-"+a2a.NewContextID(), []a2a.TaskID{}
	for i := range 3 {
		req := text(fmt.Sprintf("@echo %d", i))
		req.Message.ContextID = contextID
		t, err := sendTask(ctx, s.alice, req)
		if err != nil {
			return err
		}
		ids = slices.Insert(ids, 0, t.ID)
	}
	var err error
	list := func(req a2a.ListTasksRequest) *a2a.ListTasksResponse {
		req.ContextID = contextID
		page, e := s.alice.ListTasks(ctx, &req)
		err = errors.Join(err, e)
		if e != nil {
			return &a2a.ListTasksResponse{}
		}
		return page
	}
	idsOf := func(tasks ...*a2a.Task) []a2a.TaskID {
		out := []a2a.TaskID{}
		for _, t := range tasks {
			out = append(out, t.ID)
		}
		return out
	}
	all := list(a2a.ListTasksRequest{})
	first := list(a2a.ListTasksRequest{PageSize: 2})
	rest := list(a2a.ListTasksRequest{PageSize: 2, PageToken: first.NextPageToken})
	working := list(a2a.ListTasksRequest{Status: a2a.TaskStateWorking})
	return errors.Join(err,
		wantEqual("tasks, newest first", idsOf(all.Tasks...), ids),
		wantEqual("total size", all.TotalSize, 3),
		wantEqual("tasks over two pages", idsOf(append(first.Tasks, rest.Tasks...)...), ids),
		wantEqual("working tasks", len(working.Tasks), 0),
	)
}

func (s *suite) sendThenPoll(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, immediately(text("@sleep 1")))
	if err != nil {
		return err
	}
	if t.Status.State.Terminal() {
		return fmt.Errorf("state at once: %s", t.Status.State)
	}
	t, err = s.poll(ctx, t.ID, func(t *a2a.Task) bool { return t.Status.State.Terminal() })
	return errors.Join(err, wantState(t, a2a.TaskStateCompleted))
}

func (s *suite) cancelRunning(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, immediately(text("@sleep 30")))
	if err != nil {
		return err
	}
	working := func(t *a2a.Task) bool { return t.Status.State == a2a.TaskStateWorking }
	if _, err := s.poll(ctx, t.ID, working); err != nil {
		return err
	}
	canceled, err := s.alice.CancelTask(ctx, &a2a.CancelTaskRequest{ID: t.ID})
	if err := errors.Join(err, wantState(canceled, a2a.TaskStateCanceled)); err != nil {
		return err
	}
	t, err = s.alice.GetTask(ctx, &a2a.GetTaskRequest{ID: t.ID})
	return errors.Join(err, wantState(t, a2a.TaskStateCanceled))
}

func (s *suite) cancelEnded(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, text("@echo kept"))
	if err != nil {
		return err
	}
	_, err = s.alice.CancelTask(ctx, &a2a.CancelTaskRequest{ID: t.ID})
	return wantError(err, a2a.ErrTaskNotCancelable)
}

func (s *suite) unknownTask(ctx context.Context) error {
	id := "none-" + a2a.NewTaskID()
	_, getErr := s.alice.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	_, cancelErr := s.alice.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	return errors.Join(wantError(getErr, a2a.ErrTaskNotFound), wantError(cancelErr, a2a.ErrTaskNotFound))
}

func (s *suite) questionAndAnswer(ctx context.Context) error {
	first, err := sendTask(ctx, s.alice, text("@ask"))
	if err := errors.Join(err, wantState(first, a2a.TaskStateInputRequired)); err != nil {
		return err
	}
	if statusText(first) == "" {
		return errors.New("no question")
	}
	word := "answer-" + a2a.NewMessageID()
	answer := text(word)
	answer.Message.TaskID, answer.Message.ContextID = first.ID, first.ContextID
	second, err := sendTask(ctx, s.alice, answer)
	if err := errors.Join(err, wantState(second, a2a.TaskStateCompleted)); err != nil {
		return err
	}
	if second.ID != first.ID || !strings.Contains(textOf(partsOf(second)), word) {
		return fmt.Errorf("answered by %s: %q", second.ID, textOf(partsOf(second)))
	}
	more := text("more")
	more.Message.TaskID = first.ID
	_, err = s.alice.SendMessage(ctx, more)
	if s.version == a2av0.Version && s.binding == a2a.TransportProtocolGRPC {
		// The SDK wants the status of 1.0 with the reason, and servers of 0.3 have another.
		if err == nil || !strings.Contains(err.Error(), "takes no more messages") {
			return fmt.Errorf("got error %v of an ended task", err)
		}
		return nil
	}
	return wantError(err, a2a.ErrUnsupportedOperation)
}

func (s *suite) skillByMetadata(ctx context.Context) error {
	bySkill := func(skill, words string) (*a2a.Task, error) {
		req := text(words)
		req.Message.Metadata = map[string]any{"skillId": skill}
		return sendTask(ctx, s.alice, req)
	}
	boards, err := bySkill("list_boards", "{}")
	if err != nil {
		return err
	}
	board, err := firstBoard(boards)
	if err != nil {
		return err
	}
	list, err := bySkill("list_board", board)
	if err := errors.Join(err, wantState(list, a2a.TaskStateCompleted)); err != nil {
		return err
	}
	if got, _ := dataOf(list)["id"].(string); got != board {
		return fmt.Errorf("got board %q, want %q", got, board)
	}
	req := text("")
	req.Metadata = map[string]any{"skillId": "weekly_report"}
	report, err := sendTask(ctx, s.alice, req)
	if err := errors.Join(err, wantState(report, a2a.TaskStateCompleted)); err != nil {
		return err
	}
	if dataOf(report)["summary"] == nil {
		return fmt.Errorf("report: %s", asJSON(report.Artifacts))
	}
	odd, err := bySkill("no_such", "x")
	if err := errors.Join(err, wantState(odd, a2a.TaskStateFailed)); err != nil {
		return err
	}
	if !strings.Contains(statusText(odd), "list_board") {
		return fmt.Errorf("text of an unknown skill: %q", statusText(odd))
	}
	return nil
}

func (s *suite) failedTask(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, text("@fail"))
	if err := errors.Join(err, wantState(t, a2a.TaskStateFailed)); err != nil {
		return err
	}
	if statusText(t) == "" {
		return errors.New("no text")
	}
	return nil
}

func (s *suite) noToken(ctx context.Context) error {
	client, err := s.connect(ctx, "", "")
	if err != nil {
		return err
	}
	if _, err = client.SendMessage(ctx, text("@echo x")); err == nil {
		return errors.New("served without a token")
	}
	if !strings.Contains(err.Error(), "401") && !errors.Is(err, a2a.ErrUnauthenticated) {
		return fmt.Errorf("got %w, want 401", err)
	}
	return nil
}

func (s *suite) keyAsTheCardSays(ctx context.Context) error {
	card, err := s.card(ctx, "")
	if err != nil {
		return err
	}
	if len(card.SecurityRequirements) == 0 {
		return errors.New("no security requirements in the card")
	}
	for _, requirement := range card.SecurityRequirements {
		for scheme := range requirement {
			keys := a2aclient.NewInMemoryCredentialsStore()
			keys.Set("session", scheme, aliceToken)
			client, err := s.connectWith(ctx, card, &a2aclient.AuthInterceptor{Service: keys})
			if err != nil {
				return err
			}
			if err := echo(a2aclient.AttachSessionID(ctx, "session"), client); err != nil {
				return fmt.Errorf("scheme %s: %w", scheme, err)
			}
		}
	}
	return nil
}

func (s *suite) foreignTask(ctx context.Context) error {
	t, err := sendTask(ctx, s.alice, text("@echo mine"))
	if err != nil {
		return err
	}
	_, getErr := s.bob.GetTask(ctx, &a2a.GetTaskRequest{ID: t.ID})
	_, cancelErr := s.bob.CancelTask(ctx, &a2a.CancelTaskRequest{ID: t.ID})
	return errors.Join(wantError(getErr, a2a.ErrTaskNotFound), wantError(cancelErr, a2a.ErrTaskNotFound))
}
