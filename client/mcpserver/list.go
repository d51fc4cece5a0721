package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/client/recovery"
)

// How many pending tasks an answer names: the list's own tool and resource, and every
// other tool.
const (
	maxListed   = 200
	maxReminded = 10
)

// Words for states of an entry that are none of the protocol's.
const (
	stateSending = "sending"
	stateLost    = "lost"
	stateNotSent = "not-sent"
)

// pendingView is a pending task as models see it.
type pendingView struct {
	TaskID string `json:"task_id" jsonschema:"what a2a_poll, a2a_reply and a2a_cancel take"`
	Agent  string `json:"agent"`
	State  string `json:"state" jsonschema:"the state last seen; 'sending' if the agent's answer to the send is not known"`
	Prompt string `json:"prompt,omitempty" jsonschema:"the first words of what was sent"`
	// Ages are in whole seconds.
	Age      int    `json:"age_seconds" jsonschema:"how long ago it was sent"`
	Polled   int    `json:"polled_seconds_ago,omitempty" jsonschema:"how long ago it was looked at"`
	Polls    int    `json:"polls,omitempty" jsonschema:"how often it was looked at"`
	Question string `json:"question,omitempty" jsonschema:"what the agent asks"`
	Error    string `json:"last_error,omitempty" jsonschema:"why the last look failed"`
	Hint     string `json:"hint" jsonschema:"what to do"`
}

// tasks are pending tasks, as text and as data.
type tasks struct {
	text  string
	views []pendingView
	more  int
}

// known is an entry of an agent that may be used.
type known struct {
	pending.Entry
	agent *Agent
}

// name returns what tools know the entry by.
func (k known) name() string {
	if k.TaskID == "" {
		return k.Ref
	}
	return string(k.TaskID)
}

func (k known) state() string {
	switch {
	case k.Lost:
		return stateLost
	case k.NotSent():
		return stateNotSent
	case k.State == "":
		return stateSending
	}
	return string(k.State)
}

// owner returns the agent that an entry belongs to, nil if it is none of ours. Names
// come and go and two agents may share a URL, so the URL decides, then the name.
func (s *Server) owner(e pending.Entry) *Agent {
	var found *Agent
	for i := range s.Agents {
		a := &s.Agents[i]
		if a.Client.URL() != e.AgentURL {
			continue
		}
		if strings.EqualFold(a.Name, e.Agent) {
			return a
		}
		if found == nil {
			found = a
		}
	}
	return found
}

// entries returns the pending entries of our agents, or of one, the newest first.
func (s *Server) entries(ctx context.Context, only *Agent) ([]known, error) {
	var f pending.Filter
	if only != nil {
		f.AgentURL = only.Client.URL()
	}
	list, err := s.Registry.Pending(ctx, f)
	if err != nil {
		return nil, err
	}
	var ours []known
	for _, e := range list {
		if a := s.owner(e); a != nil && (only == nil || a == only) {
			ours = append(ours, known{e, a})
		}
	}
	return ours, nil
}

// pending returns the list that ends an answer.
func (s *Server) pending(ctx context.Context, ans answer) (tasks, error) {
	var only *Agent
	if ans.agent != "" {
		only = s.find(ans.agent)
	}
	list, err := s.entries(ctx, only)
	if err != nil {
		return tasks{}, err
	}
	limit := maxReminded
	if ans.all {
		limit = maxListed
	}
	t := tasks{views: []pendingView{}, more: max(0, len(list)-limit)}
	list = list[:len(list)-t.more]
	now := a2a.Now()
	var b strings.Builder
	switch {
	case len(list) == 0 && only != nil:
		fmt.Fprintf(&b, "No task is pending at %s.", only.Name)
	case len(list) == 0:
		b.WriteString("No task is pending.")
	case only != nil:
		fmt.Fprintf(&b, "Pending tasks at %s (%d), the newest first:", only.Name, len(list)+t.more)
	default:
		fmt.Fprintf(&b, "Pending tasks (%d), the newest first:", len(list)+t.more)
	}
	for _, k := range list {
		v := viewPending(k, now)
		t.views = append(t.views, v)
		b.WriteString("\n- " + v.line(now.Sub(k.CreatedAt)))
	}
	if t.more > 0 {
		fmt.Fprintf(&b, "\n- and %d older ones", t.more)
		if !ans.all {
			b.WriteString("; a2a_pending lists them")
		}
	}
	t.text = b.String()
	return t, nil
}

