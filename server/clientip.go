package server

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// clientIP returns the address of a caller: that of the peer, or what trusted proxies
// say in X-Forwarded-For, whose lines are forwarded. The hops are looked at from the
// nearest on, and the first that is no trusted proxy is the caller; what stands left of
// it anybody could have written. If a hop is no address, or all of them are proxies,
// it is the peer.
func clientIP(peer string, forwarded []string, trusted []netip.Prefix) string {
	host, _, err := net.SplitHostPort(peer)
	if err != nil {
		return ""
	}
	a, ok := parseHop(host)
	if !ok {
		return host
	}
	if host = a.String(); !within(trusted, a) {
		return host
	}
	for _, line := range slices.Backward(forwarded) {
		for _, hop := range slices.Backward(strings.Split(line, ",")) {
			hop = strings.TrimSpace(hop)
			a, ok := parseHop(hop)
			switch {
			case hop == "": // an element that is not there
			case !ok:
				return host
			case !within(trusted, a):
				return a.String()
			}
		}
	}
	return host
}

// parseHop reads an address. Two spellings of one address are one.
func parseHop(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a.Unmap().WithZone(""), err == nil
}

func within(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}
