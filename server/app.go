// Package server puts the parts together and serves them over HTTP.
//
// It wires by hand, in one function: configuration, store, skills, engine, card,
// bindings, routes. What it starts it stops in the reverse order, within the
// times the configuration sets.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/server/auth"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/server/grpcapi"
	"github.com/skillyard/skillyard/server/jsonrpc"
	"github.com/skillyard/skillyard/server/plain"
	"github.com/skillyard/skillyard/server/push"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
	"github.com/skillyard/skillyard/taskstore/sqlite"
	"github.com/skillyard/skillyard/wire"
)

// Options of an App. All are required but Version.
type Options struct {
	// Config is a valid configuration; it is not changed.
	Config *configs.Config
	// DataDir is where the store and the boards are, unless the configuration
	// names other places. It is made if it does not exist.
	DataDir string
	Log     zerolog.Logger
	// Version is the program's version.
	Version string
	// Listener is served instead of a new one on Config.Server.Addr, if not nil.
	Listener net.Listener
}

// App is a server.
type App struct {
	cfg      *configs.Config
	log      zerolog.Logger
	store    taskstore.Store
	engine   *engine.Engine
	push     *push.Worker // nil: no push notifications
	dialects *wire.Dialects
	keys     *auth.Keys
	limits   *limiter
	binding  *binding.Binding
	rpc      *jsonrpc.Handler
	plain    *plain.Handler
	card     *agentcard.Server
	schemas  *schemas
	trusted  []netip.Prefix // proxies
	cardKeys http.Handler   // nil: cards are not signed
	probe    *probe         // nil: not offered
	http     *http.Server
	listener net.Listener
	silent   silent
	grpc     *grpcapi.Server // nil: no gRPC
	// grpcListener is what grpc serves.
	grpcListener net.Listener
	stopping     atomic.Bool
	// teardown holds what to release, in the order of acquisition.
	teardown []func() error
}

