package client

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
)

// sending is the argument of Send and Stream, getting that of Get and Subscribe; the
// others have those of package a2a.
type sending struct {
	Message
	SendOptions
}

type getting struct {
	id            a2a.TaskID
	historyLength *int
}

// call is one request as it goes over the wire, but for its place.
type call struct {
	op     a2a.Op
	method string // of HTTP
	path   string // below the interface's URL, escaped
	query  url.Values
	body   []byte // nil for none
	id     string // of JSON-RPC
	stream bool   // the answer is one
	after  string // the Last-Event-ID
	key    string // the Idempotency-Key
	// safe says that doing it twice does no harm, patient that its answer may take as
	// long as the work.
	safe, patient bool
	// once leaves trying again to the caller.
	once bool
}

// form is how a dialect says the operations and reads what comes back.
type form struct {
	// version is what the header A2A-Version says; "" leaves it out.
	version string
	// methods are those of JSON-RPC; nil in the other bindings.
	methods map[a2a.Op]string
	// params makes the argument of an operation an object: the params of a method, or a
	// request of HTTP+JSON.
	params func(op a2a.Op, arg any) map[string]any
	// route is where an operation of HTTP+JSON is: method and path, and what of the
	// params is a body.
	route func(op a2a.Op, params map[string]any) (method, path string, query url.Values, body any)
	// events says that a stream of events is at a path of its own (EMM).
	events bool
	// oldProto says that answers are ProtoJSON of the older package.
	oldProto bool
	// accept is the media type of answers.
	accept string
}

var forms = map[string]*form{
	DialectV1: {version: "1.0", methods: methodsV1, params: paramsV1, accept: "application/json"},
	// No version says 0.3, and servers of 0.2 know no header.
	DialectV03:    {methods: methodsV03, params: paramsV03, accept: "application/json"},
	DialectEMM:    {methods: methodsEMM, params: paramsEMM, events: true, accept: "application/json"},
	DialectRest:   {version: "1.0", params: paramsV1, route: routeV1, accept: "application/a2a+json, application/json"},
	DialectRest03: {version: "0.3", params: paramsRest03, route: routeRest03, oldProto: true, accept: "application/json"},
}

// call makes the request for an operation, or says that the dialect has none.
func (f *form) call(op a2a.Op, arg any, i *Interface) (*call, error) {
	if err := nameless(op, arg, f); err != nil {
		return nil, err
	}
	c := &call{op: op, method: http.MethodPost, stream: op == a2a.OpStream || op == a2a.OpSubscribe}
	c.safe = op.Reads() || op == a2a.OpDeletePush
	if s, ok := arg.(*sending); ok {
		c.key, c.patient = s.Key, true
	}
	var body any
	if s, ok := arg.(*sending); ok && f.events && s.TaskID != "" {
		// EMM cannot answer a question; servers that know 0.3 beside it can.
		f = forms[DialectV03]
	}
	params := f.params(op, arg)
	switch {
	case f.events && op == a2a.OpSubscribe:
		c.method, c.path = http.MethodGet, "/"+url.PathEscape(string(arg.(*getting).id))+"/stream"
		return c, nil
	case f.route != nil:
		c.method, c.path, c.query, body = f.route(op, params)
		if c.path == "" {
			return nil, unsupported(op, i)
		}
		if i.Tenant != "" {
			c.path = "/" + url.PathEscape(i.Tenant) + c.path
		}
	default:
		method := f.methods[op]
		if method == "" {
			return nil, unsupported(op, i)
		}
		if i.Tenant != "" && params != nil {
			params["tenant"] = i.Tenant
		}
		c.id = uuid.NewString()
		envelope := map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method}
		if params != nil {
			envelope["params"] = params
		}
		body = envelope
	}
	if body == nil {
		return c, nil
	}
	var err error
	if c.body, err = json.Marshal(body); err != nil {
		return nil, &Error{Kind: KindUsage, Op: op, Message: "the request cannot be written as JSON", Err: err}
	}
	return c, nil
}

func unsupported(op a2a.Op, i *Interface) error {
	place := ""
	if u, err := url.Parse(i.URL); err == nil {
		place = shown(u)
	}
	return &Error{Kind: KindUnsupported, Op: op, URL: place, Message: "the dialect " + i.Dialect + " has no such operation"}
}

