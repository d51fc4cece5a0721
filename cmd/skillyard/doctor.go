package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/doctor"
	"github.com/skillyard/skillyard/cmd/skillyard/remote"
)

func (p *program) doctorCommand() *cobra.Command {
	var o doctor.Options
	var tokenFile string
	output := "table"
	cmd := &cobra.Command{
		Use:   "doctor [URL]",
		Short: "Look at a deployed server as a client sees it",
		Long: `Look at a deployed A2A server from outside, through the proxy in front of it, and
say what is wrong: URLs in the card that lead nowhere, streams that are held back
or cut off, bodies that are refused, a login in the way, a certificate that ends
soon. Where the proxy is at fault, the lines of nginx, Caddy or Traefik that mend
it are printed.

It asks for what changes nothing and makes no task, unless --send allows it. One
call is made with a wrong token. The token itself goes to the host of the URL only.

The exit code is 0 if nothing failed, 1 after a fault, 2 for a wrong command line,
6 if there was no answer in time, 7 if a token is missing or refused.`,
		Example: "  skillyard doctor https://agents.example.com\n" +
			"  A2A_TOKEN=… skillyard doctor https://agents.example.com/my --proxy caddy\n" +
			"  skillyard doctor https://agents.example.com --send --skill weekly_report --text 'last week'",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MaximumNArgs(1)(cmd, args); err != nil {
				return err
			}
			o.URL = p.env["A2A_SERVER"]
			if len(args) > 0 {
				o.URL = args[0]
			}
			if o.URL == "" {
				return errors.New("the URL of a server is missing")
			}
			_, err := client.NormalURL(o.URL)
			var e *client.Error
			switch {
			case o.Token != "" && tokenFile != "":
				return errors.New("--token and --token-file cannot both be given")
			case errors.As(err, &e):
				return fmt.Errorf("%s; %s", e.Message, e.Hint)
			case err != nil:
				return err
			case o.Timeout <= 0:
				return errors.New("--timeout must be more than 0")
			case !o.Send && (o.Skill != "" || o.Text != ""):
				return errors.New("--skill and --text say what to send, so they need --send")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.doctorToken(&o, tokenFile); err != nil {
				return err
			}
			return p.doctor(cmd.Context(), o, output)
		},
	}
	f := cmd.Flags()
	f.VarP(&oneOf{value: &output, of: []string{"table", "json", "yaml"}}, "output", "o", "table, json or yaml")
	f.StringVar(&o.Token, "token", "", "the `token` to call with (A2A_TOKEN, which other users of this machine cannot see)")
	f.StringVar(&tokenFile, "token-file", "", "a `file` with the token")
	f.DurationVar(&o.Timeout, "timeout", 90*time.Second, "how long all of it may take")
	f.Var(&oneOf{value: &o.Proxy, of: []string{"nginx", "caddy", "traefik", "all"}}, "proxy", "for which proxy lines are printed (default the one that is seen, else all)")
	f.BoolVar(&o.Send, "send", false, "send a message, which makes a task, to see its stream")
	f.StringVar(&o.Skill, "skill", "", "send to the skill with this `id`")
	f.StringVar(&o.Text, "text", "", "the `text` to send")
	return cmd
}

// doctorToken finds the token to call with: that of the command line, or A2A_TOKEN, which
// is for A2A_SERVER alone if that is set.
func (p *program) doctorToken(o *doctor.Options, file string) error {
	env := strings.TrimSpace(p.env["A2A_TOKEN"])
	switch {
	case o.Token != "":
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return &remote.Exit{Code: exitUsage, Err: fmt.Errorf("the token cannot be read: %w", err)}
		}
		o.Token = strings.TrimSpace(string(b))
	case env == "":
	case p.env["A2A_SERVER"] == "" || sameOrigin(p.env["A2A_SERVER"], o.URL):
		o.Token = env
	default:
		p.say("A2A_TOKEN is for A2A_SERVER and is not sent to this server; give a token by --token-file\n")
	}
	return nil
}

// sameOrigin reports whether two URLs of agents have the same scheme, host and port.
func sameOrigin(a, b string) bool {
	origin := func(raw string) string {
		normal, err := client.NormalURL(raw)
		if err != nil {
			return ""
		}
		u, err := url.Parse(normal)
		if err != nil {
			return ""
		}
		return u.Scheme + "://" + u.Host
	}
	of := origin(a)
	return of != "" && of == origin(b)
}

