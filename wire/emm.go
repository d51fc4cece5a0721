package wire

import (
	"encoding/json"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// maxEMMID is the longest task id an EMM client may choose, in bytes.
const maxEMMID = 128

// newEMM returns the dialect of the EMM gateway: tasks/submit with a task id of
// the client's choice, tasks/status, a task whose status is a string and which has
// one artifact.
//
// The gateway's clients are simple, so nearly everything of a request is optional
// and a part that cannot be used is no error: the task then fails with a sentence
// about what is missing.
func newEMM() *Dialect {
	return &Dialect{
		Name: NameEMM,
		Methods: map[string]Method{
			"tasks/submit": {Op: a2a.OpSend, Decode: decodeSubmit, Append: appendSubmitted},
			"tasks/status": {Op: a2a.OpGet, Decode: decodeStatus, Append: appendStatusResult, NotFound: appendNotFoundEMM},
		},
		AppendError: appendErrorEMM,
		Stream:      streamEMM(),
	}
}

// decodeSubmit decodes the params of tasks/submit.
func decodeSubmit(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, false)
	req := &a2a.SendRequest{Dialect: NameEMM, Blocking: true}
	req.Message.Role = a2a.RoleUser
	var h hints
	var taskID, id, context, messageContext a2a.TaskID
	err := r.params(params, func(name []byte) (err error) {
		switch string(name) {
		case "taskId":
			taskID, err = r.taskIDEMM()
		case "id":
			id, err = r.taskIDEMM()
		case "contextId":
			var s string
			s, err = r.id()
			context = a2a.TaskID(s)
		case "skillId":
			h[hintParamsSkillID], err = r.raw()
		case "skill":
			h[hintParamsSkill], err = r.raw()
		case "metadata":
			req.Message.Request, err = r.rawObject()
			h[hintParamsMetadata] = lookup(req.Message.Request, "skillId")
		case "blocking":
			var wait, present bool
			wait, present, err = r.boolean()
			req.Blocking = wait || !present
		case "configuration":
			err = r.configurationEMM(&h)
		case "message":
			err = r.messageEMM(&req.Message, &messageContext, &h)
		default:
			err = r.skip()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if req.NewTaskID = taskID; taskID == "" {
		req.NewTaskID = id
	}
	if req.ContextID = a2a.ContextID(context); context == "" {
		req.ContextID = a2a.ContextID(messageContext)
	}
	req.Skills = h.list()
	return req, nil
}

// configurationEMM reads the skill hints of a configuration.
func (r *reader) configurationEMM(h *hints) error {
	h[hintConfigSkillID], h[hintConfigSnakeSkillID] = nil, nil
	return r.object(func(name []byte) (err error) {
		switch string(name) {
		case "skillId":
			h[hintConfigSkillID], err = r.raw()
		case "skill_id":
			h[hintConfigSnakeSkillID], err = r.raw()
		default:
			err = r.skip()
		}
		return err
	})
}

// messageEMM reads a message. Its content may stand in parts or, as some clients
// have it, in content, which is a text or a list of parts.
func (r *reader) messageEMM(m *a2a.Message, context *a2a.TaskID, h *hints) error {
	var parts, content []a2a.Part
	*m = a2a.Message{Role: a2a.RoleUser, Request: m.Request}
	*context, h[hintMessageMetadata] = "", nil
	err := r.object(func(name []byte) (err error) {
		switch string(name) {
		case "messageId":
			m.ID, err = r.id()
		case "contextId":
			var s string
			s, err = r.id()
			*context = a2a.TaskID(s)
		case "parts":
			parts, err = r.parts((*reader).partEMM)
		case "content":
			if content = nil; r.d.PeekKind() != '"' {
				content, err = r.parts((*reader).partEMM)
				break
			}
			var s string
			s, _, err = r.text()
			content = []a2a.Part{a2a.TextPart(s)}
		case "metadata":
			m.Metadata, err = r.rawObject()
			h[hintMessageMetadata] = lookup(m.Metadata, "skillId")
		default:
			err = r.skip()
		}
		return err
	})
	if m.Parts = parts; len(parts) == 0 {
		m.Parts = content
	}
	return err
}

// decodeStatus decodes the params of tasks/status.
func decodeStatus(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, false)
	var taskID, id a2a.TaskID
	err := r.params(params, func(name []byte) (err error) {
		switch string(name) {
		case "taskId":
			taskID, err = r.taskIDEMM()
		case "id":
			id, err = r.taskIDEMM()
		default:
			err = r.skip()
		}
		return err
	})
	if taskID == "" {
		taskID = id
	}
	switch {
	case err != nil:
		return nil, err
	case taskID == "":
		return nil, required("taskId")
	}
	return &a2a.GetRequest{ID: taskID}, nil
}

// taskIDEMM reads a task id of the client's choice: a string or a whole number.
func (r *reader) taskIDEMM() (a2a.TaskID, error) {
	v, err := r.value()
	if err != nil {
		return "", err
	}
	var s string
	switch v.Kind() {
	case 'n':
		return "", nil
	case '"':
		s = unquote(v)
	case '0':
		if s = string(v); strings.Trim(s, "-0123456789") != "" {
			return "", r.invalid("must be a string or a whole number")
		}
	default:
		return "", r.invalid("must be a string or a whole number")
	}
	why := badID(s, min(maxEMMID, r.lim.MaxIDBytes))
	if why == "" && strings.Contains(s, "/") {
		why = "must not contain a slash"
	}
	if why != "" {
		return "", r.invalid(why)
	}
	return a2a.TaskID(s), nil
}

// appendSubmitted appends the result of tasks/submit. A message that answers
// without a task is shown as a completed task without an id.
func appendSubmitted(b []byte, res any, view a2a.View) []byte {
	r := res.(*a2a.SendResult)
	if r.Task != nil {
		return appendStatusResult(b, r.Task, view)
	}
	return appendStatusResult(b, &a2a.Task{
		ContextID: r.ContextID,
		Status:    a2a.Status{State: a2a.StateCompleted, Message: r.Message},
	}, view)
}

// appendStatusResult appends the result of tasks/status: the task, and beside it
// the id and the status, where other clients of tasks/submit look for them.
func appendStatusResult(b []byte, res any, view a2a.View) []byte {
	t := res.(*a2a.Task)
	b = append(b, `{"task":`...)
	b = appendTaskEMM(b, t, view)
	b = optionalMember(b, "id", string(t.ID))
	b = stringMember(b, "status", oldState(t.Status.State))
	return append(b, '}')
}

// appendNotFoundEMM appends the result that stands for an unknown task.
func appendNotFoundEMM(b []byte, id a2a.TaskID) []byte {
	b = append(b, `{"task":{`...)
	b = stringMember(b, "id", string(id))
	b = stringMember(b, "taskId", string(id))
	b = stringMember(b, "status", "not_found")
	return append(b, "}}"...)
}

// appendTaskEMM appends the task object of EMM clients.
func appendTaskEMM(b []byte, t *a2a.Task, view a2a.View) []byte {
	b = append(b, '{')
	b = optionalMember(b, "id", string(t.ID))
	b = optionalMember(b, "taskId", string(t.ID))
	b = optionalMember(b, "contextId", string(t.ContextID))
	b = optionalMember(b, "skillId", string(t.Skill))
	b = stringMember(b, "status", oldState(t.Status.State))
	b = optionalMember(b, "message", t.Status.Message.Text())
	if list := artifactsEMM(t); len(list) > 0 && !view.OmitArtifacts {
		// The newest result is the one artifact of this dialect.
		b = appendArtifactEMM(key(b, "artifact"), &list[len(list)-1])
		b = append(key(b, "artifacts"), '[')
		for i := range list {
			b = appendArtifactEMM(element(b), &list[i])
		}
		b = append(b, ']')
	}
	b = timeMember(b, "createdAt", t.CreatedAt)
	b = timeMember(b, "updatedAt", t.UpdatedAt)
	b = appendTaskMetadata(b, t, a2a.View{})
	return append(b, '}')
}

// artifactsEMM returns the artifacts to show: those of the task, and one for what
// the dialect has no other place for, the reason of a failure or an answer that is
// a message.
func artifactsEMM(t *a2a.Task) []a2a.Artifact {
	list := t.Artifacts[:len(t.Artifacts):len(t.Artifacts)]
	switch s := t.Status; {
	case s.State == a2a.StateFailed || s.State == a2a.StateRejected:
		return append(list, errorArtifact(t))
	case s.State == a2a.StateCompleted && len(list) == 0 && s.Message != nil:
		return append(list, a2a.Artifact{ID: s.Message.ID, Name: "message", Parts: s.Message.Parts, Metadata: s.Message.Metadata})
	}
	return list
}

// errorArtifact says why a task failed, for people and for programs.
func errorArtifact(t *a2a.Task) a2a.Artifact {
	text := t.Status.Message.Text()
	if text == "" {
		text = "The task was " + stateWord(t.Status.State) + "."
	}
	code := t.Status.Code
	if code == "" {
		code = a2a.CodeSkillFailed
	}
	data := stringMember([]byte{'{'}, "code", string(code))
	data = append(stringMember(data, "message", text), '}')
	return a2a.Artifact{
		ID:    "error",
		Name:  "error",
		Parts: []a2a.Part{a2a.TextPart(text), a2a.DataPart(json.RawMessage(data))},
	}
}

// appendArtifactEMM appends an artifact, its text parts first: clients parse
// parts[0].text. So a text that came in pieces is one part.
func appendArtifactEMM(b []byte, a *a2a.Artifact) []byte {
	b = append(b, '{')
	b = stringMember(b, "artifactId", a.ID)
	b = optionalMember(b, "name", a.Name)
	b = optionalMember(b, "description", a.Description)
	b = append(key(b, "parts"), '[')
	var others []*a2a.Part
	for i := range a.Parts {
		switch p := &a.Parts[i]; {
		case p.Kind != a2a.PartText:
			others = append(others, p)
		case !a.Streamed:
			b = appendPartEMM(element(b), p)
		}
	}
	if text := a.Text(); a.Streamed && text != "" {
		whole := a2a.TextPart(text)
		b = appendPartEMM(element(b), &whole)
	}
	for _, p := range others {
		b = appendPartEMM(element(b), p)
	}
	b = append(b, ']')
	if len(a.Metadata) > 0 {
		b = rawMember(b, "metadata", a.Metadata)
	}
	return append(b, '}')
}
