package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Names of the targets.
const (
	oursDurable = "ours-durable"
	oursMemory  = "ours-memory"
	a2aGo       = "a2a-go"
	a2aJS       = "a2a-js"
	floor       = "floor"
)

// target is a server that can be started.
type target struct {
	name string
	// command is the program and its arguments for a listen address and an
	// empty data directory.
	command func(addr, data string) []string
}

// build compiles what the plan measures and returns the targets, ours first, and
// the path of our own program ("" if it is not among them).
func build(p plan, scratch string) (targets []target, ours string, err error) {
	root, err := filepath.Abs(p.root)
	if err != nil {
		return nil, "", err
	}
	var (
		bench  = filepath.Join(root, "bench")
		js     = filepath.Join(bench, "peers", "js")
		output = func(name string) string { return filepath.Join(scratch, name) }
		// program is our own.
		program = output("skillyard")
	)
	if p.server != "" {
		if program, err = filepath.Abs(p.server); err != nil {
			return nil, "", err
		}
	}
	serve := func(config string) func(addr, data string) []string {
		file := filepath.Join(root, "configs", "examples", config)
		return func(addr, data string) []string {
			return []string{program, "serve", "--config", file, "--addr", addr, "--data", data}
		}
	}
	all := []target{
		{oursDurable, serve("bench.yaml")},
		{oursMemory, serve("bench-memory.yaml")},
		{a2aGo, func(addr, _ string) []string { return []string{output(a2aGo), "-addr", addr} }},
		{a2aJS, func(addr, _ string) []string { return []string{"node", filepath.Join(js, "server.mjs"), addr} }},
		{floor, func(addr, _ string) []string { return []string{output(floor), "-addr", addr} }},
	}
	for _, t := range all {
		if p.only != "" && !strings.Contains(","+p.only+",", ","+t.name+",") {
			continue
		}
		switch {
		case t.name == a2aGo:
			err = compile(bench, "./peers/a2ago", output(t.name))
		case t.name == floor:
			err = compile(bench, "./floor", output(t.name))
		case t.name == a2aJS:
			err = installJS(js)
		case p.server != "":
			ours = program
		case ours == "":
			ours = program
			err = compile(root, "./cmd/skillyard", ours)
		}
		if err != nil {
			return nil, "", err
		}
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return nil, "", fmt.Errorf("no target is named in %q", p.only)
	}
	return targets, ours, nil
}

// compile builds pkg in dir as it is released: static and stripped.
func compile(dir, pkg, out string) error {
	cmd := exec.Command("go", "build", "-tags", "grpcnotrace,validator_novalidatefn", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	return nil
}

// installJS installs the JavaScript peer as its lock file says, once.
func installJS(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "express")); err == nil {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--silent", "--no-audit", "--no-fund")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("install the JavaScript peer: %w", err)
	}
	return nil
}

func names(targets []target) []string {
	out := make([]string, len(targets))
	for i, t := range targets {
		out[i] = t.name
	}
	return out
}

// process is a started target.
type process struct {
	cmd  *exec.Cmd
	addr string
	log  string
	// ready is the time from exec to the first 200 of /healthz.
	ready time.Duration
	done  chan error
}

// start runs the target on a free port and waits until it answers.
func (t target) start(data string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	args := t.command(addr, data)
	p := &process{cmd: exec.Command(args[0], args[1:]...), addr: addr, log: data + ".log", done: make(chan error, 1)}
	logFile, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	p.cmd.Stdout, p.cmd.Stderr = logFile, logFile
	// The server must not end with the terminal's signals before it is measured out.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for !healthy(addr) {
		select {
		case err := <-p.done:
			return nil, fmt.Errorf("%s ended before it was ready: %v\n%s", t.name, err, p.tail())
		case <-ctx.Done():
			p.kill()
			return nil, fmt.Errorf("%s is not ready after 30 s\n%s", t.name, p.tail())
		case <-time.After(500 * time.Microsecond):
		}
	}
	p.ready = time.Since(began)
	return p, nil
}

// healthy asks once for /healthz.
func healthy(addr string) bool {
	nc, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := fmt.Fprintf(nc, "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", addr); err != nil {
		return false
	}
	line := make([]byte, len("HTTP/1.1 200"))
	n, err := nc.Read(line)
	return err == nil && n == len(line) && string(line) == "HTTP/1.1 200"
}

// kill ends the process at once, as a crash would.
func (p *process) kill() {
	// It may have ended by itself, which is as good.
	_ = p.cmd.Process.Kill()
	<-p.done
}

// tail returns the last words of the process.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	return string(b[max(0, len(b)-2000):])
}
