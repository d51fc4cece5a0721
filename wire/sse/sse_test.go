package sse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/skillyard/skillyard/wire/sse"
)

func Example() {
	b := sse.AppendComment(nil, "ping")
	b = sse.AppendStart(b, 7, "task/status")
	b = append(b, `{"a":1}`...)
	b = sse.AppendEnd(b)
	b = sse.AppendRetry(b, 2*time.Second)
	fmt.Printf("%q\n", b)
	// Output: ": ping\n\nid: 7\nevent: task/status\ndata: {\"a\":1}\n\nretry: 2000\n\n"
}

func TestAppendStart_optional_lines(t *testing.T) {
	if got := string(sse.AppendStart(nil, 0, "")); got != "data: " {
		t.Errorf("got %q, want a bare data line", got)
	}
}
