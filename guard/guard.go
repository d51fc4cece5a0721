// Package guard decides which addresses may be called that others named: the webhooks of
// clients, and what the agent cards of strangers point to.
package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// ErrForbidden: the address is none that may be called.
var ErrForbidden = errors.New("address is not allowed")

// Options say what may be called. The zero value is the strictest:
// https to public addresses of any host.
type Options struct {
	// AllowPrivateNetworks lets URLs be on loopback, private, shared and unique
	// local addresses. Link-local ones and those where clouds keep credentials stay
	// forbidden.
	AllowPrivateNetworks bool
	// AllowLoopback lets URLs be on this machine.
	AllowLoopback bool
	// AllowHTTP lets URLs be called without TLS.
	AllowHTTP bool
	// AllowedHosts, if there are any, are the only hosts: "hooks.example.com",
	// "*.example.com" for every host below example.com, or either with a port. It
	// does not lift the other rules.
	AllowedHosts []string
	// Resolver looks up names; nil is the system's.
	Resolver *net.Resolver
}

// Guard decides which URLs that others gave may be called. A name can stand for
// another address at every look-up, so what counts is the address that is dialed:
// Check at registration only saves the client a late surprise.
//
// It is immutable and safe for concurrent use.
type Guard struct {
	o     Options
	hosts []string // in lower case
	safe  *ssrf.Guardian
}

var (
	privateV4 = []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	}
	loopbackV4 = netip.MustParsePrefix("127.0.0.0/8")
	loopbackV6 = netip.MustParsePrefix("::1/128")
	privateV6  = []netip.Prefix{netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7")}

	// metadata are the addresses within private networks where clouds keep
	// credentials. The best known one, 169.254.169.254, is link-local.
	metadata = []netip.Addr{
		netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"),
	}

	sixToFour = netip.MustParsePrefix("2002::/16")
	teredo    = netip.MustParsePrefix("2001::/32")
)

// New makes a Guard. It returns an error for an allowed host that could never
// match.
func New(o Options) (*Guard, error) {
	g := &Guard{o: o}
	for _, h := range o.AllowedHosts {
		name := strings.ToLower(strings.TrimPrefix(h, "*."))
		if u, err := url.Parse("//" + name + "/"); err != nil || name == "" || u.Host != name || strings.ContainsAny(name, "*@ ") || name[0] == '.' {
			return nil, fmt.Errorf("allowed host %q: must be a host such as hooks.example.com, *.example.com or hooks.example.com:8443", h)
		}
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	opts := []ssrf.Option{ssrf.WithAnyPort()}
	// NAT64 is how a host without IPv4 reaches those that have nothing else. The
	// address within is checked by itself.
	v6 := []netip.Prefix{ssrf.IPv6NAT64Prefix}
	if o.AllowLoopback {
		opts, v6 = append(opts, ssrf.WithAllowedV4Prefixes(loopbackV4)), append(v6, loopbackV6)
	}
	if o.AllowPrivateNetworks {
		opts = append(opts, ssrf.WithAllowedV4Prefixes(privateV4...))
		v6 = append(v6, privateV6...)
	}
	g.safe = ssrf.New(append(opts, ssrf.WithAllowedV6Prefixes(v6...))...)
	return g, nil
}

// Check returns an error for a URL that may not be called; its text says to whoever
// gave it what the URL must be. Names are not looked up: a URL that passes may still
// be refused when it is called.
func (g *Guard) Check(raw string) error {
	if why := g.why(raw); why != "" {
		return errors.New(why)
	}
	return nil
}

func (g *Guard) why(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return "must be an absolute https URL without a user"
	case u.Scheme == "http" && !g.o.AllowHTTP:
		return "must be an https URL"
	case !validPort(u):
		return "must have a valid port"
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch {
	case !plainHost(host):
		return "must have a host in ASCII, without a zone"
	case !g.listed(host, port(u)):
		return "must be of a host that this server may call"
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if g.Address(ip) != nil {
			return "must not be of a private or reserved address"
		}
		return ""
	}
	if numeric(host) {
		// Such as 127.1, 0x7f000001 or 2130706433, which some resolvers take for
		// addresses.
		return "must have a host name, or an IP address in its usual form"
	}
	if !g.o.AllowPrivateNetworks && !g.o.AllowLoopback && (host == "localhost" || strings.HasSuffix(host, ".localhost")) {
		return "must not be of a private or reserved address"
	}
	return ""
}

// Address returns an error that wraps ErrForbidden for an address that may not be
// called.
func (g *Guard) Address(ip netip.Addr) error {
	ip = ip.Unmap()
	switch {
	case ip.Zone() != "" || slices.Contains(metadata, ip):
		return fmt.Errorf("%w: %s", ErrForbidden, ip)
	case ip.Is6():
		if inner, ok := embedded(ip); ok && g.Address(inner) != nil {
			return fmt.Errorf("%w: %s", ErrForbidden, ip)
		}
	}
	if g.safe.SafeAddr(ip) != nil {
		return fmt.Errorf("%w: %s", ErrForbidden, ip)
	}
	return nil
}

// embedded returns the IPv4 address that packets to an IPv6 address end up at.
func embedded(ip netip.Addr) (netip.Addr, bool) {
	b := ip.As16()
	switch {
	case ssrf.IPv6NAT64Prefix.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case teredo.Contains(ip):
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	}
	return netip.Addr{}, false
}

// Dialer returns a dialer of allowed addresses only. It must not be used with a proxy,
// which would hide the address.
func (g *Guard) Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Resolver: g.o.Resolver, ControlContext: g.control}
}

// control is called with every address about to be dialed.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: %s %s", ErrForbidden, network, address)
	}
	return g.Address(to.Addr())
}

// listed reports whether the host is one of the allowed hosts, or there are none.
func (g *Guard) listed(host, port string) bool {
	if len(g.hosts) == 0 {
		return true
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	for _, h := range g.hosts {
		parent, below := strings.CutPrefix(h, "*.")
		for _, is := range [...]string{host, host + ":" + port} {
			if is == h || below && strings.HasSuffix(is, "."+parent) {
				return true
			}
		}
	}
	return false
}

// plainHost reports whether a host needs no conversion: other scripts have
// characters that turn into dots and digits.
func plainHost(host string) bool {
	for i := 0; i < len(host); i++ {
		if host[i] <= ' ' || host[i] > '~' || host[i] == '%' {
			return false
		}
	}
	return host != ""
}

// numeric reports whether the last label of a host is a number, as no name's is.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// port returns the port of a URL, given or not.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

func validPort(u *url.URL) bool {
	n, err := strconv.Atoi(port(u))
	return err == nil && 0 < n && n < 1<<16
}
