// Package sse writes server-sent events (WHATWG HTML §9.2) as bytes. It knows no
// HTTP: who sends the bytes, flushes and watches deadlines is elsewhere.
//
// Every event has exactly one data line, because some readers know no more; the
// data must therefore hold no line break, which compact JSON never does.
package sse

import (
	"strconv"
	"time"
)

// ContentType is the media type of a stream.
const ContentType = "text/event-stream"

// AppendStart appends the lines before the data: the id (0 for none) by which a
// reader can resume, and the event's name ("" for the default).
func AppendStart(b []byte, id int64, name string) []byte {
	if id > 0 {
		b = append(b, "id: "...)
		b = strconv.AppendInt(b, id, 10)
		b = append(b, '\n')
	}
	if name != "" {
		b = append(b, "event: "...)
		b = append(b, name...)
		b = append(b, '\n')
	}
	return append(b, "data: "...)
}

// AppendEnd appends the end of an event after its data.
func AppendEnd(b []byte) []byte { return append(b, "\n\n"...) }

// AppendComment appends a comment, which keeps a connection alive and is ignored
// by readers.
func AppendComment(b []byte, text string) []byte {
	b = append(b, ": "...)
	b = append(b, text...)
	return append(b, "\n\n"...)
}

// AppendRetry appends the time after which a reader that lost its connection
// should come back.
func AppendRetry(b []byte, after time.Duration) []byte {
	b = append(b, "retry: "...)
	b = strconv.AppendInt(b, after.Milliseconds(), 10)
	return append(b, "\n\n"...)
}
