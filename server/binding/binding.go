// Package binding is what all bindings do alike, once a request's operation and dialect
// are known: refuse what is switched off, complete the request with what the client says
// beside it, call the engine, and open a stream. For those over HTTP it also reads the
// body within its limit and serves the stream.
//
// It knows no binding's routes, envelopes and status codes. Those are in the
// packages beside it, which hand it a Call.
package binding

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire"
)

// Engine is what the bindings need of the engine.
type Engine interface {
	Send(context.Context, a2a.Caller, a2a.SkillID, *a2a.SendRequest) (*a2a.SendResult, error)
	Get(context.Context, a2a.Caller, *a2a.GetRequest) (*a2a.Task, error)
	List(context.Context, a2a.Caller, *a2a.ListRequest) (*a2a.ListResult, error)
	Cancel(context.Context, a2a.Caller, *a2a.CancelRequest) (*a2a.Task, error)
	Stream(context.Context, a2a.Caller, a2a.SkillID, *a2a.SendRequest) (*a2a.Task, *engine.Reader, error)
	Follow(context.Context, a2a.Scope, a2a.TaskID) (*engine.Reader, *a2a.Task, error)
}

// Pushes is what the bindings need of the engine for push configs.
type Pushes interface {
	SetPush(context.Context, a2a.Caller, *a2a.PushRequest) (*a2a.PushConfig, error)
	GetPush(context.Context, a2a.Caller, *a2a.PushRequest) (*a2a.PushConfig, error)
	ListPush(context.Context, a2a.Caller, *a2a.PushRequest) ([]a2a.PushConfig, error)
	DeletePush(context.Context, a2a.Caller, *a2a.PushRequest) error
}

// Options of the bindings. All but the functions' results are required.
type Options struct {
	Engine   Engine
	Dialects *wire.Dialects
	Limits   wire.Limits
	// MaxBody is the largest request body in bytes.
	MaxBody int64
	// MaxWait returns the cap of a blocking call in a dialect; 0 is none.
	MaxWait func(dialect string) time.Duration
	// MaxPoll is the longest wait of a status read; what it asks for beyond is cut. 0
	// lets none wait.
	MaxPoll time.Duration
	// Allow counts the request against the caller's read or write limit, and returns an
	// error when the limit is reached.
	Allow func(rec *access.Record, reads bool) error
	// ExtendedCard returns the extended agent card for the caller as JSON, in the
	// dialect's form, or an error that says why there is none. r is nil for a request
	// that did not come over HTTP.
	ExtendedCard func(r *http.Request, caller a2a.Caller, d *wire.Dialect) ([]byte, error)
	// Extensions are those that clients can activate, as the card declares them. What
	// is required is the engine's to check.
	Extensions a2a.Extensions
	// Push keeps push configs. It is nil if the server sends no notifications: the
	// operations on push configs are then refused, whatever their params.
	Push Pushes
	// NoStreams refuses the streaming operations, as the card then declares it.
	NoStreams bool
	// PlainErrors has JSON-RPC answer a 1.0 request for a stream that cannot begin like
	// any other, instead of with a stream of one event.
	PlainErrors bool
	// Stream are the times of streams.
	Stream stream.Options
	// EnterStream counts an open stream of the caller, or a status read that waits;
	// leave ends it. An error says that the caller has too many. It may be nil.
	EnterStream func(a2a.Caller) (leave func(), err error)
}

// Binding is the common part of the bindings. It is safe for concurrent use.
type Binding struct {
	Options
	// buffers holds response buffers; those that grew large are left to the
	// collector.
	buffers sync.Pool
}

// New makes a Binding.
func New(o Options) *Binding {
	b := &Binding{Options: o}
	b.buffers.New = func() any { b := make([]byte, 0, newBuffer); return &b }
	return b
}

