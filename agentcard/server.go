package agentcard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// ServerOptions say how cards are served.
type ServerOptions struct {
	Options
	// Base returns the public base URL for a request; see Resolver.
	Base func(*http.Request) string
	// Vary lists the request headers that Base depends on.
	Vary []string
	// Mode is what a client gets that does not say its version: Hybrid (also "")
	// or V1.
	Mode Variant
	// MaxAge is how long clients may keep a card; 0 makes them ask every time.
	MaxAge time.Duration
	// Private says that a key is needed to get a card: it then shows what its caller
	// may use, and shared caches do not keep it.
	Private bool
	// Caller returns who makes a request, an anonymous one if they have shown no key. It
	// is required with Private; without that it opens the card of a private skill to
	// those who may use it.
	Caller func(*http.Request) a2a.Caller
	// Modified is the time of the Last-Modified header, normally when the
	// configuration was loaded; zero leaves the header out.
	Modified time.Time
	// NotFound answers for a skill that does not exist; nil means 404 without a
	// body.
	NotFound http.Handler
}

// maxCached bounds the encoded cards kept: three for each skill and base URL. A
// stranger can vary the base URL by loopback hosts only, and gains nothing: when
// the bound is reached, cards are encoded anew.
const maxCached = 1024

// Server serves cards. It is safe for concurrent use.
type Server struct {
	o     ServerOptions
	cache string // Cache-Control
	vary  string

	mu      sync.Mutex
	encoded map[cacheKey]encodedCard // guarded by mu
}

type cacheKey struct {
	base    string
	variant Variant
	skill   a2a.SkillID
	// skills are the ids of a caller's skills; "" is what everybody sees.
	skills string
}

// stranger is who has shown no key: the public card is made for them.
var stranger = a2a.Caller{Anonymous: true}

// credentials are the headers with which callers show who they are.
var credentials = []string{"Authorization", "X-API-Key"}

type encodedCard struct {
	body []byte
	etag string
}

// New returns a server. The error lists everything that Options lacks.
func New(o ServerOptions) (*Server, error) {
	err := o.check()
	if o.Mode != "" && o.Mode != Hybrid && o.Mode != V1 {
		err = errors.Join(err, fmt.Errorf("card mode is %q; it must be %s or %s", o.Mode, Hybrid, V1))
	}
	if o.Private && o.Caller == nil {
		err = errors.Join(err, errors.New("private card without callers"))
	}
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, encoded: map[cacheKey]encodedCard{}}
	vary := append([]string{"A2A-Version"}, o.Vary...)
	scope := "public"
	if o.Private {
		scope = "private"
		vary = append(vary, credentials...)
	}
	s.vary = strings.Join(vary, ", ")
	s.cache = scope + ", max-age=" + strconv.FormatInt(int64(o.MaxAge/time.Second), 10)
	return s, nil
}

// Pick returns the variant for a request: version is its A2A-Version header or
// query parameter, path its URL path, mode what a client gets that says nothing.
// agent.json is the name of old cards and never a pure 1.0 one.
func Pick(version, path string, mode Variant) Variant {
	old := strings.HasSuffix(path, "/agent.json")
	major, _, _ := strings.Cut(strings.TrimSpace(version), ".")
	switch {
	case major == "0":
		return V03
	case old && mode == V1:
		return V03
	case old:
		return Hybrid
	case major == "1":
		return V1
	case mode == V1:
		return V1
	}
	return Hybrid
}

// ServeHTTP answers GET and HEAD of {mount}/.well-known/agent-card.json and
// agent.json with the full card, and under /skills/{id} with the focused one,
// conditional requests included. That of a private skill is there for those only who
// may use it, and no shared cache keeps it. Other methods are the router's to refuse.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := r.Header.Get("A2A-Version")
	if version == "" {
		version = r.URL.Query().Get("A2A-Version")
	}
	who := audience{caller: stranger}
	if s.o.Private {
		who.caller = s.o.Caller(r)
	}
	base, variant, skill := s.o.Base(r), Pick(version, r.URL.Path, s.o.Mode), skillOf(r.URL.Path)
	c, err := s.card(base, variant, skill, who)
	h := w.Header()
	if err != nil && skill != "" && !s.o.Private && s.o.Caller != nil {
		KeepPrivate(h)
		c, err = s.card(base, variant, skill, audience{caller: s.o.Caller(r)})
	}
	h.Add("Vary", s.vary)
	if err != nil {
		s.notFound(w, r)
		return
	}
	h.Set("Content-Type", "application/json")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", s.cache)
	}
	h.Set("ETag", c.etag)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", s.o.Modified, bytes.NewReader(c.body))
}

