package server

import (
	"net/netip"
	"testing"
)

func TestClientIP(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, tc := range []struct {
		peer      string
		forwarded []string
		trusted   []netip.Prefix
		want      string
	}{
		{"203.0.113.7:1234", nil, nil, "203.0.113.7"},
		{"127.0.0.1:1", []string{"198.51.100.1"}, nil, "127.0.0.1"},
		{"203.0.113.7:1", []string{"198.51.100.1"}, trusted, "203.0.113.7"},
		{"127.0.0.1:1", []string{"198.51.100.1"}, trusted, "198.51.100.1"},
		{"[::ffff:127.0.0.1]:1", []string{"198.51.100.1"}, trusted, "198.51.100.1"},
		{"[fd00::1]:1", []string{"2001:db8::9"}, trusted, "2001:db8::9"},
		{"127.0.0.1:1", []string{"1.2.3.4, 198.51.100.1 , 10.0.0.1"}, trusted, "198.51.100.1"},
		{"127.0.0.1:1", []string{"1.2.3.4", "198.51.100.1", "10.0.0.1,::ffff:10.0.0.2"}, trusted, "198.51.100.1"},
		{"127.0.0.1:1", []string{"198.51.100.1, garbage"}, trusted, "127.0.0.1"},
		{"127.0.0.1:1", []string{"198.51.100.1,", ""}, trusted, "198.51.100.1"},
		{"127.0.0.1:1", []string{"10.0.0.9, 10.0.0.1"}, trusted, "127.0.0.1"},
		{"127.0.0.1:1", nil, trusted, "127.0.0.1"},
		{"@", []string{"198.51.100.1"}, trusted, ""},
		{"", nil, trusted, ""},
	} {
		if got := clientIP(tc.peer, tc.forwarded, tc.trusted); got != tc.want {
			t.Errorf("%s %q: got %q, want %q", tc.peer, tc.forwarded, got, tc.want)
		}
	}
}
