package wire

import (
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// taskStatesV1 is the enum TaskState of 1.0 with its numbers as indexes.
var taskStatesV1 = [...]struct {
	state a2a.State
	name  string
}{
	{"", "TASK_STATE_UNSPECIFIED"},
	{a2a.StateSubmitted, "TASK_STATE_SUBMITTED"},
	{a2a.StateWorking, "TASK_STATE_WORKING"},
	{a2a.StateCompleted, "TASK_STATE_COMPLETED"},
	{a2a.StateFailed, "TASK_STATE_FAILED"},
	{a2a.StateCanceled, "TASK_STATE_CANCELED"},
	{a2a.StateInputRequired, "TASK_STATE_INPUT_REQUIRED"},
	{a2a.StateRejected, "TASK_STATE_REJECTED"},
	{a2a.StateAuthRequired, "TASK_STATE_AUTH_REQUIRED"},
}

func stateV1(s a2a.State) string {
	for _, row := range taskStatesV1 {
		if row.state == s {
			return row.name
		}
	}
	return taskStatesV1[0].name
}

// newV1 returns the dialect of A2A 1.0: ProtoJSON of package lf.a2a.v1, methods
// named like the rpcs (A2A 1.0 §5.5, §9). It emits camelCase and enum names only
// and accepts snake_case and enum numbers as well.
func newV1() *Dialect {
	f := &form{
		dialect:     NameV1,
		snake:       true,
		role:        roleV1,
		part:        (*reader).partV1,
		waitName:    "returnImmediately",
		pushName:    "taskPushNotificationConfig",
		schemeName:  "scheme",
		cancelAgain: true,
	}
	s := &spelling{user: "ROLE_USER", agent: "ROLE_AGENT", state: stateV1, part: appendPartV1}
	task := func(b []byte, res any, view a2a.View) []byte { return s.taskV1(b, res.(*a2a.Task), view, false) }
	config := appendPush(appendPushV1)
	return &Dialect{
		Name: NameV1, Version: NameV1,
		Methods: map[string]Method{
			"SendMessage":                      {Op: a2a.OpSend, Decode: f.send, Append: s.sendV1},
			"SendStreamingMessage":             {Op: a2a.OpStream, Decode: f.send},
			"GetTask":                          {Op: a2a.OpGet, Decode: f.get, Append: task},
			"ListTasks":                        {Op: a2a.OpList, Decode: f.list, Append: s.listV1},
			"CancelTask":                       {Op: a2a.OpCancel, Decode: f.cancel, Append: task},
			"SubscribeToTask":                  {Op: a2a.OpSubscribe, Decode: f.get},
			"CreateTaskPushNotificationConfig": {Op: a2a.OpSetPush, Decode: f.setPushV1, Append: config},
			"GetTaskPushNotificationConfig":    {Op: a2a.OpGetPush, Decode: f.pushNames("taskId", "id", true), Append: config},
			"ListTaskPushNotificationConfigs":  {Op: a2a.OpListPush, Decode: f.pushNames("taskId", "", false), Append: appendPushListV1},
			"DeleteTaskPushNotificationConfig": {Op: a2a.OpDeletePush, Decode: f.pushNames("taskId", "id", true), Append: appendNull},
			"GetExtendedAgentCard":             {Op: a2a.OpExtendedCard, Decode: decodeNothing},
		},
		AppendError: appendErrorV1,
		Stream:      s.streamProto(NameV1),
		Push:        s.pushV1(),
	}
}

// roleV1 reads the role of a message from a client.
func roleV1(r *reader) (bool, error) { return r.roleProto("ROLE_USER") }

// roleProto reads the role of a message from a client: the user's, by name, number
// or other name.
func (r *reader) roleProto(other string) (bool, error) {
	v, err := r.value()
	if err != nil {
		return false, err
	}
	switch v.Kind() {
	case 'n':
		return false, nil
	case '"':
		switch unquote(v) {
		case "ROLE_USER", other:
			return true, nil
		case "ROLE_UNSPECIFIED":
			return false, nil
		}
	case '0':
		switch n, _ := parseInteger(string(v)); n {
		case 1:
			return true, nil
		case 0:
			return false, r.invalid("must be ROLE_USER")
		}
	}
	return false, r.invalid("must be ROLE_USER")
}

// list decodes the params of ListTasks (A2A 1.0 §3.1.4).
func (f *form) list(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, true)
	req := &a2a.ListRequest{View: a2a.View{OmitArtifacts: true}}
	err := r.params(params, func(name []byte) (err error) {
		if f.snakeKeys && string(name) == "lastUpdatedAfter" {
			name = []byte("statusTimestampAfter")
		}
		switch string(name) {
		case "contextId":
			var id string
			id, err = r.id()
			req.ContextID = a2a.ContextID(id)
		case "status":
			req.State, err = f.stateFilter(r)
		case "pageSize":
			var present bool
			req.PageSize, present, err = r.integer()
			if err == nil && present && (req.PageSize < 1 || req.PageSize > 100) {
				err = r.invalid("must be between 1 and 100")
			}
		case "pageToken":
			req.PageToken, _, err = r.text()
		case "historyLength":
			err = r.historyLength(&req.View)
		case "statusTimestampAfter":
			var s string
			s, _, err = r.text()
			if req.StatusAfter = (time.Time{}); err == nil && s != "" {
				after, bad := time.Parse(time.RFC3339Nano, s)
				if req.StatusAfter = after.UTC(); bad != nil {
					err = r.invalid("must be a timestamp such as 2026-11-30T13:00:00.000Z")
				}
			}
		case "includeArtifacts":
			var include bool
			include, _, err = r.boolean()
			req.View.OmitArtifacts = !include
		default:
			err = r.skip()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return req, nil
}

// stateFilter reads a state by name or number. Clients built from partial
// objects send their placeholder UNRECOGNIZED (-1), which filters nothing.
func (f *form) stateFilter(r *reader) (a2a.State, error) {
	v, err := r.value()
	if err != nil {
		return "", err
	}
	switch v.Kind() {
	case 'n':
		return "", nil
	case '"':
		name := unquote(v)
		if name == "" || name == "UNRECOGNIZED" {
			return "", nil
		}
		if f.oldProto && name == canceledRest03 {
			return a2a.StateCanceled, nil
		}
		for _, row := range taskStatesV1 {
			if row.name == name || f.snakeKeys && string(row.state) == name {
				return row.state, nil
			}
		}
	case '0':
		n, ok := parseInteger(string(v))
		switch {
		case ok && n == -1:
			return "", nil
		case ok && 0 <= n && n < len(taskStatesV1):
			return taskStatesV1[n].state, nil
		}
	}
	return "", r.invalid("must be a task state such as TASK_STATE_WORKING")
}

// taskV1 appends a task. In a list, included artifacts are a member even if there
// are none (A2A 1.0 §3.1.4).
func (s *spelling) taskV1(b []byte, t *a2a.Task, view a2a.View, listed bool) []byte {
	if s.oldProto {
		t = withAnswer(t) // as 0.3 shows it elsewhere
	}
	b = append(b, '{')
	b = stringMember(b, "id", string(t.ID))
	b = optionalMember(b, "contextId", string(t.ContextID))
	b = s.status(b, t)
	if !view.OmitArtifacts {
		b = s.artifacts(b, t.Artifacts, listed)
	}
	if len(recent(t.History, view.HistoryLength)) > 0 {
		b = s.history(b, t, view.HistoryLength)
	}
	b = appendTaskMetadata(b, t, view)
	return append(b, '}')
}

// sendV1 appends a SendMessageResponse.
func (s *spelling) sendV1(b []byte, res any, view a2a.View) []byte {
	b = append(b, '{')
	if r := res.(*a2a.SendResult); r.Task != nil {
		b = s.taskV1(key(b, "task"), r.Task, view, false)
	} else {
		b = s.message(key(b, "message"), r.Message, r.ContextID, "", "")
	}
	return append(b, '}')
}

// listV1 appends a ListTasksResponse.
func (s *spelling) listV1(b []byte, res any, view a2a.View) []byte {
	return appendList(func(b []byte, t *a2a.Task, view a2a.View) []byte { return s.taskV1(b, t, view, true) })(b, res, view)
}

// appendList appends the tasks of a page, each by one, and what is to be said of the
// page, whose members are always all there.
func appendList(one func([]byte, *a2a.Task, a2a.View) []byte) func([]byte, any, a2a.View) []byte {
	return func(b []byte, res any, view a2a.View) []byte {
		r := res.(*a2a.ListResult)
		b = append(b, `{"tasks":[`...)
		for _, t := range r.Tasks {
			b = one(element(b), t, view)
		}
		b = append(b, ']')
		b = stringMember(b, "nextPageToken", r.NextPageToken)
		b = integerMember(b, "pageSize", r.PageSize)
		b = integerMember(b, "totalSize", r.TotalSize)
		return append(b, '}')
	}
}
