package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/grpcapi"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/pb"
)

// buildGRPC makes the gRPC binding, which has a port of its own.
func (a *App) buildGRPC() (*grpcapi.Server, error) {
	cfg := a.cfg
	secure, err := loadTLS(cfg.GRPC.TLS.CertFile, cfg.GRPC.TLS.KeyFile)
	if err != nil {
		return nil, err
	}
	return grpcapi.New(grpcapi.Options{
		Engine:     a.engine,
		Services:   []*pb.Service{pb.V1(a.dialects.V1), pb.V03(a.dialects.RestV03)},
		Dialects:   a.dialects,
		Limits:     wire.Limits{MaxDepth: cfg.Server.MaxJSONDepth, MaxParts: cfg.Limits.MaxParts, MaxIDBytes: cfg.Limits.MaxIDBytes},
		MaxMessage: int(cfg.GRPC.MaxMessageBytes), MaxStreams: uint32(cfg.GRPC.MaxStreams),
		ConnTimeout: cfg.Server.ReadHeaderTimeout, TLS: secure, Reflection: cfg.GRPC.Reflection,
		MaxWait: cfg.Limits.Wait.For,
		Record: func(peer string, md metadata.MD) *access.Record {
			id := ""
			if given := md.Get("x-request-id"); len(given) > 0 {
				id = given[0]
			}
			return &access.Record{RequestID: requestID(id), ClientIP: clientIP(peer, md.Get("x-forwarded-for"), a.trusted)}
		},
		ShowRequestID: cfg.Server.RequestID,
		Authenticate:  a.keys.Caller,
		Allow:         a.limits.count,
		EnterStream:   a.limits.enterStream,
		ExtendedCard: func(ctx context.Context, dialect string) ([]byte, error) {
			// The URLs of the card are those of somebody who asks at the HTTP address.
			return a.extendedCard((&http.Request{URL: new(url.URL), Header: http.Header{}}).WithContext(ctx), dialect)
		},
		Extensions: a.binding.Extensions,
		Push:       cfg.Push.Enabled,
		NoStreams:  !cfg.Stream.Enabled,
		Stream:     stream.Options{Heartbeat: cfg.Stream.Heartbeat, WriteTimeout: cfg.Stream.WriteTimeout, Retry: cfg.Stream.Retry},
		Observe:    a.logCall,
		Log:        a.log,
	}), nil
}

// loadTLS reads a certificate and its key; without files there is no TLS.
func loadTLS(cert, key string) (*tls.Config, error) {
	if cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("load certificate of gRPC: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// logCall writes the one log line of a gRPC call.
func (a *App) logCall(rec *access.Record, method, status string, took time.Duration) {
	level := zerolog.InfoLevel
	switch {
	case rec.Gone:
		status = codes.Canceled.String()
	case status == codes.Internal.String(), status == codes.Unknown.String():
		level = zerolog.ErrorLevel
	case status == codes.Unauthenticated.String(), status == codes.PermissionDenied.String():
		level = zerolog.WarnLevel
	}
	ev := a.log.WithLevel(level)
	if ev == nil || a.log.GetLevel() > level {
		return
	}
	logRecord(ev.Str("request_id", rec.RequestID).Str("method", "gRPC").Str("route", method).
		Str("status", status).Float64("duration_ms", float64(took.Microseconds())/1000), rec)
}

// stopGRPC stops the gRPC binding, if there is one.
func (a *App) stopGRPC(ctx context.Context) error {
	if a.grpc == nil {
		return nil
	}
	return a.grpc.Stop(ctx)
}
