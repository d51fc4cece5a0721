package mcpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stateless is the first version of MCP whose requests need no session.
const stateless = "2026-07-28"

// sessionTime is how long a session of an older version may be without a request.
const sessionTime = 12 * time.Hour

// Handler serves MCP over streamable HTTP at /mcp: the stateless protocol to clients that
// speak it, and sessions to those of 2024-11-05 to 2025-11-25, which would otherwise
// get no notifications. A token that is not "" is required of every request, as
// "Authorization: Bearer". Requests of web pages of other origins are refused, and so
// are those that reach a loopback address under another host's name (DNS rebinding).
func (s *Server) Handler(token string) http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	modern := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	older := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{SessionTimeout: sessionTime})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		// Versions are dates, which sort as texts. Clients of older versions send none
		// with their first request.
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			modern.ServeHTTP(w, r)
			return
		}
		older.ServeHTTP(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "MCP is served at /mcp.", http.StatusNotFound)
	})
	return sameOrigin(authorized(token, mux))
}

// sameOrigin refuses what pages of other origins send, whatever the method: the event
// stream of a session is a GET.
func sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asPost := *r
		asPost.Method = http.MethodPost
		if err := protection.Check(&asPost); err != nil {
			http.Error(w, "Requests of web pages of other origins are refused.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func authorized(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "A bearer token is required, and this is not the right one.", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
