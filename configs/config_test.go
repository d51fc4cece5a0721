package configs

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite golden files")

// load reads text as a file named test.yaml with an environment of pairs.
func load(t *testing.T, text string, env ...string) (*Config, error) {
	t.Helper()
	return Load(Options{Path: "test.yaml", Data: []byte(text), Env: Environ(env)})
}

func mustLoad(t *testing.T, text string, env ...string) *Config {
	t.Helper()
	cfg, err := load(t, text, env...)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return cfg
}

// sameConfig compares all but the place the values came from.
var sameConfig = cmp.Options{
	cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "from" }, cmp.Ignore()),
	cmp.AllowUnexported(Config{}),
	cmp.Comparer(func(a, b Settings) bool { return bytes.Equal(a.JSON(), b.JSON()) }),
}

func TestLoad_Example_isTheDefault(t *testing.T) {
	got := mustLoad(t, Example())
	want := Default()
	if diff := cmp.Diff(want, got, sameConfig, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("skillyard.yaml is not the default (-default +file):\n%s", diff)
	}
	nothing, err := Load(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), nothing, sameConfig); diff != "" {
		t.Errorf("loading nothing is not the default (-want +got):\n%s", diff)
	}
}

func TestLoad_Layers(t *testing.T) {
	text := "server: {addr: '1.2.3.4:1', public_url: 'https://file.example'}\nlimits: {wait: {0.3: 5s}}\nstore: {batch: 7, lease: }\n"
	env := []string{
		"A2A_SERVER_PUBLIC_URL=https://own.example", "A2A_PUBLIC_BASE_URL=https://alias.example",
		"A2A_STORE_BATCH=8", "A2A_LOG_LEVEL=", "A2A_SERVER_TRUSTED_PROXIES=10.0.0.1,10.1.0.0/16",
		"A2A_LIMITS_WAIT_V1=3s", "A2A_SERVER_MAX_BODY_BYTES=1MiB", "PORT=9", "API_KEY=one, two", "STORAGE_BACKEND=local",
		"A2A_AUTH_REQUIRED=false", "A2A_TOKEN=other-program",
	}
	cfg, err := Load(Options{
		Path: "test.yaml", Data: []byte(text), Env: Environ(env),
		Override: func(c *Config) { c.Store.Batch = 9 },
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("addr", cfg.Server.Addr, "1.2.3.4:9")
	check("public_url", cfg.Server.PublicURL, "https://own.example")
	check("batch", cfg.Store.Batch, 9)
	check("lease", cfg.Store.Lease, 30*time.Second)
	check("level", cfg.Log.Level, "info")
	check("wait", cfg.Limits.Wait, Wait{EMM: 20 * time.Second, V03: 5 * time.Second, V1: 3 * time.Second, Plain: 20 * time.Second, Max: time.Minute})
	check("body", cfg.Server.MaxBodyBytes, Size(1<<20))
	check("source", cfg.Boards.Source, "files")
	check("enforced", cfg.Auth.Enforced(), false)
	var names []string
	for _, k := range cfg.Auth.Keys {
		names = append(names, k.Name+"="+k.Key.Reveal())
	}
	check("keys", names, []string{"api-key=one", "api-key-2=two"})
	check("proxies", fmt.Sprint(cfg.Server.TrustedPrefixes()), fmt.Sprint([]netip.Prefix{
		netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.1.0.0/16"),
	}))
	check("dialects", []time.Duration{cfg.Limits.Wait.For("emm"), cfg.Limits.Wait.For("0.3"), cfg.Limits.Wait.For("1.0")},
		[]time.Duration{20 * time.Second, 5 * time.Second, 3 * time.Second})
}

func TestLoad_Interpolation(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
server: {max_json_depth: "${DEPTH}", request_id: "${RID}", read_timeout: "${T:-0}"}
card: {name: 'a${N}b$$c$', description: "${EMPTY:-fallback}"}
auth:
  keys:
    - {name: k, key: "${file:` + secret + `}"}
    - {name: n, key: 0123456}
default_skill: p
skills:
  - id: p
    kind: mock
    settings:
      port: ${PORT_NO}
      quoted: "${PORT_NO}"
      on: ${RID}
      inject: ${EVIL}
      list: [1, 0x10, 1.50, 123456789012345678901234567890, null, ~, "x", true, 2026-11-23]
      text: |
        two
        ${N}
`
	cfg := mustLoad(t, text, "DEPTH=32", "RID=false", "N=${N}", "EMPTY=", "PORT_NO=8080", "EVIL=x\"\ninjected: {a: 1}")
	if cfg.Server.MaxJSONDepth != 32 || cfg.Server.RequestID || cfg.Server.ReadTimeout != 0 {
		t.Errorf("got %+v", cfg.Server)
	}
	if got, want := cfg.Card.Name+"|"+cfg.Card.Description, "a${N}b$c$|fallback"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := cfg.Auth.Keys[0].Key.Reveal()+"|"+cfg.Auth.Keys[1].Key.Reveal(), "from-file|0123456"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want := `{"port":8080,"quoted":"8080","on":false,"inject":"x\"\ninjected: {a: 1}",` +
		`"list":[1,16,1.50,123456789012345678901234567890,null,null,"x",true,"2026-11-23"],"text":"two\n${N}\n"}`
	if got := string(cfg.Skills[0].Settings.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLoad_BuiltinSkills_areCompleted(t *testing.T) {
	cfg := mustLoad(t, "skills:\n  - {id: weekly_report, name: Mine, tags: []}\n  - {id: list_board, kind: mock, description: d}\n")
	report, board := cfg.Skills[0], cfg.Skills[1]
	if report.Kind != "processmanager" || report.Name != "Mine" || len(report.Tags) != 0 || report.Description == "" {
		t.Errorf("got %+v", report)
	}
	if got := string(report.Settings.JSON()); got != `{"operation":"weekly_report"}` {
		t.Errorf("got settings %s", got)
	}
	if board.Name != "" || string(board.Settings.JSON()) != "{}" {
		t.Errorf("a skill of another kind was completed: %+v", board)
	}
}

func TestLoad_KeyFile(t *testing.T) {
	dir := t.TempDir()
	one, many := filepath.Join(dir, "one"), filepath.Join(dir, "many")
	for path, text := range map[string]string{one: "first\n", many: "second\nthird,fourth\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := mustLoad(t, "auth: {keys: [{name: a, file: '"+one+"'}]}", "API_KEY_FILE="+many)
	var got []string
	for _, k := range cfg.Auth.Keys {
		got = append(got, k.Name+"="+k.Key.Reveal())
	}
	if diff := cmp.Diff([]string{"a=first", "api-key=second", "api-key-2=third", "api-key-3=fourth"}, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestUnknown(t *testing.T) {
	got := Unknown(Environ([]string{"A2A_SERVER_ADRR=x", "A2A_TOKEN=t", "A2A_CONFIG=c", "A2A_SERVER_ADDR=y", "PATH=p", "A2A_HTTP_ADDR=z", "A2A_SERVER=url", "A2A_STORE_WHATEVER_IT_IS=1"}))
	want := map[string]string{"A2A_SERVER_ADRR": "A2A_SERVER_ADDR", "A2A_STORE_WHATEVER_IT_IS": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
