package agentcard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

func TestPick(t *testing.T) {
	const card, old = "/.well-known/agent-card.json", "/.well-known/agent.json"
	cases := []struct {
		version, path string
		mode, want    Variant
	}{
		{"", card, Hybrid, Hybrid},
		{"", card, "", Hybrid},
		{"", card, V1, V1},
		{"1.0", card, Hybrid, V1},
		{"1.0.1", card, Hybrid, V1},
		{"1.7", card, Hybrid, V1},
		{"0.3", card, V1, V03},
		{"0.3.0", card, Hybrid, V03},
		{"junk", card, Hybrid, Hybrid},
		{"10.0", card, V1, V1},
		{"", old, Hybrid, Hybrid},
		{"", old, V1, V03},
		{"1.0", old, Hybrid, Hybrid},
		{"1.0", old, V1, V03},
		{"0.3", old, Hybrid, V03},
	}
	for _, c := range cases {
		if got := Pick(c.version, c.path, c.mode); got != c.want {
			t.Errorf("Pick(%q, %q, %q): got %s, want %s", c.version, c.path, c.mode, got, c.want)
		}
	}
}

// get asks a server for a card over a real connection and returns the answer.
type client struct {
	t    *testing.T
	base string
}

func serve(t *testing.T, h http.Handler) client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return client{t, srv.URL}
}

func (c client) do(method, path string, header ...string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.NewRequest(method, c.base+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to the end
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		c.t.Fatal(err)
	}
	return resp, b.String()
}

// urls returns every endpoint URL of a card.
func urls(t *testing.T, body string) []string {
	t.Helper()
	var c struct {
		URL                  string
		AdditionalInterfaces []struct{ URL string }
		SupportedInterfaces  []struct{ URL string }
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var list []string
	if c.URL != "" {
		list = append(list, c.URL)
	}
	for _, i := range c.AdditionalInterfaces {
		list = append(list, i.URL)
	}
	for _, i := range c.SupportedInterfaces {
		list = append(list, i.URL)
	}
	if len(list) == 0 {
		t.Fatalf("no URL in %s", body)
	}
	return list
}

func wantURLs(t *testing.T, body, want string) {
	t.Helper()
	for _, u := range urls(t, body) {
		if u != want {
			t.Errorf("got URL %s, want %s", u, want)
		}
	}
}

func TestB005_both_names(t *testing.T) {
	c := serve(t, newServer(t, full(t), Resolver{PublicURL: public}))
	var bodies []string
	for _, mount := range []string{"", "/api", "/api/a2a", "/api/a2a/tasks"} {
		for _, name := range []string{"agent-card.json", "agent.json"} {
			resp, body := c.do("GET", mount+"/.well-known/"+name)
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s%s: got %s %s", mount, name, resp.Status, resp.Header.Get("Content-Type"))
			}
			bodies = append(bodies, body)
		}
	}
	if n := len(slices.Compact(bodies)); n != 1 {
		t.Errorf("got %d different cards, want one", n)
	}
}

