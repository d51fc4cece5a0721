package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"slices"
	"testing"

	"github.com/skillyard/skillyard/agentcard"
)

// TestConformance_CARD_SIGN verifies a signed card with nothing of ours: the standard
// library alone makes the signed bytes and checks the signature.
func TestConformance_CARD_SIGN(t *testing.T) {
	c := probe(t, signing(t))
	card := c.Do("GET", cardPath, "", v10)
	encoded := func(path ...any) (string, []byte) {
		t.Helper()
		s, _ := card.Get(path...).(string)
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil || s == "" {
			t.Fatalf("%v is %q: %v", path, s, err)
		}
		return s, b
	}
	protected, header := encoded("signatures", 0, "protected")
	_, signature := encoded("signatures", 0, "signature")
	var head struct{ Alg, Kid string }
	if err := json.Unmarshal(header, &head); err != nil {
		t.Fatal(err)
	}
	t.Run("CARD-SIGN-003 alg and kid in the header", func(t *testing.T) {
		if head.Alg != "ES256" || head.Kid == "" {
			t.Errorf("got header %s, want ES256 and a kid", header)
		}
	})
	key := publicKey(t, c, head.Kid)
	verifies := func(payload []byte) bool {
		sum := sha256.Sum256([]byte(protected + "." + base64.RawURLEncoding.EncodeToString(payload)))
		r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
		return ecdsa.Verify(key, sum[:], r, s)
	}
	whole := members(card.Get())
	unsigned := members(card.Get())
	delete(unsigned, "signatures")
	t.Run("CARD-SIGN-001 canonical JSON is signed", func(t *testing.T) {
		if !verifies(sorted8785(t, unsigned)) {
			t.Error("the signature is not that of the canonical card")
		}
		if verifies(card.Body) {
			t.Error("the bytes that are served are signed, not the canonical ones")
		}
	})
	t.Run("CARD-SIGN-002 without the signatures", func(t *testing.T) {
		if verifies(sorted8785(t, whole)) {
			t.Error("the signatures are part of what is signed")
		}
	})
	t.Run("CARD-SIGN-004 a key that is withdrawn does not count", func(t *testing.T) {
		other, err := agentcard.ParseJWKS(probe(t, signing(t)).Do("GET", agentcard.KeysPath, "").Body)
		if err != nil {
			t.Fatal(err)
		}
		if kids, err := other.Verify(card.Body); err == nil {
			t.Errorf("verified with %v after the keys were replaced under the same ids", kids)
		}
	})
}

// publicKey is the key of an id in the server's key set.
func publicKey(t *testing.T, c *client, kid string) *ecdsa.PublicKey {
	t.Helper()
	var set struct {
		Keys []struct{ Kid, Kty, Crv, X, Y string }
	}
	if err := json.Unmarshal(c.Do("GET", agentcard.KeysPath, "").Body, &set); err != nil {
		t.Fatal(err)
	}
	for _, k := range set.Keys {
		if k.Kid != kid {
			continue
		}
		x, errX := base64.RawURLEncoding.DecodeString(k.X)
		y, errY := base64.RawURLEncoding.DecodeString(k.Y)
		if k.Kty != "EC" || k.Crv != "P-256" || errX != nil || errY != nil {
			t.Fatalf("key %+v: %v, %v", k, errX, errY)
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	t.Fatalf("no key %q in the set", kid)
	return nil
}

// sorted8785 is RFC 8785 for what this card holds: ASCII and whole numbers.
func sorted8785(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
