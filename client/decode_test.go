package client

import (
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

func FuzzDecodeEvent(f *testing.F) {
	for _, s := range []string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"},{"data":null}]}}}}`,
		`{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a","parts":[{"kind":"file","file":{"bytes":"AA=="}}]},"append":true}`,
		`{"kind":"status-update","taskId":"t","final":true,"status":{"state":"completed"}}`, `{"taskId":"t","status":"working","task":{"id":"t","status":"working"}}`,
		`{"msg":{"messageId":"m","role":"ROLE_AGENT","content":[{"data":{"data":{"x":1}}}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, form := range forms {
			ev, err := form.event(b)
			n := 0
			for _, set := range []bool{ev.Task != nil, ev.Message != nil, ev.Status != nil, ev.Artifact != nil} {
				if set {
					n++
				}
			}
			if err == nil && n != 1 {
				t.Errorf("%s: %d bodies", b, n)
			}
			if err == nil && ev.Task != nil && (ev.Task.ID == "" || ev.Task.Status.State == "") {
				t.Errorf("%s: a task without an id or a state", b)
			}
		}
	})
}

// TestDecodeTask refuses what is no task, and reads what agents send in odd shapes.
func TestDecodeTask(t *testing.T) {
	for _, s := range []string{"", "null", "[]", `"x"`, "5", "{}", `{"id":"t"}`, `{"id":"t","status":null}`, `{"id":"t","status":5}`, `{"id":5,"status":{"state":"working"}}`,
		`{"status":{"state":"working"}}`, `{"detail":"Not Found"}`, `{"id":"t","status":"`} {
		if task, err := decodeTask([]byte(s)); err == nil {
			t.Errorf("%s: got %+v, want an error", s, task)
		}
	}
	for s, want := range map[string]a2a.State{
		`{"id":"t","status":{"state":"working"}}`: a2a.StateWorking, `{"task":{"id":"t","status":"completed"}}`: a2a.StateCompleted,
		`{"taskId":"t","status":"failed","artifact":{"name":"error","parts":[{"type":"text","text":"x"}]}}`:                                a2a.StateFailed,
		`{"id":"t","status":{"state":"working","timestamp":"2026-11-30T13:36:30.998698"},"history":null,"artifacts":null,"metadata":null}`: a2a.StateWorking,
		`{"id":"t","status":{}}`: a2a.StateUnknown, `{"id":"t","status":{"state":7}}`: a2a.StateUnknown,
	} {
		task, err := decodeTask([]byte(s))
		if err != nil || task.ID != "t" || task.Status.State != want {
			t.Errorf("%s: got %+v, %v, want %s", s, task, err, want)
		}
	}
	task, err := decodeTask([]byte(`{"id":"t","status":{"state":"working","timestamp":"2026-11-30T13:36:30.998698"}}`))
	if err != nil || task.Status.At.IsZero() {
		t.Errorf("got %+v, %v, want a time without a zone read as UTC", task, err)
	}
}
