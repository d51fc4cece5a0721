package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
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

func TestGRPC_Version(t *testing.T) {
	c := grpcProbe(t)
	g := stub(t, c.Server)
	for _, v := range []string{"1.0", "1.0.1", ""} {
		if _, err := g.SendMessage(with(t, alice, "A2A-Version: "+v), asks("@echo x")); err != nil {
			t.Errorf("version %q: %v", v, err)
		}
	}
	for _, v := range []string{"99.0", "0.3", "1.1", "junk"} {
		// It counts before everything that is wrong with the message.
		_, err := g.SendMessage(with(t, alice, "A2A-Version: "+v), &a2apb.SendMessageRequest{})
		st := wantGRPC(t, err, codes.FailedPrecondition, "VERSION_NOT_SUPPORTED")
		if !strings.Contains(detail[*errdetails.ErrorInfo](st).GetMetadata()["supportedVersions"], "1.0") {
			t.Errorf("version %q: got %v, want the supported ones", v, st.Details())
		}
	}
	strict := stub(t, grpcProbe(t, func(c *configs.Config) { c.Compat.StrictVersion = true }).Server)
	_, err := strict.GetTask(with(t, alice), &a2apb.GetTaskRequest{Id: "x"})
	wantGRPC(t, err, codes.FailedPrecondition, "VERSION_NOT_SUPPORTED")
	_, err = strict.GetTask(with(t, alice, v10), &a2apb.GetTaskRequest{Id: "x"})
	wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")
}

