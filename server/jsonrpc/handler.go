// Package jsonrpc is the JSON-RPC binding, written once for all dialects.
//
// It holds no rule of the protocol: package wire knows the spellings, package
// engine does the work. What is decided here is what HTTP needs: the status code,
// the headers, and that a body is read once and within its limit.
package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
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

// Engine is what the binding needs of the engine.
type Engine interface {
	Send(context.Context, a2a.Caller, a2a.SkillID, *a2a.SendRequest) (*a2a.SendResult, error)
	Get(context.Context, a2a.Caller, *a2a.GetRequest) (*a2a.Task, error)
	List(context.Context, a2a.Caller, *a2a.ListRequest) (*a2a.ListResult, error)
	Cancel(context.Context, a2a.Caller, *a2a.CancelRequest) (*a2a.Task, error)
	Stream(context.Context, a2a.Caller, a2a.SkillID, *a2a.SendRequest) (*a2a.Task, *engine.Reader, error)
	Follow(context.Context, a2a.Scope, a2a.TaskID) (*engine.Reader, *a2a.Task, error)
}

// Options of a Handler. All but the functions' results are required.
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
	// Allow counts the request against the caller's read or write limit. It sets
	// the response's headers, and returns an error when the limit is reached.
	Allow func(w http.ResponseWriter, r *http.Request, reads bool) error
	// ExtendedCard returns the extended agent card for the caller as JSON, in the
	// dialect's form, or an error that says why there is none.
	ExtendedCard func(r *http.Request, dialect string) ([]byte, error)
	// Push keeps push configs. It is nil if the server sends no notifications: the
	// operations on push configs are then refused, whatever their params.
	Push Pushes
	// NoStreams refuses the streaming operations, as the card then declares it.
	NoStreams bool
	// PlainErrors answers a 1.0 request for a stream that cannot begin like any other,
	// instead of with a stream of one event.
	PlainErrors bool
	// Stream are the times of streams.
	Stream stream.Options
	// EnterStream counts an open stream of the caller, or a status read that waits;
	// leave ends it. An error says that the caller has too many. It may be nil.
	EnterStream func(a2a.Caller) (leave func(), err error)
}

// Handler serves JSON-RPC requests. The skill of the path is access.Record.Mount.
type Handler struct {
	o Options
	// buffers holds response buffers; those that grew large are left to the
	// collector.
	buffers sync.Pool
}

const (
	newBuffer  = 4 << 10
	keepBuffer = 64 << 10
)

// New makes a Handler.
func New(o Options) *Handler {
	h := &Handler{o: o}
	h.buffers.New = func() any { b := make([]byte, 0, newBuffer); return &b }
	return h
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A stream is served from here, where the stack is low: every idle one keeps it.
	if s := h.answer(w, r); s != nil {
		s.serve(r.Context())
	}
}

// answer answers one request, or opens the stream that it asks for.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) *running {
	rec := access.From(r.Context())
	env, d, m, err := h.parse(w, r)
	if err == nil {
		rec.Method = env.Method
		err = h.o.Allow(w, r, m.Op.Reads())
	}
	var res any
	var view a2a.View
	if err == nil {
		// The time to send a request is not the time to answer it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // where it is not supported there is none
		if m.Op == a2a.OpStream || m.Op == a2a.OpSubscribe {
			s, berr := h.begin(w, r, rec, env, d, m)
			if berr == nil {
				return s
			}
			err = berr
		} else {
			res, view, err = h.do(r, rec, d, m, env.Params)
		}
	}
	if err != nil && h.wantsFrame(r, d, m, err) {
		rec.Err = err
		errorFrame(w, env.ID, d, err)
		return nil
	}
	status := http.StatusOK
	var coded *a2a.Error
	switch {
	case err == nil:
		h.write(w, status, func(b []byte) []byte {
			return wire.AppendResult(b, env.ID, func(b []byte) []byte {
				if raw, ok := res.([]byte); ok {
					return append(b, raw...)
				}
				return m.Append(b, res, view)
			})
		})
	case m.NotFound != nil && errors.As(err, &coded) && coded.Code == a2a.CodeTaskNotFound:
		h.write(w, status, func(b []byte) []byte {
			return wire.AppendResult(b, env.ID, func(b []byte) []byte {
				return m.NotFound(b, a2a.TaskID(coded.Details["taskId"]))
			})
		})
	default:
		// A client that only closed its sending side looks as if it had left, and
		// still reads the answer.
		rec.Err, rec.Gone = err, r.Context().Err() != nil
		setRetryAfter(w, a2a.AsError(err))
		h.writeError(w, Status(err), env.ID, d, err)
	}
	return nil
}

