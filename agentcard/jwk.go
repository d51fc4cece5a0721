package agentcard

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Algorithms of signatures (RFC 7518 §3.4, RFC 8037 §3.1).
const (
	AlgES256 = "ES256"
	AlgEdDSA = "EdDSA"
)

// jwk is a public key as RFC 7517 has it. The order of the members is that of the
// thumbprint (RFC 7638), which takes the first four.
type jwk struct {
	Crv string `json:"crv,omitempty"`
	Kty string `json:"kty,omitempty"`
	X   string `json:"x,omitempty"`
	Y   string `json:"y,omitempty"`
	Kid string `json:"kid,omitempty"`
	Alg string `json:"alg,omitempty"`
	Use string `json:"use,omitempty"`
}

type jwkSet struct {
	Keys []jwk `json:"keys"`
}

// coordinate is the length of a coordinate of P-256 in bytes.
const coordinate = 32

var b64 = base64.RawURLEncoding

// newJWK describes a public key: of P-256 or Ed25519.
func newJWK(public any) (jwk, error) {
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			break
		}
		point, err := k.Bytes()
		if err != nil {
			return jwk{}, fmt.Errorf("encode key: %w", err)
		}
		return jwk{
			Crv: "P-256", Kty: "EC", X: b64.EncodeToString(point[1 : 1+coordinate]), Y: b64.EncodeToString(point[1+coordinate:]),
			Alg: AlgES256, Use: "sig",
		}, nil
	case ed25519.PublicKey:
		return jwk{Crv: "Ed25519", Kty: "OKP", X: b64.EncodeToString(k), Alg: AlgEdDSA, Use: "sig"}, nil
	}
	return jwk{}, fmt.Errorf("the key must be of P-256 or Ed25519")
}

// thumbprint is the id of a key that has no other (RFC 7638, RFC 8037 §2).
func (k jwk) thumbprint() (string, error) {
	b, err := json.Marshal(jwk{Crv: k.Crv, Kty: k.Kty, X: k.X, Y: k.Y})
	if err != nil {
		return "", fmt.Errorf("encode key: %w", err)
	}
	sum := sha256.Sum256(b)
	return b64.EncodeToString(sum[:]), nil
}

// public returns the key, or nil if it is not one that verifies cards.
func (k jwk) public() any {
	if k.Use != "" && k.Use != "sig" {
		return nil
	}
	x, err := b64.DecodeString(k.X)
	if err != nil {
		return nil
	}
	switch {
	case k.Kty == "EC" && k.Crv == "P-256" && (k.Alg == "" || k.Alg == AlgES256):
		y, err := b64.DecodeString(k.Y)
		if err != nil || len(x) != coordinate || len(y) != coordinate {
			return nil
		}
		point := append(append([]byte{4}, x...), y...)
		if p, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point); err == nil {
			return p
		}
	case k.Kty == "OKP" && k.Crv == "Ed25519" && (k.Alg == "" || k.Alg == AlgEdDSA || k.Alg == "Ed25519"):
		if len(x) == ed25519.PublicKeySize {
			return ed25519.PublicKey(x)
		}
	}
	return nil
}
