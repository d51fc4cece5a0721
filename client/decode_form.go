package client

import (
	"bytes"
	"encoding/json"

	"github.com/skillyard/skillyard/a2a"
)

// task, answer and event read what a dialect answers. They are the decoders of all
// dialects, and undo what the older ProtoJSON does to data.

func (f *form) task(b []byte) (*a2a.Task, error) {
	t, err := decodeTask(b)
	if err == nil {
		f.unwrap(Event{Task: t})
	}
	return t, err
}

func (f *form) answer(b []byte) (*Answer, error) {
	a, err := decodeAnswer(b)
	if err != nil {
		return nil, err
	}
	f.unwrap(Event{Task: a.Task, Message: a.Message})
	return a, nil
}

func (f *form) event(b []byte) (Event, error) {
	ev, err := decodeEvent(b)
	if err == nil {
		f.unwrap(ev)
	}
	return ev, err
}

func (f *form) unwrap(ev Event) {
	if !f.oldProto {
		return
	}
	if t := ev.Task; t != nil {
		ev.Status = &t.Status
		for i := range t.History {
			unwrapOldData(t.History[i].Parts)
		}
		for i := range t.Artifacts {
			unwrapOldData(t.Artifacts[i].Parts)
		}
	}
	if ev.Status != nil && ev.Status.Message != nil {
		unwrapOldData(ev.Status.Message.Parts)
	}
	if ev.Message != nil {
		unwrapOldData(ev.Message.Parts)
	}
	if ev.Artifact != nil {
		unwrapOldData(ev.Artifact.Artifact.Parts)
	}
}

// notFoundEMM reports whether EMM says so that it does not know a task.
func notFoundEMM(raw json.RawMessage) bool {
	if !bytes.Contains(raw, []byte(`"not_found"`)) {
		return false
	}
	var v struct {
		Status loose `json:"status"`
		Task   struct {
			Status loose `json:"status"`
		} `json:"task"`
	}
	return json.Unmarshal(raw, &v) == nil && (v.Status == "not_found" || v.Task.Status == "not_found")
}
