package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/agentcard"
)

// TestCard_verifyURL verifies cards at URLs, with the keys of their server.
func TestCard_verifyURL(t *testing.T) {
	dir := t.TempDir()
	key, err := agentcard.GenerateSigningKey(agentcard.AlgEdDSA)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "key.pem")
	config := filepath.Join(dir, "config.yaml")
	for path, text := range map[string]string{
		file:   key,
		config: "server: {public_url: 'https://agents.example.com'}\ncard: {signing: {keys: [{kid: k, file: '" + file + "'}]}}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	skillyard := func(args ...string) (string, int) {
		var out, errOut bytes.Buffer
		code := run(args, []string{"HOME=" + dir}, nil, &out, &errOut)
		return out.String() + errOut.String(), code
	}
	card, code := skillyard("card", "-c", config, "--sign")
	if code != exitOK {
		t.Fatal(card)
	}
	signer, err := agentcard.NewSigner("", agentcard.SigningKey{KID: "k", PEM: key})
	if err != nil {
		t.Fatal(err)
	}
	set, err := signer.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /skills/x/.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("A2A-Version") != "1.0" {
			t.Errorf("got A2A-Version %q, want 1.0: only then is a card signed", r.Header.Get("A2A-Version"))
		}
		_, _ = w.Write([]byte(card))
	})
	mux.HandleFunc("GET /changed.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Replace(card, "agents.example.com", "evil.example", 1)))
	})
	mux.HandleFunc("GET /large.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxFetch+1)) })
	mux.HandleFunc("GET "+agentcard.KeysPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(set) })
	// Another server under a path of the same host, with keys of its own.
	mux.HandleFunc("GET /my/skills/x/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(card)) })
	mux.HandleFunc("GET /my"+agentcard.KeysPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Replace(set, []byte(`"k"`), []byte(`"other"`), 1))
	})
	mux.HandleFunc("GET /broken/a/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(card)) })
	mux.HandleFunc("GET /broken"+agentcard.KeysPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	keyless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(card)) }))
	defer keyless.Close()

	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{srv.URL + "/skills/x/.well-known/agent-card.json"}, "signed by k\n", exitOK},
		{[]string{srv.URL + "/my/skills/x/.well-known/agent-card.json"}, `no key "k" is known`, exitError},
		{[]string{srv.URL + "/broken/a/.well-known/agent-card.json"}, "/broken/.well-known/jwks.json answers 502", exitError},
		{[]string{keyless.URL, "--jwks", srv.URL + agentcard.KeysPath}, "signed by k\n", exitOK},
		{[]string{keyless.URL}, "read keys", exitError},
		{[]string{srv.URL + "/changed.json"}, "does not match the card", exitError},
		{[]string{srv.URL + "/large.json"}, "larger than", exitError},
		{[]string{srv.URL + "/none"}, "404", exitError},
		{[]string{srv.URL + agentcard.KeysPath}, "not signed", exitError},
	} {
		out, code := skillyard(append([]string{"card", "--verify"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%v: got exit code %d and %q, want %d and %q", c.args, code, out, c.code, c.want)
		}
	}
}
