package doctor

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"
)

// Bounds of one request.
const (
	stepTime = 15 * time.Second
	maxRead  = 1 << 20
)

// who says whose credentials a request carries.
type who int

const (
	nobody who = iota
	caller
	// impostor sends a token that nobody has.
	impostor
)

const wrongToken = "skillyard-doctor-wrong-token"

// ask is a request.
type ask struct {
	method, url string
	body        io.Reader
	size        int64 // of body
	header      map[string]string
	as          who
	// time is how long it may take; 0 is stepTime.
	time time.Duration
}

// answer is what a server said.
type answer struct {
	url    *url.URL
	status int
	proto  string
	header http.Header
	body   []byte
	tls    *tls.ConnectionState
	// sent and got are when the request was written and when the answer began.
	sent, got time.Time
	// took is from the beginning of the request to the beginning of the answer.
	took time.Duration
}

func newWeb(o Options) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: stepTime}).DialContext,
			TLSClientConfig:       &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:   stepTime,
			ForceAttemptHTTP2:     true,
			DisableCompression:    true, // what is compressed is to be seen
			IdleConnTimeout:       time.Minute,
			ExpectContinueTimeout: time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// open makes a request and returns its response, whose body the caller closes. It sends
// credentials to the origin that the caller named only.
func (e *exam) open(ctx context.Context, a ask) (*http.Response, *answer, error) {
	out := &answer{}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { out.sent = time.Now() },
		GotFirstResponseByte: func() { out.got = time.Now() },
	})
	req, err := http.NewRequestWithContext(ctx, a.method, a.url, a.body)
	if err != nil {
		return nil, nil, err
	}
	if a.size > 0 {
		req.ContentLength = a.size
	}
	req.Header.Set("User-Agent", e.o.UserAgent)
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	token := map[who]string{caller: e.o.Token, impostor: wrongToken}[a.as]
	if token != "" && origin(req.URL) == origin(e.base) {
		e.setToken(req.Header, token)
	}
	began := time.Now()
	res, err := e.web.Do(req)
	if err != nil {
		return nil, nil, err
	}
	if out.got.IsZero() {
		out.got = time.Now()
	}
	out.url, out.status, out.proto, out.header, out.tls = req.URL, res.StatusCode, res.Proto, res.Header, res.TLS
	out.took = out.got.Sub(began)
	e.notice(res.Header)
	return res, out, nil
}

// do makes a request and reads its answer, of which it keeps maxRead bytes.
func (e *exam) do(ctx context.Context, a ask) (*answer, error) {
	limit := a.time
	if limit == 0 {
		limit = stepTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, out, err := e.open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	out.body, err = io.ReadAll(io.LimitReader(res.Body, maxRead))
	return out, err
}

func (e *exam) get(ctx context.Context, url string, as who) (*answer, error) {
	return e.do(ctx, ask{method: http.MethodGet, url: url, as: as, header: map[string]string{"Accept": "application/json"}})
}

// setToken puts a token where the card wants it, and into both usual headers if there is
// no card yet or it does not say.
func (e *exam) setToken(h http.Header, token string) {
	name := ""
	if e.card != nil {
		name = e.card.tokenHeader
	}
	if name == "" || strings.EqualFold(name, "Authorization") {
		h.Set("Authorization", "Bearer "+token)
	}
	if name == "" {
		name = "X-API-Key"
	}
	if !strings.EqualFold(name, "Authorization") {
		h.Set(name, token)
	}
}

// notice remembers which proxy an answer names.
func (e *exam) notice(h http.Header) {
	said := strings.ToLower(strings.Join(append(h.Values("Server"), h.Values("Via")...), " "))
	said = strings.ReplaceAll(said, "openresty", "nginx")
	for _, name := range proxies {
		if e.proxy == "" && strings.Contains(said, name) {
			e.proxy = name
		}
	}
}

func (a *answer) contentType() string {
	t, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

func (a *answer) html() bool {
	head := strings.ToLower(string(a.body[:min(len(a.body), 200)]))
	return a.contentType() == "text/html" || strings.HasPrefix(strings.TrimSpace(head), "<!doctype html") || strings.HasPrefix(strings.TrimSpace(head), "<html")
}

// location is where a redirect leads, as an absolute URL; nil for other answers.
func (a *answer) location() *url.URL {
	switch a.status {
	case 301, 302, 303, 307, 308:
	default:
		return nil
	}
	u, err := a.url.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" {
		return nil
	}
	return u
}

// login reports whether an answer sends people to a login page, or is one.
func (a *answer) login() bool {
	if to := a.location(); to != nil {
		return !nearly(to, a.url)
	}
	return a.html() && strings.Contains(strings.ToLower(string(a.body)), `type="password"`)
}

// nearly reports whether two URLs are one but for the scheme and a slash at the end.
func nearly(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && strings.TrimRight(a.Path, "/") == strings.TrimRight(b.Path, "/")
}

// origin is scheme, host and port: what credentials are bound to.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// shown is a URL for findings: without a query, which may hold something private.
func shown(u *url.URL) string {
	c := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return excerpt(c.String())
}
