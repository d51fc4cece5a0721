package plain

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/sse"
)

// Skills serves GET /skills.
func (h *Handler) Skills(w http.ResponseWriter, r *http.Request) {
	rec := access.From(r.Context())
	if err := h.b.Allow(access.From(r.Context()), true); err != nil {
		Refuse(w, r, a2a.AsError(err))
		return
	}
	var list []wire.PlainSkill
	offer := h.o.Offer(rec.Caller)
	standard := offer.Default()
	for _, e := range offer.All() {
		i := e.Info
		s := wire.PlainSkill{
			ID: i.ID, Name: i.Name, Description: i.Description, Tags: i.Tags, Examples: i.Examples,
			InputModes: i.InputModes, OutputModes: i.OutputModes, Default: e == standard,
		}
		if s.Name == "" {
			s.Name = string(s.ID)
		}
		list = append(list, s)
	}
	if wantsText(r) {
		h.b.Write(w, http.StatusOK, textType, func(b []byte) []byte {
			for i, s := range list {
				if i > 0 {
					b = append(b, '\n')
				}
				b = append(b, string(s.ID)+"\t"+s.Name+"\t"+strings.Join(strings.Fields(s.Description), " ")...)
			}
			return b
		})
		return
	}
	f := h.form(r)
	h.b.Write(w, http.StatusOK, jsonType, func(b []byte) []byte { return f.Skills(b, list) })
}

// Task serves GET and HEAD of /tasks/{task}.
func (h *Handler) Task(w http.ResponseWriter, r *http.Request) {
	id := h.o.TaskID(r)
	c := binding.Call{Op: a2a.OpGet, Dialect: h.b.Dialects.Plain}
	c.Decode = func(lim wire.Limits) (any, error) { return &a2a.GetRequest{ID: id}, checkID("task", string(id), lim) }
	if res, ok := h.do(w, r, c); ok {
		h.answer(w, r, http.StatusOK, res.(*a2a.Task))
	}
}

// Answer serves POST /tasks/{task}.
func (h *Handler) Answer(w http.ResponseWriter, r *http.Request) { h.send(w, r, kindOf(r)) }

// Cancel serves DELETE /tasks/{task}. Cancelling twice is no error.
func (h *Handler) Cancel(w http.ResponseWriter, r *http.Request) {
	if err := h.mayWrite(r); err != nil {
		Refuse(w, r, err)
		return
	}
	id := h.o.TaskID(r)
	c := binding.Call{Op: a2a.OpCancel, Dialect: h.b.Dialects.Plain}
	c.Decode = func(lim wire.Limits) (any, error) {
		return &a2a.CancelRequest{ID: id, Again: true}, checkID("task", string(id), lim)
	}
	if res, ok := h.do(w, r, c); ok {
		h.answer(w, r, http.StatusOK, res.(*a2a.Task))
	}
}

// Tasks serves GET /tasks: the caller's tasks, the newest first. Its parameters are
// status, context, since (RFC 3339), limit (1 to 100) and page.
func (h *Handler) Tasks(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c := binding.Call{Op: a2a.OpList, Dialect: h.b.Dialects.Plain}
	c.Decode = func(lim wire.Limits) (any, error) { return listRequest(q, lim) }
	res, ok := h.do(w, r, c)
	if !ok {
		return
	}
	list, next := res.(*a2a.ListResult), ""
	f := h.form(r)
	if list.NextPageToken != "" {
		q.Set("page", list.NextPageToken)
		next = f.Base + "/tasks?" + q.Encode()
	}
	if wantsText(r) {
		h.b.Write(w, http.StatusOK, textType, func(b []byte) []byte {
			for i, t := range list.Tasks {
				if i > 0 {
					b = append(b, '\n')
				}
				b = append(b, string(t.ID)+"\t"+string(t.Status.State)+"\t"+string(t.Skill)+"\t"+t.UpdatedAt.UTC().Format(time.RFC3339)...)
			}
			return b
		})
		return
	}
	h.b.Write(w, http.StatusOK, jsonType, func(b []byte) []byte { return f.Tasks(b, list, next) })
}

func listRequest(q url.Values, lim wire.Limits) (*a2a.ListRequest, error) {
	req := &a2a.ListRequest{ContextID: a2a.ContextID(q.Get("context")), PageToken: q.Get("page"), View: a2a.View{OmitArtifacts: true}}
	if err := checkID("context", q.Get("context"), lim); err != nil {
		return nil, err
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			return nil, a2a.InvalidParams("limit", "must be from 1 to 100")
		}
		req.PageSize = n
	}
	if text := q.Get("since"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, a2a.InvalidParams("since", "must be a time such as 2026-11-30T13:00:00Z")
		}
		req.StatusAfter = at
	}
	if text := q.Get("status"); text != "" {
		s, ok := wire.PlainState(text)
		if !ok {
			return nil, a2a.InvalidParams("status", "must be the name of a state such as working or completed")
		}
		req.State = s
	}
	return req, nil
}

