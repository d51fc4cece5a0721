package push

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// job is a claimed push config.
type job struct {
	taskstore.PushJob
	until time.Time // when the claim ends
	host  string

	running bool
	retry   bool // it had failed before when it began to run
	// again says that the task's log may have grown while the job was running.
	again bool
	// newer is a claim of the same config that came while the job was running: the
	// config was replaced, or its own claim had ended.
	newer *job
}

// outcome is the job as it is, due at the given time.
func (j *job) outcome(due time.Time) taskstore.PushOutcome {
	return taskstore.PushOutcome{Cursor: j.Cursor, Attempts: j.Attempts, Due: due.UTC(), LastError: j.LastError}
}

// queue holds the claimed jobs, by host. Hosts take turns. A host runs at most
// perHost jobs, and only one of them may be a retry, so that one that hangs hardly
// takes room from others.
type queue struct {
	workers, perHost int
	running          int
	count            int // jobs that wait
	jobs             map[int64]*job
	hosts            map[string]*host
	turn             []*host               // hosts that may be able to start a job
	busy             map[a2a.TaskID][]*job // those that run
}

type host struct {
	fresh, retries    []*job
	running, retrying int
	listed            bool // is in turn
}

func newQueue(workers, perHost int) queue {
	return queue{
		workers: workers, perHost: perHost,
		jobs: make(map[int64]*job), hosts: make(map[string]*host), busy: make(map[a2a.TaskID][]*job),
	}
}

// add takes in a job just claimed. If the config waits already, the job there
// takes over the claim.
func (q *queue) add(j *job) {
	old := q.jobs[j.Row]
	switch {
	case old == nil:
	case old.running:
		old.newer = j
		return
	case old.host == j.host && (old.Attempts > 0) == (j.Attempts > 0):
		old.PushJob, old.until = j.PushJob, j.until
		return
	default:
		q.drop(old)
	}
	h := q.hosts[j.host]
	if h == nil {
		h = &host{}
		q.hosts[j.host] = h
	}
	if j.Attempts > 0 {
		h.retries = append(h.retries, j)
	} else {
		h.fresh = append(h.fresh, j)
	}
	q.jobs[j.Row] = j
	q.count++
	q.list(h)
}

// drop takes out a job that waits.
func (q *queue) drop(j *job) {
	h := q.hosts[j.host]
	for _, list := range [...]*[]*job{&h.fresh, &h.retries} {
		*list = slices.DeleteFunc(*list, func(x *job) bool { return x == j })
	}
	delete(q.jobs, j.Row)
	q.count--
	q.tidy(j.host, h)
}

func (q *queue) list(h *host) {
	if !h.listed {
		h.listed = true
		q.turn = append(q.turn, h)
	}
}

// tidy forgets a host that has nothing to do.
func (q *queue) tidy(name string, h *host) {
	if h.running == 0 && len(h.fresh) == 0 && len(h.retries) == 0 {
		delete(q.hosts, name)
	}
}

// next returns a job to start now, or nil.
func (q *queue) next() *job {
	for q.running < q.workers && len(q.turn) > 0 {
		h := q.turn[0]
		q.turn[0] = nil
		q.turn = q.turn[1:]
		h.listed = false
		j := h.take(q.perHost)
		if j == nil {
			continue // it is listed again when something changes
		}
		j.running, j.retry = true, j.Attempts > 0
		h.running++
		if j.retry {
			h.retrying++
		}
		q.busy[j.Config.TaskID] = append(q.busy[j.Config.TaskID], j)
		q.running++
		q.count--
		q.list(h)
		return j
	}
	return nil
}

func (h *host) take(perHost int) *job {
	list := &h.fresh
	if h.retrying == 0 && len(h.retries) > 0 {
		list = &h.retries
	}
	if h.running >= perHost || len(*list) == 0 {
		return nil
	}
	j := (*list)[0]
	(*list)[0] = nil
	*list = (*list)[1:]
	return j
}

// again notes that the log of a task has grown, for its jobs that are running.
func (q *queue) again(id a2a.TaskID) {
	for _, j := range q.busy[id] {
		j.again = true
	}
}

// done takes out a job that ran. It reports whether its task is worth another look.
func (q *queue) done(j *job) bool {
	h := q.hosts[j.host]
	h.running--
	if j.retry {
		h.retrying--
	}
	q.running--
	delete(q.jobs, j.Row)
	id := j.Config.TaskID
	if q.busy[id] = slices.DeleteFunc(q.busy[id], func(x *job) bool { return x == j }); len(q.busy[id]) == 0 {
		delete(q.busy, id)
	}
	q.list(h)
	if j.newer != nil {
		q.add(j.newer)
	}
	q.tidy(j.host, h)
	return j.again
}

// waiting returns the jobs that have not begun.
func (q *queue) waiting() (list []*job) {
	for _, j := range q.jobs {
		if !j.running {
			list = append(list, j)
		}
	}
	return list
}

// hostOf is what a URL's deliveries are counted by: the host with its port.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
