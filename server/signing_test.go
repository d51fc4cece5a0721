package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// signing signs the cards with a key of each kind.
func signing(t testing.TB) func(*configs.Config) {
	var keys []configs.SigningKey
	for _, alg := range []string{agentcard.AlgES256, agentcard.AlgEdDSA} {
		pem, err := agentcard.GenerateSigningKey(alg)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, configs.SigningKey{KID: alg, PEM: configs.Secret(pem)})
	}
	return func(c *configs.Config) {
		c.Server.PublicURL, c.Card.Signing.Keys = "https://agents.example.com/my", keys
	}
}

// signedCases are about signed cards.
func signedCases() []bugCase {
	return []bugCase{{"B-017", "signed_is_what_is_served", func(t *testing.T) {
		c := probe(t, signing(t), withExtendedCard, func(cfg *configs.Config) {
			cfg.Card.Extensions = []configs.Extension{{URI: "https://ex/a"}, {URI: "https://ex/b", Required: true}}
			p := skill(t, cfg, "probe")
			p.Tags, p.Examples, p.Description = []string{}, []string{}, "Für 日本 <b>& \u2028"
		})
		set := c.Do("GET", agentcard.KeysPath, "")
		if set.Status != http.StatusOK || set.Header.Get("Content-Type") != "application/jwk-set+json" || !strings.HasPrefix(set.Header.Get("Cache-Control"), "public") {
			t.Errorf("keys: got HTTP %d %v", set.Status, set.Header)
		}
		keys, err := agentcard.ParseJWKS(set.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"", "/skills/probe"} {
			for _, version := range []string{"1.0", "0.3"} {
				a := c.Do("GET", path+cardPath, "", "A2A-Version: "+version)
				if kids, err := keys.Verify(a.Body); err != nil || strings.Join(kids, " ") != "ES256 EdDSA" {
					t.Errorf("%s %s: got %v, %v", version, path, kids, err)
				}
				bad := strings.Replace(string(a.Body), "agents.example.com", "evil.example", 1)
				if _, err := keys.Verify([]byte(bad)); err == nil {
					t.Errorf("%s %s: another URL is not noticed", version, path)
				}
			}
			a := c.Do("GET", path+cardPath, "")
			if _, err := keys.Verify(a.Body); !errors.Is(err, agentcard.ErrNotSigned) {
				t.Errorf("hybrid card: got %v, want it unsigned", err)
			}
		}
		const need = "A2A-Extensions: https://ex/b"
		for _, a := range []servertest.Answer{c.v1("GetExtendedAgentCard", `{}`, need), c.v03("agent/getAuthenticatedExtendedCard", `{}`, need)} {
			result, _ := envelope(t, a.Body)
			if _, err := keys.Verify(result); err != nil {
				t.Errorf("extended card: %v in %s", err, clip(result))
			}
		}
		// With mode v1 everybody gets a signed card.
		pure := probe(t, signing(t), func(cfg *configs.Config) { cfg.Card.Mode = "v1" })
		if keys, err = agentcard.ParseJWKS(pure.Do("GET", agentcard.KeysPath, "").Body); err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Verify(pure.Do("GET", cardPath, "").Body); err != nil {
			t.Errorf("mode v1: %v", err)
		}
		if a := probe(t).Do("GET", agentcard.KeysPath, ""); a.Status != http.StatusNotFound {
			t.Errorf("keys of a server that signs nothing: got HTTP %d, want 404", a.Status)
		}
	}}}
}
