// Command floor answers a send with a finished echo task and does nothing else:
// chi and encoding/json, no engine, no store. It is what a request costs in any
// case. Streams are as bare: each event encoded and flushed by itself; see
// stream.go.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
)

type part struct {
	Text string `json:"text"`
}

type message struct {
	MessageID string `json:"messageId"`
	ContextID string `json:"contextId,omitempty"`
	TaskID    string `json:"taskId,omitempty"`
	Role      string `json:"role"`
	Parts     []part `json:"parts"`
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Message message `json:"message"`
		ID      string  `json:"id"`
	} `json:"params"`
}

type artifact struct {
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name"`
	Parts      []part `json:"parts"`
}

type status struct {
	State     string `json:"state"`
	Timestamp string `json:"timestamp"`
}

type task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    status     `json:"status"`
	Artifacts []artifact `json:"artifacts"`
	History   []message  `json:"history"`
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  result          `json:"result"`
}

// result has exactly one member.
type result struct {
	Task           *task           `json:"task,omitempty"`
	StatusUpdate   *statusUpdate   `json:"statusUpdate,omitempty"`
	ArtifactUpdate *artifactUpdate `json:"artifactUpdate,omitempty"`
}

const (
	taskID    = "0198c0de-0000-7000-8000-000000000001"
	contextID = "0198c0de-0000-7000-8000-000000000002"
	// tickingID is the task that has an event from time to time.
	tickingID = "0198c0de-0000-7000-8000-000000000003"
	now       = "2026-01-01T00:00:00.000Z"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "address to listen on")
	flag.Parse()
	f := &floor{}
	r := chi.NewRouter()
	r.Get("/healthz", func(http.ResponseWriter, *http.Request) {})
	r.Post("/", f.serve)
	log.Fatal(http.ListenAndServe(*addr, r))
}

// floor is all the state there is: the clock of the ticking task.
type floor struct{ ticks clock }

func (f *floor) serve(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch req.Method {
	case "SendStreamingMessage":
		streamBurst(w, &req)
	case "SubscribeToTask":
		f.subscribe(w, r, &req)
	default:
		f.send(w, &req)
	}
}

func (f *floor) send(w http.ResponseWriter, req *request) {
	m := req.Params.Message
	id := taskID
	if f.ticks.startedBy(m.text()) {
		id = tickingID
	}
	m.TaskID, m.ContextID = id, contextID
	res := response{JSONRPC: "2.0", ID: req.ID}
	res.Result.Task = &task{
		ID: id, ContextID: contextID,
		Status:    status{State: "TASK_STATE_COMPLETED", Timestamp: now},
		Artifacts: []artifact{{ArtifactID: "echo", Name: "echo", Parts: m.Parts}},
		History:   []message{m},
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(res); err != nil {
		log.Print(err)
	}
}
