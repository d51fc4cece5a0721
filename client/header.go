package client

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// maxHeaderValue bounds what an agent gives to be sent back in a header. More would be
// refused by servers with the whole request.
const maxHeaderValue = 1 << 10

// headers returns an error if a request could not carry the options. It names no values,
// which may be secrets.
func (o *Options) headers() error {
	usage := func(what string) error {
		return &Error{Kind: KindUsage, Message: what + " cannot be sent in a header", Hint: "is there a line break in it, or at its end?"}
	}
	switch {
	case !headerValue(o.Token):
		return usage("the token")
	case !headerValue(o.UserAgent):
		return usage("the user agent")
	case !headerValue(strings.Join(o.Extensions, ", ")):
		return usage("an extension")
	}
	for name, values := range o.Header {
		if !headerName(name) || !headerValue(strings.Join(values, ", ")) {
			return usage("the header " + excerpt([]byte(name)))
		}
	}
	return nil
}

func headerValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// headerName reports whether a name is a token of RFC 9110.
func headerName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// credentials adds what only the named origin gets to see. It replaces what is there, so
// that there is never a second header of a name.
func (c *Client) credentials(h http.Header) {
	for name, values := range c.o.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if c.o.Token == "" {
		return
	}
	header := c.tokenHeader()
	if header == "" || strings.EqualFold(header, "Authorization") {
		h.Set("Authorization", "Bearer "+c.o.Token)
	}
	if header == "" {
		header = "X-API-Key"
	}
	if !strings.EqualFold(header, "Authorization") {
		h.Set(header, c.o.Token)
	}
}

// told finishes an error that tells what the agent answered: without our token, which
// some repeat, and with a hint where they were not given it.
func (c *Client) told(x *exchange, err error) error {
	e, ok := err.(*Error)
	if !ok || c.o.Token == "" {
		return err
	}
	if e.Kind == KindAuth && e.Hint == "" && x != nil && origin(x.url) != origin(c.named) {
		e.Hint = "the token goes to " + c.named.Scheme + "://" + c.named.Host + " only; if you trust " + x.url.Scheme + "://" + x.url.Host + " with it, name that"
	}
	// A shorter one would be found within words.
	if len(c.o.Token) >= 8 {
		e.Message = strings.ReplaceAll(e.Message, c.o.Token, "***")
		e.Body = strings.ReplaceAll(e.Body, c.o.Token, "***")
		e.Data = bytes.ReplaceAll(e.Data, []byte(c.o.Token), []byte("***"))
	}
	return e
}

// nameless returns an error for an operation whose argument lacks an id that is part of
// its place: over HTTP+JSON a task without an id would be the list of all tasks.
func nameless(op a2a.Op, arg any, f *form) error {
	task, push := true, true
	switch a := arg.(type) {
	case *getting:
		task = a.id != ""
	case *a2a.PushConfig:
		task = a.TaskID != ""
	case *a2a.PushRequest:
		task = a.TaskID != ""
		// Those of JSON-RPC may know which one is meant.
		push = a.ID != "" || op == a2a.OpListPush || op == a2a.OpGetPush && f.route == nil
	}
	switch {
	case !task:
		return &Error{Kind: KindUsage, Op: op, Message: "the id of the task is missing"}
	case !push:
		return &Error{Kind: KindUsage, Op: op, Message: "the id of the webhook is missing"}
	}
	return nil
}
