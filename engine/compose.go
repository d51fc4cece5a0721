package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
)

// compose makes the submission of a new task. A request that cannot be worked on
// becomes a task that is born failed (RunEnded): stored, and readable later.
func (e *Engine) compose(caller a2a.Caller, choice skills.Choice, req *a2a.SendRequest) (taskstore.Submission, mappers.Input, error) {
	at := a2a.Now()
	t := &a2a.Task{
		ID: req.NewTaskID, ContextID: req.ContextID, SkillSource: choice.Source, Dialect: req.Dialect,
		Status: a2a.Status{State: a2a.StateSubmitted, At: at}, CreatedAt: at, UpdatedAt: at, Seq: 1,
	}
	s := taskstore.Submission{Scope: caller.Scope, Task: t, Rerun: req.NewTaskID != "", Key: req.IdempotencyKey}
	if t.ID == "" {
		t.ID = a2a.TaskID(newID())
	}
	if t.ContextID == "" {
		t.ContextID = a2a.ContextID(newID())
	}
	if req.Message.ID == "" {
		req.Message.ID = newID()
	}
	var input mappers.Input
	var failure *a2a.Error
	if choice.Entry == nil {
		failure = &a2a.Error{Code: a2a.CodeUnknownSkill, Message: e.skills.For(caller).UnknownText(choice)}
	} else {
		t.Skill = choice.Entry.Info.ID
		if err := checkInputModes(choice.Entry, req.Message.Parts); err != nil {
			return s, input, err
		}
		var err error
		input, err = choice.Entry.Mapper.In(req.Message)
		// The schema names the place, so its word goes before the mapper's.
		if bad := choice.Entry.CheckInput(input.Sent); bad != nil {
			err = bad
		}
		if err != nil {
			failure = a2a.AsError(err)
		}
		t.Warnings = input.Warnings
	}
	t.History = []a2a.Message{req.Message}
	if s.Rerun || s.Key != "" {
		s.Fingerprint = fingerprint(t, req)
		t.Fingerprint = s.Fingerprint
	}
	skeleton := *t
	s.Events = []a2a.Event{{Seq: 1, At: at, Created: &skeleton}}
	s.Run.State = taskstore.RunQueued
	if failure != nil {
		if failure.Code == a2a.CodeInternal {
			e.log.Error().Err(failure).Str("skill", string(t.Skill)).Msg("map message")
		}
		ev := a2a.StatusEvent(a2a.StateFailed, a2a.AgentText(fmt.Sprintf("%s-2", t.ID), failure.Message))
		ev.Status.Message.Metadata = placesOf(failure.Fields)
		ev.Seq, ev.At, ev.Status.At, ev.Status.Code = 2, at, at, failure.Code
		if err := t.Apply(ev); err != nil {
			return s, input, err
		}
		s.Events = append(s.Events, ev)
		s.Run.State = taskstore.RunEnded
	}
	return s, input, nil
}

// placesOf returns the metadata that tells programs what is wrong where; nil for
// nothing.
func placesOf(fields []a2a.FieldViolation) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	type place struct {
		Field       string `json:"field"`
		Description string `json:"description"`
	}
	list := make([]place, len(fields))
	for i, f := range fields {
		list[i] = place(f)
	}
	b, err := json.Marshal(map[string][]place{"violations": list})
	if err != nil {
		return nil // strings always encode
	}
	return b
}

// fingerprint tells two requests apart: skill, context and content of the
// message, but not its id, which clients make anew for each try.
func fingerprint(t *a2a.Task, req *a2a.SendRequest) string {
	h := sha256.New()
	// Writing to a hash cannot fail, and these types always marshal.
	_ = json.NewEncoder(h).Encode([]any{t.Skill, req.ContextID, req.Message.Parts, req.Message.Metadata, req.Message.Request})
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// checkInputModes refuses parts whose media type a strict skill does not take.
// Types match without parameters and case; "text/*" matches any text.
func checkInputModes(entry *skills.Entry, parts []a2a.Part) error {
	if !entry.StrictInput || len(entry.Info.InputModes) == 0 {
		return nil
	}
	for i, p := range parts {
		if p.MediaType == "" || accepts(entry.Info.InputModes, p.MediaType) {
			continue
		}
		return &a2a.Error{
			Code:    a2a.CodeContentTypeNotSupported,
			Message: fmt.Sprintf("Skill %s does not take %s; it takes %s.", entry.Info.ID, clip(p.MediaType), strings.Join(entry.Info.InputModes, ", ")),
			Fields:  []a2a.FieldViolation{{Field: fmt.Sprintf("message.parts[%d].mediaType", i), Description: "is not among the skill's input modes"}},
		}
	}
	return nil
}

func accepts(modes []string, mediaType string) bool {
	base, _, _ := strings.Cut(mediaType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	for _, m := range modes {
		m = strings.ToLower(m)
		if m == base || m == "*/*" || strings.HasSuffix(m, "/*") && strings.HasPrefix(base, strings.TrimSuffix(m, "*")) {
			return true
		}
	}
	return false
}

// clip shortens a client's text for an error message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
