package wire

import (
	"strconv"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// pushIDV03 is the id of a push config of 0.3 that has none.
const pushIDV03 = "default"

// newV03 returns the dialect of A2A 0.3, which serves 0.2 clients too: a kind in
// every object, states and roles in lower case, a bare task as the result.
//
// FastA2A clients read the answer from the last entry of the history and wait for
// completed, failed or canceled only. So an ended task always has an agent message
// there, and a rejected task is shown as failed.
func newV03() *Dialect {
	f := formV03()
	s := spellingV03()
	task := func(b []byte, res any, view a2a.View) []byte { return s.taskV03(b, res.(*a2a.Task), view) }
	config := appendPush(appendPushV03)
	return &Dialect{
		Name: NameV03, Version: NameV03,
		Methods: map[string]Method{
			"message/send":                        {Op: a2a.OpSend, Decode: f.send, Append: s.sendV03},
			"message/stream":                      {Op: a2a.OpStream, Decode: f.send},
			"tasks/get":                           {Op: a2a.OpGet, Decode: f.get, Append: task},
			"tasks/cancel":                        {Op: a2a.OpCancel, Decode: f.cancel, Append: task},
			"tasks/resubscribe":                   {Op: a2a.OpSubscribe, Decode: f.get},
			"tasks/pushNotificationConfig/set":    {Op: a2a.OpSetPush, Decode: f.setPushV03, Append: config},
			"tasks/pushNotificationConfig/get":    {Op: a2a.OpGetPush, Decode: f.pushNames("id", "pushNotificationConfigId", false), Append: config},
			"tasks/pushNotificationConfig/list":   {Op: a2a.OpListPush, Decode: f.pushNames("id", "", false), Append: appendPushListV03},
			"tasks/pushNotificationConfig/delete": {Op: a2a.OpDeletePush, Decode: f.pushNames("id", "pushNotificationConfigId", true), Append: appendNull},
			"agent/getAuthenticatedExtendedCard":  {Op: a2a.OpExtendedCard, Decode: decodeNothing},
		},
		AppendError: appendErrorV03,
		Stream:      s.streamV03(),
		Push:        s.pushV03(),
	}
}

func formV03() *form {
	return &form{
		dialect:        NameV03,
		role:           roleV03,
		part:           (*reader).partV03,
		waitName:       "blocking",
		waitValue:      true,
		pushName:       "pushNotificationConfig",
		schemeName:     "schemes",
		pushID:         pushIDV03,
		operationNames: true,
	}
}

func spellingV03() *spelling {
	return &spelling{kinds: true, user: "user", agent: "agent", state: oldState, part: appendPartV03}
}

// oldState is the state as the older dialects show it, without rejected.
func oldState(s a2a.State) string {
	if s == a2a.StateRejected {
		s = a2a.StateFailed
	}
	return string(s)
}

// roleV03 reads the role of a message from a client, which is the user's.
func roleV03(r *reader) (bool, error) {
	s, present, err := r.text()
	if err == nil && present && s != "user" {
		err = r.invalid(`must be "user"`)
	}
	return present, err
}

// taskV03 appends a task.
func (s *spelling) taskV03(b []byte, t *a2a.Task, view a2a.View) []byte {
	t = withAnswer(t)
	b = append(b, `{"kind":"task"`...)
	b = stringMember(b, "id", string(t.ID))
	b = stringMember(b, "contextId", string(t.ContextID))
	b = s.status(b, t)
	if !view.OmitArtifacts {
		b = s.artifacts(b, t.Artifacts, false)
	}
	if view.HistoryLength == nil || *view.HistoryLength > 0 {
		b = s.history(b, t, view.HistoryLength)
	}
	b = appendTaskMetadata(b, t, view)
	return append(b, '}')
}

// sendV03 appends the result of a send: a bare task or a bare message.
func (s *spelling) sendV03(b []byte, res any, view a2a.View) []byte {
	r := res.(*a2a.SendResult)
	if r.Task != nil {
		return s.taskV03(b, r.Task, view)
	}
	return s.message(b, r.Message, r.ContextID, "", "")
}

// withAnswer returns the task as a reader of history[-1] needs it: if it has ended
// without a last word of the agent, one is made of what there is. A failed task
// says it in its status too.
func withAnswer(t *a2a.Task) *a2a.Task {
	if !t.Status.State.Terminal() {
		return t
	}
	answered := len(t.History) > 0 && t.History[len(t.History)-1].Role == a2a.RoleAgent
	failed := t.Status.State == a2a.StateFailed || t.Status.State == a2a.StateRejected
	if answered && (t.Status.Message != nil || !failed) {
		return t
	}
	c := *t
	// The id is the same on every read of the same state of the task.
	answer := a2a.AgentText("answer-"+string(t.ID)+"-"+strconv.FormatInt(t.Seq, 10), answerText(t))
	if failed && c.Status.Message == nil {
		c.Status.Message = answer
	}
	if !answered {
		c.History = append(append(make([]a2a.Message, 0, len(t.History)+1), t.History...), *answer)
	}
	return &c
}

// answerText is what an ended task has to say, in one text.
func answerText(t *a2a.Task) string {
	if s := t.Status.Message.Text(); s != "" {
		return s
	}
	var texts, data []string
	for i := range t.Artifacts {
		a := &t.Artifacts[i]
		if s := a.Text(); s != "" {
			texts = append(texts, s)
		}
		for _, p := range a.Parts {
			if p.Kind == a2a.PartData {
				data = append(data, string(p.Data))
			}
		}
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, "\n")
	case len(data) > 0:
		return strings.Join(data, "\n")
	}
	return "The task was " + stateWord(t.Status.State) + "."
}

// stateWord is the participle of a terminal state.
func stateWord(s a2a.State) string {
	if s == a2a.StateFailed {
		return "not completed: it failed"
	}
	return string(s)
}
