package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// openProbe opens a probe and reads its first event, so that it is known to run.
func openProbe(t *testing.T, s *servertest.Server, query string) (*bufio.Scanner, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/probe/stream?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() }) //nolint:errcheck // the test is over
	lines := bufio.NewScanner(res.Body)
	if res.StatusCode != http.StatusOK || !lines.Scan() || lines.Text() != "event: probe" {
		t.Fatalf("got HTTP %d and %q, want the first event", res.StatusCode, lines.Text())
	}
	return lines, cancel
}

func TestProbe_Stream(t *testing.T) {
	s := servertest.New(t, servertest.Options{Edit: func(c *configs.Config) {
		c.Auth.Keys = []configs.Key{{Name: "a", Key: configs.Secret("k")}} // it needs none all the same
	}})
	t.Run("events", func(t *testing.T) {
		a := s.Do("GET", "/probe/stream?for=250ms&every=100ms", "")
		if a.Status != 200 || a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("X-Accel-Buffering") != "no" || a.Header.Get("Cache-Control") != "no-cache, no-transform" {
			t.Fatalf("got HTTP %d %v, want the headers of a stream", a.Status, a.Header)
		}
		events := strings.Split(strings.TrimSuffix(string(a.Body), "\n\n"), "\n\n")
		if len(events) != 4 {
			t.Fatalf("got %q, want one at once, two beats and the end", events)
		}
		before := int64(-1)
		for i, text := range events {
			var e struct {
				At        int64 `json:"at_ms"`
				Heartbeat int64 `json:"heartbeat_ms"`
				Last      bool  `json:"last"`
			}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "event: probe\ndata: ")), &e); err != nil {
				t.Fatalf("event %q: %v", text, err)
			}
			if e.Heartbeat != 15000 || e.Last != (i == len(events)-1) || e.At <= before {
				t.Errorf("event %d is %+v after %d", i, e, before)
			}
			before = e.At
		}
	})
	for _, query := range []string{"for=1h", "for=1ms", "every=2s&for=1s", "every=1ms", "for=soon", "for=-1s"} {
		t.Run("refuses "+query, func(t *testing.T) {
			if a := s.Do("GET", "/probe/stream?"+query, ""); a.Status != 400 || !strings.Contains(string(a.Body), "durations") {
				t.Errorf("got HTTP %d %s, want 400", a.Status, a.Body)
			}
		})
	}
	t.Run("other methods", func(t *testing.T) {
		if a := s.Do("POST", "/probe/stream", ""); a.Status != 405 || a.Header.Get("Allow") != "GET" {
			t.Errorf("got HTTP %d, Allow %q", a.Status, a.Header.Get("Allow"))
		}
	})
}

func TestProbe_Bounds(t *testing.T) {
	s := servertest.New(t, servertest.Options{})
	cancels := make([]context.CancelFunc, 8)
	for i := range cancels {
		_, cancels[i] = openProbe(t, s, "for=1m&every=1m")
	}
	if a := s.Do("GET", "/probe/stream", ""); a.Status != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("got HTTP %d, want 503 for the ninth", a.Status)
	}
	// A client that leaves gives its place back, though the server is told of it later.
	cancels[0]()
	deadline := time.After(10 * time.Second)
	for {
		if a := s.Do("GET", "/probe/stream?for=100ms&every=100ms", ""); a.Status == 200 {
			break
		}
		select {
		case <-deadline:
			t.Fatal("the place of a client that left is still taken")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestProbe_Stop: a stop does not wait for probes.
func TestProbe_Stop(t *testing.T) {
	s := servertest.New(t, servertest.Options{Edit: func(c *configs.Config) { c.Server.ShutdownTimeout = 30 * time.Second }})
	lines, _ := openProbe(t, s, "for=1m&every=1m")
	began := time.Now()
	s.Stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"last":true`) {
			t.Error("got the last event of a stream that was cut off")
		}
	}
}

func TestProbe_Off(t *testing.T) {
	for name, edit := range map[string]func(*configs.Config){
		"no probe":   func(c *configs.Config) { c.Stream.Probe = false },
		"no streams": func(c *configs.Config) { c.Stream.Enabled = false },
	} {
		t.Run(name, func(t *testing.T) {
			s := servertest.New(t, servertest.Options{Edit: edit})
			if a := s.Do("GET", "/probe/stream", ""); a.Status != 404 {
				t.Errorf("got HTTP %d, want 404", a.Status)
			}
		})
	}
}
