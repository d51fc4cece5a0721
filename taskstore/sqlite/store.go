// Package sqlite is the task store in one SQLite file, the default.
//
// # Writing
//
// One goroutine writes. It takes whatever steps wait, runs them in one
// transaction and calls back after the commit (group commit): while one batch is
// being synced to disk the next one gathers, so that a sync is shared by all the
// tasks of the moment. A step that is refused (lease lost, id taken) is found
// out before it changes anything, so it costs the others of its batch nothing.
// Encoding, decoding and Update's decide run in the caller's goroutine; only an
// Update that lost several races in a row runs inside the writer.
//
// # Reading
//
// Readers have connections of their own and see the last commit; in WAL mode
// they neither wait for the writer nor hold it up.
//
// # What is stored
//
// Per task one small row and the log; the snapshot is the fold of the log. It is
// stored only for longer logs, where folding would cost more than reading it.
//
// With Synchronous FULL, the default, what was acknowledged survives the loss of
// power; with NORMAL it survives the death of the process. If the disk fails or
// is full, the steps concerned fail, their leases can write no more, and the
// store tries again with the next ones.
//
// One process at a time uses a file; a second one is refused by name.
package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"modernc.org/sqlite"

	"github.com/skillyard/skillyard/taskstore"
)

// Options configure a Store. Zero values take the defaults named there.
type Options struct {
	// Path is the database file; it and its directory are made when missing, for
	// this user only. Required.
	Path string
	// Synchronous is when commits are synced to disk: "FULL" (default) at every
	// commit; "NORMAL" from time to time, so that the loss of power may take the
	// last commits with it.
	Synchronous string
	// Readers is how many reads run at once; default 4 or the number of
	// processors, whichever is more.
	Readers int
	// BatchLimit is how many steps share one transaction at most; default 512.
	BatchLimit int
	// Checkpoint is after how many pages of 4 KiB the write-ahead log is written
	// back to the database; default 1000. Fewer sync more often, more make the
	// single pause longer: 4000 are no faster and have twice the p99 of a write.
	Checkpoint int
}

func (o Options) withDefaults() Options {
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	o.Synchronous = strings.ToUpper(o.Synchronous)
	if o.Readers == 0 {
		o.Readers = max(4, runtime.GOMAXPROCS(0))
	}
	if o.BatchLimit == 0 {
		o.BatchLimit = 512
	}
	if o.Checkpoint == 0 {
		o.Checkpoint = 1000
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Path == "" {
		errs = append(errs, errors.New("path is missing"))
	}
	if o.Synchronous != "FULL" && o.Synchronous != "NORMAL" {
		errs = append(errs, fmt.Errorf("synchronous is %q, want FULL or NORMAL", o.Synchronous))
	}
	for name, n := range map[string]int{"readers": o.Readers, "batch limit": o.BatchLimit, "checkpoint": o.Checkpoint} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("%s is %d, want 1 or more", name, n))
		}
	}
	return errors.Join(errs...)
}

// Store is a taskstore.Store in a SQLite file.
type Store struct {
	path    string
	lock    *os.File
	secret  []byte
	writer  *writer
	readDSN string
	// readers holds the idle read connections; nil ones are dialed when needed.
	readers chan *conn

	closeOnce sync.Once
	closing   chan struct{} // closed when Close begins
}

var _ taskstore.Store = (*Store)(nil)

