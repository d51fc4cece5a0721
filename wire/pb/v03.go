package pb

import (
	"encoding/json"
	"fmt"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// V03 returns the service of A2A 0.3: a2a.v1.A2AService. d is the dialect of its
// ProtoJSON, whose rules hold here too: false and zero are left out of messages, so a
// configuration that does not ask to block does not block, and a history length of zero
// is none.
//
// The messages are those of the package's last release, which reads and writes the same
// bytes as the ones before. It calls the content of a message parts, has ListTasks as
// well, and tasks that a message refers to.
func V03(d *wire.Dialect) *Service {
	f := &formV03{dialect: d.Name}
	e := &encoderV03{ends: d.Stream.Ends}
	message := func() *v03.SendMessageRequest { return new(v03.SendMessageRequest) }
	stream := (func(any, a2a.View) (*v03.StreamResponse, error))(nil)
	return &Service{
		Name:    v03.A2AService_ServiceDesc.ServiceName,
		File:    v03.File_a2a_proto.Path(),
		Dialect: d,
		Methods: []Method{
			method("SendMessage", a2a.OpSend, message, f.send, sendResultV03),
			method("SendStreamingMessage", a2a.OpStream, message, f.send, stream),
			method("GetTask", a2a.OpGet, func() *v03.GetTaskRequest { return new(v03.GetTaskRequest) }, f.get, taskResultV03),
			method("ListTasks", a2a.OpList, func() *v03.ListTasksRequest { return new(v03.ListTasksRequest) }, f.list, listResultV03),
			method("CancelTask", a2a.OpCancel, func() *v03.CancelTaskRequest { return new(v03.CancelTaskRequest) }, f.cancel, taskResultV03),
			method("TaskSubscription", a2a.OpSubscribe, func() *v03.TaskSubscriptionRequest { return new(v03.TaskSubscriptionRequest) }, f.subscribe, stream),
			method("CreateTaskPushNotificationConfig", a2a.OpSetPush, func() *v03.CreateTaskPushNotificationConfigRequest {
				return new(v03.CreateTaskPushNotificationConfigRequest)
			}, f.setPush, pushResultV03),
			method("GetTaskPushNotificationConfig", a2a.OpGetPush, func() *v03.GetTaskPushNotificationConfigRequest {
				return new(v03.GetTaskPushNotificationConfigRequest)
			}, f.getPush, pushResultV03),
			method("ListTaskPushNotificationConfig", a2a.OpListPush, func() *v03.ListTaskPushNotificationConfigRequest {
				return new(v03.ListTaskPushNotificationConfigRequest)
			}, f.listPush, pushListResultV03),
			method("GetAgentCard", a2a.OpExtendedCard, func() *v03.GetAgentCardRequest { return new(v03.GetAgentCardRequest) }, f.nothing, cardResultV03),
			method("DeleteTaskPushNotificationConfig", a2a.OpDeletePush, func() *v03.DeleteTaskPushNotificationConfigRequest {
				return new(v03.DeleteTaskPushNotificationConfigRequest)
			}, f.deletePush, emptyResult),
		},
		Snapshot: func(t *a2a.Task, view a2a.View) proto.Message {
			return &v03.StreamResponse{Payload: &v03.StreamResponse_Task{Task: TaskV03(t, view)}}
		},
		Event: e.event,
	}
}

func sendResultV03(r *a2a.SendResult, view a2a.View) (*v03.SendMessageResponse, error) {
	if r.Task != nil {
		return &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Task{Task: TaskV03(r.Task, view)}}, nil
	}
	return &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Msg{Msg: MessageV03(r.Message, r.ContextID, "", "")}}, nil
}

func taskResultV03(t *a2a.Task, view a2a.View) (*v03.Task, error) { return TaskV03(t, view), nil }

func listResultV03(r *a2a.ListResult, view a2a.View) (*v03.ListTasksResponse, error) {
	m := &v03.ListTasksResponse{
		Tasks: make([]*v03.Task, len(r.Tasks)), NextPageToken: text(r.NextPageToken), TotalSize: int32(r.TotalSize),
	}
	for i, t := range r.Tasks {
		m.Tasks[i] = TaskV03(t, view)
	}
	return m, nil
}

func pushResultV03(c *a2a.PushConfig, _ a2a.View) (*v03.TaskPushNotificationConfig, error) {
	return PushV03(c), nil
}

func pushListResultV03(list []a2a.PushConfig, _ a2a.View) (*v03.ListTaskPushNotificationConfigResponse, error) {
	m := &v03.ListTaskPushNotificationConfigResponse{}
	for i := range list {
		m.Configs = append(m.Configs, PushV03(&list[i]))
	}
	return m, nil
}

// cardResultV03 makes the message of a card's JSON. The two differ in how they spell the
// security of the agent; members that the message has not are left out.
func cardResultV03(card []byte, _ a2a.View) (*v03.AgentCard, error) {
	m := new(v03.AgentCard)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(card, m); err != nil {
		return nil, err
	}
	var secured struct {
		SecuritySchemes map[string]schemeV03
		Security        []map[string][]string
	}
	if err := json.Unmarshal(card, &secured); err != nil {
		return nil, err
	}
	for name, s := range secured.SecuritySchemes {
		scheme, err := s.message()
		if err != nil {
			return nil, fmt.Errorf("security scheme %s: %w", name, err)
		}
		m.SecuritySchemes[name] = scheme
	}
	for i, alternative := range secured.Security {
		schemes := make(map[string]*v03.StringList, len(alternative))
		for name, scopes := range alternative {
			schemes[name] = &v03.StringList{List: scopes}
		}
		m.Security[i] = &v03.Security{Schemes: schemes}
	}
	return m, nil
}

// schemeV03 is a security scheme in the JSON of 0.3, of the types that our cards have.
type schemeV03 struct{ Type, In, Name, Scheme string }

func (s schemeV03) message() (*v03.SecurityScheme, error) {
	switch s.Type {
	case "apiKey":
		return &v03.SecurityScheme{Scheme: &v03.SecurityScheme_ApiKeySecurityScheme{
			ApiKeySecurityScheme: &v03.APIKeySecurityScheme{Location: s.In, Name: s.Name},
		}}, nil
	case "http":
		return &v03.SecurityScheme{Scheme: &v03.SecurityScheme_HttpAuthSecurityScheme{
			HttpAuthSecurityScheme: &v03.HTTPAuthSecurityScheme{Scheme: s.Scheme},
		}}, nil
	}
	return nil, fmt.Errorf("type %q has no message", s.Type)
}
