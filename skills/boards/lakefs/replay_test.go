package lakefs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// exchange is one recorded request with its answer.
type exchange struct {
	Req     string            `json:"req"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// recorded serves the exchanges of a real server: a request gets the answer of
// the exchange with the same path and at least the same query.
func recorded(t *testing.T) *httptest.Server {
	t.Helper()
	file, err := os.ReadFile("testdata/rest-1.84.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		find := func(match func(exchange) bool) *exchange {
			for i := range all {
				if match(all[i]) {
					return &all[i]
				}
			}
			t.Errorf("no recorded answer for %s %s", r.Method, r.URL)
			return &exchange{Status: http.StatusTeapot}
		}
		var e *exchange
		switch user, password, _ := r.BasicAuth(); {
		case user != testAccessKey || password != testSecretKey:
			e = find(func(e exchange) bool { return e.Status == http.StatusUnauthorized })
		case r.Header.Get("If-None-Match") != "":
			e = find(func(e exchange) bool { return e.Status == http.StatusNotModified })
		default:
			e = find(func(e exchange) bool { return matches(r, e) })
		}
		for name, value := range e.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(e.Status)
		var text string
		if json.Unmarshal(e.Body, &text) == nil {
			w.Write([]byte(text))
		} else {
			w.Write(e.Body)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func matches(r *http.Request, e exchange) bool {
	u, err := url.Parse(strings.TrimPrefix(e.Req, "GET "))
	if err != nil || u.Path != r.URL.Path {
		return false
	}
	for name, values := range u.Query() {
		if name != "amount" && name != "limit" && r.URL.Query().Get(name) != values[0] {
			return false
		}
	}
	return true
}

func TestClient_recorded(t *testing.T) {
	srv := recorded(t)
	c := open(t, Options{Endpoint: srv.URL}).client
	ctx := t.Context()

	const board = "{\"id\":\"b-1\",\"title\":\"Roadmap\",\"workspace_id\":\"w-1\",\"lists\":[\"l-1\"]}\n"
	for _, what := range []string{"read", "not modified"} {
		data, err := c.object(ctx, objectKey{"main", "boards/b-1/board.json"}, "", false)
		if err != nil || string(data) != board {
			t.Errorf("%s: got %q, %v, want %q", what, data, err, board)
		}
	}
	if _, err := c.object(ctx, objectKey{"main", "boards/nope/board.json"}, "", false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown object: got %v, want fs.ErrNotExist", err)
	}

	entries, err := c.list(ctx, "main", "boards/", 10)
	if want := []entry{{Path: "boards/b-1/", PathType: "common_prefix"}}; err != nil || !cmp.Equal(entries, want) {
		t.Errorf("list folders: got %v, %v, want %v", entries, err, want)
	}

	since := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	commits, cut, err := c.commits(ctx, "main", since, 100)
	if err != nil || cut || len(commits) != 1 {
		t.Fatalf("commits: got %v, %t, %v, want one", commits, cut, err)
	}
	want := commit{
		ID:       "3e9570a7cfe5ef74047617d239516ff0db57167985cf6bc2ec224adf0f0b106a",
		Parents:  []string{"c11278027dadd727fc711684ce50eb95ce97bebb782a90815db06c3afbfc7c22"},
		UnixTime: 1795737600,
	}
	if diff := cmp.Diff(commits[0], want); diff != "" {
		t.Errorf("commit, got - want +:\n%s", diff)
	}

	changes, err := c.diff(ctx, "main~1", "main", "")
	if want := []change{{Path: "tasks/cards/c-1.json", PathType: "object", Type: "changed"}}; err != nil || !cmp.Equal(changes, want) {
		t.Errorf("diff: got %v, %v, want %v", changes, err, want)
	}
}

func TestClient_recordedErrors(t *testing.T) {
	srv := recorded(t)
	other := open(t, Options{Endpoint: srv.URL, Repository: "nope"}).client
	if _, err := other.object(t.Context(), objectKey{"main", "x"}, "", false); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown repository: got %v, want an error that is not about the object", err)
	}
	stranger := open(t, Options{Endpoint: srv.URL, AccessKey: "who", SecretKey: "what"}).client
	if _, err := stranger.object(t.Context(), objectKey{"main", "x"}, "", false); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("bad credentials: got %v, want an error that is not about the object", err)
	}
}
