package push

import (
	"net/http"
	"time"

	"github.com/skillyard/skillyard/guard"
)

// Limits of a call.
const (
	dialTimeout       = 10 * time.Second
	idleTimeout       = time.Minute
	maxIdle           = 256
	maxResponseHeader = 64 << 10
)

// newClient returns an HTTP client that dials allowed addresses only, goes through no
// proxy (which would hide the address) and follows no redirects (which are answers
// like any other). It keeps at most perHost idle connections to one host.
func newClient(g *guard.Guard, perHost int) *http.Client {
	// One connection carries one delivery: over HTTP/2 a connection that hangs
	// would hold up all of a host's.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            g.Dialer(dialTimeout).DialContext,
			Protocols:              protocols,
			TLSHandshakeTimeout:    dialTimeout,
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    perHost,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxResponseHeader,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
