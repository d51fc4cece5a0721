package server

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
	"sync"
)

// openAPI is openapi.json, which describes all that can be asked for over HTTP (OpenAPI
// 3.1), in an eighth of its size. Tests replay the examples and see that the two are the
// same; with -update they pack it again.
//
//go:embed openapi.json.gz
var openAPI []byte

// describe returns the handler of /openapi.json. It is the same for everybody, and is
// unpacked when somebody asks.
func describe() http.HandlerFunc {
	unpacked := sync.OnceValue(func() document {
		var body bytes.Buffer
		zip, err := gzip.NewReader(bytes.NewReader(openAPI))
		if err == nil {
			_, err = io.Copy(&body, zip)
		}
		if err != nil {
			panic(err) // the program was built wrongly
		}
		return newDocument(body.Bytes())
	})
	return func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, unpacked(), "application/json", "public, max-age=300")
	}
}
