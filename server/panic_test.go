package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/configs"
)

// TestObserve_Panic: a handler that panics is answered with 500 in JSON, once it is
// in the log with its stack, and nothing of it reaches the client.
func TestObserve_Panic(t *testing.T) {
	var log bytes.Buffer
	a := &App{cfg: configs.Default(), log: zerolog.New(&log)}
	srv := httptest.NewServer(a.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			w.WriteHeader(http.StatusAccepted)
		}
		panic("the secret")
	})))
	defer srv.Close()
	for _, tc := range []struct {
		method, path string
		status       int
	}{{"POST", "/", 500}, {"GET", "/", 500}, {"GET", "/late", 202}} {
		log.Reset()
		req, err := http.NewRequestWithContext(t.Context(), tc.method, srv.URL+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tc.status {
			t.Errorf("%s %s: got HTTP %d, want %d", tc.method, tc.path, res.StatusCode, tc.status)
		}
		if tc.status == 500 {
			var m struct {
				JSONRPC, Detail string
				Error           struct{ Code int }
			}
			if err := json.Unmarshal(body.Bytes(), &m); err != nil || m.Detail != "internal error" {
				t.Errorf("%s: got %s (%v), want JSON with a detail", tc.method, &body, err)
			}
			if tc.method == "POST" && (m.JSONRPC != "2.0" || m.Error.Code != -32603) {
				t.Errorf("got %s, want a JSON-RPC error", &body)
			}
		}
		if strings.Contains(body.String(), "secret") {
			t.Errorf("the panic reached the client: %s", &body)
		}
		if s := log.String(); !strings.Contains(s, "the secret") || !strings.Contains(s, `"stack"`) || strings.Count(s, `"message":"request"`) != 1 {
			t.Errorf("got log %s, want the panic with its stack and one line of the request", s)
		}
	}
}

// TestObserve_Abort: a handler that cuts its connection is not answered.
func TestObserve_Abort(t *testing.T) {
	a := &App{cfg: configs.Default(), log: zerolog.Nop()}
	srv := httptest.NewServer(a.observe(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err == nil {
		_ = res.Body.Close()
		t.Errorf("got HTTP %d, want a cut connection", res.StatusCode)
	}
}
