package engine

import (
	"hash/maphash"
	"sync"

	"github.com/skillyard/skillyard/a2a"
)

// hub tells the readers of a task, in this process, what was committed to its
// log. It is a hint, not the truth: a subscription that missed something reads
// the log (see Reader). Publishing never blocks and never drops silently: a full
// subscription loses its buffer and remembers that it has a gap.
//
// The hub keeps nothing for tasks that nobody watches.
type hub struct {
	seed   maphash.Seed
	shards [64]shard
}

type shard struct {
	mu     sync.Mutex
	topics map[a2a.TaskID][]*subscription // guarded by mu
}

func newHub() *hub {
	h := &hub{seed: maphash.MakeSeed()}
	for i := range h.shards {
		h.shards[i].topics = make(map[a2a.TaskID][]*subscription)
	}
	return h
}

// subscription is one reader's view of a task's topic.
type subscription struct {
	hub *hub
	id  a2a.TaskID
	// wake receives a value after something was published; it has room for one.
	wake chan struct{}
	// limit is how many events are buffered; 0 keeps none (a mere waiter).
	limit int

	mu     sync.Mutex
	events []*Entry // guarded by mu; contiguous
	size   int64    // guarded by mu; bytes in events, roughly
	gap    bool     // guarded by mu; events were missed, read the log
	last   *notice  // guarded by mu; the latest notice that settled something
}

// bufferBytes is how many bytes of events a subscription holds at most, whatever
// its limit: what a reader that stands still costs.
const bufferBytes = 256 << 10

// notice is what is published after a commit.
type notice struct {
	// events are the committed events, contiguous.
	events []a2a.Event
	// task is the snapshot after them if the task settled (it then never changes
	// under the reader's hands), else nil.
	task *a2a.Task
	// reply is the message of a skill that answered without a task.
	reply *a2a.Message
	// err says that the run broke and its outcome is not known here.
	err error
}

// settles reports whether a blocking call need not wait any longer.
func (n *notice) settles() bool { return n.task != nil || n.reply != nil || n.err != nil }

func (h *hub) shard(id a2a.TaskID) *shard {
	return &h.shards[maphash.String(h.seed, string(id))%uint64(len(h.shards))]
}

// subscribe starts to watch a task; the caller must call close.
func (h *hub) subscribe(id a2a.TaskID, limit int) *subscription {
	s := &subscription{hub: h, id: id, wake: make(chan struct{}, 1), limit: limit}
	sh := h.shard(id)
	sh.mu.Lock()
	sh.topics[id] = append(sh.topics[id], s)
	sh.mu.Unlock()
	return s
}

// publish hands a notice to all who watch the task. It must be called after the
// commit, and per task in the order of the commits.
func (h *hub) publish(id a2a.TaskID, n notice) {
	sh := h.shard(id)
	sh.mu.Lock()
	subs := sh.topics[id]
	var shared []*Entry // one for all readers, so that each frame is encoded once
	for _, s := range subs {
		if s.limit > 0 && shared == nil {
			shared = entries(n.events)
		}
		s.offer(n, shared)
	}
	sh.mu.Unlock()
}

// offer adds the notice to the subscription.
func (s *subscription) offer(n notice, events []*Entry) {
	s.mu.Lock()
	if s.limit > 0 && !s.gap {
		for _, e := range events {
			s.size += e.size
		}
		if len(s.events)+len(events) > s.limit || s.size > bufferBytes {
			s.events, s.size, s.gap = nil, 0, true
		} else {
			s.events = append(s.events, events...)
		}
	}
	if n.settles() {
		s.last = &n
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns the buffered events and whether some were missed.
func (s *subscription) take() (events []*Entry, gap bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, gap = s.events, s.gap
	s.events, s.size, s.gap = nil, 0, false
	return events, gap
}

// settled returns the latest notice that settles a blocking call, or nil.
func (s *subscription) settled() *notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// close stops watching.
func (s *subscription) close() {
	sh := s.hub.shard(s.id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	subs := sh.topics[s.id]
	if len(subs) == 1 && subs[0] == s {
		delete(sh.topics, s.id)
		return
	}
	for i, o := range subs {
		if o == s {
			// A fresh slice: publish may not be ranging (it holds the lock), but the
			// old array must not keep s alive.
			rest := make([]*subscription, 0, len(subs)-1)
			rest = append(append(rest, subs[:i]...), subs[i+1:]...)
			sh.topics[s.id] = rest
			return
		}
	}
}
