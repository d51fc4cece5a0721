package agentcard

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json"
)

// SigningKey is a private key that signs cards.
type SigningKey struct {
	// KID is the key's id; "" takes the thumbprint of RFC 7638.
	KID string
	// PEM is the key in PKCS #8, of P-256 (ES256) or Ed25519 (EdDSA).
	PEM string
}

// Signer signs cards with every one of its keys (A2A 1.0 §8.4). Its signatures are
// deterministic, so that one card is the same bytes in every process. It is immutable.
type Signer struct {
	keys []signingKey
}

type signingKey struct {
	private crypto.Signer
	public  jwk
	// header is the protected header, encoded.
	header string
}

// signature is AgentCardSignature (A2A 1.0 §4.4.7).
type signature struct {
	Protected string `json:"protected"`
	Signature string `json:"signature"`
}

// protected is the protected header of a signature.
type protected struct {
	Alg  string   `json:"alg"`
	JKU  string   `json:"jku,omitempty"`
	Kid  string   `json:"kid"`
	Typ  string   `json:"typ,omitempty"`
	Crit []string `json:"crit,omitempty"`
}

// NewSigner makes a signer; jku is the URL where the public keys are, or "". Errors
// name a key by its place in the list, which begins with 0.
func NewSigner(jku string, keys ...SigningKey) (*Signer, error) {
	if len(keys) == 0 {
		return nil, errors.New("signer has no keys")
	}
	s := &Signer{}
	seen := map[string]bool{}
	for i, k := range keys {
		key, err := newSigningKey(k, jku)
		if err == nil && seen[key.public.Kid] {
			err = fmt.Errorf("kid %q is there twice", key.public.Kid)
		}
		if err != nil {
			return nil, fmt.Errorf("signing key %d: %w", i, err)
		}
		seen[key.public.Kid] = true
		s.keys = append(s.keys, key)
	}
	return s, nil
}

func newSigningKey(k SigningKey, jku string) (signingKey, error) {
	block, rest := pem.Decode([]byte(k.PEM))
	if block == nil || block.Type != "PRIVATE KEY" || strings.TrimSpace(string(rest)) != "" {
		return signingKey{}, errors.New("it must be one PRIVATE KEY (PKCS #8) in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return signingKey{}, errors.New("it is not a private key in PKCS #8")
	}
	private, ok := parsed.(crypto.Signer)
	if !ok {
		return signingKey{}, errors.New("the key must be of P-256 or Ed25519")
	}
	public, err := newJWK(private.Public())
	if err != nil {
		return signingKey{}, err
	}
	if public.Kid = k.KID; k.KID == "" {
		if public.Kid, err = public.thumbprint(); err != nil {
			return signingKey{}, err
		}
	}
	header, err := json.Marshal(protected{Alg: public.Alg, JKU: jku, Kid: public.Kid, Typ: "JOSE"})
	if err != nil {
		return signingKey{}, fmt.Errorf("encode header: %w", err)
	}
	return signingKey{private: private, public: public, header: b64.EncodeToString(header)}, nil
}

// KIDs returns the ids of the keys in their order.
func (s *Signer) KIDs() []string {
	ids := make([]string, len(s.keys))
	for i, k := range s.keys {
		ids[i] = k.public.Kid
	}
	return ids
}

// JWKS returns the public keys as a JWK Set (RFC 7517 §5).
func (s *Signer) JWKS() ([]byte, error) {
	var set jwkSet
	for _, k := range s.keys {
		set.Keys = append(set.Keys, k.public)
	}
	b, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode keys: %w", err)
	}
	return append(b, '\n'), nil
}

// sign returns the signatures of a card, one for each key.
func (s *Signer) sign(card []byte) ([]signature, error) {
	payload, err := Canonical(card)
	if err != nil {
		return nil, err
	}
	encoded := b64.EncodeToString(payload)
	list := make([]signature, len(s.keys))
	for i, k := range s.keys {
		raw, err := k.sign([]byte(k.header + "." + encoded))
		if err != nil {
			return nil, fmt.Errorf("sign card: %w", err)
		}
		list[i] = signature{Protected: k.header, Signature: b64.EncodeToString(raw)}
	}
	return list, nil
}

func (k signingKey) sign(input []byte) ([]byte, error) {
	if k.public.Alg == AlgEdDSA {
		return k.private.Sign(nil, input, crypto.Hash(0))
	}
	digest := sha256.Sum256(input)
	// Without a source of chance the signature is that of RFC 6979.
	der, err := k.private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		return nil, err
	}
	raw := make([]byte, 2*coordinate) // RFC 7518 §3.4
	pair.R.FillBytes(raw[:coordinate])
	pair.S.FillBytes(raw[coordinate:])
	return raw, nil
}

// GenerateSigningKey makes a new key for AlgES256 or AlgEdDSA and returns it in PEM.
func GenerateSigningKey(alg string) (string, error) {
	var key any
	var err error
	switch alg {
	case AlgES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case AlgEdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		return "", fmt.Errorf("algorithm is %q; it must be %s or %s", alg, AlgES256, AlgEdDSA)
	}
	if err != nil {
		return "", fmt.Errorf("make key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("encode key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}
