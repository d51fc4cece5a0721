package doctor_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/doctor"
	"github.com/skillyard/skillyard/configs"
)

func TestDoctor_Usage(t *testing.T) {
	for _, u := range []string{"", "ftp://agents.example.com", "https://user:pw@agents.example.com", "http://"} {
		if r, err := doctor.Run(t.Context(), doctor.Options{URL: u}); client.KindOf(err) != client.KindUsage {
			t.Errorf("%q: got %+v, %v, want an error of usage", u, r, err)
		}
	}
}

// TestDoctor_Query: the card is asked for with the query of the URL, which is nothing
// that goes before other paths.
func TestDoctor_Query(t *testing.T) {
	srv := front{t: t, wrap: instead(func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/.well-known/agent") && r.URL.RawQuery != "assistant=one"
	}, http.NotFound)}.start()
	for _, given := range []string{"/?assistant=one", "/.well-known/agent-card.json?assistant=one"} {
		expect(t, examine(t, doctor.Options{URL: srv.URL + given}), nil)
	}
	expect(t, examine(t, doctor.Options{URL: srv.URL}), map[string]string{"card": "fail"})
}

// TestDoctor_Token: without a token that is needed there is one verdict, and no fault.
func TestDoctor_Token(t *testing.T) {
	srv := front{t: t, edit: withKey}.start()
	r := examine(t, doctor.Options{URL: srv.URL})
	expect(t, r, nil)
	if r.Verdict != doctor.NoAuth {
		t.Errorf("got %s, want auth", r.Verdict)
	}
	if f := of(r, "body"); f[0].Severity != doctor.OK {
		t.Errorf("body: got %+v, want that it passes the proxy without a token too", f)
	}
	t.Run("for the card", func(t *testing.T) {
		srv := front{t: t, edit: func(c *configs.Config) { withKey(c); c.Auth.ProtectCard = true }}.start()
		r := examine(t, doctor.Options{URL: srv.URL})
		expect(t, r, map[string]string{"card": "warn the card is not public"})
		if r.Verdict != doctor.NoAuth {
			t.Errorf("got %s, want auth", r.Verdict)
		}
	})
	t.Run("a wrong one", func(t *testing.T) {
		r := examine(t, doctor.Options{URL: srv.URL, Token: "other"})
		expect(t, r, map[string]string{"auth": "fail a call with the token gets HTTP 401"})
		if r.Verdict != doctor.NoAuth {
			t.Errorf("got %s, want auth", r.Verdict)
		}
	})
}

// TestDoctor_Credentials: the token goes to the origin that was named and nowhere else,
// whatever the card says and whoever redirects; and no redirect is followed.
func TestDoctor_Credentials(t *testing.T) {
	var mu sync.Mutex
	var seen []string // guarded by mu
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer other.Close()
	theirs := strings.TrimPrefix(other.URL, "http://")
	t.Run("card", func(t *testing.T) {
		srv := front{t: t, edit: withKey, forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", theirs) }}.start()
		examine(t, doctor.Options{URL: srv.URL, Token: "secret"})
	})
	t.Run("redirect", func(t *testing.T) {
		srv := front{t: t, edit: withKey, wrap: instead(func(r *http.Request) bool { return r.Method == "POST" || isProbe(r) },
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/redirected", http.StatusTemporaryRedirect)
			})}.start()
		examine(t, doctor.Options{URL: srv.URL, Token: "secret"})
	})
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 {
		t.Error("nothing was called at the other port, so nothing is shown")
	}
	for _, s := range seen {
		if !strings.HasSuffix(s, " ") || strings.Contains(s, "redirected") {
			t.Errorf("the other server got %q", s)
		}
	}
}

func TestDoctor_Unreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("nobody accepts", func(t *testing.T) {
		// Connections are taken by the system, and never answered.
		began := time.Now()
		r := examine(t, doctor.Options{URL: "http://" + l.Addr().String(), Timeout: 300 * time.Millisecond})
		if r.Verdict != doctor.Timeout || time.Since(began) > 10*time.Second {
			t.Errorf("got %s after %v, want timeout", r.Verdict, time.Since(began))
		}
	})
	_ = l.Close()
	t.Run("refused", func(t *testing.T) {
		r := examine(t, doctor.Options{URL: "http://" + l.Addr().String()})
		expect(t, r, map[string]string{"connection": "fail cannot be reached: dial tcp"})
		if r.Verdict != doctor.Fault {
			t.Errorf("got %s, want fault", r.Verdict)
		}
	})
}

