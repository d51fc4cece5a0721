package pb

import (
	v03 "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/proto"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// TaskV03 returns a task as a client of A2A 0.3 reads it.
func TaskV03(t *a2a.Task, view a2a.View) *v03.Task {
	t = wire.WithAnswer(t)
	m := &v03.Task{
		Id: text(t.ID), ContextId: text(t.ContextID),
		Status:   statusV03(t.ID, t.ContextID, &t.Status),
		Metadata: object(wire.TaskMetadata(t, view)),
	}
	if !view.OmitArtifacts {
		for i := range t.Artifacts {
			m.Artifacts = append(m.Artifacts, artifactV03(&t.Artifacts[i]))
		}
	}
	history := wire.Recent(t.History, view.HistoryLength)
	for i := range history {
		h := &history[i]
		m.History = append(m.History, MessageV03(h, t.ContextID, t.ID, wire.HistoryCode(t, h)))
	}
	return m
}

func statusV03(id a2a.TaskID, context a2a.ContextID, s *a2a.Status) *v03.TaskStatus {
	m := &v03.TaskStatus{State: v03.TaskState(stateNumber(s.State)), Timestamp: timestamp(s.At)}
	if s.Message != nil {
		m.Update = MessageV03(s.Message, context, id, s.Code)
	}
	return m
}

// MessageV03 is MessageV1 for a client of A2A 0.3.
func MessageV03(m *a2a.Message, context a2a.ContextID, task a2a.TaskID, code a2a.Code) *v03.Message {
	role := v03.Role_ROLE_AGENT
	if m.Role == a2a.RoleUser {
		role = v03.Role_ROLE_USER
	}
	return &v03.Message{
		MessageId: text(m.ID), ContextId: text(context), TaskId: text(task), Role: role,
		Parts: partsV03(m.Parts), Metadata: object(wire.MessageMetadata(m, code)),
		Extensions: texts(m.Extensions), ReferenceTaskIds: texts(m.ReferenceTaskIDs),
	}
}

func artifactV03(a *a2a.Artifact) *v03.Artifact {
	return &v03.Artifact{
		ArtifactId: text(a.ID), Name: text(a.Name), Description: text(a.Description),
		Parts: partsV03(a.Parts), Metadata: object(a.Metadata), Extensions: texts(a.Extensions),
	}
}

func partsV03(parts []a2a.Part) []*v03.Part {
	list := make([]*v03.Part, len(parts))
	for i := range parts {
		p := &parts[i]
		data, metadata := wire.OldPart(p)
		m := &v03.Part{Metadata: object(metadata)}
		file := &v03.FilePart{MimeType: text(p.MediaType), Name: text(p.Filename)}
		switch p.Kind {
		case a2a.PartRaw:
			// The text of the base64, see rawText.
			file.File = &v03.FilePart_FileWithBytes{FileWithBytes: []byte(p.Raw)}
			m.Part = &v03.Part_File{File: file}
		case a2a.PartURL:
			file.File = &v03.FilePart_FileWithUri{FileWithUri: text(p.URL)}
			m.Part = &v03.Part_File{File: file}
		case a2a.PartData:
			m.Part = &v03.Part_Data{Data: &v03.DataPart{Data: object(data)}}
		default:
			m.Part = &v03.Part_Text{Text: text(p.Text)}
		}
		list[i] = m
	}
	return list
}

// PushV03 returns a push config without its secrets.
func PushV03(c *a2a.PushConfig) *v03.TaskPushNotificationConfig {
	config := &v03.PushNotificationConfig{Id: text(c.ID), Url: text(c.URL)}
	if c.Scheme != "" {
		config.Authentication = &v03.AuthenticationInfo{Schemes: []string{text(c.Scheme)}}
	}
	return &v03.TaskPushNotificationConfig{Name: text(wire.ConfigName(c)), PushNotificationConfig: config}
}

// encoderV03 encodes the events of a stream.
type encoderV03 struct {
	ends func(a2a.Op, a2a.State) bool
}

// event is a message of a stream, as wire.StreamForm.Event has it in JSON.
func (e *encoderV03) event(t *a2a.Task, ev *a2a.Event, view a2a.View) proto.Message {
	more := object(wire.EventMetadata(ev, view))
	switch {
	case ev.Created != nil:
		return &v03.StreamResponse{Payload: &v03.StreamResponse_Task{Task: TaskV03(wire.AsCreated(ev), view)}}
	case ev.Status != nil:
		return &v03.StreamResponse{Payload: &v03.StreamResponse_StatusUpdate{StatusUpdate: &v03.TaskStatusUpdateEvent{
			TaskId: text(t.ID), ContextId: text(t.ContextID), Status: statusV03(t.ID, t.ContextID, ev.Status),
			Final: e.ends("", ev.Status.State), Metadata: more, // of any operation: all streams of 0.3 end alike
		}}}
	case ev.Artifact != nil:
		return &v03.StreamResponse{Payload: &v03.StreamResponse_ArtifactUpdate{ArtifactUpdate: &v03.TaskArtifactUpdateEvent{
			TaskId: text(t.ID), ContextId: text(t.ContextID), Artifact: artifactV03(&ev.Artifact.Artifact),
			Append: ev.Artifact.Append, LastChunk: ev.Artifact.Last, Metadata: more,
		}}}
	}
	return nil
}
