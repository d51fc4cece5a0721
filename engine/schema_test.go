package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/mock"
	"github.com/skillyard/skillyard/taskstore/memory"
)

func schemaOf(t testing.TB, text string) *skills.Schema {
	t.Helper()
	s, err := skills.ParseSchema([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func withData(text string, data ...string) *a2a.SendRequest {
	req := message(text)
	for _, d := range data {
		req.Message.Parts = append(req.Message.Parts, a2a.DataPart(json.RawMessage(d)))
	}
	return req
}

func TestEngine_Send_input_schema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		r := newRig(t, nil, skills.Entry{
			InputSchema: schemaOf(t, `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`),
			Skill: skills.Func(func(_ context.Context, in skills.Input, emit skills.Emit) error {
				ran++
				if in.Message.Text() == "@ask" {
					return emit(a2a.StatusEvent(a2a.StateInputRequired, a2a.AgentText("", "and?")))
				}
				return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
			}),
		})
		bad := r.send(withData("x", `{"n":"secret"}`))
		r.checkLog(bad.ID)
		s := r.get(bad.ID).Status
		if s.State != a2a.StateFailed || s.Code != a2a.CodeInvalidInput || s.Message.Text() != "/n: must be an integer, not a string" {
			t.Errorf("got %s %s %q, want failed, invalid_input at /n", s.State, s.Code, s.Message.Text())
		}
		if got, want := string(s.Message.Metadata), `{"violations":[{"field":"/n","description":"must be an integer, not a string"}]}`; got != want {
			t.Errorf("got metadata %s, want %s", got, want)
		}
		if ran != 0 {
			t.Error("the skill was run")
		}
		// Without data there is nothing to hold against a schema.
		r.wantState(r.send(message("x")).ID, a2a.StateCompleted)
		r.wantState(r.send(withData("x", `{"n":1}`)).ID, a2a.StateCompleted)
		// The answer to a question is not what the schema describes.
		asked := r.send(withData("@ask", `{"n":1}`))
		answer := withData("x", `{"anything":true}`)
		answer.TaskID = asked.ID
		r.wantState(r.send(answer).ID, a2a.StateCompleted)
	})
}

func TestEngine_Send_output_schema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		probe, err := mock.New(mock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		set, err := skills.NewSet("probe", skills.Entry{
			Info: mock.Info("probe"), Skill: probe, Mapper: mock.Mapper{},
			OutputSchema: schemaOf(t, `{"type":"object","required":["n"]}`),
		}, skills.Entry{
			Info: mock.Info("replies"), Mapper: mock.Mapper{}, OutputSchema: schemaOf(t, `{"type":"object"}`),
			Skill: skills.Func(func(_ context.Context, in skills.Input, emit skills.Emit) error {
				return emit(a2a.Event{Message: &a2a.Message{Parts: in.Message.Parts}})
			}),
		}, skills.Entry{
			Info: mock.Info("proven"), Skill: probe, Mapper: mock.Mapper{},
			OutputSchema: schemaOf(t, `{"type":"object","required":["n"]}`), ProvenOutput: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Skills: set, Log: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		e.Start()
		defer func() { _ = e.Stop(t.Context()) }()
		for _, c := range []struct {
			skill a2a.SkillID
			req   *a2a.SendRequest
			ok    bool
		}{
			{"probe", withData("@data", `{"n":1}`), true},
			{"probe", withData("@data", `{"n":1}`, `{"n":2}`), true},
			{"probe", withData("@data", `{"n":1}`, `{"secret":2}`), false},
			{"probe", withData("@data", `[]`), false},
			{"probe", message("@echo no data"), false},
			{"replies", withData("", `{}`), true},
			{"replies", withData("", `[]`), false},
			{"replies", message("no data"), false},
			{"proven", withData("@data", `[]`), true},
		} {
			log.Reset()
			res, err := e.Send(t.Context(), alice, c.skill, c.req)
			if err != nil {
				t.Fatal(err)
			}
			if c.ok {
				if res.Task != nil && res.Task.Status.State != a2a.StateCompleted {
					t.Errorf("%v: got %s %q, want completed", c.req.Message.Parts, res.Task.Status.State, res.Task.Status.Message.Text())
				}
				continue
			}
			if res.Task == nil {
				t.Errorf("%v: got a message, want a failed task", c.req.Message.Parts)
				continue
			}
			s := res.Task.Status
			if s.State != a2a.StateFailed || s.Code != a2a.CodeInvalidAgentResponse || s.Message.Text() != "the skill's result does not fit its output schema" {
				t.Errorf("%v: got %s %s %q, want failed, invalid_agent_response", c.req.Message.Parts, s.State, s.Code, s.Message.Text())
			}
			if len(res.Task.Artifacts) > 0 && c.req.Message.Text() == "@data" {
				t.Errorf("%v: the broken result was put out: %v", c.req.Message.Parts, res.Task.Artifacts)
			}
			if l := log.String(); !strings.Contains(l, "output schema: ") || strings.Contains(l, "secret") {
				t.Errorf("%v: got log %s, want the place and nothing of the data", c.req.Message.Parts, l)
			}
		}
	})
}