// KeysPath is where a server that signs its cards has its public keys.
const KeysPath = "/.well-known/jwks.json"

// Keys returns a handler that answers with the public keys of the signer as a JWK Set,
// or nil if cards are not signed.
func (s *Server) Keys() (http.Handler, error) {
	if s.o.Signer == nil {
		return nil, nil
	}
	set, err := s.o.Signer.JWKS()
	if err != nil {
		return nil, err
	}
	etag := etagOf(set)
	age := "public, max-age=" + strconv.FormatInt(int64(s.o.MaxAge/time.Second), 10)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/jwk-set+json")
		h.Set("Cache-Control", age)
		h.Set("ETag", etag)
		h.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, "", s.o.Modified, bytes.NewReader(set))
	}), nil
}

func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if s.o.NotFound != nil {
		s.o.NotFound.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// skillOf returns the id in /skills/{id}/.well-known/…, or "".
func skillOf(path string) a2a.SkillID {
	rest, ok := strings.CutPrefix(path, "/skills/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return a2a.SkillID(id)
}

// JSON returns a card as JSON, for who runs the server: with "" the public one, else the
// focused one of a skill, which may be private. base has no slash at the end. The caller
// must not change the bytes. The only error a caller can cause is the id of a skill that
// does not exist.
func (s *Server) JSON(base string, v Variant, id a2a.SkillID) ([]byte, error) {
	who := audience{caller: stranger}
	if id != "" {
		who.caller = a2a.Caller{}
	}
	c, err := s.card(base, v, id, who)
	return c.body, err
}

// Extended returns the extended card for an authenticated caller: the result of
// GetExtendedAgentCard and agent/getAuthenticatedExtendedCard. It is the full card, with
// the skills that this caller may use, private ones among them. See KeepPrivate for its
// headers.
func (s *Server) Extended(r *http.Request, caller a2a.Caller, v Variant) ([]byte, error) {
	c, err := s.card(s.o.Base(r), v, "", audience{caller: caller, extended: true})
	return bytes.TrimSuffix(c.body, []byte("\n")), err
}

// KeepPrivate sets the headers of an answer with an extended card: no shared cache
// may keep it.
func KeepPrivate(h http.Header) {
	h.Set("Cache-Control", "private")
	for _, name := range credentials {
		h.Add("Vary", name)
	}
}

// audience is who a card is for.
type audience struct {
	caller a2a.Caller
	// extended shows private skills as well.
	extended bool
}

// skills returns what the full card lists.
func (a audience) skills(set *skills.Set) []*skills.Entry {
	all := set.For(a.caller).All()
	if a.extended {
		return all
	}
	return slices.DeleteFunc(all, func(e *skills.Entry) bool { return e.Private })
}

// card returns an encoded card, from the cache if it is there.
func (s *Server) card(base string, v Variant, id a2a.SkillID, who audience) (encodedCard, error) {
	key := cacheKey{base: base, variant: v, skill: id}
	var shown []*skills.Entry
	switch {
	case id != "":
		one := s.o.Skills.For(who.caller).Get(id)
		if one == nil {
			return encodedCard{}, fmt.Errorf("card of skill %q: no such skill", id)
		}
		shown = []*skills.Entry{one}
	case !who.caller.Anonymous:
		shown = who.skills(s.o.Skills)
		for _, e := range shown {
			key.skills += string(e.Info.ID) + "\x00"
		}
	}
	s.mu.Lock()
	c, ok := s.encoded[key]
	s.mu.Unlock()
	if ok {
		return c, nil
	}
	if shown == nil {
		shown = who.skills(s.o.Skills)
	}
	body, err := s.o.encode(base, v, shown, id)
	if err != nil {
		return encodedCard{}, err
	}
	c = encodedCard{body: body, etag: etagOf(body)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.encoded) >= maxCached {
		clear(s.encoded)
	}
	s.encoded[key] = c
	return c, nil
}
