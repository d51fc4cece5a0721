package main

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server"
)

func (p *program) cardCommand() *cobra.Command {
	var base, variant, skill string
	cmd := &cobra.Command{
		Use:   "card",
		Short: "Print the agent card",
		Long: `Print the agent card that a server with this configuration serves, without
starting one.

A client that says its protocol version gets the variant of that version; the
others get the one that card.mode names, which is the default here.`,
		Example: "  skillyard card\n  skillyard card --variant v1 --base-url https://agents.example.com\n  skillyard card --skill list_board",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
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
			if variant == "" {
				variant = cfg.Card.Mode
			}
			body, err := cards.JSON(strings.TrimRight(cardBase(cfg, base), "/"), agentcard.Variant(variant), a2a.SkillID(skill))
			if err != nil {
				return err
			}
			text := jsontext.Value(bytes.TrimSpace(body))
			if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
				return err
			}
			_, err = p.out.Write(append(text, '\n'))
			return err
		},
	}
	cmd.Flags().StringVar(&base, "base-url", "", "the server's public `URL` (default server.public_url, else server.addr)")
	cmd.Flags().Var(&oneOf{value: &variant, of: []string{"hybrid", "v0.3", "v1"}}, "variant", "hybrid, v0.3 or v1 (default card.mode)")
	cmd.Flags().StringVar(&skill, "skill", "", "print the card of one skill, by `id`")
	return cmd
}

// cardBase is the base URL that a client on this machine would see.
func cardBase(cfg *configs.Config, flag string) string {
	if flag != "" {
		return flag
	}
	r := &http.Request{URL: &url.URL{}, Header: http.Header{}}
	return agentcard.Resolver{PublicURL: cfg.Server.PublicURL, Addr: cfg.Server.Addr}.Base(r)
}
