package remote

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client/pending"
)

// entryRow is an entry of the registry in the output of pending and history.
type entryRow struct {
	TaskID       a2a.TaskID      `json:"task_id,omitempty"`
	Ref          string          `json:"ref"`
	AgentURL     string          `json:"agent_url"`
	Agent        string          `json:"agent,omitempty"`
	ContextID    a2a.ContextID   `json:"context_id,omitempty"`
	Skill        a2a.SkillID     `json:"skill,omitempty"`
	State        string          `json:"state"`
	Prompt       string          `json:"prompt"`
	Question     string          `json:"question,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	LastPolledAt *time.Time      `json:"last_polled_at,omitempty"`
	EndedAt      *time.Time      `json:"ended_at,omitempty"`
	PollCount    int             `json:"poll_count"`
	LastError    string          `json:"last_error,omitempty"`
	Interface    json.RawMessage `json:"interface,omitempty"`
}

func rowOf(e pending.Entry) entryRow {
	when := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return entryRow{
		TaskID: e.TaskID, Ref: e.Ref, AgentURL: e.AgentURL, Agent: e.Agent, ContextID: e.ContextID, Skill: e.Skill,
		State: stateOf(e), Prompt: e.Prompt, Question: e.Question, CreatedAt: e.CreatedAt, LastPolledAt: when(e.LastPolledAt),
		EndedAt: when(e.EndedAt), PollCount: e.PollCount, LastError: e.LastError, Interface: e.Interface,
	}
}

// stateOf is the state of an entry in one word.
func stateOf(e pending.Entry) string {
	switch {
	case e.Lost:
		return "lost"
	case e.NotSent():
		return "not-sent"
	case e.Sending():
		return "sending"
	}
	return string(e.State)
}

// printEntries prints entries of the registry.
func (s *session) printEntries(list []pending.Entry) error {
	if s.f.output != "table" {
		rows := make([]entryRow, len(list))
		for i, e := range list {
			rows[i] = rowOf(e)
		}
		return s.encode(rows)
	}
	now := time.Now()
	rows := [][]cell{plain("TASK", "AGENT", "STATE", "AGE", "POLLS", "LAST POLL", "PROMPT", "REMARK")}
	for _, e := range list {
		agent := e.Agent
		if agent == "" {
			agent = e.AgentURL
		}
		polled := "never"
		if !e.LastPolledAt.IsZero() {
			polled = age(now, e.LastPolledAt) + " ago"
		}
		remark := e.LastError
		if remark == "" {
			remark = e.Question
		}
		if remark == "" && e.Sending() {
			remark = "the answer to the send never came"
		}
		row := plain(nameOf(e), agent, "", age(now, e.CreatedAt), strconv.Itoa(e.PollCount), polled, line(e.Prompt, 40), line(remark, 100))
		row[2] = s.stateCell(stateOf(e))
		rows = append(rows, row)
	}
	return table(s.Out, rows)
}
