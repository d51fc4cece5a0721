package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/client/recovery"
)

type sendInput struct {
	Agent     string          `json:"agent,omitempty" jsonschema:"the agent's name; may be left out if there is only one"`
	Text      string          `json:"text,omitempty" jsonschema:"what to do, in full: the agent knows nothing of your conversation"`
	Data      json.RawMessage `json:"data,omitempty" jsonschema:"structured input for a skill that takes it, instead of text or beside it"`
	Skill     string          `json:"skill,omitempty" jsonschema:"the id of the skill that is meant, as a2a_agents lists them; without it the agent chooses"`
	ContextID string          `json:"context_id,omitempty" jsonschema:"the context_id of an earlier task, to go on with that conversation"`
}

type replyInput struct {
	TaskID string          `json:"task_id" jsonschema:"the task that asks"`
	Text   string          `json:"text,omitempty" jsonschema:"the answer"`
	Data   json.RawMessage `json:"data,omitempty" jsonschema:"the answer as data, instead of text or beside it"`
	Agent  string          `json:"agent,omitempty" jsonschema:"the agent's name; only needed if two agents have a task of that id"`
}

// parts makes a message's parts of a tool's arguments.
func parts(text string, data json.RawMessage) ([]a2a.Part, error) {
	var list []a2a.Part
	if strings.TrimSpace(text) != "" {
		list = append(list, a2a.TextPart(text))
	}
	if len(data) > 0 && string(data) != "null" {
		if data[0] != '{' {
			return nil, trouble("The argument data must be a JSON object; give other values as text.")
		}
		compact, err := encode(data)
		if err != nil {
			return nil, err
		}
		list = append(list, a2a.DataPart(compact))
	}
	if len(list) == 0 {
		return nil, trouble("Say what is meant: text, or data for a skill that takes it, is missing.")
	}
	return list, nil
}

// allowed returns the skill to ask for. Where the operator allows some skills only, the
// agent does not choose.
func (a *Agent) allowed(skill a2a.SkillID) (a2a.SkillID, error) {
	switch {
	case len(a.Skills) == 0 || slices.Contains(a.Skills, skill):
		return skill, nil
	case skill == "" && len(a.Skills) == 1:
		return a.Skills[0], nil
	}
	names := make([]string, len(a.Skills))
	for i, id := range a.Skills {
		names[i] = string(id)
	}
	if skill == "" {
		return "", troublef("Name the skill of %s: %s.", a.Name, strings.Join(names, ", "))
	}
	return "", troublef("The skill %q of %s may not be used. Those that may are: %s.", oneLine(string(skill), 80), a.Name, strings.Join(names, ", "))
}

// send is a2a_send.
func (s *Server) send(ctx context.Context, in sendInput) (answer, error) {
	agent, err := s.choose(in.Agent)
	if err != nil {
		return answer{}, err
	}
	list, err := parts(in.Text, in.Data)
	if err != nil {
		return answer{}, err
	}
	skill, err := agent.allowed(a2a.SkillID(in.Skill))
	if err != nil {
		return answer{}, err
	}
	m := client.Message{Parts: list, Skill: skill, ContextID: a2a.ContextID(in.ContextID)}
	return s.submit(ctx, agent, m)
}

// reply is a2a_reply.
func (s *Server) reply(ctx context.Context, in replyInput) (answer, error) {
	if in.TaskID == "" {
		return answer{}, trouble("Say which task is answered: task_id is missing.")
	}
	k, err := s.lookup(ctx, in.TaskID, in.Agent)
	if err != nil {
		return answer{}, err
	}
	switch {
	case k.Sending():
		return answer{}, troublef("There is no task to answer yet, since the agent's answer to the send is not known: %s.", hint(k, a2a.Now()))
	case k.NotSent():
		return answer{}, troublef("There is no task to answer: %s.", whyNotSent(k))
	case k.Ended():
		return answer{}, troublef("Task %s is %s, so it takes no answer. Send a new task with a2a_send; context_id %q goes on with the conversation.", k.name(), k.state(), k.ContextID)
	}
	list, err := parts(in.Text, in.Data)
	if err != nil {
		return answer{}, err
	}
	return s.submit(ctx, k.agent, client.Message{Parts: list, Skill: k.Skill, TaskID: k.TaskID, ContextID: k.ContextID})
}

// whyNotSent says why the agent has no task of a send.
func whyNotSent(k known) string {
	return fmt.Sprintf("it did not take the work (%s)", oneLine(k.LastError, 200))
}

