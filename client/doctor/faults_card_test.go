package doctor_test

import (
	"net/http"
	"strings"
)

// urlFaults are those in the URLs of the card, cardFaults others of the card.
func urlFaults() []fault {
	return []fault{
		{
			name:  "the scheme of the card is http",
			front: front{secure: true, forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "http") }},
			want:  map[string]string{"card urls": "fail is http, though"},
			fix:   "proxy_set_header X-Forwarded-Proto https;",
		},
		{
			name:  "the card names an internal host",
			front: front{forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "skillyard.svc:8080") }},
			want:  map[string]string{"card urls": "fail http://skillyard.svc:8080/api/a2a/tasks and 1 more is another host"},
			fix:   "proxy_set_header X-Forwarded-Host $http_host;",
		},
		{
			name:  "the card names the address to listen on",
			front: front{respond: rewriteCard("127.0.0.1", "0.0.0.0")},
			want:  map[string]string{"card urls": "fail is an address to listen on"},
		},
		{
			name:  "the card names another port",
			front: front{forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "127.0.0.1:9") }},
			want:  map[string]string{"card urls": "fail has another scheme or port than the URL that was given, and nothing answers"},
		},
		{
			name:  "the card leads past the proxy",
			front: front{forward: dropForwarded},
			want:  map[string]string{"card urls": "warn clients go past the proxy"},
		},
		{
			name:  "the card names another public host",
			front: front{forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "agents.example.com") }},
			want:  map[string]string{"card urls": "warn was not called"},
		},
		{
			name:  "the card has paths for URLs",
			front: front{respond: rewriteCard(`"url":"http://127.0.0.1`, `"url":"//127.0.0.1`)},
			want:  map[string]string{"card urls": "fail is no absolute URL"},
		},
		{
			name: "the prefix is lost", path: "/my",
			front: front{prefix: "/my", forward: func(r *http.Request) { r.Header.Del("X-Forwarded-Prefix") }},
			want:  map[string]string{"card urls": "fail it lacks the path under which the proxy has the server, /my"},
			fix:   "proxy_set_header X-Forwarded-Prefix /my;",
		},
		{
			name: "a prefix that is a mount as well is lost", path: "/api",
			front: front{prefix: "/api", forward: func(r *http.Request) { r.Header.Del("X-Forwarded-Prefix") }},
			want:  map[string]string{"card urls": "fail it lacks the path under which the proxy has the server, /api"},
			fix:   "proxy_set_header X-Forwarded-Prefix /api;",
		},
		{
			name: "the endpoint is on another host",
			front: front{
				forward: func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "api.example.com") },
				wrap: instead(func(r *http.Request) bool { return !isCard(r) && !isProbe(r) },
					func(w http.ResponseWriter, _ *http.Request) { html(w, 404) }),
			},
			want: map[string]string{"card urls": "warn http://api.example.com/api/a2a/tasks"},
		},
	}
}

func cardFaults() []fault {
	return []fault{
		{
			name: "no card",
			front: front{wrap: instead(isCard, func(w http.ResponseWriter, _ *http.Request) {
				html(w, 404)
			})},
			want: map[string]string{"card": "fail there is no agent card"},
		},
		{
			name:  "the card is no JSON by its type",
			front: front{respond: func(r *http.Response) error { setType(r, "text/plain"); return nil }},
			want:  map[string]string{"card": `warn Content-Type is "text/plain"`},
		},
		{
			name: "the card has no ETag",
			front: front{respond: func(r *http.Response) error {
				if isCard(r.Request) {
					r.Header.Del("ETag")
				}
				return nil
			}},
			want: map[string]string{"card caching": "warn no ETag"},
		},
		{
			name:  "If-None-Match is dropped",
			front: front{forward: func(r *http.Request) { r.Header.Del("If-None-Match") }},
			want:  map[string]string{"card caching": "warn gets HTTP 200 instead of 304"},
		},
		{
			name: "the old place of the card is redirected",
			front: front{wrap: instead(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/agent.json") },
				func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, strings.TrimSuffix(r.URL.Path, ".json")+"-card.json", 301)
				})},
			want: map[string]string{"card places": "warn agent.json answers a redirect (301)"},
		},
		{
			name: "the card is at its old place only",
			front: front{wrap: instead(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/agent-card.json") },
				func(w http.ResponseWriter, _ *http.Request) { html(w, 404) })},
			want: map[string]string{"card places": "warn the card is only at /.well-known/agent.json"},
		},
	}
}
