package pending

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/skillyard/skillyard/a2a"
)

// Options configure a Registry. Zero values take the defaults named there.
type Options struct {
	// Path is the registry's file; it and its directory are made when missing, for
	// this user only. Required.
	Path string
	// Busy is how long a change waits for those of other processes; default 10 s.
	Busy time.Duration
}

// Registry is the pending registry in one file. It is safe for concurrent use, by any
// number of processes.
type Registry struct {
	db  *sql.DB
	now func() time.Time
}

// Open opens the registry, makes it when it is missing, and brings it to the schema of
// this program. It refuses a file that is no database, one of another program, and one
// that a newer program has changed.
func Open(ctx context.Context, o Options) (*Registry, error) {
	if o.Path == "" {
		return nil, errors.New("open pending registry: path is missing")
	}
	if o.Busy == 0 {
		o.Busy = 10 * time.Second
	}
	r, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open pending registry %s: %w", o.Path, err)
	}
	return r, nil
}

func open(ctx context.Context, o Options) (*Registry, error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, err
	}
	if err := touch(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, o.Busy))
	if err != nil {
		return nil, err
	}
	// One connection: calls of this process wait for each other in the pool, which is
	// fair and heeds contexts, and not in SQLite's lock, which sleeps and tries again.
	db.SetMaxOpenConns(1)
	if err := prepare(ctx, db, o.Busy); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Registry{db: db, now: a2a.Now}, nil
}

// Close waits for the calls under way and closes the file.
func (r *Registry) Close() error { return r.db.Close() }

// touch makes the file, so that it gets the narrow permissions that SQLite then gives
// to the files it puts beside it.
func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn names the file and what holds on its connection: a commit is on disk when it
// returns, and what is deleted is overwritten.
func dsn(path string, busy time.Duration) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/… on Windows
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "synchronous(FULL)", "secure_delete(1)",
	}}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	return u.String()
}
