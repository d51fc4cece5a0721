package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/guard"
)

// newTransports makes the two ways out: one to the origin that the caller named, one to
// what cards name. The second goes to public addresses only, and through no proxy, which
// would hide where it goes.
func newTransports(named *url.URL, o *Options) (own, foreign http.RoundTripper, err error) {
	if o.Transport != nil {
		return o.Transport, o.Transport, nil
	}
	way := func(dial *net.Dialer, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
		return &http.Transport{
			Proxy: proxy, DialContext: dial.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: o.Timeouts.Connect, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		}
	}
	own = way(&net.Dialer{Timeout: o.Timeouts.Connect}, http.ProxyFromEnvironment)
	if o.AllowPrivate {
		return own, own, nil
	}
	g, err := guard.New(guard.Options{AllowHTTP: true, AllowLoopback: loopback(named)})
	if err != nil {
		return nil, nil, err
	}
	return own, way(g.Dialer(o.Timeouts.Connect), nil), nil
}

// exchange is one try of a request: where it goes, what it carries and how its answer
// is bounded.
type exchange struct {
	op     a2a.Op
	method string
	url    *url.URL
	header http.Header
	body   []byte
	// limit bounds the whole; 0 is none. A stream is bounded by its silence instead.
	limit time.Duration
}

// do sends a request once and returns the answer, whatever its status. The body must be
// closed, which ends the limit.
func (c *Client) do(ctx context.Context, x *exchange) (*http.Response, error) {
	var cancel context.CancelFunc = func() {}
	outer := ctx
	if x.limit > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, x.limit, errLimit)
	}
	connected := false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	var body io.Reader
	if x.body != nil {
		body = bytes.NewReader(x.body)
	}
	req, err := http.NewRequestWithContext(traced, x.method, x.url.String(), body)
	if err != nil {
		cancel()
		return nil, &Error{Kind: KindUsage, Op: x.op, URL: shown(x.url), Message: "the request cannot be made", Err: err}
	}
	req.Header = x.header
	rt := c.foreign
	if origin(x.url) == origin(c.named) {
		rt = c.own
		c.credentials(req.Header)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, c.failure(outer, x, err, connected)
	}
	resp.Body = &boundBody{ReadCloser: resp.Body, cancel: cancel, ended: func(err error) error {
		if ctx.Err() == nil {
			return err
		}
		return c.failure(outer, x, context.Cause(ctx), true)
	}}
	return resp, nil
}

// errLimit is the cause of a context that one of Timeouts ended.
var errLimit = errors.New("time limit")

// boundBody is the body of an answer that ends its time limit when it is closed, and says
// whose limit ended it.
type boundBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	ended  func(error) error
}

func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.ended(err)
	}
	return n, err
}

func (b *boundBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}

// failure makes an Error of what a round trip failed with. connected says that there was
// a connection, so that the agent may have seen the request.
func (c *Client) failure(outer context.Context, x *exchange, err error, connected bool) error {
	e := &Error{Kind: KindBroken, Op: x.op, URL: shown(x.url), Sent: connected, Err: err, Message: "the connection broke"}
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		host x509.HostnameError
	)
	switch {
	case outer.Err() != nil:
		e.Kind, e.Message, e.Err = KindCanceled, "given up", context.Cause(outer)
		if errors.Is(outer.Err(), context.DeadlineExceeded) {
			e.Kind, e.Message = KindTimeout, "no answer in time"
		}
	case errors.Is(err, guard.ErrForbidden):
		e.Kind, e.Message, e.Sent = KindForbidden, "the agent's card names a private address, "+x.url.Host, false
		e.Hint = "if you trust this agent to name it, allow private addresses for it"
	case errors.Is(err, errLimit), errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message, e.Err = KindTimeout, "no answer within "+x.limit.String(), nil
	case connected:
	case errors.As(err, &dns):
		e.Kind, e.Message, e.Err = KindUnreachable, "the name "+dns.Name+" cannot be resolved", nil
		e.lasting = dns.IsNotFound
	case errors.As(err, &cert), errors.As(err, &host):
		e.Kind, e.Message, e.lasting = KindUnreachable, "the certificate is not trusted", true
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind, e.Message, e.Err = KindUnreachable, "nothing listens at "+x.url.Host+" (connection refused)", nil
		e.Hint = "is the agent running, and is the port right?"
	default:
		e.Kind, e.Message = KindUnreachable, "cannot connect"
		var record tls.RecordHeaderError
		if errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
			e.lasting, e.Hint = true, "the agent speaks plain HTTP there: try http://"+x.url.Host
		}
	}
	return e
}

// readAll reads the body of an answer up to a limit.
func readAll(x *exchange, resp *http.Response, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(resp.Body, max(most, most+1))) // the largest limit has no next
	switch {
	case int64(len(b)) > most:
		return nil, &Error{
			Kind: KindTooLarge, Op: x.op, URL: shown(x.url), Status: resp.StatusCode, Sent: true,
			Message: "the answer is larger than " + strconv.FormatInt(most, 10) + " bytes",
		}
	case KindOf(err) != "":
		return b, err
	case err != nil:
		return b, &Error{
			Kind: KindBroken, Op: x.op, URL: shown(x.url), Status: resp.StatusCode, Sent: true,
			Message: "the answer was cut after " + strconv.Itoa(len(b)) + " bytes", Err: err,
		}
	}
	return b, nil
}

// mediaType returns the type of an answer in lower case, without parameters.
func mediaType(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		t, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

func isJSON(t string) bool {
	return t == "application/json" || t == "text/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json")
}

// retryAfter reads the header of that name: seconds, or a date. 0 is none.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
