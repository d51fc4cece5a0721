package wire

import (
	"encoding/json"

	"github.com/skillyard/skillyard/a2a"
)

// Places of a request that may name a skill, in order of precedence.
const (
	hintParamsSkillID = iota
	hintParamsSkill
	hintConfigSkillID
	hintConfigSnakeSkillID
	hintParamsMetadata
	hintMessageMetadata
	hintCount
)

// hintSources are the names of the places, as answers and logs show them.
var hintSources = [hintCount]string{
	"params.skillId",
	"params.skill",
	"configuration.skillId",
	"configuration.skill_id",
	"params.metadata.skillId",
	"message.metadata.skillId",
}

// hints collects what a request says about the skill it wants.
type hints [hintCount]json.RawMessage

// list returns the places that hold a value, null being none.
func (h *hints) list() (list []a2a.SkillHint) {
	for i, v := range h {
		if !isNull(v) {
			list = append(list, a2a.SkillHint{Source: hintSources[i], Value: v})
		}
	}
	return list
}

// form is what differs between 0.3 and 1.0 in requests.
type form struct {
	dialect string
	// snake accepts member names in snake_case.
	snake bool
	// snakeKeys is about a client that writes every name in snake case, down to those
	// in metadata, and filters lists by the members and states of before 1.0.
	snakeKeys bool
	// oldProto reads ProtoJSON of the older package a2a.v1 too: content for parts,
	// pushNotification, and zero for absent.
	oldProto bool
	// anonymous messages need no id.
	anonymous bool
	// role checks the role of a message from a client.
	role func(*reader) (present bool, err error)
	part func(*reader) (a2a.Part, bool, error)
	// waitName is the configuration's member that says whether to block, and
	// waitValue its value for blocking.
	waitName  string
	waitValue bool
	// pushName is the member with a push config, and schemeName the one with the
	// scheme of its authentication.
	pushName   string
	schemeName string
	// pushID is the id of a push config that has none; "" leaves it to the engine. In
	// 0.3 an id is for clients that want several configs; without one a client means
	// the config of the task, which it sets again to replace it.
	pushID string
	// operationNames is SendRequest.OperationNamesSkill.
	operationNames bool
	// cancelAgain is CancelRequest.Again.
	cancelAgain bool
}

