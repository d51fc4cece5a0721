package pb

import (
	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// V1 returns the service of A2A 1.0 (§10): lf.a2a.v1.A2AService, whose rpcs are the
// methods of the JSON dialect d.
func V1(d *wire.Dialect) *Service {
	f := &formV1{dialect: d.Name}
	message := func() *v1.SendMessageRequest { return new(v1.SendMessageRequest) }
	stream := (func(any, a2a.View) (*v1.StreamResponse, error))(nil)
	return &Service{
		Name:    v1.A2AService_ServiceDesc.ServiceName,
		File:    v1.File_a2av1_proto.Path(),
		Dialect: d,
		Methods: []Method{
			method("SendMessage", a2a.OpSend, message, f.send, sendResultV1),
			method("SendStreamingMessage", a2a.OpStream, message, f.send, stream),
			method("GetTask", a2a.OpGet, func() *v1.GetTaskRequest { return new(v1.GetTaskRequest) }, f.get, taskResultV1),
			method("ListTasks", a2a.OpList, func() *v1.ListTasksRequest { return new(v1.ListTasksRequest) }, f.list, listResultV1),
			method("CancelTask", a2a.OpCancel, func() *v1.CancelTaskRequest { return new(v1.CancelTaskRequest) }, f.cancel, taskResultV1),
			method("SubscribeToTask", a2a.OpSubscribe, func() *v1.SubscribeToTaskRequest { return new(v1.SubscribeToTaskRequest) }, f.subscribe, stream),
			method("CreateTaskPushNotificationConfig", a2a.OpSetPush, func() *v1.TaskPushNotificationConfig { return new(v1.TaskPushNotificationConfig) }, f.setPush, pushResultV1),
			method("GetTaskPushNotificationConfig", a2a.OpGetPush, func() *v1.GetTaskPushNotificationConfigRequest { return new(v1.GetTaskPushNotificationConfigRequest) }, f.getPush, pushResultV1),
			method("ListTaskPushNotificationConfigs", a2a.OpListPush, func() *v1.ListTaskPushNotificationConfigsRequest {
				return new(v1.ListTaskPushNotificationConfigsRequest)
			}, f.listPush, pushListResultV1),
			method("DeleteTaskPushNotificationConfig", a2a.OpDeletePush, func() *v1.DeleteTaskPushNotificationConfigRequest {
				return new(v1.DeleteTaskPushNotificationConfigRequest)
			}, f.deletePush, emptyResult),
			method("GetExtendedAgentCard", a2a.OpExtendedCard, func() *v1.GetExtendedAgentCardRequest { return new(v1.GetExtendedAgentCardRequest) }, f.nothing, cardResultV1),
		},
		Snapshot: func(t *a2a.Task, view a2a.View) proto.Message {
			return &v1.StreamResponse{Payload: &v1.StreamResponse_Task{Task: TaskV1(t, view)}}
		},
		Event: eventV1,
	}
}

func sendResultV1(r *a2a.SendResult, view a2a.View) (*v1.SendMessageResponse, error) {
	if r.Task != nil {
		return &v1.SendMessageResponse{Payload: &v1.SendMessageResponse_Task{Task: TaskV1(r.Task, view)}}, nil
	}
	return &v1.SendMessageResponse{Payload: &v1.SendMessageResponse_Message{Message: MessageV1(r.Message, r.ContextID, "", "")}}, nil
}

func taskResultV1(t *a2a.Task, view a2a.View) (*v1.Task, error) { return TaskV1(t, view), nil }

func listResultV1(r *a2a.ListResult, view a2a.View) (*v1.ListTasksResponse, error) {
	m := &v1.ListTasksResponse{
		Tasks: make([]*v1.Task, len(r.Tasks)), NextPageToken: text(r.NextPageToken),
		PageSize: int32(r.PageSize), TotalSize: int32(r.TotalSize),
	}
	for i, t := range r.Tasks {
		m.Tasks[i] = TaskV1(t, view)
	}
	return m, nil
}

func pushResultV1(c *a2a.PushConfig, _ a2a.View) (*v1.TaskPushNotificationConfig, error) {
	return PushV1(c), nil
}

func pushListResultV1(list []a2a.PushConfig, _ a2a.View) (*v1.ListTaskPushNotificationConfigsResponse, error) {
	m := &v1.ListTaskPushNotificationConfigsResponse{}
	for i := range list {
		m.Configs = append(m.Configs, PushV1(&list[i]))
	}
	return m, nil
}

func emptyResult(any, a2a.View) (*emptypb.Empty, error) { return new(emptypb.Empty), nil }

// cardResultV1 makes the message of a card's JSON. Members that the message has not
// are left out.
func cardResultV1(card []byte, _ a2a.View) (*v1.AgentCard, error) {
	m := new(v1.AgentCard)
	return m, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(card, m)
}

// eventV1 is a message of a stream, as wire.StreamForm.Event has it in JSON.
func eventV1(t *a2a.Task, ev *a2a.Event, view a2a.View) proto.Message {
	more := object(wire.EventMetadata(ev, view))
	switch {
	case ev.Created != nil:
		return &v1.StreamResponse{Payload: &v1.StreamResponse_Task{Task: TaskV1(wire.AsCreated(ev), view)}}
	case ev.Status != nil:
		return &v1.StreamResponse{Payload: &v1.StreamResponse_StatusUpdate{StatusUpdate: &v1.TaskStatusUpdateEvent{
			TaskId: text(t.ID), ContextId: text(t.ContextID), Status: statusV1(t.ID, t.ContextID, ev.Status), Metadata: more,
		}}}
	case ev.Artifact != nil:
		return &v1.StreamResponse{Payload: &v1.StreamResponse_ArtifactUpdate{ArtifactUpdate: &v1.TaskArtifactUpdateEvent{
			TaskId: text(t.ID), ContextId: text(t.ContextID), Artifact: artifactV1(&ev.Artifact.Artifact),
			Append: ev.Artifact.Append, LastChunk: ev.Artifact.Last, Metadata: more,
		}}}
	}
	return nil
}
