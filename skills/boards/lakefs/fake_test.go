package lakefs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testAccessKey = "AKIATESTACCESSKEY"
	testSecretKey = "very-secret-value"
)

// fakeCommit is a commit with the whole content of the branch.
type fakeCommit struct {
	id    string
	at    time.Time
	files map[string]string
}

// fake answers like a lakeFS server with the repository "tasks". Its pages are
// small, so that every list has several.
type fake struct {
	*httptest.Server
	commits []fakeCommit // oldest first; the branch is at the last

	mu       sync.Mutex
	requests []string // guarded by mu
	changed  int      // answers with content; guarded by mu
}

func newFake(t testing.TB, commits ...fakeCommit) *fake {
	f := &fake{commits: commits}
	mux := http.NewServeMux()
	const repo = "GET /api/v1/repositories/{repo}/refs/{ref}/"
	mux.HandleFunc(repo+"objects", f.object)
	mux.HandleFunc(repo+"objects/ls", f.list)
	mux.HandleFunc(repo+"commits", f.log)
	mux.HandleFunc(repo+"diff/{other}", f.diff)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests = append(f.requests, r.URL.RequestURI())
		f.mu.Unlock()
		switch user, password, _ := r.BasicAuth(); {
		case user != testAccessKey || password != testSecretKey:
			f.fail(w, http.StatusUnauthorized, "error authenticating request")
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"message": message})
}

// at returns the content at a ref, or answers that there is none.
func (f *fake) at(w http.ResponseWriter, r *http.Request, ref string) (map[string]string, bool) {
	if r.PathValue("repo") != "tasks" {
		f.fail(w, http.StatusNotFound, "repository not found")
		return nil, false
	}
	if ref == "main" {
		return f.commits[len(f.commits)-1].files, true
	}
	for _, c := range f.commits {
		if c.id == ref {
			return c.files, true
		}
	}
	f.fail(w, http.StatusNotFound, "ref not found")
	return nil, false
}

func checksum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:16])
}

func (f *fake) object(w http.ResponseWriter, r *http.Request) {
	files, ok := f.at(w, r, r.PathValue("ref"))
	if !ok {
		return
	}
	content, ok := files[r.URL.Query().Get("path")]
	if !ok {
		f.fail(w, http.StatusNotFound, "not found")
		return
	}
	etag := `"` + checksum(content) + `"`
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f.mu.Lock()
	f.changed++
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write([]byte(content))
}

// answerPage answers with the results after the client's offset, two at a time.
func answerPage[T any](w http.ResponseWriter, r *http.Request, all []T, offset func(T) string) {
	after := r.URL.Query().Get("after")
	start := 0
	for i, v := range all {
		if after != "" && offset(v) == after {
			start = i + 1
		}
	}
	rest := all[start:]
	n := min(2, len(rest))
	next := ""
	if n < len(rest) {
		next = offset(rest[n-1])
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"pagination": map[string]any{"has_more": next != "", "max_per_page": 1000, "next_offset": next, "results": n},
		"results":    append([]T{}, rest[:n]...),
	})
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	files, ok := f.at(w, r, r.PathValue("ref"))
	if !ok {
		return
	}
	prefix := r.URL.Query().Get("prefix")
	var all []map[string]any
	for _, path := range slices.Sorted(maps.Keys(files)) {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		if folder, _, deeper := strings.Cut(rest, "/"); deeper {
			name := prefix + folder + "/"
			if len(all) == 0 || all[len(all)-1]["path"] != name {
				all = append(all, map[string]any{"checksum": "", "mtime": 0, "path": name, "path_type": "common_prefix", "physical_address": ""})
			}
			continue
		}
		all = append(all, map[string]any{"checksum": checksum(files[path]), "path": path, "path_type": "object", "size_bytes": len(files[path])})
	}
	answerPage(w, r, all, func(m map[string]any) string { return m["path"].(string) })
}

func (f *fake) log(w http.ResponseWriter, r *http.Request) {
	if _, ok := f.at(w, r, r.PathValue("ref")); !ok {
		return
	}
	since, err := time.Parse(time.RFC3339, r.URL.Query().Get("since"))
	if err != nil {
		f.fail(w, http.StatusBadRequest, "bad since")
		return
	}
	all := []map[string]any{}
	for i, c := range slices.Backward(f.commits) {
		if c.at.Before(since) {
			break
		}
		parents := []string{}
		if i > 0 {
			parents = append(parents, f.commits[i-1].id)
		}
		all = append(all, map[string]any{"id": c.id, "creation_date": c.at.Unix(), "parents": parents, "message": "commit " + strconv.Itoa(i)})
	}
	answerPage(w, r, all, func(m map[string]any) string { return m["id"].(string) })
}

func (f *fake) diff(w http.ResponseWriter, r *http.Request) {
	before, ok := f.at(w, r, r.PathValue("ref"))
	if !ok {
		return
	}
	after, ok := f.at(w, r, r.PathValue("other"))
	if !ok {
		return
	}
	if r.URL.Query().Get("type") != "two_dot" {
		f.fail(w, http.StatusBadRequest, "type")
		return
	}
	types := map[string]string{}
	for path, content := range after {
		old, was := before[path]
		switch {
		case !was:
			types[path] = "added"
		case old != content:
			types[path] = "changed"
		}
	}
	for path := range before {
		if _, is := after[path]; !is {
			types[path] = "removed"
		}
	}
	all := []map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(types)) {
		if strings.HasPrefix(path, r.URL.Query().Get("prefix")) {
			all = append(all, map[string]any{"path": path, "path_type": "object", "size_bytes": 1, "type": types[path]})
		}
	}
	answerPage(w, r, all, func(m map[string]any) string { return m["path"].(string) })
}

// asked returns the requests made since the last call.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	requests := f.requests
	f.requests = nil
	return requests
}
