package server

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/cors"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/server/rest"
)

// routes is every route of the server, in one place.
//
// The RPC endpoint answers at three mounts, each with and without a trailing
// slash and never with a redirect, since its clients follow none. The card is at
// the root and under every mount, because clients look for it relative to
// whatever URL they were given.
func (a *App) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(a.observe)
	if origins := a.cfg.Server.CORSOrigins; len(origins) > 0 {
		r.Use(cors.Handler(cors.Options{
			AllowedOrigins: origins,
			AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete},
			AllowedHeaders: []string{
				"Authorization", "X-API-Key", "Content-Type", "A2A-Version", "A2A-Extensions", "X-A2A-Extensions",
				"Idempotency-Key", "Prefer", "Last-Event-ID", "traceparent", "X-Request-Id",
			},
			ExposedHeaders: []string{"A2A-Version", "A2A-Extensions", "X-A2A-Extensions", "Content-Location", "Location", "Retry-After", "X-Request-Id", "X-Task-Status"},
			MaxAge:         600,
		}))
	}
	r.NotFound(notFound)
	r.MethodNotAllowed(notAllowed("GET, HEAD, POST"))

	// Each path says itself what it allows; a later route of it wins.
	read := func(path string, h http.HandlerFunc) {
		r.HandleFunc(path, notAllowed("GET, HEAD"))
		r.Get(path, h)
		r.Head(path, h)
	}
	read("/healthz", health)
	read("/readyz", a.ready)
	read("/openapi.json", describe())
	if a.probe != nil {
		r.HandleFunc("/probe/stream", notAllowed("GET"))
		r.Method(http.MethodGet, "/probe/stream", a.probe)
	}

	rpc := a.authenticate(a.rpc)
	for _, path := range []string{"/", "/api/a2a/tasks", "/api/a2a/tasks/"} {
		r.HandleFunc(path, notAllowed("POST"))
		r.Method(http.MethodPost, path, rpc)
	}
	if a.cfg.Stream.Enabled {
		status := a.rpc.StatusStream(taskOf)
		r.HandleFunc("/api/a2a/tasks/{task}/stream", notAllowed("GET"))
		r.Method(http.MethodGet, "/api/a2a/tasks/{task}/stream", a.authenticate(status))
	}
	skill := a.plain.Speak(a.authenticate(a.plain.Skill(a.rpc)))
	for _, path := range []string{"/skills/{skill}", "/skills/{skill}/"} {
		r.HandleFunc(path, notAllowed("POST", "GET /skills says what each skill is for and how to call it."))
		r.Post(path, mount(skill))
	}

	// The REST binding has routes of its own, which chi's patterns cannot tell apart.
	for base, depth := range map[string]int{restBase: 1, "/skills/{skill}" + restBase: 3} {
		h := rest.New(a.binding, depth)
		r.Handle(base+"/*", mount(speak(h.Refuse, a.authenticate(h))))
	}

	// Plain HTTP for people.
	people := func(method, path string, h http.HandlerFunc) {
		r.Method(method, path, a.plain.Speak(a.authenticate(h)))
	}
	for path, list := range map[string]http.HandlerFunc{
		"/skills": a.plain.Skills, "/skills/": a.plain.Skills, "/tasks": a.plain.Tasks, "/tasks/": a.plain.Tasks,
	} {
		r.HandleFunc(path, notAllowed("GET, HEAD"))
		people(http.MethodGet, path, list)
		people(http.MethodHead, path, list)
	}
	for _, slash := range []string{"", "/"} {
		task := "/tasks/{task}" + slash
		r.HandleFunc(task, notAllowed("GET, HEAD, POST, DELETE"))
		people(http.MethodGet, task, a.plain.Task)
		people(http.MethodHead, task, a.plain.Task)
		people(http.MethodPost, task, a.plain.Answer)
		people(http.MethodDelete, task, a.plain.Cancel)
		stream := "/tasks/{task}/stream" + slash
		r.HandleFunc(stream, notAllowed("GET"))
		people(http.MethodGet, stream, a.plain.Stream)
	}

	known := a.recognize
	if a.cfg.Auth.ProtectCard {
		known = a.authenticate
	}
	card, schema := known(a.card), known(a.schemas)
	read("/skills/{skill}/schema", mount(schema))
	read("/skills/{skill}/schema/", mount(schema))
	for _, base := range []string{
		"", "/api", "/api/a2a", "/api/a2a/tasks", restBase, restBase + "/v1",
		"/skills/{skill}", "/skills/{skill}" + restBase, "/skills/{skill}" + restBase + "/v1",
	} {
		for _, name := range []string{"agent-card.json", "agent.json"} {
			read(base+"/.well-known/"+name, mount(card))
		}
	}
	if a.cardKeys != nil {
		read(agentcard.KeysPath, a.cardKeys.ServeHTTP)
	}
	return r
}

// taskOf returns the task of the path. The router cuts a path that needs escapes
// before they are undone.
func taskOf(r *http.Request) a2a.TaskID {
	id := chi.URLParam(r, "task")
	if r.URL.RawPath != "" {
		if plain, err := url.PathUnescape(id); err == nil {
			id = plain
		}
	}
	return a2a.TaskID(id)
}
