package agentcard

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

func TestB017_Canonical(t *testing.T) {
	for name, c := range map[string]struct{ card, want string }{
		"order, spaces, signatures": {`{"name": "n",` + "\n" + `"description":"d","signatures":[{"x":1}]}`, `{"description":"d","name":"n"}`},
		"required members stay":     {`{"skills":[],"name":"","defaultInputModes":[],"version":"","capabilities":{}}`, `{"capabilities":{},"defaultInputModes":[],"name":"","skills":[],"version":""}`},
		"members of a skill": {
			`{"skills":[{"id":"a","name":"","tags":[],"examples":[],"inputModes":[],"outputModes":[],"securityRequirements":[]}]}`,
			`{"skills":[{"id":"a","name":"","tags":[]}]}`,
		},
		"members with presence stay": {
			`{"capabilities":{"streaming":false,"pushNotifications":false,"extendedAgentCard":false,"extensions":[]},"iconUrl":"","documentationUrl":""}`,
			`{"capabilities":{"extendedAgentCard":false,"pushNotifications":false,"streaming":false},"documentationUrl":"","iconUrl":""}`,
		},
		"an extension": {
			`{"capabilities":{"extensions":[{"uri":"x:y","description":"","required":false,"params":{"a":false,"b":null,"c":[]}}]}}`,
			`{"capabilities":{"extensions":[{"params":{"a":false,"b":null,"c":[]},"uri":"x:y"}]}}`,
		},
		"a required extension": {`{"capabilities":{"extensions":[{"uri":"x:y","required":true}]}}`, `{"capabilities":{"extensions":[{"required":true,"uri":"x:y"}]}}`},
		"security": {
			`{"securitySchemes":{"k":{"apiKeySecurityScheme":{"description":"","location":"header","name":""}}},"securityRequirements":[{"schemes":{"k":{"list":[]}}}]}`,
			`{"securityRequirements":[{"schemes":{"k":{}}}],"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"header","name":""}}}}`,
		},
		"no security":        {`{"securitySchemes":{},"securityRequirements":[]}`, `{}`},
		"a tenant":           {`{"supportedInterfaces":[{"url":"u","tenant":""},{"url":"v","tenant":"t"}]}`, `{"supportedInterfaces":[{"url":"u"},{"tenant":"t","url":"v"}]}`},
		"null is absent":     {`{"name":null,"provider":null,"description":"d"}`, `{"description":"d"}`},
		"what is not known":  {`{"url":"","security":[{"k":[]}],"x":{"b":0,"a":""}}`, `{"security":[{"k":[]}],"url":"","x":{"a":"","b":0}}`},
		"numbers and texts":  {`{"x":[1.0,1e3,0.000001,1e21,-0],"name":"\u00e9\u2028\/<\u20ac\ud83d\ude00"}`, `{"name":"é` + "\u2028" + `/<€😀","x":[1,1000,0.000001,1e+21,0]}`},
		"keys by UTF-16":     {`{"x":{"\ufb33":1,"\ud83d\ude00":2,"a":3}}`, `{"x":{"a":3,"😀":2,"` + "\ufb33" + `":1}}`},
		"a list as a member": {`{"provider":[{"url":""}],"skills":"none","capabilities":[]}`, `{"capabilities":[],"provider":[{"url":""}],"skills":"none"}`},
	} {
		got, err := Canonical([]byte(c.card))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v\nwant %s", name, got, err, c.want)
			continue
		}
		if again, err := Canonical(got); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: the canonical form of itself is %s, %v", name, again, err)
		}
	}
	for _, bad := range []string{``, `[]`, `"x"`, `null`, `{"a":1,"a":2}`, `{"a":1}{}`, `{"name":"` + "\xff" + `"}`} {
		if got, err := Canonical([]byte(bad)); err == nil {
			t.Errorf("%q: got %s, want an error", bad, got)
		}
	}
}

func newKey(t testing.TB, alg string) string {
	t.Helper()
	pem, err := GenerateSigningKey(alg)
	if err != nil {
		t.Fatal(err)
	}
	return pem
}

