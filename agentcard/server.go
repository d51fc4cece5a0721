package agentcard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
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
	// Private says that a key is needed to get a card, so that shared caches do
	// not keep it.
	Private bool
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
}

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
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, encoded: map[cacheKey]encodedCard{}}
	vary := append([]string{"A2A-Version"}, o.Vary...)
	scope := "public"
	if o.Private {
		scope = "private"
		vary = append(vary, "Authorization", "X-API-Key")
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
// conditional requests included. Other methods are the router's to refuse.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := r.Header.Get("A2A-Version")
	if version == "" {
		version = r.URL.Query().Get("A2A-Version")
	}
	c, err := s.card(s.o.Base(r), Pick(version, r.URL.Path, s.o.Mode), skillOf(r.URL.Path))
	if err != nil {
		s.notFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", s.cache)
	h.Add("Vary", s.vary)
	h.Set("ETag", c.etag)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", s.o.Modified, bytes.NewReader(c.body))
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

// JSON returns a card as JSON: the focused one of a skill, or with "" the full one.
// base has no slash at the end. The caller must not change the bytes. The only
// error a caller can cause is the id of a skill that does not exist.
func (s *Server) JSON(base string, v Variant, id a2a.SkillID) ([]byte, error) {
	c, err := s.card(base, v, id)
	return c.body, err
}

// Extended returns the extended card for an authenticated caller, in the form of a
// dialect ("1.0", else 0.3): the result of GetExtendedAgentCard and
// agent/getAuthenticatedExtendedCard. It is the full card.
func (s *Server) Extended(r *http.Request, dialect string) ([]byte, error) {
	v := V03
	if dialect == Version1 {
		v = V1
	}
	body, err := s.JSON(s.o.Base(r), v, "")
	return bytes.TrimSuffix(body, []byte("\n")), err
}

// card returns an encoded card, from the cache if it is there.
func (s *Server) card(base string, v Variant, id a2a.SkillID) (encodedCard, error) {
	key := cacheKey{base, v, id}
	s.mu.Lock()
	c, ok := s.encoded[key]
	s.mu.Unlock()
	if ok {
		return c, nil
	}
	var one *skills.Entry
	if id != "" {
		if one = s.o.Skills.Get(id); one == nil {
			return encodedCard{}, fmt.Errorf("card of skill %q: no such skill", id)
		}
	}
	body, err := s.o.encode(base, v, one)
	if err != nil {
		return encodedCard{}, err
	}
	sum := sha256.Sum256(body)
	c = encodedCard{body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.encoded) >= maxCached {
		clear(s.encoded)
	}
	s.encoded[key] = c
	return c, nil
}
