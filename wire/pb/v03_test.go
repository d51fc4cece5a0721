package pb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

func restV03() *wire.Dialect { return wire.New(wire.Options{}).RestV03 }

func methodV03(t *testing.T, name string) *Method {
	t.Helper()
	s := V03(restV03())
	i := slices.IndexFunc(s.Methods, func(m Method) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no method %s", name)
	}
	return &s.Methods[i]
}

// TestServices_Descriptor: both packages are in one program, and each service has all
// rpcs of its descriptor, each of the right kind.
func TestServices_Descriptor(t *testing.T) {
	for _, s := range Services(wire.New(wire.Options{})) {
		file, err := protoregistry.GlobalFiles.FindFileByPath(s.File)
		if err != nil {
			t.Fatal(err)
		}
		desc := file.Services().ByName("A2AService")
		if string(desc.FullName()) != s.Name || desc.Methods().Len() != len(s.Methods) {
			t.Errorf("got %s with %d methods, want %s with %d", s.Name, len(s.Methods), desc.FullName(), desc.Methods().Len())
		}
		for i := range desc.Methods().Len() {
			rpc := desc.Methods().Get(i)
			at := slices.IndexFunc(s.Methods, func(m Method) bool { return m.Name == string(rpc.Name()) })
			if at < 0 {
				t.Errorf("%s is not served", rpc.FullName())
				continue
			}
			if m := s.Methods[at]; m.Streams() != rpc.IsStreamingServer() || m.Request().ProtoReflect().Descriptor() != rpc.Input() {
				t.Errorf("%s does not fit its descriptor", rpc.FullName())
			}
		}
	}
}

// asParts is JSON as the messages have it: the content of a message is called parts, and
// that of a file is the text of its base64.
func asParts(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if content, ok := v["content"]; ok && v["messageId"] != nil {
			delete(v, "content")
			v["parts"] = content
		}
		for name, e := range v {
			if text, ok := e.(string); ok && name == "fileWithBytes" {
				e = base64.StdEncoding.EncodeToString([]byte(text))
			}
			v[name] = asParts(e)
		}
	case []any:
		for i, e := range v {
			v[i] = asParts(e)
		}
	}
	return v
}

// sameAsOldJSON compares a message with the one that its JSON makes. It reports whether
// it could: what is no UTF-8 is no message.
func sameAsOldJSON(t *testing.T, raw []byte, m proto.Message) bool {
	t.Helper()
	binary, err := proto.Marshal(m)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	sent, read := m.ProtoReflect().New().Interface(), m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(binary, sent); err != nil {
		t.Fatalf("decode: %v", err)
	}
	text, err := json.Marshal(asParts(tree(t, raw)))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("1e400")) || protojson.Unmarshal(text, read) != nil {
		return false
	}
	// The JSON leaves out what strict clients of it do not know.
	if d := cmp.Diff(read, sent, protocmp.Transform(), protocmp.IgnoreFields(&v03.Message{}, "reference_task_ids")); d != "" {
		t.Errorf("message differs from the JSON dialect (-json +pb):\n%s", d)
	}
	return true
}

