package pb

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

var at = time.Date(2026, 11, 30, 13, 0, 0, int(7*time.Millisecond), time.UTC)

func jsonV1() *wire.Dialect { return wire.New(wire.Options{}).V1 }

func methodOf(t *testing.T, name string) *Method {
	t.Helper()
	s := V1(jsonV1())
	for i := range s.Methods {
		if s.Methods[i].Name == name {
			return &s.Methods[i]
		}
	}
	t.Fatalf("no method %s", name)
	return nil
}

// tree decodes JSON as clients of either encoding see it, numbers as floats.
func tree(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, raw)
	}
	return v
}

// sameAsJSON compares a message with what the JSON dialect writes, as JSON and as the
// message that a strict client of it makes of that. The message must encode.
func sameAsJSON(t *testing.T, raw []byte, m proto.Message) {
	t.Helper()
	binary, err := proto.Marshal(m)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	sent := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(binary, sent); err != nil {
		t.Fatalf("decode: %v", err)
	}
	text, err := protojson.Marshal(sent)
	if err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	if d := cmp.Diff(tree(t, raw), tree(t, text)); d != "" {
		t.Errorf("JSON of the message differs from the JSON dialect (-json +pb):\n%s", d)
	}
	read := m.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(raw, read); err != nil {
		return // bytes that are no UTF-8 or a name twice, which strict clients refuse
	}
	if d := cmp.Diff(read, sent, protocmp.Transform()); d != "" {
		t.Errorf("message differs from the JSON dialect (-json +pb):\n%s", d)
	}
}

