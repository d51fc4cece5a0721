package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/skills"
)

// schemas serves what data each skill takes and gives. It is immutable.
type schemas struct {
	bySkill map[a2a.SkillID]document
	// offer returns what the caller of a request may use.
	offer func(*http.Request) skills.Offer
	cache string // Cache-Control
	vary  string
}

// document is an answer that is made once.
type document struct {
	body []byte
	etag string
}

func newDocument(body []byte) document {
	sum := sha256.Sum256(body)
	return document{body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// newSchemas makes the answers. They are as public as the cards are, which hold the
// same.
func newSchemas(set *skills.Set, cfg *configs.Config) (*schemas, error) {
	s := &schemas{bySkill: make(map[a2a.SkillID]document)}
	s.offer = func(*http.Request) skills.Offer { return set.For(a2a.Caller{Anonymous: true}) }
	if cfg.Auth.ProtectCard {
		s.offer = func(r *http.Request) skills.Offer { return set.For(callerOf(r)) }
	}
	maxAge := "max-age=" + strconv.FormatInt(int64(cfg.Card.MaxAge/time.Second), 10)
	if s.cache = "public, " + maxAge; cfg.Auth.ProtectCard {
		s.cache, s.vary = "private, "+maxAge, "Authorization, X-API-Key"
	}
	for _, e := range set.All() {
		body, err := jsonv2.Marshal(struct {
			Skill  a2a.SkillID     `json:"skill"`
			Input  json.RawMessage `json:"input,omitzero"`
			Output json.RawMessage `json:"output,omitzero"`
		}{e.Info.ID, e.InputSchema.JSON(), e.OutputSchema.JSON()})
		if err != nil {
			return nil, err
		}
		s.bySkill[e.Info.ID] = newDocument(append(body, '\n'))
	}
	return s, nil
}

// ServeHTTP answers GET and HEAD of /skills/{skill}/schema; a member is not there if
// the skill has no such schema.
func (s *schemas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := s.offer(r).Get(access.From(r.Context()).Mount)
	if e == nil {
		notFound(w, r)
		return
	}
	d := s.bySkill[e.Info.ID]
	if s.vary != "" {
		w.Header().Add("Vary", s.vary)
	}
	serve(w, r, d, "application/json", s.cache)
}

// serve answers with a document, conditional requests included.
func serve(w http.ResponseWriter, r *http.Request, d document, contentType, cache string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", cache)
	h.Set("ETag", d.etag)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.body))
}
