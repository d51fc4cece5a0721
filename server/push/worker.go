// Package push tells clients' webhooks what happens to their tasks.
//
// A Worker takes push configs that are behind their task's log from the store and
// delivers the events, status and artifact updates, one after the other per
// config and in parallel otherwise. A delivery that fails is tried again later; one
// that is given up is kept as a dead letter. The store holds all of the state, so a
// process that ends between two steps delivers late, and perhaps twice under the
// same id, but never not at all.
//
// A guard.Guard decides what may be called at all.
//
// What it refuses: addresses of private networks (unless allowed), redirects,
// proxies, and telling anybody but the webhook about its secrets.
package push

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/guard"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/wire"
)

// Store is what a Worker needs of the task store.
type Store interface {
	ClaimPush(ctx context.Context, id a2a.TaskID, now, until time.Time, limit int) ([]taskstore.PushJob, error)
	FinishPush(ctx context.Context, j taskstore.PushJob, o taskstore.PushOutcome) error
	Task(ctx context.Context, scope a2a.Scope, id a2a.TaskID) (*a2a.Task, error)
	Events(ctx context.Context, scope a2a.Scope, id a2a.TaskID, after int64, limit int) ([]a2a.Event, error)
}

// Options of a Worker. Zero values take the defaults named at the fields.
type Options struct {
	// Store holds the tasks and the push configs. Required.
	Store Store
	// Dialects shape the deliveries. Required.
	Dialects *wire.Dialects
	// Guard makes the HTTP client. Required.
	Guard *guard.Guard
	// Workers is how many deliveries are under way at once, default 64, and PerHost
	// how many of them to one host, default 8.
	Workers, PerHost int
	// Timeout is how long a webhook may take to answer; default 15 s.
	Timeout time.Duration
	// Attempts is how often a delivery is tried before it is a dead letter; default
	// 10.
	Attempts int
	// RetryFirst is the pause after the first failure, default 1 s. It doubles with
	// each further one up to RetryMax, default 10 min. A webhook that asks for a
	// longer pause (Retry-After) gets it, up to RetryMax.
	RetryFirst, RetryMax time.Duration
	// Secrets sign the deliveries (Standard Webhooks), each of them: "whsec_" and
	// base64 of 24 to 64 bytes.
	Secrets []string
	// Version is the program's, for the User-Agent.
	Version string
	// Every is how often the store is asked for what is due; default 1 s. New events
	// do not wait for it.
	Every time.Duration
	// MaxWaiting is how many jobs may wait in memory for their host; default 10000.
	// More of them stay in the store.
	MaxWaiting int
	Log        zerolog.Logger
}

func (o *Options) defaults() {
	count := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	span := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	count(&o.Workers, 64)
	count(&o.PerHost, 8)
	count(&o.Attempts, 10)
	count(&o.MaxWaiting, 10_000)
	span(&o.Timeout, 15*time.Second)
	span(&o.RetryFirst, time.Second)
	span(&o.RetryMax, 10*time.Minute)
	span(&o.Every, time.Second)
}

func (o *Options) validate() error {
	var errs []error
	if o.Store == nil || o.Dialects == nil || o.Guard == nil {
		errs = append(errs, errors.New("store, dialects and guard are required"))
	}
	if min(o.Workers, o.PerHost, o.Attempts, o.MaxWaiting) < 0 || min(o.Timeout, o.RetryFirst, o.RetryMax, o.Every) < 0 {
		errs = append(errs, errors.New("limits must not be negative"))
	}
	return errors.Join(errs...)
}

// leaseMargin is how much longer than one attempt a job is claimed for. What is
// left of a claim after an attempt is used for further events of the same config.
const leaseMargin = 5 * time.Second

// Worker delivers. Its methods are safe for concurrent use.
type Worker struct {
	o       Options
	client  *http.Client
	signers []*standardwebhooks.Webhook
	agent   string

	wake   chan struct{}
	looped chan struct{} // closed when the loop has ended
	runs   sync.WaitGroup
	// stopTaking ends the loop, and runs after their present attempt; cutOff ends
	// attempts.
	stopTaking, cutOff context.CancelCauseFunc

	mu       sync.Mutex
	notified map[a2a.TaskID]struct{} // guarded by mu; tasks to look at
	queue    queue                   // guarded by mu
}

// errStopping is why contexts end when the worker stops.
var errStopping = errors.New("push worker is stopping")

// New makes a Worker. Nothing happens before Start.
func New(o Options) (*Worker, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("set up push: %w", err)
	}
	o.defaults()
	w := &Worker{
		o: o, client: newClient(o.Guard, o.PerHost), agent: "Skillyard",
		wake: make(chan struct{}, 1), looped: make(chan struct{}),
		notified: make(map[a2a.TaskID]struct{}), queue: newQueue(o.Workers, o.PerHost),
	}
	if o.Version != "" {
		w.agent += "/" + o.Version
	}
	for i, secret := range o.Secrets {
		s, err := signer(secret)
		if err != nil {
			return nil, fmt.Errorf("set up push: secret %d: %w", i+1, err)
		}
		w.signers = append(w.signers, s)
	}
	return w, nil
}

// signer makes the signer of a secret. Errors do not show it.
func signer(secret string) (*standardwebhooks.Webhook, error) {
	const shortest, longest = 24, 64
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < shortest || len(key) > longest {
		return nil, fmt.Errorf("must be whsec_ and base64 of %d to %d bytes", shortest, longest)
	}
	return standardwebhooks.NewWebhookRaw(key)
}

