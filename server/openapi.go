package server

import (
	_ "embed"
	"net/http"
)

// openAPI describes all that can be asked for over HTTP (OpenAPI 3.1). A test
// replays its examples.
//
//go:embed openapi.json
var openAPI string

// describe returns the handler of /openapi.json. It is the same for everybody.
func describe() http.HandlerFunc {
	d := newDocument([]byte(openAPI))
	return func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, d, "application/json", "public, max-age=300")
	}
}
