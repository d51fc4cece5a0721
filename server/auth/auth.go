// Package auth finds out who makes a request: API keys in X-API-Key or as a
// Bearer token, compared by hash and in constant time.
package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// Anonymous is the owner of what callers without a key make, where none is needed.
const Anonymous = "anonymous"

// Key is one accepted API key.
type Key struct {
	// Name names the caller; it owns the tasks made with the key, so that a key
	// can be replaced without losing them.
	Name   string
	Tenant string
	// SHA256 is the lower-case hex SHA-256 of the key.
	SHA256 string
	// Skills are the only skills the caller may use; empty means all.
	Skills []a2a.SkillID
}

// Hash returns the SHA-256 of a key as Key.SHA256 wants it.
func Hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Keys is the set of accepted keys. It is immutable.
type Keys struct {
	required bool
	keys     []entry
}

type entry struct {
	hash   [sha256.Size]byte
	caller a2a.Caller
}

// NewKeys makes a set; required says whether requests without a key are refused.
func NewKeys(required bool, keys ...Key) (*Keys, error) {
	k := &Keys{required: required}
	for _, key := range keys {
		b, err := hex.DecodeString(key.SHA256)
		if err != nil || len(b) != sha256.Size {
			return nil, fmt.Errorf("key %q: sha256 is not 64 hex digits", key.Name)
		}
		e := entry{caller: a2a.Caller{Scope: a2a.Scope{Tenant: key.Tenant, Owner: key.Name}, Name: key.Name, Skills: key.Skills}}
		copy(e.hash[:], b)
		k.keys = append(k.keys, e)
	}
	return k, nil
}

// Declared reports whether there are keys that a client could use.
func (k *Keys) Declared() bool { return len(k.keys) > 0 }

// Authenticate returns the caller of a request. A key that is not accepted is an
// error also where none is needed; so is a missing one where one is. The error
// is an *a2a.Error with code unauthenticated. get returns the value of a header of
// that name, in any case, or "".
func (k *Keys) Authenticate(get func(name string) string) (a2a.Caller, error) {
	bearer, apiKey := credentials(get)
	if bearer == "" && apiKey == "" {
		if k.required {
			return a2a.Caller{}, Unauthenticated()
		}
		return a2a.Caller{Scope: a2a.Scope{Owner: Anonymous}, Name: Anonymous, Anonymous: true}, nil
	}
	if !k.Declared() {
		// There is nothing to compare with; clients that always send a token to
		// every server still get in where everybody does.
		return a2a.Caller{Scope: a2a.Scope{Owner: Anonymous}, Name: Anonymous, Anonymous: true}, nil
	}
	for _, key := range [...]string{bearer, apiKey} {
		if key == "" {
			continue
		}
		if c, ok := k.match(key); ok {
			return c, nil
		}
	}
	return a2a.Caller{}, Unauthenticated()
}

// match compares with every key, so that the time tells nothing.
func (k *Keys) match(key string) (a2a.Caller, bool) {
	sum := sha256.Sum256([]byte(key))
	found := -1
	for i := range k.keys {
		if subtle.ConstantTimeCompare(sum[:], k.keys[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return a2a.Caller{}, false
	}
	return k.keys[found].caller, true
}

func credentials(get func(name string) string) (bearer, apiKey string) {
	if scheme, token, ok := strings.Cut(get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		bearer = strings.TrimSpace(token)
	}
	return bearer, strings.TrimSpace(get("X-API-Key"))
}

// Unauthenticated is the error of a request without a valid key. It is the same whatever is wrong with the key, or if there is none.
func Unauthenticated() error {
	return &a2a.Error{Code: a2a.CodeUnauthenticated, Message: "Send a valid API key: X-API-Key: KEY or Authorization: Bearer KEY."}
}
