package client

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// NormalURL returns the one spelling of an agent's URL, under which its tasks are filed:
// with a scheme, the host in lower case, without a default port, a slash at the end, a
// user or a fragment. What has no scheme is http, but https for a name with a dot and no
// port other than 443. A query stays, since it may be what tells two agents apart.
func NormalURL(raw string) (string, error) {
	u, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

func parseURL(raw string) (*url.URL, error) {
	usage := func(why string) error {
		return &Error{Kind: KindUsage, Message: "the agent's URL " + why, Hint: "give it like https://agents.example.com or http://127.0.0.1:8080"}
	}
	s := strings.TrimSpace(raw)
	if s == "" {
		return nil, usage("is missing")
	}
	if !strings.Contains(s, "://") {
		s = guessScheme(s) + "://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, usage("is none: " + excerpt([]byte(withoutUser(raw))))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, usage("must be http or https, not " + u.Scheme)
	case u.User != nil:
		return nil, usage("must not hold a user or password; they belong in the token")
	}
	u.Host = strings.ToLower(u.Host)
	if p := u.Port(); p == "" && strings.HasSuffix(u.Host, ":") || p == "80" && u.Scheme == "http" || p == "443" && u.Scheme == "https" {
		u.Host = u.Host[:strings.LastIndexByte(u.Host, ':')]
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath, u.Fragment, u.RawFragment, u.ForceQuery = "", "", "", false
	return u, nil
}

func guessScheme(hostAndPath string) string {
	host, _, _ := strings.Cut(hostAndPath, "/")
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	_, notIP := netip.ParseAddr(strings.Trim(name, "[]"))
	if port == "443" || port == "" && notIP != nil && strings.Contains(name, ".") {
		return "https"
	}
	return "http"
}

// withoutUser cuts what may be a password out of what was given as a URL.
func withoutUser(raw string) string {
	if i := strings.LastIndexByte(raw, '@'); i >= 0 {
		return raw[i+1:]
	}
	return raw
}

// origin is scheme, host and port: what credentials are bound to.
func origin(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// loopback reports whether a URL names this machine.
func loopback(u *url.URL) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// shown is a URL for messages and logs: without a query, which may hold a key.
func shown(u *url.URL) string {
	if u == nil {
		return ""
	}
	c := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return c.String()
}

// excerpt is the first part of a foreign text, on one line and without what a terminal
// would act on.
func excerpt(b []byte) string {
	const most = 200
	cut := len(b) > most
	if cut {
		b = b[:most]
	}
	s := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(b), ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if cut {
		s += "…"
	}
	return s
}
