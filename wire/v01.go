package wire

import (
	"encoding/json"

	"github.com/skillyard/skillyard/a2a"
)

// newV01 returns the dialect of A2A 0.1: tasks/send with a task id that the client
// makes, sessions, parts by type, artifacts by index, and no kind anywhere.
//
// tasks/get, tasks/cancel and tasks/resubscribe are methods of 0.3 as well. Which
// of the two is meant only shows in the task: its Dialect says in which it was made
// (see Dialects.Shape). Those three are read as 0.3 reads them.
func newV01(v03 *Dialect) *Dialect {
	f := &form{
		dialect:        NameV01,
		role:           roleV03,
		part:           (*reader).partV03,
		anonymous:      true,
		pushName:       "pushNotificationConfig",
		schemeName:     "schemes",
		pushID:         "default", // a task has one
		operationNames: true,
	}
	task := func(b []byte, res any, view a2a.View) []byte { return appendTaskV01(b, res.(*a2a.Task), view) }
	shared := func(name string, appendResult func([]byte, any, a2a.View) []byte) Method {
		m := v03.Methods[name]
		m.Append = appendResult
		return m
	}
	return &Dialect{
		Name: NameV01,
		Methods: map[string]Method{
			"tasks/send":                 {Op: a2a.OpSend, Decode: f.sendV01, Append: appendSentV01},
			"tasks/sendSubscribe":        {Op: a2a.OpStream, Decode: f.sendV01},
			"tasks/get":                  shared("tasks/get", task),
			"tasks/cancel":               shared("tasks/cancel", task),
			"tasks/resubscribe":          shared("tasks/resubscribe", nil),
			"tasks/pushNotification/set": {Op: a2a.OpSetPush, Decode: f.setPushV01, Append: appendPushV01},
			"tasks/pushNotification/get": {Op: a2a.OpGetPush, Decode: f.getPushV01, Append: appendPushV01},
		},
		AppendError: appendErrorV01,
		Stream:      streamV01(),
		Push: &PushForm{
			ContentType: "application/json",
			Task:        func(b []byte, t *a2a.Task) []byte { return appendTaskV01(b, t, a2a.View{}) },
		},
	}
}