func (p *program) doctor(ctx context.Context, o doctor.Options, output string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.UserAgent = "skillyard-doctor/" + buildVersion()
	clearLine := func() {}
	if isTerminal(p.err) {
		const wipe = "\r\x1b[K"
		o.OnCheck = func(name string) { p.say("%slooking at %s …", wipe, name) }
		clearLine = func() { p.say(wipe) }
	}
	report, err := doctor.Run(ctx, o)
	clearLine()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err := p.printReport(report, output); err != nil {
		return err
	}
	switch report.Verdict {
	case doctor.Fault:
		return &remote.Exit{Code: exitError}
	case doctor.Timeout:
		return &remote.Exit{Code: exitTimeout}
	case doctor.NoAuth:
		return &remote.Exit{Code: exitAuth}
	}
	return nil
}

func (p *program) printReport(r *doctor.Report, output string) error {
	switch output {
	case "json":
		return p.printJSON(r)
	case "yaml":
		b, err := json.Marshal(r)
		if err == nil {
			b, err = yaml.JSONToYAML(b)
		}
		if err == nil {
			_, err = p.out.Write(b)
		}
		return err
	}
	_, err := fmt.Fprint(p.out, reportText(r, isTerminal(p.out) && p.env["NO_COLOR"] == ""))
	return err
}

// colours of the severities, for terminals.
var colours = map[doctor.Severity]string{doctor.OK: "32", doctor.Warn: "33", doctor.Fail: "31", doctor.Skipped: "2"}

// reportText is a report for people: a line for each finding, what it comes to, and the
// lines to write into the proxy's configuration.
func reportText(r *doctor.Report, colour bool) string {
	var b strings.Builder
	head := r.URL
	if r.Agent != "" {
		head += "  " + r.Agent
	}
	if r.Proxy != "" {
		head += ", behind " + r.Proxy
	}
	b.WriteString(head + "\n\n")
	width := 0
	for _, f := range r.Findings {
		width = max(width, len(f.Check))
	}
	for i, f := range r.Findings {
		alike := func(j int) bool {
			return r.Findings[j].Severity == doctor.Skipped && r.Findings[j].Text == f.Text
		}
		if i > 0 && alike(i-1) {
			continue // said already
		}
		more := 0
		for j := i + 1; j < len(r.Findings) && alike(j); j++ {
			more++
		}
		if more > 0 {
			f.Text += fmt.Sprintf(" (so too %d more)", more)
		}
		word := map[doctor.Severity]string{doctor.Skipped: "skip"}[f.Severity]
		if word == "" {
			word = string(f.Severity)
		}
		padded := fmt.Sprintf("%-4s", word)
		if colour {
			padded = "\x1b[" + colours[f.Severity] + "m" + padded + "\x1b[0m"
		}
		fmt.Fprintf(&b, "%s  %-*s  %s\n", padded, width, f.Check, f.Text)
		if f.Hint != "" {
			fmt.Fprintf(&b, "%*s  → %s\n", width+6, "", f.Hint)
		}
	}
	b.WriteString("\n" + sum(r) + "\n")
	for _, fix := range merged(r) {
		fmt.Fprintf(&b, "\nFor %s, %s:\n\n", fix.Proxy, fix.Where)
		for _, line := range fix.Lines {
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String()
}

func sum(r *doctor.Report) string {
	count := func(s doctor.Severity, one, many string) string {
		if n := r.Count(s); n != 1 {
			return fmt.Sprintf("%d %s", n, many)
		}
		return "1 " + one
	}
	text := fmt.Sprintf("%s, %s, %s skipped.", count(doctor.Fail, "fault", "faults"), count(doctor.Warn, "warning", "warnings"), count(doctor.Skipped, "check", "checks"))
	switch r.Verdict {
	case doctor.Timeout:
		text += " There was not enough time."
	case doctor.NoAuth:
		text += " A token is needed to see the rest."
	}
	return text
}

// merged puts what belongs to one place together, each piece once.
func merged(r *doctor.Report) []doctor.Fix {
	var list []doctor.Fix
	seen := map[string]bool{}
	for _, f := range r.Findings {
		for _, fix := range f.Fixes {
			key := fix.Proxy + "\n" + fix.Where
			at := slices.IndexFunc(list, func(x doctor.Fix) bool { return x.Proxy == fix.Proxy && x.Where == fix.Where })
			if at < 0 {
				at = len(list)
				list = append(list, doctor.Fix{Proxy: fix.Proxy, Where: fix.Where})
			}
			// Directives that stand alone may be in several; lines of a block belong together.
			whole := key + "\n" + strings.Join(fix.Lines, "\n")
			if seen[whole] {
				continue
			}
			seen[whole] = true
			for _, line := range fix.Lines {
				if single := key + "\n" + line; line[0] == ' ' || !strings.HasSuffix(line, ";") || !seen[single] {
					seen[single] = true
					list[at].Lines = append(list[at].Lines, line)
				}
			}
		}
	}
	return list
}
