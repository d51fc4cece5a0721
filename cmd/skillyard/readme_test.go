package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/server/servertest"
)

// TestREADME_client runs what the README shows of the client, line by line.
func TestREADME_client(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## The client\n")
	_, block, opened := strings.Cut(section, "```sh\n")
	block, _, closed := strings.Cut(block, "```")
	if !ok || !opened || !closed {
		t.Fatal("the README has no commands for the client")
	}
	s := servertest.New(t, servertest.Options{})
	u := newUser(t, "")
	cmd := exec.Command("sh", "-e", "-x", "-c", strings.ReplaceAll(block, "http://127.0.0.1:8080", s.URL))
	cmd.Env = u.command().Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"last week", "# ", `"roadmap"`, "completed"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
