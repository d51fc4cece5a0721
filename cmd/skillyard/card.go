package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server"
)

func (p *program) cardCommand() *cobra.Command {
	var f cardFlags
	cmd := &cobra.Command{
		Use:   "card",
		Short: "Print the agent card, or verify one",
		Long: `Print the agent card that a server with this configuration serves, without
starting one.

A client that says its protocol version gets the variant of that version; the
others get the one that card.mode names, which is the default here.

With keys in card.signing the variants v0.3 and v1 are signed. --sign prints a
signed card (v1 unless --variant says v0.3) or fails if it would not be.

--verify checks the signatures of a card in a file, at a URL, or from standard
input (-), and prints which keys signed it. The public keys are those of --jwks;
else, for a URL, the nearest /.well-known/jwks.json above it on the same host, and
for a file those of the configuration. The exit code is 0 if there is a good signature, else 1.`,
		Example: "  skillyard card\n  skillyard card --variant v1 --base-url https://agents.example.com\n" +
			"  skillyard card --skill list_board\n  skillyard card --sign > card.json\n" +
			"  skillyard card --verify https://agents.example.com/.well-known/agent-card.json",
		Args: onlyFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.verify != "" {
				return p.verifyCard(cmd.Context(), f)
			}
			return p.printCard(f)
		},
	}
	cmd.Flags().StringVar(&f.base, "base-url", "", "the server's public `URL` (default server.public_url, else server.addr)")
	cmd.Flags().Var(&oneOf{value: &f.variant, of: []string{"hybrid", "v0.3", "v1"}}, "variant", "hybrid, v0.3 or v1 (default card.mode)")
	cmd.Flags().StringVar(&f.skill, "skill", "", "print the card of one skill, by `id`")
	cmd.Flags().BoolVar(&f.sign, "sign", false, "print a signed card")
	cmd.Flags().StringVar(&f.verify, "verify", "", "verify the card in a `file` or at a URL")
	cmd.Flags().StringVar(&f.jwks, "jwks", "", "a `file` or URL with the public keys to verify with")
	for _, other := range []string{"sign", "base-url", "variant", "skill"} {
		cmd.MarkFlagsMutuallyExclusive("verify", other)
	}
	return cmd
}

// cardFlags are the flags of the command card.
type cardFlags struct {
	base, variant, skill, verify, jwks string
	sign                               bool
}

func (p *program) printCard(f cardFlags) error {
	cfg, err := p.load(nil)
	if err != nil {
		return err
	}
	set, err := p.buildSkills(cfg)
	if err != nil {
		return err
	}
	cards, err := server.BuildCard(cfg, set, cfg.Server.Addr, buildVersion())
	if err != nil {
		return err
	}
	variant := agentcard.Variant(f.variant)
	switch {
	case f.sign && len(cfg.Card.Signing.Keys) == 0:
		return errors.New("card.signing has no keys to sign with")
	case f.sign && variant == agentcard.Hybrid:
		return errors.New("the hybrid card is never signed; use --variant v1 or v0.3")
	case f.sign && variant == "":
		variant = agentcard.V1
	case variant == "":
		variant = agentcard.Variant(cfg.Card.Mode)
	}
	body, err := cards.JSON(strings.TrimRight(cardBase(cfg, f.base), "/"), variant, a2a.SkillID(f.skill))
	if err != nil {
		return err
	}
	text := jsontext.Value(bytes.TrimSpace(body))
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err = p.out.Write(append(text, '\n'))
	return err
}

// verifyCard checks the signatures of a card.
func (p *program) verifyCard(ctx context.Context, f cardFlags) error {
	card, err := p.fetch(ctx, f.verify)
	if err != nil {
		return fmt.Errorf("read card: %w", err)
	}
	set, err := p.verifyKeys(ctx, f)
	if err != nil {
		return err
	}
	keys, err := agentcard.ParseJWKS(set)
	if err != nil {
		return err
	}
	kids, err := keys.Verify(card)
	if err != nil {
		return fmt.Errorf("verify card: %w", err)
	}
	for _, kid := range kids {
		if _, err := fmt.Fprintf(p.out, "signed by %s\n", kid); err != nil {
			return err
		}
	}
	return nil
}

// verifyKeys returns the JWK Set to verify with. It is never the one that the card
// itself names: whoever changes a card could name another.
func (p *program) verifyKeys(ctx context.Context, f cardFlags) ([]byte, error) {
	if f.jwks != "" {
		set, err := p.fetch(ctx, f.jwks)
		if err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		return set, nil
	}
	if u := webURL(f.verify); u != nil {
		set, err := p.serverKeys(ctx, u)
		if err != nil {
			return nil, fmt.Errorf("read keys (--jwks names others): %w", err)
		}
		return set, nil
	}
	cfg, err := p.load(nil)
	if err != nil {
		return nil, err
	}
	signer, err := server.BuildSigner(cfg)
	if err != nil {
		return nil, err
	}
	if signer == nil {
		return nil, errors.New("no keys to verify with; name them by --jwks, or a configuration with card.signing")
	}
	return signer.JWKS()
}

// serverKeys returns the JWK Set of the server that a card comes from. The server may be
// under a path, and its cards are at several places below that, so what counts is the
// nearest set above the card.
func (p *program) serverKeys(ctx context.Context, card *url.URL) ([]byte, error) {
	dir, _, _ := strings.Cut(card.EscapedPath(), "/.well-known/")
	for {
		set, err := p.fetch(ctx, card.Scheme+"://"+card.Host+strings.TrimRight(dir, "/")+agentcard.KeysPath)
		var answer *statusError
		if dir == "" || !errors.As(err, &answer) || answer.code != http.StatusNotFound {
			return set, err
		}
		dir = dir[:max(0, strings.LastIndexByte(dir, '/'))]
	}
}

// statusError is an answer that is not the file that was asked for.
type statusError struct {
	source, status string
	code           int
}

func (e *statusError) Error() string { return e.source + " answers " + e.status }

// Bounds of what fetch reads.
const (
	maxFetch  = 1 << 20
	fetchTime = 30 * time.Second
)

// fetch reads a file, standard input for -, or a URL. It asks for 1.0.
func (p *program) fetch(ctx context.Context, source string) ([]byte, error) {
	var r io.Reader
	switch {
	case source == "-":
		r = p.in
	case webURL(source) == nil:
		f, err := os.Open(source)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		r = f
	default:
		ctx, cancel := context.WithTimeout(ctx, fetchTime)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("A2A-Version", agentcard.Version1)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close() //nolint:errcheck // only read
		if resp.StatusCode != http.StatusOK {
			return nil, &statusError{source, resp.Status, resp.StatusCode}
		}
		r = resp.Body
	}
	b, err := io.ReadAll(io.LimitReader(r, maxFetch+1))
	if err == nil && len(b) > maxFetch {
		err = fmt.Errorf("%s is larger than %d bytes", source, maxFetch)
	}
	return b, err
}

// webURL returns a source that is a URL, or nil for a file.
func webURL(source string) *url.URL {
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	return u
}

// cardBase is the base URL that a client on this machine would see.
func cardBase(cfg *configs.Config, flag string) string {
	if flag != "" {
		return flag
	}
	r := &http.Request{URL: &url.URL{}, Header: http.Header{}}
	return agentcard.Resolver{PublicURL: cfg.Server.PublicURL, Addr: cfg.Server.Addr}.Base(r)
}