// Call is one call of an operation, as a binding understood it.
type Call struct {
	Op      a2a.Op
	Dialect *wire.Dialect
	// Decode reads the operation's request.
	Decode func(wire.Limits) (any, error)
	// Shape returns the dialect that shows a task, which may depend on the task
	// where two versions share a method; nil is always Dialect.
	Shape func(*a2a.Task) *wire.Dialect
	// WaitSends says that the URL's wait counts for a send as well: it replaces what
	// the dialect's calls wait, up to the longest wait of a status read.
	WaitSends bool
	// Meta is what the client says beside the request.
	Meta access.Meta
	// HTTP is the request, if it came over HTTP; its URL may say more. Do and Open set
	// both.
	HTTP *http.Request
}

// query returns a parameter of the URL, or "".
func (c *Call) query(name string) string {
	if c.HTTP == nil || c.HTTP.URL.RawQuery == "" {
		return ""
	}
	return c.HTTP.URL.Query().Get(name)
}

// Begin prepares for the answer: the time to send a request is not the time to
// answer it.
func Begin(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // where it is not supported there is none
}

// Streams reports whether the operation is answered by a stream.
func Streams(op a2a.Op) bool { return op == a2a.OpStream || op == a2a.OpSubscribe }

// Do is Perform for a request over HTTP. It sets the headers that only a success has.
func (b *Binding) Do(w http.ResponseWriter, r *http.Request, rec *access.Record, c Call) (any, a2a.View, error) {
	c.Meta, c.HTTP = r.Header, r
	res, view, active, err := b.Perform(r.Context(), rec, &c)
	if err == nil {
		access.EchoExtensions(c.Meta, active, w.Header().Set)
	}
	return res, view, err
}

// Perform decodes the request and calls the engine, for operations without a stream. The
// result is what wire.Method.Append takes, or []byte: a card as JSON. active are the
// extensions that the client is to be told of.
func (b *Binding) Perform(ctx context.Context, rec *access.Record, c *Call) (res any, view a2a.View, active []string, err error) {
	if res, view, err = b.call(ctx, rec, c); err != nil {
		return nil, view, nil, err
	}
	active = b.Extensions.Active(access.Extensions(c.Meta))
	view.Sequence = slices.Contains(active, a2a.ExtEventSequence)
	return res, view, active, nil
}

// off refuses an operation that is switched off, whatever its request.
func (b *Binding) off(op a2a.Op) error {
	switch {
	case Streams(op) && b.NoStreams:
		return &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: "This operation is not supported: the agent does not stream."}
	case isPush(op) && b.Push == nil:
		return &a2a.Error{Code: a2a.CodePushNotSupported, Message: "Push Notification is not supported"}
	}
	return nil
}

func (b *Binding) call(ctx context.Context, rec *access.Record, c *Call) (any, a2a.View, error) {
	if err := b.off(c.Op); err != nil {
		return nil, a2a.View{}, err
	}
	req, err := c.Decode(b.Limits)
	if err != nil {
		return nil, a2a.View{}, err
	}
	switch c.Op {
	case a2a.OpSend:
		q := req.(*a2a.SendRequest)
		if err := b.fill(q, c); err != nil {
			return nil, q.View, err
		}
		if c.WaitSends {
			if err := b.waitSend(q, c); err != nil {
				return nil, q.View, err
			}
		}
		rec.TaskID = q.TaskID
		res, err := b.Engine.Send(ctx, rec.Caller, rec.Mount, q)
		if err == nil && res.Task != nil {
			rec.Saw(res.Task)
		}
		return res, q.View, err
	case a2a.OpGet:
		q := req.(*a2a.GetRequest)
		rec.TaskID = q.ID
		leave, err := b.poll(q, c, rec)
		if err != nil {
			return nil, q.View, err
		}
		defer leave()
		t, err := b.Engine.Get(ctx, rec.Caller, q)
		if err == nil {
			rec.Saw(t)
		}
		return t, q.View, err
	case a2a.OpList:
		q := req.(*a2a.ListRequest)
		res, err := b.Engine.List(ctx, rec.Caller, q)
		return res, q.View, err
	case a2a.OpCancel:
		q := req.(*a2a.CancelRequest)
		rec.TaskID = q.ID
		t, err := b.Engine.Cancel(ctx, rec.Caller, q)
		if err == nil {
			rec.Saw(t)
		}
		return t, a2a.View{}, err
	case a2a.OpExtendedCard:
		card, err := b.ExtendedCard(c.HTTP, rec.Caller, c.Dialect)
		return card, a2a.View{}, err
	default:
		res, err := b.push(ctx, rec, c.Op, req.(*a2a.PushRequest))
		return res, a2a.View{}, err
	}
}

