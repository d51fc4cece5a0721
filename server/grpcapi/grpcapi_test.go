package grpcapi

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/pb"
)

// serve runs a server over memory until the test is over.
func serve(t *testing.T, o Options) (*Server, v1.A2AServiceClient) {
	t.Helper()
	d := wire.New(wire.Options{})
	o.Binding = binding.New(binding.Options{Dialects: d, Allow: func(*access.Record, bool) error { return nil }})
	o.Services = []*pb.Service{pb.V1(d.V1)}
	o.MaxMessage, o.MaxStreams, o.ConnTimeout = 1<<20, 100, time.Minute
	o.Record = func(string, metadata.MD) *access.Record { return &access.Record{RequestID: "r-1"} }
	s := New(o)
	l := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close() // nothing is left to be said
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, v1.NewA2AServiceClient(conn)
}

// TestServer_Panic: a call that panics is answered, and nothing of why reaches the
// client; the server goes on.
func TestServer_Panic(t *testing.T) {
	var log bytes.Buffer
	observed := make(chan *access.Record, 2)
	_, c := serve(t, Options{
		Log:      zerolog.New(&log),
		Identify: func(*access.Record, access.Meta) error { panic("the secret") },
		Observe:  func(rec *access.Record, _, _ string, _ time.Duration) { observed <- rec },
	})
	for range 2 {
		_, err := c.GetTask(t.Context(), &v1.GetTaskRequest{Id: "x"})
		if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want an internal error that tells nothing", err)
		}
		if rec := <-observed; a2a.AsError(rec.Err).Code != a2a.CodeInternal || rec.Method != "GetTask" {
			t.Errorf("got record %+v, want the error", rec)
		}
	}
	if !strings.Contains(log.String(), "the secret") || !strings.Contains(log.String(), "grpcapi_test.go") {
		t.Errorf("the panic is not in the log with its stack: %s", &log)
	}
}

// TestServer_Stop_Late: what does not end in time is cut.
func TestServer_Stop_Late(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s, c := serve(t, Options{
		Identify: func(*access.Record, access.Meta) error {
			close(entered)
			<-release
			return errors.New("too late")
		},
		Observe: func(*access.Record, string, string, time.Duration) {},
	})
	answered := make(chan error, 1)
	go func() {
		_, err := c.GetTask(context.Background(), &v1.GetTaskRequest{Id: "x"})
		answered <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	if err := <-answered; status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want UNAVAILABLE", err)
	}
	close(release)
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want to hear that it was late", err)
	}
}

func TestStatusOf(t *testing.T) {
	d := wire.New(wire.Options{})
	if st := statusOf(d, d.V1, nil); st.Code() != codes.OK {
		t.Errorf("got %v, want OK", st)
	}
	if st := statusOf(d, d.V1, errors.New("dial 10.0.0.1: secret")); st.Code() != codes.Internal || st.Message() != "internal error" || len(st.Details()) != 1 {
		t.Errorf("got %v, want an internal error", st)
	}
	bad := "not utf-8 \xff"
	st := statusOf(d, d.V1, &a2a.Error{
		Code: a2a.CodeInvalidParams, Message: bad, Details: map[string]string{"x": bad},
		Fields: []a2a.FieldViolation{{Field: bad, Description: bad}}, RetryAfter: time.Second,
	})
	if st.Code() != codes.InvalidArgument || len(st.Details()) != 3 {
		t.Errorf("got %v with %v, want three details", st, st.Details())
	}
}
