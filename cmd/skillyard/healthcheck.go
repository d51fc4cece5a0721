package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/configs"
)

func (p *program) healthcheckCommand() *cobra.Command {
	var url string
	var timeout time.Duration
	var ready bool
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running server whether it is well",
		Long: `Ask the server that runs with this configuration on this machine whether it is
alive, or with --ready whether it takes work. The exit code is 0 if it is, else 1:
made for HEALTHCHECK in a container without a shell.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				cfg, err := p.load(nil)
				if err != nil {
					return err
				}
				if url, err = localURL(cfg); err != nil {
					return err
				}
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if err := checkHealth(ctx, strings.TrimRight(url, "/")+path); err != nil {
				return err
			}
			_, err := fmt.Fprintln(p.out, "ok")
			return err
		},
	}
	cmd.Flags().StringVar(&url, "server", p.env["A2A_SERVER"], "the server's `URL` (A2A_SERVER; default from server.addr)")
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for the answer")
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it takes work")
	return cmd
}

// localURL is where a server with this configuration answers on this machine.
func localURL(cfg *configs.Config) (string, error) {
	host, port, err := net.SplitHostPort(cfg.Server.Addr)
	if err != nil {
		return "", err
	}
	if port == "0" {
		return "", errors.New("server.addr has port 0, so only the server knows its port; use --server URL")
	}
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		host = "127.0.0.1" // not a name, which a bare container might not resolve
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// checkHealth wants a 200. A proxy of the environment must not answer for the
// server, so none is used.
func checkHealth(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // the status is all that counts
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
