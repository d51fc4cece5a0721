package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skillyard/skillyard/agentcard"
)

// keyBytes is the entropy of a generated key.
const keyBytes = 32

// maxKeyInput bounds a key read from standard input.
const maxKeyInput = 64 << 10

// keyRow is a key in the JSON output.
type keyRow struct {
	Name   string `json:"name"`
	Key    string `json:"key,omitempty"`
	SHA256 string `json:"sha256"`
}

func (p *program) keysCommand() *cobra.Command {
	return group("keys", "Make API keys, and keys that sign", p.keysGenerateCommand(), p.keysHashCommand())
}

func (p *program) keysGenerateCommand() *cobra.Command {
	name, alg, asJSON, signing, webhook := "", agentcard.AlgES256, false, false, false
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make a new key",
		Long: `Make a new API key. It is printed once and stored nowhere; the configuration gets
its hash only. Clients send it as "X-API-Key: KEY" or "Authorization: Bearer KEY".

With --signing: make a private key that signs agent cards, in PEM (PKCS #8), for a
file that card.signing.keys names. With --webhook: make a secret that signs deliveries
to webhooks, for push.secrets.`,
		Example: "  skillyard keys generate --name ci\n  (umask 077 && skillyard keys generate --signing > card.pem)",
		Args:    onlyFlags,
		RunE: func(*cobra.Command, []string) error {
			if signing {
				return p.printSigningKey(alg, asJSON)
			}
			secret := make([]byte, keyBytes)
			if _, err := rand.Read(secret); err != nil {
				return fmt.Errorf("make key: %w", err)
			}
			if webhook {
				return p.printWebhookSecret("whsec_"+base64.StdEncoding.EncodeToString(secret), asJSON)
			}
			key := "sk_" + base64.RawURLEncoding.EncodeToString(secret)
			return p.printKey(keyRow{Name: name, Key: key, SHA256: hashKey(key)}, asJSON)
		},
	}
	cmd.Flags().StringVar(&name, "name", "client", "the caller that uses the key; tasks belong to the `name`")
	cmd.Flags().BoolVar(&signing, "signing", false, "make a key that signs agent cards")
	cmd.Flags().Var(&oneOf{value: &alg, of: []string{agentcard.AlgES256, agentcard.AlgEdDSA}}, "alg", "with --signing: ES256 or EdDSA")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&webhook, "webhook", false, "make a secret that signs deliveries to webhooks")
	cmd.MarkFlagsMutuallyExclusive("name", "signing", "webhook")
	return cmd
}

// signingRow is a signing key in the JSON output.
type signingRow struct {
	KID string `json:"kid"`
	Alg string `json:"alg"`
	PEM string `json:"pem"`
}

// printSigningKey makes a signing key. What to do with it goes to the person, so that
// standard output is the file.
func (p *program) printSigningKey(alg string, asJSON bool) error {
	key, err := agentcard.GenerateSigningKey(alg)
	if err != nil {
		return err
	}
	signer, err := agentcard.NewSigner("", agentcard.SigningKey{PEM: key})
	if err != nil {
		return err
	}
	kid := signer.KIDs()[0]
	if asJSON {
		return p.printJSON(signingRow{KID: kid, Alg: alg, PEM: key})
	}
	p.say("# The private key is on standard output; keep it in a file that only the server reads:\ncard:\n  signing:\n    keys:\n      - {file: card.pem}   # kid %s\n", kid)
	_, err = io.WriteString(p.out, key)
	return err
}

// printWebhookSecret prints a secret in the form of Standard Webhooks.
func (p *program) printWebhookSecret(secret string, asJSON bool) error {
	if asJSON {
		return p.printJSON(struct {
			Secret string `json:"secret"`
		}{secret})
	}
	p.say("# Put it first in push.secrets, and give it to those who receive the deliveries:\n")
	_, err := fmt.Fprintln(p.out, secret)
	return err
}

func (p *program) keysHashCommand() *cobra.Command {
	name, asJSON := "", false
	cmd := &cobra.Command{
		Use:     "hash",
		Short:   "Hash a key from standard input for the configuration",
		Example: "  skillyard keys hash --name ci < key.txt",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := io.ReadAll(io.LimitReader(p.in, maxKeyInput))
			if err != nil {
				return fmt.Errorf("read key: %w", err)
			}
			key := strings.TrimSpace(string(text))
			if key == "" {
				return errors.New("no key on standard input")
			}
			return p.printKey(keyRow{Name: name, SHA256: hashKey(key)}, asJSON)
		},
	}
	cmd.Flags().StringVar(&name, "name", "client", "the caller that uses the key; tasks belong to the `name`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printKey prints a key and the lines of the configuration for it. The key stands
// in a comment, so that the whole is a configuration file.
func (p *program) printKey(k keyRow, asJSON bool) error {
	if asJSON {
		return p.printJSON(k)
	}
	var b strings.Builder
	if k.Key != "" {
		fmt.Fprintf(&b, "# The key, shown only now: %s\n", k.Key)
	}
	fmt.Fprintf(&b, "auth:\n  keys:\n    - name: %s\n      sha256: %s\n", strconv.Quote(k.Name), k.SHA256)
	_, err := io.WriteString(p.out, b.String())
	return err
}

func hashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
