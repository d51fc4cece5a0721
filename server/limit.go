package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/httprate"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/access"
)

// limiter counts requests per caller in two classes, reading and writing.
type limiter struct {
	read, write       *httprate.RateLimiter // nil: no limit
	readPer, writePer time.Duration

	streams int // per caller; 0: no limit
	mu      sync.Mutex
	open    map[a2a.Scope]int // guarded by mu; streams
}

func newLimiter(l configs.Limits) *limiter {
	make1 := func(r configs.Rate) *httprate.RateLimiter {
		if r.Requests == 0 {
			return nil
		}
		// The header names of the library but for Retry-After, which refuse sets.
		return httprate.NewRateLimiter(r.Requests, r.Per, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
	}
	return &limiter{read: make1(l.Read), write: make1(l.Write), readPer: l.Read.Per, writePer: l.Write.Per,
		streams: l.Streams, open: make(map[a2a.Scope]int)}
}

// allow counts a request, and returns an *a2a.Error with code rate_limited when
// the caller has no more left. Callers without a key are told apart by address.
func (l *limiter) allow(rec *access.Record, reads bool) error {
	key := rec.Caller.Scope.Tenant + "/" + rec.Caller.Name
	if rec.Caller.Anonymous || rec.Caller.Name == "" {
		key = "ip:" + httprate.CanonicalizeIP(rec.ClientIP)
	}
	limit, per, class := l.write, l.writePer, "write"
	if reads {
		limit, per, class = l.read, l.readPer, "read"
	}
	// The library sets no headers (see newLimiter), and its counter does not fail.
	if limit == nil || !limit.OnLimit(nil, new(http.Request), key) {
		return nil
	}
	return &a2a.Error{
		Code:       a2a.CodeRateLimited,
		Message:    "Too many requests (" + class + " limit); slow down.",
		RetryAfter: max(per, time.Second), // by then the window has moved on
	}
}

// enterStream counts an open stream of the caller until leave is called, and
// returns an *a2a.Error with code rate_limited when there are too many.
func (l *limiter) enterStream(c a2a.Caller) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams > 0 && l.open[c.Scope] >= l.streams {
		return nil, &a2a.Error{
			Code:       a2a.CodeRateLimited,
			Message:    "Too many open streams and waiting reads; close some, or read without waiting.",
			RetryAfter: time.Second,
		}
	}
	l.open[c.Scope]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[c.Scope]--; l.open[c.Scope] == 0 {
			delete(l.open, c.Scope)
		}
	}, nil
}