func viewPending(k known, now time.Time) pendingView {
	v := pendingView{
		TaskID: k.name(), Agent: k.agent.Name, State: k.state(), Prompt: k.Prompt,
		Age: seconds(now.Sub(k.CreatedAt)), Polls: k.PollCount,
		Question: oneLine(k.Question, 500), Error: k.LastError, Hint: hint(k, now),
	}
	if !k.LastPolledAt.IsZero() {
		v.Polled = seconds(now.Sub(k.LastPolledAt))
	}
	return v
}

// hint says what to do with a pending task.
func hint(k known, now time.Time) string {
	switch {
	case fresh(k, now):
		return "it is being sent just now; if that lasts, find out with a2a_poll what became of it"
	case k.Sending() && recovery.Possible(k.Entry):
		return "the agent's answer to this send was never seen; find out with a2a_poll whether it has the task"
	case k.Sending():
		return "the agent's answer to this send was never seen, so it may have the task or not; send it again if doing it twice does no harm, and drop this one with a2a_cancel"
	case k.State == a2a.StateInputRequired:
		return "answer it with a2a_reply"
	case k.State == a2a.StateAuthRequired:
		return "it waits for an authorisation by your user; say with a2a_reply when that is done"
	case !k.LastPolledAt.IsZero() && now.Sub(k.LastPolledAt) < 10*time.Second:
		return "it was looked at just now; go on with other work before the next a2a_poll"
	}
	return "collect it with a2a_poll"
}

// fresh reports whether a send may be under way just now, in this process or another.
func fresh(k known, now time.Time) bool {
	return k.Sending() && k.LastError == "" && now.Sub(k.CreatedAt) < recovery.UnderWay
}

// line shows the task on one line.
func (v pendingView) line(age time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s, %s, sent %s ago", v.TaskID, v.Agent, v.State, ago(age))
	if v.Prompt != "" {
		fmt.Fprintf(&b, ": %q", oneLine(v.Prompt, 60))
	}
	if v.Question != "" {
		fmt.Fprintf(&b, "; it asks %q", oneLine(v.Question, 120))
	}
	if v.Error != "" {
		fmt.Fprintf(&b, "; last error: %s", oneLine(v.Error, 120))
	}
	b.WriteString(" → " + v.Hint)
	return b.String()
}

// find returns the agent of a name, whatever the case of its letters; nil if there is
// none.
func (s *Server) find(name string) *Agent {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return strings.EqualFold(a.Name, name) })
	if i < 0 {
		return nil
	}
	return &s.Agents[i]
}

// choose returns the agent of a name, or the only one if the name is "".
func (s *Server) choose(name string) (*Agent, error) {
	if name == "" && len(s.Agents) == 1 {
		return &s.Agents[0], nil
	}
	if a := s.find(name); a != nil {
		return a, nil
	}
	names := make([]string, len(s.Agents))
	for i, a := range s.Agents {
		names[i] = a.Name
	}
	if name == "" {
		return nil, troublef("Name the agent: %s.", strings.Join(names, ", "))
	}
	return nil, troublef("There is no agent %q. The agents are: %s. Others cannot be used.", oneLine(name, 80), strings.Join(names, ", "))
}

// ago says a span of time to a reader.
func ago(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", seconds(d))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// seconds rounds down; clocks of other processes may be ahead.
func seconds(d time.Duration) int { return max(0, int(d.Seconds())) }