func newSigner(t testing.TB, keys ...SigningKey) *Signer {
	t.Helper()
	s, err := NewSigner(public+KeysPath, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keySet(t testing.TB, s *Signer) KeySet {
	t.Helper()
	b, err := s.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseJWKS(b)
	if err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return k
}

func TestServer_signed(t *testing.T) {
	signer := newSigner(t, SigningKey{KID: "old", PEM: newKey(t, AlgES256)}, SigningKey{KID: "new", PEM: newKey(t, AlgEdDSA)})
	keys := keySet(t, signer)
	for name, o := range map[string]ServerOptions{"full": full(t), "minimal": minimal(t)} {
		o.Signer = signer
		o.Extensions = a2a.Extensions{{URI: "https://ex/a", Params: []byte(`{"n":1.50,"t":"é"}`)}, {URI: "https://ex/b", Required: true}}
		s, other := newServer(t, o, Resolver{PublicURL: public}), newServer(t, o, Resolver{PublicURL: public})
		for _, v := range []Variant{Hybrid, V03, V1} {
			for _, id := range []a2a.SkillID{"", "list_board"} {
				body, err := s.JSON(public, v, id)
				if err != nil {
					t.Fatal(err)
				}
				checkForm(t, v, body)
				kids, err := keys.Verify(body)
				if v == Hybrid {
					if !errors.Is(err, ErrNotSigned) {
						t.Errorf("%s %s: got %v, %v, want it unsigned", name, v, kids, err)
					}
					continue
				}
				if err != nil || !slices.Equal(kids, []string{"old", "new"}) {
					t.Errorf("%s %s %q: got %v, %v", name, v, id, kids, err)
				}
				// One card is the same bytes everywhere, or caches would see two.
				if same, err := other.JSON(public, v, id); err != nil || !bytes.Equal(same, body) {
					t.Errorf("%s %s: another server signs differently: %v", name, v, err)
				}
				tamper(t, keys, body)
			}
		}
		body, err := s.Extended(httptest.NewRequest("POST", "/", nil), a2a.Caller{Name: "a"}, V1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Verify(body); err != nil {
			t.Errorf("%s extended: %v", name, err)
		}
	}
}

// tamper changes every value of a card in turn: each change is noticed, and none of the
// form is.
func tamper(t *testing.T, keys KeySet, body []byte) {
	t.Helper()
	var card map[string]any
	if err := json.Unmarshal(body, &card); err != nil {
		t.Fatal(err)
	}
	form, err := json.MarshalIndent(card, "", "   ")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Verify(form); err != nil {
		t.Errorf("after a round trip through JSON: %v", err)
	}
	try := func(what string) {
		t.Helper()
		changed, err := json.Marshal(card)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Verify(changed); err == nil {
			t.Errorf("%s: not noticed", what)
		}
	}
	var walk func(at string, v any, set func(any))
	walk = func(at string, v any, set func(any)) {
		switch x := v.(type) {
		case map[string]any:
			for name, e := range x {
				if at == "" && name == "signatures" {
					continue
				}
				walk(at+"/"+name, e, func(n any) { x[name] = n })
				delete(x, name)
				try(at + "/" + name + " removed")
				x[name] = e
			}
			x["added"] = "x"
			try(at + "/added")
			delete(x, "added")
		case []any:
			for i, e := range x {
				walk(at+"/#", e, func(n any) { x[i] = n })
			}
			set(append(slices.Clone(x), "x"))
			try(at + " longer")
			set(x)
		case string:
			set(x + "x")
			try(at)
			set(x)
		case bool:
			set(!x)
			try(at)
			set(x)
		case float64:
			set(x + 1)
			try(at)
			set(x)
		}
	}
	walk("", card, nil)
}

func TestKeySet_Verify(t *testing.T) {
	ec, ed := newKey(t, AlgES256), newKey(t, AlgEdDSA)
	o := minimal(t)
	card := func(keys ...SigningKey) []byte {
		t.Helper()
		o.Signer = newSigner(t, keys...)
		body, err := newServer(t, o, Resolver{PublicURL: public}).JSON(public, V1, "")
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	known := keySet(t, newSigner(t, SigningKey{KID: "a", PEM: ec}, SigningKey{KID: "b", PEM: ed}))
	good := card(SigningKey{KID: "a", PEM: ec})
	// header puts another protected header before the signature.
	header := func(text string) []byte {
		var c map[string]any
		if err := json.Unmarshal(good, &c); err != nil {
			t.Fatal(err)
		}
		c["signatures"].([]any)[0].(map[string]any)["protected"] = base64.RawURLEncoding.EncodeToString([]byte(text))
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		card []byte
		kids string
		err  string
	}{
		"good":                     {good, "a", ""},
		"both":                     {card(SigningKey{KID: "b", PEM: ed}, SigningKey{KID: "a", PEM: ec}), "b a", ""},
		"one key is not known":     {card(SigningKey{KID: "x", PEM: ec}, SigningKey{KID: "b", PEM: ed}), "b", ""},
		"no key is known":          {card(SigningKey{PEM: ec}), "", "is known"},
		"another key of that name": {card(SigningKey{KID: "b", PEM: ec}), "", "does not match"},
		"not signed":               {[]byte(`{"name":"x"}`), "", "not signed"},
		"no signatures":            {[]byte(`{"name":"x","signatures":[]}`), "", "not signed"},
		"no card":                  {[]byte(`x`), "", "read card"},
		"broken signature":         {[]byte(`{"signatures":[{"protected":"!","signature":""}]}`), "", "base64url"},
		"broken header":            {header(`[]`), "", "right form"},
		"no kid":                   {header(`{"alg":"ES256"}`), "", "names no key"},
		"none":                     {header(`{"alg":"none","kid":"a"}`), "", "does not match"},
		"another algorithm":        {header(`{"alg":"EdDSA","kid":"a"}`), "", "does not match"},
		"something critical":       {header(`{"alg":"ES256","kid":"a","crit":["exp"]}`), "", "exp"},
		"another header":           {header(`{"alg":"ES256","kid":"a","typ":"JOSE"}`), "", "does not match"},
	} {
		kids, err := known.Verify(c.card)
		if got := strings.Join(kids, " "); got != c.kids {
			t.Errorf("%s: got %q, want %q", name, got, c.kids)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.err)
		}
	}
}

// TestParseJWKS_examples reads the keys of RFC 8037 A.2 and RFC 7517 A.1, and takes
// their thumbprints.
func TestParseJWKS_examples(t *testing.T) {
	k, err := ParseJWKS([]byte(`{"keys":[
		{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"ed"},
		{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"not for this"},
		{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"ec"},
		{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","kid":"not on the curve"},
		{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"rsa"},{"kty":"oct","k":"AA","kid":"oct"},{"kty":"OKP","crv":"Ed25519","x":"AA","kid":"short"},
		{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var kids []string
	for _, key := range k.keys {
		kids = append(kids, key.Kid)
	}
	if d := cmp.Diff([]string{"ed", "ec"}, kids); d != "" {
		t.Errorf("usable keys (-want +got):\n%s", d)
	}
	if got, err := k.keys[0].thumbprint(); err != nil || got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("got thumbprint %s, %v; want that of RFC 8037 A.3", got, err)
	}
	for _, bad := range []string{``, `{}`, `{"keys":[]}`, `{"keys":[{"kty":"RSA","kid":"x"}]}`, `[]`} {
		if _, err := ParseJWKS([]byte(bad)); err == nil {
			t.Errorf("%s: got no error", bad)
		}
	}
}

func TestNewSigner_refuses(t *testing.T) {
	ec := newKey(t, AlgES256)
	for want, keys := range map[string][]SigningKey{
		"no keys":                nil,
		`kid "x" is there twice`: {{KID: "x", PEM: ec}, {KID: "x", PEM: newKey(t, AlgEdDSA)}},
		"signing key 1: it must": {{PEM: ec}, {PEM: "nothing"}},
		"one PRIVATE KEY":        {{PEM: ec + ec}},
		"not a private key":      {{PEM: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}},
		"P-256 or Ed25519":       {{PEM: p384(t)}},
	} {
		if _, err := NewSigner("", keys...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if _, err := GenerateSigningKey("RS256"); err == nil {
		t.Error("a key for RS256")
	}
}

// p384 is a key of a curve that no signature of ours has.
func p384(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestNew_signed_refuses: what verifiers do not agree on is not signed.
func TestNew_signed_refuses(t *testing.T) {
	signer := newSigner(t, SigningKey{PEM: newKey(t, AlgES256)})
	for want, edit := range map[string]func(*ServerOptions){
		"/capabilities/extensions/0/params/list": func(o *ServerOptions) {
			o.Extensions = a2a.Extensions{{URI: "x:y", Params: []byte(`{"list":[]}`)}}
		},
		"/skills/0/examples/0": func(o *ServerOptions) { o.Skills = newSet(t, skills.Info{ID: "a", Examples: []string{""}}) },
	} {
		o := minimal(t)
		edit(&o)
		if _, err := New(o); err != nil {
			t.Errorf("unsigned: %v", err)
		}
		o.Signer = signer
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %s", err, want)
		}
	}
}

func TestServer_Keys(t *testing.T) {
	if h, err := newServer(t, minimal(t), Resolver{PublicURL: public}).Keys(); h != nil || err != nil {
		t.Errorf("unsigned: got %v, %v, want none", h, err)
	}
	o := full(t)
	o.Signer = newSigner(t, SigningKey{KID: "k", PEM: newKey(t, AlgEdDSA)})
	h, err := newServer(t, o, Resolver{PublicURL: public}).Keys()
	if err != nil {
		t.Fatal(err)
	}
	c := serve(t, h)
	resp, body := c.do("GET", KeysPath)
	if _, err := ParseJWKS([]byte(body)); err != nil || resp.Header.Get("Cache-Control") != "public, max-age=60" || strings.Contains(body, `"d"`) {
		t.Errorf("got %v %v %s", err, resp.Header, body)
	}
	if again, _ := c.do("GET", KeysPath, "If-None-Match", resp.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("got %s for the same ETag", again.Status)
	}
}

// FuzzKeySet_Verify: no card makes it panic, and none that was not signed is good.
func FuzzKeySet_Verify(f *testing.F) {
	signer := newSigner(f, SigningKey{KID: "k", PEM: newKey(f, AlgES256)})
	keys := keySet(f, signer)
	f.Add([]byte(`{"name":"x","signatures":[{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ","signature":"AA"}]}`))
	f.Add([]byte(`{"capabilities":{"extensions":[{"required":false}]},"skills":[null,1,{"tags":[]}],"securitySchemes":{"a":[]}}`))
	f.Fuzz(func(t *testing.T, card []byte) {
		if kids, err := keys.Verify(card); err == nil {
			t.Errorf("%s is signed by %v", card, kids)
		}
		canonical, err := Canonical(card)
		if err != nil {
			return
		}
		if again, err := Canonical(canonical); err != nil || !bytes.Equal(again, canonical) {
			t.Errorf("got %s, then %s, %v", canonical, again, err)
		}
	})
}