// write answers with what fill appends to a buffer.
func (h *Handler) write(w http.ResponseWriter, status int, fill func(b []byte) []byte) {
	buf := h.buffers.Get().(*[]byte)
	b := append(fill((*buf)[:0]), '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that is gone reads its task later
	if cap(b) <= keepBuffer {
		*buf = b
		h.buffers.Put(buf)
	}
}

// writeError answers with a JSON-RPC error in the spelling of the dialect.
func (h *Handler) writeError(w http.ResponseWriter, status int, id []byte, d *wire.Dialect, err error) {
	h.write(w, status, func(b []byte) []byte { return wire.AppendErrorResponse(b, id, d, a2a.AsError(err)) })
}

// parse reads the body and finds out what is asked for. The envelope holds the id
// to answer with and the dialect the form of the answer, also with an error.
func (h *Handler) parse(w http.ResponseWriter, r *http.Request) (env wire.Envelope, d *wire.Dialect, m wire.Method, err error) {
	version := r.Header.Get("A2A-Version")
	if version == "" && r.URL.RawQuery != "" {
		version = r.URL.Query().Get("A2A-Version")
	}
	d = h.o.Dialects.V1
	if version == "" {
		d = h.o.Dialects.V03
	}
	if err := checkContent(r); err != nil {
		return env, d, m, err
	}
	body, err := h.read(w, r)
	if err != nil {
		return env, d, m, err
	}
	env, bad := wire.ParseEnvelope(body, h.o.Limits)
	if bad != nil {
		return env, d, m, bad
	}
	d, m, bad = h.o.Dialects.Detect(env.Method, version)
	if bad != nil {
		return env, d, m, bad
	}
	return env, d, m, nil
}

// trustLength is how many bytes are set aside on the word of a Content-Length.
const trustLength = 64 << 10

// read reads the whole body. It is not pooled: the request's raw JSON stays part
// of it.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.o.MaxBody {
		return nil, tooLarge(h.o.MaxBody)
	}
	limited := http.MaxBytesReader(w, r.Body, h.o.MaxBody)
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
		return nil, tooLarge(h.o.MaxBody)
	case err != nil:
		return nil, &a2a.Error{Code: a2a.CodeInvalidRequest, Message: "The request body did not arrive whole.", Err: err}
	}
	return body, nil
}

// do decodes the params and calls the engine.
func (h *Handler) do(r *http.Request, rec *access.Record, d *wire.Dialect, m wire.Method, params []byte) (any, a2a.View, error) {
	if isPush(m.Op) && h.o.Push == nil {
		return nil, a2a.View{}, noPush()
	}
	var req any
	if m.Decode != nil {
		var err error
		if req, err = m.Decode(params, h.o.Limits); err != nil {
			return nil, a2a.View{}, err
		}
	}
	ctx := r.Context()
	switch m.Op {
	case a2a.OpSend:
		q := req.(*a2a.SendRequest)
		if err := h.fill(q, r, d); err != nil {
			return nil, q.View, err
		}
		rec.TaskID = q.TaskID
		res, err := h.o.Engine.Send(ctx, rec.Caller, rec.Mount, q)
		if err == nil && res.Task != nil {
			rec.Saw(res.Task)
		}
		return res, q.View, err
	case a2a.OpGet:
		q := req.(*a2a.GetRequest)
		rec.TaskID = q.ID
		leave, err := h.poll(q, r, rec)
		if err != nil {
			return nil, q.View, err
		}
		defer leave()
		t, err := h.o.Engine.Get(ctx, rec.Caller, q)
		if err == nil {
			rec.Saw(t)
		}
		return t, q.View, err
	case a2a.OpList:
		q := req.(*a2a.ListRequest)
		res, err := h.o.Engine.List(ctx, rec.Caller, q)
		return res, q.View, err
	case a2a.OpCancel:
		q := req.(*a2a.CancelRequest)
		rec.TaskID = q.ID
		t, err := h.o.Engine.Cancel(ctx, rec.Caller, q)
		if err == nil {
			rec.Saw(t)
		}
		return t, a2a.View{}, err
	case a2a.OpExtendedCard:
		card, err := h.o.ExtendedCard(r, d.Name)
		return card, a2a.View{}, err
	default:
		res, err := h.push(ctx, rec, m.Op, req.(*a2a.PushRequest))
		return res, a2a.View{}, err
	}
}

