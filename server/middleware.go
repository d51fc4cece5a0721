package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
)

// observe opens the request's record, answers a panic with 500, and logs one line
// when the request is over.
func (a *App) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &access.Record{RequestID: requestID(r.Header.Get("X-Request-Id")), ClientIP: clientIP(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), a.trusted)}
		sw := &statusWriter{ResponseWriter: w, timeout: a.cfg.Stream.WriteTimeout}
		if a.cfg.Server.RequestID {
			sw.Header().Set("X-Request-Id", rec.RequestID)
		}
		r = r.WithContext(access.With(r.Context(), rec))
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a sentinel panic value
				a.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).
					Str("request_id", rec.RequestID).Msg("request panicked")
				if sw.status == 0 {
					refuse(sw, r, &a2a.Error{Code: a2a.CodeInternal, Message: "internal error"})
				}
			}
			sw.limit() // for what net/http still has to send
			if sw.slow && rec.Err == nil {
				rec.Err = errSlow
			}
			a.logRequest(r, rec, sw, time.Since(began))
			if p == http.ErrAbortHandler { //nolint:errorlint // a sentinel panic value
				panic(p)
			}
		}()
		next.ServeHTTP(sw, r)
	})
}

// statusGone is logged for a client that left before it was answered.
const statusGone = 499

func (a *App) logRequest(r *http.Request, rec *access.Record, w *statusWriter, took time.Duration) {
	level := zerolog.InfoLevel
	status := w.status
	switch {
	case rec.Gone:
		status = statusGone
	case w.status >= 500:
		level = zerolog.ErrorLevel
	case w.status == http.StatusUnauthorized || w.status == http.StatusForbidden:
		level = zerolog.WarnLevel
	}
	ev := a.log.WithLevel(level)
	if ev == nil || a.log.GetLevel() > level {
		return
	}
	route := ""
	if c := chi.RouteContext(r.Context()); c != nil {
		route = c.RoutePattern()
	}
	ev = ev.Str("request_id", rec.RequestID).Str("method", r.Method).Str("route", route).
		Int("status", status).Float64("duration_ms", float64(took.Microseconds())/1000).Int64("bytes", w.bytes)
	logRecord(ev, rec)
}

// logRecord writes the line of a request with what its record knows.
func logRecord(ev *zerolog.Event, rec *access.Record) {
	ev = ev.Str("client_ip", rec.ClientIP).Str("principal", rec.Caller.Name)
	if rec.Method != "" {
		ev = ev.Str("a2a_method", rec.Method)
	}
	if rec.Skill != "" {
		ev = ev.Str("skill", string(rec.Skill))
	}
	if rec.TaskID != "" {
		ev = ev.Str("task_id", string(rec.TaskID))
	}
	if rec.ContextID != "" {
		ev = ev.Str("context_id", string(rec.ContextID))
	}
	if rec.Err != nil {
		ev = ev.Err(rec.Err).Str("error_kind", string(a2a.AsError(rec.Err).Code))
	}
	ev.Msg("request")
}

// requestID takes over a sane X-Request-Id, or makes one.
func requestID(id string) string {
	if id == "" || len(id) > 128 {
		return uuid.Must(uuid.NewV7()).String()
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return uuid.Must(uuid.NewV7()).String()
		}
	}
	return id
}

// identify finds the caller by what the request says beside its message. Failed tries
// count against the address.
func (a *App) identify(rec *access.Record, m access.Meta) error {
	caller, err := a.keys.Authenticate(func(name string) string { return access.First(m, name) })
	if err == nil {
		rec.Caller = caller
		return nil
	}
	if over := a.limits.allow(rec, false); over != nil {
		return over
	}
	return err
}

// authenticate finds the caller.
func (a *App) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.identify(access.From(r.Context()), r.Header); err != nil {
			refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// recognize finds the caller of what strangers may read as well, which shows more to who
// has a key. A key that is not accepted makes a stranger of its sender, since clients
// fetch public cards with the token of whatever server they talked to before.
func (a *App) recognize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := access.From(r.Context())
		rec.Caller = a2a.Caller{Anonymous: true}
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-API-Key") != "" {
			_ = a.identify(rec, r.Header) // who is not known stays a stranger
		}
		next.ServeHTTP(w, r)
	})
}

// speak has errors of the middleware answered by refuse.
func speak(refuse func(http.ResponseWriter, *http.Request, *a2a.Error), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access.From(r.Context()).Refuse = refuse
		next.ServeHTTP(w, r)
	})
}

// mount records the skill of the path.
func mount(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		access.From(r.Context()).Mount = a2a.SkillID(chi.URLParam(r, "skill"))
		next.ServeHTTP(w, r)
	}
}

// statusWriter remembers what was answered, and gives a client that does not read only
// so much time. It hides nothing that http.ResponseController looks for.
type statusWriter struct {
	http.ResponseWriter
	// timeout is how long the client may take for each piece of an answer. The whole may
	// take as long as it likes: it depends on the client's line.
	timeout time.Duration
	status  int
	bytes   int64
	slow    bool // it took too long
}

// Sizes of writes: up to the first one is buffered by net/http and cannot last, unless
// something larger did; what is larger is written in pieces of the second.
const (
	buffered = 2 << 10
	piece    = 64 << 10
)

var errSlow = errors.New("client does not take its answer")

// limit gives the client its time from now on. net/http lifts it when the request is over.
func (w *statusWriter) limit() {
	// Where it is not supported there is no connection.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if len(b) <= buffered {
		n, err := w.ResponseWriter.Write(b)
		w.bytes += int64(n)
		return n, err
	}
	written := 0
	for written < len(b) {
		w.limit()
		n, err := w.ResponseWriter.Write(b[written:min(written+piece, len(b))])
		written, w.bytes = written+n, w.bytes+int64(n)
		if err != nil {
			w.slow = errors.Is(err, os.ErrDeadlineExceeded)
			return written, err
		}
	}
	return written, nil
}

// Unwrap serves http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// health answers /healthz: the process is alive.
func health(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, r, http.StatusOK, []byte(`{"status":"ok"}`+"\n"))
}

// ready answers /readyz: the store answers and the server is not stopping.
func (a *App) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	switch {
	case a.stopping.Load():
		writeJSON(w, r, http.StatusServiceUnavailable, []byte(`{"status":"stopping"}`+"\n"))
	case a.store.Ping(ctx) != nil:
		writeJSON(w, r, http.StatusServiceUnavailable, []byte(`{"status":"store unavailable"}`+"\n"))
	default:
		writeJSON(w, r, http.StatusOK, []byte(`{"status":"ready"}`+"\n"))
	}
}
