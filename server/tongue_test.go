package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/servertest"
)

// tongue is one version on one binding, as a client speaks it.
type tongue struct {
	name    string
	shape   shape
	binding binding
}

type binding int

const (
	jsonRPC binding = iota
	rest
	gRPC
)

// shape is how a version spells its objects.
type shape int

const (
	shapeV1 shape = iota
	shapeV03
	shapeOldProto
	shapeV01
)

// tongues are all that the server speaks.
var tongues = []*tongue{
	{"JSON-RPC 1.0", shapeV1, jsonRPC},
	{"JSON-RPC 0.3", shapeV03, jsonRPC},
	{"REST 1.0", shapeV1, rest},
	{"REST 0.3", shapeOldProto, rest},
	{"REST 0.3 of Go", shapeV03, rest},
	{"JSON-RPC 0.1", shapeV01, jsonRPC},
	{"gRPC 1.0", shapeV1, gRPC},
	{"gRPC 0.3", shapeOldProto, gRPC},
}

// ask is what a client wants of an operation.
type ask struct {
	text, parts   string // a text, or parts in the spelling of speak
	role          string
	task, context string
	now           bool // does not wait
	query         map[string]any
	url, config   string // of a push config
	raw           string // params of a send, instead of text and parts
	body          string // sent instead of what is asked for
	headers       []string
}

// got is what a client understood of an answer, whatever it was spelled like.
type got struct {
	Status int    `json:"-"` // of HTTP, or the code of gRPC
	Code   int    // number of the error, or 0
	Tasks  []task // of a send, get, cancel or list
	Events []string
	Push   []pushed
}

// task is a task as any version shows it.
type task struct {
	ID, Context, State, Said string
	History                  []string
	Artifacts                []string
	Metadata                 string
	Timed                    bool
}

type pushed struct{ ID, Task, URL, Scheme string }

// has reports whether the version has the operation.
func (l *tongue) has(op a2a.Op) bool {
	switch op {
	case a2a.OpList:
		return l.shape == shapeV1 || l.shape == shapeOldProto || l.binding == rest
	case a2a.OpListPush, a2a.OpDeletePush, a2a.OpExtendedCard:
		return l.shape != shapeV01
	}
	return true
}

// methods are the names of the operations by shape.
var methods = map[shape]map[a2a.Op]string{
	shapeV1: {
		a2a.OpSend: "SendMessage", a2a.OpStream: "SendStreamingMessage", a2a.OpGet: "GetTask", a2a.OpList: "ListTasks",
		a2a.OpCancel: "CancelTask", a2a.OpSubscribe: "SubscribeToTask", a2a.OpExtendedCard: "GetExtendedAgentCard",
		a2a.OpSetPush: "CreateTaskPushNotificationConfig", a2a.OpGetPush: "GetTaskPushNotificationConfig",
		a2a.OpListPush: "ListTaskPushNotificationConfigs", a2a.OpDeletePush: "DeleteTaskPushNotificationConfig",
	},
	shapeV03: {
		a2a.OpSend: "message/send", a2a.OpStream: "message/stream", a2a.OpGet: "tasks/get", a2a.OpCancel: "tasks/cancel",
		a2a.OpSubscribe: "tasks/resubscribe", a2a.OpExtendedCard: "agent/getAuthenticatedExtendedCard",
		a2a.OpSetPush: "tasks/pushNotificationConfig/set", a2a.OpGetPush: "tasks/pushNotificationConfig/get",
		a2a.OpListPush: "tasks/pushNotificationConfig/list", a2a.OpDeletePush: "tasks/pushNotificationConfig/delete",
	},
	shapeV01: {
		a2a.OpSend: "tasks/send", a2a.OpStream: "tasks/sendSubscribe", a2a.OpGet: "tasks/get", a2a.OpCancel: "tasks/cancel",
		a2a.OpSubscribe: "tasks/resubscribe", a2a.OpSetPush: "tasks/pushNotification/set", a2a.OpGetPush: "tasks/pushNotification/get",
	},
}

// ofGo reports whether it is the REST of 0.3 that the Go SDK has: at the paths of 1.0 and
// with the errors of 1.0.
func (l *tongue) ofGo() bool { return l.binding == rest && l.shape == shapeV03 }

