package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/jsonrpc"
	"github.com/skillyard/skillyard/wire"
)

// refuse answers a request that did not reach a binding: not authenticated, over
// a limit, or broken inside. The body is a JSON-RPC error for POST, since that is
// what such a client parses, and has "detail" for people and for everything else.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	rec := access.From(r.Context())
	rec.Err = err
	e := a2a.AsError(err)
	status := jsonrpc.Status(err)
	if status == http.StatusOK {
		status = http.StatusInternalServerError
	}
	h := w.Header()
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", access.Challenge)
	}
	if rec.Refuse != nil {
		rec.Refuse(w, r, e)
		return
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	detail, _ := json.Marshal(e.Message) // a string always marshals
	var b []byte
	if r.Method == http.MethodPost {
		b = wire.AppendErrorResponse(b, nil, nil, e)
		b = append(b[:len(b)-1], ',')
	} else {
		b = append(b, '{')
	}
	b = append(b, `"detail":`...)
	b = append(append(b, detail...), "}\n"...)
	writeJSON(w, r, status, b)
}

// notFound and notAllowed answer requests that no route takes.
func notFound(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, r, http.StatusNotFound, []byte(`{"detail":"Not found. The agent card at /.well-known/agent-card.json says what is here."}`+"\n"))
}

// The methods that are allowed are joined by commas; hints are sentences.
func notAllowed(allow string, hints ...string) http.HandlerFunc {
	detail := strings.Join(append([]string{"Method not allowed; use " + allow + "."}, hints...), " ")
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		writeJSON(w, r, http.StatusMethodNotAllowed, []byte(`{"detail":"`+detail+`"}`+"\n"))
	}
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // nobody is left to tell
	}
}