func TestGRPC_Auth(t *testing.T) {
	c := grpcProbe(t)
	g := stub(t, c.Server)
	id := must[*a2apb.SendMessageResponse](t)(g.SendMessage(with(t, alice), asks("@echo x"))).GetTask().GetId()
	for _, key := range []string{alice, "X-API-Key: alice-token", "Authorization: bearer  alice-token "} {
		if _, err := g.GetTask(with(t, key), &a2apb.GetTaskRequest{Id: id}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	first := ""
	for _, headers := range [][]string{nil, {"Authorization: Bearer wrong"}, {"X-API-Key: wrong"}, {"Authorization: alice-token"}} {
		// It comes before the version and before the message.
		_, err := g.GetTask(with(t, append(headers, "A2A-Version: 99.0")...), &a2apb.GetTaskRequest{})
		wantGRPC(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
		if first == "" {
			first = err.Error()
		}
		if err.Error() != first {
			t.Errorf("%v: got %v, want the same for all: %s", headers, err, first)
		}
	}
	// Nothing is taken from a stranger: not even what is too large is looked at.
	_, err := g.SendMessage(with(t, "X-API-Key: wrong"), asks(strings.Repeat("x", 11<<20)))
	wantGRPC(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	// Somebody else's task is no task.
	ctx := with(t, bob)
	_, foreign := g.GetTask(ctx, &a2apb.GetTaskRequest{Id: id})
	wantGRPC(t, foreign, codes.NotFound, "TASK_NOT_FOUND")
	_, err = g.CancelTask(ctx, &a2apb.CancelTaskRequest{Id: id})
	wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")
	_, err = must[grpc.ServerStreamingClient[a2apb.StreamResponse]](t)(g.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: id})).Recv()
	wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")
	next := asks("x")
	next.Message.TaskId = id
	_, err = g.SendMessage(ctx, next)
	wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")
	if l := must[*a2apb.ListTasksResponse](t)(g.ListTasks(ctx, &a2apb.ListTasksRequest{})); l.GetTotalSize() != 0 {
		t.Errorf("bob sees %d tasks, want none", l.GetTotalSize())
	}
}

func TestGRPC_Limits(t *testing.T) {
	c := grpcProbe(t, limited)
	g := stub(t, c.Server)
	for range 2 {
		if _, err := g.SendMessage(with(t, alice), asks("@echo x")); err != nil {
			t.Error(err)
		}
	}
	// The limit is the caller's, whichever way the requests come.
	_, err := g.SendMessage(with(t, alice), asks("@echo x"))
	st := wantGRPC(t, err, codes.ResourceExhausted, "RATE_LIMITED")
	if detail[*errdetails.RetryInfo](st) == nil {
		t.Errorf("got %v, want RetryInfo", st.Details())
	}
	wantTooMany(t, c.RPC(call("SendMessage", message("@echo x", "", "")), alice, v10))
	for range 3 {
		_, err := g.GetTask(with(t, alice), &a2apb.GetTaskRequest{Id: "x"})
		wantGRPC(t, err, codes.NotFound, "TASK_NOT_FOUND")
	}
	_, err = g.GetTask(with(t, alice), &a2apb.GetTaskRequest{Id: "x"})
	wantGRPC(t, err, codes.ResourceExhausted, "RATE_LIMITED")
	for range 2 {
		_, err = g.GetTask(with(t, "X-API-Key: wrong"), &a2apb.GetTaskRequest{Id: "x"})
		wantGRPC(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	}
	_, err = g.GetTask(with(t, "X-API-Key: wrong"), &a2apb.GetTaskRequest{Id: "x"})
	wantGRPC(t, err, codes.ResourceExhausted, "RATE_LIMITED")
}

func TestGRPC_Idempotency(t *testing.T) {
	g := stub(t, grpcProbe(t).Server)
	ctx := with(t, alice, "Idempotency-Key: once")
	first := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, asks("@echo x"))).GetTask()
	again := must[*a2apb.SendMessageResponse](t)(g.SendMessage(ctx, asks("@echo x"))).GetTask()
	if first.GetId() != again.GetId() {
		t.Errorf("got two tasks, want one")
	}
	_, err := g.SendMessage(ctx, asks("@echo y"))
	wantGRPC(t, err, codes.InvalidArgument, "IDEMPOTENCY_CONFLICT")
}

// TestGRPC_Disconnect: a client that leaves leaves its task alone.
func TestGRPC_Disconnect(t *testing.T) {
	c := grpcProbe(t)
	g := stub(t, c.Server)
	ctx, cancel := context.WithCancel(with(t, alice))
	st := must[grpc.ServerStreamingClient[a2apb.StreamResponse]](t)(g.SendStreamingMessage(ctx, asks("@sleep 2")))
	id := must[*a2apb.StreamResponse](t)(st.Recv()).GetTask().GetId()
	cancel()
	var err error
	for err == nil { // what has arrived already is still read
		_, err = st.Recv()
	}
	if status.Code(err) != codes.Canceled {
		t.Errorf("got %v, want CANCELED", err)
	}
	short, cancelShort := context.WithTimeout(with(t, alice), time.Second)
	defer cancelShort()
	if _, err := g.SendMessage(short, asks("@sleep 2")); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v, want DEADLINE_EXCEEDED", err)
	}
	c.until(id, "TASK_STATE_COMPLETED")
	eventually(t, "both tasks have completed", func() bool {
		l := must[*a2apb.ListTasksResponse](t)(g.ListTasks(with(t, alice), &a2apb.ListTasksRequest{Status: a2apb.TaskState_TASK_STATE_COMPLETED}))
		return l.GetTotalSize() == 2
	})
}