// submit sends a message and records it, before and after. It goes on when its caller
// gives up: a task whose id nobody read would be lost.
func (s *Server) submit(ctx context.Context, agent *Agent, m client.Message) (answer, error) {
	s.sends.Add(1)
	defer s.sends.Done()
	record := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(record, s.CallTimeout)
	defer cancel()
	iface, err := agent.Client.Interface(ctx)
	if err != nil {
		return answer{}, s.words(agent, err).with("Nothing was sent.")
	}
	m.ID = uuid.NewString()
	key := uuid.NewString()
	if iface.Dialect == client.DialectEMM && m.TaskID == "" {
		m.NewTaskID = a2a.TaskID(uuid.NewString())
	}
	how, err := json.Marshal(iface)
	if err != nil {
		return answer{}, err
	}
	sent := pending.Entry{
		AgentURL: agent.Client.URL(), Agent: agent.Name, TaskID: cmp.Or(m.TaskID, m.NewTaskID), ContextID: m.ContextID,
		Skill: m.Skill, Prompt: prompt(m.Parts), MessageID: m.ID, Key: key, Interface: how,
	}
	if iface.Idempotent {
		// So that whoever finds the entry without an answer can send the message again.
		if sent.Message, err = json.Marshal(m); err != nil {
			return answer{}, err
		}
	}
	entry, err := s.Registry.Begin(record, sent)
	if err != nil {
		return answer{}, err
	}
	got, err := agent.Client.Send(ctx, m, client.SendOptions{Key: key})
	if err != nil {
		return answer{}, s.failedSend(ctx, agent, entry, err)
	}
	if got.Task == nil {
		if entry, err = s.Registry.Answered(record, entry.Ref, got.Message, got.ContextID); err != nil {
			return answer{}, err
		}
		return s.message(known{entry, agent}, got.Message), nil
	}
	if entry, err = s.Registry.Accepted(record, entry.Ref, got.Task, how); err != nil {
		return answer{}, err
	}
	return s.show(agent, known{entry, agent}.name(), got.Task), nil
}

// message shows the answer of an agent that answered with words and no task. To a reply
// it says nothing of how the task is.
func (s *Server) message(k known, m *a2a.Message) answer {
	task := &a2a.Task{ContextID: k.ContextID, Skill: k.Skill, Status: a2a.Status{State: k.State, Message: m}}
	if k.Ended() {
		return s.show(k.agent, k.name(), task)
	}
	v := view(k.agent, k.name(), task, s.MaxText)
	v.Hint = fmt.Sprintf("This is the agent's answer; look with a2a_poll, task_id %q, how the task is now.", k.name())
	return answer{text: v.String(), task: v}
}

// failedSend records a send that failed and says what is known of it.
func (s *Server) failedSend(ctx context.Context, agent *Agent, e pending.Entry, err error) error {
	record := context.WithoutCancel(ctx)
	words := s.words(agent, err)
	reply := e.State != ""
	if reply && client.KindOf(err) == client.KindTaskNotFound {
		// A read shows, and records, whether it is this task that the agent does not know.
		if _, lost := s.current(ctx, known{e, agent}, 0); lost != nil {
			if now, gerr := s.Registry.Get(record, e.Ref); gerr == nil && now.Lost {
				return lost
			}
		}
	}
	if !client.MayHaveArrived(err) {
		if _, rerr := s.Registry.Rejected(record, e.Ref, string(words)); rerr != nil {
			return errors.Join(rerr, err)
		}
		return words.with("Nothing was done.")
	}
	if _, rerr := s.Registry.Failed(record, e.Ref, string(words)); rerr != nil {
		return errors.Join(rerr, err)
	}
	if reply {
		return words.with("It may have got the answer or not: look with a2a_poll before you repeat it.")
	}
	what := "Send it again only if doing it twice does no harm."
	if recovery.Possible(e) {
		what = "Don't send it again: find out later with a2a_poll whether it has it."
	}
	return words.with(fmt.Sprintf("It may have got the work or not, and stays in the list as %s. %s", e.Ref, what))
}

// prompt is what a message asks, in short.
func prompt(parts []a2a.Part) string {
	if text := a2a.JoinText(parts); text != "" {
		return text
	}
	for _, p := range parts {
		if p.Kind == a2a.PartData {
			return string(p.Data)
		}
	}
	return ""
}
