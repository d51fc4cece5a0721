package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

func withGRPC(c *configs.Config) { c.GRPC.Addr = "127.0.0.1:0" }

// grpcProbe starts a server with gRPC beside the rest and the probe skill.
func grpcProbe(t testing.TB, edits ...func(*configs.Config)) *client {
	t.Helper()
	return probe(t, append([]func(*configs.Config){withGRPC}, edits...)...)
}

// dial opens a connection of its own to the server's gRPC port.
func dial(t testing.TB, s *servertest.Server, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	if len(opts) == 0 {
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	conn, err := grpc.NewClient("passthrough:///"+s.App.GRPCAddr(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // nothing is left to be said
	return conn
}

func stub(t testing.TB, s *servertest.Server) a2apb.A2AServiceClient {
	t.Helper()
	return a2apb.NewA2AServiceClient(dial(t, s))
}

// with returns a context with the metadata "name: value", for at most 20 seconds.
func with(t testing.TB, headers ...string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), value)
	}
	return ctx
}

// asks is the request of a send with one text.
func asks(text string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: uuid.NewString(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}},
	}}
}

// later is a send that does not wait.
func later(text string) *a2apb.SendMessageRequest {
	q := asks(text)
	q.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	return q
}

// must fails the test on an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// begin sends a text without waiting and returns the task's id.
func begin(t testing.TB, c a2apb.A2AServiceClient, text string) string {
	t.Helper()
	return must[*a2apb.SendMessageResponse](t)(c.SendMessage(with(t, alice), later(text))).GetTask().GetId()
}

// wantGRPC checks an error's code and its ErrorInfo, and returns it.
func wantGRPC(t testing.TB, err error, code codes.Code, reason string) *status.Status {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code {
		t.Errorf("got %v, want %s", err, code)
	}
	if info := detail[*errdetails.ErrorInfo](st); info.GetReason() != reason || info.GetDomain() != "a2a-protocol.org" {
		t.Errorf("got ErrorInfo %v with %v, want %s", info, err, reason)
	}
	if internals.MatchString(st.Message()) {
		t.Errorf("message tells about the inside: %s", st.Message())
	}
	return st
}

// detail returns the status detail of a type, or its zero value.
func detail[T proto.Message](st *status.Status) (found T) {
	for _, d := range st.Details() {
		if m, ok := d.(T); ok {
			return m
		}
	}
	return found
}

// sameTask compares a task of gRPC with the same one read by JSON-RPC.
func sameTask(t testing.TB, c *client, got *a2apb.Task) {
	t.Helper()
	a := c.get(got.GetId())
	want, err := json.Marshal(a.Get("result"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	fixTimes(w)
	fixTimes(g)
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("task differs (-json-rpc +grpc):\n%s", d)
	}
}

// fixTimes spells timestamps in one way; ProtoJSON leaves .000 out.
func fixTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		if s, ok := v["timestamp"].(string); ok {
			v["timestamp"] = strings.Replace(s, ".000Z", "Z", 1)
		}
		for _, e := range v {
			fixTimes(e)
		}
	case []any:
		for _, e := range v {
			fixTimes(e)
		}
	}
}

