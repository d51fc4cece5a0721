package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/mcpserver"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/configs"
)

// mcpFlags are the flags of the command mcp.
type mcpFlags struct {
	http, agents, state, tokenFile, level string
}

func (p *program) mcpCommand() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let a model use A2A agents, through MCP",
		Long: `Serve MCP (Model Context Protocol) on standard input and output, or with --http
over HTTP: tools that send work to A2A agents without waiting for it, and collect
the results later.

The agents are those of the agents file: --agents, else A2A_AGENTS, else
skillyard/agents.yaml in $XDG_CONFIG_HOME or ~/.config. A model names them, and sees
neither their addresses nor their credentials.

What was sent and not collected yet is kept in --state, else A2A_STATE, else
$XDG_STATE_HOME/skillyard/pending.db or ~/.local/state/skillyard/pending.db; other
programs of yours may use it at the same time.

Over HTTP the endpoint is /mcp. An address without a host is one of this machine
alone (127.0.0.1). Another one needs a token, from A2A_MCP_TOKEN or --token-file,
which clients send as "Authorization: Bearer".`,
		Example: "  skillyard mcp\n  skillyard mcp --agents agents.yaml --http :8090",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.serveMCP(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.http, "http", "", "serve over HTTP on this `address` instead of standard input and output")
	cmd.Flags().StringVar(&f.agents, "agents", "", "agents `file` (A2A_AGENTS)")
	cmd.Flags().StringVar(&f.state, "state", "", "`file` of the pending tasks (A2A_STATE)")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "`file` with the token that clients need (A2A_MCP_TOKEN)")
	cmd.Flags().Var(&oneOf{value: &f.level, of: []string{"debug", "info", "warn", "error"}}, "log-level", "debug, info, warn or error; default warn, with --http info")
	return cmd
}

// serveMCP runs an MCP server until its client leaves or a signal stops it.
func (p *program) serveMCP(ctx context.Context, f mcpFlags) (err error) {
	if f.level == "" {
		f.level = "warn"
		if f.http != "" {
			f.level = "info"
		}
	}
	log := p.logger(configs.Log{Level: f.level, Format: "auto"})
	agents, err := configs.LoadAgents(configs.AgentsOptions{Path: f.agents, Env: p.env})
	if err != nil {
		return err
	}
	state, err := p.stateFile(f.state)
	if err != nil {
		return err
	}
	registry, err := pending.Open(ctx, pending.Options{Path: state})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, registry.Close()) }()
	o := mcpserver.Options{Registry: registry, Version: buildVersion(), Log: log}
	for _, a := range agents.Agents {
		agent, err := mcpAgent(a)
		if err != nil {
			return fmt.Errorf("agent %s: %w", a.Name, err)
		}
		defer agent.Client.Close()
		o.Agents = append(o.Agents, agent)
	}
	s, err := mcpserver.New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := stopOnSignal(ctx, log)
	defer stop()
	if f.http != "" {
		return p.mcpOverHTTP(ctx, s, f, log)
	}
	return s.Run(ctx, &mcp.IOTransport{Reader: readCloser(p.in), Writer: keepOpen{p.out}})
}

// mcpAgent makes an agent of its entry in the agents file.
func mcpAgent(a configs.Agent) (mcpserver.Agent, error) {
	header := http.Header{}
	for name, value := range a.Headers {
		header.Set(name, value.Reveal())
	}
	c, err := client.New(a.URL, client.Options{
		Token: a.Token.Reveal(), Header: header, Dialect: a.Dialect, AllowPrivate: a.AllowPrivate,
	})
	if err != nil {
		return mcpserver.Agent{}, err
	}
	agent := mcpserver.Agent{Name: a.Name, Description: a.Description, Client: c, Secrets: a.Secrets()}
	for _, id := range a.Skills {
		agent.Skills = append(agent.Skills, a2a.SkillID(id))
	}
	return agent, nil
}

// mcpOverHTTP serves over HTTP until ctx ends.
func (p *program) mcpOverHTTP(ctx context.Context, s *mcpserver.Server, f mcpFlags, log zerolog.Logger) error {
	token, err := p.mcpToken(f.tokenFile)
	if err != nil {
		return err
	}
	addr, err := mcpAddr(f.http, token != "")
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: s.Handler(token), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	url := "http://" + listener.Addr().String()
	log.Info().Str("url", url+"/mcp").Msg("serving MCP")
	if err := sdNotify(p.env["NOTIFY_SOCKET"], "READY=1\nSTATUS=serving on "+url); err != nil {
		log.Warn().Err(err).Msg("notify service manager")
	}
	select {
	case err = <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	// Sessions end first: their streams would not end by themselves.
	s.Close()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

// mcpToken reads the token that clients need, "" if they need none.
func (p *program) mcpToken(file string) (string, error) {
	if file == "" {
		return p.env["A2A_MCP_TOKEN"], nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("read token: %s is empty", file)
	}
	return token, nil
}

// mcpAddr returns the address to listen on: of this machine alone if it names no host.
// Whoever reaches the server acts with the agents' credentials, so another one is only
// for those who have the token.
func mcpAddr(addr string, protected bool) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("--http %q is not an address such as :8090 or 127.0.0.1:8090", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	local := err == nil && ip.IsLoopback() || host == "localhost"
	if !local && !protected {
		return "", fmt.Errorf("--http %s can be reached by other machines: set A2A_MCP_TOKEN or --token-file, or listen on 127.0.0.1:%s", addr, port)
	}
	return net.JoinHostPort(host, port), nil
}

// stateFile returns the file of the pending tasks: the flag, else A2A_STATE, else
// pending.db in the user's directory for state.
func (p *program) stateFile(flag string) (string, error) {
	for _, path := range [...]string{flag, p.env["A2A_STATE"]} {
		if path != "" {
			return filepath.Abs(path)
		}
	}
	dir, err := p.userState()
	if err != nil {
		return "", fmt.Errorf("no place for the pending tasks, as HOME is not set; use --state FILE or A2A_STATE")
	}
	return filepath.Join(dir, "pending.db"), nil
}

func readCloser(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

// keepOpen writes to what the process goes on using.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
