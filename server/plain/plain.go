// Package plain is for people with curl: skills and tasks as plain HTTP resources,
// with texts and short JSON, and with what to try next in every answer.
//
//	GET    /skills             the skills
//	POST   /skills/{skill}     a text or a JSON object; answers with the task
//	GET    /tasks              the caller's tasks
//	GET    /tasks/{task}       the task; ?wait=30s waits for it
//	POST   /tasks/{task}       the answer to its question
//	DELETE /tasks/{task}       cancel it
//	GET    /tasks/{task}/stream
//
// It is no binding of the protocol and has no rule of its own: it calls the same
// operations, with the same callers, limits and idempotency keys. An error is an
// application/problem+json (RFC 9457) with a hint. It refuses what web pages of other
// origins send, since it takes bodies that browsers send without asking.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/wire"
)

// Options of a Handler. All are required but Origins.
type Options struct {
	Binding *binding.Binding
	// Offer returns what a caller may use.
	Offer func(a2a.Caller) skills.Offer
	// Base returns the public base URL for a request.
	Base func(*http.Request) string
	// TaskID returns the task of a request's path.
	TaskID func(*http.Request) a2a.TaskID
	// Origins are the origins whose pages may send; "*" is all.
	Origins []string
}

// Handler serves the resources. The skill of the path is access.Record.Mount.
type Handler struct {
	o     Options
	b     *binding.Binding
	guard *http.CrossOriginProtection // nil: pages of all origins may send
}

// New makes a Handler. An error names the origin that is none.
func New(o Options) (*Handler, error) {
	h := &Handler{o: o, b: o.Binding}
	if slices.Contains(o.Origins, "*") {
		return h, nil
	}
	h.guard = http.NewCrossOriginProtection()
	for _, origin := range o.Origins {
		if err := h.guard.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("trust origin: %w", err)
		}
	}
	return h, nil
}

// body is how a request's body is to be read.
type body int

const (
	bodyJSON  body = iota // JSON, or not said
	bodyText              // text
	bodyForm              // what curl -d says unless it is told otherwise: look at it
	bodyOther             // nothing that is taken
)

// kindOf reads the Content-Type.
func kindOf(r *http.Request) body {
	ct := r.Header.Get("Content-Type")
	if ct == "" {
		return bodyJSON
	}
	t, params, err := mime.ParseMediaType(ct)
	charset := strings.ToLower(params["charset"])
	switch {
	case err != nil:
		return bodyOther
	case t == "application/json", t == "text/json", strings.HasSuffix(t, "+json"):
		return bodyJSON
	case charset != "" && charset != "utf-8" && charset != "us-ascii":
		return bodyOther
	case t == "application/x-www-form-urlencoded":
		return bodyForm
	case strings.HasPrefix(t, "text/"):
		return bodyText
	}
	return bodyOther
}

// Speak has errors that arise before the handler answered as problems, unless the
// request may be JSON-RPC.
func (h *Handler) Speak(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || kindOf(r) != bodyJSON || !strings.HasPrefix(r.URL.Path, "/skills/") {
			access.From(r.Context()).Refuse = Refuse
		}
		next.ServeHTTP(w, r)
	})
}

// Skill serves POST /skills/{skill} and hands JSON-RPC requests on to rpc, as they
// came: everything but a text and a JSON object that is no request of it.
func (h *Handler) Skill(rpc http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := kindOf(r)
		if kind == bodyOther || kind == bodyJSON && !h.plainJSON(r) {
			rpc.ServeHTTP(w, r)
			return
		}
		access.From(r.Context()).Refuse = Refuse
		h.send(w, r, kind)
	})
}

// plainJSON looks whether a request's body is a JSON object that is not JSON-RPC. The
// request is afterwards as it was.
func (h *Handler) plainJSON(r *http.Request) bool {
	if r.ContentLength > h.b.MaxBody {
		return false // for others to refuse
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, h.b.MaxBody+1))
	again := io.MultiReader(bytes.NewReader(read), r.Body)
	if err != nil {
		again = io.MultiReader(bytes.NewReader(read), broken{err})
	}
	r.Body = replayed{again, r.Body}
	if err != nil || int64(len(read)) > h.b.MaxBody {
		return false
	}
	object, rpc := wire.PlainObject(read)
	return object && !rpc
}

