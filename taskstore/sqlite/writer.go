package sqlite

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/skillyard/skillyard/taskstore"
)

// op is one step for the writer.
type op struct {
	// run writes the step inside a transaction. A refusal is the outcome of this
	// step only and means that run changed nothing; err is the database's and
	// fails the transaction. run may be called again after that.
	run func(c *conn) (refusal, err error)
	// done is called once with the outcome, after the commit.
	done func(error)
	// lease is the lease that the step is written under, if any: when the step
	// fails, so do later ones of the lease.
	lease taskstore.Lease
	// heals is the row that changes hands by the step, so that the failure of an
	// older lease does not matter any more.
	heals int64
}

// writer is the one goroutine that writes.
type writer struct {
	conn  *conn
	limit int

	// failing says that the last transaction could not be written.
	failing atomic.Bool

	mu      sync.Mutex
	pending []op // guarded by mu
	closed  bool // guarded by mu

	wake    chan struct{}
	stopped chan struct{}

	// The rest belongs to the goroutine.

	lastNo   int64    // the number of the newest task; numbers are never used again
	broken   leaseSet // leases of which a step failed
	outcomes []error  // of the present batch
}

// leaseSet is a set of leases: the fence by row.
type leaseSet map[int64]int64

func (s leaseSet) has(l taskstore.Lease) bool {
	fence, ok := s[l.Row]
	return ok && fence == l.Fence
}

func newWriter(c *conn, limit int, lastNo int64) *writer {
	w := &writer{
		conn: c, limit: limit, lastNo: lastNo, broken: leaseSet{},
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	go w.loop()
	return w
}

// enqueue hands a step to the writer. It never blocks, so that callbacks may
// call it.
func (w *writer) enqueue(o op) {
	w.mu.Lock()
	closed := w.closed
	if !closed {
		w.pending = append(w.pending, o)
	}
	w.mu.Unlock()
	if closed {
		o.done(taskstore.ErrClosed)
		return
	}
	w.signal()
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it is awake already
	}
}

// stop refuses further steps and returns when those that wait are written.
func (w *writer) stop() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.stopped
}

func (w *writer) loop() {
	defer close(w.stopped)
	var spare []op
	for {
		w.mu.Lock()
		batch, closed := w.pending, w.closed
		if len(batch) > 0 {
			w.pending = spare // the two lists take turns
		}
		w.mu.Unlock()
		if len(batch) == 0 {
			if closed {
				return
			}
			<-w.wake
			continue
		}
		for rest := batch; len(rest) > 0; {
			n := min(len(rest), w.limit)
			w.commit(rest[:n])
			rest = rest[n:]
		}
		clear(batch)
		spare = batch[:0]
	}
}

// commit writes the steps in one transaction and tells their outcomes.
func (w *writer) commit(batch []op) {
	err := w.transact(batch)
	if err != nil && len(batch) > 1 && !diskTrouble(err) {
		// One of them is not to the database's taste; the others shall not suffer.
		for i := range batch {
			w.commit(batch[i : i+1])
		}
		return
	}
	w.failing.Store(err != nil)
	for i := range batch {
		o, outcome := &batch[i], err
		if err == nil {
			outcome = w.outcomes[i]
		}
		switch {
		case outcome == nil && o.heals != 0:
			delete(w.broken, o.heals)
		case outcome != nil && o.lease.Row != 0 && !errors.Is(outcome, taskstore.ErrLeaseLost):
			w.broken[o.lease.Row] = o.lease.Fence
		}
		o.done(outcome)
	}
}

// transact runs the steps and commits. Without an error the steps' own outcomes
// are in w.outcomes; with one, nothing was written.
func (w *writer) transact(batch []op) (err error) {
	defer func() {
		if err != nil {
			// SQLite has often rolled back by itself, then this one fails.
			_, _ = w.conn.exec("ROLLBACK")
			err = fmt.Errorf("write to database: %w", err)
		}
	}()
	if _, err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.outcomes = w.outcomes[:0]
	var broken leaseSet // by this batch
	for i := range batch {
		o := &batch[i]
		if w.broken.has(o.lease) || broken.has(o.lease) {
			w.outcomes = append(w.outcomes, errBrokenLease)
			continue
		}
		refusal, err := o.run(w.conn)
		if err != nil {
			return err
		}
		if refusal != nil && o.lease.Row != 0 {
			if broken == nil {
				broken = leaseSet{}
			}
			broken[o.lease.Row] = o.lease.Fence
		}
		w.outcomes = append(w.outcomes, refusal)
	}
	_, err = w.conn.exec("COMMIT")
	return err
}

// errBrokenLease refuses what follows a failed step: written without it, the log
// would have a hole.
var errBrokenLease = fmt.Errorf("%w: an earlier step failed", taskstore.ErrLeaseLost)

// diskTrouble tells whether the error concerns the database as a whole, so that
// trying the steps one by one would help none of them.
func diskTrouble(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB, codes.SQLITE_READONLY,
		codes.SQLITE_CANTOPEN, codes.SQLITE_NOMEM, codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_PROTOCOL:
		return true
	}
	return false
}
