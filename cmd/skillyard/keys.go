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
	return group("keys", "Make API keys", p.keysGenerateCommand(), p.keysHashCommand())
}

func (p *program) keysGenerateCommand() *cobra.Command {
	name, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make a new API key",
		Long: `Make a new API key. It is printed once and stored nowhere; the configuration gets
its hash only. Clients send it as "X-API-Key: KEY" or "Authorization: Bearer KEY".`,
		Example: "  skillyard keys generate --name ci",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			secret := make([]byte, keyBytes)
			if _, err := rand.Read(secret); err != nil {
				return fmt.Errorf("make key: %w", err)
			}
			key := "sk_" + base64.RawURLEncoding.EncodeToString(secret)
			return p.printKey(keyRow{Name: name, Key: key, SHA256: hashKey(key)}, asJSON)
		},
	}
	cmd.Flags().StringVar(&name, "name", "client", "the caller that uses the key; tasks belong to the `name`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
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
