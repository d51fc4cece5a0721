package client

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// Kind says what went wrong, as far as a caller acts on it.
type Kind string

// The kinds of errors.
const (
	// KindUsage: the call itself is at fault (a URL that is none, a message without parts).
	KindUsage Kind = "usage"
	// KindUnreachable: the request cannot have reached the agent (name, address, TLS).
	KindUnreachable Kind = "unreachable"
	// KindBroken: the connection broke after the request may have reached the agent.
	KindBroken Kind = "broken"
	// KindTimeout: a time limit of this client was over.
	KindTimeout Kind = "timeout"
	// KindCanceled: the caller's context was canceled.
	KindCanceled Kind = "canceled"
	// KindForbidden: this client refuses to go where a card or a redirect points.
	KindForbidden Kind = "forbidden"
	// KindAuth: the agent wants other credentials (401, 403, or its words for them).
	KindAuth Kind = "auth"
	// KindBusy: the agent refuses for now (429, 503); see RetryAfter.
	KindBusy Kind = "busy"
	// KindNoCard: there is no agent card where one was looked for.
	KindNoCard Kind = "no_card"
	// KindTaskNotFound: the agent does not know the task (-32001).
	KindTaskNotFound Kind = "task_not_found"
	// KindUnsupported: the agent cannot do that, or this interface of it.
	KindUnsupported Kind = "unsupported"
	// KindRefused: the agent answers with another error of the protocol.
	KindRefused Kind = "refused"
	// KindInvalid: the answer is none of the protocol's.
	KindInvalid Kind = "invalid"
	// KindTooLarge: the answer is larger than this client reads.
	KindTooLarge Kind = "too_large"
)

// Error is what every call of this package fails with, but for context errors of the
// caller's own context, which it wraps.
type Error struct {
	Kind Kind
	Op   a2a.Op // "" for the card
	// URL is where the request went, without query and credentials.
	URL string
	// Status is the HTTP status, 0 if there was none.
	Status int
	// Code is the agent's error code of JSON-RPC, and Reason that of its ErrorInfo; 0
	// and "" if there are none.
	Code   int
	Reason string
	// Message is the agent's word if it is an error of the protocol, else ours.
	Message string
	// Data are the details that came with the agent's error, or nil.
	Data json.RawMessage
	// Body is the first part of an answer that is none of the protocol's, on one line.
	Body string
	// RetryAfter is how long the agent wants to be left alone; 0 when it says nothing.
	RetryAfter time.Duration
	// Sent says that the request may have reached the agent.
	Sent bool
	// Hint says what to do; "" if there is nothing to say.
	Hint string
	Err  error

	// lasting says that trying again cannot help.
	lasting bool
}

// Error says it on one line: the operation, the place, numbers, words. The hint is not
// part of it.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Op != "":
		b.WriteString(strings.ToLower(string(e.Op)))
	case e.Kind != KindUsage:
		b.WriteString("agent card")
	}
	if e.URL != "" {
		b.WriteString(" " + e.URL)
	}
	if b.Len() > 0 { // what was wrong before any request has no place
		b.WriteString(": ")
	}
	if e.Status != 0 && e.Status != 200 {
		b.WriteString("HTTP " + strconv.Itoa(e.Status) + ": ")
	}
	if e.Code != 0 {
		b.WriteString("error " + strconv.Itoa(e.Code) + ": ")
	}
	b.WriteString(e.Message)
	if e.Body != "" {
		b.WriteString(": " + strconv.Quote(e.Body))
	}
	if e.Err != nil && !ofContext(e.Err) && !strings.Contains(e.Message, e.Err.Error()) {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// ofContext reports whether an error is one of a context's own, which the message says in
// words for people.
func ofContext(err error) bool { return err == context.Canceled || err == context.DeadlineExceeded }

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, "" for others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// MayHaveArrived reports whether the agent may have taken a message whose send failed so:
// the request may have left, and the answer is no refusal, be it the agent's or that of
// whatever answers there. It is true for errors of other packages, of which nothing is
// known.
func MayHaveArrived(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return err != nil
	}
	if !e.Sent || e.Status >= 400 && e.Status < 500 {
		return false
	}
	switch e.Kind {
	case KindBroken, KindTimeout, KindCanceled, KindInvalid, KindTooLarge:
		return true
	}
	return false
}
