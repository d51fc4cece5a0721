package plain

import (
	"net/http"
	"strconv"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/wire"
)

// Refuse answers with an error, as a problem (RFC 9457) with a hint.
func Refuse(w http.ResponseWriter, r *http.Request, e *a2a.Error) {
	access.From(r.Context()).Err = e
	e = inOwnWords(e)
	p := problemOf(e)
	b := append(wire.AppendProblem(nil, p, e), '\n')
	h := w.Header()
	binding.SetRetryAfter(w, e)
	h.Set("Content-Type", problemType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // nobody is left to tell
	}
}

// inOwnWords renames the field that an error blames, where the engine knows it by
// another name than callers of plain HTTP do.
func inOwnWords(e *a2a.Error) *a2a.Error {
	if e.Code == a2a.CodeInvalidParams && len(e.Fields) == 1 && e.Fields[0].Field == "pageToken" {
		return a2a.InvalidParams("page", e.Fields[0].Description)
	}
	return e
}

// problemOf says what an error means. A task in the wrong state is a conflict here,
// where the protocol has a code of its own for it.
func problemOf(e *a2a.Error) wire.Problem {
	p := wire.Problem{Status: wire.PlainStatus(e.Code)}
	switch e.Code {
	case a2a.CodeTaskNotCancelable:
		p.Status, p.Hint = http.StatusConflict, "Get the task to see how it ended."
	case a2a.CodeUnsupportedOperation:
		p.Status, p.Hint = http.StatusConflict, "Get the task to see what it is waiting for; /openapi.json says what there is."
	case a2a.CodeContentTypeNotSupported, a2a.CodeUnsupportedMediaType:
		p.Status, p.Hint = http.StatusUnsupportedMediaType, "Send text as text/plain, or one JSON object as application/json."
	case a2a.CodeUnknownSkill:
		p.Status, p.Hint = http.StatusNotFound, "GET /skills lists the skills."
	case a2a.CodeTaskNotFound:
		p.Hint = "GET /tasks lists your tasks. Ended ones are kept for a limited time."
	case a2a.CodeUnauthenticated:
		p.Hint = `Send your key: -H "X-API-Key: $API_KEY" or -H "Authorization: Bearer $API_KEY".`
	case a2a.CodeRateLimited, a2a.CodeQueueFull, a2a.CodeUnavailable:
		p.Hint = "Try again after the seconds that the header Retry-After says."
	case a2a.CodeIdempotencyConflict:
		p.Hint = "Use a new Idempotency-Key for a new request."
	case a2a.CodeInvalidParams, a2a.CodeInvalidRequest:
		p.Hint = "/openapi.json says what can be sent."
	}
	p.Title = http.StatusText(p.Status)
	return p
}

func unknownSkill(id a2a.SkillID) *a2a.Error {
	return &a2a.Error{Code: a2a.CodeUnknownSkill, Message: "There is no skill " + strconv.Quote(clip(string(id))) + "."}
}

func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