// TestResult_IsTheJSON encodes a few thousand tasks of every shape in both encodings.
func TestResult_IsTheJSON(t *testing.T) {
	d := jsonV1()
	s := V1(d)
	result := func(name string, res any, view a2a.View) proto.Message {
		t.Helper()
		m, err := methodOf(t, name).Result(res, view)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for seed := range uint64(700) {
		r := randomizer{rand.New(rand.NewPCG(seed, 1))}
		task, view := r.task(), r.view()
		before, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		sameAsJSON(t, d.Methods["GetTask"].Append(nil, task, view), result("GetTask", task, view))
		sent := &a2a.SendResult{Task: task}
		sameAsJSON(t, d.Methods["SendMessage"].Append(nil, sent, view), result("SendMessage", sent, view))
		reply := &a2a.SendResult{Message: r.message(a2a.RoleAgent), ContextID: "c"}
		sameAsJSON(t, d.Methods["SendMessage"].Append(nil, reply, view), result("SendMessage", reply, view))
		sameAsJSON(t, d.Stream.Snapshot(nil, task, view), s.Snapshot(task, view))
		for _, ev := range []a2a.Event{
			{Seq: 1, At: at, Created: task}, {Status: &task.Status}, {Status: &a2a.Status{State: a2a.StateFailed, At: at, Code: a2a.CodeTimeout, Message: r.message(a2a.RoleAgent)}},
		} {
			sameAsJSON(t, d.Stream.Event(nil, task, &ev), s.Event(task, &ev, a2a.View{}))
			sameAsJSON(t, d.Stream.Numbered.Event(nil, task, &ev), s.Event(task, &ev, a2a.View{Sequence: true}))
		}
		after, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("encoding changed the task")
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestResult_Members checks what ProtoJSON leaves out where the JSON dialect does not,
// and lists of more than one.
func TestResult_Members(t *testing.T) {
	s := V1(jsonV1())
	task := &a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateWorking, At: at}, Artifacts: []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart("x")}}}}
	chunk := &a2a.Event{Artifact: &a2a.ArtifactChunk{Artifact: task.Artifacts[0], Append: true}}
	update := s.Event(task, chunk, a2a.View{}).(*v1.StreamResponse).GetArtifactUpdate()
	if update.GetTaskId() != "t" || update.GetContextId() != "c" || !update.GetAppend() || update.GetLastChunk() || update.GetArtifact().GetParts()[0].GetText() != "x" {
		t.Errorf("got %v, want an appended chunk", update)
	}
	if m := s.Event(task, &a2a.Event{Message: &a2a.Message{ID: "m"}}, a2a.View{}); m != nil {
		t.Errorf("got %v for a user's message, want nothing", m)
	}
	list, err := methodOf(t, "ListTasks").Result(&a2a.ListResult{Tasks: []*a2a.Task{task, task}, NextPageToken: "next", PageSize: 2, TotalSize: 7}, a2a.View{OmitArtifacts: true})
	if err != nil {
		t.Fatal(err)
	}
	bare := &v1.Task{Id: "t", ContextId: "c", Status: &v1.TaskStatus{State: v1.TaskState_TASK_STATE_WORKING, Timestamp: timestamppb.New(at)}}
	want := &v1.ListTasksResponse{Tasks: []*v1.Task{bare, bare}, NextPageToken: "next", PageSize: 2, TotalSize: 7}
	if d := cmp.Diff(want, list, protocmp.Transform()); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
	config := a2a.PushConfig{ID: "p", TaskID: "t", URL: "https://h", Token: "secret", Scheme: "Bearer", Credentials: "secret"}
	configs, err := methodOf(t, "ListTaskPushNotificationConfigs").Result([]a2a.PushConfig{config, {ID: "q", TaskID: "t", URL: "https://i"}}, a2a.View{})
	if err != nil {
		t.Fatal(err)
	}
	shown := &v1.ListTaskPushNotificationConfigsResponse{Configs: []*v1.TaskPushNotificationConfig{
		{Id: "p", TaskId: "t", Url: "https://h", Authentication: &v1.AuthenticationInfo{Scheme: "Bearer"}}, {Id: "q", TaskId: "t", Url: "https://i"},
	}}
	if d := cmp.Diff(shown, configs, protocmp.Transform()); d != "" {
		t.Errorf("push configs (-want +got):\n%s", d)
	}
	if m, err := methodOf(t, "DeleteTaskPushNotificationConfig").Result(nil, a2a.View{}); err != nil || m == nil {
		t.Errorf("got %v, %v for a delete, want an empty message", m, err)
	}
	card, err := methodOf(t, "GetExtendedAgentCard").Result([]byte(`{"name":"n","preferredTransport":"JSONRPC","skills":[{"id":"s"}]}`), a2a.View{})
	if err != nil || card.(*v1.AgentCard).GetSkills()[0].GetId() != "s" {
		t.Errorf("got %v, %v, want the card", card, err)
	}
	if _, err := methodOf(t, "GetExtendedAgentCard").Result([]byte(`[]`), a2a.View{}); err == nil {
		t.Errorf("got a card from a list")
	}
}

