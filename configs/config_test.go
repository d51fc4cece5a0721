package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"
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
	for i := range want.Auth.Keys {
		want.Auth.Keys[i] = Key{}
	}
	empty := cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
	emptyKeys := cmp.FilterValues(func(a, b []Key) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
	emptySecrets := cmp.FilterValues(func(a, b []Secret) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
	if diff := cmp.Diff(want, got, sameConfig, empty, emptyKeys, emptySecrets); diff != "" {
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

func TestLoad_Example_commentsEveryKey(t *testing.T) {
	s, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, node map[string]any)
	walk = func(path string, node map[string]any) {
		if path != "" && node["description"] == nil {
			t.Errorf("%s has no comment", path)
		}
		if props, ok := node["properties"].(map[string]any); ok {
			for key, sub := range props {
				walk(join2(path, key), sub.(map[string]any))
			}
		}
		if items, ok := node["items"].(map[string]any); ok && items["properties"] != nil {
			walk(path+"[0]", items)
		}
	}
	walk("", tree)
}

func TestLoad_Examples(t *testing.T) {
	paths, err := fs.Glob(examples, "examples/*.yaml")
	if err != nil || len(paths) < 6 {
		t.Fatalf("examples: %v, %v", paths, err)
	}
	validator := compileSchema(t)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := examples.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Load(Options{Path: path, Data: data}); err != nil {
				t.Errorf("load: %v", err)
			}
			validateYAML(t, validator, data)
			fromDisk, err := Load(Options{Path: path})
			if err != nil || fromDisk == nil {
				t.Errorf("load from disk: %v", err)
			}
		})
	}
	validateYAML(t, validator, []byte(Example()))
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := MarshalSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validateYAML(t *testing.T, s *jsonschema.Schema, data []byte) {
	t.Helper()
	if err := validYAML(t, s, data); err != nil {
		t.Errorf("schema: %v", err)
	}
}

func validYAML(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	b, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchema_refuses(t *testing.T) {
	s := compileSchema(t)
	for _, text := range []string{
		"sever: {}", "server: {addr: [1]}", "log: {level: loud}", "skills: [{name: x}]",
		"store: {lease: soon}", "limits: {max_parts: 0}", "server: {request_id: maybe}",
	} {
		if validYAML(t, s, []byte(text)) == nil {
			t.Errorf("schema accepts %q", text)
		}
	}
	for _, text := range []string{
		"server: {addr: '${ADDR}', max_body_bytes: 65536, read_timeout: 0}", "server:", "auth: {required: true}",
		"limits: {max_parts: '${PARTS:-7}'}",
	} {
		validateYAML(t, s, []byte(text))
	}
}

func TestSchema_golden(t *testing.T) {
	got, err := MarshalSchema()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "schema.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("schema changed; run with -update (-want +got):\n%s", diff)
	}
}

