package agentcard

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

var loopbackNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

const cardPath = "/.well-known/agent-card.json"

func TestB001_scheme_behind_TLS_proxy(t *testing.T) {
	header := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example.com"}
	c := serve(t, newServer(t, full(t), Resolver{Trusted: loopbackNet}))
	for _, v := range []string{"", "0.3", "1.0"} {
		_, body := c.do("GET", cardPath, append(header, "A2A-Version", v)...)
		wantURLs(t, body, "https://agents.example.com/api/a2a/tasks")
	}
	_, body := c.do("GET", cardPath, "Forwarded", `for=192.0.2.1;proto=http;host=far.example, for=1.2.3.4;Proto=https;host="agents.example.com"`)
	wantURLs(t, body, "https://agents.example.com/api/a2a/tasks")
	_, body = c.do("GET", cardPath, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example, agents.example.com:8443")
	wantURLs(t, body, "https://agents.example.com:8443/api/a2a/tasks")

	c = serve(t, newServer(t, full(t), Resolver{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}))
	_, body = c.do("GET", cardPath, header...)
	wantURLs(t, body, c.base+"/api/a2a/tasks")
}

func TestB002_prefix_of_load_balancer(t *testing.T) {
	c := serve(t, newServer(t, full(t), Resolver{Trusted: loopbackNet}))
	host := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example.com"}
	for _, p := range [][2]string{
		{"X-Forwarded-Prefix", "/agents/my"},
		{"X-Forwarded-Prefix", "/agents/my/"},
		{"X-Forwarded-Path", "/agents/my"},
		{"X-Forwarded-Path", "/agents/my" + cardPath},
	} {
		_, body := c.do("GET", cardPath, append(host, p[0], p[1])...)
		wantURLs(t, body, "https://agents.example.com/agents/my/api/a2a/tasks")
	}
	for _, bad := range []string{
		"//evil.example/x", "/a/../b", "/..", "/a//b", "https://evil.example", "evil", "/a b", "/a?x=1", "/a#x",
		"/%2e%2e/x", "/a\tb", `/a"b`, "/" + strings.Repeat("a", 300), "/a\\b", "/\u00e4",
	} {
		_, body := c.do("GET", cardPath, append(host, "X-Forwarded-Prefix", bad)...)
		wantURLs(t, body, "https://agents.example.com/api/a2a/tasks")
	}
	// A configured URL beats every header.
	c = serve(t, newServer(t, full(t), Resolver{PublicURL: public + "/", Trusted: loopbackNet}))
	resp, body := c.do("GET", cardPath, append(host, "X-Forwarded-Prefix", "/agents/my")...)
	wantURLs(t, body, public+"/api/a2a/tasks")
	if got := resp.Header.Get("Vary"); got != "A2A-Version" {
		t.Errorf("got Vary %q", got)
	}
}

func TestB004_hostile_Host(t *testing.T) {
	evil := []string{"Host", "evil.example", "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example", "X-Forwarded-Prefix", "/evil.example"}
	for name, v := range map[string]Resolver{
		"public URL": {PublicURL: public, Trusted: loopbackNet},
		"nothing":    {},
		"other peer": {Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		"listen":     {Addr: "0.0.0.0:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, newServer(t, full(t), v))
			resp, body := c.do("GET", cardPath, evil...)
			if strings.Contains(body, "evil") {
				t.Errorf("the hostile name is in the card: %s", body)
			}
			if !strings.Contains(resp.Header.Get("Vary"), "A2A-Version") {
				t.Errorf("got Vary %q", resp.Header.Get("Vary"))
			}
		})
	}
	// A trusted proxy that names no host does not lend its trust to Host.
	c := serve(t, newServer(t, full(t), Resolver{Trusted: loopbackNet}))
	resp, body := c.do("GET", cardPath, "Host", "evil.example", "X-Forwarded-Proto", "https")
	if strings.Contains(body, "evil") {
		t.Errorf("the hostile name is in the card: %s", body)
	}
	for _, want := range []string{"A2A-Version", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Path", "X-Forwarded-Prefix", "X-Forwarded-Proto"} {
		if !slices.Contains(strings.Split(resp.Header.Get("Vary"), ", "), want) {
			t.Errorf("Vary %q lacks %s", resp.Header.Get("Vary"), want)
		}
	}
	for _, bad := range []string{"evil.example/x", "user@evil.example", "a b", "a:99999999", "a:", "[::1", "..", "a..b", "[fe80::1%25eth0]", "x\\y", ""} {
		_, body := c.do("GET", cardPath, "X-Forwarded-Host", bad)
		wantURLs(t, body, c.base+"/api/a2a/tasks")
	}
}

func TestResolver_Base_direct(t *testing.T) {
	cases := []struct {
		name, addr, local, host, want string
	}{
		{"localhost", "127.0.0.1:8080", "127.0.0.1:8080", "localhost:8080", "http://localhost:8080"},
		{"loopback address", "127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"loopback v6", "[::1]:8080", "[::1]:8080", "[::1]:8080", "http://[::1]:8080"},
		{"published port of a container", "0.0.0.0:8080", "172.17.0.2:8080", "localhost:9000", "http://localhost:9000"},
		{"address that was called", "0.0.0.0:8080", "192.168.1.5:8080", "192.168.1.5:8080", "http://192.168.1.5:8080"},
		{"mapped v6 listener", "[::]:8080", "[::ffff:192.168.1.5]:8080", "192.168.1.5:8080", "http://192.168.1.5:8080"},
		{"port 80", "0.0.0.0:80", "192.168.1.5:80", "192.168.1.5", "http://192.168.1.5"},
		{"configured name", "agents.internal:8080", "10.0.0.5:8080", "agents.internal:8080", "http://agents.internal:8080"},
		{"another name", "0.0.0.0:8080", "172.18.0.3:8080", "skillyard:8080", "http://172.18.0.3:8080"},
		{"another port", "0.0.0.0:8080", "192.168.1.5:8080", "192.168.1.5:9999", "http://192.168.1.5:8080"},
		{"hostile name", "127.0.0.1:8080", "127.0.0.1:8080", "evil.example", "http://127.0.0.1:8080"},
		{"looks like localhost", "127.0.0.1:8080", "127.0.0.1:8080", "localhost.evil.example:8080", "http://127.0.0.1:8080"},
		{"no local address", "0.0.0.0:8080", "", "evil.example", "http://localhost:8080"},
		{"not a host", "127.0.0.1:8080", "127.0.0.1:8080", "localhost:8080/x", "http://127.0.0.1:8080"},
		{"empty", ":8080", "", "", "http://localhost:8080"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", cardPath, nil)
			r.Host = c.host
			ctx := r.Context()
			if c.local != "" {
				ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.local)))
			}
			if got := (Resolver{Addr: c.addr}).Base(r.WithContext(ctx)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzResolver_Base(f *testing.F) {
	f.Add("agents.example.com:8443", "https", "/a/b", "host=x;proto=https", "localhost:1")
	f.Add("[::1]:80", "http", "/../x", `host="[fe80::1]"`, "[::1]")
	f.Fuzz(func(t *testing.T, host, proto, prefix, forwarded, direct string) {
		r := httptest.NewRequest("GET", cardPath, nil)
		r.RemoteAddr, r.Host = "127.0.0.1:5", direct
		r.Header.Set("X-Forwarded-Host", host)
		r.Header.Set("X-Forwarded-Proto", proto)
		r.Header.Set("X-Forwarded-Prefix", prefix)
		r.Header.Set("Forwarded", forwarded)
		got := Resolver{Trusted: loopbackNet, Addr: "127.0.0.1:8080"}.Base(r)
		u, err := r.URL.Parse(got)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
			u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "..") || strings.Contains(u.Path, "//") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
