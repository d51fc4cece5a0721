package server_test

import "testing"

// TestRepeat: an answer that is sent again under its key is taken once, also after
// the server was killed.
func TestRepeat(t *testing.T) {
	dir := dataDir(t, 4, "1s")
	p := start(t, dir)
	id := p.done("@ask", "")
	const key = "Idempotency-Key: k-1"
	answer := func(text string) string { return message(text, params("taskId", id), "") }
	first := p.v1("SendMessage", answer("blue"), key)
	wantState(t, first, "TASK_STATE_COMPLETED")
	p.kill()
	p = start(t, dir)
	again := p.v1("SendMessage", answer("blue"), key)
	wantState(t, again, "TASK_STATE_COMPLETED")
	want(t, again, id, "result", "task", "id")
	want(t, again, "blue", "result", "task", "artifacts", 0, "parts", 0, "text")
	want(t, again, nil, "result", "task", "artifacts", 1)
	n := 0
	for _, f := range p.log0(id) {
		if f.Get("result", "statusUpdate", "status", "state") == "TASK_STATE_WORKING" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("the task began to work %d times, want 2", n)
	}
	other := p.v1("SendMessage", answer("red"), key)
	wantCode(t, other, "-32602")
	want(t, other, "IDEMPOTENCY_CONFLICT", "error", "data", 0, "reason")
	wantCode(t, p.v1("SendMessage", message("blue", "", ""), key), "-32602")
	// Without the key it is one message too many; 0.3 is no different.
	wantCode(t, p.v1("SendMessage", answer("blue")), "-32004")
	wantCode(t, p.v03("message/send", message03(text03("blue"), params("taskId", id), "")), "-32004")
	id = p.done("@ask", "")
	for range 2 {
		a := p.v03("message/send", message03(text03("green"), params("taskId", id), ""), "Idempotency-Key: k-2")
		wantState(t, a, "completed")
		want(t, a, id, "result", "id")
	}
}
