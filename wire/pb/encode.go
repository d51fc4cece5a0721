package pb

import (
	"encoding/base64"
	"time"

	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// text is a string as a message can hold it, which is UTF-8.
func text[S ~string](s S) string { return wire.ValidText(string(s)) }

func texts[S ~string](list []S) (out []string) {
	for _, s := range list {
		out = append(out, text(s))
	}
	return out
}

// timestamp is a time in milliseconds (A2A 1.0 §5.6.1); nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Truncate(time.Millisecond))
}

// TaskV1 returns a task as a client of A2A 1.0 reads it.
func TaskV1(t *a2a.Task, view a2a.View) *v1.Task {
	m := &v1.Task{
		Id: text(t.ID), ContextId: text(t.ContextID),
		Status:   statusV1(t.ID, t.ContextID, &t.Status),
		Metadata: object(wire.TaskMetadata(t, view)),
	}
	if !view.OmitArtifacts {
		for i := range t.Artifacts {
			m.Artifacts = append(m.Artifacts, artifactV1(&t.Artifacts[i]))
		}
	}
	history := wire.Recent(t.History, view.HistoryLength)
	for i := range history {
		h := &history[i]
		m.History = append(m.History, MessageV1(h, t.ContextID, t.ID, wire.HistoryCode(t, h)))
	}
	return m
}

func statusV1(id a2a.TaskID, context a2a.ContextID, s *a2a.Status) *v1.TaskStatus {
	m := &v1.TaskStatus{State: v1.TaskState(stateNumber(s.State)), Timestamp: timestamp(s.At)}
	if s.Message != nil {
		m.Message = MessageV1(s.Message, context, id, s.Code)
	}
	return m
}

// MessageV1 returns a message of a task, or one that stands for itself (task "").
// code is that of the task's status, if the message is about it.
func MessageV1(m *a2a.Message, context a2a.ContextID, task a2a.TaskID, code a2a.Code) *v1.Message {
	role := v1.Role_ROLE_AGENT
	if m.Role == a2a.RoleUser {
		role = v1.Role_ROLE_USER
	}
	return &v1.Message{
		MessageId: text(m.ID), ContextId: text(context), TaskId: text(task), Role: role,
		Parts: partsV1(m.Parts), Metadata: object(wire.MessageMetadata(m, code)),
		Extensions: texts(m.Extensions), ReferenceTaskIds: texts(m.ReferenceTaskIDs),
	}
}

func artifactV1(a *a2a.Artifact) *v1.Artifact {
	return &v1.Artifact{
		ArtifactId: text(a.ID), Name: text(a.Name), Description: text(a.Description),
		Parts: partsV1(a.Parts), Metadata: object(a.Metadata), Extensions: texts(a.Extensions),
	}
}

func partsV1(parts []a2a.Part) []*v1.Part {
	list := make([]*v1.Part, len(parts))
	for i := range parts {
		p := &parts[i]
		m := &v1.Part{MediaType: text(p.MediaType), Filename: text(p.Filename), Metadata: object(p.Metadata)}
		switch p.Kind {
		case a2a.PartRaw:
			m.Content = &v1.Part_Raw{Raw: rawBytes(p.Raw)}
		case a2a.PartURL:
			m.Content = &v1.Part_Url{Url: text(p.URL)}
		case a2a.PartData:
			m.Content = &v1.Part_Data{Data: value(p.Data)}
		default:
			m.Content = &v1.Part_Text{Text: text(p.Text)}
		}
		list[i] = m
	}
	return list
}

// rawBytes returns the content of a raw part, as far as it is base64.
func rawBytes(s string) []byte {
	b, _ := base64.StdEncoding.DecodeString(s) // checked where it came in
	return b
}

// PushV1 returns a push config without its secrets.
func PushV1(c *a2a.PushConfig) *v1.TaskPushNotificationConfig {
	m := &v1.TaskPushNotificationConfig{Id: text(c.ID), TaskId: text(c.TaskID), Url: text(c.URL)}
	if c.Scheme != "" {
		m.Authentication = &v1.AuthenticationInfo{Scheme: text(c.Scheme)}
	}
	return m
}