// TestLoad_Problems checks the text a person sees.
func TestLoad_Problems(t *testing.T) {
	cases := []struct {
		name, text string
		env        []string
		want       []string // lines of Error()
	}{
		{"unknown key", "server:\n  adr: x\nlogs: {}\n", nil, []string{
			`test.yaml:2:3: server.adr: unknown key; did you mean "addr"?`,
			`test.yaml:3:1: logs: unknown key; did you mean "log"?`,
		}},
		{"duplicate key", "log:\n  level: info\n  level: debug\n", nil, []string{
			`test.yaml:3:3: log.level: is set already in line 2`,
		}},
		{"syntax", "server:\n\taddr: x\n", nil, []string{
			`test.yaml:2:1: found character '` + "\t" + `' that cannot start any token`,
		}},
		{"types", "server:\n  read_timeout: soon\n  max_body_bytes: much\n  request_id: yes\n  max_json_depth: 1.5\n  trusted_proxies: 10.0.0.1\nskills: {}\nstore: x\n", nil, []string{
			`test.yaml:2:17: server.read_timeout: "soon" is not a duration such as 500ms, 30s, 10m or 720h`,
			`test.yaml:3:19: server.max_body_bytes: "much" is not a size such as 65536, 64KiB or 10MiB`,
			`test.yaml:4:15: server.request_id: "yes" is neither true nor false`,
			`test.yaml:5:19: server.max_json_depth: "1.5" is not a whole number`,
			`test.yaml:6:20: server.trusted_proxies: must be a list`,
			`test.yaml:7:9: skills: must be a list`,
			`test.yaml:8:8: store: must be a mapping with the keys kind, path, synchronous, retention, prune_every, lease, batch`,
		}},
		{"values", "server:\n  addr: here\n  public_url: ftp://x\n  trusted_proxies: [10.0.0.0/99]\nlog: {level: loud}\nlimits:\n  max_parts: 0\n  wait: {\"0.3\": -1s}\nreport: {timezone: Mars/Olympus}\ndefault_skill: nope\n", nil, []string{
			`test.yaml:2:9: server.addr: "here" is not an address such as 127.0.0.1:8080 or :8080`,
			`test.yaml:3:15: server.public_url: "ftp://x" is not a URL such as https://agents.example.com`,
			`test.yaml:4:21: server.trusted_proxies[0]: "10.0.0.0/99" is not an address or a network such as 10.0.0.0/8`,
			`test.yaml:5:14: log.level: is "loud"; must be one of trace, debug, info, warn, error`,
			`test.yaml:7:14: limits.max_parts: must be at least 1`,
			`test.yaml:8:17: limits.wait.0.3: must be at least 0`,
			`test.yaml:9:20: report.timezone: "Mars/Olympus" is not a time zone such as UTC or Europe/Kyiv`,
			`test.yaml:10:16: default_skill: "nope" is not the id of a skill; there are weekly_report, list_board, list_boards, list_workspaces`,
		}},
		{"skills", "default_skill: a\nskills:\n  - id: a/b\n  - id: a\n    kind: mock\n    input_modes: [text]\n  - {id: a, kind: mock, retry: twice}\n", nil, []string{
			`test.yaml:3:5: skills[0].kind: is required`,
			`test.yaml:3:9: skills[0].id: "a/b" must be letters, digits, '.', '_' and '-', at most 64`,
			`test.yaml:6:19: skills[1].input_modes[0]: "text" is not a media type such as text/plain`,
			`test.yaml:7:10: skills[2].id: "a" is also the id of skills[1]`,
			`test.yaml:7:32: skills[2].retry: is "twice"; must be one of never, on_crash`,
		}},
		{"keys", "auth:\n  required: false\n  keys:\n    - {name: a, key: x1, sha256: y}\n    - {name: b}\n    - {name: c, key: same}\n    - {name: d, key: same}\n    - {key: 'two words'}\n    - {name: c, key: other, tenant: t}\n", nil, []string{
			`test.yaml:4:7: auth.keys[0]: must have one of key, sha256 and file`,
			`test.yaml:4:34: auth.keys[0].sha256: must have 64 characters`,
			`test.yaml:5:7: auth.keys[1]: must have one of key, sha256 and file`,
			`test.yaml:7:7: auth.keys[3]: is the same key as that of "c"`,
			`test.yaml:8:7: auth.keys[4].name: is required`,
			`test.yaml:8:7: auth.keys[4]: the key must consist of visible ASCII characters, as it is sent in a header`,
			`test.yaml:9:37: auth.keys[5].tenant: is "t", but "" is the tenant of another key with this name`,
		}},
		{"required without keys", "auth: {required: true}\n", nil, []string{
			`test.yaml:1:18: auth.required: is true, but there are no keys: nobody could call`,
		}},
		{"lakefs", "boards:\n  source: lakefs\n  lakefs: {endpoint: localhost}\n", nil, []string{
			`test.yaml:3:3: boards.lakefs.access_key_id: is required, as boards.source is lakefs`,
			`test.yaml:3:3: boards.lakefs.secret_access_key: is required, as boards.source is lakefs`,
			`test.yaml:3:3: boards.lakefs.repository: is required, as boards.source is lakefs`,
			`test.yaml:3:22: boards.lakefs.endpoint: "localhost" is not a URL such as https://agents.example.com`,
		}},
		{"reference", "card: {name: \"${NOBODY}\", version: \"${1}\", description: \"${X\"}\n", nil, []string{
			`test.yaml:1:14: card.name: environment variable NOBODY is not set`,
			`test.yaml:1:36: card.version: "${1}" is not ${NAME}, ${NAME:-default} or ${file:/path}`,
			`test.yaml:1:57: card.description: "${X" has no closing brace; write $$ for a dollar sign`,
		}},
		{"yaml features", "log: &a {level: info}\nserver: *a\nreport: !!map {}\ncard:\n  <<: x\n", nil, []string{
			`test.yaml:1:6: log: anchors, aliases, merge keys and tags are not supported`,
			`test.yaml:2:9: server: anchors, aliases, merge keys and tags are not supported`,
			`test.yaml:3:9: report: anchors, aliases, merge keys and tags are not supported`,
			`test.yaml:5:3: card: anchors, aliases, merge keys and tags are not supported`,
		}},
		{"two documents", "log: {}\n---\nlog: {}\n", nil, []string{
			`test.yaml:3:4: a file has one document; remove what follows ---`,
		}},
		{"environment", "", []string{"A2A_SERVER_READ_TIMEOUT=soon", "A2A_LIMITS_MAX_PARTS=many", "PORT=x", "A2A_HTTP_ADDR=nowhere", "API_KEY_FILE=/nonexistent/keys"}, []string{
			`A2A_LIMITS_MAX_PARTS: "many" is not a valid value: invalid syntax`,
			`A2A_SERVER_READ_TIMEOUT: unable to parse duration: time: invalid duration "soon"`,
			`PORT: "x" is not a port number`,
			`API_KEY_FILE: open /nonexistent/keys: no such file or directory`,
			`test.yaml: server.addr: "nowhere" is not an address such as 127.0.0.1:8080 or :8080`,
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.text, c.env...)
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			for _, p := range Problems(err) {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblem_Excerpt(t *testing.T) {
	_, err := load(t, "auth:\n  keys: [{name: x, key: hunter2}]\n  protect_card: perhaps\n")
	ps := Problems(err)
	if len(ps) != 1 {
		t.Fatalf("got %v", err)
	}
	want := "    2 |   keys: ***\n>   3 |   protect_card: perhaps\n      |                 ^"
	if ps[0].Excerpt != want {
		t.Errorf("got\n%s\nwant\n%s", ps[0].Excerpt, want)
	}
}

func TestConfig_Problem_places(t *testing.T) {
	cfg := mustLoad(t, "default_skill: p\nskills:\n  - id: p\n    kind: mock\n    settings:\n      deep: [1, {x: 2}]\n")
	got := cfg.Problem("skills[0].settings.deep[1].y.z", "is unknown").Error()
	if want := "test.yaml:6:17: skills[0].settings.deep[1].y.z: is unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Default().Problem("a.b", "is bad").Error(), "a.b: is bad"; got != want {
		t.Errorf("got %q, want %q", got, want)
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
	check("wait", cfg.Limits.Wait, Wait{EMM: 20 * time.Second, V03: 5 * time.Second, V1: 3 * time.Second})
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

func TestSecret_neverPrints(t *testing.T) {
	cfg := Default()
	cfg.Auth.Keys = []Key{{Name: "n", Key: "hunter2"}}
	cfg.Boards.LakeFS.SecretAccessKey = "hunter2"
	cfg.Skills[0].Settings = rawSettings(`{"token":"hunter2"}`)
	s := Secret("hunter2")
	var printed []string
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%t", "%10s", "%T"} {
		printed = append(printed, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, cfg), fmt.Sprintf(verb, *cfg),
			fmt.Sprintf(verb, cfg.Auth.Keys), fmt.Sprintf(verb, cfg.Skills[0].Settings))
	}
	j, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := zerolog.New(&log)
	logger.Info().Interface("config", cfg).Interface("secret", s).Stringer("again", s).Any("keys", cfg.Auth.Keys).Msg("x")
	printed = append(printed, string(j), string(y), log.String(), fmt.Sprint(map[Secret]int{s: 1}))
	for _, text := range printed {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) || strings.Contains(text, "104 117 110") {
			t.Errorf("the secret shows in %.300s", text)
		}
	}
	if !strings.Contains(string(y), "***") || !strings.Contains(string(j), `"***"`) {
		t.Errorf("no mask in\n%s\n%s", y, j)
	}
	if s.Reveal() != "hunter2" {
		t.Errorf("Reveal gives %q", s.Reveal())
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "65536": 65536, "64KiB": 65536, "1.5 MiB": 3 << 19, "10MB": 10e6, "7B": 7, "-1": -1} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1TB", "NaN", "1e300", "KiB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
	for size, want := range map[Size]string{0: "0", 10 << 20: "10MiB", 1000: "1000", 3 << 30: "3GiB"} {
		if got := size.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLoad_Refuses(t *testing.T) {
	for name, text := range map[string]string{
		"huge":   strings.Repeat("#", maxFile+1),
		"nested": strings.Repeat("[", 5000),
		"deep settings": "default_skill: p\nskills:\n  - id: p\n    kind: mock\n    settings: {a: " +
			strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}\n",
	} {
		if _, err := load(t, text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Load(Options{Path: filepath.Join(t.TempDir(), "none.yaml")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestUnknown(t *testing.T) {
	got := Unknown(Environ([]string{"A2A_SERVER_ADRR=x", "A2A_TOKEN=t", "A2A_CONFIG=c", "A2A_SERVER_ADDR=y", "PATH=p", "A2A_HTTP_ADDR=z", "A2A_SERVER=url", "A2A_STORE_WHATEVER_IT_IS=1"}))
	want := map[string]string{"A2A_SERVER_ADRR": "A2A_SERVER_ADDR", "A2A_STORE_WHATEVER_IT_IS": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfig_Warnings(t *testing.T) {
	for addr, want := range map[string]int{"127.0.0.1:1": 0, "[::1]:1": 0, "localhost:1": 0, ":1": 1, "0.0.0.0:1": 1, "example.com:1": 1} {
		cfg := Default()
		cfg.Server.Addr = addr
		if got := cfg.Warnings(); len(got) != want {
			t.Errorf("%s: got %q, want %d", addr, got, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(Example()))
	paths, _ := fs.Glob(examples, "examples/*.yaml")
	for _, path := range paths {
		data, err := examples.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("skills: [{id: a, kind: mock, settings: {x: [1, .nan, 0x1f, !!str y, *z, ? {a: b} : c]}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Load(Options{Path: "fuzz.yaml", Data: data, Env: map[string]string{"N": "1"}})
		if (cfg == nil) == (err == nil) {
			t.Fatalf("got %v and %v", cfg, err)
		}
		if err != nil {
			for _, p := range Problems(err) {
				if p.Message == "" {
					t.Errorf("a problem without a message: %+v", p)
				}
			}
			return
		}
		for _, s := range cfg.Skills {
			if !json.Valid(s.Settings.JSON()) {
				t.Errorf("settings are not JSON: %s", s.Settings.JSON())
			}
		}
	})
}
