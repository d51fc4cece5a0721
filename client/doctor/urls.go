package doctor

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// urlFault is what is wrong with a URL of the card, in words for several of them.
type urlFault struct {
	severity Severity
	text     string // with %s for the URLs
	hint     string
	prefix   string // that the proxy has to name, if that is the fault
	public   bool   // the server's public_url or the proxy's headers mend it
}

// checkURLs compares the URLs of the card with the one that the caller reached it by,
// and finds out where the interfaces really are, for the checks that follow.
func (e *exam) checkURLs(ctx context.Context) []Finding {
	var order []urlFault
	urls := map[urlFault][]string{}
	for _, o := range e.card.offers {
		f := e.urlFault(ctx, o)
		if f == nil {
			continue
		}
		if urls[*f] == nil {
			order = append(order, *f)
		}
		if !slices.Contains(urls[*f], o.url) {
			urls[*f] = append(urls[*f], o.url)
		}
	}
	if len(e.card.offers) == 0 {
		return bad("the card names no endpoint of JSON-RPC or HTTP+JSON")
	}
	e.main = e.card.main()
	if len(order) == 0 {
		return good("they are at %s", e.base.Scheme+"://"+e.base.Host)
	}
	var list []Finding
	for _, f := range order {
		finding := found(f.severity, f.text, excerpt(places(urls[f])))
		finding.Hint = f.hint
		if f.public {
			prefix := f.prefix
			if prefix == "" {
				prefix = e.prefix()
			}
			finding.Fixes = fixForwarded(e.base.Scheme, e.base.Host, prefix)
		}
		list = append(list, finding)
	}
	return list
}

// prefixes are the paths that a proxy may have put before those of the server, the
// likeliest first: that of the place where the card is, without the mounts that
// Skillyard has itself, and with them.
func (e *exam) prefixes() []string {
	if e.under != nil {
		return []string{*e.under}
	}
	u, err := url.Parse(e.root())
	if err != nil {
		return []string{""}
	}
	p := u.Path
	for _, mount := range []string{"/api/a2a/tasks", "/api/a2a", "/api", "/rest"} {
		p = strings.TrimSuffix(p, mount)
	}
	if i := strings.Index(p, "/skills/"); i >= 0 {
		p = p[:i]
	}
	if p == u.Path {
		return []string{p}
	}
	return []string{p, u.Path}
}

// prefix is the likeliest of the prefixes.
func (e *exam) prefix() string { return e.prefixes()[0] }

// urlFault returns what is wrong with the URL of an interface, or nil. It sets where the
// interface is reached.
func (e *exam) urlFault(ctx context.Context, o *offer) *urlFault {
	u, err := url.Parse(o.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		path := ""
		if err == nil {
			path = u.Path
		}
		o.reach = e.find(ctx, o, path)
		return &urlFault{severity: Fail, text: "%s is no absolute URL of http or https", public: true}
	}
	if origin(u) == origin(e.base) {
		o.reach = e.find(ctx, o, u.Path)
		if o.reach != o.url && e.answers(ctx, o, o.reach) {
			return &urlFault{severity: Fail, text: "%s leads nowhere; it lacks the path under which the proxy has the server, " + e.prefix(), prefix: e.prefix(), public: true}
		}
		o.reach = o.url
		return nil
	}
	named := strings.ToLower(e.base.Hostname())
	host := strings.ToLower(u.Hostname())
	o.reach = e.find(ctx, o, u.Path)
	switch {
	case unspecified(host):
		return &urlFault{severity: Fail, text: "%s is an address to listen on, which nobody can call", public: true}
	case host == named && u.Scheme == "http" && e.base.Scheme == "https":
		return &urlFault{severity: Fail, text: "%s is http, though the server was reached by https: tokens would go in the clear, or to a redirect", public: true}
	case host == named && u.Scheme == "https" && e.base.Scheme == "http" && e.answers(ctx, o, o.url):
		return &urlFault{severity: Warn, text: "%s is https, but the URL that was given is http: give clients the https one"}
	case host == named:
		if e.answers(ctx, o, o.url) {
			return &urlFault{severity: Warn, text: "%s has another scheme or port than the URL that was given: clients go past the proxy, without its protection", public: true}
		}
		return &urlFault{severity: Fail, text: "%s has another scheme or port than the URL that was given, and nothing answers there", public: true}
	case internal(host) && !internal(named):
		return &urlFault{severity: Fail, text: "%s is inside of the server's own network: nobody outside can reach it", public: true}
	case internal(host) && loopback(host) && loopback(named):
		return nil // both are this machine
	case internal(host):
		return &urlFault{severity: Fail, text: "%s is another host than " + excerpt(e.base.Host) + ", with a name or address of an internal network", public: true}
	}
	if !e.answers(ctx, o, o.reach) {
		o.reach = "" // it is really there, it seems
	}
	return &urlFault{
		severity: Warn, text: "%s is on another host than " + excerpt(e.base.Host) + " and was not called; credentials must not follow there",
		hint: "if that is meant, give the other URL to doctor as well; else set the server's public URL", public: true,
	}
}

// find returns where an interface answers at the origin that was named: at its path, or
// below the proxy's prefix.
func (e *exam) find(ctx context.Context, o *offer, path string) string {
	at := e.base.Scheme + "://" + e.base.Host
	if path != "" && path[0] != '/' {
		path = "/" + path
	}
	plain := at + path
	prefixes := e.prefixes()
	if prefixes[len(prefixes)-1] == "" || e.answers(ctx, o, plain) {
		return plain
	}
	for _, prefix := range prefixes {
		if below := at + prefix + path; prefix != "" && e.answers(ctx, o, below) {
			e.under = &prefix
			return below
		}
	}
	return plain
}

// answers reports whether an agent answers at a URL; asking for credentials counts.
func (e *exam) answers(ctx context.Context, o *offer, at string) bool {
	kind, _, err := e.try(ctx, o.binding, o.version, at, nobody)
	if err != nil {
		return false
	}
	switch kind {
	case replyAgent, replyOther, replyUnknown, replyAuth, replyBusy:
		return true
	}
	return false
}

func unspecified(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsUnspecified()
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// internal reports whether a host is one that only its own network knows: a private
// address, a name without a dot, or one below a domain that is for such networks.
func internal(host string) bool {
	if loopback(host) {
		return true
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		return a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	if net.ParseIP(host) == nil && !strings.Contains(host, ".") {
		return true
	}
	for _, domain := range []string{".internal", ".local", ".lan", ".intranet", ".corp", ".home.arpa", ".svc"} {
		if strings.HasSuffix(host, domain) {
			return true
		}
	}
	return false
}
