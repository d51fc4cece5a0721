// Package servertest runs a whole server in a test: real routes, real store, on a
// free loopback port.
package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server"
)

// Server is a running server.
type Server struct {
	t   testing.TB
	App *server.App
	// URL has no slash at the end.
	URL string
	// Dir is the data directory.
	Dir  string
	stop context.CancelFunc
	done chan error
}

// Options of New.
type Options struct {
	// YAML is the configuration; "" is the default one.
	YAML string
	// Dir is the data directory; "" makes a new one for the test.
	Dir string
	// Log receives the server's log; nil drops it.
	Log io.Writer
	// Edit changes the configuration, if not nil.
	Edit func(*configs.Config)
}

// New starts a server and stops it at the end of the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	cfg, err := configs.Load(configs.Options{Data: []byte(o.YAML), Path: "test.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Server.Addr = "127.0.0.1:0"
	cfg.Server.ShutdownTimeout = time.Second // a test that leaves work running need not wait for it
	if o.Edit != nil {
		o.Edit(cfg)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	log := zerolog.Nop()
	if o.Log != nil {
		log = zerolog.New(o.Log)
	}
	ctx, stop := context.WithCancel(context.Background())
	app, err := server.New(ctx, server.Options{Config: cfg, DataDir: o.Dir, Log: log, Version: "test"})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	s := &Server{t: t, App: app, URL: "http://" + app.Addr(), Dir: o.Dir, stop: stop, done: make(chan error, 1)}
	go func() { s.done <- app.Run(ctx) }()
	t.Cleanup(s.Stop)
	return s
}

// At returns a client of a server that runs in another process, which has to be
// stopped by other means.
func At(t testing.TB, url string) *Server { return &Server{t: t, URL: url} }

// Stop stops the server and waits for it. It may be called more than once.
func (s *Server) Stop() {
	if s.stop == nil {
		return
	}
	s.stop()
	s.stop = nil
	if err := <-s.done; err != nil {
		s.t.Errorf("stop server: %v", err)
	}
}

// Answer is an HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a request to path; headers are "Name: value".
func (s *Server) Do(method, path, body string, headers ...string) Answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read to the end below
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: b}
}

// RPC posts a body to the RPC endpoint.
func (s *Server) RPC(body string, headers ...string) Answer {
	s.t.Helper()
	return s.Do(http.MethodPost, "/api/a2a/tasks", body, headers...)
}

// Get returns the value at a path of member names and list indexes in the JSON
// body, such as "result", "task", "history", 0; nil if there is none. Numbers are
// json.Number.
func (a Answer) Get(path ...any) any {
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p < 0 {
				p += len(l)
			}
			if p < 0 || p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}
