package pb

import (
	"encoding/base64"
	"slices"

	v03 "github.com/a2aproject/a2a-go/a2apb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// formV03 decodes the requests of A2A 0.3.
type formV03 struct{ dialect string }

// send decodes a send or a stream. Only a call without a configuration can leave open
// whether it blocks.
func (f *formV03) send(q *v03.SendMessageRequest, lim wire.Limits) (any, error) {
	if q.GetRequest() == nil {
		return nil, required("message")
	}
	c := q.GetConfiguration()
	req := &a2a.SendRequest{
		Dialect: f.dialect, Blocking: c == nil || c.GetBlocking(), OperationNamesSkill: true,
		AcceptedOutputModes: slices.Clone(c.GetAcceptedOutputModes()),
	}
	var err error
	if req.View.HistoryLength, err = historyLength("configuration.historyLength", nonZero(c.GetHistoryLength())); err != nil {
		return nil, err
	}
	if p := c.GetPushNotification(); p != nil {
		if req.Push, err = f.pushConfig("configuration.pushNotification.", p, lim); err != nil {
			return nil, err
		}
		wire.NameConfig(req.Push)
	}
	return req, complete(req, q.GetRequest(), int32(q.GetRequest().GetRole()), partV03, q.GetMetadata(), lim)
}

// nonZero is a number of the older package, which cannot tell zero from none.
func nonZero(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return &n
}

// partV03 decodes a part: a text, a file or data.
func partV03(field string, q *v03.Part, lim wire.Limits) (p a2a.Part, err error) {
	refused := a2a.InvalidParams(field, "must be text, a file with bytes or uri, or data")
	switch c := q.GetPart().(type) {
	case *v03.Part_Text:
		p = a2a.TextPart(c.Text)
	case *v03.Part_File:
		p.MediaType, p.Filename = c.File.GetMimeType(), c.File.GetName()
		switch file := c.File.GetFile().(type) {
		case *v03.FilePart_FileWithBytes:
			p.Kind, p.Raw = a2a.PartRaw, rawText(file.FileWithBytes)
		case *v03.FilePart_FileWithUri:
			p.Kind, p.URL = a2a.PartURL, file.FileWithUri
		default:
			return p, refused
		}
	case *v03.Part_Data:
		p.Kind, p.Data = a2a.PartData, []byte("{}")
		if s := c.Data.GetData(); s != nil {
			if p.Data, err = rawObject(field+".data", s, levelPart, lim); err != nil {
				return p, err
			}
		}
	default:
		return p, refused
	}
	p.Metadata, err = rawObject(field+".metadata", q.GetMetadata(), levelPart, lim)
	wire.UnwrapData(&p)
	return p, err
}

// rawText is the content of a file in base64. By the definition the bytes are the content
// itself. But the SDKs of Python, Go and Java put the text of its base64 there and expect
// to find the same, so that is what we write and, where it can be, what we read.
func rawText(b []byte) string {
	text := string(b)
	if content, err := base64.StdEncoding.DecodeString(text); err == nil && base64.StdEncoding.EncodeToString(content) == text {
		return text
	}
	return base64.StdEncoding.EncodeToString(b)
}

// task returns the id in a name, which has to be there: tasks/{id}.
func (f *formV03) task(field, name string, lim wire.Limits) (a2a.TaskID, error) {
	id := wire.TaskOfName(name)
	return id, requiredID(field, string(id), lim)
}

func (f *formV03) get(q *v03.GetTaskRequest, lim wire.Limits) (any, error) {
	id, err := f.task("name", q.GetName(), lim)
	if err != nil {
		return nil, err
	}
	n, err := historyLength("historyLength", nonZero(q.GetHistoryLength()))
	if err != nil {
		return nil, err
	}
	return &a2a.GetRequest{ID: id, View: a2a.View{HistoryLength: n}}, nil
}

func (f *formV03) subscribe(q *v03.TaskSubscriptionRequest, lim wire.Limits) (any, error) {
	id, err := f.task("name", q.GetName(), lim)
	return &a2a.GetRequest{ID: id}, err
}

func (f *formV03) cancel(q *v03.CancelTaskRequest, lim wire.Limits) (any, error) {
	id, err := f.task("name", q.GetName(), lim)
	return &a2a.CancelRequest{ID: id}, err
}

// list decodes a ListTasksRequest, which the last releases of the package have.
func (f *formV03) list(q *v03.ListTasksRequest, lim wire.Limits) (any, error) {
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
	if err := since(req, "lastUpdatedTime", q.GetLastUpdatedTime()); err != nil {
		return nil, err
	}
	req.View.HistoryLength, err = historyLength("historyLength", nonZero(q.GetHistoryLength()))
	return req, err
}

// pushConfig decodes a push config. Of several schemes the first counts.
func (f *formV03) pushConfig(prefix string, q *v03.PushNotificationConfig, lim wire.Limits) (*a2a.PushConfig, error) {
	c := &a2a.PushConfig{
		ID: q.GetId(), URL: q.GetUrl(), Token: q.GetToken(), Dialect: f.dialect,
		Credentials: q.GetAuthentication().GetCredentials(),
	}
	if schemes := q.GetAuthentication().GetSchemes(); len(schemes) > 0 {
		c.Scheme = schemes[0]
	}
	return c, lim.CheckPush(prefix, "schemes", c)
}

// setPush decodes a push config. Its task is that of the parent or of its name, and its
// id may be beside it, too.
func (f *formV03) setPush(q *v03.CreateTaskPushNotificationConfigRequest, lim wire.Limits) (any, error) {
	named, id := wire.NamesOfConfig(q.GetConfig().GetName())
	parent := wire.TaskOfName(q.GetParent())
	switch {
	case parent == "":
		parent = named
	case named != "" && named != parent:
		return nil, a2a.InvalidParams("config.name", "contradicts the parent of the request")
	}
	if err := requiredID("parent", string(parent), lim); err != nil {
		return nil, err
	}
	if q.GetConfig().GetPushNotificationConfig() == nil {
		return nil, required("config.pushNotificationConfig")
	}
	c, err := f.pushConfig("config.pushNotificationConfig.", q.GetConfig().GetPushNotificationConfig(), lim)
	if err != nil {
		return nil, err
	}
	wire.NameConfig(c, id, q.GetConfigId())
	c.TaskID = parent
	return &a2a.PushRequest{TaskID: parent, ID: c.ID, Config: *c}, lim.CheckID("configId", c.ID)
}

// pushNames decodes the name of a push config: tasks/{id}/pushNotificationConfigs/{id}.
func (f *formV03) pushNames(name string, lim wire.Limits) (*a2a.PushRequest, error) {
	task, id := wire.NamesOfConfig(name)
	if task == "" {
		return nil, a2a.InvalidParams("name", "must be tasks/{task}/pushNotificationConfigs/{id}")
	}
	if err := lim.CheckID("name", string(task)); err != nil {
		return nil, err
	}
	return &a2a.PushRequest{TaskID: task, ID: id}, lim.CheckID("name", id)
}

// getPush decodes a request for a push config. Without an id it is that of the task.
func (f *formV03) getPush(q *v03.GetTaskPushNotificationConfigRequest, lim wire.Limits) (any, error) {
	return f.pushNames(q.GetName(), lim)
}

func (f *formV03) deletePush(q *v03.DeleteTaskPushNotificationConfigRequest, lim wire.Limits) (any, error) {
	req, err := f.pushNames(q.GetName(), lim)
	if err == nil && req.ID == "" {
		err = a2a.InvalidParams("name", "must be tasks/{task}/pushNotificationConfigs/{id}")
	}
	return req, err
}

// listPush decodes a list of push configs; there is only one page of them.
func (f *formV03) listPush(q *v03.ListTaskPushNotificationConfigRequest, lim wire.Limits) (any, error) {
	task, err := f.task("parent", q.GetParent(), lim)
	return &a2a.PushRequest{TaskID: task}, err
}

func (f *formV03) nothing(*v03.GetAgentCardRequest, wire.Limits) (any, error) { return nil, nil }
