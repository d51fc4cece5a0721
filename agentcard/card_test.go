package agentcard

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
)

var update = flag.Bool("update", false, "rewrite golden files")

const public = "https://agents.example.com/my"

func entry(info skills.Info) skills.Entry {
	run := skills.Func(func(context.Context, skills.Input, skills.Emit) error { return nil })
	return skills.Entry{Info: info, Skill: run, Mapper: mappers.NewPassthrough()}
}

func newSet(t testing.TB, infos ...skills.Info) *skills.Set {
	t.Helper()
	entries := make([]skills.Entry, len(infos))
	for i, info := range infos {
		entries[i] = entry(info)
	}
	set, err := skills.NewSet(infos[0].ID, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// full sets everything, minimal nothing that is not required.
func full(t testing.TB) ServerOptions {
	return ServerOptions{
		Options: Options{
			Skills: newSet(t,
				skills.Info{
					ID: "weekly_report", Name: "Weekly report", Description: "What happened in a week.",
					Tags: []string{"report"}, Examples: []string{"last week"},
					InputModes: []string{"text/plain"}, OutputModes: []string{"text/markdown"},
				},
				skills.Info{ID: "list_board"}),
			Name: "Skillyard", Description: "Boards & reports <for> agents", Version: "1.2.3",
			Provider:         Provider{Organization: "Example", URL: "https://example.com"},
			DocumentationURL: "https://example.com/docs", IconURL: "https://example.com/icon.png",
			Streaming: true, PushNotifications: true, Extended: true,
			Secured: true, SecurityRequirements: true,
		},
		Mode: Hybrid, MaxAge: time.Minute, Modified: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC),
	}
}

func minimal(t testing.TB) ServerOptions {
	return ServerOptions{Options: Options{
		Skills: newSet(t, skills.Info{ID: "list_board"}), Name: "n", Description: "d", Version: "0",
	}}
}

func newServer(t testing.TB, o ServerOptions, v Resolver) *Server {
	t.Helper()
	o.Base, o.Vary = v.Base, v.Vary()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestServer_JSON_golden(t *testing.T) {
	for name, o := range map[string]ServerOptions{"full": full(t), "minimal": minimal(t)} {
		s := newServer(t, o, Resolver{PublicURL: public})
		for _, v := range []Variant{Hybrid, V03, V1} {
			for _, id := range []a2a.SkillID{"", "list_board"} {
				file := name + "-" + string(v)
				if id != "" {
					file += "-" + string(id)
				}
				t.Run(file, func(t *testing.T) {
					body, err := s.JSON(public, v, id)
					if err != nil {
						t.Fatal(err)
					}
					checkForm(t, v, body)
					var got bytes.Buffer
					if err := json.Indent(&got, body, "", "  "); err != nil {
						t.Fatal(err)
					}
					path := filepath.Join("testdata", file+".json")
					if *update {
						if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					want, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(string(want), got.String()); diff != "" {
						t.Errorf("card changed (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// checkForm validates a card against the protocol's own schemas, and a pure 1.0
// card against the generated types, unknown members refused.
func checkForm(t *testing.T, v Variant, body []byte) {
	t.Helper()
	if v != V1 {
		validate(t, "schema-0.3.0.json", body)
		return
	}
	validate(t, "schema-1.0.1.json", body)
	var card v1.AgentCard
	if err := (protojson.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(body, &card); err != nil {
		t.Errorf("protojson: %v", err)
	}
}

func validate(t *testing.T, schema string, body []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", schema))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schema, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	card, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(card); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
}

func TestNew_lists_what_is_missing(t *testing.T) {
	_, err := New(ServerOptions{Mode: "1.0"})
	for _, want := range []string{"name", "description", "version", "skills", "mode"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

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

var loopbackNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

const cardPath = "/.well-known/agent-card.json"

func TestB001_scheme_behind_TLS_proxy(t *testing.T) {
	header := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example.com"}
	c := serve(t, newServer(t, full(t), Resolver{Trusted: loopbackNet}))
	for _, v := range []string{"", "0.3", "1.0"} {
		_, body := c.do("GET", cardPath, append(header, "A2A-Version", v)...)
		wantURLs(t, body, "https://agents.example.com/api/a2a/tasks")
	}
	_, body := c.do("GET", cardPath, "Forwarded", `for=192.0.2.1;proto=http;host=far.example, for=1.2.3.4;Proto=https;host="agents.example.com"`)
	wantURLs(t, body, "https://agents.example.com/api/a2a/tasks")
	_, body = c.do("GET", cardPath, "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example, agents.example.com:8443")
	wantURLs(t, body, "https://agents.example.com:8443/api/a2a/tasks")

	c = serve(t, newServer(t, full(t), Resolver{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}))
	_, body = c.do("GET", cardPath, header...)
	wantURLs(t, body, c.base+"/api/a2a/tasks")
}

func TestB002_prefix_of_load_balancer(t *testing.T) {
	c := serve(t, newServer(t, full(t), Resolver{Trusted: loopbackNet}))
	host := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example.com"}
	for _, p := range [][2]string{
		{"X-Forwarded-Prefix", "/agents/my"},
		{"X-Forwarded-Prefix", "/agents/my/"},
		{"X-Forwarded-Path", "/agents/my"},
		{"X-Forwarded-Path", "/agents/my" + cardPath},
	} {
		_, body := c.do("GET", cardPath, append(host, p[0], p[1])...)
		wantURLs(t, body, "https://agents.example.com/agents/my/api/a2a/tasks")
	}
	for _, bad := range []string{
		"//evil.example/x", "/a/../b", "/..", "/a//b", "https://evil.example", "evil", "/a b", "/a?x=1", "/a#x",
		"/%2e%2e/x", "/a\tb", `/a"b`, "/" + strings.Repeat("a", 300), "/a\\b", "/\u00e4",
	} {
		_, body := c.do("GET", cardPath, append(host, "X-Forwarded-Prefix", bad)...)
		wantURLs(t, body, "https://agents.example.com/api/a2a/tasks")
	}
	// A configured URL beats every header.
	c = serve(t, newServer(t, full(t), Resolver{PublicURL: public + "/", Trusted: loopbackNet}))
	resp, body := c.do("GET", cardPath, append(host, "X-Forwarded-Prefix", "/agents/my")...)
	wantURLs(t, body, public+"/api/a2a/tasks")
	if got := resp.Header.Get("Vary"); got != "A2A-Version" {
		t.Errorf("got Vary %q", got)
	}
}

func TestB004_hostile_Host(t *testing.T) {
	evil := []string{"Host", "evil.example", "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example", "X-Forwarded-Prefix", "/evil.example"}
	for name, v := range map[string]Resolver{
		"public URL": {PublicURL: public, Trusted: loopbackNet},
		"nothing":    {},
		"other peer": {Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		"listen":     {Addr: "0.0.0.0:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, newServer(t, full(t), v))
			resp, body := c.do("GET", cardPath, evil...)
			if strings.Contains(body, "evil") {
				t.Errorf("the hostile name is in the card: %s", body)
			}
			if !strings.Contains(resp.Header.Get("Vary"), "A2A-Version") {
				t.Errorf("got Vary %q", resp.Header.Get("Vary"))
			}
		})
	}
	// A trusted proxy that names no host does not lend its trust to Host.
	c := serve(t, newServer(t, full(t), Resolver{Trusted: loopbackNet}))
	resp, body := c.do("GET", cardPath, "Host", "evil.example", "X-Forwarded-Proto", "https")
	if strings.Contains(body, "evil") {
		t.Errorf("the hostile name is in the card: %s", body)
	}
	for _, want := range []string{"A2A-Version", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Path", "X-Forwarded-Prefix", "X-Forwarded-Proto"} {
		if !slices.Contains(strings.Split(resp.Header.Get("Vary"), ", "), want) {
			t.Errorf("Vary %q lacks %s", resp.Header.Get("Vary"), want)
		}
	}
	for _, bad := range []string{"evil.example/x", "user@evil.example", "a b", "a:99999999", "a:", "[::1", "..", "a..b", "[fe80::1%25eth0]", "x\\y", ""} {
		_, body := c.do("GET", cardPath, "X-Forwarded-Host", bad)
		wantURLs(t, body, c.base+"/api/a2a/tasks")
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

func TestB010_no_null(t *testing.T) {
	s := newServer(t, minimal(t), Resolver{PublicURL: public})
	for _, v := range []Variant{Hybrid, V03, V1} {
		body, err := s.JSON(public, v, "")
		if err != nil {
			t.Fatal(err)
		}
		var c map[string]any
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"skills", "defaultInputModes", "defaultOutputModes"} {
			if _, ok := c[key].([]any); !ok {
				t.Errorf("%s: %s is %v", v, key, c[key])
			}
		}
		if tags, ok := c["skills"].([]any)[0].(map[string]any)["tags"].([]any); !ok || len(tags) != 0 {
			t.Errorf("%s: tags are %v", v, tags)
		}
		if bytes.Contains(body, []byte("null")) {
			t.Errorf("%s: a null in %s", v, body)
		}
	}
}

func TestB011_required_members(t *testing.T) {
	s := newServer(t, minimal(t), Resolver{PublicURL: public})
	always := []string{"name", "description", "version", "capabilities", "skills", "defaultInputModes", "defaultOutputModes"}
	for v, more := range map[Variant][]string{
		V03:    {"url", "protocolVersion", "preferredTransport"},
		V1:     {"supportedInterfaces"},
		Hybrid: {"url", "protocolVersion", "preferredTransport", "supportedInterfaces"},
	} {
		body, err := s.JSON(public, v, "")
		if err != nil {
			t.Fatal(err)
		}
		var c map[string]json.RawMessage
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		for _, key := range append(more, always...) {
			if c[key] == nil {
				t.Errorf("%s: no %s", v, key)
			}
		}
		var list []map[string]any
		if err := json.Unmarshal(c["skills"], &list); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"id", "name", "description", "tags"} {
			if list[0][key] == nil || list[0][key] == "" {
				t.Errorf("%s: skill has %s %v", v, key, list[0][key])
			}
		}
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
	for dialect, v := range map[string]Variant{"1.0": V1, "0.3": V03} {
		got, err := s.Extended(r, dialect)
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

func TestResolver_Base_direct(t *testing.T) {
	cases := []struct {
		name, addr, local, host, want string
	}{
		{"localhost", "127.0.0.1:8080", "127.0.0.1:8080", "localhost:8080", "http://localhost:8080"},
		{"loopback address", "127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"loopback v6", "[::1]:8080", "[::1]:8080", "[::1]:8080", "http://[::1]:8080"},
		{"published port of a container", "0.0.0.0:8080", "172.17.0.2:8080", "localhost:9000", "http://localhost:9000"},
		{"address that was called", "0.0.0.0:8080", "192.168.1.5:8080", "192.168.1.5:8080", "http://192.168.1.5:8080"},
		{"mapped v6 listener", "[::]:8080", "[::ffff:192.168.1.5]:8080", "192.168.1.5:8080", "http://192.168.1.5:8080"},
		{"port 80", "0.0.0.0:80", "192.168.1.5:80", "192.168.1.5", "http://192.168.1.5"},
		{"configured name", "agents.internal:8080", "10.0.0.5:8080", "agents.internal:8080", "http://agents.internal:8080"},
		{"another name", "0.0.0.0:8080", "172.18.0.3:8080", "skillyard:8080", "http://172.18.0.3:8080"},
		{"another port", "0.0.0.0:8080", "192.168.1.5:8080", "192.168.1.5:9999", "http://192.168.1.5:8080"},
		{"hostile name", "127.0.0.1:8080", "127.0.0.1:8080", "evil.example", "http://127.0.0.1:8080"},
		{"looks like localhost", "127.0.0.1:8080", "127.0.0.1:8080", "localhost.evil.example:8080", "http://127.0.0.1:8080"},
		{"no local address", "0.0.0.0:8080", "", "evil.example", "http://localhost:8080"},
		{"not a host", "127.0.0.1:8080", "127.0.0.1:8080", "localhost:8080/x", "http://127.0.0.1:8080"},
		{"empty", ":8080", "", "", "http://localhost:8080"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", cardPath, nil)
			r.Host = c.host
			ctx := r.Context()
			if c.local != "" {
				ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.local)))
			}
			if got := (Resolver{Addr: c.addr}).Base(r.WithContext(ctx)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzResolver_Base(f *testing.F) {
	f.Add("agents.example.com:8443", "https", "/a/b", "host=x;proto=https", "localhost:1")
	f.Add("[::1]:80", "http", "/../x", `host="[fe80::1]"`, "[::1]")
	f.Fuzz(func(t *testing.T, host, proto, prefix, forwarded, direct string) {
		r := httptest.NewRequest("GET", cardPath, nil)
		r.RemoteAddr, r.Host = "127.0.0.1:5", direct
		r.Header.Set("X-Forwarded-Host", host)
		r.Header.Set("X-Forwarded-Proto", proto)
		r.Header.Set("X-Forwarded-Prefix", prefix)
		r.Header.Set("Forwarded", forwarded)
		got := Resolver{Trusted: loopbackNet, Addr: "127.0.0.1:8080"}.Base(r)
		u, err := r.URL.Parse(got)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
			u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "..") || strings.Contains(u.Path, "//") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestServer_JSON_read_by_a2a_go decodes cards as the official Go client does,
// which asks for a card without a version header.
func TestServer_JSON_read_by_a2a_go(t *testing.T) {
	s := newServer(t, full(t), Resolver{PublicURL: public})
	body, err := s.JSON(public, Hybrid, "")
	if err != nil {
		t.Fatal(err)
	}
	var card sdk.AgentCard
	if err := json.Unmarshal(body, &card); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if len(card.SupportedInterfaces) != 2 || card.SupportedInterfaces[0].URL != public+EndpointPath ||
		len(card.Skills) != 2 || len(card.SecuritySchemes) != 2 {
		t.Errorf("got %+v", card)
	}
}