func TestB020_public_card_declares_security(t *testing.T) {
	c := serve(t, newServer(t, full(t), Resolver{PublicURL: public}))
	get, body := c.do("GET", cardPath)
	head, empty := c.do("HEAD", cardPath)
	if get.StatusCode != 200 || head.StatusCode != 200 || empty != "" {
		t.Errorf("got GET %s, HEAD %s with %q", get.Status, head.Status, empty)
	}
	for _, h := range []string{"Content-Type", "Content-Length", "ETag", "Cache-Control", "Vary", "Last-Modified"} {
		if g, h2 := get.Header.Get(h), head.Header.Get(h); g == "" || g != h2 {
			t.Errorf("%s: GET has %q, HEAD %q", h, g, h2)
		}
	}
	for _, want := range []string{`"securitySchemes"`, `"security":[{"apiKey":[]},{"bearer":[]}]`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	_, body = c.do("GET", cardPath, "A2A-Version", "1.0")
	if !strings.Contains(body, `"securityRequirements":[{"schemes":{"apiKey":{"list":[]}}}`) {
		t.Errorf("no requirements in %s", body)
	}
}

func TestServer_Caching(t *testing.T) {
	c := serve(t, newServer(t, full(t), Resolver{PublicURL: public}))
	tags := map[string]string{}
	for _, v := range []string{"", "0.3", "1.0"} {
		resp, _ := c.do("GET", cardPath, "A2A-Version", v)
		etag := resp.Header.Get("ETag")
		if len(etag) < 10 || etag[0] != '"' || tags[etag] != "" {
			t.Errorf("version %q: ETag %s is weak or that of version %q", v, etag, tags[etag])
		}
		tags[etag] = "x" + v
		for _, match := range []string{etag, `"other", ` + etag, "W/" + etag, "*"} {
			again, body := c.do("GET", cardPath, "A2A-Version", v, "If-None-Match", match)
			if again.StatusCode != 304 || body != "" || again.Header.Get("ETag") != etag || again.Header.Get("Cache-Control") == "" || again.Header.Get("Vary") == "" {
				t.Errorf("If-None-Match %s: got %s %q %v", match, again.Status, body, again.Header)
			}
		}
		other, _ := c.do("GET", cardPath, "A2A-Version", v, "If-None-Match", `"other"`)
		if other.StatusCode != 200 {
			t.Errorf("another tag: got %s", other.Status)
		}
	}
	resp, _ := c.do("GET", cardPath, "If-Modified-Since", "Mon, 30 Nov 2026 13:00:00 GMT")
	if resp.StatusCode != 304 {
		t.Errorf("If-Modified-Since: got %s", resp.Status)
	}
	if got, want := resp.Header.Get("Cache-Control"), "public, max-age=60"; got != want {
		t.Errorf("got Cache-Control %q, want %q", got, want)
	}
	byQuery, _ := c.do("GET", cardPath+"?A2A-Version=1.0")
	byHeader, _ := c.do("GET", cardPath, "A2A-Version", "1.0")
	if byQuery.Header.Get("ETag") != byHeader.Header.Get("ETag") {
		t.Error("the version as a query parameter gives another card")
	}

	o := full(t)
	o.Private = true
	o.Caller = func(*http.Request) a2a.Caller { return a2a.Caller{Name: "alice"} }
	private := serve(t, newServer(t, o, Resolver{PublicURL: public}))
	resp, _ = private.do("GET", cardPath)
	if got := resp.Header.Get("Cache-Control") + "|" + resp.Header.Get("Vary"); got != "private, max-age=60|A2A-Version, Authorization, X-API-Key" {
		t.Errorf("private: got %q", got)
	}
}

func TestServer_focused_card(t *testing.T) {
	c := serve(t, newServer(t, full(t), Resolver{PublicURL: public}))
	for _, name := range []string{"agent-card.json", "agent.json"} {
		_, body := c.do("GET", "/skills/list_board/.well-known/"+name)
		wantURLs(t, body, public+"/skills/list_board")
		if !strings.Contains(body, `"name":"list_board"`) || strings.Contains(body, "weekly_report") {
			t.Errorf("got %s", body)
		}
	}
	resp, _ := c.do("GET", "/skills/none/.well-known/agent-card.json")
	if resp.StatusCode != 404 || resp.Header.Get("ETag") != "" {
		t.Errorf("unknown skill: got %s %v", resp.Status, resp.Header)
	}
}

func TestServer_Extended(t *testing.T) {
	s := newServer(t, full(t), Resolver{PublicURL: public})
	r := httptest.NewRequest("POST", "/", nil)
	for _, v := range []Variant{V1, V03} {
		got, err := s.Extended(r, a2a.Caller{Name: "alice"}, v)
		if err != nil {
			t.Fatal(err)
		}
		checkForm(t, v, got)
		if got[len(got)-1] == '\n' {
			t.Error("a line break at the end")
		}
	}
}

func TestServer_cache_is_bounded(t *testing.T) {
	s := newServer(t, minimal(t), Resolver{PublicURL: public})
	for i := range 3 * maxCached {
		if _, err := s.JSON("http://localhost:"+string(rune('0'+i%10))+strings.Repeat("1", i/10), V1, ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.encoded); n > maxCached {
		t.Errorf("%d cards cached, want at most %d", n, maxCached)
	}
}

// TestServer_audiences: who sees which skills, on which card.
func TestServer_audiences(t *testing.T) {
	infos := []skills.Info{{ID: "open"}, {ID: "other"}, {ID: "hidden"}}
	entries := make([]skills.Entry, len(infos))
	for i, info := range infos {
		entries[i] = entry(info)
		entries[i].Private = info.ID == "hidden"
	}
	set, err := skills.NewSet("open", entries...)
	if err != nil {
		t.Fatal(err)
	}
	o := minimal(t)
	o.Skills, o.Extended = set, true
	ids := func(body []byte) string {
		var c struct{ Skills []struct{ ID string } }
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, s := range c.Skills {
			list = append(list, s.ID)
		}
		return strings.Join(list, " ")
	}
	all, some := a2a.Caller{Name: "all"}, a2a.Caller{Name: "some", Skills: []a2a.SkillID{"hidden", "other"}}
	s := newServer(t, o, Resolver{PublicURL: public})
	for range 2 { // the second time from the cache
		body, err := s.JSON(public, V1, "")
		if got := ids(body); err != nil || got != "open other" {
			t.Errorf("public card: got %q, %v", got, err)
		}
		for _, c := range []struct {
			caller a2a.Caller
			want   string
		}{{all, "open other hidden"}, {some, "other hidden"}} {
			body, err := s.Extended(httptest.NewRequest("POST", "/", nil), c.caller, V1)
			if got := ids(body); err != nil || got != c.want {
				t.Errorf("extended card of %s: got %q, %v, want %q", c.caller.Name, got, err, c.want)
			}
		}
	}
	if body, err := s.JSON(public, V1, "hidden"); err != nil || ids(body) != "hidden" {
		t.Errorf("card of a private skill: got %q, %v", ids(body), err)
	}
	// That it is kept now opens it to nobody.
	c := serve(t, s)
	if resp, _ := c.do("GET", "/skills/hidden"+cardPath); resp.StatusCode != 404 {
		t.Errorf("card of a private skill for a stranger: got %s, want 404", resp.Status)
	}

	o.Private = true
	o.Caller = func(r *http.Request) a2a.Caller {
		if r.Header.Get("X-API-Key") == "some" {
			return some
		}
		return all
	}
	c = serve(t, newServer(t, o, Resolver{PublicURL: public}))
	for key, want := range map[string]string{"all": "open other", "some": "other"} {
		if _, body := c.do("GET", cardPath, "X-API-Key", key); ids([]byte(body)) != want {
			t.Errorf("protected card of %s: got %q, want %q", key, ids([]byte(body)), want)
		}
	}
	for id, want := range map[string]int{"hidden": 200, "other": 200, "open": 404, "none": 404} {
		if resp, _ := c.do("GET", "/skills/"+id+cardPath, "X-API-Key", "some"); resp.StatusCode != want {
			t.Errorf("protected card of skill %s: got %s, want %d", id, resp.Status, want)
		}
	}
}
