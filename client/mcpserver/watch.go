package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watcher tells subscribers that the pending list changed, whoever changed it. It looks
// at the registry's revision while there are subscribers, and does nothing otherwise.
type watcher struct {
	s *Server

	mu sync.Mutex
	// sessions are those that subscribed. A session may be gone without having
	// unsubscribed.
	sessions map[*mcp.ServerSession]bool // guarded by mu
	// cancel ends the goroutine; nil when none runs.
	cancel  context.CancelFunc // guarded by mu
	stopped bool               // guarded by mu
	running sync.WaitGroup
}

func newWatcher(s *Server) *watcher {
	return &watcher{s: s, sessions: map[*mcp.ServerSession]bool{}}
}

func (w *watcher) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	if req.Params.URI != PendingURI {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("only %s can be subscribed to", PendingURI)}
	}
	// The revision is read before the subscription counts, so that no change is missed.
	last, err := w.s.Registry.Revision(ctx)
	if err != nil {
		w.s.Log.Error().Err(err).Msg("read revision")
		return failure(internal)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[req.Session] = true
	if w.cancel == nil && !w.stopped {
		watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
		w.cancel = cancel
		w.running.Go(func() { w.run(watch, last) })
	}
	return nil
}

func (w *watcher) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	if req.Params.URI == PendingURI {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.sessions, req.Session)
	}
	return nil
}

// stop ends the watching for good.
func (w *watcher) stop() {
	w.mu.Lock()
	w.stopped = true
	if w.cancel != nil {
		w.cancel()
	}
	w.mu.Unlock()
	w.running.Wait()
}

// run looks at the revision again and again until nobody is subscribed.
func (w *watcher) run(ctx context.Context, last int64) {
	tick := time.NewTicker(w.s.WatchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.idle() {
			return
		}
		now, err := w.s.Registry.Revision(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.s.Log.Warn().Err(err).Msg("read revision")
		case now != last:
			last = now
			if err := w.s.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: PendingURI}); err != nil {
				w.s.Log.Warn().Err(err).Msg("tell subscribers")
			}
		}
	}
}

// idle forgets the sessions that are gone, and reports whether none is left; then the
// next subscriber starts the watching anew.
func (w *watcher) idle() bool {
	live := slices.Collect(w.s.mcp.Sessions())
	w.mu.Lock()
	defer w.mu.Unlock()
	for session := range w.sessions {
		if !slices.Contains(live, session) {
			delete(w.sessions, session)
		}
	}
	if len(w.sessions) > 0 {
		return false
	}
	w.cancel()
	w.cancel = nil
	return true
}
