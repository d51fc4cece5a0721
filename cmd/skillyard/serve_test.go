package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// TestGreeting_works sends what the greeting tells people to paste.
func TestGreeting_works(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"demo", "", "Roadmap"},
		{"other boards", "boards: {files: {demo: false}}", `"skillId":"list_boards"`},
		{"one skill", "default_skill: echo\nskills: [{id: echo, kind: mock}]", "hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "boards"), 0o700); err != nil {
				t.Fatal(err)
			}
			s := servertest.New(t, servertest.Options{YAML: c.yaml, Dir: dir})
			cfg, err := configs.Load(configs.Options{Path: "test.yaml", Data: []byte(c.yaml)})
			if err != nil {
				t.Fatal(err)
			}
			text := greeting(cfg, s.URL, s.Dir)
			_, after, ok := strings.Cut(text, "curl -X POST "+s.URL+"/api/a2a/tasks -H \"Content-Type: application/json\" -d '")
			body, _, closed := strings.Cut(after, "'\n")
			if !ok || !closed {
				t.Fatalf("no curl in\n%s", text)
			}
			resp, err := http.Post(s.URL+"/api/a2a/tasks", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close() //nolint:errcheck // read to the end
			answer, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(answer); !strings.Contains(got, `"status":"completed"`) || !strings.Contains(got, c.want) {
				t.Errorf("got %s, want it completed, with %s", got, c.want)
			}
		})
	}
}

func TestGreeting_with_keys_and_public_URL(t *testing.T) {
	cfg, err := configs.Load(configs.Options{Env: map[string]string{"API_KEY": "secret", "A2A_PUBLIC_URL": "https://agents.example.com/my/"}})
	if err != nil {
		t.Fatal(err)
	}
	text := greeting(cfg, reachableURL(cfg, "127.0.0.1:8080"), t.TempDir())
	for _, want := range []string{`-H "X-API-Key: $API_KEY"`, "https://agents.example.com/my/.well-known/agent-card.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the key is in\n%s", text)
	}
}

func TestProgram_logger(t *testing.T) {
	for _, c := range []struct {
		log  configs.Log
		want string
	}{
		{configs.Log{Level: "info", Format: "auto"}, `{"level":"info",`},
		{configs.Log{Level: "info", Format: "json"}, `{"level":"info",`},
		{configs.Log{Level: "info", Format: "console"}, " INF hello x=1\n"},
		{configs.Log{Level: "warn", Format: "json"}, ""},
	} {
		var b bytes.Buffer
		log := (&program{err: &b}).logger(c.log)
		log.Info().Int("x", 1).Msg("hello")
		if got := b.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "\x1b") {
			t.Errorf("%+v: got %q, want %q", c.log, got, c.want)
		}
	}
}

func TestSdNotify(t *testing.T) {
	if err := sdNotify("", "READY=1"); err != nil {
		t.Errorf("nobody to tell: %v", err)
	}
	if err := sdNotify(fmt.Sprintf("%s/none", t.TempDir()), "READY=1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