// Stream serves GET /tasks/{task}/stream: the task, then its changes, until it has
// ended or asks for something. It resumes by Last-Event-ID.
func (h *Handler) Stream(w http.ResponseWriter, r *http.Request) {
	if s := h.open(w, r); s != nil {
		s.Serve(r.Context())
	}
}

func (h *Handler) open(w http.ResponseWriter, r *http.Request) *binding.Running {
	rec := access.From(r.Context())
	id := h.o.TaskID(r)
	c := binding.Call{Op: a2a.OpSubscribe, Dialect: h.b.Dialects.Plain}
	c.Decode = func(lim wire.Limits) (any, error) { return &a2a.GetRequest{ID: id}, checkID("task", string(id), lim) }
	rec.Method = string(c.Op)
	err := h.b.Allow(access.From(r.Context()), true)
	if err == nil {
		binding.Begin(w)
		var s *binding.Running
		if s, err = h.b.Open(w, r, rec, c, binding.Framing{Frame: frame, Error: errorFrame}); err == nil {
			return s
		}
	}
	Refuse(w, r, a2a.AsError(err))
	return nil
}

func frame(b []byte, id int64, result []byte) []byte {
	return sse.AppendEnd(append(sse.AppendStart(b, id, ""), result...))
}

func errorFrame(b []byte, err error) []byte {
	e := a2a.AsError(err)
	return sse.AppendEnd(wire.AppendProblem(sse.AppendStart(b, 0, "error"), problemOf(e), e))
}

// do calls an operation. It answers an error and reports false then.
func (h *Handler) do(w http.ResponseWriter, r *http.Request, c binding.Call) (any, bool) {
	rec := access.From(r.Context())
	rec.Method = string(c.Op)
	err := h.b.Allow(rec, c.Op.Reads())
	var res any
	if err == nil {
		binding.Begin(w)
		res, _, err = h.b.Do(w, r, rec, c)
	}
	if err != nil {
		rec.Gone = r.Context().Err() != nil
		Refuse(w, r, a2a.AsError(err))
		return nil, false
	}
	return res, true
}

// form is how tasks are shown to the client of a request.
func (h *Handler) form(r *http.Request) wire.Plain {
	return wire.Plain{Base: h.o.Base(r), Key: !access.From(r.Context()).Caller.Anonymous}
}

// Media types of answers.
const (
	jsonType    = "application/json"
	textType    = "text/plain; charset=utf-8"
	problemType = "application/problem+json"
)

// answer shows a task: as JSON, or its text alone to those who accept that. As long as
// there is no answer yet, the text says so and what to try.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, status int, t *a2a.Task) {
	f := h.form(r)
	w.Header().Set("X-Task-Status", string(t.Status.State))
	w.Header().Add("Vary", "Accept")
	if !wantsText(r) {
		h.b.Write(w, status, jsonType, func(b []byte) []byte { return f.Task(b, t) })
		return
	}
	h.b.Write(w, status, textType, func(b []byte) []byte {
		b = append(b, f.Answer(t)...)
		for _, line := range f.Next(t) {
			b = append(append(b, '\n'), line...)
		}
		return b
	})
}

// wantsText reports whether the client would rather have text than JSON.
func wantsText(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return quality(accept, "text", "plain") > quality(accept, "application", "json")
}

// quality returns how much an Accept header wants a media type (RFC 9110 §12.5.1).
func quality(accept, kind, sub string) float64 {
	best, closest := 0.0, -1
	for element := range strings.SplitSeq(accept, ",") {
		t, params, _ := strings.Cut(strings.ToLower(strings.TrimSpace(element)), ";")
		closeness := -1
		switch strings.TrimSpace(t) {
		case kind + "/" + sub:
			closeness = 2
		case kind + "/*":
			closeness = 1
		case "*/*":
			closeness = 0
		}
		if closeness <= closest {
			continue
		}
		q := 1.0
		for p := range strings.SplitSeq(params, ";") {
			if v, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
				q, _ = strconv.ParseFloat(v, 64) // what is no number is not wanted
			}
		}
		best, closest = q, closeness
	}
	return best
}

// checkID refuses ids that no task or conversation can have.
func checkID(name, id string, lim wire.Limits) error {
	if len(id) > lim.MaxIDBytes {
		return a2a.InvalidParams(name, "must not be longer than "+strconv.Itoa(lim.MaxIDBytes)+" bytes")
	}
	if strings.ContainsFunc(id, unicode.IsControl) {
		return a2a.InvalidParams(name, "must not have control characters")
	}
	return nil
}
