package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/guard"
)

// kind is what came of an attempt.
type kind int

const (
	delivered kind = iota
	failed         // to be tried again
	refused        // never to be tried again
	gone           // nor anything else to this webhook
	cutShort       // by the end of the worker; it does not count
)

// result of an attempt.
type result struct {
	kind   kind
	reason string        // for operators; "" if delivered
	after  time.Duration // the webhook wants a pause of at least this
}

// attempt sends a delivery once.
func (w *Worker) attempt(ctx context.Context, c *a2a.PushConfig, d *delivery) result {
	if err := w.o.Guard.Check(c.URL); err != nil {
		// The rules have changed since the registration.
		return result{kind: gone, reason: "URL " + err.Error()}
	}
	limited, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	req, err := w.request(limited, c, d)
	if err != nil {
		return result{kind: refused, reason: "request cannot be made"}
	}
	res, err := w.client.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return result{kind: cutShort}
	case err != nil && limited.Err() != nil:
		return result{kind: failed, reason: "no answer within " + w.o.Timeout.String()}
	case err != nil:
		return result{kind: failed, reason: reasonOf(err)}
	}
	discard(res)
	r := result{kind: failed, reason: "answered " + strconv.Itoa(res.StatusCode)}
	switch s := res.StatusCode; {
	case s/100 == 2:
		return result{}
	case s == http.StatusGone:
		r.kind = gone
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests:
	case s/100 == 4:
		r.kind = refused
	case s/100 == 3:
		r.reason += ": redirects are not followed"
	}
	r.after = retryAfter(res.Header.Get("Retry-After"), time.Now())
	return r
}

// request makes the HTTP request of a delivery.
func (w *Worker) request(ctx context.Context, c *a2a.PushConfig, d *delivery) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(d.body))
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(c.Scheme+c.Credentials+c.Token, unicode.IsControl) {
		return nil, errors.New("control character in a header")
	}
	now := time.Now()
	h := req.Header
	h.Set("Content-Type", d.contentType)
	h.Set("User-Agent", w.agent)
	h.Set(standardwebhooks.HeaderWebhookID, d.id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	var signatures []string
	for _, s := range w.signers {
		signature, err := s.Sign(d.id, now, d.body)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) > 0 {
		h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	}
	if c.Credentials != "" {
		h.Set("Authorization", c.Scheme+" "+c.Credentials)
	}
	if c.Token != "" {
		// Receivers built with different SDKs look for different names.
		h.Set("X-A2A-Notification-Token", c.Token)
		h.Set("A2A-Notification-Token", c.Token)
	}
	return req, nil
}

// discard reads a short answer so that the connection can be used again; any other
// costs its connection, not our time.
func discard(res *http.Response) {
	const short = 4 << 10
	if n := res.ContentLength; n >= 0 && n <= short {
		_, _ = io.CopyN(io.Discard, res.Body, n) // the status is all that counts
	}
	_ = res.Body.Close()
}

// reasonOf says why a request failed, without its URL, which may hold a secret.
func reasonOf(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, guard.ErrForbidden) && errors.As(err, &op):
		return op.Err.Error()
	case errors.As(err, &dns):
		return "name cannot be resolved"
	}
	const longest = 200
	return fmt.Sprintf("%.*s", longest, err.Error())
}

// retryAfter reads a Retry-After header: seconds, or a date. 0 is none.
func retryAfter(header string, now time.Time) time.Duration {
	const longest = 24 * 60 * 60 // keeps the product in range; the real limit is less
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		return time.Duration(max(0, min(n, longest))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// pause is how long to wait after so many failed attempts: between half and all of
// a time that doubles, so that what failed together does not come back together.
// What the webhook asked for is kept if it is longer.
func (w *Worker) pause(attempts int, asked time.Duration) time.Duration {
	d := w.o.RetryFirst
	for i := 1; i < attempts && d < w.o.RetryMax; i++ {
		d *= 2
	}
	d = min(d, w.o.RetryMax)
	d = d/2 + rand.N(d/2+1)
	return max(d, min(asked, w.o.RetryMax))
}