func TestGRPC_Operations(t *testing.T) {
	c := grpcProbe(t)
	g := stub(t, c.Server)
	ctx := with(t, alice, v10)

	var header metadata.MD
	done := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, asks("@echo hello"), grpc.Header(&header))).GetTask()
	if done.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED || done.GetArtifacts()[0].GetParts()[0].GetText() != "hello" {
		t.Errorf("got %v, want hello", done)
	}
	if ids := header.Get("x-request-id"); len(ids) != 1 || ids[0] == "" {
		t.Errorf("got request ids %v, want one", ids)
	}
	sameTask(t, c, done)

	get := must[*a2apb.Task](t)(g.GetTask(ctx, &a2apb.GetTaskRequest{Id: done.GetId()}))
	sameTask(t, c, get)
	none := int32(0)
	if short := must[*a2apb.Task](t)(g.GetTask(ctx, &a2apb.GetTaskRequest{Id: done.GetId(), HistoryLength: &none})); len(short.GetHistory()) != 0 {
		t.Errorf("got %d messages, want none", len(short.GetHistory()))
	}

	failed := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, asks("@fail"))).GetTask()
	if code := failed.GetStatus().GetMessage().GetMetadata().GetFields()["code"].GetStringValue(); code != "skill_failed" {
		t.Errorf("got code %q, want skill_failed", code)
	}
	sameTask(t, c, failed)

	// A question and its answer.
	asked := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, asks("@ask"))).GetTask()
	if asked.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
		t.Errorf("got %v, want a question", asked.GetStatus())
	}
	answer := asks("blue")
	answer.Message.TaskId = asked.GetId()
	answered := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, answer)).GetTask()
	if answered.GetId() != asked.GetId() || answered.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("got %v, want the same task completed", answered)
	}
	sameTask(t, c, answered)

	// Parts of every kind come back as they went, numbers as floats.
	data := must[*structpb.Value](t)(structpb.NewValue(map[string]any{"n": 1.5, "big": 12345678901234567890.0, "list": []any{nil, true, "x"}}))
	parts := asks("@data")
	parts.Message.Parts = append(parts.Message.Parts,
		&a2apb.Part{Content: &a2apb.Part_Data{Data: data}, MediaType: "application/json"},
		&a2apb.Part{Content: &a2apb.Part_Raw{Raw: []byte{0, 0xff, 0xfb}}, Filename: "x.bin", MediaType: "application/octet-stream"},
		&a2apb.Part{Content: &a2apb.Part_Url{Url: "https://h.example/x"}})
	echoed := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, parts)).GetTask()
	for i, p := range echoed.GetArtifacts()[0].GetParts() {
		if !proto.Equal(p, parts.Message.Parts[i+1]) {
			t.Errorf("part %d: got %v, want %v", i, p, parts.Message.Parts[i+1])
		}
	}
	sameTask(t, c, echoed)

	// A skill by its id, and one that there is not.
	unknown := asks("hello")
	unknown.Metadata = must[*structpb.Struct](t)(structpb.NewStruct(map[string]any{"skillId": "nope"}))
	if r := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, unknown)).GetTask(); r.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_FAILED {
		t.Errorf("got %v for an unknown skill, want a failed task", r.GetStatus())
	}

	// Cancel, from another connection.
	id := begin(t, g, "@hang")
	canceled := must[*a2apb.Task](t)(stub(t, c.Server).CancelTask(ctx, &a2apb.CancelTaskRequest{Id: id}))
	if canceled.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_CANCELED {
		t.Errorf("got %v, want canceled", canceled.GetStatus())
	}
	sameTask(t, c, canceled)

	// A list, page by page.
	size, artifacts := int32(2), true
	seen := map[string]bool{}
	for q := (&a2apb.ListTasksRequest{PageSize: &size, IncludeArtifacts: &artifacts}); ; {
		page := must[*a2apb.ListTasksResponse](t)(g.ListTasks(ctx, q))
		if page.GetTotalSize() != 6 || page.GetPageSize() != 2 {
			t.Errorf("got %d of %d, want 2 of 6", page.GetPageSize(), page.GetTotalSize())
		}
		for _, task := range page.GetTasks() {
			seen[task.GetId()] = true
			sameTask(t, c, task)
		}
		if q.PageToken = page.GetNextPageToken(); q.PageToken == "" {
			break
		}
	}
	if len(seen) != 6 {
		t.Errorf("listed %d tasks, want 6", len(seen))
	}
	only := must[*a2apb.ListTasksResponse](t)(g.ListTasks(ctx, &a2apb.ListTasksRequest{Status: a2apb.TaskState_TASK_STATE_CANCELED, PageSize: new(int32)}))
	if only.GetPageSize() != 50 {
		t.Errorf("got a page of %d for a zero, want the default", only.GetPageSize())
	}
	if len(only.GetTasks()) != 1 || only.GetTasks()[0].GetId() != id {
		t.Errorf("got %v, want the canceled task", only)
	}
}

