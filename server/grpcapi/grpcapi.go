// Package grpcapi is the gRPC binding, written once for all services.
//
// Like the other bindings it holds no rule of the protocol: package wire/pb knows the
// messages, package wire the errors, package binding what all bindings do alike, package
// engine does the work. What is decided here is what gRPC needs: metadata, status codes,
// flow control, health and reflection.
//
// Every rpc, also one with a single answer, is registered as a stream. On the wire that
// is the same; but the library would read the message of a unary rpc before any code of
// ours ran, and so would take megabytes from a caller without a key.
package grpcapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire/pb"
)

// Options of a Server. All are required unless said otherwise.
type Options struct {
	Binding *binding.Binding
	// Services are what is served beside health and reflection.
	Services []*pb.Service
	// MaxMessage is the largest request message in bytes, and MaxStreams how many calls
	// one connection may have under way.
	MaxMessage int
	MaxStreams uint32
	// ConnTimeout is how long a client may take to begin a connection.
	ConnTimeout time.Duration
	// TLS is for connections with TLS; nil for those without.
	TLS *tls.Config
	// Reflection lets tools ask which services there are.
	Reflection bool
	// Record makes the record of a call from its peer's address and its metadata.
	Record func(peer string, md metadata.MD) *access.Record
	// ShowRequestID returns the record's id to the client.
	ShowRequestID bool
	// Identify finds the caller by the metadata, or says why there is none.
	Identify func(*access.Record, access.Meta) error
	// Observe is called after each call with its record, its method's full name and how
	// it was answered.
	Observe func(rec *access.Record, method, status string, took time.Duration)
	Log     zerolog.Logger
}

// Server serves gRPC. It is safe for concurrent use.
type Server struct {
	o Options
	// times are those of streams: Heartbeat is the time between pings to a silent client.
	times  stream.Options
	grpc   *grpc.Server
	health *health.Server
	conns  conns
	// quit ends the calls of health and reflection, which wait for no task.
	quit     context.Context
	quitFunc context.CancelFunc
}

// New makes a server. Nothing is served before Serve.
func New(o Options) *Server {
	s := &Server{o: o, times: o.Binding.Stream.WithDefaults(), health: health.NewServer()}
	s.quit, s.quitFunc = context.WithCancel(context.Background())
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(o.MaxMessage),
		grpc.MaxConcurrentStreams(o.MaxStreams),
		grpc.ConnectionTimeout(o.ConnTimeout),
		grpc.InTapHandle(abortable),
		grpc.StreamInterceptor(s.endOthers),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: s.times.Heartbeat, Timeout: s.times.WriteTimeout}),
		// Clients keep their idle streams alive too; the library's default of five
		// minutes would cut them off for it.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	}
	if o.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	s.grpc = grpc.NewServer(opts...)
	healthpb.RegisterHealthServer(s.grpc, s.health)
	for _, svc := range o.Services {
		s.grpc.RegisterService(s.describe(svc), nil)
		s.health.SetServingStatus(svc.Name, healthpb.HealthCheckResponse_SERVING)
	}
	if o.Reflection {
		reflection.Register(s.grpc)
	}
	return s
}

// minPing is how often a client may ping.
const minPing = 5 * time.Second

// describe is the service as the library wants it.
func (s *Server) describe(svc *pb.Service) *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: svc.Name, Metadata: svc.File}
	for i := range svc.Methods {
		m := &svc.Methods[i]
		desc.Streams = append(desc.Streams, grpc.StreamDesc{
			StreamName: m.Name, ServerStreams: m.Streams(),
			Handler: func(_ any, ss grpc.ServerStream) error { return s.handle(svc, m, ss) },
		})
	}
	return desc
}

// Serve serves connections of the listener until Stop; then it returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(listener{l, &s.conns}); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC: %w", err)
	}
	return nil
}

// Drain makes the health service say that the server is about to stop.
func (s *Server) Drain() { s.health.Shutdown() }

// Stop takes no more calls and waits until those under way have ended, at most until
// ctx is done; what is still open then is cut, and that is the error.
func (s *Server) Stop(ctx context.Context) error {
	s.Drain()
	s.quitFunc()
	ended := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(ended)
	}()
	s.conns.close(false)
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		s.conns.close(true)
		s.grpc.Stop() // ends GracefulStop too
		<-ended
		return fmt.Errorf("stop gRPC: %w", context.Cause(ctx))
	}
}

type abortKey struct{}

// abortable gives each call a context that can be cancelled from within, the only way
// to end a write that its client does not let through.
func abortable(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, abortKey{}, cancel), nil
}

// abort cancels a call's context.
func abort(ctx context.Context, cause error) {
	if cancel, ok := ctx.Value(abortKey{}).(context.CancelCauseFunc); ok {
		cancel(cause)
	}
}

var errStopping = errors.New("server is stopping")

// endOthers ends calls of other services than ours, such as health's Watch, when the
// server stops; they would go on for as long as their clients like.
func (s *Server) endOthers(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	for _, svc := range s.o.Services {
		if strings.HasPrefix(info.FullMethod, "/"+svc.Name+"/") {
			return next(srv, ss)
		}
	}
	ctx := ss.Context()
	release := context.AfterFunc(s.quit, func() { abort(ctx, errStopping) })
	defer release()
	return next(srv, ss)
}

// meta is a call's metadata as access.Meta has it.
type meta metadata.MD

func (m meta) Values(name string) []string { return metadata.MD(m).Get(name) }
