package client

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
)

// The params of the operations as the dialects spell them. A member without a value is
// left out: some peers refuse null and "".

// object is a JSON object under construction.
type object = map[string]any

// put sets a member unless its value is the zero of its type.
func put[T comparable](o object, name string, v T) {
	var zero T
	if v != zero {
		o[name] = v
	}
}

func putList[T any](o object, name string, list []T) {
	if len(list) > 0 {
		o[name] = list
	}
}

// withSkill returns metadata that names the skill, beside what is there.
func withSkill(metadata json.RawMessage, skill a2a.SkillID) json.RawMessage {
	if skill == "" {
		return metadata
	}
	return withMember(metadata, "skillId", skill)
}

// withMember adds a member to metadata, unless it is there.
func withMember(metadata json.RawMessage, name string, v any) json.RawMessage {
	o := map[string]json.RawMessage{}
	if len(metadata) > 0 && json.Unmarshal(metadata, &o) != nil {
		return metadata // no object, which the agent will say
	}
	if o == nil { // null
		o = map[string]json.RawMessage{}
	}
	if _, there := o[name]; !there {
		o[name], _ = json.Marshal(v) // a string or a boolean
	}
	b, _ := json.Marshal(o) // it was JSON before
	return b
}

// messageOf writes a message with its parts under the given name.
func messageOf(m *Message, role, partsName string, part func(a2a.Part) any) object {
	o := object{"messageId": m.ID, "role": role}
	parts := make([]any, len(m.Parts))
	for i, p := range m.Parts {
		parts[i] = part(p)
	}
	o[partsName] = parts
	put(o, "taskId", m.TaskID)
	put(o, "contextId", m.ContextID)
	putList(o, "referenceTaskIds", m.References)
	putList(o, "extensions", m.Extensions)
	if md := withSkill(m.Metadata, m.Skill); len(md) > 0 {
		o["metadata"] = md
	}
	return o
}

// sendParams puts a message and a configuration together. The skill is named in the
// metadata of both: servers look here or there.
func sendParams(s *sending, message, configuration object) object {
	o := object{"message": message}
	if len(configuration) > 0 {
		o["configuration"] = configuration
	}
	if s.Skill != "" {
		o["metadata"] = object{"skillId": s.Skill}
	}
	return o
}

func configuration(s *sending) object {
	o := object{}
	putList(o, "acceptedOutputModes", s.AcceptedOutputModes)
	if s.HistoryLength != nil {
		o["historyLength"] = *s.HistoryLength
	}
	return o
}

// paramsV1 are the params of 1.0, which are the requests of its HTTP+JSON as well.
func paramsV1(op a2a.Op, arg any) object {
	o := object{}
	switch a := arg.(type) {
	case *sending:
		c := configuration(a)
		if !a.Blocking && op == a2a.OpSend {
			c["returnImmediately"] = true
		}
		if a.Push != nil {
			c["taskPushNotificationConfig"] = pushV1(a.Push)
		}
		return sendParams(a, messageOf(&a.Message, "ROLE_USER", "parts", partV1), c)
	case *getting:
		o["id"] = a.id
		if a.historyLength != nil {
			o["historyLength"] = *a.historyLength
		}
	case *a2a.ListRequest:
		put(o, "contextId", a.ContextID)
		put(o, "pageSize", a.PageSize)
		put(o, "pageToken", a.PageToken)
		put(o, "includeArtifacts", !a.View.OmitArtifacts)
		if a.State != "" {
			o["status"] = stateNameV1(a.State)
		}
		if !a.StatusAfter.IsZero() {
			o["statusTimestampAfter"] = a.StatusAfter.UTC().Format(time.RFC3339Nano)
		}
		if a.View.HistoryLength != nil {
			o["historyLength"] = *a.View.HistoryLength
		}
	case *a2a.PushConfig:
		return pushV1(a)
	case *a2a.PushRequest:
		put(o, "taskId", a.TaskID)
		put(o, "id", a.ID)
	}
	return o
}

func pushV1(p *a2a.PushConfig) object {
	o := object{"url": p.URL}
	put(o, "taskId", p.TaskID)
	put(o, "id", p.ID)
	put(o, "token", p.Token)
	if p.Scheme != "" {
		o["authentication"] = object{"scheme": p.Scheme, "credentials": p.Credentials}
	}
	return o
}

// paramsV03 are the params of 0.3.
func paramsV03(op a2a.Op, arg any) object {
	o := object{}
	switch a := arg.(type) {
	case *sending:
		c := configuration(a)
		if op == a2a.OpSend {
			c["blocking"] = a.Blocking
		}
		if len(a.AcceptedOutputModes) == 0 {
			c["acceptedOutputModes"] = []string{} // any; up to 0.2.5, which FastA2A is, it must be there
		}
		if a.Push != nil {
			c["pushNotificationConfig"] = pushV03(a.Push)
		}
		m := messageOf(&a.Message, "user", "parts", partV03)
		m["kind"] = "message"
		return sendParams(a, m, c)
	case *getting:
		o["id"] = a.id
		if a.historyLength != nil {
			o["historyLength"] = *a.historyLength
		}
	case *a2a.PushConfig:
		o["taskId"], o["pushNotificationConfig"] = a.TaskID, pushV03(a)
	case *a2a.PushRequest:
		o["id"] = a.TaskID
		put(o, "pushNotificationConfigId", a.ID)
	case nil:
		return nil // clients of 0.3 send no params for the card
	}
	return o
}

