package binding

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

const (
	newBuffer  = 4 << 10
	keepBuffer = 64 << 10
	// trustLength is how many bytes are set aside on the word of a Content-Length.
	trustLength = 64 << 10
)

// Write answers with what fill appends to a buffer.
func (b *Binding) Write(w http.ResponseWriter, status int, contentType string, fill func(b []byte) []byte) {
	buf := b.buffers.Get().(*[]byte)
	body := append(fill((*buf)[:0]), '\n')
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone reads its task later
	if cap(body) <= keepBuffer {
		*buf = body
		b.buffers.Put(buf)
	}
}

// Read reads the whole body. It is not pooled: the request's raw JSON stays part
// of it.
func (b *Binding) Read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > b.MaxBody {
		b.drain(r)
		return nil, tooLarge(b.MaxBody)
	}
	limited := http.MaxBytesReader(w, r.Body, b.MaxBody)
	var body []byte
	var err error
	if n := r.ContentLength; n >= 0 && n <= trustLength {
		body = make([]byte, n)
		_, err = io.ReadFull(limited, body)
	} else {
		body, err = io.ReadAll(limited)
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		b.drain(r)
		return nil, tooLarge(b.MaxBody)
	case err != nil:
		return nil, &a2a.Error{Code: a2a.CodeInvalidRequest, Message: "The request body did not arrive whole.", Err: err}
	}
	return body, nil
}

// drain takes what is left of a body that is too large, up to the same size again.
// A proxy that is still sending when the connection is closed tells its client of a
// broken server instead of passing the refusal on.
func (b *Binding) drain(r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, 2*b.MaxBody) // as far as it goes
}

func tooLarge(limit int64) error {
	return &a2a.Error{
		Code:    a2a.CodeTooLarge,
		Message: fmt.Sprintf("The request body is larger than %d bytes.", limit),
		Details: map[string]string{"maxBodyBytes": strconv.FormatInt(limit, 10)},
	}
}

// CheckContent refuses bodies that are not plain JSON. No Content-Type is fine.
func CheckContent(r *http.Request) error {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return &a2a.Error{Code: a2a.CodeUnsupportedMediaType, Message: "Compressed request bodies are not supported."}
	}
	ct := r.Header.Get("Content-Type")
	if ct == "" || ct == "application/json" {
		return nil
	}
	t, _, err := mime.ParseMediaType(ct)
	if err == nil && (t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json")) {
		return nil
	}
	return &a2a.Error{
		Code:    a2a.CodeUnsupportedMediaType,
		Message: "The request's Content-Type must be application/json.",
	}
}

// SetRetryAfter says in the header when to come back, if the error does.
func SetRetryAfter(w http.ResponseWriter, e *a2a.Error) {
	if e.RetryAfter > 0 {
		seconds := int64((e.RetryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
}
