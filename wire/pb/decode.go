package pb

import (
	"encoding/base64"
	"fmt"
	"slices"

	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// How deep the places for free JSON are in the JSON form of a request.
const (
	levelParams  = 2
	levelMessage = 3
	levelPart    = 5
)

// formV1 decodes the requests of A2A 1.0.
type formV1 struct{ dialect string }

// send decodes a send or a stream, as the JSON dialect does.
func (f *formV1) send(q *v1.SendMessageRequest, lim wire.Limits) (any, error) {
	if q.GetMessage() == nil {
		return nil, required("message")
	}
	c := q.GetConfiguration()
	req := &a2a.SendRequest{
		Dialect: f.dialect, Blocking: !c.GetReturnImmediately(),
		AcceptedOutputModes: slices.Clone(c.GetAcceptedOutputModes()),
	}
	var err error
	if req.View.HistoryLength, err = historyLength("configuration.historyLength", historyOf(c)); err != nil {
		return nil, err
	}
	if p := c.GetTaskPushNotificationConfig(); p != nil {
		if req.Push, err = f.pushConfig("configuration.taskPushNotificationConfig.", p, lim); err != nil {
			return nil, err
		}
		req.Push.TaskID = "" // it is the one of the message
	}
	request, err := rawObject("metadata", q.GetMetadata(), levelParams, lim)
	if err != nil {
		return nil, err
	}
	if req.Message, err = f.message(q.GetMessage(), lim); err != nil {
		return nil, err
	}
	req.Message.Request = request
	req.TaskID, req.ContextID = a2a.TaskID(q.GetMessage().GetTaskId()), a2a.ContextID(q.GetMessage().GetContextId())
	req.Skills = wire.MetadataHints(request, req.Message.Metadata)
	return req, nil
}

// message decodes the message of a send.
func (f *formV1) message(q *v1.Message, lim wire.Limits) (m a2a.Message, err error) {
	for _, id := range [...]struct{ field, value string }{
		{"message.messageId", q.GetMessageId()}, {"message.taskId", q.GetTaskId()}, {"message.contextId", q.GetContextId()},
	} {
		if err := lim.CheckID(id.field, id.value); err != nil {
			return m, err
		}
	}
	switch {
	case q.GetMessageId() == "":
		return m, required("message.messageId")
	case q.GetRole() == v1.Role_ROLE_UNSPECIFIED:
		return m, required("message.role")
	case q.GetRole() != v1.Role_ROLE_USER:
		return m, a2a.InvalidParams("message.role", "must be ROLE_USER")
	case len(q.GetParts()) == 0:
		return m, a2a.InvalidParams("message.parts", "must have at least one part")
	case len(q.GetParts()) > lim.MaxParts:
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

// part decodes a part: exactly one of text, raw, url and data (A2A 1.0 §4.1.6).
func part(field string, q *v1.Part, lim wire.Limits) (p a2a.Part, err error) {
	p = a2a.Part{MediaType: q.GetMediaType(), Filename: q.GetFilename()}
	switch c := q.GetContent().(type) {
	case *v1.Part_Text:
		p.Kind, p.Text = a2a.PartText, c.Text
	case *v1.Part_Raw:
		p.Kind, p.Raw = a2a.PartRaw, base64.StdEncoding.EncodeToString(c.Raw)
	case *v1.Part_Url:
		p.Kind, p.URL = a2a.PartURL, c.Url
	case *v1.Part_Data:
		p.Kind = a2a.PartData
		if p.Data, err = rawValue(field+".data", c.Data, levelPart, lim); err != nil {
			return p, err
		}
	default:
		return p, a2a.InvalidParams(field, "must have exactly one of text, raw, url and data")
	}
	p.Metadata, err = rawObject(field+".metadata", q.GetMetadata(), levelPart, lim)
	return p, err
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

// requiredID checks an id that has to be there.
func requiredID(field, id string, lim wire.Limits) error {
	if id == "" {
		return required(field)
	}
	return lim.CheckID(field, id)
}

func (f *formV1) get(q *v1.GetTaskRequest, lim wire.Limits) (any, error) {
	if err := requiredID("id", q.GetId(), lim); err != nil {
		return nil, err
	}
	n, err := historyLength("historyLength", q.HistoryLength)
	if err != nil {
		return nil, err
	}
	return &a2a.GetRequest{ID: a2a.TaskID(q.GetId()), View: a2a.View{HistoryLength: n}}, nil
}

func (f *formV1) subscribe(q *v1.SubscribeToTaskRequest, lim wire.Limits) (any, error) {
	if err := requiredID("id", q.GetId(), lim); err != nil {
		return nil, err
	}
	return &a2a.GetRequest{ID: a2a.TaskID(q.GetId())}, nil
}

func (f *formV1) cancel(q *v1.CancelTaskRequest, lim wire.Limits) (any, error) {
	if err := requiredID("id", q.GetId(), lim); err != nil {
		return nil, err
	}
	return &a2a.CancelRequest{ID: a2a.TaskID(q.GetId()), Again: true}, nil
}

// list decodes a ListTasksRequest (A2A 1.0 §3.1.4).
func (f *formV1) list(q *v1.ListTasksRequest, lim wire.Limits) (any, error) {
	if err := lim.CheckID("contextId", q.GetContextId()); err != nil {
		return nil, err
	}
	req := &a2a.ListRequest{
		ContextID: a2a.ContextID(q.GetContextId()), PageToken: q.GetPageToken(), PageSize: int(q.GetPageSize()),
		View: a2a.View{OmitArtifacts: !q.GetIncludeArtifacts()},
	}
	if q.PageSize != nil && (req.PageSize < 1 || req.PageSize > 100) {
		return nil, a2a.InvalidParams("pageSize", "must be between 1 and 100")
	}
	// UNRECOGNIZED (-1) is the placeholder of clients built from partial objects.
	if n, states := int(q.GetStatus()), a2a.States(); n > len(states) || n < -1 {
		return nil, a2a.InvalidParams("status", "must be a task state such as TASK_STATE_WORKING")
	} else if n > 0 {
		req.State = states[n-1]
	}
	if after := q.GetStatusTimestampAfter(); after != nil {
		if !after.IsValid() {
			return nil, a2a.InvalidParams("statusTimestampAfter", "must be a timestamp such as 2026-11-30T13:00:00.000Z")
		}
		req.StatusAfter = after.AsTime()
	}
	var err error
	req.View.HistoryLength, err = historyLength("historyLength", q.HistoryLength)
	return req, err
}

// pushConfig decodes a push config.
func (f *formV1) pushConfig(prefix string, q *v1.TaskPushNotificationConfig, lim wire.Limits) (*a2a.PushConfig, error) {
	c := &a2a.PushConfig{
		ID: q.GetId(), TaskID: a2a.TaskID(q.GetTaskId()), URL: q.GetUrl(), Token: q.GetToken(), Dialect: f.dialect,
		Scheme: q.GetAuthentication().GetScheme(), Credentials: q.GetAuthentication().GetCredentials(),
	}
	return c, lim.CheckPush(prefix, c)
}

func (f *formV1) setPush(q *v1.TaskPushNotificationConfig, lim wire.Limits) (any, error) {
	if err := requiredID("taskId", q.GetTaskId(), lim); err != nil {
		return nil, err
	}
	c, err := f.pushConfig("", q, lim)
	if err != nil {
		return nil, err
	}
	return &a2a.PushRequest{TaskID: c.TaskID, ID: c.ID, Config: *c}, nil
}

func (f *formV1) getPush(q *v1.GetTaskPushNotificationConfigRequest, lim wire.Limits) (any, error) {
	return pushNames(q.GetTaskId(), q.GetId(), lim)
}

func (f *formV1) deletePush(q *v1.DeleteTaskPushNotificationConfigRequest, lim wire.Limits) (any, error) {
	return pushNames(q.GetTaskId(), q.GetId(), lim)
}

func pushNames(task, id string, lim wire.Limits) (any, error) {
	if err := requiredID("taskId", task, lim); err != nil {
		return nil, err
	}
	if err := requiredID("id", id, lim); err != nil {
		return nil, err
	}
	return &a2a.PushRequest{TaskID: a2a.TaskID(task), ID: id}, nil
}

// listPush decodes a list of push configs; there is only one page of them.
func (f *formV1) listPush(q *v1.ListTaskPushNotificationConfigsRequest, lim wire.Limits) (any, error) {
	if err := requiredID("taskId", q.GetTaskId(), lim); err != nil {
		return nil, err
	}
	return &a2a.PushRequest{TaskID: a2a.TaskID(q.GetTaskId())}, nil
}

func (f *formV1) nothing(*v1.GetExtendedAgentCardRequest, wire.Limits) (any, error) { return nil, nil }

// historyOf returns the configuration's number of messages, nil if there is none.
func historyOf(c *v1.SendMessageConfiguration) *int32 {
	if c == nil {
		return nil
	}
	return c.HistoryLength
}