// fill completes a send with what the HTTP request says.
func (h *Handler) fill(q *a2a.SendRequest, r *http.Request, d *wire.Dialect) error {
	q.Dialect = d.Name
	q.MaxWait = h.o.MaxWait(d.Name)
	if prefers(r.Header, "respond-async") {
		q.Blocking = false
	}
	if d.Name == wire.NameEMM && q.NewTaskID == "" {
		// The contract of this dialect promises a random UUID.
		q.NewTaskID = a2a.TaskID(uuid.NewString())
	}
	q.Extensions = list(r.Header, "A2A-Extensions", "X-A2A-Extensions")
	q.IdempotencyKey = r.Header.Get("Idempotency-Key")
	const longest = 255
	for i := 0; i < len(q.IdempotencyKey); i++ {
		if c := q.IdempotencyKey[i]; c < ' ' || c > '~' || i >= longest {
			return a2a.InvalidParams("Idempotency-Key", fmt.Sprintf("must be at most %d printable ASCII characters", longest))
		}
	}
	return nil
}

// poll completes a status read with the wait that the URL asks for. leave is to be
// called when it is over.
func (h *Handler) poll(q *a2a.GetRequest, r *http.Request, rec *access.Record) (leave func(), err error) {
	leave = func() {}
	if r.URL.RawQuery == "" {
		return leave, nil
	}
	text := r.URL.Query().Get("wait")
	if text == "" {
		return leave, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return nil, a2a.InvalidParams("wait", "must be a time such as 30s")
	}
	if q.Wait = min(d, h.o.MaxPoll); q.Wait > 0 && h.o.EnterStream != nil {
		return h.o.EnterStream(rec.Caller)
	}
	return leave, nil
}

// prefers reports whether the Prefer header holds the preference (RFC 7240).
func prefers(h http.Header, preference string) bool {
	for _, p := range list(h, "Prefer") {
		if strings.EqualFold(p, preference) {
			return true
		}
	}
	return false
}

// list returns the elements of comma-separated headers.
func list(h http.Header, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, line := range h.Values(name) {
			for e := range strings.SplitSeq(line, ",") {
				if e = strings.TrimSpace(e); e != "" {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// checkContent refuses bodies that are not plain JSON. No Content-Type is fine.
func checkContent(r *http.Request) error {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return mediaError{&a2a.Error{Code: a2a.CodeContentTypeNotSupported, Message: "Compressed request bodies are not supported."}}
	}
	ct := r.Header.Get("Content-Type")
	if ct == "" || ct == "application/json" {
		return nil
	}
	t, _, err := mime.ParseMediaType(ct)
	if err == nil && (t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json")) {
		return nil
	}
	return mediaError{&a2a.Error{
		Code:    a2a.CodeContentTypeNotSupported,
		Message: "The request's Content-Type must be application/json.",
	}}
}

// mediaError is an error of the HTTP request's own content type (415), as against
// that of a message part, which is an error of the protocol (200).
type mediaError struct{ e *a2a.Error }

func (m mediaError) Error() string { return m.e.Error() }
func (m mediaError) Unwrap() error { return m.e }

// Status is the HTTP status of an error. Errors of the protocol are answers like
// any other (200); what HTTP itself has a word for has its status.
func Status(err error) int {
	if errors.As(err, &mediaError{}) {
		return http.StatusUnsupportedMediaType
	}
	switch a2a.AsError(err).Code {
	case a2a.CodeUnauthenticated:
		return http.StatusUnauthorized
	case a2a.CodeForbidden:
		return http.StatusForbidden
	case a2a.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case a2a.CodeRateLimited, a2a.CodeQueueFull:
		return http.StatusTooManyRequests
	case a2a.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

func setRetryAfter(w http.ResponseWriter, e *a2a.Error) {
	if e.RetryAfter > 0 {
		seconds := int64((e.RetryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
}

func tooLarge(limit int64) error {
	return &a2a.Error{
		Code:    a2a.CodeTooLarge,
		Message: fmt.Sprintf("The request body is larger than %d bytes.", limit),
		Details: map[string]string{"maxBodyBytes": strconv.FormatInt(limit, 10)},
	}
}
