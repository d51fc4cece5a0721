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
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/skills"
)

// schemas serves what data each skill takes and gives. It is immutable.
type schemas struct {
	bySkill map[a2a.SkillID]document
	set     *skills.Set
	// protected says that strangers get none.
	protected bool
	maxAge    string // of Cache-Control
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
	s := &schemas{
		bySkill: make(map[a2a.SkillID]document), set: set, protected: cfg.Auth.ProtectCard,
		maxAge: "max-age=" + strconv.FormatInt(int64(cfg.Card.MaxAge/time.Second), 10),
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
	id := access.From(r.Context()).Mount
	cache := "public, "
	var e *skills.Entry
	if !s.protected {
		e = s.set.For(a2a.Caller{Anonymous: true}).Get(id)
	}
	if e == nil {
		// Private skills are there for who may use them.
		agentcard.KeepPrivate(w.Header())
		cache = "private, "
		if e = s.set.For(callerOf(r)).Get(id); e == nil {
			notFound(w, r)
			return
		}
	}
	serve(w, r, s.bySkill[e.Info.ID], "application/json", cache+s.maxAge)
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
