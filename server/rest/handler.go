// Package rest is the HTTP+JSON binding of A2A 1.0 (§11), and below v1 that of 0.3.
//
// It is a table of routes. Package wire makes the params of a JSON-RPC method from
// the body, the query and the path of a request, so that both bindings read and
// write the same; package binding calls the engine. The path decides the version, and
// A2A-Version can only refuse it; but at the paths of 1.0 it may name 0.3, as the client
// of the Go SDK does.
package rest

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/sse"
)

// Handler serves REST requests. The skill of the path is access.Record.Mount.
type Handler struct {
	b     *binding.Binding
	depth int
}

// New makes a Handler. depth is how many segments of a request's path come before
// those of the binding.
func New(b *binding.Binding, depth int) *Handler { return &Handler{b: b, depth: depth} }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := h.answer(w, r); s != nil {
		s.Serve(r.Context())
	}
}

// Refuse answers a request that was refused before it came here.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, e *a2a.Error) {
	_, d := h.route(r)
	h.writeError(w, r, d, e)
}

// answer answers one request, or opens the stream that it asks for.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) *binding.Running {
	rec := access.From(r.Context())
	rt, d := h.route(r)
	op := rt.op(r.Method)
	rec.Method = string(op)
	m := d.Methods[string(op)]
	if op == a2a.OpExtendedCard {
		agentcard.KeepPrivate(w.Header())
	}
	err := h.check(w, r, &rt, d, op)
	var params []byte
	if err == nil {
		params, err = h.params(w, r, &rt, op)
	}
	var res any
	var view a2a.View
	if err == nil {
		binding.Begin(w)
		c := binding.Call{Op: op, Dialect: d, Decode: func(lim wire.Limits) (any, error) { return m.Decode(params, lim) }}
		if binding.Streams(op) {
			s, berr := h.b.Open(w, r, rec, c, framing(d))
			if berr == nil {
				return s
			}
			err = berr
		} else {
			res, view, err = h.b.Do(w, r, rec, c)
		}
	}
	if err != nil {
		// A client that only closed its sending side looks as if it had left, and
		// still reads the answer.
		rec.Err, rec.Gone = err, r.Context().Err() != nil
		h.writeError(w, r, d, a2a.AsError(err))
		return nil
	}
	h.b.Write(w, http.StatusOK, contentType(r, d), func(b []byte) []byte {
		if card, ok := res.([]byte); ok {
			return append(b, card...)
		}
		return m.Append(b, res, view)
	})
	return nil
}

// route finds out what the request asks for, and in which version.
func (h *Handler) route(r *http.Request) (route, *wire.Dialect) {
	path := segments(r.URL.EscapedPath())
	if len(path) < h.depth {
		return route{}, h.b.Dialects.RestV1
	}
	rt := parse(path[h.depth:])
	d, version := h.b.Dialects, binding.Version(r)
	switch {
	case rt.old:
		return rt, d.RestV03
	case version != "" && d.Accepts(d.RestGoV03, version) == nil:
		return rt, d.RestGoV03
	}
	return rt, d.RestV1
}

// check says why a request is refused before it is read, or nil.
func (h *Handler) check(w http.ResponseWriter, r *http.Request, rt *route, d *wire.Dialect, op a2a.Op) error {
	switch {
	case len(rt.methods) == 0:
		return &a2a.Error{Code: a2a.CodeMethodNotFound, Message: "There is nothing at this path. The agent card says what this agent offers."}
	case op == "":
		w.Header().Set("Allow", rt.allow())
		return &a2a.Error{Code: a2a.CodeMethodNotAllowed, Message: "Method not allowed; use " + rt.allow() + "."}
	}
	if e := h.b.Dialects.Accepts(d, binding.Version(r)); e != nil {
		return e
	}
	return h.b.Allow(access.From(r.Context()), op.Reads())
}

// params gathers the params of the request. Only a POST has a body; how one with
// an empty body calls it is all the same.
func (h *Handler) params(w http.ResponseWriter, r *http.Request, rt *route, op a2a.Op) ([]byte, error) {
	var body []byte
	var query url.Values
	path := rt.path
	if r.Method != http.MethodPost {
		query = r.URL.Query()
	} else {
		var err error
		if r.ContentLength != 0 {
			if err = binding.CheckContent(r); err != nil {
				return nil, err
			}
		}
		if body, err = h.b.Read(w, r); err != nil {
			return nil, err
		}
		if rt.old && op == a2a.OpSetPush {
			q := r.URL.Query()
			if id := q.Get("configId") + q.Get("config_id"); id != "" {
				path = append(path, wire.PathParam{Name: "configId", Value: id})
			}
		}
	}
	params, e := wire.RestParams(body, query, path, h.b.Limits)
	if e != nil {
		return nil, e
	}
	return params, nil
}

func (h *Handler) writeError(w http.ResponseWriter, r *http.Request, d *wire.Dialect, e *a2a.Error) {
	binding.SetRetryAfter(w, e)
	if e.Code == a2a.CodeUnauthenticated {
		w.Header().Set("WWW-Authenticate", access.Challenge)
	}
	h.b.Write(w, h.b.Dialects.HTTPStatus(e.Code), contentType(r, d), func(b []byte) []byte { return d.AppendError(b, e) })
}

// mediaType is what 1.0 calls its JSON (A2A 1.0 §11.1).
const mediaType = "application/a2a+json"

// contentType is the media type of an answer: 1.0's own for clients that name it.
func contentType(r *http.Request, d *wire.Dialect) string {
	if d.Name == wire.NameV1 {
		for _, name := range [...]string{"Accept", "Content-Type"} {
			for _, v := range r.Header.Values(name) {
				if strings.Contains(strings.ToLower(v), mediaType) {
					return mediaType
				}
			}
		}
	}
	return "application/json"
}

// framing sends what a dialect shows as it is.
func framing(d *wire.Dialect) binding.Framing {
	return binding.Framing{
		Frame: func(b []byte, n int64, result []byte) []byte {
			return sse.AppendEnd(append(sse.AppendStart(b, n, ""), result...))
		},
		Error: func(b []byte, err error) []byte {
			return sse.AppendEnd(d.AppendError(sse.AppendStart(b, 0, "error"), a2a.AsError(err)))
		},
	}
}
