package agentcard

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"

	"github.com/go-json-experiment/json"
)

// ErrNotSigned says that a card has no signature.
var ErrNotSigned = errors.New("card is not signed")

// KeySet holds the public keys that cards are verified with.
type KeySet struct {
	keys []jwk
}

// ParseJWKS reads a JWK Set (RFC 7517 §5). Keys that cannot verify a card are left out:
// those without an id, of other kinds, or not for signatures.
func ParseJWKS(b []byte) (KeySet, error) {
	var set jwkSet
	if err := json.Unmarshal(b, &set); err != nil {
		return KeySet{}, fmt.Errorf("read keys: %w", err)
	}
	var k KeySet
	for _, key := range set.Keys {
		if key.Kid != "" && key.public() != nil {
			k.keys = append(k.keys, key)
		}
	}
	if k.keys == nil {
		return KeySet{}, errors.New("read keys: no key of P-256 or Ed25519 with an id")
	}
	return k, nil
}

// Verify checks the signatures of a card and returns the ids of the keys that signed
// it. One good signature is enough, since a card that is signed with an old and a new
// key has to satisfy those who know only one of them. Without any it is an error:
// ErrNotSigned, or what is wrong with each signature.
func (k KeySet) Verify(card []byte) (kids []string, err error) {
	var c struct {
		Signatures []signature `json:"signatures"`
	}
	if err := json.Unmarshal(card, &c); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	if len(c.Signatures) == 0 {
		return nil, ErrNotSigned
	}
	payload, err := Canonical(card)
	if err != nil {
		return nil, err
	}
	encoded := b64.EncodeToString(payload)
	var faults []error
	for i, s := range c.Signatures {
		kid, err := k.verify(s, encoded)
		if err != nil {
			faults = append(faults, fmt.Errorf("signature %d: %w", i+1, err))
			continue
		}
		kids = append(kids, kid)
	}
	if kids == nil {
		return nil, errors.Join(faults...)
	}
	return kids, nil
}

// verify checks one signature and returns the id of its key.
func (k KeySet) verify(s signature, payload string) (string, error) {
	text, err := b64.DecodeString(s.Protected)
	if err != nil {
		return "", errors.New("its header is not base64url")
	}
	var h protected
	if err := json.Unmarshal(text, &h); err != nil {
		return "", errors.New("its header is not a JSON object of the right form")
	}
	raw, err := b64.DecodeString(s.Signature)
	switch {
	case err != nil:
		return "", errors.New("it is not base64url")
	case h.Kid == "":
		return "", errors.New("it names no key")
	case len(h.Crit) > 0:
		return "", fmt.Errorf("it asks for %q to be understood", h.Crit[0])
	}
	known := false
	for _, key := range k.keys {
		if key.Kid != h.Kid {
			continue
		}
		known = true
		// The algorithm is the key's; what the header says only has to agree.
		if check(key.public(), h.Alg, []byte(s.Protected+"."+payload), raw) {
			return h.Kid, nil
		}
	}
	if !known {
		return "", fmt.Errorf("no key %q is known", h.Kid)
	}
	return "", fmt.Errorf("it does not match the card and the key %q", h.Kid)
}

func check(public any, alg string, input, raw []byte) bool {
	switch p := public.(type) {
	case ed25519.PublicKey:
		return (alg == AlgEdDSA || alg == "Ed25519") && len(raw) == ed25519.SignatureSize && ed25519.Verify(p, input, raw)
	case *ecdsa.PublicKey:
		if alg != AlgES256 || len(raw) != 2*coordinate {
			return false
		}
		digest := sha256.Sum256(input)
		return ecdsa.Verify(p, digest[:], new(big.Int).SetBytes(raw[:coordinate]), new(big.Int).SetBytes(raw[coordinate:]))
	}
	return false
}
