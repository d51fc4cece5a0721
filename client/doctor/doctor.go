// Package doctor looks at a deployed A2A server from outside, through whatever proxies
// are in front of it, and says what they break: URLs in the card that lead nowhere,
// streams that are held back or cut off, bodies that are refused, logins in the way.
//
// It is a table of checks. A check asks the server something that changes nothing (a
// card, a task that does not exist, a body of spaces), or looks at what another has
// asked, and returns findings. Where a proxy is at fault, a finding carries the lines of
// nginx, Caddy and Traefik that mend it. Only Options.Send makes a task.
//
// Credentials go to the origin that the caller named and to no other, and never over a
// connection whose certificate is not good. Redirects are reported, not followed. A
// URL of the card that is on another host is not called.
package doctor

import (
	"context"
	"crypto/x509"
	"errors"

	"time"
)

// Severity says how bad a finding is.
type Severity string

// The severities. Skipped is what could not be looked at; the text says why.
const (
	OK      Severity = "ok"
	Warn    Severity = "warn"
	Fail    Severity = "fail"
	Skipped Severity = "skipped"
)

// Verdict is the outcome of an examination.
type Verdict string

// The verdicts.
const (
	Fine    Verdict = "ok"      // nothing failed; there may be warnings
	Fault   Verdict = "fault"   // something failed
	Timeout Verdict = "timeout" // no answer, or not all was looked at in time
	NoAuth  Verdict = "auth"    // nothing else failed, but a token is missing or refused
)

// Options of an examination. URL is required.
type Options struct {
	// URL is the agent's, as a client would be given it: the base of its card, the card,
	// or an endpoint.
	URL string
	// Token is the credential for the agent, or "".
	Token string
	// Timeout bounds the whole; default 90 s.
	Timeout time.Duration
	// Send allows one message to the agent, which makes a task and may cost something.
	// Skill and Text are what is sent; "" is the agent's choice, and a harmless text.
	Send        bool
	Skill, Text string
	// Proxy is for which proxy advice is given: "nginx", "caddy", "traefik" or "all".
	// "" takes the one that the answers name, else all.
	Proxy string
	// Roots are the authorities to trust; nil are those of the system.
	Roots *x509.CertPool
	// OnCheck is told which check begins; it may be nil.
	OnCheck func(name string)
	// UserAgent is sent with each request; "" is skillyard-doctor.
	UserAgent string

	pace pace // zero is the usual one
}

// Finding is what a check found.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	// Text says it to a person, on one line.
	Text string `json:"text"`
	// Hint says what to do, where that is not a matter of lines in a proxy's file.
	Hint  string `json:"hint,omitempty"`
	Fixes []Fix  `json:"fixes,omitempty"`
}

// Report is an examination.
type Report struct {
	URL string `json:"url"`
	// Agent is the name and version on the card; "" without one.
	Agent string `json:"agent,omitempty"`
	// Proxy is "nginx", "caddy", "traefik" or "" if the answers name none of them.
	Proxy    string    `json:"proxy,omitempty"`
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings"`
}

// Count returns how many findings have a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// need is what a check must have to be worth trying.
type need struct {
	met func(*exam) bool
	why string
}

var (
	needAnswer   = need{func(e *exam) bool { return e.answered }, "the server does not answer"}
	needCard     = need{func(e *exam) bool { return e.card != nil }, "there is no card"}
	needEndpoint = need{func(e *exam) bool { return e.main != nil }, "the card names no endpoint of JSON-RPC or HTTP+JSON on this host"}
	needGRPC     = need{func(e *exam) bool { return len(e.card.grpc) > 0 }, "the card names no gRPC"}
	needStreams  = need{func(e *exam) bool { return e.card.streams }, "the agent does not stream, says its card"}
	needFlow     = need{func(e *exam) bool { return e.flow != nil }, "there was no stream to look at"}
	needSend     = need{func(e *exam) bool { return e.o.Send }, "it makes a task; --send allows one"}
	needProbe    = need{func(e *exam) bool { return e.beat > 0 }, "it needs /probe/stream, which Skillyard offers"}
	needAccess   = need{func(e *exam) bool { return !e.locked }, "it needs a token that is accepted"}
)