// extensionRequired is the number of the error for a required extension, for which 0.3
// has none.
func (l *tongue) extensionRequired() int {
	if l.shape == shapeV1 || l.ofGo() {
		return -32008
	}
	return -32600
}

// ask performs an operation and reads the answer.
func (l *tongue) ask(c *client, op a2a.Op, q ask) got {
	c.t.Helper()
	if l.binding == gRPC {
		return l.call(c, op, q, l.headers(q))
	}
	return l.understand(c.t, op, l.answer(c, op, q))
}

// headers are those of a request: of alice, if it says nothing else.
func (l *tongue) headers(q ask) []string {
	headers := append([]string{alice}, q.headers...)
	if l.shape == shapeV1 {
		headers = append([]string{v10}, headers...)
	}
	if l.ofGo() {
		headers = append([]string{"A2A-Version: 0.3"}, headers...)
	}
	return headers
}

// answer performs an operation over HTTP.
func (l *tongue) answer(c *client, op a2a.Op, q ask) servertest.Answer {
	c.t.Helper()
	headers := l.headers(q)
	if op == a2a.OpStream || op == a2a.OpSubscribe {
		headers = append(headers, "Accept: text/event-stream")
	}
	var a servertest.Answer
	if l.binding == rest {
		verb, path, body := l.request(op, q)
		if q.body != "" {
			body = q.body
		}
		a = c.Do(verb, path, body, headers...)
		if l.shape == shapeV1 {
			checkRest(c.t, methods[shapeV1][op], a)
		} else if l.shape == shapeOldProto && op != a2a.OpExtendedCard && op != a2a.OpDeletePush {
			checkOldStream(c.t, a)
		}
	} else {
		body := call(methods[l.shape][op], l.params(op, q))
		if q.body != "" {
			body = q.body
		}
		a = c.RPC(body, headers...)
	}
	return a
}

func checkOldStream(t testing.TB, a servertest.Answer) {
	t.Helper()
	if a.Header.Get("Content-Type") != "text/event-stream" {
		checkOldProto(t, a)
		return
	}
	for _, f := range framesOf(a) {
		checkOldProto(t, f)
	}
}

// request is the HTTP request of a REST operation.
func (l *tongue) request(op a2a.Op, q ask) (verb, path, body string) {
	base := restBase
	if l.shape == shapeOldProto {
		base = restOld
	}
	one := base + "/tasks/" + url.PathEscape(q.task)
	query := url.Values{}
	for name, v := range q.query {
		query.Set(name, fmt.Sprint(v))
	}
	tail := ""
	if len(query) > 0 {
		tail = "?" + query.Encode()
	}
	push := one + "/pushNotificationConfigs"
	switch op {
	case a2a.OpSend:
		return "POST", base + "/message:send", l.params(op, q)
	case a2a.OpStream:
		return "POST", base + "/message:stream", l.params(op, q)
	case a2a.OpGet:
		return "GET", one + tail, ""
	case a2a.OpList:
		return "GET", base + "/tasks" + tail, ""
	case a2a.OpCancel:
		return "POST", one + ":cancel", ""
	case a2a.OpSubscribe:
		return "POST", one + ":subscribe", ""
	case a2a.OpSetPush:
		if l.shape == shapeV03 {
			return "POST", push, `{"pushNotificationConfig":` + l.pushConfig(q) + `}`
		}
		return "POST", push, l.pushConfig(q)
	case a2a.OpGetPush:
		return "GET", push + "/" + q.config, ""
	case a2a.OpListPush:
		return "GET", push, ""
	case a2a.OpDeletePush:
		return "DELETE", push + "/" + q.config, ""
	}
	if l.shape == shapeOldProto {
		return "GET", base + "/card", ""
	}
	return "GET", base + "/extendedAgentCard", ""
}

// pushConfig is a push config with the scheme Bearer.
func (l *tongue) pushConfig(q ask) string {
	if l.shape == shapeV1 {
		return params("id", q.config, "url", q.url, "token", "s3cret", "authentication", map[string]any{"scheme": "Bearer", "credentials": "s3cret"})
	}
	config := params("id", q.config, "url", q.url, "token", "s3cret", "authentication", map[string]any{"schemes": []string{"Bearer"}, "credentials": "s3cret"})
	if l.shape == shapeOldProto {
		return `{"name":"tasks/` + q.task + `/pushNotificationConfigs/` + q.config + `","pushNotificationConfig":` + config + `}`
	}
	return config
}