// sendV01 decodes the params of tasks/send and tasks/sendSubscribe. The id is that
// of a new task, of one that waits for an answer, or of one to run again.
func (f *form) sendV01(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, false)
	req := &a2a.SendRequest{Dialect: NameV01, Blocking: true, Continues: true, OperationNamesSkill: true}
	var h hints
	message := false
	var request json.RawMessage
	err := r.params(params, func(name []byte) (err error) {
		switch string(name) {
		case "id":
			req.NewTaskID, err = r.taskIDEMM()
		case "sessionId":
			var id string
			id, err = r.id()
			req.ContextID = a2a.ContextID(id)
		case "message":
			// The message may hold no names of its own: those of the params count.
			inner := &a2a.SendRequest{}
			if message = r.d.PeekKind() != 'n'; message {
				err = f.message(r, inner, &h)
			} else {
				err = r.skip()
			}
			req.Message = inner.Message
		case "historyLength":
			err = r.historyLength(&req.View)
		case "acceptedOutputModes":
			req.AcceptedOutputModes, err = r.strings()
		case "pushNotification":
			req.Push, err = f.pushConfig(r)
		case "metadata":
			request, err = r.rawObject()
			h[hintParamsMetadata] = lookup(request, "skillId")
		case "skillId":
			h[hintParamsSkillID], err = r.raw()
		case "skill":
			h[hintParamsSkill], err = r.raw()
		default:
			err = r.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case req.NewTaskID == "":
		return nil, required("id")
	case !message:
		return nil, required("message")
	}
	req.Message.Request = request
	req.Skills = h.list()
	return req, nil
}

// setPushV01 decodes the push config of a task, of which there is one.
func (f *form) setPushV01(params []byte, lim Limits) (any, error) {
	req, err := f.setPushBeside("id", params, lim, (*reader).taskIDEMM)
	if err != nil {
		return nil, err
	}
	req.Config.ID = f.pushID
	return named(req, nil)
}

// getPushV01 decodes the id of the task whose push config is asked for.
func (f *form) getPushV01(params []byte, lim Limits) (any, error) {
	id, err := f.taskID(params, lim, nil)
	if err != nil {
		return nil, err
	}
	return &a2a.PushRequest{TaskID: id, ID: f.pushID}, nil
}

// stateV01 is the state as 0.1 knows it.
func stateV01(s a2a.State) string {
	if s == a2a.StateAuthRequired {
		s = a2a.StateInputRequired // its message says what is needed
	}
	return oldState(s)
}

// appendTaskV01 appends a task.
func appendTaskV01(b []byte, t *a2a.Task, view a2a.View) []byte {
	t = withAnswer(t)
	b = append(b, '{')
	b = stringMember(b, "id", string(t.ID))
	b = stringMember(b, "sessionId", string(t.ContextID))
	b = appendStatusV01(b, t.Status)
	if len(t.Artifacts) > 0 && !view.OmitArtifacts {
		b = append(key(b, "artifacts"), '[')
		for i := range t.Artifacts {
			b = append(appendArtifactV01(element(b), &t.Artifacts[i], i), '}')
		}
		b = append(b, ']')
	}
	if list := recent(t.History, view.HistoryLength); len(list) > 0 {
		b = append(key(b, "history"), '[')
		for i := range list {
			b = appendMessageV01(element(b), &list[i], "")
		}
		b = append(b, ']')
	}
	b = appendTaskMetadata(b, t, view)
	return append(b, '}')
}

// appendSentV01 appends the result of tasks/send, which is always a task: a bare
// message is what a completed one says.
func appendSentV01(b []byte, res any, view a2a.View) []byte {
	r := res.(*a2a.SendResult)
	if r.Task != nil {
		return appendTaskV01(b, r.Task, view)
	}
	return appendTaskV01(b, &a2a.Task{
		ID: r.TaskID, ContextID: r.ContextID,
		Status: a2a.Status{State: a2a.StateCompleted, Message: r.Message},
	}, view)
}

func appendStatusV01(b []byte, s a2a.Status) []byte {
	b = append(key(b, "status"), '{')
	b = stringMember(b, "state", stateV01(s.State))
	if s.Message != nil {
		b = appendMessageV01(key(b, "message"), s.Message, s.Code)
	}
	b = timeMember(b, "timestamp", s.At)
	return append(b, '}')
}

// appendMessageV01 appends a message, which has no id.
func appendMessageV01(b []byte, m *a2a.Message, code a2a.Code) []byte {
	b = append(b, '{')
	b = stringMember(b, "role", string(m.Role))
	b = appendPartsV01(b, m.Parts)
	if code != "" && lookup(m.Metadata, "code") == nil {
		b = openObject(key(b, "metadata"), m.Metadata)
		b = append(stringMember(b, "code", string(code)), '}')
	} else if len(m.Metadata) > 0 {
		b = rawMember(b, "metadata", m.Metadata)
	}
	return append(b, '}')
}

// appendArtifactV01 appends an artifact but for its closing brace. Its index is what
// identifies it.
func appendArtifactV01(b []byte, a *a2a.Artifact, index int) []byte {
	b = append(b, '{')
	b = optionalMember(b, "name", a.Name)
	b = optionalMember(b, "description", a.Description)
	b = appendPartsV01(b, a.Parts)
	b = integerMember(b, "index", index)
	if len(a.Metadata) > 0 {
		b = rawMember(b, "metadata", a.Metadata)
	}
	return b
}

func appendPartsV01(b []byte, parts []a2a.Part) []byte {
	b = append(key(b, "parts"), '[')
	for i := range parts {
		b = appendOldPart(element(b), &parts[i], `"type":`)
	}
	return append(b, ']')
}

// streamV01 is the stream form of 0.1: events of the status and of artifacts. There
// is none of the task, so a stream begins with the status as it is, and a
// subscription with the artifacts before it. An artifact's index is its place in
// the task, so the task is needed with each event.
func streamV01() *StreamForm {
	status := func(b []byte, t *a2a.Task, s a2a.Status) []byte {
		b = append(b, '{')
		b = stringMember(b, "id", string(t.ID))
		b = appendStatusV01(b, s)
		b = boolMember(b, "final", endsV03("", s.State))
		return append(b, '}')
	}
	artifact := func(b []byte, t *a2a.Task, i int, c *a2a.ArtifactChunk) []byte {
		b = append(b, '{')
		b = stringMember(b, "id", string(t.ID))
		b = appendArtifactV01(key(b, "artifact"), &c.Artifact, i)
		b = boolMember(b, "append", c.Append)
		b = boolMember(b, "lastChunk", c.Last)
		return append(b, "}}"...)
	}
	return &StreamForm{
		Name:  NameV01,
		Folds: true,
		Ended: true,
		Snapshot: func(b []byte, t *a2a.Task, _ a2a.View) []byte {
			return status(b, t, withAnswer(t).Status)
		},
		Artifact: func(b []byte, t *a2a.Task, i int) []byte {
			return artifact(b, t, i, &a2a.ArtifactChunk{Artifact: t.Artifacts[i], Last: t.Status.State.Terminal()})
		},
		Event: func(b []byte, t *a2a.Task, ev *a2a.Event) []byte {
			switch {
			case ev.Created != nil:
				return status(b, t, asCreated(ev).Status)
			case ev.Status != nil:
				s := *ev.Status
				s.At = ev.At
				return status(b, t, s)
			case ev.Artifact != nil:
				for i := range t.Artifacts {
					if t.Artifacts[i].ID == ev.Artifact.Artifact.ID {
						return artifact(b, t, i, ev.Artifact)
					}
				}
			}
			return b
		},
		Ends: endsV03,
	}
}

// appendPushV01 appends the push config of a task, without its secrets.
func appendPushV01(b []byte, res any, _ a2a.View) []byte {
	c := res.(*a2a.PushConfig)
	b = append(b, '{')
	b = stringMember(b, "id", string(c.TaskID))
	b = append(key(b, "pushNotificationConfig"), '{')
	b = stringMember(b, "url", c.URL)
	if c.Scheme != "" {
		b = append(key(b, "authentication"), '{')
		b = append(stringsMember(b, "schemes", []string{c.Scheme}), '}')
	}
	return append(b, "}}"...)
}

// appendErrorV01 writes an error as 0.3 has it, with a number that means in 0.1 what
// it says: -32006 and on were other errors there, and ours would be anything.
func appendErrorV01(b []byte, e *a2a.Error) []byte {
	row := *rowOf(e.Code)
	if row.number < -32700 || row.number > -32600 && row.number < -32005 || row.number > -32001 {
		row.number = rowOf(a2a.CodeInternal).number
		if row.http == 400 {
			row.number = rowOf(a2a.CodeInvalidParams).number
		}
	}
	return appendErrorOld(b, &row, e)
}
