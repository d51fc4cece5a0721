package push

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/wire"
)

// delivery is one message to a webhook.
type delivery struct {
	// seq is the number of the event it is due to, through that of the last event
	// that need not be told of after it.
	seq, through int64
	id           string
	contentType  string
	body         []byte
}

// deliver makes a job's deliveries one after the other, until there is none left,
// one has to wait, or the claim ends. Each step is stored before the next.
func (w *Worker) deliver(taking, working context.Context, j *job) {
	d := w.o.Dialects.ByName(j.Config.Dialect)
	if d == nil || d.Push == nil {
		w.disable(working, j, 0, "no dialect "+strconv.Quote(j.Config.Dialect))
		return
	}
	f := &feed{store: w.o.Store, job: j, form: d.Push, read: j.Cursor}
	for {
		next, err := f.next(working)
		switch {
		case errors.Is(err, taskstore.ErrNotFound):
			return // the task is gone, and its configs with it
		case working.Err() != nil:
			w.finish(working, j, j.outcome(time.Now()))
			return
		case err != nil:
			w.o.Log.Error().Err(err).Str("task_id", string(j.Config.TaskID)).Msg("read what to push")
			w.finish(working, j, j.outcome(time.Now().Add(w.o.RetryFirst)))
			return
		case next == nil:
			w.finish(working, j, j.outcome(time.Now()))
			return
		case taking.Err() != nil || !w.fits(j):
			if w.finish(working, j, j.outcome(time.Now())) {
				w.Notify(j.Config.TaskID)
			}
			return
		}
		if !w.step(working, j, f, next) {
			return
		}
	}
}

// step makes one attempt and stores what came of it. It reports whether the job
// goes on.
func (w *Worker) step(ctx context.Context, j *job, f *feed, d *delivery) bool {
	r := w.attempt(ctx, &j.Config, d)
	if r.kind == cutShort {
		w.finish(ctx, j, j.outcome(time.Now()))
		return false
	}
	if r.kind == failed && j.Attempts+1 >= w.o.Attempts {
		r.kind = refused
	}
	log := w.o.Log.With().Str("task_id", string(j.Config.TaskID)).Str("config_id", j.Config.ID).Str("host", j.host).
		Int64("seq", d.seq).Int("attempts", j.Attempts+1).Str("reason", r.reason).Logger()
	var dead *taskstore.DeadPush
	switch r.kind {
	case failed:
		log.Debug().Msg("push failed; trying again")
		j.Attempts, j.LastError = j.Attempts+1, r.reason
		w.finish(ctx, j, j.outcome(time.Now().Add(w.pause(j.Attempts, r.after))))
		return false
	case gone:
		log.Info().Msg("webhook is gone")
		w.disable(ctx, j, d.seq, r.reason)
		return false
	case refused:
		log.Warn().Msg("push given up")
		dead = w.dead(j, d.seq, r.reason)
	}
	j.Cursor, j.Attempts, j.LastError = d.through, 0, r.reason
	more := f.more()
	o := j.outcome(time.Now())
	o.Keep, o.Dead = more, dead
	return w.finish(ctx, j, o) && more
}

// disable ends a config for good. The event that it did not take, if any, is kept
// as a dead letter, from which an operator can revive it.
func (w *Worker) disable(ctx context.Context, j *job, seq int64, reason string) {
	o := j.outcome(time.Now())
	o.State, o.LastError = taskstore.PushDisabled, reason
	if seq > 0 {
		o.Dead = w.dead(j, seq, reason)
		o.Attempts = 0
	}
	w.finish(ctx, j, o)
}

// dead makes the dead letter of the delivery that a job has just given up.
func (w *Worker) dead(j *job, seq int64, reason string) *taskstore.DeadPush {
	return &taskstore.DeadPush{
		TaskID: j.Config.TaskID, Config: j.Config.ID, URL: j.Config.URL,
		Seq: seq, At: a2a.Now(), Attempts: j.Attempts + 1, Reason: reason,
	}
}

// finish stores what became of a job, also while the worker stops. It reports
// whether the job was still ours.
func (w *Worker) finish(ctx context.Context, j *job, o taskstore.PushOutcome) bool {
	err := w.o.Store.FinishPush(context.WithoutCancel(ctx), j.PushJob, o)
	if err != nil && !errors.Is(err, taskstore.ErrLeaseLost) {
		w.o.Log.Error().Err(err).Str("task_id", string(j.Config.TaskID)).Msg("store push")
	}
	return err == nil
}

// readBatch is how many events are read from the log at once.
const readBatch = 32

// feed reads a task's log for one config.
type feed struct {
	store Store
	job   *job
	form  *wire.PushForm

	task   *a2a.Task   // names the task; read once
	events []a2a.Event // read, but not looked at
	read   int64       // the last event read
	dry    bool        // there were no more in the log
}

// next returns the next delivery behind the job's cursor, or nil.
func (f *feed) next(ctx context.Context) (*delivery, error) {
	j := f.job
	for {
		f.skip()
		if len(f.events) > 0 {
			break
		}
		if f.dry {
			return nil, nil
		}
		f.read = max(f.read, j.Cursor)
		events, err := f.store.Events(ctx, j.Scope, j.Config.TaskID, f.read, readBatch)
		if err != nil {
			return nil, err
		}
		if f.dry = len(events) < readBatch; len(events) > 0 {
			f.events, f.read = events, events[len(events)-1].Seq
		}
	}
	ev := &f.events[0]
	if f.task == nil || f.form.Task != nil {
		t, err := f.store.Task(ctx, j.Scope, j.Config.TaskID)
		if err != nil {
			return nil, err
		}
		f.task = t
	}
	d := &delivery{seq: ev.Seq, through: ev.Seq, contentType: f.form.ContentType}
	if f.form.Task != nil {
		d.through = max(ev.Seq, f.task.Seq)
		d.body = f.form.Task(nil, f.task)
	} else {
		d.body = f.form.Event(nil, f.task, ev)
	}
	// What a delivery says goes with its id: the task as it is now is not what it
	// was when the event came.
	d.id = deliveryID(&j.Config, d.through)
	return d, nil
}

// skip passes over events that webhooks are not told of, or were.
func (f *feed) skip() {
	for len(f.events) > 0 {
		ev := &f.events[0]
		if ev.Seq > f.job.Cursor && (ev.Status != nil || ev.Artifact != nil) {
			return
		}
		f.job.Cursor = max(f.job.Cursor, ev.Seq)
		f.events = f.events[1:]
	}
}

// more reports whether there may be another delivery behind the job's cursor.
func (f *feed) more() bool {
	f.skip()
	return len(f.events) > 0 || !f.dry
}

// deliveryID is the same for every attempt of a delivery, and for no other one.
func deliveryID(c *a2a.PushConfig, seq int64) string {
	part := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), ".", "%2E") }
	return part(string(c.TaskID)) + "." + part(c.ID) + "." + strconv.FormatInt(seq, 10)
}
