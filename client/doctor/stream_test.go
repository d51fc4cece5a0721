package doctor

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestFlow_read: an event is what stands between empty lines, however many lines of data
// it has; comments and other fields are none.
func TestFlow_read(t *testing.T) {
	f := &flow{answer: &answer{header: http.Header{}}}
	f.read(strings.NewReader(": hi\n\nid: 1\ndata: {\r\ndata:  \"a\":1}\r\n\r\nevent: x\ndata:2\n\n: ping\n\ndata: cut"), time.Now())
	var got []string
	for _, e := range f.events {
		got = append(got, e.data)
	}
	if want := " {\n  \"a\":1}|2| cut"; strings.Join(got, "|") != want || f.err != nil {
		t.Errorf("got %q, %v, want %q", got, f.err, want)
	}
	bad := &flow{answer: &answer{header: http.Header{"Content-Encoding": {"gzip"}}}}
	bad.read(strings.NewReader("data: plain\n\n"), time.Now())
	if bad.err == nil || len(bad.events) != 0 {
		t.Errorf("got %v, %v, want an error", bad.events, bad.err)
	}
}
