package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

const cardPath = "/.well-known/agent-card.json"

// urls are all URLs of endpoints in a card.
func urls(a servertest.Answer) (list []string) {
	add := func(v any) {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	add(a.Get("url"))
	for _, name := range []string{"supportedInterfaces", "additionalInterfaces"} {
		for i := 0; a.Get(name, i) != nil; i++ {
			add(a.Get(name, i, "url"))
		}
	}
	return list
}

// rpcURLs are the URLs of JSON-RPC in a card.
func rpcURLs(a servertest.Answer) []string {
	return slices.DeleteFunc(urls(a), func(u string) bool { return strings.HasSuffix(u, "/rest") })
}

func wantURLs(t *testing.T, a servertest.Answer, prefix string) {
	t.Helper()
	list := urls(a)
	if len(list) == 0 {
		t.Errorf("card without URLs: %s", clip(a.Body))
	}
	for _, u := range list {
		if !strings.HasPrefix(u, prefix) {
			t.Errorf("got URL %s, want %s…", u, prefix)
		}
	}
}

func trusting(c *configs.Config) { c.Server.TrustedProxies = []string{"127.0.0.1"} }

// cardCases are about discovery and the URLs in cards.
func cardCases() []bugCase {
	return []bugCase{
		{"B-001", "scheme_behind_a_proxy", func(t *testing.T) {
			headers := []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: agents.example.com"}
			wantURLs(t, probe(t, trusting).Do("GET", cardPath, "", headers...), "https://agents.example.com/")
			c := probe(t)
			if a := c.Do("GET", cardPath, "", headers...); strings.Contains(string(a.Body), "agents.example.com") {
				t.Errorf("headers of a stranger were believed: %s", clip(a.Body))
			}
		}},
		{"B-002", "prefix_behind_a_proxy", func(t *testing.T) {
			c := probe(t, trusting)
			base := []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: agents.example.com"}
			for _, prefix := range []string{"X-Forwarded-Prefix: /agents/my", "X-Forwarded-Path: /agents/my"} {
				a := c.Do("GET", cardPath, "", append(slices.Clip(base), prefix)...)
				wantURLs(t, a, "https://agents.example.com/agents/my/")
			}
			for _, prefix := range []string{"//evil.example/x", "/../evil", "/a//evil", "https://evil.example/", "evil", "/a%0d%0aevil"} {
				a := c.Do("GET", cardPath, "", append(slices.Clip(base), "X-Forwarded-Prefix: "+prefix)...)
				if strings.Contains(string(a.Body), "evil") {
					t.Errorf("prefix %q is in the card: %s", prefix, clip(a.Body))
				}
			}
			fixed := probe(t, trusting, func(cfg *configs.Config) { cfg.Server.PublicURL = "https://fixed.example.com/base/" })
			wantURLs(t, fixed.Do("GET", cardPath, "", append(slices.Clip(base), "X-Forwarded-Prefix: /agents/my")...), "https://fixed.example.com/base/")
		}},
		{"B-004", "hostile_host", func(t *testing.T) {
			headers := []string{"Host: evil.example", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example;proto=https"}
			for name, edit := range map[string]func(*configs.Config){
				"public URL": func(cfg *configs.Config) { cfg.Server.PublicURL = "https://agents.example.com" },
				"no URL":     func(*configs.Config) {},
			} {
				a := probe(t, edit).Do("GET", cardPath, "", headers...)
				if a.Status != 200 || strings.Contains(string(a.Body), "evil.example") {
					t.Errorf("%s: got HTTP %d %s", name, a.Status, clip(a.Body))
				}
			}
			// What the answer depends on is named, for caches.
			vary := strings.ToLower(probe(t, trusting).Do("GET", cardPath, "").Header.Get("Vary"))
			for _, h := range []string{"a2a-version", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-prefix", "forwarded"} {
				if !strings.Contains(vary, h) {
					t.Errorf("got Vary %q, want %s in it", vary, h)
				}
			}
		}},
		{"B-005", "both_well_known_names", func(t *testing.T) {
			c := probe(t)
			card, old := c.Do("GET", cardPath, ""), c.Do("GET", "/.well-known/agent.json", "")
			for _, a := range []servertest.Answer{card, old} {
				if a.Status != 200 || a.Header.Get("Content-Type") != "application/json" {
					t.Errorf("got HTTP %d %s", a.Status, a.Header.Get("Content-Type"))
				}
			}
			if d := cmp.Diff(string(card.Body), string(old.Body)); d != "" {
				t.Errorf("the cards differ:\n%s", d)
			}
		}},
		{"B-008", "one_URL_for_all_methods", func(t *testing.T) {
			c := probe(t)
			a := c.Do("GET", cardPath, "")
			for _, u := range rpcURLs(a) {
				path := strings.TrimPrefix(u, c.URL)
				if path == u {
					t.Fatalf("URL %s is not on this server", u)
				}
				for _, m := range []string{"GetTask", "CancelTask", "tasks/get", "tasks/cancel"} {
					wantCode(t, c.Do("POST", path, call(m, `{"id":"nope"}`), alice), -32001)
				}
				for _, body := range []string{call("message/send", message03(text03("@echo x"), "", "")), call("SendMessage", message("@echo x", "", ""))} {
					if a := c.Do("POST", path, body, alice); taskID(a) == "" {
						t.Errorf("POST %s: %s", path, clip(a.Body))
					}
				}
			}
		}},
		{"B-010", "lists_are_never_null", func(t *testing.T) {
			c := probe(t, func(cfg *configs.Config) {
				p := skill(t, cfg, "probe")
				p.Tags, p.Examples, p.InputModes, p.OutputModes = []string{}, nil, nil, nil
			})
			for _, version := range []string{"", "0.3", "1.0"} {
				a := c.Do("GET", cardPath, "", "A2A-Version: "+version)
				// The name of the type, in a schema, is a string.
				if strings.Contains(strings.ReplaceAll(string(a.Body), `"null"`, ""), "null") {
					t.Errorf("card %q has a null: %s", version, clip(a.Body))
				}
				for _, name := range []string{"skills", "defaultInputModes", "defaultOutputModes"} {
					if _, ok := a.Get(name).([]any); !ok {
						t.Errorf("card %q: %s is %v, want a list", version, name, a.Get(name))
					}
				}
				for i := range a.Get("skills").([]any) {
					if _, ok := a.Get("skills", i, "tags").([]any); !ok {
						t.Errorf("card %q: tags of skill %d are %v, want a list", version, i, a.Get("skills", i, "tags"))
					}
				}
			}
		}},
		{"B-011", "required_members", func(t *testing.T) {
			c := probe(t, func(cfg *configs.Config) { skill(t, cfg, "probe").Description = "" })
			has := func(a servertest.Answer, version string, names ...string) {
				for _, name := range names {
					if v := a.Get(name); v == nil || v == "" {
						t.Errorf("card %q has no %s: %s", version, name, clip(a.Body))
					}
				}
			}
			for _, version := range []string{"", "0.3", "1.0"} {
				a := c.Do("GET", cardPath, "", "A2A-Version: "+version)
				has(a, version, "name", "description", "version", "capabilities", "skills", "defaultInputModes", "defaultOutputModes")
				for i := range a.Get("skills").([]any) {
					for _, name := range []string{"id", "name", "description", "tags"} {
						if v := a.Get("skills", i, name); v == nil || v == "" {
							t.Errorf("card %q: skill %d has no %s", version, i, name)
						}
					}
				}
				if version != "1.0" {
					has(a, version, "url", "protocolVersion", "preferredTransport")
				}
				if version != "0.3" {
					for _, name := range []string{"url", "protocolBinding", "protocolVersion"} {
						if v := a.Get("supportedInterfaces", 0, name); v == nil || v == "" {
							t.Errorf("card %q: the first interface has no %s", version, name)
						}
					}
				}
			}
		}},
		{"B-019", "preflight_of_browsers", func(t *testing.T) {
			const ui = "https://ui.example.com"
			c := probe(t, func(cfg *configs.Config) { cfg.Server.CORSOrigins = []string{ui} })
			ask := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type,a2a-version,a2a-extensions"}
			for _, path := range []string{"/", "/api/a2a/tasks", "/skills/probe", cardPath} {
				a := c.Do("OPTIONS", path, "", append(slices.Clip(ask), "Origin: "+ui)...)
				if a.Status != 200 && a.Status != 204 {
					t.Errorf("preflight of %s: got HTTP %d", path, a.Status)
				}
				if got := a.Header.Get("Access-Control-Allow-Origin"); got != ui {
					t.Errorf("preflight of %s: got origin %q, want %s", path, got, ui)
				}
				if got := a.Header.Get("Access-Control-Allow-Methods"); !strings.Contains(got, "POST") {
					t.Errorf("preflight of %s: got methods %q", path, got)
				}
				allowed := strings.ToLower(a.Header.Get("Access-Control-Allow-Headers"))
				for _, h := range []string{"authorization", "content-type", "a2a-version", "a2a-extensions"} {
					if !strings.Contains(allowed, h) {
						t.Errorf("preflight of %s: got headers %q, want %s in them", path, allowed, h)
					}
				}
				a = c.Do("OPTIONS", path, "", append(slices.Clip(ask), "Origin: https://evil.example")...)
				if got := a.Header.Get("Access-Control-Allow-Origin"); got != "" {
					t.Errorf("a foreign origin got %q", got)
				}
			}
			// Answers and refusals carry the headers as well.
			for _, a := range []servertest.Answer{
				c.get("none", "Origin: "+ui), c.RPC(call("GetTask", `{"id":"x"}`), "Origin: "+ui), c.Do("GET", cardPath, "", "Origin: "+ui),
				c.Do("GET", "/nowhere", "", "Origin: "+ui),
			} {
				if got := a.Header.Get("Access-Control-Allow-Origin"); got != ui {
					t.Errorf("HTTP %d: got origin %q, want %s", a.Status, got, ui)
				}
			}
		}},
		{"B-020", "card_without_a_key", func(t *testing.T) {
			c := probe(t)
			get, head := c.Do("GET", cardPath, ""), c.Do("HEAD", cardPath, "")
			if get.Status != 200 || head.Status != 200 || len(head.Body) != 0 {
				t.Errorf("got GET %d, HEAD %d with %d bytes; want 200, 200 and none", get.Status, head.Status, len(head.Body))
			}
			for _, h := range []string{"Content-Type", "Content-Length", "Etag", "Cache-Control", "Vary"} {
				if get.Header.Get(h) != head.Header.Get(h) || get.Header.Get(h) == "" {
					t.Errorf("%s: GET has %q, HEAD has %q", h, get.Header.Get(h), head.Header.Get(h))
				}
			}
			if a := c.RPC(call("tasks/get", `{"id":"x"}`)); a.Status != http.StatusUnauthorized {
				t.Errorf("got HTTP %d for a call without a key, want 401", a.Status)
			}
			for _, name := range []string{"securitySchemes", "security"} {
				if get.Get(name) == nil {
					t.Errorf("the card has no %s: %s", name, clip(get.Body))
				}
			}
			closed := probe(t, func(cfg *configs.Config) { cfg.Auth.ProtectCard = true })
			if a := closed.Do("GET", cardPath, ""); a.Status != http.StatusUnauthorized {
				t.Errorf("got HTTP %d for a protected card, want 401", a.Status)
			}
			a := closed.Do("GET", cardPath, "", alice)
			if cc := a.Header.Get("Cache-Control"); a.Status != 200 || !strings.Contains(cc, "private") {
				t.Errorf("got HTTP %d, Cache-Control %q; want 200 and private", a.Status, cc)
			}
		}},
	}
}
