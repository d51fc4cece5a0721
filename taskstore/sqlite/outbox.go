package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Outbox is the push outbox of a database that a server may have open at the same
// time: what an operator looks at and mends. It takes no lock on the file beyond
// those of SQLite itself, and its writes are small transactions between the server's.
type Outbox struct {
	store *Store
	mu    sync.Mutex
	conn  *conn // guarded by mu; for writes
}

// OpenOutbox opens the outbox of an existing database. The database must have the
// schema of this program; it is not migrated. The caller must Close it.
func OpenOutbox(ctx context.Context, path string) (*Outbox, error) {
	o, err := openOutbox(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	return o, nil
}

func openOutbox(ctx context.Context, path string) (*Outbox, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	const wait = "busy_timeout(5000)"
	s := &Store{path: path, closing: make(chan struct{}), readers: make(chan *conn, 1)}
	s.readDSN = dsn(path, wait, "query_only(1)")
	s.readers <- nil
	if err := checkSchema(ctx, s.readDSN); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c, err := dial(dsn(path, wait, "synchronous(FULL)"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Outbox{store: s, conn: c}, nil
}

// Pushing returns push configs with their state; see taskstore.Pushes.
func (o *Outbox) Pushing(ctx context.Context, limit int) ([]taskstore.PushJob, error) {
	return o.store.Pushing(ctx, limit)
}

// DeadPushes returns deliveries that were given up; see taskstore.Pushes.
func (o *Outbox) DeadPushes(ctx context.Context, id a2a.TaskID, limit int) ([]taskstore.DeadPush, error) {
	return o.store.DeadPushes(ctx, id, limit)
}

// RevivePush makes dead letters due again; see taskstore.Pushes. A server that runs
// finds them at its next look for due deliveries.
func (o *Outbox) RevivePush(_ context.Context, id a2a.TaskID, config string) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return 0, fmt.Errorf("revive pushes: %w", err)
	}
	n, err = revivePushes(o.conn, id, config)
	if err == nil {
		_, err = o.conn.exec("COMMIT")
	}
	if err != nil {
		_, rollback := o.conn.exec("ROLLBACK")
		return 0, fmt.Errorf("revive pushes: %w", errors.Join(err, rollback))
	}
	return n, nil
}

// Close closes the outbox.
func (o *Outbox) Close() error {
	close(o.store.closing)
	err := o.conn.close()
	if c := <-o.store.readers; c != nil {
		err = errors.Join(err, c.close())
	}
	return err
}
