package client_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/client"
)

// inMemory returns a client whose agent is a function; a nil answer is a refused
// connection. It serves synctest, which cannot wait for sockets.
func inMemory(t *testing.T, f func(r *http.Request, id string) *http.Response) *client.Client {
	t.Helper()
	return inMemoryAs(t, client.DialectV1, f)
}

func inMemoryAs(t *testing.T, dialect string, f func(r *http.Request, id string) *http.Response) *client.Client {
	t.Helper()
	c, err := client.New("http://agent", client.Options{
		Interface: &client.Interface{URL: "http://agent/", Dialect: dialect, Streaming: true},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			resp := f(r, idOf(body))
			if resp == nil {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
			}
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			resp.Request = r
			return resp, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func idOf(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"id":`)
	end := strings.IndexAny(rest, ",}")
	return rest[:end]
}

func answer(status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}
}
