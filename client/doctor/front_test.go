package doctor_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/client/doctor"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// front is a proxy in front of a server, into which faults are put.
type front struct {
	t testing.TB
	// prefix is the path it cuts off and names to the server.
	prefix string
	// forward changes the request to the server, respond its answer.
	forward func(*http.Request)
	respond func(*http.Response) error
	// wrap is around it all.
	wrap func(http.Handler) http.Handler
	// secure serves TLS with the test server's own certificate, or cert if that is set.
	secure bool
	cert   *tls.Certificate
	// edit changes the configuration of the server behind it.
	edit func(*configs.Config)
	// backend is called with the server's URL, "http://127.0.0.1:PORT".
	backend func(string)
}

// withoutProbe has the server offer no stream to look at.
func (f front) withoutProbe() front {
	edit := f.edit
	f.edit = func(c *configs.Config) {
		if edit != nil {
			edit(c)
		}
		c.Stream.Probe = false
	}
	return f
}

// heartbeat is that of the servers behind fronts.
const heartbeat = 300 * time.Millisecond

// start serves a front and returns it. Its URL has no prefix.
func (f front) start() *httptest.Server {
	f.t.Helper()
	s := servertest.New(f.t, servertest.Options{Edit: func(c *configs.Config) {
		c.Server.TrustedProxies = []string{"127.0.0.1/32"}
		c.Stream.Heartbeat = heartbeat
		c.Store.Kind = "memory"
		c.Skills = append(c.Skills, configs.Skill{ID: "probe", Kind: "mock"})
		if f.edit != nil {
			f.edit(c)
		}
	}})
	if f.backend != nil {
		f.backend(s.URL)
	}
	to, err := url.Parse(s.URL)
	if err != nil {
		f.t.Fatal(err)
	}
	var h http.Handler = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			// An answer that begins before the last read of the request's body closes that
			// body, and net/http's transport then gives up the whole exchange.
			whole, _ := io.ReadAll(r.In.Body) // what is missing, the server refuses
			r.Out.Body = io.NopCloser(bytes.NewReader(whole))
			r.SetXForwarded()
			if f.prefix != "" {
				r.Out.Header.Set("X-Forwarded-Prefix", f.prefix)
			}
			if f.forward != nil {
				f.forward(r.Out)
			}
		},
		ModifyResponse: f.respond,
	}
	if f.prefix != "" {
		h = http.StripPrefix(f.prefix, h)
	}
	if f.wrap != nil {
		h = f.wrap(h)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = quiet
	if f.secure {
		if f.cert != nil {
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{*f.cert}}
		}
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	f.t.Cleanup(srv.Close)
	return srv
}

// examine runs the doctor.
func examine(t testing.TB, o doctor.Options) *doctor.Report {
	t.Helper()
	r, err := doctor.Run(t.Context(), doctor.Quick(o))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// of returns the findings of a check.
func of(r *doctor.Report, check string) []doctor.Finding {
	var list []doctor.Finding
	for _, f := range r.Findings {
		if f.Check == check {
			list = append(list, f)
		}
	}
	return list
}

// expect holds a report to what should be wrong: check → a part of the text, with its
// severity before it ("fail the text", "warn the text"). Nothing else may be wrong.
func expect(t testing.TB, r *doctor.Report, want map[string]string) {
	t.Helper()
	for check, text := range want {
		severity, part, _ := strings.Cut(text, " ")
		hit := false
		for _, f := range of(r, check) {
			hit = hit || string(f.Severity) == severity && strings.Contains(f.Text, part)
		}
		if !hit {
			t.Errorf("%s: got %+v, want %s with %q", check, of(r, check), severity, part)
		}
	}
	for _, f := range r.Findings {
		if _, expected := want[f.Check]; !expected && f.Severity != doctor.OK && f.Severity != doctor.Skipped {
			t.Errorf("%s: got %s %q, want nothing wrong", f.Check, f.Severity, f.Text)
		}
	}
}

// rewriteCard replaces a text in every card that passes.
func rewriteCard(old, with string) func(*http.Response) error {
	return func(r *http.Response) error {
		if !strings.Contains(r.Request.URL.Path, "/.well-known/agent") {
			return nil
		}
		return replaceBody(r, func(s string) string { return strings.ReplaceAll(s, old, with) })
	}
}