func TestGRPC_Push(t *testing.T) {
	c := grpcProbe(t)
	g, ctx := stub(t, c.Server), with(t, alice)
	id := begin(t, g, "@hang")
	made := must[*a2apb.TaskPushNotificationConfig](t)(g.CreateTaskPushNotificationConfig(ctx, &a2apb.TaskPushNotificationConfig{
		TaskId: id, Url: "http://127.0.0.1:9/hook", Token: "s3cret", Authentication: &a2apb.AuthenticationInfo{Scheme: "Bearer", Credentials: "s3cret"},
	}))
	if made.GetId() == "" || made.GetTaskId() != id || made.GetToken() != "" || made.GetAuthentication().GetCredentials() != "" {
		t.Errorf("got %v, want an id and no secrets", made)
	}
	got := must[*a2apb.TaskPushNotificationConfig](t)(g.GetTaskPushNotificationConfig(ctx, &a2apb.GetTaskPushNotificationConfigRequest{TaskId: id, Id: made.GetId()}))
	if !proto.Equal(got, made) {
		t.Errorf("got %v, want %v", got, made)
	}
	list := must[*a2apb.ListTaskPushNotificationConfigsResponse](t)(g.ListTaskPushNotificationConfigs(ctx, &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: id}))
	if len(list.GetConfigs()) != 1 || !proto.Equal(list.GetConfigs()[0], made) {
		t.Errorf("got %v, want the one", list)
	}
	for range 2 {
		if _, err := g.DeleteTaskPushNotificationConfig(ctx, &a2apb.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: made.GetId()}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	_, err := g.GetTaskPushNotificationConfig(ctx, &a2apb.GetTaskPushNotificationConfigRequest{TaskId: id, Id: made.GetId()})
	wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")
	_, err = g.CreateTaskPushNotificationConfig(ctx, &a2apb.TaskPushNotificationConfig{TaskId: "nope", Url: "http://127.0.0.1:9/"})
	wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")

	off := stub(t, grpcProbe(t, func(c *configs.Config) { c.Push.Enabled = false }).Server)
	_, err = off.ListTaskPushNotificationConfigs(ctx, &a2apb.ListTaskPushNotificationConfigsRequest{})
	wantGRPC(t, err, codes.FailedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED")
}

func TestGRPC_ExtendedCard(t *testing.T) {
	c := grpcProbe(t, withExtendedCard)
	card := must[*a2apb.AgentCard](t)(stub(t, c.Server).GetExtendedAgentCard(with(t, alice), &a2apb.GetExtendedAgentCardRequest{}))
	if len(card.GetSkills()) != 5 || card.GetSupportedInterfaces()[0].GetUrl() != c.URL+"/api/a2a/tasks" {
		t.Errorf("got %v, want the card with five skills", card)
	}
	_, err := stub(t, grpcProbe(t).Server).GetExtendedAgentCard(with(t, alice), &a2apb.GetExtendedAgentCardRequest{})
	wantGRPC(t, err, codes.FailedPrecondition, "UNSUPPORTED_OPERATION")
}

func TestGRPC_Errors(t *testing.T) {
	c := grpcProbe(t, func(c *configs.Config) {
		c.GRPC.MaxMessageBytes = 64 << 10
		s := skill(t, c, "probe")
		s.Concurrency, s.Queue = 1, -1
	})
	g, ctx := stub(t, c.Server), with(t, alice)

	_, err := g.GetTask(ctx, &a2apb.GetTaskRequest{Id: "nope"})
	st := wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")
	if info := detail[*errdetails.ErrorInfo](st); info.GetMetadata()["taskId"] != "nope" {
		t.Errorf("got %v, want the task's id", info)
	}
	_, err = g.SendMessage(ctx, &a2apb.SendMessageRequest{Message: &a2apb.Message{MessageId: "m", Role: a2apb.Role_ROLE_USER}})
	st = wantGRPC(t, err, codes.InvalidArgument, "INVALID_PARAMS")
	if bad := detail[*errdetails.BadRequest](st); len(bad.GetFieldViolations()) != 1 || bad.GetFieldViolations()[0].GetField() != "message.parts" {
		t.Errorf("got %v, want message.parts to be blamed", bad)
	}
	picture := asks("x")
	picture.Message.Parts[0].MediaType = "image/png"
	_, err = g.SendMessage(ctx, picture)
	wantGRPC(t, err, codes.InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED")
	_, err = g.SendMessage(with(t, alice, "Idempotency-Key: "+strings.Repeat("k", 256)), asks("x"))
	wantGRPC(t, err, codes.InvalidArgument, "INVALID_PARAMS")

	done := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, asks("@echo x"))).GetTask().GetId()
	_, err = g.CancelTask(ctx, &a2apb.CancelTaskRequest{Id: done})
	wantGRPC(t, err, codes.FailedPrecondition, "TASK_NOT_CANCELABLE")
	_, err = must[grpc.ServerStreamingClient[a2apb.StreamResponse]](t)(g.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: done})).Recv()
	wantGRPC(t, err, codes.FailedPrecondition, "UNSUPPORTED_OPERATION")
	_, err = must[grpc.ServerStreamingClient[a2apb.StreamResponse]](t)(g.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: "nope"})).Recv()
	wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")

	// The one slot is taken, and nobody may wait.
	begin(t, g, "@hang")
	_, err = g.SendMessage(ctx, asks("@echo x"))
	st = wantGRPC(t, err, codes.ResourceExhausted, "QUEUE_FULL")
	if retry := detail[*errdetails.RetryInfo](st); retry.GetRetryDelay().AsDuration() < time.Second {
		t.Errorf("got %v, want a delay", retry)
	}

	// What is too large, is no message, or is of no service.
	if _, err = g.SendMessage(ctx, asks(strings.Repeat("x", 65<<10))); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v, want RESOURCE_EXHAUSTED", err)
	}
	conn := dial(t, c.Server)
	err = conn.Invoke(ctx, "/lf.a2a.v1.A2AService/GetTask", &a2apb.AgentProvider{Url: "\x01"}, new(a2apb.Task))
	wantGRPC(t, err, codes.InvalidArgument, "INVALID_PARAMS") // field 1 is the tenant, so the id is missing
	err = conn.Invoke(ctx, "/lf.a2a.v1.A2AService/SendMessage", &a2apb.GetTaskRequest{Id: "\x7f"}, new(a2apb.Task))
	wantGRPC(t, err, codes.InvalidArgument, "PARSE_ERROR")
	for _, method := range []string{"/lf.a2a.v1.A2AService/Nope", "/a2a.v2.A2AService/GetTask"} {
		if err := conn.Invoke(ctx, method, &a2apb.GetTaskRequest{}, new(a2apb.Task)); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: got %v, want UNIMPLEMENTED", method, err)
		}
	}
}