// send decodes the params of a send or a stream.
func (f *form) send(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, f.snake)
	req := &a2a.SendRequest{Dialect: f.dialect, Blocking: true, OperationNamesSkill: f.operationNames}
	var h hints
	message := false
	err := r.params(params, func(name []byte) (err error) {
		if f.oldProto && string(name) == "request" { // the field's own name, which ProtoJSON may have as well
			name = []byte("message")
		}
		switch string(name) {
		case "message":
			if message = r.d.PeekKind() != 'n'; message {
				err = f.message(r, req, &h)
			} else {
				err = r.skip()
			}
		case "configuration":
			err = f.configuration(r, req, &h)
		case "metadata":
			req.Message.Request, err = r.rawObject()
			h[hintParamsMetadata] = f.skillID(req.Message.Request)
		case "skillId":
			h[hintParamsSkillID], err = r.raw()
		case "skill":
			h[hintParamsSkill], err = r.raw()
		default:
			err = r.skip()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !message {
		return nil, required("message")
	}
	req.Skills = h.list()
	return req, nil
}

// skillID is the member of a metadata that names a skill, or nil.
func (f *form) skillID(metadata []byte) json.RawMessage {
	id := lookup(metadata, "skillId")
	if id == nil && f.snakeKeys {
		id = lookup(metadata, "skill_id")
	}
	return id
}

// message reads the message of a send. Members that are required but missing are
// only found out at its end.
func (f *form) message(r *reader, req *a2a.SendRequest, h *hints) error {
	m := a2a.Message{Role: a2a.RoleUser, Request: req.Message.Request}
	req.TaskID, req.ContextID, h[hintMessageMetadata] = "", "", nil
	role := false
	err := r.object(func(name []byte) (err error) {
		var id string
		switch string(name) {
		case "messageId":
			m.ID, err = r.id()
		case "role":
			role, err = f.role(r)
		case "parts":
			m.Parts, err = r.parts(f.part)
		case "taskId":
			id, err = r.id()
			req.TaskID = a2a.TaskID(id)
		case "contextId":
			id, err = r.id()
			req.ContextID = a2a.ContextID(id)
		case "metadata":
			m.Metadata, err = r.rawObject()
			h[hintMessageMetadata] = f.skillID(m.Metadata)
		case "extensions":
			m.Extensions, err = r.strings()
		case "referenceTaskIds":
			m.ReferenceTaskIDs = nil
			var ids []string
			ids, err = r.strings()
			for _, id := range ids {
				m.ReferenceTaskIDs = append(m.ReferenceTaskIDs, a2a.TaskID(id))
			}
		case "content":
			if !f.oldProto {
				return r.skip()
			}
			m.Parts, err = r.parts(f.part)
		default:
			err = r.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case m.ID == "" && !f.anonymous:
		return required("message.messageId")
	case !role:
		return required("message.role")
	case len(m.Parts) == 0:
		return a2a.InvalidParams("message.parts", "must have at least one part")
	}
	req.Message = m
	return nil
}

// configuration reads the configuration of a send. In the older ProtoJSON a client
// that does not block cannot say so: false is left out.
func (f *form) configuration(r *reader, req *a2a.SendRequest, h *hints) error {
	absent := !f.oldProto || r.d.PeekKind() == 'n'
	req.Blocking, req.Push, req.AcceptedOutputModes, req.View = absent, nil, nil, a2a.View{}
	h[hintConfigSkillID], h[hintConfigSnakeSkillID] = nil, nil
	return r.members(func(written, name []byte) (err error) {
		switch string(written) {
		case "skillId":
			h[hintConfigSkillID], err = r.raw()
			return err
		case "skill_id":
			h[hintConfigSnakeSkillID], err = r.raw()
			return err
		}
		switch string(name) {
		case "acceptedOutputModes":
			req.AcceptedOutputModes, err = r.strings()
		case "historyLength":
			err = r.historyLength(&req.View)
			if n := req.View.HistoryLength; f.oldProto && n != nil && *n == 0 {
				req.View.HistoryLength = nil // what a generated encoder writes for no length
			}
		case f.waitName:
			var wait, present bool
			wait, present, err = r.boolean()
			req.Blocking = !present && absent || present && wait == f.waitValue
		case f.pushName:
			req.Push, err = f.pushConfig(r)
		case "pushNotification":
			if !f.oldProto {
				return r.skip()
			}
			req.Push, err = f.pushConfig(r)
		default:
			err = r.skip()
		}
		return err
	})
}

// get decodes the params of a get or a subscribe.
func (f *form) get(params []byte, lim Limits) (any, error) {
	req := &a2a.GetRequest{}
	id, err := f.taskID(params, lim, &req.View)
	if err != nil {
		return nil, err
	}
	req.ID = id
	return req, nil
}

// cancel decodes the params of a cancel.
func (f *form) cancel(params []byte, lim Limits) (any, error) {
	id, err := f.taskID(params, lim, nil)
	if err != nil {
		return nil, err
	}
	return &a2a.CancelRequest{ID: id, Again: f.cancelAgain}, nil
}

// taskID reads params whose one required member is the task's id. A view, if
// not nil, is read as well.
func (f *form) taskID(params []byte, lim Limits, view *a2a.View) (a2a.TaskID, error) {
	r := newReader(params, lim, f.snake)
	var id string
	err := r.params(params, func(name []byte) (err error) {
		switch {
		case string(name) == "id":
			id, err = r.id()
		case string(name) == "historyLength" && view != nil:
			err = r.historyLength(view)
		default:
			err = r.skip()
		}
		return err
	})
	if err == nil && id == "" {
		err = required("id")
	}
	return a2a.TaskID(id), err
}

// decodeNothing checks that params, if there are any, are an object.
func decodeNothing(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, false)
	return nil, r.params(params, func([]byte) error { return r.skip() })
}
