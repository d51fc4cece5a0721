package doctor_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
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
	// The second path is a mount of the server as well.
	for _, path := range []string{"/my", "/api"} {
		t.Run("under "+path+", with TLS and keys", func(t *testing.T) { fineUnder(t, path) })
	}
}

func fineUnder(t *testing.T, path string) {
	srv := front{t: t, prefix: path, secure: true, edit: withKey}.start()
	r := examine(t, doctor.Options{URL: srv.URL + path, Token: "secret", Roots: roots(srv)})
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
	for _, check := range []string{"stream", "silence"} {
		if f := of(r, check); f[0].Severity != doctor.OK {
			t.Errorf("%s: got %+v, want ok", check, f)
		}
	}
}

func withKey(c *configs.Config) {
	c.Auth.Keys = []configs.Key{{Name: "a", Key: configs.Secret("secret")}}
}

// fault is one that is put in the way, and what is to be said of it.
type fault struct {
	name  string
	front front
	path  string
	o     doctor.Options
	want  map[string]string
	// fix is a line that must be among the advice for nginx.
	fix string
	// verdict is wanted; "" is fault if something fails, else ok.
	verdict doctor.Verdict
}

// TestDoctor_Faults puts one fault at a time into the way; the doctor names that fault
// and no other.
func TestDoctor_Faults(t *testing.T) {
	// Those that are far from streams do without the time that looking at streams takes.
	brief := slices.Concat(cardFaults(), callFaults())
	for i := range brief {
		brief[i].front = brief[i].front.withoutProbe()
	}
	cases := slices.Concat(urlFaults(), brief, streamFaults())
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
			if c.verdict != "" {
				wantVerdict = c.verdict
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