// replayed is a body that was read before.
type replayed struct {
	io.Reader
	io.Closer
}

// broken is the rest of a body that did not arrive whole.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// send makes a task of the body, or with a task in the path gives it the body.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, kind body) {
	rec := access.From(r.Context())
	c := binding.Call{Op: a2a.OpSend, Dialect: h.b.Dialects.Plain, WaitSends: true}
	task := h.o.TaskID(r)
	if err := h.mayWrite(r); err != nil {
		Refuse(w, r, err)
		return
	}
	if task == "" && h.skill(rec) == nil {
		Refuse(w, r, unknownSkill(rec.Mount))
		return
	}
	if task != "" {
		// Whatever is wrong with the body matters to a task that is there only.
		err := h.b.Allow(access.From(r.Context()), true)
		if err == nil {
			_, err = h.b.Engine.Get(r.Context(), rec.Caller, &a2a.GetRequest{ID: task})
		}
		if err != nil {
			Refuse(w, r, a2a.AsError(err))
			return
		}
	}
	message, err := h.message(w, r, kind)
	if err != nil {
		Refuse(w, r, a2a.AsError(err))
		return
	}
	c.Decode = func(wire.Limits) (any, error) {
		return &a2a.SendRequest{
			Message: message, TaskID: task, Blocking: true,
			ContextID: a2a.ContextID(r.URL.Query().Get("context")),
		}, nil
	}
	res, ok := h.do(w, r, c)
	if !ok {
		return
	}
	sent := res.(*a2a.SendResult)
	t := sent.Task
	if t == nil {
		t = &a2a.Task{ContextID: sent.ContextID, Status: a2a.Status{State: a2a.StateCompleted, Message: sent.Message}}
	} else {
		w.Header().Set("Location", h.form(r).URL(t.ID))
	}
	status := http.StatusOK
	if !t.Status.State.Settled() {
		status = http.StatusAccepted
	}
	h.answer(w, r, status, t)
}

// message reads the body.
func (h *Handler) message(w http.ResponseWriter, r *http.Request, kind body) (m a2a.Message, err error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return m, &a2a.Error{Code: a2a.CodeUnsupportedMediaType, Message: "Compressed request bodies are not supported."}
	}
	content, err := h.b.Read(w, r)
	if err != nil {
		return m, err
	}
	object, rpc := false, false
	if kind != bodyText {
		object, rpc = wire.PlainObject(content)
	}
	switch {
	case kind == bodyOther:
		return m, &a2a.Error{Code: a2a.CodeUnsupportedMediaType, Message: "The request's Content-Type must be text/plain or application/json."}
	case kind == bodyForm && rpc:
		return m, &a2a.Error{Code: a2a.CodeUnsupportedMediaType, Message: "A JSON-RPC request must have the Content-Type application/json."}
	case kind == bodyJSON && !object:
		return m, a2a.InvalidParams("body", "must be one JSON object; send other text as text/plain")
	}
	if err := checkID("context", r.URL.Query().Get("context"), h.b.Limits); err != nil {
		return m, err
	}
	return wire.PlainMessage(content, object, h.b.Limits)
}

// skill returns the skill of the path, if the caller has it.
func (h *Handler) skill(rec *access.Record) *skills.Entry {
	return h.o.Offer(rec.Caller).Get(rec.Mount)
}

// mayWrite refuses what pages of other origins send.
func (h *Handler) mayWrite(r *http.Request) *a2a.Error {
	if h.guard == nil {
		return nil
	}
	if err := h.guard.Check(r); err != nil {
		return &a2a.Error{Code: a2a.CodeForbidden, Message: "Web pages of other origins may not send this, unless the server's setting server.cors_origins names theirs.", Err: err}
	}
	return nil
}
