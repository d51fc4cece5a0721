package configs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		{"grpc", "server: {addr: ':1'}\ngrpc:\n  addr: ':1'\n  tls: {cert_file: x}\n  max_message_bytes: 10\n  max_streams: 0\n", nil, []string{
			`test.yaml:3:9: grpc.addr: is server.addr; gRPC needs a port of its own`,
			`test.yaml:4:3: grpc.tls: must have both cert_file and key_file, or neither`,
			`test.yaml:5:22: grpc.max_message_bytes: must be at least 1024`,
			`test.yaml:6:16: grpc.max_streams: must be at least 1`,
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

func TestConfig_Warnings(t *testing.T) {
	for addr, want := range map[string]int{"127.0.0.1:1": 0, "[::1]:1": 0, "localhost:1": 0, ":1": 2, "0.0.0.0:1": 2, "example.com:1": 2} {
		cfg := Default()
		cfg.Server.Addr = addr
		if got := cfg.Warnings(); len(got) != want {
			t.Errorf("%s: got %q, want %d", addr, got, want)
		}
	}
	for _, tc := range []struct {
		grpc GRPC
		key  bool
		want int
	}{
		{GRPC{}, false, 0}, {GRPC{Addr: "127.0.0.1:1"}, false, 0}, {GRPC{Addr: ":1"}, false, 2}, {GRPC{Addr: ":1"}, true, 1},
		{GRPC{Addr: ":1", TLS: TLS{CertFile: "c", KeyFile: "k"}}, true, 0},
	} {
		cfg := Default()
		if cfg.GRPC = tc.grpc; tc.key {
			cfg.Auth.Keys = []Key{{Name: "k", Key: "k"}}
		}
		if got := cfg.Warnings(); len(got) != tc.want {
			t.Errorf("%+v: got %q, want %d", tc.grpc, got, tc.want)
		}
	}
	cfg := mustLoad(t, "server: {addr: ':1', public_url: 'https://x.example'}\nstore: {kind: memory}\n", "API_KEY=k")
	if got := cfg.Warnings(); len(got) != 1 || !strings.Contains(got[0], "memory") {
		t.Errorf("got %q, want one about memory", got)
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