func TestGRPC_HealthAndReflection(t *testing.T) {
	c := grpcProbe(t)
	conn := dial(t, c.Server)
	health := healthpb.NewHealthClient(conn)
	for _, service := range []string{"", "lf.a2a.v1.A2AService", "a2a.v1.A2AService"} {
		// Like the probes over HTTP it asks for no key.
		r := must[*healthpb.HealthCheckResponse](t)(health.Check(with(t), &healthpb.HealthCheckRequest{Service: service}))
		if r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("service %q: got %s, want SERVING", service, r.GetStatus())
		}
	}
	ask := func(s *servertest.Server, q *reflectionpb.ServerReflectionRequest) (*reflectionpb.ServerReflectionResponse, error) {
		st := must[grpc.BidiStreamingClient[reflectionpb.ServerReflectionRequest, reflectionpb.ServerReflectionResponse]](t)(
			reflectionpb.NewServerReflectionClient(dial(t, s)).ServerReflectionInfo(with(t)))
		if err := st.Send(q); err != nil && err != io.EOF { //nolint:errorlint // as documented
			t.Fatal(err)
		}
		return st.Recv()
	}
	listed := must[*reflectionpb.ServerReflectionResponse](t)(ask(c.Server, &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	names := listed.GetListServicesResponse().String()
	for _, service := range []string{`"lf.a2a.v1.A2AService"`, `"a2a.v1.A2AService"`, `"grpc.health.v1.Health"`} {
		if !strings.Contains(names, service) {
			t.Errorf("got %s, want %s among them", names, service)
		}
	}
	for _, symbol := range []string{"lf.a2a.v1.A2AService.SendMessage", "a2a.v1.A2AService.TaskSubscription"} {
		file := must[*reflectionpb.ServerReflectionResponse](t)(ask(c.Server, &reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
		}))
		if len(file.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
			t.Errorf("got %v, want the file of %s", file, symbol)
		}
	}
	closed := grpcProbe(t, func(c *configs.Config) { c.GRPC.Reflection = false })
	if _, err := ask(closed.Server, &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v, want UNIMPLEMENTED", err)
	}
}

// TestGRPC_Log: one line for each call, without keys or content.
func TestGRPC_Log(t *testing.T) {
	log := &logBuffer{}
	s := servertest.New(t, servertest.Options{YAML: probeYAML(t), Log: log, Edit: func(c *configs.Config) {
		withGRPC(c)
		c.Store.Kind, c.Server.TrustedProxies = "memory", []string{"127.0.0.1"}
	}})
	g := stub(t, s)
	task := must[*a2apb.SendMessageResponse](t)(g.SendMessage(with(t, alice, "X-Request-Id: my-id", "X-Forwarded-For: 203.0.113.9"), asks("@echo hush"))).GetTask()
	_, err := g.GetTask(with(t, "Authorization: Bearer hush"), &a2apb.GetTaskRequest{Id: "x"})
	wantGRPC(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	var lines []map[string]any
	eventually(t, "both calls are logged", func() bool {
		lines = log.lines(t, "request")
		return len(lines) == 2
	})
	for key, want := range map[string]any{
		"request_id": "my-id", "method": "gRPC", "route": "/lf.a2a.v1.A2AService/SendMessage", "status": "OK", "client_ip": "203.0.113.9",
		"principal": "alice", "a2a_method": "SendMessage", "skill": "probe", "task_id": task.GetId(), "context_id": task.GetContextId(), "level": "info",
	} {
		if lines[0][key] != want {
			t.Errorf("%s: got %v, want %v", key, lines[0][key], want)
		}
	}
	if lines[1]["status"] != "Unauthenticated" || lines[1]["level"] != "warn" || lines[1]["error_kind"] != "unauthenticated" {
		t.Errorf("got %v, want a warning", lines[1])
	}
	if strings.Contains(log.String(), "hush") {
		t.Errorf("the log holds content or a key: %s", log)
	}
}

func TestGRPC_TLS(t *testing.T) {
	cert, key, roots := certificate(t)
	c := grpcProbe(t, func(c *configs.Config) { c.GRPC.TLS = configs.TLS{CertFile: cert, KeyFile: key} })
	conn := dial(t, c.Server, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})))
	if _, err := a2apb.NewA2AServiceClient(conn).SendMessage(with(t, alice), asks("@echo x")); err != nil {
		t.Error(err)
	}
	if _, err := stub(t, c.Server).SendMessage(with(t, alice), asks("@echo x")); status.Code(err) != codes.Unavailable {
		t.Errorf("without TLS: got %v, want UNAVAILABLE", err)
	}
}

// certificate makes a certificate for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	private := must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key))
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, content := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, roots
}
