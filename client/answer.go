package client

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// rawError is the error object of JSON-RPC, or of HTTP+JSON (google.rpc.Status).
type rawError struct {
	Code    json.RawMessage `json:"code"`
	Status  loose           `json:"status"`
	Message loose           `json:"message"`
	Data    json.RawMessage `json:"data"`
	Details json.RawMessage `json:"details"`
}

// rawDetail is one of the details of an error.
type rawDetail struct {
	Reason loose `json:"reason"`
	Delay  loose `json:"retryDelay"`
}

// result takes the result of an operation out of an answer, or the error.
func (f *form) result(c *call, x *exchange, resp *http.Response, body []byte) (json.RawMessage, error) {
	t := mediaType(resp)
	if ok := resp.StatusCode >= 200 && resp.StatusCode < 300; !ok || (!isJSON(t) && t != "") {
		return nil, strange(x, resp, body)
	}
	if f.methods == nil {
		if len(body) == 0 && c.op == a2a.OpDeletePush {
			return json.RawMessage("{}"), nil
		}
		if e := statusError(x, resp, body); e != nil {
			return nil, e
		}
		if !json.Valid(body) {
			return nil, invalid(x, resp, "the answer is no JSON", body)
		}
		return body, nil
	}
	return f.envelope(c, x, resp, body)
}

