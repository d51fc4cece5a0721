package client

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
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

// credential matches the names of headers whose values are nobody's business.
var credential = regexp.MustCompile(`(?i)key|secret|token|password|credential|authorization|cookie`)

// secrets are the credentials of the options, as an agent may repeat them.
func (o *Options) secrets() []string {
	list := []string{o.Token}
	for name, values := range o.Header {
		for _, value := range values {
			// Without the scheme before it.
			if words := strings.Fields(value); credential.MatchString(name) && len(words) > 0 {
				list = append(list, words[len(words)-1])
			}
		}
	}
	// A shorter one would be found within words.
	return slices.DeleteFunc(list, func(secret string) bool { return len(secret) < 8 })
}

// told finishes an error that tells what the agent answered: without our credentials,
// which some repeat, and with a hint where they were not given the token.
func (c *Client) told(x *exchange, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	if c.o.Token != "" && e.Kind == KindAuth && e.Hint == "" && x != nil && origin(x.url) != origin(c.named) {
		e.Hint = "the token goes to " + c.named.Scheme + "://" + c.named.Host + " only; if you trust " + x.url.Scheme + "://" + x.url.Host + " with it, name that"
	}
	for _, secret := range c.secrets {
		e.Message = strings.ReplaceAll(e.Message, secret, "***")
		e.Body = strings.ReplaceAll(e.Body, secret, "***")
		e.Data = bytes.ReplaceAll(e.Data, []byte(secret), []byte("***"))
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
