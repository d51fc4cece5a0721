package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// lane is a skill's slots and its queue. The queue holds ids only; the tasks wait
// in the store.
//
// The queue is fair: each caller has a line of its own, bounded by Limits.Queue,
// and free slots go to the lines in turn. A caller with a thousand waiting tasks
// delays another's first one by one run, not by a thousand.
type lane struct {
	entry *skills.Entry

	mu      sync.Mutex
	running int                   // guarded by mu; slots taken
	total   int                   // guarded by mu; waiting and reserved, of all lines
	lines   []*line               // guarded by mu; lines with waiting or reserved places, next in turn first
	busy    map[conversation]bool // guarded by mu; conversations at work, of a serial skill
	average time.Duration         // guarded by mu; of the time recent runs took
}

// line is one caller's part of a queue.
type line struct {
	scope    a2a.Scope
	reserved int // places promised to submissions under way
	waiting  []ticket
}

// ticket is a waiting task.
type ticket struct {
	id      a2a.TaskID
	context a2a.ContextID
}

// conversation is a context of a caller.
type conversation struct {
	scope   a2a.Scope
	context a2a.ContextID
}

func (q *line) index(id a2a.TaskID) int {
	return slices.IndexFunc(q.waiting, func(t ticket) bool { return t.id == id })
}

// admission is what a lane grants to a new run.
type admission int

const (
	refused admission = iota // the queue is full
	started                  // a slot: the run may start at once
	queued                   // a place in the queue
)

// admit asks for a slot or a place for a caller. What is granted must be given
// back by finish, enqueue or cancelPlace.
func (l *lane) admit(scope a2a.Scope, context a2a.ContextID) admission {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < l.entry.Limits.Concurrency && l.total == 0 && l.engage(scope, context) {
		l.running++
		return started
	}
	limits := l.entry.Limits
	if q := l.find(scope); q != nil && q.reserved+len(q.waiting) >= limits.Queue || limits.Queue <= 0 || l.total >= limits.QueueTotal {
		return refused
	}
	l.line(scope).reserved++
	l.total++
	return queued
}

// enqueue turns a promised place into a real one.
func (l *lane) enqueue(scope a2a.Scope, t *a2a.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.line(scope)
	q.reserved--
	q.waiting = append(q.waiting, ticket{t.ID, t.ContextID})
}

// requeue adds a run that was in the queue before the process started; it is
// never refused. A run that waits already is left where it is.
func (l *lane) requeue(scope a2a.Scope, t *a2a.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.line(scope)
	if q.index(t.ID) >= 0 {
		return
	}
	q.waiting = append(q.waiting, ticket{t.ID, t.ContextID})
	l.total++
}

// cancelPlace gives a promised place back.
func (l *lane) cancelPlace(scope a2a.Scope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.line(scope)
	q.reserved--
	l.total--
	l.tidy(q)
}

// leave takes a waiting task out of the queue, if it is there.
func (l *lane) leave(scope a2a.Scope, id a2a.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.find(scope)
	if q == nil {
		return
	}
	if i := q.index(id); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		l.total--
		l.tidy(q)
	}
}

// next takes the task whose turn it is, and a slot for it.
func (l *lane) next() (a2a.TaskID, a2a.Scope, a2a.ContextID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.entry.Limits.Concurrency {
		return "", a2a.Scope{}, "", false
	}
	for i, q := range l.lines {
		for k, t := range q.waiting {
			if !l.engage(q.scope, t.context) {
				continue // an earlier task of its conversation is at work
			}
			q.waiting = slices.Delete(q.waiting, k, k+1)
			l.total--
			l.running++
			// The line goes to the end of the turn.
			l.lines = append(slices.Delete(l.lines, i, i+1), q)
			l.tidy(q)
			return t.id, q.scope, t.context, true
		}
	}
	return "", a2a.Scope{}, "", false
}

// engage marks a conversation as at work. It reports false if it is already, which
// only matters to a serial skill. The lock is held.
func (l *lane) engage(scope a2a.Scope, context a2a.ContextID) bool {
	if !l.entry.Serial {
		return true
	}
	c := conversation{scope, context}
	if l.busy[c] {
		return false
	}
	if l.busy == nil {
		l.busy = make(map[conversation]bool)
	}
	l.busy[c] = true
	return true
}

// finish gives a slot back after a run that took the given time (0: not a run
// worth counting).
func (l *lane) finish(scope a2a.Scope, context a2a.ContextID, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	delete(l.busy, conversation{scope, context})
	if took > 0 {
		// A moving average over about the last eight runs.
		l.average += (took - l.average) / 8
	}
}

// place returns a task's place in the queue, 1 being next; 0 if it is not there.
func (l *lane) place(scope a2a.Scope, id a2a.TaskID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.find(scope)
	if own == nil {
		return 0
	}
	rounds := own.index(id)
	if rounds < 0 {
		return 0
	}
	// Before it go: in each full round one of every line that still has one, and in
	// its own round those of the lines that come earlier in the turn.
	place, earlier := 1, true
	for _, q := range l.lines {
		if q == own {
			earlier = false
			place += rounds
			continue
		}
		n := rounds
		if earlier {
			n++
		}
		place += min(n, len(q.waiting))
	}
	return place
}

// retryAfter guesses when a place will be free: when the queue has moved on by
// one. It is at least a second and at most a minute.
func (l *lane) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.average / time.Duration(max(1, l.entry.Limits.Concurrency))
	return min(max(d, time.Second), time.Minute).Round(time.Second)
}

// find returns the caller's line, or nil. The lock is held.
func (l *lane) find(scope a2a.Scope) *line {
	for _, q := range l.lines {
		if q.scope == scope {
			return q
		}
	}
	return nil
}

// line returns the caller's line, a new one at the end if need be. The lock is held.
func (l *lane) line(scope a2a.Scope) *line {
	q := l.find(scope)
	if q == nil {
		q = &line{scope: scope}
		l.lines = append(l.lines, q)
	}
	return q
}

// tidy drops a line that nobody stands in. The lock is held.
func (l *lane) tidy(q *line) {
	if q.reserved == 0 && len(q.waiting) == 0 {
		if i := slices.Index(l.lines, q); i >= 0 {
			l.lines = slices.Delete(l.lines, i, i+1)
		}
	}
}
