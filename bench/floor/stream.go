package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

type statusUpdate struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Status    status `json:"status"`
}

type artifactUpdate struct {
	TaskID    string   `json:"taskId"`
	ContextID string   `json:"contextId"`
	Artifact  artifact `json:"artifact"`
	Append    bool     `json:"append"`
	LastChunk bool     `json:"lastChunk"`
}

func (m message) text() string {
	if len(m.Parts) == 0 {
		return ""
	}
	return m.Parts[0].Text
}

// stream writes events, each flushed by itself.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	req *request
	err error // the first one; nothing is written after it
}

func open(w http.ResponseWriter, req *request) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return &stream{w: w, rc: http.NewResponseController(w), req: req}
}

func (s *stream) put(r result) {
	if s.err != nil {
		return
	}
	data, err := json.Marshal(response{JSONRPC: "2.0", ID: s.req.ID, Result: r})
	if err == nil {
		_, err = fmt.Fprintf(s.w, "data: %s\n\n", data)
	}
	if err == nil {
		err = s.rc.Flush()
	}
	s.err = err
}

func (s *stream) task(state string) {
	m := s.req.Params.Message
	m.TaskID, m.ContextID = taskID, contextID
	s.put(result{Task: &task{ID: taskID, ContextID: contextID, Status: status{State: state, Timestamp: now}, History: []message{m}}})
}

func (s *stream) status(state string) {
	s.put(result{StatusUpdate: &statusUpdate{TaskID: taskID, ContextID: contextID, Status: status{State: state, Timestamp: now}}})
}

func (s *stream) chunk(first, last bool) {
	s.put(result{ArtifactUpdate: &artifactUpdate{
		TaskID: taskID, ContextID: contextID, Append: !first, LastChunk: last,
		Artifact: artifact{ArtifactID: "echo", Name: "echo", Parts: []part{{Text: "xxxxxxxxxxxxxxxx"}}},
	}})
}

// streamBurst answers "@burst N" with the events of a task of N chunks.
func streamBurst(w http.ResponseWriter, req *request) {
	var n int
	if _, err := fmt.Sscanf(req.Params.Message.text(), "@burst %d", &n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s := open(w, req)
	s.task("TASK_STATE_SUBMITTED")
	s.status("TASK_STATE_WORKING")
	for i := range n {
		s.chunk(i == 0, i == n-1)
	}
	s.status("TASK_STATE_COMPLETED")
}

// subscribe shows a task that has no events or, if it is the ticking one, a chunk at
// each tick.
func (f *floor) subscribe(w http.ResponseWriter, r *http.Request, req *request) {
	s := open(w, req)
	s.task("TASK_STATE_WORKING")
	if req.Params.ID != tickingID {
		<-r.Context().Done()
		return
	}
	for s.err == nil {
		select {
		case <-f.ticks.next():
			s.chunk(false, false)
		case <-r.Context().Done():
			return
		}
	}
}

// clock wakes all who wait for its next tick at once.
type clock struct {
	mu   sync.Mutex
	tick chan struct{} // guarded by mu; closed at the next tick
}

// startedBy starts the clock if the text is "@chunks N MS", and reports whether it is.
func (c *clock) startedBy(text string) bool {
	if !strings.HasPrefix(text, "@chunks ") {
		return false
	}
	var n, ms int
	if _, err := fmt.Sscanf(text, "@chunks %d %d", &n, &ms); err != nil || ms <= 0 {
		return false
	}
	c.next()
	go func() {
		for range n {
			time.Sleep(time.Duration(ms) * time.Millisecond)
			c.mu.Lock()
			close(c.tick)
			c.tick = make(chan struct{})
			c.mu.Unlock()
		}
	}()
	return true
}

func (c *clock) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tick == nil {
		c.tick = make(chan struct{})
	}
	return c.tick
}
