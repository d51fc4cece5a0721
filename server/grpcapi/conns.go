package grpcapi

import (
	"net"
	"sync"
	"sync/atomic"
)

// conns are the open connections of a server. The library cannot stop, not even at
// once, while somebody has connected and said nothing yet: it waits for the connection
// timeout first. So it is us who close those.
type conns struct {
	mu      sync.Mutex
	closing bool               // guarded by mu
	open    map[*conn]struct{} // guarded by mu
}

// conn is a connection that remembers whether anything came in.
type conn struct {
	net.Conn
	heard atomic.Bool
	owner *conns
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

func (c *conn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.open, c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

// listener hands out connections that are looked after.
type listener struct {
	net.Listener
	conns *conns
}

func (l listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, owner: l.conns}
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	if l.conns.closing {
		_ = raw.Close() // nothing was said on it; reading it fails, which ends it
		return c, nil
	}
	if l.conns.open == nil {
		l.conns.open = make(map[*conn]struct{})
	}
	l.conns.open[c] = struct{}{}
	return c, nil
}

// close closes the silent connections, and those to come, or all of them.
func (s *conns) close(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for c := range s.open {
		if all || !c.heard.Load() {
			_ = c.Conn.Close() // whoever reads it is told
		}
	}
}
