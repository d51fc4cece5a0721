package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server"
)

func (p *program) serveCommand() *cobra.Command {
	var addr, data string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start the server",
		Long: `Start the server. Without a configuration it offers four skills over a demo
workspace on http://127.0.0.1:8080.

Tasks and boards are kept in the data directory: --data, else A2A_DATA, else
$XDG_STATE_HOME/skillyard or ~/.local/state/skillyard.

SIGINT and SIGTERM stop the server after the work under way, within
server.shutdown_timeout; a second one stops it at once. Nothing that was
acknowledged is lost either way.`,
		Example: "  skillyard serve\n  skillyard serve -c skillyard.yaml --addr :8080 --data /var/lib/skillyard",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.load(func(c *configs.Config) {
				if addr != "" {
					c.Server.Addr = addr
				}
			})
			if err != nil {
				return err
			}
			dir, err := p.dataDir(data)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), cfg, dir)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "", "`address` to listen on (server.addr, default 127.0.0.1:8080)")
	cmd.Flags().StringVar(&data, "data", "", "data `directory` (A2A_DATA)")
	return cmd
}

// serve runs a server until a signal stops it.
func (p *program) serve(ctx context.Context, cfg *configs.Config, dir string) error {
	log := p.logger(cfg.Log)
	p.sayUnknown()
	for _, w := range cfg.Warnings() {
		log.Warn().Msg(w)
	}
	app, err := server.New(ctx, server.Options{Config: cfg, DataDir: dir, Log: log, Version: buildVersion()})
	if err != nil {
		return err
	}
	ctx, stop := stopOnSignal(ctx, log)
	defer stop()
	url := reachableURL(cfg, app.Addr())
	if cfg.Log.Format != "json" {
		p.say("%s", greeting(cfg, url, dir))
	}
	notify := p.env["NOTIFY_SOCKET"]
	// The address is bound, so whoever connects from here on is served.
	if err := sdNotify(notify, "READY=1\nSTATUS=serving on "+url); err != nil {
		log.Warn().Err(err).Msg("notify service manager")
	}
	context.AfterFunc(ctx, func() {
		if err := sdNotify(notify, "STOPPING=1"); err != nil {
			log.Warn().Err(err).Msg("notify service manager")
		}
	})
	return app.Run(ctx)
}

// stopOnSignal returns a context that the first SIGINT or SIGTERM ends. The second
// ends the process.
func stopOnSignal(ctx context.Context, log zerolog.Logger) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for n := 0; ; n++ {
			s := <-signals
			if n > 0 {
				log.Warn().Str("signal", s.String()).Msg("second signal, stopping at once")
				os.Exit(exitError)
			}
			log.Info().Str("signal", s.String()).Msg("stopping; a second signal stops at once")
			cancel()
		}
	}()
	return ctx, cancel
}

// logger writes to standard error: JSON, or on a terminal text for people.
func (p *program) logger(cfg configs.Log) zerolog.Logger {
	var w io.Writer = p.err
	if cfg.Format == "console" || cfg.Format == "auto" && isTerminal(p.err) {
		w = zerolog.ConsoleWriter{Out: p.err, TimeFormat: time.TimeOnly, NoColor: p.env["NO_COLOR"] != "" || !isTerminal(p.err)}
	}
	level, err := zerolog.ParseLevel(cfg.Level)
	if err != nil {
		level = zerolog.InfoLevel // validation leaves no other level
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// reachableURL is the server's URL for somebody on this machine, or everybody's if
// there is one.
func reachableURL(cfg *configs.Config, bound string) string {
	if cfg.Server.PublicURL != "" {
		return strings.TrimRight(cfg.Server.PublicURL, "/")
	}
	host, port, err := net.SplitHostPort(bound)
	if err != nil {
		return "http://" + bound
	}
	if a, err := netip.ParseAddr(host); err == nil && a.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// demoBoard is a board of the demo workspace.
const demoBoard = "roadmap"

// greeting tells a newcomer where the card is and what to try.
func greeting(cfg *configs.Config, url, dir string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Skillyard %s, %d skills at %s\n", buildVersion(), len(cfg.Skills), url)
	fmt.Fprintf(&b, "  card  %s/.well-known/agent-card.json\n", url)
	fmt.Fprintf(&b, "  data  %s\n", dir)
	key := ""
	if cfg.Auth.Enforced() {
		key = ` -H "X-API-Key: $API_KEY"`
	}
	fmt.Fprintf(&b, "Try it:\n  curl -X POST %s/api/a2a/tasks -H \"Content-Type: application/json\"%s -d '%s'\n\n", url, key, firstRequest(cfg, dir))
	return b.String()
}

// firstRequest is a request that this server can answer well.
func firstRequest(cfg *configs.Config, dir string) string {
	skill, text := cfg.DefaultSkill, "hello"
	for _, s := range cfg.Skills {
		switch {
		case s.ID == "list_board" && s.Kind == "taskmanager" && hasDemo(cfg.Boards, dir):
			skill, text = s.ID, `{"operation":"list_board","board_id":"`+demoBoard+`"}`
		case s.ID == "list_boards" && s.Kind == "taskmanager" && skill != "list_board":
			skill, text = s.ID, `{"operation":"list_boards"}`
		}
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`) // a string always encodes
	}
	return `{"jsonrpc":"2.0","method":"tasks/submit","params":{"taskId":"test-1","skillId":"` + skill +
		`","message":{"role":"user","parts":[{"type":"text","text":` + string(quoted) + `}]}},"id":1}`
}

// hasDemo reports whether the demo board is among the boards.
func hasDemo(cfg configs.Boards, dir string) bool {
	return cfg.Source == "files" && exists(filepath.Join(cfg.Files.Path(dir), "boards", demoBoard+".json"))
}

// sdNotify tells the service manager that listens on socket (sd_notify(3)); "" is
// nobody.
func sdNotify(socket, state string) error {
	if socket == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, state)
	if cerr := conn.Close(); err == nil {
		err = cerr
	}
	return err
}