// params is the params of a JSON-RPC method, or the body of a send.
func (l *tongue) params(op a2a.Op, q ask) string {
	switch op {
	case a2a.OpSend, a2a.OpStream:
		return l.message(q)
	case a2a.OpList:
		return object2(q.query)
	case a2a.OpGet, a2a.OpCancel, a2a.OpSubscribe:
		return merge(params("id", q.task), object2(q.query))
	case a2a.OpExtendedCard:
		return "{}"
	case a2a.OpSetPush:
		switch l.shape {
		case shapeV1:
			return merge(params("taskId", q.task), l.pushConfig(q))
		case shapeV03:
			return merge(params("taskId", q.task), `{"pushNotificationConfig":`+l.pushConfig(q)+`}`)
		}
		return merge(params("id", q.task), `{"pushNotificationConfig":`+l.pushConfig(q)+`}`)
	}
	switch l.shape {
	case shapeV1:
		return params("taskId", q.task, "id", q.config)
	case shapeV03:
		return params("id", q.task, "pushNotificationConfigId", q.config)
	}
	return params("id", q.task)
}

func object2(m map[string]any) string {
	if len(m) == 0 {
		return "{}"
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// message is the params of a send.
func (l *tongue) message(q ask) string {
	if q.raw != "" {
		return q.raw
	}
	kind, role, content := "", "ROLE_USER", "parts"
	switch l.shape {
	case shapeV03:
		kind, role = `"kind":"text",`, "user"
	case shapeV01:
		kind, role = `"type":"text",`, "user"
	case shapeOldProto:
		content = "content"
	}
	if q.role != "" {
		role = q.role
	}
	parts := q.parts
	if parts == "" {
		parts = `[{` + kind + `"text":` + quote(q.text) + `}]`
	}
	m := `{"role":"` + role + `","` + content + `":` + parts + `}`
	if l.shape == shapeV01 {
		id := q.task
		if id == "" {
			id = uuid.NewString()
		}
		p := merge(params("id", id), `{"message":`+m+`}`)
		if q.context != "" {
			p = merge(p, params("sessionId", q.context))
		}
		return p
	}
	m = merge(params("messageId", uuid.NewString()), m)
	if q.task != "" {
		m = merge(m, params("taskId", q.task))
	}
	if q.context != "" {
		m = merge(m, params("contextId", q.context))
	}
	p := `{"message":` + m + `}`
	if q.now {
		if l.shape == shapeV1 {
			p = merge(p, `{"configuration":{"returnImmediately":true}}`)
		} else {
			p = merge(p, `{"configuration":{"blocking":false}}`)
		}
	}
	return p
}

// speak spells parts: a list of a text, of data (any JSON), of a file.
func (l *tongue) speak(text, data, bytes, uri string) string {
	kind := func(k string) string {
		switch l.shape {
		case shapeV03:
			return `"kind":"` + k + `",`
		case shapeV01:
			return `"type":"` + k + `",`
		}
		return ""
	}
	list := []string{`{` + kind("text") + `"text":` + quote(text) + `}`}
	switch l.shape {
	case shapeV1:
		list = append(list, `{"data":`+data+`}`, `{"raw":"`+bytes+`","mediaType":"text/plain","filename":"n.txt"}`, `{"url":"`+uri+`","mediaType":"text/plain"}`)
	case shapeOldProto:
		if l.binding == gRPC { // where its clients have the text of the base64
			bytes = base64.StdEncoding.EncodeToString([]byte(bytes))
		}
		list = append(list, `{"data":{"data":`+data+`}}`, `{"file":{"fileWithBytes":"`+bytes+`","mimeType":"text/plain","name":"n.txt"}}`, `{"file":{"fileWithUri":"`+uri+`","mimeType":"text/plain"}}`)
	default:
		list = append(list, `{`+kind("data")+`"data":`+data+`}`, `{`+kind("file")+`"file":{"bytes":"`+bytes+`","mimeType":"text/plain","name":"n.txt"}}`, `{`+kind("file")+`"file":{"uri":"`+uri+`","mimeType":"text/plain"}}`)
	}
	return "[" + strings.Join(list, ",") + "]"
}
