package server_test

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/a2aproject/a2a-go/a2apb" // the messages of 0.3
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/servertest"
)

// services are the gRPC services by shape.
var services = map[shape]protoreflect.FullName{shapeV1: "lf.a2a.v1.A2AService", shapeOldProto: "a2a.v1.A2AService"}

// rpcOld are the rpcs of 0.3 that are called otherwise in 1.0.
var rpcOld = map[a2a.Op]string{
	a2a.OpSubscribe: "TaskSubscription", a2a.OpExtendedCard: "GetAgentCard", a2a.OpListPush: "ListTaskPushNotificationConfig",
}

// rpc is the rpc of an operation.
func (l *tongue) rpc(t testing.TB, op a2a.Op) protoreflect.MethodDescriptor {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(services[l.shape])
	if err != nil {
		t.Fatal(err)
	}
	name := methods[shapeV1][op]
	if old := rpcOld[op]; old != "" && l.shape == shapeOldProto {
		name = old
	}
	return d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name))
}

func emptyMessage(t testing.TB, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return kind.New().Interface()
}

// rpcParams is the request of an rpc as ProtoJSON.
func (l *tongue) rpcParams(op a2a.Op, q ask) string {
	if l.shape == shapeV1 {
		return l.params(op, q)
	}
	task := "tasks/" + q.task
	switch op {
	case a2a.OpSend, a2a.OpStream:
		// The last release of the package calls it parts, like 1.0.
		return strings.Replace(l.message(q), `"content":`, `"parts":`, 1)
	case a2a.OpGet, a2a.OpCancel, a2a.OpSubscribe:
		return merge(params("name", task), object2(q.query))
	case a2a.OpSetPush:
		return merge(params("parent", task), `{"config":`+l.pushConfig(q)+`}`)
	case a2a.OpListPush:
		return params("parent", task)
	case a2a.OpGetPush, a2a.OpDeletePush:
		return params("name", task+"/pushNotificationConfigs/"+q.config)
	}
	return l.params(op, q)
}

// call performs an operation over gRPC. What it gets is read as ProtoJSON.
func (l *tongue) call(c *client, op a2a.Op, q ask, headers []string) (g got) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	md := metadata.MD{}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		md.Set(name, value)
	}
	ctx = metadata.NewOutgoingContext(ctx, md)
	rpc := l.rpc(c.t, op)
	req := emptyMessage(c.t, rpc.Input())
	if q.body != "" {
		req.ProtoReflect().SetUnknown([]byte{0x0a, 0x7f}) // a first field that is cut short
	} else if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(l.rpcParams(op, q)), req); err != nil {
		c.t.Fatalf("%s: %v", l.rpcParams(op, q), err)
	}
	conn := dial(c.t, c.Server)
	defer conn.Close() //nolint:errcheck // nothing is left to be said
	st, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+string(services[l.shape])+"/"+string(rpc.Name()))
	if err == nil {
		err = errors.Join(st.SendMsg(req), st.CloseSend())
	}
	for err == nil {
		m := emptyMessage(c.t, rpc.Output())
		if err = st.RecvMsg(m); err != nil {
			break
		}
		if rpc.IsStreamingServer() {
			l.heard(c.t, &g, asJSON(c.t, m).Get())
		} else {
			g = l.understandResult(c.t, op, asJSON(c.t, m).Get())
		}
	}
	if !errors.Is(err, io.EOF) {
		s := status.Convert(err)
		g.Status, g.Code = int(s.Code()), reasons[detail[*errdetails.ErrorInfo](s).GetReason()]
	}
	return g
}

// wholeSeconds are timestamps whose milliseconds ProtoJSON leaves out.
var wholeSeconds = regexp.MustCompile(`("\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z"`)

// asJSON is a message as ProtoJSON with the members that have their defaults.
func asJSON(t testing.TB, m proto.Message) servertest.Answer {
	t.Helper()
	b, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Answer{Body: wholeSeconds.ReplaceAll(b, []byte(`$1.000Z"`))}
}

// rpcStatus is the status code of an error in gRPC (A2A 1.0.1 §5.4); 0.3 has other
// codes for what is not supported.
func (l *tongue) rpcStatus(code int) int {
	unsupported := codes.FailedPrecondition
	if l.shape == shapeOldProto {
		unsupported = codes.Unimplemented
	}
	switch code {
	case 0:
		return int(codes.OK)
	case -32001:
		return int(codes.NotFound)
	case -32002, -32009:
		return int(codes.FailedPrecondition)
	case -32003, -32004, -32007:
		return int(unsupported)
	case -32051:
		return int(codes.ResourceExhausted)
	case -31401:
		return int(codes.Unauthenticated)
	}
	return int(codes.InvalidArgument)
}