var methodsV1 = map[a2a.Op]string{
	a2a.OpSend: "SendMessage", a2a.OpStream: "SendStreamingMessage", a2a.OpGet: "GetTask", a2a.OpList: "ListTasks",
	a2a.OpCancel: "CancelTask", a2a.OpSubscribe: "SubscribeToTask", a2a.OpExtendedCard: "GetExtendedAgentCard",
	a2a.OpSetPush: "CreateTaskPushNotificationConfig", a2a.OpGetPush: "GetTaskPushNotificationConfig",
	a2a.OpListPush: "ListTaskPushNotificationConfigs", a2a.OpDeletePush: "DeleteTaskPushNotificationConfig",
}

var methodsV03 = map[a2a.Op]string{
	a2a.OpSend: "message/send", a2a.OpStream: "message/stream", a2a.OpGet: "tasks/get", a2a.OpCancel: "tasks/cancel",
	a2a.OpSubscribe: "tasks/resubscribe", a2a.OpExtendedCard: "agent/getAuthenticatedExtendedCard",
	a2a.OpSetPush: "tasks/pushNotificationConfig/set", a2a.OpGetPush: "tasks/pushNotificationConfig/get",
	a2a.OpListPush: "tasks/pushNotificationConfig/list", a2a.OpDeletePush: "tasks/pushNotificationConfig/delete",
}

// methodsEMM are those of EMM. It has no way to cancel, but servers that know 0.3 beside
// it, as this project's does, take that method.
var methodsEMM = map[a2a.Op]string{a2a.OpSend: "tasks/submit", a2a.OpGet: "tasks/status", a2a.OpCancel: "tasks/cancel"}

// routeV1 is the table of HTTP+JSON in 1.0 (§11.3).
func routeV1(op a2a.Op, p map[string]any) (method, path string, query url.Values, body any) {
	id := func(name string) string { return url.PathEscape(text(p[name])) }
	configs := func() string { return "/tasks/" + id("taskId") + "/pushNotificationConfigs" }
	switch op {
	case a2a.OpSend:
		return http.MethodPost, "/message:send", nil, p
	case a2a.OpStream:
		return http.MethodPost, "/message:stream", nil, p
	case a2a.OpGet:
		return http.MethodGet, "/tasks/" + id("id"), queryOf(p, "id"), nil
	case a2a.OpList:
		return http.MethodGet, "/tasks", queryOf(p), nil
	case a2a.OpCancel:
		return http.MethodPost, "/tasks/" + id("id") + ":cancel", nil, struct{}{}
	case a2a.OpSubscribe:
		return http.MethodPost, "/tasks/" + id("id") + ":subscribe", nil, struct{}{}
	case a2a.OpSetPush:
		return http.MethodPost, configs(), nil, p
	case a2a.OpGetPush:
		return http.MethodGet, configs() + "/" + id("id"), nil, nil
	case a2a.OpListPush:
		return http.MethodGet, configs(), nil, nil
	case a2a.OpDeletePush:
		return http.MethodDelete, configs() + "/" + id("id"), nil, nil
	case a2a.OpExtendedCard:
		return http.MethodGet, "/extendedAgentCard", nil, nil
	}
	return "", "", nil, nil
}

// routeRest03 is the table of 0.3: that of 1.0 below /v1, with other names for the
// card and for what makes a push config.
func routeRest03(op a2a.Op, p map[string]any) (method, path string, query url.Values, body any) {
	if op == a2a.OpList {
		return "", "", nil, nil
	}
	method, path, query, body = routeV1(op, p)
	switch {
	case path == "":
		return "", "", nil, nil
	case op == a2a.OpExtendedCard:
		path = "/card"
	case op == a2a.OpSetPush:
		// The protocol's request has parent, configId and config; the JS client sends only
		// what belongs into config. Servers read the one or the other.
		parent := "tasks/" + text(p["taskId"])
		name := parent + "/pushNotificationConfigs/" + text(p["id"])
		request := map[string]any{
			"parent": parent, "config": map[string]any{"name": name, "pushNotificationConfig": p["config"]},
			"name": name, "pushNotificationConfig": p["config"],
		}
		body = request
		if id := text(p["id"]); id != "" {
			request["configId"] = id
			query = url.Values{"configId": {id}}
		}
	}
	return method, "/v1" + path, query, body
}

// text is a member of the params as a string, "" if it is missing.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case a2a.TaskID:
		return string(v)
	}
	return ""
}

// queryOf writes params as a query, without those that the path has.
func queryOf(p map[string]any, without ...string) url.Values {
	q := url.Values{}
	for name, v := range p {
		b, err := json.Marshal(v)
		if err != nil || slices.Contains(without, name) {
			continue
		}
		var s string
		if json.Unmarshal(b, &s) != nil {
			s = string(b) // a number or a boolean
		}
		q.Set(name, s)
	}
	return q
}
