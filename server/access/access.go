// Package access carries what the server knows of one request: who makes it, what the
// client says beside it, and what goes into its one log line.
package access

import (
	"context"
	"net/http"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// Challenge is the WWW-Authenticate header of an answer with status 401.
const Challenge = `Bearer realm="skillyard"`

// Record is the record of a request. It belongs to the goroutine that serves the
// request.
type Record struct {
	RequestID string
	ClientIP  string
	// Caller is set by authentication.
	Caller a2a.Caller
	// Method is the protocol's method name, as known to the server, or "".
	Method string
	Skill  a2a.SkillID
	TaskID a2a.TaskID
	// ContextID is the context of the task.
	ContextID a2a.ContextID
	// Gone says that the client left before it was answered.
	Gone bool
	// Err is an error answered to the client, with its private cause.
	Err error
	// Mount is the skill of the path, or "".
	Mount a2a.SkillID
	// Refuse answers, in the words of the request's binding, with an error that arose
	// before the binding; nil is JSON-RPC.
	Refuse func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// Saw notes the task that the request is about.
func (r *Record) Saw(t *a2a.Task) { r.TaskID, r.ContextID, r.Skill = t.ID, t.ContextID, t.Skill }

type key struct{}

// With returns a context that carries the record.
func With(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, key{}, r)
}

// From returns the context's record. Outside of a request it returns an empty
// one, so that callers need not check.
func From(ctx context.Context) *Record {
	if r, ok := ctx.Value(key{}).(*Record); ok {
		return r
	}
	return &Record{}
}

// Meta is what a client says beside its request: http.Header, or the metadata of gRPC.
type Meta interface {
	// Values returns all values of a name, which is not case sensitive.
	Values(name string) []string
}

// First returns the first value of a name, or "".
func First(m Meta, name string) string {
	if v := m.Values(name); len(v) > 0 {
		return v[0]
	}
	return ""
}

// extensionHeaders are the names of the header with extensions, in 1.0 and in 0.3.
// Either is read from every client.
var extensionHeaders = [...]string{"A2A-Extensions", "X-A2A-Extensions"}

// Extensions returns the URIs of the extensions that a request asks for.
func Extensions(m Meta) []string { return List(m, extensionHeaders[:]...) }

// EchoExtensions tells the client by set which extensions are active for its request,
// under the names that the request used.
func EchoExtensions(m Meta, active []string, set func(name, value string)) {
	if len(active) == 0 {
		return
	}
	for _, name := range extensionHeaders {
		if len(m.Values(name)) > 0 {
			set(name, strings.Join(active, ", "))
		}
	}
}

// List returns the elements of comma-separated values.
func List(m Meta, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, line := range m.Values(name) {
			for e := range strings.SplitSeq(line, ",") {
				if e = strings.TrimSpace(e); e != "" {
					out = append(out, e)
				}
			}
		}
	}
	return out
}