// TestV03_Result_IsTheJSON encodes tasks of every shape in both encodings.
func TestV03_Result_IsTheJSON(t *testing.T) {
	d := restV03()
	s := V03(d)
	compared := 0
	same := func(raw []byte, m proto.Message) {
		t.Helper()
		if sameAsOldJSON(t, raw, m) {
			compared++
		}
	}
	result := func(name string, res any, view a2a.View) proto.Message {
		t.Helper()
		m, err := methodV03(t, name).Result(res, view)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for seed := range uint64(150) {
		r := randomizer{rand.New(rand.NewPCG(seed, 1))}
		task, view := r.task(), r.view()
		same(d.Methods["Get"].Append(nil, task, view), result("GetTask", task, view))
		sent := &a2a.SendResult{Task: task}
		same(d.Methods["Send"].Append(nil, sent, view), result("SendMessage", sent, view))
		reply := &a2a.SendResult{Message: r.message(a2a.RoleAgent), ContextID: "c"}
		same(d.Methods["Send"].Append(nil, reply, view), result("SendMessage", reply, view))
		same(d.Stream.Snapshot(nil, task, view), s.Snapshot(task, view))
		chunk := &a2a.ArtifactChunk{Artifact: r.artifact("a"), Append: r.IntN(2) == 0, Last: r.IntN(2) == 0}
		for _, ev := range []a2a.Event{{Seq: 1, At: at, Created: task}, {Seq: 2, Status: &task.Status}, {Seq: 3, Artifact: chunk}} {
			same(d.Stream.Event(nil, task, &ev), s.Event(task, &ev, a2a.View{}))
			same(d.Stream.Numbered.Event(nil, task, &ev), s.Event(task, &ev, a2a.View{Sequence: true}))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if compared < 800 {
		t.Errorf("compared only %d messages", compared)
	}
	if m := s.Event(&a2a.Task{}, &a2a.Event{Message: &a2a.Message{ID: "m"}}, a2a.View{}); m != nil {
		t.Errorf("got %v for a user's message, want nothing", m)
	}
	config := a2a.PushConfig{ID: "p", TaskID: "t", URL: "https://h", Token: "secret", Scheme: "Bearer", Credentials: "secret"}
	same(d.Methods["GetPush"].Append(nil, &config, a2a.View{}), result("GetTaskPushNotificationConfig", &config, a2a.View{}))
	same(d.Methods["ListPush"].Append(nil, []a2a.PushConfig{config}, a2a.View{}), result("ListTaskPushNotificationConfig", []a2a.PushConfig{config}, a2a.View{}))
	list := &a2a.ListResult{Tasks: []*a2a.Task{{ID: "t", Status: a2a.Status{State: a2a.StateAuthRequired}}}, NextPageToken: "n", TotalSize: 7}
	want := &v03.ListTasksResponse{Tasks: []*v03.Task{{Id: "t", Status: &v03.TaskStatus{State: v03.TaskState_TASK_STATE_AUTH_REQUIRED}}}, NextPageToken: "n", TotalSize: 7}
	if d := cmp.Diff(want, result("ListTasks", list, a2a.View{}), protocmp.Transform()); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
}

// TestV03_Card: the security of the agent is there, spelled as messages spell it.
func TestV03_Card(t *testing.T) {
	card := methodV03(t, "GetAgentCard")
	m, err := card.Result([]byte(`{"name":"n","protocolVersion":"0.3.0","url":"u","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"h:1","transport":"GRPC"}],
		"capabilities":{"streaming":true},"skills":[{"id":"s"}],"unknown":1,"supportsAuthenticatedExtendedCard":true,
		"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"X-Key"},"b":{"type":"http","scheme":"bearer"}},"security":[{"k":[]},{"b":["x"]}]}`), a2a.View{})
	if err != nil {
		t.Fatal(err)
	}
	want := &v03.AgentCard{
		Name: "n", ProtocolVersion: "0.3.0", Url: "u", PreferredTransport: "JSONRPC", AdditionalInterfaces: []*v03.AgentInterface{{Url: "h:1", Transport: "GRPC"}},
		Capabilities: &v03.AgentCapabilities{Streaming: true}, Skills: []*v03.AgentSkill{{Id: "s"}}, SupportsAuthenticatedExtendedCard: true,
		SecuritySchemes: map[string]*v03.SecurityScheme{
			"k": {Scheme: &v03.SecurityScheme_ApiKeySecurityScheme{ApiKeySecurityScheme: &v03.APIKeySecurityScheme{Location: "header", Name: "X-Key"}}},
			"b": {Scheme: &v03.SecurityScheme_HttpAuthSecurityScheme{HttpAuthSecurityScheme: &v03.HTTPAuthSecurityScheme{Scheme: "bearer"}}},
		},
		Security: []*v03.Security{{Schemes: map[string]*v03.StringList{"k": {}}}, {Schemes: map[string]*v03.StringList{"b": {List: []string{"x"}}}}},
	}
	if d := cmp.Diff(want, m, protocmp.Transform()); d != "" {
		t.Errorf("card (-want +got):\n%s", d)
	}
	for _, bad := range []string{`[]`, `{"securitySchemes":{"m":{"type":"magic"}}}`} {
		if _, err := card.Result([]byte(bad), a2a.View{}); err == nil {
			t.Errorf("got a card from %s", bad)
		}
	}
}

// TestV03_Decode_IsTheJSON decodes requests in both encodings. Where resources have
// names, the JSON has the ids of its path.
func TestV03_Decode_IsTheJSON(t *testing.T) {
	d := restV03()
	part := func(p *v03.Part) []*v03.Part { return []*v03.Part{p} }
	text := &v03.Part{Part: &v03.Part_Text{Text: "x"}}
	skill, err := structpb.NewStruct(map[string]any{"skillId": "echo", "data_part_compat": true, "value": []any{1.5}})
	if err != nil {
		t.Fatal(err)
	}
	value, err := structpb.NewStruct(map[string]any{"value": []any{1.5}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(f *v03.FilePart) *v03.Part { return &v03.Part{Part: &v03.Part_File{File: f}, Metadata: skill} }
	message := func(parts ...*v03.Part) *v03.Message {
		return &v03.Message{MessageId: "m", ContextId: "c", TaskId: "t", Role: v03.Role_ROLE_USER, Parts: parts, Metadata: skill, Extensions: []string{"https://e"}, ReferenceTaskIds: []string{"r"}}
	}
	push := &v03.PushNotificationConfig{Url: "https://h.example/x", Token: "tok", Authentication: &v03.AuthenticationInfo{Schemes: []string{"Bearer", "Basic"}, Credentials: "c r"}}
	const pushJSON = `"url":"https://h.example/x","token":"tok","authentication":{"schemes":["Bearer","Basic"],"credentials":"c r"}`
	named := func(name string, id string) *v03.TaskPushNotificationConfig {
		c := proto.CloneOf(push)
		c.Id = id
		return &v03.TaskPushNotificationConfig{Name: name, PushNotificationConfig: c}
	}
	for _, tc := range []struct {
		method, op string
		q          proto.Message
		json       string // "" is that of the message
	}{
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: message(text)}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: message(text), Configuration: &v03.SendMessageConfiguration{}}, ""},
		{"SendStreamingMessage", "Stream", &v03.SendMessageRequest{Request: message(text), Metadata: skill, Configuration: &v03.SendMessageConfiguration{
			Blocking: true, HistoryLength: 3, AcceptedOutputModes: []string{"a/b"}, PushNotification: push,
		}}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: message(
			&v03.Part{Part: &v03.Part_Data{Data: &v03.DataPart{Data: skill}}},
			&v03.Part{Part: &v03.Part_Data{Data: &v03.DataPart{Data: value}}, Metadata: skill},
			&v03.Part{Part: &v03.Part_Data{Data: &v03.DataPart{Data: &structpb.Struct{}}}},
			file(&v03.FilePart{File: &v03.FilePart_FileWithBytes{FileWithBytes: []byte{0, 255, 251}}, MimeType: "a/b", Name: "n"}),
			file(&v03.FilePart{File: &v03.FilePart_FileWithUri{FileWithUri: "https://u"}}),
		)}, ""},
		{"GetTask", "Get", &v03.GetTaskRequest{Name: "tasks/t", HistoryLength: 3}, `{"id":"t","historyLength":3}`},
		{"GetTask", "Get", &v03.GetTaskRequest{Name: "t"}, `{"id":"t"}`},
		{"GetTask", "Get", &v03.GetTaskRequest{Name: "tasks/a/b"}, `{"id":"a/b"}`},
		{"CancelTask", "Cancel", &v03.CancelTaskRequest{Name: "tasks/t"}, `{"id":"t"}`},
		{"TaskSubscription", "Subscribe", &v03.TaskSubscriptionRequest{Name: "tasks/t"}, `{"id":"t"}`},
		{"ListTasks", "List", &v03.ListTasksRequest{}, ""},
		{"ListTasks", "List", &v03.ListTasksRequest{ContextId: "c", Status: v03.TaskState_TASK_STATE_CANCELLED, PageSize: 7, PageToken: "p", HistoryLength: 2, IncludeArtifacts: true}, ""},
		{"ListTasks", "List", &v03.ListTasksRequest{LastUpdatedTime: timestamppb.New(at)}, `{"statusTimestampAfter":"2026-11-30T13:00:00.007Z"}`},
		{"CreateTaskPushNotificationConfig", "SetPush", &v03.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t", Config: named("", "p")}, `{"taskId":"t","id":"p",` + pushJSON + `}`},
		{"CreateTaskPushNotificationConfig", "SetPush", &v03.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t", ConfigId: "q", Config: named("tasks/t/pushNotificationConfigs/", "")}, `{"taskId":"t","configId":"q",` + pushJSON + `}`},
		{"CreateTaskPushNotificationConfig", "SetPush", &v03.CreateTaskPushNotificationConfigRequest{Config: named("tasks/t/pushNotificationConfigs/q", "")}, `{"taskId":"t","name":"tasks/t/pushNotificationConfigs/q",` + pushJSON + `}`},
		{"CreateTaskPushNotificationConfig", "SetPush", &v03.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t", Config: named("", "")}, `{"taskId":"t",` + pushJSON + `}`},
		{"GetTaskPushNotificationConfig", "GetPush", &v03.GetTaskPushNotificationConfigRequest{Name: "tasks/t/pushNotificationConfigs/p"}, `{"taskId":"t","id":"p"}`},
		{"DeleteTaskPushNotificationConfig", "DeletePush", &v03.DeleteTaskPushNotificationConfigRequest{Name: "tasks/t/pushNotificationConfigs/p"}, `{"taskId":"t","id":"p"}`},
		{"ListTaskPushNotificationConfig", "ListPush", &v03.ListTaskPushNotificationConfigRequest{Parent: "tasks/t", PageSize: 3}, `{"taskId":"t"}`},
		{"GetAgentCard", "ExtendedCard", &v03.GetAgentCardRequest{}, ""},
		// Refusals blame the same member with the same words.
		{"SendMessage", "Send", &v03.SendMessageRequest{}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: &v03.Message{Role: v03.Role_ROLE_USER, Parts: part(text)}}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: &v03.Message{MessageId: "m", Parts: part(text)}}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: &v03.Message{MessageId: "m", Role: v03.Role_ROLE_AGENT, Parts: part(text)}}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: &v03.Message{MessageId: "m", Role: v03.Role_ROLE_USER}}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: message(text), Configuration: &v03.SendMessageConfiguration{HistoryLength: -1}}, ""},
		{"SendMessage", "Send", &v03.SendMessageRequest{Request: message(text), Configuration: &v03.SendMessageConfiguration{PushNotification: &v03.PushNotificationConfig{Url: "ftp://h"}}}, ""},
		{"GetTask", "Get", &v03.GetTaskRequest{Name: "tasks/t", HistoryLength: -2}, `{"id":"t","historyLength":-2}`},
		{"ListTasks", "List", &v03.ListTasksRequest{PageSize: 101}, ""}, {"ListTasks", "List", &v03.ListTasksRequest{Status: 9}, ""},
	} {
		params := []byte(tc.json)
		if tc.json == "" {
			if params, err = protojson.Marshal(tc.q); err != nil {
				t.Fatal(err)
			}
		}
		want, wantErr := d.Methods[tc.op].Decode(params, wire.Limits{})
		got, gotErr := methodV03(t, tc.method).Decode(tc.q, wire.Limits{})
		if wantErr == nil && gotErr == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s (-json +pb):\n%s", tc.method, params, diff)
			}
			continue
		}
		if diff := cmp.Diff(a2a.AsError(wantErr), a2a.AsError(gotErr)); diff != "" {
			t.Errorf("%s %.200s: refusal (-json +pb):\n%s", tc.method, params, diff)
		}
	}
}

