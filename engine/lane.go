package engine

import (
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// lane is a skill's slots and its queue. The queue holds ids only; the tasks
// wait in the store.
type lane struct {
	entry *skills.Entry

	mu       sync.Mutex
	running  int           // guarded by mu; slots taken
	reserved int           // guarded by mu; places promised to submissions under way
	waiting  []a2a.TaskID  // guarded by mu; oldest first
	average  time.Duration // guarded by mu; of the time recent runs took
}

// admission is what a lane grants to a new run.
type admission int

const (
	refused admission = iota // the queue is full
	started                  // a slot: the run may start at once
	queued                   // a place in the queue
)

// admit asks for a slot or a place. What is granted must be given back by
// finish, enqueue or cancelPlace.
func (l *lane) admit() admission {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < l.entry.Limits.Concurrency && len(l.waiting)+l.reserved == 0 {
		l.running++
		return started
	}
	if len(l.waiting)+l.reserved >= l.entry.Limits.Queue {
		return refused
	}
	l.reserved++
	return queued
}

// enqueue turns a promised place into a real one.
func (l *lane) enqueue(id a2a.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved--
	l.waiting = append(l.waiting, id)
}

// requeue adds a run that was in the queue before the process started; it is
// never refused.
func (l *lane) requeue(id a2a.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, id)
}

// cancelPlace gives a promised place back.
func (l *lane) cancelPlace() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved--
}

// leave takes a waiting task out of the queue, if it is there.
func (l *lane) leave(id a2a.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.waiting {
		if w == id {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return
		}
	}
}

// next takes the oldest waiting task and a slot for it.
func (l *lane) next() (a2a.TaskID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 || l.running >= l.entry.Limits.Concurrency {
		return "", false
	}
	id := l.waiting[0]
	l.waiting[0] = ""
	l.waiting = l.waiting[1:]
	l.running++
	return id, true
}

// finish gives a slot back after a run that took the given time (0: not a run
// worth counting).
func (l *lane) finish(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if took > 0 {
		// A moving average over about the last eight runs.
		l.average += (took - l.average) / 8
	}
}

// place returns a task's place in the queue, 1 being next; 0 if it is not there.
func (l *lane) place(id a2a.TaskID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.waiting {
		if w == id {
			return i + 1
		}
	}
	return 0
}

// retryAfter guesses when a place will be free: when the queue has moved on by
// one. It is at least a second and at most a minute.
func (l *lane) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.average / time.Duration(max(1, l.entry.Limits.Concurrency))
	return min(max(d, time.Second), time.Minute).Round(time.Second)
}