// TestMessage_RoundTrip sends messages of every shape there and back.
func TestMessage_RoundTrip(t *testing.T) {
	send := methodOf(t, "SendMessage")
	for seed := range uint64(700) {
		r := randomizer{rand.New(rand.NewPCG(seed, 2))}
		m := r.message(a2a.RoleUser)
		q := &v1.SendMessageRequest{Message: MessageV1(m, "c", "t", ""), Metadata: object(m.Request)}
		req, err := send.Decode(q, wire.Limits{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got := req.(*a2a.SendRequest)
		if got.TaskID != "t" || got.ContextID != "c" || !got.Blocking || got.Dialect != wire.NameV1 {
			t.Errorf("seed %d: got %+v", seed, got)
		}
		if d := cmp.Diff(normal(t, m), &got.Message); d != "" {
			t.Fatalf("seed %d: message (-sent +got):\n%s", seed, d)
		}
		// And so it stays.
		again, err := send.Decode(&v1.SendMessageRequest{Message: MessageV1(&got.Message, "c", "t", ""), Metadata: object(got.Message.Request)}, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, again); d != "" {
			t.Fatalf("seed %d: not a fixed point (-once +twice):\n%s", seed, d)
		}
	}
}

// normal is the message with its JSON and its text as this encoding keeps them: numbers
// are floats, members in order, text is UTF-8.
func normal(t *testing.T, m *a2a.Message) *a2a.Message {
	t.Helper()
	raw := func(r json.RawMessage) json.RawMessage {
		if r == nil {
			return nil
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(tree(t, r)); err != nil {
			t.Fatal(err)
		}
		// Only this form of the separators is escaped by the standard encoder.
		text := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSpace(b.String()))
		return json.RawMessage(text)
	}
	c := *m
	c.Metadata, c.Request, c.Parts = raw(m.Metadata), raw(m.Request), slices.Clone(m.Parts)
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Kind == a2a.PartData && p.Data == nil {
			p.Data = json.RawMessage("null")
		}
		p.Text, p.URL, p.Data, p.Metadata = wire.ValidText(p.Text), wire.ValidText(p.URL), raw(p.Data), raw(p.Metadata)
	}
	return &c
}

// TestDecode_IsTheJSON decodes requests in both encodings, the JSON one being that of
// the very message.
func TestDecode_IsTheJSON(t *testing.T) {
	d := jsonV1()
	n, size, late := int32(3), int32(7), timestamppb.New(at)
	yes := true
	part := []*v1.Part{{Content: &v1.Part_Text{Text: "x"}, MediaType: "text/plain"}}
	message := &v1.Message{MessageId: "m", ContextId: "c", TaskId: "t", Role: v1.Role_ROLE_USER, Parts: part, ReferenceTaskIds: []string{"r"}, Extensions: []string{"https://e"}}
	skill, err := structpb.NewStruct(map[string]any{"skillId": "echo", "n": 1.5})
	if err != nil {
		t.Fatal(err)
	}
	push := &v1.TaskPushNotificationConfig{Id: "p", TaskId: "t", Url: "https://h.example/x", Token: "tok", Authentication: &v1.AuthenticationInfo{Scheme: "Bearer", Credentials: "c r"}}
	for _, tc := range []struct {
		method string
		q      proto.Message
	}{
		{"SendMessage", &v1.SendMessageRequest{Message: message}},
		{"SendMessage", &v1.SendMessageRequest{Message: message, Metadata: skill, Tenant: "x"}},
		{"SendStreamingMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: part, Metadata: skill}}},
		{"SendMessage", &v1.SendMessageRequest{Message: message, Configuration: &v1.SendMessageConfiguration{
			AcceptedOutputModes: []string{"a/b"}, HistoryLength: &n, ReturnImmediately: true, TaskPushNotificationConfig: push,
		}}},
		{"GetTask", &v1.GetTaskRequest{Id: "t"}}, {"GetTask", &v1.GetTaskRequest{Id: "t", HistoryLength: &n}},
		{"ListTasks", &v1.ListTasksRequest{}},
		{"ListTasks", &v1.ListTasksRequest{ContextId: "c", Status: v1.TaskState_TASK_STATE_INPUT_REQUIRED, PageSize: &size, PageToken: "p", HistoryLength: &n, StatusTimestampAfter: late, IncludeArtifacts: &yes}},
		{"ListTasks", &v1.ListTasksRequest{Status: -1}},
		{"CancelTask", &v1.CancelTaskRequest{Id: "t", Metadata: skill}}, {"SubscribeToTask", &v1.SubscribeToTaskRequest{Id: "t"}},
		{"CreateTaskPushNotificationConfig", push},
		{"GetTaskPushNotificationConfig", &v1.GetTaskPushNotificationConfigRequest{TaskId: "t", Id: "p"}},
		{"ListTaskPushNotificationConfigs", &v1.ListTaskPushNotificationConfigsRequest{TaskId: "t", PageSize: 3}},
		{"DeleteTaskPushNotificationConfig", &v1.DeleteTaskPushNotificationConfigRequest{TaskId: "t", Id: "p"}},
		{"GetExtendedAgentCard", &v1.GetExtendedAgentCardRequest{}},
		// Refusals blame the same member with the same words.
		{"SendMessage", &v1.SendMessageRequest{}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{Role: v1.Role_ROLE_USER, Parts: part}}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Parts: part}}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_AGENT, Parts: part}}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER}}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: []*v1.Part{part[0], {}}}}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: slices.Repeat(part, 1001)}}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", TaskId: " ", Role: v1.Role_ROLE_USER, Parts: part}}},
		{"SendMessage", &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", ContextId: strings.Repeat("c", 1025), Role: v1.Role_ROLE_USER, Parts: part}}},
		{"SendMessage", &v1.SendMessageRequest{Message: message, Configuration: &v1.SendMessageConfiguration{HistoryLength: proto.Int32(-1)}}},
		{"SendMessage", &v1.SendMessageRequest{Message: message, Configuration: &v1.SendMessageConfiguration{TaskPushNotificationConfig: &v1.TaskPushNotificationConfig{Url: "ftp://h"}}}},
		{"SendMessage", &v1.SendMessageRequest{Message: message, Configuration: &v1.SendMessageConfiguration{TaskPushNotificationConfig: &v1.TaskPushNotificationConfig{Url: "http://h", Authentication: &v1.AuthenticationInfo{Credentials: "x"}}}}},
		{"GetTask", &v1.GetTaskRequest{}}, {"GetTask", &v1.GetTaskRequest{Id: "\x01"}}, {"GetTask", &v1.GetTaskRequest{Id: "t", HistoryLength: proto.Int32(-2)}},
		{"CancelTask", &v1.CancelTaskRequest{}}, {"SubscribeToTask", &v1.SubscribeToTaskRequest{}},
		{"ListTasks", &v1.ListTasksRequest{PageSize: proto.Int32(-1)}}, {"ListTasks", &v1.ListTasksRequest{PageSize: proto.Int32(101)}},
		{"ListTasks", &v1.ListTasksRequest{Status: 9}}, {"ListTasks", &v1.ListTasksRequest{ContextId: " "}},
		{"CreateTaskPushNotificationConfig", &v1.TaskPushNotificationConfig{Url: "http://h"}},
		{"CreateTaskPushNotificationConfig", &v1.TaskPushNotificationConfig{TaskId: "t", Url: "http://user@h"}},
		{"CreateTaskPushNotificationConfig", &v1.TaskPushNotificationConfig{TaskId: "t", Url: "http://h", Token: "a\nb"}},
		{"CreateTaskPushNotificationConfig", &v1.TaskPushNotificationConfig{TaskId: "t", Url: "http://h", Authentication: &v1.AuthenticationInfo{Scheme: "Be arer"}}},
		{"GetTaskPushNotificationConfig", &v1.GetTaskPushNotificationConfigRequest{TaskId: "t"}},
		{"DeleteTaskPushNotificationConfig", &v1.DeleteTaskPushNotificationConfigRequest{Id: "p"}},
	} {
		params, err := protojson.Marshal(tc.q)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := d.Methods[tc.method].Decode(params, wire.Limits{})
		got, gotErr := methodOf(t, tc.method).Decode(tc.q, wire.Limits{})
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

// TestMethods_AreTheDialects: a method of one encoding is one of the other, and the
// operation is the same; the descriptor of the service has no other.
func TestMethods_AreTheDialects(t *testing.T) {
	d := jsonV1()
	s := V1(d)
	if len(s.Methods) != len(d.Methods) {
		t.Errorf("got %d methods, want %d", len(s.Methods), len(d.Methods))
	}
	desc := v1.File_a2av1_proto.Services().ByName("A2AService")
	if string(desc.FullName()) != s.Name || desc.Methods().Len() != len(s.Methods) {
		t.Errorf("got %s with %d methods, want %s", s.Name, len(s.Methods), desc.FullName())
	}
	for _, m := range s.Methods {
		if d.Methods[m.Name].Op != m.Op {
			t.Errorf("%s: got %s, want %s", m.Name, m.Op, d.Methods[m.Name].Op)
		}
		rpc := desc.Methods().ByName("A2AService")
		for i := range desc.Methods().Len() {
			if string(desc.Methods().Get(i).Name()) == m.Name {
				rpc = desc.Methods().Get(i)
			}
		}
		if rpc == nil || rpc.IsStreamingServer() != m.Streams() || rpc.Input() != m.Request().ProtoReflect().Descriptor() {
			t.Errorf("%s does not fit its descriptor", m.Name)
		}
	}
}

// TestValue_Numbers is the package's documentation on numbers.
func TestValue_Numbers(t *testing.T) {
	for in, want := range map[string]any{
		`9007199254740993`: 9007199254740992.0, `12345678901234567890`: 12345678901234567168.0, `1.0`: 1.0, `1e0`: 1.0,
		`1e400`: "1e400", `-1e400`: "-1e400", `1e-400`: 0.0, `"1e400"`: "1e400",
	} {
		if got := value(json.RawMessage(in)).AsInterface(); got != want {
			t.Errorf("%s goes out as %v, want %v", in, got, want)
		}
	}
	lim := wire.Limits{}.WithDefaults()
	for in, want := range map[float64]string{
		1: "1", -3: "-3", 1.5: "1.5", 1e20: "100000000000000000000", 1e21: "1e+21", 1e-7: "1e-7", 1.5e-12: "1.5e-12", 0.00001: "0.00001", 9007199254740993: "9007199254740992", 0: "0",
	} {
		got, err := rawValue("f", structpb.NewNumberValue(in), 1, lim)
		if string(got) != want || err != nil || !json.Valid(got) {
			t.Errorf("%g comes in as %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := rawValue("message.metadata", structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(in)}}), 1, lim)
		if e := a2a.AsError(err); err == nil || e.Code != a2a.CodeInvalidParams || e.Fields[0].Field != "message.metadata" {
			t.Errorf("%v: got %v, want a refusal", in, err)
		}
	}
	if got, err := rawValue("f", &structpb.Value{}, 1, lim); string(got) != "null" || err != nil {
		t.Errorf("a value of no kind: got %s, %v, want null", got, err)
	}
}

// TestDecode_Depth: what the JSON dialect finds too deep is too deep here.
func TestDecode_Depth(t *testing.T) {
	nested := func(n int) *structpb.Value {
		v := structpb.NewBoolValue(true)
		for i := range n {
			if i%2 == 0 {
				v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
			} else {
				v = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"k": v}})
			}
		}
		return v
	}
	d := jsonV1()
	for n := 55; n < 66; n++ {
		data := &v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: []*v1.Part{{Content: &v1.Part_Data{Data: nested(n)}}}}}
		object := &structpb.Struct{Fields: map[string]*structpb.Value{"k": nested(n)}}
		part := []*v1.Part{{Content: &v1.Part_Text{Text: "x"}}}
		for name, q := range map[string]*v1.SendMessageRequest{
			"data":             data,
			"metadata":         {Metadata: object, Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: part}},
			"message.metadata": {Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: part, Metadata: object}},
			"parts.metadata":   {Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: []*v1.Part{{Content: part[0].Content, Metadata: object}}}},
		} {
			params, err := protojson.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			body := append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`), params...), '}')
			_, bad := wire.ParseEnvelope(body, wire.Limits{})
			_, _ = d.Methods["SendMessage"].Decode(params, wire.Limits{})
			_, got := methodOf(t, "SendMessage").Decode(q, wire.Limits{})
			if (got != nil) != (bad != nil) {
				t.Errorf("%s, %d levels: got %v, the JSON dialect says %v", name, n, got, bad)
			}
		}
	}
}

func FuzzSend(f *testing.F) {
	seed, err := proto.Marshal(&v1.SendMessageRequest{Message: &v1.Message{MessageId: "m", Role: v1.Role_ROLE_USER, Parts: []*v1.Part{{Content: &v1.Part_Data{Data: structpb.NewNumberValue(1)}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	d := jsonV1()
	s := V1(d)
	f.Fuzz(func(t *testing.T, data []byte) {
		q := new(v1.SendMessageRequest)
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
			if p.Kind == a2a.PartData && !json.Valid(p.Data) || p.Metadata != nil && !json.Valid(p.Metadata) {
				t.Errorf("part %+v is not JSON", p)
			}
		}
		if _, err := proto.Marshal(MessageV1(&m, "c", "t", "")); err != nil {
			t.Errorf("message does not encode: %v", err)
		}
	})
}
