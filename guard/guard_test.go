package guard

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillyard/skillyard/guard/guardtest"
)

func newGuard(t testing.TB, o Options) *Guard {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// anyLoopback lets the tests' own receivers be called.
var anyLoopback = Options{AllowPrivateNetworks: true, AllowHTTP: true}

// privateHosts are hosts that no webhook may have by default (B-127 and more).
var privateHosts = []string{
	"127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.0.1",
	"100.64.0.1", "100.100.100.200", "0.0.0.0", "255.255.255.255", "224.0.0.1", "198.18.0.1", "192.0.0.192", "192.0.2.1",
	"[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::ffff:10.0.0.1]", "[::127.0.0.1]",
	"[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::808:808]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2002:808:808::1]",
	"[2001:0:808:808::80ff:fffe]", "[fe80::1]", "[fe80::1%25eth0]", "[2606:4700::1%25eth0]", "[fc00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[ff02::1]", "[2001:db8::1]", "[100::1]",
	"localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1.", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "1.0x", "a.b.1",
	"１２７.0.0.1", "127。0。0。1", "ⓛocalhost",
}

func TestGuard_Check(t *testing.T) {
	strict := newGuard(t, Options{})
	open := newGuard(t, anyLoopback)
	local := newGuard(t, Options{AllowHTTP: true, AllowLoopback: true})
	only := newGuard(t, Options{AllowedHosts: []string{"Hooks.example.com", "*.example.net", "odd.example.org:8443", "*.ports.example.org:9000"}})
	for _, tc := range []struct {
		name string
		g    *Guard
		ok   []string
		not  []string
	}{
		{"strict", strict,
			[]string{"https://hooks.example.com", "https://hooks.example.com:8443/x?y=z#f", "HTTPS://H.example/", "https://8.8.8.8/", "https://[2606:4700::1]/", "https://[64:ff9b::808:808]/", "https://a_b.example/", "https://a.example./"},
			[]string{"", "x", "/x", "//h/x", "http://hooks.example.com", "ftp://h", "file:///etc/passwd", "https://", "https:///x", "https:h", "https://u@h.example", "https://u:p@h.example", "https://h.example:0", "https://h.example:65536", "https://h.example:x", "https://:443/", "https://./"}},
		{"open", open,
			[]string{"http://127.0.0.1:9000/h", "http://localhost:9000", "http://10.0.0.1", "http://[::1]/", "http://[fd12::1]/", "http://100.64.0.1/", "http://[64:ff9b::7f00:1]/", "http://[::ffff:127.0.0.1]/"},
			[]string{"http://169.254.169.254/", "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::a9fe:a9fe]/", "http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://0.0.0.0/", "http://[::]/", "http://2130706433/", "http://[fe80::1]/"}},
		{"local", local,
			[]string{"http://127.0.0.1:9000/h", "http://localhost:9000", "http://[::1]/", "http://a.localhost/", "http://8.8.8.8/", "http://[::ffff:127.0.0.1]/"},
			[]string{"http://10.0.0.1", "http://192.168.1.1/", "http://[fd12::1]/", "http://100.64.0.1/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/"}},
		{"only", only,
			[]string{"https://hooks.example.com/x", "https://HOOKS.example.com.:9000/x", "https://a.example.net", "https://a.b.example.net:444", "https://odd.example.org:8443", "https://x.ports.example.org:9000"},
			[]string{"https://example.com", "https://hooks.example.com.evil.example", "https://evilhooks.example.com", "https://example.net", "https://evilexample.net", "https://odd.example.org", "https://odd.example.org:443", "https://x.ports.example.org", "http://hooks.example.com"}},
	} {
		for _, raw := range tc.ok {
			if err := tc.g.Check(raw); err != nil {
				t.Errorf("%s: %s: got %v, want no error", tc.name, raw, err)
			}
		}
		for _, raw := range tc.not {
			if tc.g.Check(raw) == nil {
				t.Errorf("%s: %s is let through", tc.name, raw)
			}
		}
	}
	for _, host := range privateHosts {
		for _, raw := range []string{"https://" + host + "/", "https://" + host + ":8443/x"} {
			if strict.Check(raw) == nil {
				t.Errorf("%s is let through", raw)
			}
		}
	}
}

func TestNew_RefusesHosts(t *testing.T) {
	for _, h := range []string{"", "*.", "*", "https://h", "h/x", "u@h", "a b", "*.*.example.com", ".example.com", "h:x"} {
		if _, err := New(Options{AllowedHosts: []string{h}}); err == nil {
			t.Errorf("allowed host %q: got no error", h)
		}
	}
}

// TestGuard_Rebinding calls a name that passes the check and then stands for
// loopback (B-127).
func TestGuard_Rebinding(t *testing.T) {
	var hits atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer receiver.Close()
	port := receiver.Listener.Addr().(*net.TCPAddr).Port
	target := (&url.URL{Scheme: "http", Host: net.JoinHostPort("hooks.example.com", strconv.Itoa(port)), Path: "/"}).String()
	call := func(o Options) error {
		g := newGuard(t, o)
		if err := g.Check(target); err != nil {
			t.Fatalf("the name itself is refused: %v", err)
		}
		c := guarded(g)
		defer c.CloseIdleConnections()
		res, err := c.Get(target)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	if err := call(Options{AllowHTTP: true, Resolver: guardtest.Resolver(t, "127.0.0.1")}); !errors.Is(err, ErrForbidden) || hits.Load() != 0 {
		t.Errorf("got %v and %d calls, want ErrForbidden and none", err, hits.Load())
	}
	// The same call arrives where it is allowed to.
	if err := call(Options{AllowHTTP: true, AllowPrivateNetworks: true, Resolver: guardtest.Resolver(t, "127.0.0.1")}); err != nil || hits.Load() != 1 {
		t.Errorf("got %v and %d calls, want one call", err, hits.Load())
	}
	// An allowed host is no way around.
	if err := call(Options{AllowHTTP: true, AllowedHosts: []string{"hooks.example.com"}, Resolver: guardtest.Resolver(t, "127.0.0.1")}); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v, want ErrForbidden", err)
	}
	if err := call(Options{AllowHTTP: true, AllowPrivateNetworks: true, Resolver: guardtest.Resolver(t, "169.254.169.254")}); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v, want ErrForbidden", err)
	}
}

