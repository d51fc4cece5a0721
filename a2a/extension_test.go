package a2a_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

func TestExtensions(t *testing.T) {
	x := a2a.Extensions{{URI: "https://ex/a/v1"}, {URI: "https://ex/b/v2", Required: true}, {URI: "https://ex/c/v1", Required: true}}
	for _, c := range []struct {
		asked, active []string
		missing       string
	}{
		{nil, nil, "https://ex/b/v2, https://ex/c/v1"},
		{[]string{"https://ex/a/v1"}, []string{"https://ex/a/v1"}, "https://ex/b/v2, https://ex/c/v1"},
		{[]string{"https://ex/c/v1", "x:y", "https://ex/b/v2", "https://ex/b/v2"}, []string{"https://ex/b/v2", "https://ex/c/v1"}, ""},
		{[]string{"https://ex/b/v1", "https://ex/c", "HTTPS://EX/C/V1"}, nil, "https://ex/b/v2, https://ex/c/v1"},
	} {
		active := x.Active(c.asked)
		if !slices.Equal(active, c.active) {
			t.Errorf("%v: got active %v, want %v", c.asked, active, c.active)
		}
		err := x.Check(active)
		if c.missing == "" {
			if err != nil {
				t.Errorf("%v: %v", c.asked, err)
			}
			continue
		}
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeExtensionRequired || e.Details["extensions"] != c.missing {
			t.Errorf("%v: got %v, want %s missing", c.asked, err, c.missing)
		}
	}
	if err := (a2a.Extensions{}).Check(nil); err != nil {
		t.Errorf("no extensions: %v", err)
	}
}

// TestExtensions_Documented: the URIs in the documentation are those of the code, and
// all of them are of one form.
func TestExtensions_Documented(t *testing.T) {
	own := regexp.MustCompile(`https://github\.com/skillyard/skillyard/ext\w*/[a-z0-9/-]+`)
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../docs/extensions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, page := range append(pages, deeper...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, uri := range own.FindAllString(string(text), -1) {
			seen[uri] = true
		}
	}
	for _, uri := range []string{a2a.ExtSkillSelection, a2a.ExtEventSequence, a2a.ExtSkillSchema, a2a.ExtIdempotencyKey} {
		if !seen[uri] {
			t.Errorf("%s is not documented", uri)
		}
		delete(seen, uri)
	}
	for uri := range seen {
		t.Errorf("%s is documented and is no extension", uri)
	}
}