// TestDoctor_Time: what there was no time for is said, and is a verdict of its own.
func TestDoctor_Time(t *testing.T) {
	srv := front{t: t, edit: func(c *configs.Config) { c.Stream.Heartbeat = 30 * time.Second }}.start()
	r := examine(t, doctor.Options{URL: srv.URL, Timeout: 10 * time.Second})
	expect(t, r, nil)
	if f := of(r, "silence"); r.Verdict != doctor.Timeout || f[0].Severity != doctor.Skipped || !strings.Contains(f[0].Text, "30s") {
		t.Errorf("got %s, %+v, want timeout", r.Verdict, f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, err := doctor.Run(ctx, doctor.Options{URL: srv.URL})
	if err != nil || late.Verdict != doctor.Timeout || late.Count(doctor.Skipped) != len(late.Findings) {
		t.Errorf("got %+v, %v, want that nothing was looked at", late, err)
	}
}

// TestDoctor_Send: only then there is a task, and its stream is looked at.
func TestDoctor_Send(t *testing.T) {
	hold := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { held(next, w, r, nil) })
	}
	for _, c := range []struct {
		name, text string
		front      front
		send       bool
		want       map[string]string
		severity   doctor.Severity
	}{
		{name: "not allowed", severity: doctor.Skipped},
		{name: "in time", send: true, text: "@chunks 4 400", severity: doctor.OK},
		{name: "too soon to tell", send: true, text: "@echo", severity: doctor.Skipped},
		{
			name: "held back", send: true, text: "@chunks 4 400", front: front{wrap: hold}, severity: doctor.Fail,
			want: map[string]string{"stream": "fail held back", "task stream": "fail came all at once"},
		},
		{
			name: "without the probe", send: true, text: "@chunks 4 400", severity: doctor.OK,
			front: front{edit: func(c *configs.Config) { c.Stream.Probe = false }},
		},
		{
			name: "over 0.3", send: true, text: "@chunks 4 400", severity: doctor.OK,
			front: front{respond: rewriteCard("supportedInterfaces", "x")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.front.t = t
			var tasks func() int
			c.front.backend = func(u string) {
				tasks = func() int {
					res, err := http.Get(u + "/tasks")
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close() //nolint:errcheck // only read
					b := make([]byte, 1<<16)
					n, _ := res.Body.Read(b)
					return strings.Count(string(b[:n]), `"created"`)
				}
			}
			srv := c.front.start()
			r := examine(t, doctor.Options{URL: srv.URL, Send: c.send, Skill: "probe", Text: c.text})
			expect(t, r, c.want)
			if f := of(r, "task stream"); f[0].Severity != c.severity {
				t.Errorf("got %+v, want %s", f, c.severity)
			}
			if n, want := tasks(), map[bool]int{true: 1}[c.send]; n != want {
				t.Errorf("got %d tasks, want %d", n, want)
			}
		})
	}
}

// TestDoctor_GRPC: what is declared takes connections of HTTP/2.
func TestDoctor_GRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	srv := front{t: t, edit: func(c *configs.Config) { c.GRPC.Addr = addr }}.start()
	r := examine(t, doctor.Options{URL: srv.URL})
	expect(t, r, nil)
	if f := of(r, "grpc"); f[0].Severity != doctor.OK || !strings.Contains(f[0].Text, "HTTP/2 without TLS") {
		t.Errorf("got %+v, want that HTTP/2 answers", f)
	}
	t.Run("an HTTP/1 server", func(t *testing.T) {
		plain := httptest.NewServer(http.NotFoundHandler())
		defer plain.Close()
		srv := front{t: t, edit: func(c *configs.Config) {
			c.GRPC.Addr, c.GRPC.PublicAddr = "127.0.0.1:0", strings.TrimPrefix(plain.URL, "http://")
		}}.start()
		r := examine(t, doctor.Options{URL: srv.URL})
		expect(t, r, map[string]string{"grpc": "fail does not speak HTTP/2"})
	})
}

// TestDoctor_Advice: lines are for the proxy that is there, or the one that was asked for.
func TestDoctor_Advice(t *testing.T) {
	for _, c := range []struct{ server, proxy, want string }{
		{"", "", "nginx caddy traefik"},
		{"nginx/1.26", "", "nginx"},
		{"Caddy", "", "caddy"},
		{"nginx/1.26", "traefik", "traefik"},
		{"nginx/1.26", "all", "nginx caddy traefik"},
	} {
		t.Run(c.server+" "+c.proxy, func(t *testing.T) {
			t.Parallel()
			srv := front{t: t, wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if c.server != "" {
						w.Header().Set("Server", c.server)
					}
					if r.ContentLength > 1<<20 {
						html413(w)
						return
					}
					next.ServeHTTP(w, r)
				})
			}}.withoutProbe().start()
			r := examine(t, doctor.Options{URL: srv.URL, Proxy: c.proxy})
			var got []string
			for _, f := range of(r, "body")[0].Fixes {
				got = append(got, f.Proxy)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got advice for %v, want %s", got, c.want)
			}
		})
	}
}

func html413(w http.ResponseWriter) {
	w.WriteHeader(http.StatusRequestEntityTooLarge)
	_, _ = w.Write([]byte(page))
}