func pushV03(p *a2a.PushConfig) object {
	o := object{"url": p.URL}
	put(o, "id", p.ID)
	put(o, "token", p.Token)
	if p.Scheme != "" {
		o["authentication"] = object{"schemes": []string{p.Scheme}, "credentials": p.Credentials}
	}
	return o
}

// paramsRest03 are the requests of HTTP+JSON in 0.3: ProtoJSON of the older package.
func paramsRest03(op a2a.Op, arg any) object {
	switch a := arg.(type) {
	case *sending:
		c := configuration(a)
		if op == a2a.OpSend {
			c["blocking"] = a.Blocking
		}
		if a.Push != nil {
			c["pushNotification"] = pushV03(a.Push)
		}
		m := messageOf(&a.Message, "ROLE_USER", "content", partRest03)
		delete(m, "referenceTaskIds") // unknown to the older package
		return sendParams(a, m, c)
	case *a2a.PushConfig:
		return object{"taskId": a.TaskID, "id": a.ID, "config": pushV03(a)}
	}
	return paramsV1(op, arg)
}

// paramsEMM are those of EMM, with the id and the blocking of this project's servers.
func paramsEMM(op a2a.Op, arg any) object {
	switch a := arg.(type) {
	case *sending:
		m := object{"role": "user", "messageId": a.ID}
		parts := make([]any, len(a.Parts))
		for i, p := range a.Parts {
			o := partV03(p).(object)
			o["type"] = o["kind"]
			parts[i] = o
		}
		m["parts"] = parts
		id := a.TaskID
		if id == "" {
			id = a.NewTaskID
		}
		if id == "" {
			id = a2a.TaskID(uuid.NewString())
		}
		o := object{"taskId": id, "message": m, "blocking": a.Blocking}
		put(o, "skillId", a.Skill)
		return o
	case *getting:
		if op == a2a.OpGet {
			return object{"taskId": a.id}
		}
		return object{"id": a.id}
	}
	return object{}
}

func partV1(p a2a.Part) any {
	o := object{}
	switch p.Kind {
	case a2a.PartRaw:
		o["raw"] = p.Raw
	case a2a.PartURL:
		o["url"] = p.URL
	case a2a.PartData:
		o["data"] = p.Data
	default:
		o["text"] = p.Text
	}
	put(o, "mediaType", p.MediaType)
	put(o, "filename", p.Filename)
	return withMetadata(o, p.Metadata)
}

func withMetadata(o object, metadata json.RawMessage) object {
	if len(metadata) > 0 {
		o["metadata"] = metadata
	}
	return o
}

// partV03 writes a part of 0.3. Data has to be an object there: other values are wrapped
// as the SDKs do it.
func partV03(p a2a.Part) any {
	o := object{}
	metadata := p.Metadata
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		o["kind"], o["file"] = "file", fileOf(p, "bytes", "uri")
	case a2a.PartData:
		o["kind"], o["data"] = "data", p.Data
		if !isObject(p.Data) {
			o["data"] = object{"value": p.Data}
			metadata = withMember(p.Metadata, dataPartCompat, true)
		}
	default:
		o["kind"], o["text"] = "text", p.Text
	}
	return withMetadata(o, metadata)
}

func fileOf(p a2a.Part, bytesName, uriName string) object {
	f := object{}
	if p.Kind == a2a.PartRaw {
		f[bytesName] = p.Raw
	} else {
		f[uriName] = p.URL
	}
	put(f, "mimeType", p.MediaType)
	put(f, "name", p.Filename)
	return f
}

func partRest03(p a2a.Part) any {
	o := partV03(p).(object)
	delete(o, "kind")
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		o["file"] = fileOf(p, "fileWithBytes", "fileWithUri")
	case a2a.PartData:
		o["data"] = object{"data": o["data"]}
	}
	return o
}

// stateNames are the states as both generations spell them, and other words for them
// that agents use.
var stateNames = []struct {
	state a2a.State
	names []string
}{
	{a2a.StateSubmitted, []string{"TASK_STATE_SUBMITTED", "submitted", "pending", "queued"}},
	{a2a.StateWorking, []string{"TASK_STATE_WORKING", "working", "running"}},
	{a2a.StateInputRequired, []string{"TASK_STATE_INPUT_REQUIRED", "input-required", "input_required"}},
	{a2a.StateAuthRequired, []string{"TASK_STATE_AUTH_REQUIRED", "auth-required", "auth_required"}},
	{a2a.StateCompleted, []string{"TASK_STATE_COMPLETED", "completed"}},
	{a2a.StateFailed, []string{"TASK_STATE_FAILED", "failed"}},
	{a2a.StateCanceled, []string{"TASK_STATE_CANCELED", "canceled", "cancelled", "TASK_STATE_CANCELLED"}},
	{a2a.StateRejected, []string{"TASK_STATE_REJECTED", "rejected"}},
}

// stateOf reads a state in any spelling. What is none is a2a.StateUnknown.
func stateOf(name string) a2a.State {
	for _, row := range stateNames {
		if slices.Contains(row.names, name) {
			return row.state
		}
	}
	return a2a.StateUnknown
}

func stateNameV1(s a2a.State) string {
	for _, row := range stateNames {
		if row.state == s {
			return row.names[0]
		}
	}
	return "TASK_STATE_UNSPECIFIED"
}