// TestV03_Decode_FileBytes: the content of a file comes as it is or as its base64.
func TestV03_Decode_FileBytes(t *testing.T) {
	for sent, want := range map[string]string{
		"\x00\xff\xfb": "AP/7", "AP/7": "AP/7", "": "", "words": "d29yZHM=", "d29yZHM=": "d29yZHM=",
		"d29yZHM": "ZDI5eVpITQ==", "AP/7\n": "QVAvNwo=", "d29yZHN=": "ZDI5eVpITj0=", // not quite base64
	} {
		p, err := partV03("f", &v03.Part{Part: &v03.Part_File{File: &v03.FilePart{File: &v03.FilePart_FileWithBytes{FileWithBytes: []byte(sent)}}}}, wire.Limits{}.WithDefaults())
		if err != nil || p.Kind != a2a.PartRaw || p.Raw != want {
			t.Errorf("%q: got %q, %v, want %q", sent, p.Raw, err, want)
		}
		if got := partsV03([]a2a.Part{p})[0].GetFile().GetFileWithBytes(); string(got) != want {
			t.Errorf("%q goes out as %q, want %q", sent, got, want)
		}
	}
}

// TestV03_Decode_Refused: what only names can get wrong.
func TestV03_Decode_Refused(t *testing.T) {
	config := &v03.TaskPushNotificationConfig{PushNotificationConfig: &v03.PushNotificationConfig{Url: "http://h"}}
	other := &v03.TaskPushNotificationConfig{Name: "tasks/u/pushNotificationConfigs/p", PushNotificationConfig: config.PushNotificationConfig}
	long := strings.Repeat("x", 1025)
	for _, tc := range []struct {
		method string
		q      proto.Message
		field  string
	}{
		{"GetTask", &v03.GetTaskRequest{Name: "tasks/"}, "name"},
		{"CancelTask", &v03.CancelTaskRequest{}, "name"},
		{"TaskSubscription", &v03.TaskSubscriptionRequest{Name: "tasks/\x01"}, "name"},
		{"ListTaskPushNotificationConfig", &v03.ListTaskPushNotificationConfigRequest{}, "parent"},
		{"GetTaskPushNotificationConfig", &v03.GetTaskPushNotificationConfigRequest{Name: "t"}, "name"},
		{"GetTaskPushNotificationConfig", &v03.GetTaskPushNotificationConfigRequest{Name: "tasks/t/pushNotificationConfigs/" + long}, "name"},
		{"DeleteTaskPushNotificationConfig", &v03.DeleteTaskPushNotificationConfigRequest{Name: "tasks/t"}, "name"},
		{"CreateTaskPushNotificationConfig", &v03.CreateTaskPushNotificationConfigRequest{Config: config}, "parent"},
		{"CreateTaskPushNotificationConfig", &v03.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t"}, "config.pushNotificationConfig"},
		{"CreateTaskPushNotificationConfig", &v03.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t", Config: other}, "config.name"},
		{"CreateTaskPushNotificationConfig", &v03.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t", ConfigId: long, Config: config}, "configId"},
		{"SendMessage", &v03.SendMessageRequest{Request: &v03.Message{MessageId: "m", Role: v03.Role_ROLE_USER, Parts: []*v03.Part{{Part: &v03.Part_File{File: &v03.FilePart{}}}}}}, "message.parts[0]"},
		{"SendMessage", &v03.SendMessageRequest{Request: &v03.Message{MessageId: "m", Role: v03.Role_ROLE_USER, Parts: []*v03.Part{{}}}}, "message.parts[0]"},
	} {
		_, err := methodV03(t, tc.method).Decode(tc.q, wire.Limits{})
		if e := a2a.AsError(err); err == nil || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != tc.field {
			t.Errorf("%s %.100v: got %v, want %s to be blamed", tc.method, tc.q, err, tc.field)
		}
	}
	if req, err := methodV03(t, "GetTaskPushNotificationConfig").Decode(&v03.GetTaskPushNotificationConfigRequest{Name: "tasks/t"}, wire.Limits{}); err != nil || req.(*a2a.PushRequest).ID != "" {
		t.Errorf("got %v, %v, want the task's one config", req, err)
	}
}

func FuzzSendV03(f *testing.F) {
	seed, err := proto.Marshal(&v03.SendMessageRequest{Request: &v03.Message{MessageId: "m", Role: v03.Role_ROLE_USER, Parts: []*v03.Part{
		{Part: &v03.Part_Data{Data: &v03.DataPart{Data: &structpb.Struct{Fields: map[string]*structpb.Value{"value": structpb.NewNumberValue(1)}}}}},
		{Part: &v03.Part_File{File: &v03.FilePart{File: &v03.FilePart_FileWithBytes{FileWithBytes: []byte("AP/7")}}}},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	s := V03(restV03())
	f.Fuzz(func(t *testing.T, data []byte) {
		q := new(v03.SendMessageRequest)
		if proto.Unmarshal(data, q) != nil {
			return
		}
		req, err := s.Methods[0].Decode(q, wire.Limits{})
		if err != nil {
			if a2a.AsError(err).Code != a2a.CodeInvalidParams {
				t.Errorf("got %v, want invalid_params", err)
			}
			return
		}
		m := req.(*a2a.SendRequest).Message
		for _, p := range m.Parts {
			_, bad := base64.StdEncoding.DecodeString(p.Raw)
			if p.Kind == a2a.PartData && !json.Valid(p.Data) || p.Metadata != nil && !json.Valid(p.Metadata) || bad != nil {
				t.Errorf("part %+v is not JSON, or its content not base64", p)
			}
		}
		// What was read once stays as it is.
		sent := MessageV03(&m, "c", "t", "")
		again, err := s.Methods[0].Decode(&v03.SendMessageRequest{Request: sent}, wire.Limits{})
		if err != nil {
			t.Fatalf("message does not come back: %v", err)
		}
		if d := cmp.Diff(m.Parts, again.(*a2a.SendRequest).Message.Parts); d != "" {
			t.Errorf("not a fixed point (-once +twice):\n%s", d)
		}
	})
}
