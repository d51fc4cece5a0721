// Package clienttest is a scripted agent, which answers as real agents once did wrong.
package clienttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Request is a request that an agent got.
type Request struct {
	Method, Path string // the path as it was sent, escaped
	Header       http.Header
	Body         []byte
}

// RPC returns the method of a JSON-RPC request, "" for others.
func (r Request) RPC() string {
	var env struct{ Method string }
	_ = json.Unmarshal(r.Body, &env) // no JSON has no method
	return env.Method
}

// Agent is a scripted agent on a loopback port. It serves a card, and answers every
// other request with the next of its scripts, the last one for ever.
type Agent struct {
	// URL has no slash at the end.
	URL string
	// Card is what the card says. It may be changed before the first request, by Change
	// if that comes from another process.
	Card map[string]any // guarded by mu

	mu       sync.Mutex
	scripts  []Script // guarded by mu
	requests []Request
}

// Script writes an answer: raw bytes, from the status line on. id is the JSON-RPC id of
// the request as it came.
type Script func(w io.Writer, r Request, id string)

// New starts an agent and stops it at the end of the test.
func New(t testing.TB, scripts ...Script) *Agent {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{URL: "http://" + ln.Addr().String(), scripts: scripts}
	a.Card = map[string]any{
		"name": "fake", "description": "fake", "version": "1", "capabilities": map[string]any{"streaming": true},
		"defaultInputModes": []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"},
		"skills":              []any{map[string]any{"id": "s", "name": "s", "description": "s", "tags": []string{"t"}}},
		"supportedInterfaces": []any{map[string]any{"url": a.URL + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
	}
	var conns sync.WaitGroup
	t.Cleanup(func() {
		_ = ln.Close()
		conns.Wait()
	})
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close() //nolint:errcheck // a fake
				a.serve(c)
			})
		}
	})
	return a
}

// Change lets f change the card.
func (a *Agent) Change(f func(card map[string]any)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a.Card)
}

// Requests returns what came so far, but for the card.
func (a *Agent) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Request(nil), a.requests...)
}

// serve answers one request; the connection is closed behind it.
func (a *Agent) serve(c net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	if req.Method == http.MethodGet && strings.HasPrefix(req.URL.Path, "/.well-known/") {
		a.mu.Lock()
		card, err := json.Marshal(a.Card)
		a.mu.Unlock()
		if err == nil {
			HTTP(200, "application/json", string(card))(c, Request{}, "")
		}
		return
	}
	r := Request{Method: req.Method, Path: req.URL.EscapedPath(), Header: req.Header, Body: body}
	var env struct{ ID json.RawMessage }
	_ = json.Unmarshal(body, &env) // no JSON has no id
	a.mu.Lock()
	a.requests = append(a.requests, r)
	s := a.scripts[min(len(a.requests), len(a.scripts))-1]
	a.mu.Unlock()
	s(c, r, string(env.ID))
}

// HTTP answers with a whole body. __ID__ in it is the id of the request. Headers are
// "Name: value".
func HTTP(status int, contentType, body string, headers ...string) Script {
	return func(w io.Writer, _ Request, id string) {
		b := strings.ReplaceAll(body, "__ID__", id)
		fmt.Fprintf(w, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nConnection: close\r\nContent-Length: %d\r\n", status, contentType, len(b))
		for _, h := range headers {
			fmt.Fprintf(w, "%s\r\n", h)
		}
		fmt.Fprintf(w, "\r\n%s", b)
	}
}

// JSON answers a JSON-RPC request with a result.
func JSON(result string) Script {
	return HTTP(200, "application/json", `{"jsonrpc":"2.0","id":__ID__,"result":`+result+`}`)
}

// Fail answers a JSON-RPC request with an error.
func Fail(code int, message string) Script {
	return HTTP(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":__ID__,"error":{"code":%d,"message":%q}}`, code, message))
}

// Stream answers with an event stream of raw pieces, each flushed by itself, and closes
// it. __ID__ in them is the id of the request.
func Stream(pieces ...string) Script {
	return func(w io.Writer, _ Request, id string) {
		fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
		for _, p := range pieces {
			if _, err := io.WriteString(w, strings.ReplaceAll(p, "__ID__", id)); err != nil {
				return
			}
		}
	}
}

// Slow is a script that begins after a time.
func Slow(after time.Duration, s Script) Script {
	return func(w io.Writer, r Request, id string) {
		<-time.After(after)
		s(w, r, id)
	}
}

// Cut closes the connection without an answer.
func Cut() Script { return func(io.Writer, Request, string) {} }

// By chooses the script by the method of the JSON-RPC request; "" is for all others.
func By(scripts map[string]Script) Script {
	return func(w io.Writer, r Request, id string) {
		s := scripts[r.RPC()]
		if s == nil {
			s = scripts[""]
		}
		if s == nil {
			s = Fail(-32601, "Method not found")
		}
		s(w, r, id)
	}
}

// Frame is an event of a stream of 1.0 in JSON-RPC around a result.
func Frame(result string) string {
	return `data: {"jsonrpc":"2.0","id":__ID__,"result":` + result + "}\n\n"
}

// Status is the result of a status update of the task t1; state is such as COMPLETED.
func Status(state string) string {
	return `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_` + state + `"}}}`
}

// Task is the task t1, with an artifact if text is not empty.
func Task(state, text string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_%s"}`, state)
	if text != "" {
		fmt.Fprintf(&b, `,"artifacts":[{"artifactId":"a1","parts":[{"text":%q}]}]`, text)
	}
	b.WriteByte('}')
	return b.String()
}

// Artifact is the result of an artifact update of the task t1.
func Artifact(text string, add bool) string {
	return fmt.Sprintf(`{"artifactUpdate":{"taskId":"t1","contextId":"c1","append":%t,"artifact":{"artifactId":"a1","parts":[{"text":%q}]}}}`, add, text)
}
