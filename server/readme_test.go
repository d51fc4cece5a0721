package server_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/server/servertest"
)

// TestREADME_Commands runs the blocks of the README that call a server with curl, in
// their order, against one server: every call succeeds, and no task fails.
func TestREADME_Commands(t *testing.T) {
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on this machine", program)
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.New(t, servertest.Options{})
	calls := 0
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(readme, -1) {
		block := string(m[1])
		if !strings.HasPrefix(block, "curl ") {
			continue
		}
		n := strings.Count("\n"+block, "\ncurl ")
		calls += n
		t.Run(fmt.Sprintf("from call %d", calls-n+1), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			script := "set -eu\ncurl() { command curl -sS --fail-with-body --noproxy '*' \"$@\"; echo; echo ===; }\n" +
				strings.ReplaceAll(block, "http://127.0.0.1:8080", s.URL)
			cmd := exec.CommandContext(ctx, "bash", "-c", script)
			var out, complaints bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &complaints
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s\n%s", err, complaints.String(), out.String())
			}
			answers := strings.Split(strings.TrimSuffix(out.String(), "===\n"), "===\n")
			if len(answers) != n {
				t.Errorf("got %d answers, want %d", len(answers), n)
			}
			for _, a := range answers {
				for _, bad := range []string{`"error"`, `"failed"`, "TASK_STATE_FAILED", "not_found"} {
					if strings.Contains(a, bad) {
						t.Errorf("got %s in %s", bad, clip([]byte(a)))
					}
				}
				if len(strings.TrimSpace(a)) < 20 {
					t.Errorf("got answer %q, want one that says something", a)
				}
			}
		})
	}
	if calls < 9 {
		t.Errorf("ran %d calls of the README, want at least 9: are its blocks still found?", calls)
	}
}