func FuzzGuard_Check(f *testing.F) {
	for _, h := range privateHosts {
		f.Add("https://" + h + "/")
	}
	for _, s := range []string{"https://hooks.example.com:8443/x?y=z", "https://8.8.8.8", "https://u:p@h", "http://h", "https://[64:ff9b::808:808]", "https://a\r\nb"} {
		f.Add(s)
	}
	g := newGuard(f, Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		if g.Check(raw) != nil {
			return
		}
		req, err := http.NewRequest(http.MethodPost, raw, nil)
		if err != nil {
			t.Fatalf("%q passes, but cannot be called: %v", raw, err)
		}
		host := strings.TrimSuffix(req.URL.Hostname(), ".")
		if req.URL.Scheme != "https" || req.URL.User != nil || host == "" || strings.ContainsAny(req.URL.Host, "\r\n \t") {
			t.Errorf("%q passes", raw)
		}
		// Whatever could be taken for an address is a public one.
		if ip := net.ParseIP(host); ip != nil {
			if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
				t.Errorf("%q passes", raw)
			}
		} else if last := host[strings.LastIndexByte(host, '.')+1:]; strings.Trim(last, "0123456789") == "" {
			t.Errorf("%q passes", raw)
		}
	})
}

// guarded is an HTTP client behind a guard.
func guarded(g *Guard) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: g.Dialer(time.Second).DialContext}}
}
