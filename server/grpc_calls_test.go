package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
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
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

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