// New opens the store, builds the skills and binds the address; nothing is served
// before Run. On an error everything is released again.
func New(ctx context.Context, o Options) (_ *App, err error) {
	cfg := o.Config
	a := &App{
		cfg: cfg, log: o.Log, limits: newLimiter(cfg.Limits), trusted: cfg.Server.TrustedPrefixes(),
		dialects: wire.New(wire.Options{StrictVersion: cfg.Compat.StrictVersion, Errors100: cfg.Compat.Errors == "1.0.0"}),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.release())
		}
	}()
	if a.keys, err = loadKeys(cfg.Auth); err != nil {
		return nil, err
	}
	set, err := BuildSkills(cfg, o.DataDir, o.Log)
	if err != nil {
		return nil, err
	}
	if a.schemas, err = newSchemas(set, cfg); err != nil {
		return nil, err
	}
	// The address comes before the store: a second server is told so at once.
	if a.listener = o.Listener; a.listener == nil {
		if a.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", cfg.Server.Addr); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	a.teardown = append(a.teardown, func() error { return closeListener(a.listener) })
	if cfg.GRPC.Addr != "" {
		if a.grpcListener, err = new(net.ListenConfig).Listen(ctx, "tcp", cfg.GRPC.Addr); err != nil {
			return nil, fmt.Errorf("listen for gRPC: %w", err)
		}
		a.teardown = append(a.teardown, func() error { return closeListener(a.grpcListener) })
	}
	if err = LayDemo(cfg, o.DataDir); err != nil {
		return nil, err
	}
	if a.store, err = openStore(ctx, cfg, o.DataDir); err != nil {
		return nil, err
	}
	a.teardown = append(a.teardown, a.store.Close)
	pushes, err := a.buildPush(o.Version)
	if err != nil {
		return nil, err
	}
	a.engine, err = engine.New(engine.Options{
		Store: a.store, Skills: set, Log: o.Log.With().Str("component", "engine").Logger(),
		Lease: cfg.Store.Lease, Retention: cfg.Store.Retention, PruneEvery: cfg.Store.PruneEvery,
		CancelGrace: cfg.Runs.CancelGrace, FlushAfter: cfg.Runs.FlushAfter,
		FlushEvery: cfg.Runs.FlushEvery, MaxPending: int64(cfg.Runs.MaxPending), Push: pushes, Extensions: activatable(cfg, set),
	})
	if err != nil {
		return nil, err
	}
	if a.card, err = BuildCard(cfg, set, a.Addr(), o.Version); err != nil {
		return nil, err
	}
	bind := binding.Options{
		Engine:   a.engine,
		Dialects: a.dialects,
		Limits:   wire.Limits{MaxDepth: cfg.Server.MaxJSONDepth, MaxParts: cfg.Limits.MaxParts, MaxIDBytes: cfg.Limits.MaxIDBytes},
		MaxBody:  int64(cfg.Server.MaxBodyBytes), MaxWait: cfg.Limits.Wait.For, MaxPoll: cfg.Limits.Wait.Max,
		Allow: a.limits.allow, ExtendedCard: a.extendedCard, EnterStream: a.limits.enterStream,
		Extensions: activatable(cfg, set),
		NoStreams:  !cfg.Stream.Enabled, PlainErrors: cfg.Compat.StreamErrors == "json",
		Stream: stream.Options{Heartbeat: cfg.Stream.Heartbeat, WriteTimeout: cfg.Stream.WriteTimeout, Retry: cfg.Stream.Retry},
	}
	if pushes != nil {
		bind.Push = a.engine
	}
	a.binding = binding.New(bind)
	a.rpc = jsonrpc.New(a.binding)
	a.plain, err = plain.New(plain.Options{
		Binding: a.binding, Offer: set.For,
		Base: resolver(cfg, a.Addr()).Base, TaskID: taskOf,
		Origins: cfg.Server.CORSOrigins,
	})
	if err != nil {
		return nil, err
	}
	if a.cardKeys, err = a.card.Keys(); err != nil {
		return nil, err
	}
	if cfg.Stream.Enabled && cfg.Stream.Probe {
		a.probe = newProbe(bind.Stream)
	}
	a.http = &http.Server{
		Handler:           a.routes(),
		ReadHeaderTimeout: cfg.Server.ReadHeaderTimeout,
		ReadTimeout:       cfg.Server.ReadTimeout,
		IdleTimeout:       cfg.Server.IdleTimeout,
		ConnState:         a.silent.note,
		ErrorLog:          stdLog(o.Log),
	}
	if a.probe != nil {
		a.http.RegisterOnShutdown(a.probe.close)
	}
	if a.grpcListener != nil {
		if a.grpc, err = a.buildGRPC(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// closeListener closes a listener that may be closed already.
func closeListener(l net.Listener) error {
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// GRPCAddr returns the address gRPC is served on, or "" if it is not.
func (a *App) GRPCAddr() string {
	if a.grpcListener == nil {
		return ""
	}
	return a.grpcListener.Addr().String()
}

// Addr returns the address the server listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Run serves until ctx is done, then stops: it reports not ready for the drain
// delay, takes no new work, lets runs and requests end within the shutdown
// timeout, and hands the rest back to the queue. It returns nil after a clean stop.
func (a *App) Run(ctx context.Context) error {
	if a.push != nil {
		a.push.Start()
	}
	a.engine.Start()
	a.log.Info().Str("addr", a.Addr()).Msg("serving")
	failed := make(chan error, 2)
	go func() { failed <- a.http.Serve(a.listener) }()
	if a.grpc != nil {
		a.log.Info().Str("addr", a.GRPCAddr()).Bool("tls", a.cfg.GRPC.TLS.CertFile != "").Msg("serving gRPC")
		go func() { failed <- a.grpc.Serve(a.grpcListener) }()
	}
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return errors.Join(err, a.stop())
}

// Close releases what New took, for an App that is not run.
func (a *App) Close() error { return a.release() }

// answerTime is how long requests that were let go at the end of the shutdown time
// may take to be answered, and then deliveries that are under way.
const answerTime = 2 * time.Second

func (a *App) stop() error {
	a.stopping.Store(true)
	if a.grpc != nil {
		a.grpc.Drain()
	}
	if d := a.cfg.Server.DrainDelay; d > 0 {
		a.log.Info().Dur("delay", d).Msg("not ready any more; waiting for the load balancer")
		time.Sleep(d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Server.ShutdownTimeout)
	defer cancel()
	// The engine stops beside the listener: requests that wait for a run end when
	// it does, at the latest when the time is over. Then they still need a moment to
	// be answered.
	stopped := make(chan error, 1)
	go func() {
		err := a.engine.Stop(ctx)
		a.silent.close()
		stopped <- err
	}()
	answers, cancelAnswers := context.WithTimeout(context.Background(), a.cfg.Server.ShutdownTimeout+answerTime)
	defer cancelAnswers()
	grpcStopped := make(chan error, 1)
	go func() { grpcStopped <- a.stopGRPC(answers) }()
	err := a.http.Shutdown(answers)
	err = errors.Join(<-stopped, <-grpcStopped, err)
	if err != nil {
		// What is still open then is cut; its tasks are safe.
		a.log.Warn().Err(err).Msg("stopping late")
		if cerr := a.http.Close(); cerr != nil {
			a.log.Warn().Err(cerr).Msg("close connections")
		}
	}
	if a.push != nil {
		// What is under way may end; what is due is delivered by the next start.
		deliveries, cancelDeliveries := context.WithTimeout(context.Background(), answerTime)
		defer cancelDeliveries()
		if perr := a.push.Stop(deliveries); perr != nil {
			a.log.Warn().Err(perr).Msg("stop deliveries")
		}
	}
	if rerr := a.release(); rerr != nil {
		return rerr
	}
	a.log.Info().Msg("stopped")
	return nil
}

// release undoes New, last first.
func (a *App) release() error {
	var errs []error
	for i := len(a.teardown) - 1; i >= 0; i-- {
		errs = append(errs, a.teardown[i]())
	}
	a.teardown = nil
	return errors.Join(errs...)
}

func openStore(ctx context.Context, cfg *configs.Config, dataDir string) (taskstore.Store, error) {
	if cfg.Store.Kind == "memory" {
		return memory.New(memory.Options{}), nil
	}
	file := cfg.Store.File(dataDir)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	return sqlite.Open(ctx, sqlite.Options{Path: file, Synchronous: cfg.Store.Synchronous, BatchLimit: cfg.Store.Batch})
}

func loadKeys(cfg configs.Auth) (*auth.Keys, error) {
	keys := make([]auth.Key, 0, len(cfg.Keys))
	for _, k := range cfg.Keys {
		hash := k.SHA256
		if hash == "" {
			hash = auth.Hash(k.Key.Reveal())
		}
		allowed := make([]a2a.SkillID, len(k.Skills))
		for i, id := range k.Skills {
			allowed[i] = a2a.SkillID(id)
		}
		keys = append(keys, auth.Key{Name: k.Name, Tenant: k.Tenant, SHA256: hash, Skills: allowed})
	}
	return auth.NewKeys(cfg.Enforced(), keys...)
}

// extendedCard answers GetExtendedAgentCard with the card of the caller, who needs a
// key also where calls do not (A2A 1.0 §13.3); refused as the card declares it.
func (a *App) extendedCard(r *http.Request, caller a2a.Caller, d *wire.Dialect) ([]byte, error) {
	if a.cfg.Card.Extended {
		if r == nil {
			// The URLs of the card are those of somebody who asks at the HTTP address.
			r = &http.Request{URL: new(url.URL), Header: http.Header{}}
		}
		if caller.Anonymous || caller.Name == "" {
			return nil, auth.Unauthenticated()
		}
		v := agentcard.V03
		switch {
		case d.Name == wire.NameV1:
			v = agentcard.V1
		case d == a.dialects.RestV03:
			v = agentcard.V03Proto
		}
		return a.card.Extended(r, caller, v)
	}
	if d.Name == wire.NameV03 {
		return nil, &a2a.Error{Code: a2a.CodeExtendedCardNotConfigured, Message: "Authenticated Extended Card not configured"}
	}
	return nil, &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: "This operation is not supported: the agent has no extended card."}
}
