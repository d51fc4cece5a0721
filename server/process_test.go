package server_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server"
	"github.com/skillyard/skillyard/server/servertest"
)

// serveEnv makes the test binary a server: its value is the data directory, which
// holds the configuration.
const serveEnv = "SKILLYARD_TEST_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveEnv); dir != "" {
		os.Unsetenv(serveEnv) //nolint:errcheck // it would be an unknown setting, no more
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve is the life of a server process: it says its URL on standard output and
// runs until SIGTERM.
func serve(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	yaml, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil {
		return err
	}
	cfg, err := configs.Load(configs.Options{Data: yaml, Path: "config.yaml"})
	if err != nil {
		return err
	}
	cfg.Server.Addr = "127.0.0.1:0"
	app, err := server.New(ctx, server.Options{Config: cfg, DataDir: dir, Log: zerolog.New(os.Stderr), Version: "test"})
	if err != nil {
		return err
	}
	fmt.Println("http://" + app.Addr())
	return app.Run(ctx)
}

// process is a server in a process of its own.
type process struct {
	*client
	cmd *exec.Cmd
	log *logBuffer
	// ended is closed when the process is gone; err is then set.
	ended chan struct{}
	err   error
}

// start runs a server process on the directory, with the probe configuration and
// skill settings of the probe. env are "NAME=value".
func start(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	p, url := launch(t, dir, env...)
	if url == "" {
		<-p.ended
		t.Fatalf("server did not start: %v\n%s", p.err, p.log)
	}
	p.client = &client{t: t, Server: servertest.At(t, url)}
	return p
}

// launch starts the process and waits for its URL, which is "" if it ends before.
func launch(t *testing.T, dir string, env ...string) (*process, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), log: &logBuffer{}, ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), serveEnv+"="+dir), env...)
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Scan()
		url <- strings.TrimSpace(lines.Text())
		for lines.Scan() {
		}
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may be gone already
		<-p.ended
	})
	return p, <-url
}

// kill ends the process without a warning.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// terminate ends the process as an operator does, and returns how long that took.
func (p *process) terminate() time.Duration {
	p.t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	if p.err != nil {
		p.t.Errorf("the server ended with %v, want a clean exit\n%s", p.err, p.log)
	}
	return time.Since(began)
}

// dataDir makes a data directory whose configuration is the probe one with that
// many runs at once and that shutdown time.
func dataDir(t *testing.T, concurrency int, shutdown string) string {
	t.Helper()
	dir := t.TempDir()
	yaml := set(probeYAML(t), "    kind: mock\n", "    concurrency", strconv.Itoa(concurrency))
	yaml = set(yaml, "server:\n", "  shutdown_timeout", shutdown)
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// set gives a key with its indent another value, or puts it after the line.
func set(yaml, line, key, value string) string {
	there := regexp.MustCompile(`(?m)^` + key + `: .*$`)
	if there.MatchString(yaml) {
		return there.ReplaceAllString(yaml, key+": "+value)
	}
	return strings.Replace(yaml, line, line+key+": "+value+"\n", 1)
}

// edit replaces a text in the configuration of a data directory.
func edit(t *testing.T, dir, old, replacement string) {
	t.Helper()
	path := filepath.Join(dir, "config.yaml")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
