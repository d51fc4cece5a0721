package doctor_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/skillyard/skillyard/client/doctor"
	"github.com/skillyard/skillyard/configs"
)

// callFaults are those in the way of calls, streamFaults those in the way of large bodies
// and streams, and of gRPC.
func callFaults() []fault {
	return []fault{
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
			want:  map[string]string{"auth": "fail a call with the token gets HTTP 401"}, verdict: doctor.NoAuth,
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
	}
}

func streamFaults() []fault {
	return []fault{
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
}
