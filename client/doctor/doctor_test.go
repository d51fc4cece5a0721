package doctor_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/client/doctor"
	"github.com/skillyard/skillyard/configs"
)

var quiet = log.New(io.Discard, "", 0)

func replaceBody(r *http.Response, change func(string) string) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	b = []byte(change(string(b)))
	r.Body = io.NopCloser(bytes.NewReader(b))
	r.ContentLength = int64(len(b))
	r.Header.Set("Content-Length", strconv.Itoa(len(b)))
	return nil
}

func isCard(r *http.Request) bool  { return strings.Contains(r.URL.Path, "/.well-known/agent") }
func isProbe(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/probe/stream") }

// instead answers some requests itself.
func instead(which func(*http.Request) bool, with http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if which(r) {
				with(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// held keeps an answer back until it is whole, as a proxy that buffers does.
func held(next http.Handler, w http.ResponseWriter, r *http.Request, encode func(io.Writer) io.WriteCloser) {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	if encode == nil {
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	z := encode(w)
	_, _ = z.Write(rec.Body.Bytes())
	_ = z.Close()
}

// squeezed compresses an answer as it passes, with a flush after each piece.
type squeezed struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (s *squeezed) Write(b []byte) (int, error) {
	if s.z == nil {
		s.z = gzip.NewWriter(s.ResponseWriter)
	}
	return s.z.Write(b)
}

func (s *squeezed) WriteHeader(status int) {
	s.Header().Set("Content-Encoding", "gzip")
	s.Header().Del("Content-Length")
	s.ResponseWriter.WriteHeader(status)
}

func (s *squeezed) Flush() {
	if s.z != nil {
		_ = s.z.Flush()
	}
	s.ResponseWriter.(http.Flusher).Flush()
}

const page = "<html><head><title>Error</title></head><body>nginx</body></html>"

func html(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Server", "nginx")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page)
}

// TestDoctor_Fine: behind a proxy without faults everything is in order, in each of the
// ways to name the agent.
func TestDoctor_Fine(t *testing.T) {
	srv := front{t: t}.start()
	for _, path := range []string{"", "/.well-known/agent-card.json", "/api/a2a/tasks", "/skills/list_board"} {
		t.Run("at "+path, func(t *testing.T) {
			r := examine(t, doctor.Options{URL: srv.URL + path})
			expect(t, r, nil)
			if r.Verdict != doctor.Fine || !strings.HasPrefix(r.Agent, map[bool]string{true: "List a board", false: "Skillyard"}[strings.HasPrefix(path, "/skills/")]) {
				t.Errorf("got %s for %q, want ok", r.Verdict, r.Agent)
			}
			for _, check := range []string{"stream", "silence", "body", "interfaces", "dialects", "slash"} {
				if f := of(r, check); len(f) == 0 || f[0].Severity != doctor.OK {
					t.Errorf("%s: got %+v, want ok", check, f)
				}
			}
			if n := len(of(r, "interfaces")); n != 4 {
				t.Errorf("got %d interfaces, want 4", n)
			}
			if f := of(r, "dialects"); !strings.Contains(f[0].Text, "also speaks EMM") {
				t.Errorf("dialects: got %+v, want EMM among them", f)
			}
		})
	}
	t.Run("under a path, with TLS and keys", func(t *testing.T) {
		srv := front{t: t, prefix: "/my", secure: true, edit: withKey}.start()
		r := examine(t, doctor.Options{URL: srv.URL + "/my", Token: "secret", Roots: roots(srv)})
		expect(t, r, nil)
		if r.Verdict != doctor.Fine {
			t.Errorf("got %s, want ok", r.Verdict)
		}
		if f := of(r, "tls"); f[0].Severity != doctor.OK || !strings.Contains(f[0].Text, "TLS 1.3") {
			t.Errorf("tls: got %+v", f)
		}
		if f := of(r, "connection"); !strings.Contains(f[0].Text, "HTTP/2") {
			t.Errorf("connection: got %+v", f)
		}
	})
}

func withKey(c *configs.Config) {
	c.Auth.Keys = []configs.Key{{Name: "a", Key: configs.Secret("secret")}}
}

// TestDoctor_Faults puts one fault at a time into the way; the doctor names that fault
// and no other.
func TestDoctor_Faults(t *testing.T) {
	cases := []struct {
		name  string
		front front
		path  string
		o     doctor.Options
		want  map[string]string
		// fix is a line that must be among the advice for nginx.
		fix string
	}{
		{
			name:  "the scheme of the card is http",
			front: front{secure: true, forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "http") }},
			want:  map[string]string{"card urls": "fail is http, though"},
			fix:   "proxy_set_header X-Forwarded-Proto https;",
		},
		{
			name:  "the card names an internal host",
			front: front{forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "skillyard.svc:8080") }},
			want:  map[string]string{"card urls": "fail http://skillyard.svc:8080/api/a2a/tasks and 1 more is another host"},
			fix:   "proxy_set_header X-Forwarded-Host $http_host;",
		},
		{
			name:  "the card names the address to listen on",
			front: front{respond: rewriteCard("127.0.0.1", "0.0.0.0")},
			want:  map[string]string{"card urls": "fail is an address to listen on"},
		},
		{
			name:  "the card names another port",
			front: front{forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "127.0.0.1:9") }},
			want:  map[string]string{"card urls": "fail has another scheme or port than the URL that was given, and nothing answers"},
		},
		{
			name:  "the card leads past the proxy",
			front: front{forward: dropForwarded},
			want:  map[string]string{"card urls": "warn clients go past the proxy"},
		},
		{
			name:  "the card names another public host",
			front: front{forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "agents.example.com") }},
			want:  map[string]string{"card urls": "warn was not called"},
		},
		{
			name:  "the card has paths for URLs",
			front: front{respond: rewriteCard(`"url":"http://127.0.0.1`, `"url":"//127.0.0.1`)},
			want:  map[string]string{"card urls": "fail is no absolute URL"},
		},
		{
			name: "the prefix is lost", path: "/my",
			front: front{prefix: "/my", forward: func(r *http.Request) { r.Header.Del("X-Forwarded-Prefix") }},
			want:  map[string]string{"card urls": "fail it lacks the path under which the proxy has the server, /my"},
			fix:   "proxy_set_header X-Forwarded-Prefix /my;",
		},
		{
			name: "only the card passes the proxy",
			front: front{wrap: instead(func(r *http.Request) bool { return !isCard(r) && !isProbe(r) },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 404) })},
			want: map[string]string{"interfaces": "fail answers HTTP 404 with a page of HTML"},
		},
		{
			name: "POST is not allowed",
			front: front{wrap: instead(func(r *http.Request) bool { return r.Method == "POST" },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 405) })},
			want: map[string]string{"interfaces": "fail answers HTTP 405"},
		},
		{
			name: "the server behind is down but for the card",
			front: front{wrap: instead(func(r *http.Request) bool { return !isCard(r) && !isProbe(r) },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 502) })},
			want: map[string]string{"interfaces": "fail answers HTTP 502"},
		},
		{
			name: "POST is redirected",
			front: front{wrap: instead(func(r *http.Request) bool { return r.URL.Path == "/api/a2a/tasks" },
				func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"/", 301) })},
			want: map[string]string{"interfaces": "fail answers a redirect (301) to"},
			fix:  "location = /api/a2a/tasks {",
		},
		{
			name: "the slash at the end is redirected",
			front: front{wrap: instead(func(r *http.Request) bool { return r.URL.Path == "/api/a2a/tasks/" },
				func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api/a2a/tasks", 301) })},
			want: map[string]string{"slash": "warn clients that add or drop the slash lose their call"},
			fix:  "location = /api/a2a/tasks/ {",
		},
		{
			name: "a login in front of the endpoint",
			front: front{wrap: instead(func(r *http.Request) bool { return !isCard(r) && !isProbe(r) },
				func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, "https://login.example.com/start", 302)
				})},
			want: map[string]string{"auth": "fail a redirect (302) to https://login.example.com/start, which looks like a login"},
		},
		{
			name: "a login page in place of the endpoint",
			front: front{wrap: instead(func(r *http.Request) bool { return !isCard(r) && !isProbe(r) },
				func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, `<html><form><input type="password"></form></html>`)
				})},
			want: map[string]string{"auth": "fail HTTP 200 with a login page"},
		},
		{
			name: "a login in front of everything",
			front: front{wrap: instead(func(*http.Request) bool { return true },
				func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, "https://login.example.com/start", 302)
				})},
			want: map[string]string{"card": "fail looks like a login"},
		},
		{
			name: "403 in place of 401", o: doctor.Options{Token: "secret"},
			front: front{edit: withKey, respond: func(r *http.Response) error {
				if r.StatusCode == 401 {
					r.StatusCode = 403
				}
				return nil
			}},
			want: map[string]string{"auth": "warn gets 403"},
		},
		{
			name: "401 without a challenge", o: doctor.Options{Token: "secret"},
			front: front{edit: withKey, respond: func(r *http.Response) error { r.Header.Del("WWW-Authenticate"); return nil }},
			want:  map[string]string{"auth": "warn 401 without WWW-Authenticate"},
		},
		{
			name: "a wrong token is accepted", o: doctor.Options{Token: "secret"},
			front: front{edit: withKey, forward: func(r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					r.Header.Set("Authorization", "Bearer secret")
				}
			}},
			want: map[string]string{"auth": "fail a wrong token is accepted"},
		},
		{
			name: "a wrong token breaks the server", o: doctor.Options{Token: "secret"},
			front: front{edit: withKey, wrap: instead(func(r *http.Request) bool { return strings.Contains(r.Header.Get("Authorization"), "wrong") },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 500) })},
			want: map[string]string{"auth": "fail a wrong token gets HTTP 500"},
		},
		{
			name: "the proxy drops the token", o: doctor.Options{Token: "secret"},
			front: front{edit: withKey, forward: func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Del("X-Api-Key") }},
			want:  map[string]string{"auth": "fail a call with the token gets HTTP 401"},
		},
		{
			name:  "keys that the card does not declare",
			o:     doctor.Options{Token: "secret"},
			front: front{edit: withKey, respond: rewriteCard("securitySchemes", "x")},
			want:  map[string]string{"auth": "warn which the card does not say"},
		},
		{
			name:  "the card wants a token, which was given",
			o:     doctor.Options{Token: "secret"},
			front: front{edit: func(c *configs.Config) { withKey(c); c.Auth.ProtectCard = true }},
			want:  map[string]string{"card": "warn the card is not public (HTTP 401"},
		},
		{
			name: "no card",
			front: front{wrap: instead(isCard, func(w http.ResponseWriter, _ *http.Request) {
				html(w, 404)
			})},
			want: map[string]string{"card": "fail there is no agent card"},
		},
		{
			name:  "the card is no JSON by its type",
			front: front{respond: func(r *http.Response) error { setType(r, "text/plain"); return nil }},
			want:  map[string]string{"card": `warn Content-Type is "text/plain"`},
		},
		{
			name: "the card has no ETag",
			front: front{respond: func(r *http.Response) error {
				if isCard(r.Request) {
					r.Header.Del("ETag")
				}
				return nil
			}},
			want: map[string]string{"card caching": "warn no ETag"},
		},
		{
			name:  "If-None-Match is dropped",
			front: front{forward: func(r *http.Request) { r.Header.Del("If-None-Match") }},
			want:  map[string]string{"card caching": "warn gets HTTP 200 instead of 304"},
		},
		{
			name: "the old place of the card is redirected",
			front: front{wrap: instead(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/agent.json") },
				func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, strings.TrimSuffix(r.URL.Path, ".json")+"-card.json", 301)
				})},
			want: map[string]string{"card places": "warn agent.json answers a redirect (301)"},
		},
		{
			name: "the card is at its old place only",
			front: front{wrap: instead(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/agent-card.json") },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 404) })},
			want: map[string]string{"card places": "warn the card is only at /.well-known/agent.json"},
		},
		{
			name: "clocks differ by much",
			front: front{respond: func(r *http.Response) error {
				r.Header.Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
				return nil
			}},
			want: map[string]string{"clock": "fail differ by 10m0s"},
		},
		{
			name: "clocks differ",
			front: front{respond: func(r *http.Response) error {
				r.Header.Set("Date", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
				return nil
			}},
			want: map[string]string{"clock": "warn differ by 1m"},
		},
		{
			name: "bodies of 1 MiB are refused",
			front: front{wrap: instead(func(r *http.Request) bool { return r.ContentLength > 1<<20 },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 413) })},
			want: map[string]string{"body": "fail the proxy refuses a body of 1 MiB with HTTP 413 with a page of HTML"},
			fix:  "client_max_body_size 10m;",
		},
		{
			name: "large bodies are refused",
			front: front{wrap: instead(func(r *http.Request) bool { return r.ContentLength > 2<<20 },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 413) })},
			want: map[string]string{"body": "warn the proxy refuses a body of 3 MiB"},
		},
		{
			name:  "the server takes little",
			front: front{edit: func(c *configs.Config) { c.Server.MaxBodyBytes = 64 << 10 }},
			want:  map[string]string{"body": "warn the server itself takes no body of 1 MiB: The request body is larger than 65536 bytes."},
		},
		{
			name: "the connection breaks off on large bodies",
			front: front{wrap: instead(func(r *http.Request) bool { return r.ContentLength > 1<<20 },
				func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })},
			want: map[string]string{"body": "fail the connection breaks off on a body of 1 MiB"},
		},
		{
			name: "large bodies break the proxy",
			front: front{wrap: instead(func(r *http.Request) bool { return r.ContentLength > 1<<20 },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 500) })},
			want: map[string]string{"body": "fail gets HTTP 500 with a page of HTML in one of 1 MiB"},
		},
		{
			name: "large bodies are cut off",
			front: front{forward: func(r *http.Request) {
				if r.ContentLength > 1<<20 {
					r.Body, r.ContentLength = io.NopCloser(io.LimitReader(r.Body, 20)), 20
				}
			}},
			want: map[string]string{"body": "fail a call that is answered in a small body gets HTTP 200: {\"jsonrpc\""},
		},
		{
			name: "streams are held back",
			front: front{wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { held(next, w, r, nil) })
			}},
			want: map[string]string{"stream": "fail events are held back"},
			fix:  "proxy_buffering off;",
		},
		{
			name: "streams are held back to be compressed",
			front: front{wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !isProbe(r) || r.Header.Get("Accept-Encoding") != "gzip" {
						next.ServeHTTP(w, r)
						return
					}
					held(next, w, r, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
				})
			}},
			want: map[string]string{"stream": "fail because they are compressed (gzip)", "stream headers": "warn event streams are compressed"},
			fix:  "gzip off;",
		},
		{
			name: "streams are compressed in time",
			front: front{wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if isProbe(r) {
						s := &squeezed{ResponseWriter: w}
						next.ServeHTTP(s, r)
						_ = s.z.Close()
						return
					}
					next.ServeHTTP(w, r)
				})
			}},
			want: map[string]string{"stream headers": "warn event streams are compressed (gzip)"},
			fix:  "gzip off;",
		},
		{
			name: "streams may be kept",
			front: front{respond: func(r *http.Response) error {
				if isProbe(r.Request) {
					r.Header.Del("Cache-Control")
				}
				return nil
			}},
			want: map[string]string{"stream headers": "warn no Cache-Control"},
		},
		{
			name:  "streams do not keep nginx from holding them back",
			front: front{respond: func(r *http.Response) error { r.Header.Del("X-Accel-Buffering"); return nil }},
			want:  map[string]string{"stream headers": "warn no X-Accel-Buffering"},
		},
		{
			name:  "silent streams are cut off",
			front: front{edit: func(c *configs.Config) { c.Stream.Heartbeat = 1500 * time.Millisecond }, wrap: impatient(time.Second)},
			want:  map[string]string{"silence": "fail is cut off after"},
			fix:   "proxy_read_timeout 1h;",
		},
		{
			name:  "streams are cut off",
			front: front{wrap: impatient(150 * time.Millisecond)},
			want:  map[string]string{"stream": "fail is cut off after", "silence": "fail is cut off after"},
			fix:   "proxy_read_timeout 1h;",
		},
		{
			name:  "gRPC where nothing is",
			front: front{edit: func(c *configs.Config) { c.GRPC.Addr, c.GRPC.PublicAddr = "127.0.0.1:0", "127.0.0.1:1" }},
			want:  map[string]string{"grpc": "fail where nothing takes connections"},
		},
	}
	// Examinations wait more than they work, so several run at a time.
	reports := make([]chan *doctor.Report, len(cases))
	places := make(chan struct{}, 4)
	for i, c := range cases {
		c.front.t = t
		srv := c.front.start()
		c.o.URL, c.o.Roots, c.o.Proxy = srv.URL+c.path, roots(srv), "nginx"
		reports[i] = make(chan *doctor.Report, 1)
		go func() {
			places <- struct{}{}
			defer func() { <-places }()
			r, err := doctor.Run(t.Context(), doctor.Quick(c.o))
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				r = &doctor.Report{}
			}
			reports[i] <- r
		}()
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := <-reports[i]
			expect(t, r, c.want)
			wantVerdict := doctor.Fine
			for _, text := range c.want {
				if strings.HasPrefix(text, "fail") {
					wantVerdict = doctor.Fault
				}
			}
			if r.Verdict != wantVerdict {
				t.Errorf("got verdict %s, want %s", r.Verdict, wantVerdict)
			}
			if c.fix == "" {
				return
			}
			for _, f := range r.Findings {
				for _, x := range f.Fixes {
					for _, line := range x.Lines {
						if x.Proxy == "nginx" && line == c.fix {
							return
						}
					}
				}
			}
			t.Errorf("no advice has the line %q", c.fix)
		})
	}
}

func dropForwarded(r *http.Request) {
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For"} {
		r.Header.Del(name)
	}
}

func setType(r *http.Response, t string) {
	if isCard(r.Request) && r.StatusCode == 200 {
		r.Header.Set("Content-Type", t)
	}
}

// impatient cuts an answer off that was silent for a time.
func impatient(limit time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			timer := time.AfterFunc(time.Hour, cancel)
			defer timer.Stop()
			next.ServeHTTP(&watched{w, timer, limit}, r.WithContext(ctx))
		})
	}
}

// watched sets a timer anew with each write.
type watched struct {
	http.ResponseWriter
	timer *time.Timer
	limit time.Duration
}

func (w *watched) Write(b []byte) (int, error) {
	w.timer.Reset(w.limit)
	return w.ResponseWriter.Write(b)
}

func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }
