// Package engine turns requests into durable runs of skills.
//
// It owns the life of a task: it picks the skill, stores the task, runs the
// skill under a lease, folds what the skill emits into the log, and lets callers
// wait on that log. Every binding and every dialect calls the operations here
// (Send, Get, List, Cancel) and nothing else; the engine knows no HTTP and no
// wire form.
//
// Every run is a leased row in the store, also one that a blocking call waits
// for, so a crash needs no special code: the lease expires and the run is taken
// up again, or ended with a reason when its skill may not be repeated.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
)

// Options of an Engine. Zero values take the defaults named at the fields.
type Options struct {
	// Store keeps the tasks. Required; the engine does not close it.
	Store taskstore.Store
	// Skills are the skills there are. Required.
	Skills *skills.Set
	Log    zerolog.Logger
	// Lease is how long a run is safe from being taken up by somebody else after
	// its process was last heard of; default 30 s. It is renewed at a third of it.
	Lease time.Duration
	// CancelGrace is how long a cancelled or timed-out skill may take to return
	// before it is let go and its slot is given to the next; default 5 s.
	CancelGrace time.Duration
	// Retention is how long ended tasks are kept; 0 keeps them for ever.
	Retention time.Duration
	// PruneEvery is how often ended tasks are looked through; default 1 min.
	PruneEvery time.Duration
	// FlushAfter is how long events of a run may wait to be written together;
	// default 1 ms. States that end a call are written at once.
	FlushAfter time.Duration
	// FlushEvery is the shortest time between two writes of a run that emits
	// many small events; default 20 ms.
	FlushEvery time.Duration
	// Extensions are those that clients can activate; one that is required is asked of
	// every message.
	Extensions a2a.Extensions
	// Push lets clients register webhooks; nil does not.
	Push *PushOptions
	// MaxPending is how many bytes of events a run may have waiting to be
	// written before it is slowed down; default 1 MiB.
	MaxPending int64
}

// stoppingRetry is what clients are told to wait when the server is stopping.
const stoppingRetry = 5 * time.Second

func (o *Options) validate() error {
	var errs []error
	if o.Store == nil {
		errs = append(errs, errors.New("no store"))
	}
	if o.Skills == nil {
		errs = append(errs, errors.New("no skills"))
	}
	for name, d := range map[string]time.Duration{
		"lease": o.Lease, "cancel grace": o.CancelGrace, "retention": o.Retention,
		"prune interval": o.PruneEvery, "flush delay": o.FlushAfter, "flush interval": o.FlushEvery,
	} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s is negative", name))
		}
	}
	return errors.Join(errs...)
}

func (o *Options) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.Lease, 30*time.Second)
	set(&o.CancelGrace, 5*time.Second)
	set(&o.PruneEvery, time.Minute)
	set(&o.FlushAfter, time.Millisecond)
	set(&o.FlushEvery, 20*time.Millisecond)
	if o.MaxPending == 0 {
		o.MaxPending = 1 << 20
	}
	if o.Push != nil && o.Push.Max == 0 {
		o.Push.Max = 10
	}
}

// Engine runs skills. It is safe for concurrent use.
type Engine struct {
	opts   Options
	store  taskstore.Store
	skills *skills.Set
	log    zerolog.Logger
	holder string // this process, in leases
	hub    *hub
	lanes  map[a2a.SkillID]*lane
	tokens tokenKey
	pushed pushed
	keys   keyLocks

	mu       sync.Mutex
	runs     map[a2a.TaskID]*run // guarded by mu; running in this process
	draining bool                // guarded by mu; no new runs

	released  chan struct{} // closed when blocking calls should stop waiting
	work      sync.WaitGroup
	stopLoops context.CancelFunc
	loops     sync.WaitGroup
}

// New makes an engine. Nothing runs before Start.
func New(o Options) (*Engine, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("engine options: %w", err)
	}
	o.defaults()
	e := &Engine{
		opts: o, store: o.Store, skills: o.Skills, log: o.Log,
		holder: uuid.NewString(), hub: newHub(),
		lanes: make(map[a2a.SkillID]*lane), tokens: tokenKey(o.Store.Secret()),
		runs: make(map[a2a.TaskID]*run), released: make(chan struct{}),
	}
	for _, entry := range o.Skills.All() {
		e.lanes[entry.Info.ID] = &lane{entry: entry}
	}
	return e, nil
}

// Start begins to renew leases, to prune, and to take up the runs that an
// earlier process left. It returns at once; ctx ends nothing (use Stop).
func (e *Engine) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopLoops = cancel
	e.loops.Go(func() { e.leaseLoop(ctx) })
	if e.opts.Retention > 0 {
		e.loops.Go(func() { e.pruneLoop(ctx) })
	}
	if e.opts.Push != nil {
		e.loops.Go(func() { e.loadPushed(ctx) })
	}
}

// Stop refuses new work, lets runs end until ctx is done, then cancels the rest
// with skills.ErrStopping and hands them back to the queue, so that the next
// process takes them up (or ends them, when their skill may not be repeated).
// Runs that do not return within the cancel grace are left behind.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	if e.draining {
		e.mu.Unlock()
		return nil
	}
	e.draining = true
	e.mu.Unlock()

	ended := make(chan struct{})
	e.loops.Go(func() { e.work.Wait(); close(ended) })
	var late error
	select {
	case <-ended:
		close(e.released)
	case <-ctx.Done():
		e.mu.Lock()
		for _, r := range e.runs {
			r.stop(skills.ErrStopping)
		}
		e.mu.Unlock()
		close(e.released)
		// A run that ignores its cancellation is abandoned after the grace, which
		// ends its part in e.work; the second makes the bound safe.
		timer := time.NewTimer(e.opts.CancelGrace + time.Second)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
			late = errors.New("runs did not end in time")
		}
	}
	if e.stopLoops != nil {
		e.stopLoops()
	}
	if late == nil {
		e.loops.Wait()
	}
	return late
}

// begin registers a run. It reports false when the engine is stopping.
func (e *Engine) begin(r *run) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return false
	}
	e.runs[r.id()] = r
	e.work.Add(1)
	return true
}

// enter counts work that is not a run yet. It reports false when the engine is
// stopping; else the caller must call e.work.Done.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return false
	}
	e.work.Add(1)
	return true
}

// end forgets a run.
func (e *Engine) end(r *run) {
	e.mu.Lock()
	if e.runs[r.id()] == r {
		delete(e.runs, r.id())
	}
	e.mu.Unlock()
	e.work.Done()
}

// running returns the run of the task in this process, or nil.
func (e *Engine) running(id a2a.TaskID) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

func (e *Engine) isDraining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

func isNotFound(err error) bool { return errors.Is(err, taskstore.ErrNotFound) }
func isClosed(err error) bool   { return errors.Is(err, taskstore.ErrClosed) }

// newID makes an id that sorts by time, which keeps the store's index appending.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
