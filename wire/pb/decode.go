package pb

import (
	"encoding/base64"
	"slices"

	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
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
	return req, complete(req, q.GetMessage(), int32(q.GetMessage().GetRole()), part, q.GetMetadata(), lim)
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
		ContextID: a2a.ContextID(q.GetContextId()), PageToken: q.GetPageToken(),
		View: a2a.View{OmitArtifacts: !q.GetIncludeArtifacts()},
	}
	var err error
	if req.PageSize, err = pageSize(q.GetPageSize()); err != nil {
		return nil, err
	}
	if req.State, err = stateFilter(int32(q.GetStatus())); err != nil {
		return nil, err
	}
	if err := since(req, "statusTimestampAfter", q.GetStatusTimestampAfter()); err != nil {
		return nil, err
	}
	req.View.HistoryLength, err = historyLength("historyLength", q.HistoryLength)
	return req, err
}

// pushConfig decodes a push config.
func (f *formV1) pushConfig(prefix string, q *v1.TaskPushNotificationConfig, lim wire.Limits) (*a2a.PushConfig, error) {
	c := &a2a.PushConfig{
		ID: q.GetId(), TaskID: a2a.TaskID(q.GetTaskId()), URL: q.GetUrl(), Token: q.GetToken(), Dialect: f.dialect,
		Scheme: q.GetAuthentication().GetScheme(), Credentials: q.GetAuthentication().GetCredentials(),
	}
	return c, lim.CheckPush(prefix, "scheme", c)
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