// Start begins to deliver. It is called once.
func (w *Worker) Start() {
	taking, stopTaking := context.WithCancelCause(context.Background())
	working, cutOff := context.WithCancelCause(context.Background())
	w.stopTaking, w.cutOff = stopTaking, cutOff
	go w.loop(taking, working)
}

// Notify says that there may be something to deliver for a task. It never blocks.
func (w *Worker) Notify(id a2a.TaskID) {
	w.mu.Lock()
	w.notified[id] = struct{}{}
	w.mu.Unlock()
	w.poke()
}

// poke makes the loop look around.
func (w *Worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // it will anyway
	}
}

// Stop takes no further jobs, waits for attempts under way until ctx is done, then
// cuts them off. Everything not delivered is left to the next Worker of the store.
func (w *Worker) Stop(ctx context.Context) error {
	if w.stopTaking == nil {
		return nil // never started
	}
	w.stopTaking(errStopping)
	<-w.looped
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.runs.Wait()
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = fmt.Errorf("stop push: attempts were cut off: %w", context.Cause(ctx))
	}
	w.cutOff(errStopping)
	<-ended
	w.handBack()
	w.client.CloseIdleConnections()
	return err
}

// handBackTime bounds how long a stop takes beyond the time it was given.
const handBackTime = time.Second

// handBack makes the jobs that have not begun due again at once. Those that the
// time does not suffice for are due when their claim ends.
func (w *Worker) handBack() {
	w.mu.Lock()
	waiting := w.queue.waiting()
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), handBackTime)
	defer cancel()
	for _, j := range waiting {
		if ctx.Err() != nil {
			return
		}
		w.finish(ctx, j, j.outcome(time.Now()))
	}
}

// claimBatch is how many jobs are claimed at once.
const claimBatch = 100

// loop is the one goroutine that claims and starts jobs.
func (w *Worker) loop(taking, working context.Context) {
	defer close(w.looped)
	tick := time.NewTicker(w.o.Every)
	defer tick.Stop()
	w.claim(taking, "")
	for {
		w.startJobs(taking, working)
		select {
		case <-taking.Done():
			return
		case <-tick.C:
			w.claim(taking, "")
		case <-w.wake:
		}
		for id := range w.takeNotified() {
			w.claim(taking, id)
		}
	}
}

func (w *Worker) takeNotified() map[a2a.TaskID]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := w.notified
	w.notified = make(map[a2a.TaskID]struct{})
	// A job under way may have read the log already.
	for id := range ids {
		w.queue.again(id)
	}
	return ids
}

// claim takes up what is due, of one task or, for "", of any.
func (w *Worker) claim(ctx context.Context, id a2a.TaskID) {
	for more := true; more && ctx.Err() == nil; {
		if id == "" && w.full() {
			return
		}
		jobs, err := w.take(ctx, id)
		if err != nil {
			w.claimFailed(ctx, id, err)
		}
		more = len(jobs) == claimBatch
		w.mu.Lock()
		for _, j := range jobs {
			w.queue.add(j)
		}
		w.mu.Unlock()
	}
}

// claimFailed remembers the task: an event does not make its configs due by itself.
func (w *Worker) claimFailed(ctx context.Context, id a2a.TaskID, err error) {
	if ctx.Err() != nil {
		return
	}
	w.o.Log.Error().Err(err).Msg("claim push jobs")
	if id != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notified[id] = struct{}{} // without a poke, so that the next tick tries again
	}
}

func (w *Worker) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.count >= w.o.MaxWaiting
}

// take claims one batch.
func (w *Worker) take(ctx context.Context, id a2a.TaskID) ([]*job, error) {
	now := time.Now().UTC()
	until := now.Add(w.o.Timeout + leaseMargin)
	claimed, err := w.o.Store.ClaimPush(ctx, id, now, until, claimBatch)
	if err != nil {
		return nil, err
	}
	jobs := make([]*job, len(claimed))
	for i, c := range claimed {
		jobs[i] = &job{PushJob: c, until: until, host: hostOf(c.Config.URL)}
	}
	return jobs, nil
}

// startJobs starts what may run now.
func (w *Worker) startJobs(taking, working context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for taking.Err() == nil {
		j := w.queue.next()
		if j == nil {
			return
		}
		w.runs.Add(1)
		go w.run(taking, working, j)
	}
}

// run works on a job until it is over, or its claim.
func (w *Worker) run(taking, working context.Context, j *job) {
	defer w.runs.Done()
	defer w.poke()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.queue.done(j) {
			w.notified[j.Config.TaskID] = struct{}{}
		}
	}()
	if !w.fits(j) && !w.renew(working, j) {
		return
	}
	w.deliver(taking, working, j)
}

// fits reports whether an attempt would end before the job's claim does.
func (w *Worker) fits(j *job) bool { return time.Until(j.until) >= w.o.Timeout }

// renew claims a job that had to wait for long once more. It reports false if
// somebody else has it now.
func (w *Worker) renew(ctx context.Context, j *job) bool {
	if !w.finish(ctx, j, j.outcome(time.Now())) {
		return false
	}
	claimed, err := w.take(ctx, j.Config.TaskID)
	if err != nil {
		w.o.Log.Error().Err(err).Msg("claim push jobs")
	}
	found := false
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range claimed {
		if c.Row == j.Row {
			j.PushJob, j.until, found = c.PushJob, c.until, true
		} else {
			w.queue.add(c)
		}
	}
	return found
}
