package client

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// operate does an operation that is no stream: request, tries, answer, result.
func (c *Client) operate(ctx context.Context, op a2a.Op, arg any, once bool) (json.RawMessage, *form, error) {
	i, f, err := c.using(ctx)
	if err != nil {
		return nil, nil, err
	}
	k, err := f.call(op, arg, &i)
	if err != nil {
		return nil, nil, err
	}
	k.once = once
	var result json.RawMessage
	err = c.tries(ctx, k, &i, func(x *exchange, resp *http.Response) error {
		body, err := readAll(x, resp, c.o.Limits.Answer)
		if err != nil {
			return err
		}
		result, err = f.result(k, x, resp, body)
		return err
	})
	return result, f, err
}

// decoded finishes an operation: what is no result of it is an error that says so.
func decoded[T any](c *Client, op a2a.Op, raw json.RawMessage, err error, decode func([]byte) (T, error)) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	v, err := decode(raw)
	if err != nil {
		return zero, c.told(nil, &Error{Kind: KindInvalid, Op: op, URL: c.place(), Sent: true, Message: "the answer is not what the operation answers: " + err.Error(), Body: excerpt(raw)})
	}
	return v, nil
}

// tries sends a call until it is answered well, may not be repeated, or Retry is used
// up. read is called with each answer.
func (c *Client) tries(ctx context.Context, k *call, i *Interface, read func(*exchange, *http.Response) error) error {
	for try := 0; ; try++ {
		err := c.try(ctx, k, i, read)
		if err == nil {
			return nil
		}
		if k.once || !c.retry(ctx, k, i, err, try) {
			if e, ok := err.(*Error); ok {
				c.doubt(e)
			}
			return err
		}
	}
}

// retry waits before a failed call is repeated. It returns false if it is not; an error
// whose pause the context ended says so.
func (c *Client) retry(ctx context.Context, k *call, i *Interface, err error, try int) bool {
	e, ok := err.(*Error)
	if !ok || !c.again(k, i, e, try) {
		return false
	}
	pause := max(c.o.Retry.pause(try), e.RetryAfter)
	seen := *e // which its reader may keep
	c.notice(k.op, "trying again in "+pause.Round(100*time.Millisecond).String(), &seen)
	if sleep(ctx, pause) {
		return true
	}
	e.Message = "given up; the last try: " + e.Message
	e.Kind, e.Err = KindCanceled, context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = KindTimeout
	}
	return false
}

// again decides whether a failed call is repeated: what has not reached the agent or was
// turned away for now always, what may have been done only if that does no harm.
func (c *Client) again(k *call, i *Interface, e *Error, try int) bool {
	harmless := k.safe || k.key != "" && i.Idempotent
	switch {
	case try >= c.o.Retry.Max || e.lasting || e.RetryAfter > c.o.Retry.Most:
		return false
	case e.Kind == KindUnreachable:
		return true
	case e.Kind == KindBusy:
		return e.RetryAfter > 0 || harmless
	case e.Kind == KindBroken, e.Kind == KindTimeout && e.Err == nil: // not the caller's own limit
		return harmless || !e.Sent
	}
	return false
}

// pause is how long to wait after a failed try: between half and all of a time that
// doubles.
func (r *Retry) pause(try int) time.Duration {
	d := r.First << min(try, 20)
	if d < r.First || d > r.Most { // less after an overflow
		d = r.Most
	}
	return d/2 + rand.N(d/2+1)
}

// sleep waits and reports whether the context let it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// try sends a call once, and once more where a redirect within the origin asks for that.
func (c *Client) try(ctx context.Context, k *call, i *Interface, read func(*exchange, *http.Response) error) error {
	x, err := c.exchange(k, i)
	if err != nil {
		return err
	}
	for hop := 0; ; hop++ {
		resp, err := c.do(ctx, x)
		if err != nil {
			return err
		}
		to := redirect(x.url, resp)
		if to == nil {
			err = read(x, resp)
			_ = resp.Body.Close()
			if resp.StatusCode >= 500 {
				// Some servers close the connection now without having said so, and what is
				// sent over it next is lost.
				c.Close()
			}
			return c.told(x, err)
		}
		_ = resp.Body.Close()
		keeps := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
		if hop > 0 || origin(to) != origin(x.url) || !keeps && x.method != http.MethodGet {
			return &Error{
				Kind: KindForbidden, Op: k.op, URL: shown(x.url), Status: resp.StatusCode,
				Message: "the agent points to " + shown(to) + ", which this client does not follow",
				Hint:    "if that is the agent's place now, name it yourself",
			}
		}
		x.url = to
	}
}

// redirect returns where an answer points to, nil if it does not.
func redirect(from *url.URL, resp *http.Response) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil
	}
	return to
}

// exchange puts a call into the form of a request.
func (c *Client) exchange(k *call, i *Interface) (*exchange, error) {
	u, err := target(i, k)
	if err != nil {
		return nil, err
	}
	f := forms[i.Dialect]
	h := http.Header{"User-Agent": {c.o.UserAgent}, "Accept": {f.accept}}
	if k.stream {
		h.Set("Accept", "text/event-stream, "+f.accept)
		h.Set("Cache-Control", "no-store")
	}
	if k.body != nil {
		h.Set("Content-Type", "application/json")
	}
	if f.version != "" {
		h.Set("A2A-Version", f.version)
	}
	if len(c.o.Extensions) > 0 {
		name := "A2A-Extensions"
		if f.version != "1.0" {
			name = "X-A2A-Extensions"
		}
		h.Set(name, strings.Join(c.o.Extensions, ", "))
	}
	if k.after != "" {
		h.Set("Last-Event-ID", k.after)
	}
	if k.key != "" {
		// In lower case the transport takes it for no promise that the agent honours it,
		// and leaves it to us whether the request is repeated.
		h["idempotency-key"] = []string{k.key}
	}
	x := &exchange{op: k.op, method: k.method, url: u, header: h, body: k.body}
	if !k.stream && !k.patient {
		x.limit = c.o.Timeouts.Answer
	}
	return x, nil
}

func (c *Client) notice(op a2a.Op, text string, err error) {
	if c.o.OnNotice != nil {
		c.o.OnNotice(Notice{Op: op, Text: text, Err: err})
	}
}
