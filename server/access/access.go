// Package access carries what the server knows of one HTTP request: who makes
// it, and what goes into its one log line.
package access

import (
	"context"
	"net/http"

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
