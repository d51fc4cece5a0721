package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/grpcapi"
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
		Binding:    a.binding,
		Services:   pb.Services(a.dialects),
		MaxMessage: int(cfg.GRPC.MaxMessageBytes), MaxStreams: uint32(cfg.GRPC.MaxStreams),
		ConnTimeout: cfg.Server.ReadHeaderTimeout, TLS: secure, Reflection: cfg.GRPC.Reflection,
		Record: func(peer string, md metadata.MD) *access.Record {
			id := ""
			if given := md.Get("x-request-id"); len(given) > 0 {
				id = given[0]
			}
			return &access.Record{RequestID: requestID(id), ClientIP: clientIP(peer, md.Get("x-forwarded-for"), a.trusted)}
		},
		ShowRequestID: cfg.Server.RequestID,
		Identify:      a.identify,
		Observe:       a.logCall,
		Log:           a.log,
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