// checks are all checks, in their order: later ones use what earlier ones found.
func checks() []check {
	return []check{
		{"connection", nil, (*exam).checkConnection},
		{"tls", nil, (*exam).checkTLS},
		{"clock", []need{needAnswer}, (*exam).checkClock},
		{"card", []need{needAnswer}, (*exam).checkCard},
		{"card caching", []need{needAnswer, needCard}, (*exam).checkCaching},
		{"card places", []need{needAnswer, needCard}, (*exam).checkPlaces},
		{"card urls", []need{needAnswer, needCard}, (*exam).checkURLs},
		{"auth", []need{needAnswer, needCard, needEndpoint}, (*exam).checkAuth},
		{"interfaces", []need{needAnswer, needCard, needEndpoint}, (*exam).checkInterfaces},
		{"dialects", []need{needAnswer, needCard, needEndpoint, needAccess}, (*exam).checkDialects},
		{"grpc", []need{needAnswer, needCard, needGRPC}, (*exam).checkGRPC},
		{"slash", []need{needAnswer, needCard, needEndpoint}, (*exam).checkSlash},
		{"body", []need{needAnswer, needCard, needEndpoint}, (*exam).checkBody},
		{"stream", []need{needAnswer, needCard, needStreams}, (*exam).checkStream},
		{"task stream", []need{needAnswer, needCard, needEndpoint, needStreams, needSend, needAccess}, (*exam).checkTaskStream},
		{"stream headers", []need{needAnswer, needCard, needStreams, needFlow}, (*exam).checkStreamHeaders},
		{"silence", []need{needAnswer, needCard, needStreams, needProbe}, (*exam).checkSilence},
	}
}

// check is one thing to look at.
type check struct {
	name  string
	needs []need
	run   func(*exam, context.Context) []Finding
}

// Run examines a server. The error is one of usage: a URL that is none. What goes wrong
// on the way is a finding.
func Run(ctx context.Context, o Options) (*Report, error) {
	e, err := newExam(o)
	if err != nil {
		return nil, err
	}
	defer e.web.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	r := &Report{URL: e.base.String()}
	for _, c := range checks() {
		r.Findings = append(r.Findings, e.perform(ctx, c)...)
	}
	r.Proxy = e.proxy
	if e.card != nil {
		r.Agent = e.card.title()
	}
	for i := range r.Findings {
		r.Findings[i].Fixes = e.chosen(r.Findings[i].Fixes)
	}
	r.Verdict = e.verdict(r)
	return r, nil
}

// perform runs a check, or says why it cannot be run.
func (e *exam) perform(ctx context.Context, c check) []Finding {
	var list []Finding
	switch unmet := e.unmet(c); {
	case ctx.Err() != nil:
		e.late = true
		list = skip("there was no time left")
	case unmet != "":
		list = skip("%s", unmet)
	default:
		if e.o.OnCheck != nil {
			e.o.OnCheck(c.name)
		}
		list = c.run(e, ctx)
		if ctx.Err() != nil {
			// What it found is what the end of the time made of it.
			e.late = true
			list = skip("there was no time left")
		}
	}
	for i := range list {
		list[i].Check = c.name
	}
	return list
}

func (e *exam) unmet(c check) string {
	for _, n := range c.needs {
		if !n.met(e) {
			return n.why
		}
	}
	return ""
}

func (e *exam) verdict(r *Report) Verdict {
	switch {
	case e.late && !e.answered:
		return Timeout
	case r.Count(Fail) > e.refused:
		return Fault
	case e.late:
		return Timeout
	case e.locked:
		return NoAuth
	}
	return Fine
}

// isTimeout reports whether an error says that the time was over.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
