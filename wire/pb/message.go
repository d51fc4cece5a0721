package pb

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// This file is what requests of all versions have alike.

// How deep the places for free JSON are in the JSON form of a request.
const (
	levelParams  = 2
	levelMessage = 3
	levelPart    = 5
)

// The numbers of the roles, which are those of every version.
const (
	roleUnspecified = 0
	roleUser        = 1
)

// spoken is a message with parts P.
type spoken[P any] interface {
	GetMessageId() string
	GetTaskId() string
	GetContextId() string
	GetParts() []P
	GetMetadata() *structpb.Struct
	GetExtensions() []string
	GetReferenceTaskIds() []string
}

// partDecoder decodes one part; field is what to blame.
type partDecoder[P any] func(field string, q P, lim wire.Limits) (a2a.Part, error)

// complete reads the message and the metadata of a send into the request. role is the
// number of the message's role.
func complete[P any](req *a2a.SendRequest, q spoken[P], role int32, part partDecoder[P], metadata *structpb.Struct, lim wire.Limits) error {
	request, err := rawObject("metadata", metadata, levelParams, lim)
	if err != nil {
		return err
	}
	if req.Message, err = userMessage(q, role, part, lim); err != nil {
		return err
	}
	req.Message.Request = request
	req.TaskID, req.ContextID = a2a.TaskID(q.GetTaskId()), a2a.ContextID(q.GetContextId())
	req.Skills = wire.MetadataHints(request, req.Message.Metadata)
	return nil
}

// userMessage decodes the message of a send.
func userMessage[P any](q spoken[P], role int32, part partDecoder[P], lim wire.Limits) (m a2a.Message, err error) {
	for _, id := range [...]struct{ field, value string }{
		{"message.messageId", q.GetMessageId()}, {"message.taskId", q.GetTaskId()}, {"message.contextId", q.GetContextId()},
	} {
		if err := lim.CheckID(id.field, id.value); err != nil {
			return m, err
		}
	}
	switch parts := len(q.GetParts()); {
	case q.GetMessageId() == "":
		return m, required("message.messageId")
	case role == roleUnspecified:
		return m, required("message.role")
	case role != roleUser:
		return m, a2a.InvalidParams("message.role", "must be ROLE_USER")
	case parts == 0:
		return m, a2a.InvalidParams("message.parts", "must have at least one part")
	case parts > lim.MaxParts:
		return m, a2a.InvalidParams("message.parts", fmt.Sprintf("must not have more than %d elements", lim.MaxParts))
	}
	m = a2a.Message{ID: q.GetMessageId(), Role: a2a.RoleUser, Extensions: slices.Clone(q.GetExtensions())}
	for _, id := range q.GetReferenceTaskIds() {
		m.ReferenceTaskIDs = append(m.ReferenceTaskIDs, a2a.TaskID(id))
	}
	if m.Metadata, err = rawObject("message.metadata", q.GetMetadata(), levelMessage, lim); err != nil {
		return m, err
	}
	m.Parts = make([]a2a.Part, len(q.GetParts()))
	for i, p := range q.GetParts() {
		if m.Parts[i], err = part(fmt.Sprintf("message.parts[%d]", i), p, lim); err != nil {
			return m, err
		}
	}
	return m, nil
}

// requiredID checks an id that has to be there.
func requiredID(field, id string, lim wire.Limits) error {
	if id == "" {
		return required(field)
	}
	return lim.CheckID(field, id)
}

// historyLength decodes an optional number of messages.
func historyLength(field string, n *int32) (*int, error) {
	if n == nil {
		return nil, nil
	}
	if *n < 0 {
		return nil, a2a.InvalidParams(field, "must not be negative")
	}
	v := int(*n)
	return &v, nil
}

// pageSize checks a page size. Zero is none: the client of the Go SDK writes it when its
// caller gave none.
func pageSize(n int32) (int, error) {
	if n < 0 || n > 100 {
		return 0, a2a.InvalidParams("pageSize", "must be between 1 and 100")
	}
	return int(n), nil
}

// stateFilter returns the state of a number, "" for none. UNRECOGNIZED (-1) is the
// placeholder of clients built from partial objects. The numbers are those of every
// version.
func stateFilter(n int32) (a2a.State, error) {
	states := a2a.States()
	switch {
	case n > int32(len(states)) || n < -1:
		return "", a2a.InvalidParams("status", "must be a task state such as TASK_STATE_WORKING")
	case n <= 0:
		return "", nil
	}
	return states[n-1], nil
}

// stateNumber returns the number of a state, 0 for one that the protocol does not have.
func stateNumber(s a2a.State) int32 { return int32(slices.Index(a2a.States(), s) + 1) }

// since reads a lower bound of time into the request, if there is one.
func since(req *a2a.ListRequest, field string, t *timestamppb.Timestamp) error {
	if t == nil {
		return nil
	}
	if !t.IsValid() {
		return a2a.InvalidParams(field, "must be a timestamp such as 2026-11-30T13:00:00.000Z")
	}
	req.StatusAfter = t.AsTime()
	return nil
}
