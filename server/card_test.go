package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
)

// TestCard_Mounts: clients look for the card relative to whatever URL they have.
func TestCard_Mounts(t *testing.T) {
	c := probe(t)
	whole := c.Do("GET", cardPath, "")
	for _, base := range []string{"", "/api", "/api/a2a", "/api/a2a/tasks", "/rest", "/rest/v1"} {
		for _, name := range []string{"agent-card.json", "agent.json"} {
			path := base + "/.well-known/" + name
			get, head := c.Do("GET", path, ""), c.Do("HEAD", path, "")
			if get.Status != 200 || head.Status != 200 || get.Header.Get("Location") != "" {
				t.Errorf("%s: got GET %d, HEAD %d", path, get.Status, head.Status)
			}
			if string(get.Body) != string(whole.Body) {
				t.Errorf("%s: not the card of the root", path)
			}
			if len(head.Body) != 0 || head.Header.Get("ETag") != get.Header.Get("ETag") {
				t.Errorf("%s: HEAD has %d bytes and ETag %s, want none and %s", path, len(head.Body), head.Header.Get("ETag"), get.Header.Get("ETag"))
			}
		}
	}
	for _, name := range []string{
		".well-known/agent-card.json", ".well-known/agent.json", "rest/.well-known/agent-card.json", "rest/v1/.well-known/agent-card.json",
	} {
		a := c.Do("GET", "/skills/list_board/"+name, "")
		want(t, a, "list_board", "skills", 0, "id")
		want(t, a, nil, "skills", 1)
		for _, u := range urls(a) {
			if !strings.HasPrefix(u, c.URL+"/skills/list_board") {
				t.Errorf("the card of a skill has the URL %s", u)
			}
		}
		if a := c.Do("GET", "/skills/nope/.well-known/"+name, ""); a.Status != http.StatusNotFound || a.Get("detail") == nil {
			t.Errorf("card of an unknown skill: got HTTP %d %s, want 404", a.Status, a.Body)
		}
	}
}

// TestCard_Endpoints: whatever card a client reads, the URL in it works.
func TestCard_Endpoints(t *testing.T) {
	c := probe(t)
	for _, path := range []string{cardPath, "/.well-known/agent.json", "/skills/probe/.well-known/agent-card.json"} {
		for _, version := range []string{"", "0.3", "1.0"} {
			for _, u := range rpcURLs(c.Do("GET", path, "", "A2A-Version: "+version)) {
				rest, ok := strings.CutPrefix(u, c.URL)
				if !ok {
					t.Errorf("%s for %q: URL %s is not this server's %s", path, version, u, c.URL)
					continue
				}
				wantState(t, c.Do("POST", rest, call("message/send", message03(text03("@echo x"), "", "")), alice), "completed")
			}
		}
	}
}

func TestCard_Caching(t *testing.T) {
	c := probe(t)
	a := c.Do("GET", cardPath, "")
	etag := a.Header.Get("ETag")
	if etag == "" || a.Header.Get("Cache-Control") != "public, max-age=60" || !strings.Contains(a.Header.Get("Vary"), "A2A-Version") {
		t.Errorf("got ETag %q, Cache-Control %q, Vary %q", etag, a.Header.Get("Cache-Control"), a.Header.Get("Vary"))
	}
	for _, header := range []string{"If-None-Match: " + etag, "If-None-Match: W/" + etag, `If-None-Match: "x", ` + etag, "If-None-Match: *"} {
		for _, m := range []string{"GET", "HEAD"} {
			a := c.Do(m, cardPath, "", header)
			if a.Status != http.StatusNotModified || len(a.Body) != 0 || a.Header.Get("ETag") != etag {
				t.Errorf("%s with %s: got HTTP %d, %d bytes, ETag %s; want 304, none, %s", m, header, a.Status, len(a.Body), a.Header.Get("ETag"), etag)
			}
		}
	}
	if a := c.Do("GET", cardPath, "", `If-None-Match: "other"`); a.Status != 200 {
		t.Errorf("got HTTP %d for another ETag, want 200", a.Status)
	}
	if pure := c.Do("GET", cardPath, "", v10); pure.Header.Get("ETag") == etag {
		t.Errorf("two forms of the card have one ETag")
	}
	// The same configuration makes the same card, also in another process.
	same := probe(t, func(cfg *configs.Config) { cfg.Server.PublicURL = "https://agents.example.com" })
	other := probe(t, func(cfg *configs.Config) { cfg.Server.PublicURL = "https://agents.example.com" })
	if x, y := same.Do("GET", cardPath, "").Header.Get("ETag"), other.Do("GET", cardPath, "").Header.Get("ETag"); x != y {
		t.Errorf("got ETags %s and %s of equal cards", x, y)
	}
}

// TestCard_Default: the gateway's clients find both skills in the default card.
func TestCard_Default(t *testing.T) {
	s := plain(t)
	a := s.Do("GET", "/.well-known/agent.json", "")
	var ids []string
	for i := 0; a.Get("skills", i) != nil; i++ {
		ids = append(ids, a.Get("skills", i, "id").(string))
	}
	if got := strings.Join(ids, " "); !strings.Contains(got, "weekly_report") || !strings.Contains(got, "list_board") {
		t.Errorf("got skills %s", got)
	}
	want(t, a, "JSONRPC", "preferredTransport")
	want(t, a, true, "capabilities", "streaming")
	want(t, a, nil, "securitySchemes")
	want(t, a, s.URL+"/api/a2a/tasks", "url")
}
