package server

import (
	"net"
	"net/http"
	"sync"
)

// silent are the connections on which no request has begun: those that clients and
// load balancers open ahead of time. net/http waits seconds for each of them before
// it takes them for idle, which would hold up every stop.
type silent struct {
	mu      sync.Mutex
	closing bool                  // guarded by mu
	conns   map[net.Conn]struct{} // guarded by mu
}

// note is the server's ConnState.
func (s *silent) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.closing:
		_ = c.Close() // nothing was said on it
	default:
		if s.conns == nil {
			s.conns = make(map[net.Conn]struct{})
		}
		s.conns[c] = struct{}{}
	}
}

// close closes them, and those to come.
func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for c := range s.conns {
		_ = c.Close() // nothing was said on it
	}
}
