package plain

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/server/binding"
)

func TestQuality(t *testing.T) {
	for _, c := range []struct {
		accept     string
		text, json float64
	}{
		{"", 0, 0},
		{"*/*", 1, 1},
		{"text/plain", 1, 0},
		{"TEXT/Plain; charset=utf-8 ; q=0.3, application/*;q=0.2", 0.3, 0.2},
		{"text/*;q=0.4, text/plain;q=0.1, */*;q=0.9", 0.1, 0.9},
		{"text/plain;q=x", 0, 0},
		{",,;", 0, 0},
	} {
		if text, json := quality(c.accept, "text", "plain"), quality(c.accept, "application", "json"); text != c.text || json != c.json {
			t.Errorf("%q: got %v and %v, want %v and %v", c.accept, text, json, c.text, c.json)
		}
	}
}

func TestKindOf(t *testing.T) {
	for ct, want := range map[string]body{
		"": bodyJSON, "application/json": bodyJSON, "application/a2a+json; charset=latin1": bodyJSON, "text/json": bodyJSON,
		"text/plain": bodyText, "text/markdown; charset=UTF-8": bodyText, "text/plain; charset=us-ascii": bodyText,
		"text/plain; charset=utf-16": bodyOther, "application/x-www-form-urlencoded": bodyForm, "image/png": bodyOther, ";": bodyOther,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		if ct != "" {
			r.Header.Set("Content-Type", ct)
		}
		if got := kindOf(r); got != want {
			t.Errorf("%q: got %v, want %v", ct, got, want)
		}
	}
}

// TestHandler_plainJSON: whatever is found out, the next one reads all of the body.
func TestHandler_plainJSON(t *testing.T) {
	h := &Handler{b: binding.New(binding.Options{MaxBody: 16})}
	for text, want := range map[string]bool{`{"a":1}`: true, `{"jsonrpc":1}`: false, `[]`: false, strings.Repeat("x", 16): false, strings.Repeat("x", 40): false} {
		for _, length := range []int64{int64(len(text)), -1} {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
			r.ContentLength = length
			if got := h.plainJSON(r); got != want {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
			var b strings.Builder
			if _, err := io.Copy(&b, r.Body); err != nil || b.String() != text {
				t.Errorf("%s: read %q, %v afterwards", text, b.String(), err)
			}
		}
	}
}
