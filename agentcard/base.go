package agentcard

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Resolver finds the public base URL of a request: scheme, host, and the path that
// a proxy in front adds, without a slash at the end.
type Resolver struct {
	// PublicURL wins over everything else if it is not "".
	PublicURL string
	// Trusted are the networks of the proxies whose headers are believed. A request
	// is a proxy's if its TCP peer is in one of them.
	Trusted []netip.Prefix
	// Addr is the address the server listens on, "127.0.0.1:8080". It serves for
	// requests that do not say on which address they came in.
	Addr string
}

// Base returns the base URL for r. The scheme is that of X-Forwarded-Proto, the
// host that of X-Forwarded-Host and the path that of X-Forwarded-Prefix or
// X-Forwarded-Path, or scheme and host are those of Forwarded (RFC 7239), if a
// trusted proxy sent the request and the value is well-formed; a list counts by its
// last member, which the nearest proxy wrote. Without a host from a proxy it is the
// Host header if that is harmless (see direct), else the address the request came
// in on.
func (v Resolver) Base(r *http.Request) string {
	if v.PublicURL != "" {
		return strings.TrimRight(v.PublicURL, "/")
	}
	scheme, host, prefix := "http", "", ""
	if r.TLS != nil {
		scheme = "https"
	}
	if v.fromProxy(r) {
		forwarded := lastOf(r.Header, "Forwarded")
		if s := first(lastOf(r.Header, "X-Forwarded-Proto"), pair(forwarded, "proto")); s == "http" || s == "https" {
			scheme = s
		}
		if h := first(lastOf(r.Header, "X-Forwarded-Host"), pair(forwarded, "host")); validHost(h) {
			host = h
		}
		prefix = forwardedPrefix(r)
	}
	if host == "" {
		host = v.direct(r)
	}
	return scheme + "://" + host + prefix
}

// Vary lists the request headers the base depends on, for caches.
func (v Resolver) Vary() []string {
	if v.PublicURL != "" || len(v.Trusted) == 0 {
		return nil // Host is part of every cache's key anyway
	}
	return []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Path", "X-Forwarded-Prefix", "X-Forwarded-Proto"}
}

// fromProxy reports whether the TCP peer is a trusted proxy.
func (v Resolver) fromProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, p := range v.Trusted {
		if p.Contains(peer.Addr().Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// direct returns the host of a request without a proxy's word. The Host header is
// taken if it names this machine for the one who sent it (localhost or a loopback
// address, on any port, since a container's port may be published under another
// one) or if it is the very address that was called. Any other name could be
// anybody's. Then it is the address the connection came in on, which is right for
// whoever called by address, by name within a container network, and on the
// configured address.
func (v Resolver) direct(r *http.Request) string {
	local := v.Addr
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && a.Network() == "tcp" {
		local = a.String()
	}
	if validHost(r.Host) && (loopback(r.Host) || sameHost(r.Host, local) || sameHost(r.Host, v.Addr)) {
		return r.Host
	}
	host, port, err := net.SplitHostPort(local)
	if err != nil {
		return "localhost"
	}
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		host = "localhost"
	} else if err == nil {
		host = a.Unmap().WithZone("").String()
	}
	return net.JoinHostPort(host, port)
}

// loopback reports whether a Host header names the sender's own machine.
func loopback(host string) bool {
	name := hostname(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}

// hostname cuts the port and the brackets of an IPv6 address off.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// sameHost reports whether a Host header spells the address local, whose default
// port may be left out.
func sameHost(host, local string) bool {
	want, err := netip.ParseAddrPort(local)
	if err != nil {
		return strings.EqualFold(host, local)
	}
	if want.Addr().IsUnspecified() {
		return false
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(hostname(host), "80")
	}
	got, err := netip.ParseAddrPort(host)
	return err == nil && got.Addr().Unmap() == want.Addr().Unmap().WithZone("") && got.Port() == want.Port()
}

// lastOf returns the last member of a header that is a comma-separated list.
func lastOf(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

// pair returns the value of one parameter of a Forwarded element.
func pair(element, name string) string {
	for p := range strings.SplitSeq(element, ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if ok && strings.EqualFold(key, name) {
			if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			return value
		}
	}
	return ""
}

// forwardedPrefix returns the path that the proxy cut off. X-Forwarded-Path is
// that path with some proxies, and the whole path of the request with others.
func forwardedPrefix(r *http.Request) string {
	p := lastOf(r.Header, "X-Forwarded-Prefix")
	if p == "" {
		p = strings.TrimSuffix(lastOf(r.Header, "X-Forwarded-Path"), r.URL.Path)
	}
	if p = strings.TrimSuffix(p, "/"); validPrefix(p) {
		return p
	}
	return ""
}

// maxHost and maxPrefix bound what a proxy may put into every URL of a card.
const (
	maxHost   = 255
	maxPrefix = 256
)

// validHost accepts a name or address with an optional port, and nothing that
// could be more than that in a URL.
func validHost(host string) bool {
	name := host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		port := host[i+1:]
		if port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != "" {
			return false
		}
		name = host[:i]
	}
	if v6, ok := strings.CutPrefix(name, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(v6, "]"))
		return err == nil && a.Is6() && a.Zone() == "" && strings.HasSuffix(v6, "]")
	}
	if name == "" || len(name) > maxHost || strings.Trim(name, ".-") == "" || strings.Contains(name, "..") {
		return false
	}
	return onlyFrom(name, "._-")
}

// validPrefix accepts "" and a plain absolute path without a slash at the end.
func validPrefix(path string) bool {
	if path == "" {
		return true
	}
	if path[0] != '/' || len(path) > maxPrefix {
		return false
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if segment == "" || strings.Trim(segment, ".") == "" || !onlyFrom(segment, "._~-@+") {
			return false
		}
	}
	return true
}

// onlyFrom reports whether s consists of ASCII letters, digits and extra.
func onlyFrom(s, extra string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