// isPush reports whether the operation is one on push configs.
func isPush(op a2a.Op) bool {
	switch op {
	case a2a.OpSetPush, a2a.OpGetPush, a2a.OpListPush, a2a.OpDeletePush:
		return true
	}
	return false
}

// push calls the engine for an operation on push configs.
func (b *Binding) push(ctx context.Context, rec *access.Record, op a2a.Op, q *a2a.PushRequest) (any, error) {
	rec.TaskID = q.TaskID
	switch op {
	case a2a.OpSetPush:
		return b.Push.SetPush(ctx, rec.Caller, q)
	case a2a.OpGetPush:
		return b.Push.GetPush(ctx, rec.Caller, q)
	case a2a.OpListPush:
		return b.Push.ListPush(ctx, rec.Caller, q)
	default:
		return nil, b.Push.DeletePush(ctx, rec.Caller, q)
	}
}

// fill completes a send with what the client says beside it.
func (b *Binding) fill(q *a2a.SendRequest, c *Call) error {
	q.Dialect = c.Dialect.Name
	q.MaxWait = b.MaxWait(q.Dialect)
	if prefers(c.Meta, "respond-async") {
		q.Blocking = false
	}
	if q.Dialect == wire.NameEMM && q.NewTaskID == "" {
		// The contract of this dialect promises a random UUID.
		q.NewTaskID = a2a.TaskID(uuid.NewString())
	}
	q.Extensions = access.Extensions(c.Meta)
	q.IdempotencyKey = access.First(c.Meta, "Idempotency-Key")
	const longest = 255
	for i := 0; i < len(q.IdempotencyKey); i++ {
		if b := q.IdempotencyKey[i]; b < ' ' || b > '~' || i >= longest {
			return a2a.InvalidParams("Idempotency-Key", fmt.Sprintf("must be at most %d printable ASCII characters", longest))
		}
	}
	return nil
}

// poll completes a status read with the wait that the URL asks for. leave is to be
// called when it is over.
func (b *Binding) poll(q *a2a.GetRequest, c *Call, rec *access.Record) (leave func(), err error) {
	leave = func() {}
	d, _, err := wait(c)
	if err != nil {
		return nil, err
	}
	if q.Wait = min(d, b.MaxPoll); q.Wait > 0 && b.EnterStream != nil {
		return b.EnterStream(rec.Caller)
	}
	return leave, nil
}

// waitSend gives a send the wait that the URL asks for, if it does.
func (b *Binding) waitSend(q *a2a.SendRequest, c *Call) error {
	d, given, err := wait(c)
	if err != nil || !given {
		return err
	}
	q.MaxWait = min(d, b.MaxPoll)
	q.Blocking = q.Blocking && q.MaxWait > 0
	return nil
}

// wait reads the wait of the URL.
func wait(c *Call) (d time.Duration, given bool, err error) {
	text := c.query("wait")
	if text == "" {
		return 0, false, nil
	}
	if d, err = time.ParseDuration(text); err != nil || d < 0 {
		return 0, false, a2a.InvalidParams("wait", "must be a time such as 30s")
	}
	return d, true, nil
}

// Version returns the A2A-Version of a request, from its header or its query.
func Version(r *http.Request) string {
	v := r.Header.Get("A2A-Version")
	if v == "" && r.URL.RawQuery != "" {
		v = r.URL.Query().Get("A2A-Version")
	}
	return v
}

// prefers reports whether the Prefer header holds the preference (RFC 7240).
func prefers(m access.Meta, preference string) bool {
	for _, p := range access.List(m, "Prefer") {
		if strings.EqualFold(p, preference) {
			return true
		}
	}
	return false
}
