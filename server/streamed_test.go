package server_test

import (
	"strings"
	"testing"
)

// TestStreamedText: where a dialect shows a task as one text, what came in pieces is as the
// skill wrote it, without line breaks between the pieces.
func TestStreamedText(t *testing.T) {
	c := probe(t)
	emm := c.RPC(`{"jsonrpc":"2.0","id":1,"method":"tasks/submit","params":{"taskId":"s-1","skillId":"probe","message":{"role":"user","parts":[{"type":"text","text":"@chunks 3 1"}]}}}`, alice)
	one := c.RPC(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"s-1"}}`, alice, v10)
	var pieces []string
	for i := 0; one.Get("result", "artifacts", 0, "parts", i) != nil; i++ {
		s, _ := one.Get("result", "artifacts", 0, "parts", i, "text").(string)
		pieces = append(pieces, s)
	}
	if len(pieces) != 3 {
		t.Fatalf("got %q, want three pieces", pieces)
	}
	whole := strings.Join(pieces, "")
	want(t, emm, whole, "result", "task", "artifact", "parts", 0, "text")
	want(t, emm, nil, "result", "task", "artifact", "parts", 1)
	old := c.RPC(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"s-1"}}`, alice)
	want(t, old, whole, "result", "history", -1, "parts", 0, "text")
	plain := c.Do("GET", "/tasks/s-1", "", alice, "Accept: text/plain")
	if got := strings.TrimSpace(string(plain.Body)); got != strings.TrimSpace(whole) {
		t.Errorf("plain: got %q, want %q", got, whole)
	}
}