// envelope takes the result out of an envelope of JSON-RPC. The id must be the
// request's; an error may have none.
func (f *form) envelope(c *call, x *exchange, resp *http.Response, body []byte) (json.RawMessage, error) {
	var env struct {
		Version loose           `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if len(body) == 0 {
		return nil, invalid(x, resp, "the answer is empty", nil)
	}
	if err := json.Unmarshal(body, &env); err != nil {
		return nil, invalid(x, resp, "the answer is no JSON", body)
	}
	if e := rpcError(x, resp, env.Error, true); e != nil {
		return nil, e
	}
	var id string
	if env.Result == nil && c.op == a2a.OpDeletePush {
		env.Result = json.RawMessage("null") // which some leave out
	}
	switch {
	case env.Version != "2.0" || env.Result == nil:
		return nil, invalid(x, resp, "the answer is none of JSON-RPC", body)
	case json.Unmarshal(env.ID, &id) != nil || id != c.id:
		return nil, invalid(x, resp, "the answer belongs to another request", body)
	}
	return env.Result, nil
}

// strange makes an error of an answer that is no success: the protocol's own if it is
// one, else what its status says.
func strange(x *exchange, resp *http.Response, body []byte) error {
	if e := protocolError(x, resp, body); e != nil {
		return e
	}
	e := &Error{Op: x.op, URL: shown(x.url), Status: resp.StatusCode, Sent: true, Body: excerpt(body), RetryAfter: retryAfter(resp.Header)}
	e.Kind, e.Message = KindInvalid, "the answer is none of A2A"
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Kind, e.Message = KindAuth, http.StatusText(s)
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable:
		e.Kind, e.Message = KindBusy, http.StatusText(s)
	case s == http.StatusMethodNotAllowed || s == http.StatusNotImplemented:
		e.Kind, e.Message = KindUnsupported, http.StatusText(s)
		e.Hint = "is this the URL of the agent's endpoint?"
	case s == http.StatusNotFound || s == http.StatusGone:
		e.Message = http.StatusText(s)
		e.Hint = "is this the URL of the agent's endpoint?"
	case s == http.StatusRequestEntityTooLarge:
		e.Kind, e.Message = KindRefused, "the message is too large for the agent, or for a proxy before it"
	case s >= 500:
		e.Kind, e.Message = KindBroken, http.StatusText(s)
	case s >= 400:
		e.Message = http.StatusText(s)
	case s < 300:
		e.Message = "the answer is of type " + quoteType(mediaType(resp)) + ", not JSON"
	}
	return e
}

// protocolError reads an error of the protocol in any form. It returns nil for what is
// none.
func protocolError(x *exchange, resp *http.Response, body []byte) error {
	if e := statusError(x, resp, body); e != nil {
		return e
	}
	var env struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &env) != nil {
		return nil
	}
	if e := rpcError(x, resp, env.Error, true); e != nil {
		return e
	}
	return rpcError(x, resp, body, false) // bare in HTTP+JSON of 0.3
}

func quoteType(t string) string {
	if t == "" {
		return "none"
	}
	return excerpt([]byte(t))
}

func invalid(x *exchange, resp *http.Response, why string, body []byte) *Error {
	return &Error{Kind: KindInvalid, Op: x.op, URL: shown(x.url), Status: resp.StatusCode, Sent: true, Message: why, Body: excerpt(body)}
}

// statusError reads the error of HTTP+JSON: {"error":{"code":404,"status":"NOT_FOUND",…}}.
// It returns nil for what is none.
func statusError(x *exchange, resp *http.Response, body []byte) error {
	var env struct {
		Error *rawError `json:"error"`
	}
	if json.Unmarshal(body, &env) != nil || env.Error == nil || env.Error.Status == "" {
		return nil
	}
	return env.Error.error(x, resp, 0, env.Error.Details)
}

// rpcError reads the error object of JSON-RPC. It returns nil for what is none; without
// a message only what is named an error is one.
func rpcError(x *exchange, resp *http.Response, raw json.RawMessage, named bool) error {
	var r rawError
	var code int
	if !isObject(raw) || json.Unmarshal(raw, &r) != nil || json.Unmarshal(r.Code, &code) != nil || r.Message == "" && !named {
		return nil
	}
	return r.error(x, resp, code, r.Data)
}

func (r *rawError) error(x *exchange, resp *http.Response, code int, details json.RawMessage) error {
	e := &Error{
		Op: x.op, URL: shown(x.url), Status: resp.StatusCode, Code: code, Message: excerpt([]byte(r.Message)), Data: details,
		Sent: true, RetryAfter: retryAfter(resp.Header),
	}
	var list []rawDetail
	if json.Unmarshal(details, &list) != nil {
		list = make([]rawDetail, 1)
		_ = json.Unmarshal(details, &list[0]) // details of another shape say nothing
	}
	for _, d := range list {
		if d.Reason != "" && e.Reason == "" {
			e.Reason = string(d.Reason)
		}
		if delay, err := time.ParseDuration(string(d.Delay)); err == nil && e.RetryAfter == 0 {
			e.RetryAfter = delay
		}
	}
	if e.Message == "" {
		e.Message = "the agent says no more"
	}
	e.Kind = kindOf(e, string(r.Status))
	return e
}

// kindOf sorts an error of the protocol, by its reason, its code, the code of its
// google.rpc.Status, and its HTTP status.
func kindOf(e *Error, rpc string) Kind {
	reason := strings.ToUpper(e.Reason)
	switch {
	case reason == "TASK_NOT_FOUND" || e.Code == -32001 || rpc == "NOT_FOUND" && reason == "",
		e.Code == -32603 && strings.HasPrefix(e.Message, "Task not found"): // the JS SDK of 0.3
		return KindTaskNotFound
	case reason == "RATE_LIMITED" || reason == "QUEUE_FULL" || reason == "UNAVAILABLE" || rpc == "UNAVAILABLE" || rpc == "RESOURCE_EXHAUSTED",
		e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable:
		return KindBusy
	case reason == "UNAUTHENTICATED" || reason == "FORBIDDEN" || rpc == "UNAUTHENTICATED" || rpc == "PERMISSION_DENIED",
		e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return KindAuth
	case reason == "UNSUPPORTED_OPERATION" || reason == "METHOD_NOT_FOUND" || reason == "PUSH_NOTIFICATION_NOT_SUPPORTED",
		e.Code == -32601 || e.Code == -32003 || e.Code == -32004 || rpc == "UNIMPLEMENTED":
		return KindUnsupported
	}
	return KindRefused
}

// target is where a call goes on an interface.
func target(i *Interface, c *call) (*url.URL, error) {
	u, err := url.Parse(i.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &Error{Kind: KindForbidden, Op: c.op, Message: "the agent's card names no URL of the web: " + excerpt([]byte(i.URL))}
	}
	for _, segment := range strings.Split(c.path, "/") {
		if segment == "." || segment == ".." { // a proxy would take it for another path
			return nil, &Error{Kind: KindUsage, Op: c.op, Message: "the id cannot be part of a URL: " + segment}
		}
	}
	if c.path != "" {
		base := strings.TrimRight(u.EscapedPath(), "/")
		path, err := url.PathUnescape(base + c.path)
		if err != nil {
			return nil, &Error{Kind: KindUsage, Op: c.op, Message: "the id cannot be part of a URL", Err: err}
		}
		u.Path, u.RawPath = path, base+c.path
	} else if u.Path == "" {
		u.Path = "/"
	}
	if len(c.query) > 0 {
		q := u.Query()
		for name, values := range c.query {
			q[name] = values
		}
		u.RawQuery = q.Encode()
	}
	return u, nil
}
