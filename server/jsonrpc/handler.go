// Package jsonrpc is the JSON-RPC binding, written once for all dialects.
//
// It holds no rule of the protocol: package wire knows the spellings, package
// engine does the work, package binding calls it. What is decided here is what
// JSON-RPC over HTTP needs: the envelope and the status code.
package jsonrpc

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/sse"
)

// Handler serves JSON-RPC requests. The skill of the path is access.Record.Mount.
type Handler struct{ b *binding.Binding }

// New makes a Handler.
func New(b *binding.Binding) *Handler { return &Handler{b} }

// contentType is the media type of answers that are no streams.
const contentType = "application/json"

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := h.answer(w, r); s != nil {
		s.Serve(r.Context())
	}
}

// answer answers one request, or opens the stream that it asks for.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) *binding.Running {
	rec := access.From(r.Context())
	env, d, m, err := h.parse(w, r)
	if err == nil {
		rec.Method = env.Method
		err = h.b.Allow(rec, m.Op.Reads())
	}
	if m.Op == a2a.OpExtendedCard {
		agentcard.KeepPrivate(w.Header())
	}
	var res any
	var view a2a.View
	if err == nil {
		binding.Begin(w)
		c := binding.Call{
			Op: m.Op, Dialect: d,
			Decode: func(lim wire.Limits) (any, error) { return m.Decode(env.Params, lim) },
			Shape:  func(t *a2a.Task) *wire.Dialect { return h.b.Dialects.Shape(d, env.Method, t) },
		}
		if binding.Streams(m.Op) {
			s, berr := h.b.Open(w, r, rec, c, framing(env.ID, d))
			if berr == nil {
				return s
			}
			err = berr
		} else {
			res, view, err = h.b.Do(w, r, rec, c)
		}
	}
	if err != nil && h.wantsFrame(r, d, m, err) {
		rec.Err = err
		errorFrame(w, env.ID, d, err)
		return nil
	}
	var coded *a2a.Error
	switch {
	case err == nil:
		if t, ok := res.(*a2a.Task); ok {
			m = h.b.Dialects.Shape(d, env.Method, t).Methods[env.Method]
		}
		h.write(w, http.StatusOK, func(b []byte) []byte {
			return wire.AppendResult(b, env.ID, func(b []byte) []byte {
				if raw, ok := res.([]byte); ok {
					return append(b, raw...)
				}
				return m.Append(b, res, view)
			})
		})
	case m.NotFound != nil && errors.As(err, &coded) && coded.Code == a2a.CodeTaskNotFound:
		h.write(w, http.StatusOK, func(b []byte) []byte {
			return wire.AppendResult(b, env.ID, func(b []byte) []byte {
				return m.NotFound(b, a2a.TaskID(coded.Details["taskId"]))
			})
		})
	default:
		// A client that only closed its sending side looks as if it had left, and
		// still reads the answer.
		rec.Err, rec.Gone = err, r.Context().Err() != nil
		binding.SetRetryAfter(w, a2a.AsError(err))
		h.writeError(w, Status(err), env.ID, d, err)
	}
	return nil
}

func (h *Handler) write(w http.ResponseWriter, status int, fill func(b []byte) []byte) {
	h.b.Write(w, status, contentType, fill)
}

// writeError answers with a JSON-RPC error in the spelling of the dialect.
func (h *Handler) writeError(w http.ResponseWriter, status int, id []byte, d *wire.Dialect, err error) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", access.Challenge)
	}
	h.write(w, status, func(b []byte) []byte { return wire.AppendErrorResponse(b, id, d, a2a.AsError(err)) })
}

// parse reads the body and finds out what is asked for. The envelope holds the id
// to answer with and the dialect the form of the answer, also with an error.
func (h *Handler) parse(w http.ResponseWriter, r *http.Request) (env wire.Envelope, d *wire.Dialect, m wire.Method, err error) {
	version := binding.Version(r)
	d = h.b.Dialects.V1
	if version == "" {
		d = h.b.Dialects.V03
	}
	if err := binding.CheckContent(r); err != nil {
		return env, d, m, err
	}
	body, err := h.b.Read(w, r)
	if err != nil {
		return env, d, m, err
	}
	env, bad := wire.ParseEnvelope(body, h.b.Limits)
	if bad != nil {
		return env, d, m, bad
	}
	d, m, bad = h.b.Dialects.Detect(env.Method, version)
	if bad != nil {
		return env, d, m, bad
	}
	return env, d, m, nil
}

// Status is the HTTP status of an error. Errors of the protocol are answers like
// any other (200); what HTTP itself has a word for has its status.
func Status(err error) int {
	switch a2a.AsError(err).Code {
	case a2a.CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
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

// framing wraps what a dialect shows into responses with the request's id.
func framing(id []byte, d *wire.Dialect) binding.Framing {
	id = bytes.Clone(id) // a stream outlives the body that id is a part of
	return binding.Framing{
		Frame: func(b []byte, n int64, result []byte) []byte {
			b = sse.AppendStart(b, n, "")
			b = wire.AppendResult(b, id, func(b []byte) []byte { return append(b, result...) })
			return sse.AppendEnd(b)
		},
		Error: func(b []byte, err error) []byte { return appendErrorFrame(b, id, d, err) },
	}
}

// errorFrame answers an error of a request that wanted a stream, before the first
// event. Half of the clients lose a plain JSON answer to a streaming call, none an
// event; so it is an event for all who say that they take one.
func errorFrame(w http.ResponseWriter, id []byte, d *wire.Dialect, err error) {
	stream.Open(w)
	_, _ = w.Write(appendErrorFrame(nil, id, d, err)) // a client that is gone has no use for it
}

func appendErrorFrame(b, id []byte, d *wire.Dialect, err error) []byte {
	b = sse.AppendStart(b, 0, "error")
	b = wire.AppendErrorResponse(b, id, d, a2a.AsError(err))
	return sse.AppendEnd(b)
}

// wantsFrame reports whether an error is answered as an event: the request is for
// a stream, its client takes one, and the error is none of HTTP's own.
func (h *Handler) wantsFrame(r *http.Request, d *wire.Dialect, m wire.Method, err error) bool {
	if h.b.PlainErrors && d.Name == wire.NameV1 {
		return false
	}
	if !binding.Streams(m.Op) || Status(err) != http.StatusOK {
		return false
	}
	return strings.Contains(r.Header.Get("Accept"), sse.ContentType)
}
