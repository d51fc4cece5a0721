package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// keyLocks let one request at a time work under an idempotency key of a caller: the
// second of two that come together then finds what the first has done.
type keyLocks struct {
	mu   sync.Mutex
	held map[scopedKey]chan struct{} // guarded by mu; closed when the key is free
}

type scopedKey struct {
	scope a2a.Scope
	key   string
}

// enter waits for the key and takes it until leave is called.
func (l *keyLocks) enter(scope a2a.Scope, key string) (leave func()) {
	k := scopedKey{scope, key}
	for {
		l.mu.Lock()
		busy := l.held[k]
		if busy == nil {
			break
		}
		l.mu.Unlock()
		<-busy
	}
	defer l.mu.Unlock()
	free := make(chan struct{})
	if l.held == nil {
		l.held = make(map[scopedKey]chan struct{})
	}
	l.held[k] = free
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, k)
		close(free)
	}
}

// repeated answers a message to a task that was sent before under the same key: with
// the task as it is now. It reports false for one that was not.
func (e *Engine) repeated(ctx context.Context, scope a2a.Scope, req *a2a.SendRequest, watch int) (accepted, bool, error) {
	t, err := e.store.Keyed(ctx, scope, keyOf(req))
	switch {
	case isNotFound(err):
		return accepted{}, false, nil
	case errors.Is(err, taskstore.ErrIdempotency):
		return accepted{}, false, idempotencyConflict()
	case err != nil:
		return accepted{}, false, storeError(err, req.TaskID)
	}
	acc, err := e.join(ctx, scope, t.ID, watch)
	return acc, true, err
}

// keyOf is the key of a message to a task; the zero Key without one. As with new
// tasks, the message's id does not count.
func keyOf(req *a2a.SendRequest) taskstore.Key {
	if req.IdempotencyKey == "" {
		return taskstore.Key{}
	}
	h := sha256.New()
	// Writing to a hash cannot fail, and these types always marshal.
	_ = json.NewEncoder(h).Encode([]any{"task", req.TaskID, req.ContextID, req.Message.Parts, req.Message.Metadata, req.Message.Request})
	return taskstore.Key{Key: req.IdempotencyKey, Fingerprint: hex.EncodeToString(h.Sum(nil)[:16])}
}

func idempotencyConflict() error {
	return &a2a.Error{Code: a2a.CodeIdempotencyConflict, Message: "Idempotency-Key was used for a different request; use a new key."}
}