// Open opens the database, makes or migrates it, and starts the writer. Leases
// found in the file belong to a process that is dead, since the file is locked:
// they end at once, so that Store.Open returns their runs.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(ctx, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open task store: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, o Options) (_ *Store, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, err
	}
	if err := touch(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, closing: make(chan struct{}), readers: make(chan *conn, o.Readers)}
	if s.lock, err = lock(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.lock.Close()
		}
	}()
	// Data and file length reach the disk as with fsync; only the file's times,
	// which nobody reads, are not waited for. Where there is no such call the
	// setting stays off.
	sqlite.Fdatasync(true)

	common := []string{"busy_timeout(5000)", "temp_store(MEMORY)"}
	write, err := dial(dsn(path, append(common, "journal_mode(WAL)", "synchronous("+o.Synchronous+")",
		fmt.Sprintf("wal_autocheckpoint(%d)", o.Checkpoint),
		"journal_size_limit(67108864)")...)) // a log that a long read made longer is cut back to 64 MiB
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, write.close())
		}
	}()
	// With the writer connected, since the last connection to close writes back
	// the write-ahead log, which a start has no time for.
	if err := migrate(ctx, dsn(path, append(common, "synchronous(FULL)")...)); err != nil {
		return nil, fmt.Errorf("migrate %s: %w", path, err)
	}
	last, err := s.recover(ctx, write)
	if err != nil {
		return nil, err
	}
	s.readDSN = dsn(path, append(common, "query_only(1)")...)
	for range o.Readers {
		s.readers <- nil
	}
	s.writer = newWriter(write, o.BatchLimit, last)
	return s, nil
}

// touch makes the database file, so that it gets the narrow permissions that
// SQLite then gives to the files it puts beside it.
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

// recover reads what the store keeps in memory and ends the leases of the
// process that died. It returns the number of the last task.
func (s *Store) recover(ctx context.Context, c *conn) (last int64, err error) {
	fresh := make([]byte, 32)
	rand.Read(fresh) // never fails
	if _, err := c.exec(sqlInitSecret, fresh); err != nil {
		return 0, err
	}
	if err := c.query(ctx, func(row row) error { s.secret = blob(row[0]); return nil }, sqlSecret); err != nil {
		return 0, err
	}
	if len(s.secret) != len(fresh) {
		return 0, fmt.Errorf("%s: the secret has %d bytes, want %d", s.path, len(s.secret), len(fresh))
	}
	if _, err := c.exec(sqlExpireLeases); err != nil {
		return 0, err
	}
	if _, err := c.exec(sqlEndPushes); err != nil {
		return 0, err
	}
	err = c.query(ctx, func(row row) error { last = integer(row[0]); return nil }, sqlLastTask)
	return last, err
}

// Secret returns the random bytes kept in the database.
func (s *Store) Secret() []byte { return append([]byte(nil), s.secret...) }

// Ping reads, and after a write that failed it tries one.
func (s *Store) Ping(ctx context.Context) error {
	err := s.read(ctx, func(c *conn) error {
		return c.query(ctx, func(row) error { return nil }, sqlSecret)
	})
	if err == nil && s.writer.failing.Load() {
		err = s.do(op{run: func(c *conn) (error, error) { _, err := c.exec(sqlProbe); return nil, err }})
	}
	if err != nil {
		return fmt.Errorf("ping task store: %w", err)
	}
	return nil
}

// Close waits for the steps that were asked for and the reads under way, then
// closes the file. Steps asked for by the last callbacks are refused.
func (s *Store) Close() error {
	err := taskstore.ErrClosed
	s.closeOnce.Do(func() {
		close(s.closing)
		s.writer.stop()
		err = nil
		for range cap(s.readers) {
			if c := <-s.readers; c != nil {
				err = errors.Join(err, c.close())
			}
		}
		// Last, since the last connection to close writes back and removes the
		// write-ahead log.
		err = errors.Join(err, s.writer.conn.close(), s.lock.Close())
	})
	return err
}

// read calls f with a connection that sees the last commit.
func (s *Store) read(ctx context.Context, f func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *conn
	select {
	case <-s.closing:
		return taskstore.ErrClosed
	default:
	}
	select {
	case c = <-s.readers:
	case <-s.closing:
		return taskstore.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.readers <- c }()
	if c == nil {
		var err error
		if c, err = dial(s.readDSN); err != nil {
			return err
		}
	}
	return f(c)
}

// view is read for several queries that have to see the same commit.
func (s *Store) view(ctx context.Context, f func(c *conn) error) error {
	return s.read(ctx, func(c *conn) error {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		if _, end := c.exec("COMMIT"); end != nil {
			// Without a commit the connection would show this moment for ever.
			_, _ = c.exec("ROLLBACK")
			return errors.Join(err, end)
		}
		return err
	})
}
