package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/servertest"
)

// reasons are the numbers of the reasons that REST errors name.
var reasons = map[string]int{
	"PARSE_ERROR": -32700, "INVALID_REQUEST": -32600, "METHOD_NOT_FOUND": -32601, "INVALID_PARAMS": -32602, "INTERNAL_ERROR": -32603,
	"EXTENSION_SUPPORT_REQUIRED": -32008,
	"TASK_NOT_FOUND":             -32001, "TASK_NOT_CANCELABLE": -32002, "PUSH_NOTIFICATION_NOT_SUPPORTED": -32003, "UNSUPPORTED_OPERATION": -32004,
	"CONTENT_TYPE_NOT_SUPPORTED": -32005, "EXTENDED_AGENT_CARD_NOT_CONFIGURED": -32007, "VERSION_NOT_SUPPORTED": -32009,
	"IDEMPOTENCY_CONFLICT": -32602, "RATE_LIMITED": -32051, "TOO_LARGE": -32052, "UNAUTHENTICATED": -31401,
}

// understand reads an answer.
func (l *tongue) understand(t testing.TB, op a2a.Op, a servertest.Answer) (g got) {
	t.Helper()
	g.Status = a.Status
	if a.Header.Get("Content-Type") == "text/event-stream" {
		for _, f := range framesOf(a) {
			if g.Code = l.code(f); g.Code != 0 {
				return g
			}
			l.heard(t, &g, l.result(f))
		}
		return g
	}
	if g.Code = l.code(a); g.Code != 0 {
		return g
	}
	g = l.understandResult(t, op, l.result(a))
	g.Status = a.Status
	return g
}

// heard adds what one frame of a stream says, unless it says it again.
func (l *tongue) heard(t testing.TB, g *got, frame any) {
	t.Helper()
	for _, e := range l.events(t, frame) {
		if n := len(g.Events); n == 0 || g.Events[n-1] != e {
			g.Events = append(g.Events, e)
		}
	}
}

// understandResult reads the result of an operation that does not stream.
func (l *tongue) understandResult(t testing.TB, op a2a.Op, v any) (g got) {
	t.Helper()
	m := members(v)
	switch op {
	case a2a.OpSend:
		if l.shape == shapeV1 || l.shape == shapeOldProto {
			v = m["task"]
		}
		g.Tasks = []task{l.task(t, v)}
	case a2a.OpGet, a2a.OpCancel:
		g.Tasks = []task{l.task(t, v)}
	case a2a.OpList:
		list, _ := m["tasks"].([]any)
		for _, e := range list {
			g.Tasks = append(g.Tasks, l.task(t, e))
		}
	case a2a.OpSetPush, a2a.OpGetPush:
		g.Push = []pushed{l.push(v)}
	case a2a.OpListPush:
		list, ok := v.([]any)
		if !ok {
			list, _ = m["configs"].([]any)
		}
		for _, e := range list {
			g.Push = append(g.Push, l.push(e))
		}
	}
	return g
}

func (l *tongue) result(a servertest.Answer) any {
	if l.binding == rest {
		return a.Get()
	}
	return a.Get("result")
}

// code is the number of the error in an answer, or 0.
func (l *tongue) code(a servertest.Answer) int {
	if l.binding == rest && l.shape != shapeOldProto {
		reason, _ := a.Get("error", "details", 0, "reason").(string)
		return reasons[reason]
	}
	v := a.Get("error", "code")
	if l.binding == rest {
		v = a.Get("code")
	}
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return int(i)
}

// events is what one frame of a stream says: states, and pieces of output.
func (l *tongue) events(t testing.TB, v any) (list []string) {
	t.Helper()
	m := members(v)
	update := m
	if l.shape == shapeV1 || l.shape == shapeOldProto {
		for _, member := range m {
			update = members(member)
		}
	}
	if update["artifacts"] != nil {
		for _, a := range l.task(t, update).Artifacts {
			list = append(list, "output "+a)
		}
	}
	if a := members(update["artifact"]); a != nil {
		flags := update
		if l.shape == shapeV01 {
			flags = a
		}
		list = append(list, fmt.Sprintf("output %s append=%v last=%v", l.artifact(a), flags["append"], flags["lastChunk"]))
	}
	if s := members(update["status"]); s != nil {
		list = append(list, "state "+state(s["state"]))
	}
	return list
}

func (l *tongue) push(v any) pushed {
	m := members(v)
	config, scheme := m, ""
	if inner := members(m["pushNotificationConfig"]); inner != nil {
		config = inner
	}
	auth := members(config["authentication"])
	scheme, _ = auth["scheme"].(string)
	if list, _ := auth["schemes"].([]any); len(list) > 0 {
		scheme, _ = list[0].(string)
	}
	p := pushed{Scheme: scheme}
	p.ID, _ = config["id"].(string)
	p.URL, _ = config["url"].(string)
	for _, name := range []string{"taskId", "name", "id"} {
		if id, ok := m[name].(string); ok && p.Task == "" {
			p.Task = strings.Split(strings.TrimPrefix(id, "tasks/"), "/")[0]
		}
	}
	if l.shape == shapeV01 {
		p.ID = "default" // it has none
	}
	return p
}

func state(v any) string {
	s, _ := v.(string)
	s = strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_")), "_", "-")
	if s == "cancelled" {
		s = "canceled"
	}
	return s
}

// task reads a task of the shape. What the older versions say at an ended task's
// end, for want of a word of the agent, is left out.
func (l *tongue) task(t testing.TB, v any) (k task) {
	t.Helper()
	m := members(v)
	status := members(m["status"])
	k.ID, _ = m["id"].(string)
	k.Context, _ = m["contextId"].(string)
	if l.shape == shapeV01 {
		k.Context, _ = m["sessionId"].(string)
	}
	k.State = state(status["state"])
	k.Said = strings.Join(l.parts(status["message"]), "|")
	at, _ := status["timestamp"].(string)
	k.Timed = timestamp.MatchString(at)
	artifacts, _ := m["artifacts"].([]any)
	for _, a := range artifacts {
		k.Artifacts = append(k.Artifacts, l.artifact(members(a)))
	}
	history, _ := m["history"].([]any)
	for _, h := range history {
		role, _ := members(h)["role"].(string)
		k.History = append(k.History, strings.ToLower(strings.TrimPrefix(role, "ROLE_"))+": "+strings.Join(l.parts(h), "|"))
	}
	if n := len(k.History); l.shape != shapeV1 && k.Said == "" && n > 0 {
		last := k.History[n-1]
		if k.State == "completed" && strings.HasPrefix(last, "agent: ") || last == "agent: text The task was canceled." {
			k.History = k.History[:n-1]
		}
	}
	metadata, err := json.Marshal(m["metadata"])
	if err != nil {
		t.Error(err)
	}
	k.Metadata = string(metadata)
	return k
}

func (l *tongue) artifact(m map[string]any) string {
	return fmt.Sprint(m["name"]) + "=" + strings.Join(l.parts(m), "|")
}

// parts reads the parts of a message or an artifact.
func (l *tongue) parts(v any) (list []string) {
	m := members(v)
	parts, ok := m["parts"].([]any)
	if !ok {
		parts, _ = m["content"].([]any)
	}
	for _, p := range parts {
		p := members(p)
		data, hasData := p["data"]
		if l.shape == shapeOldProto {
			data = members(data)["data"]
		}
		metadata := members(p["metadata"])
		if metadata["data_part_compat"] == true {
			data = members(data)["value"]
		}
		file := members(p["file"])
		if text, ok := file["fileWithBytes"].(string); ok && l.binding == gRPC {
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				panic(err)
			}
			file["fileWithBytes"] = string(b)
		}
		first := func(values ...any) any {
			for _, v := range values {
				if v != nil {
					return v
				}
			}
			return ""
		}
		switch {
		case hasData:
			b, err := json.Marshal(data)
			if err != nil {
				panic(err)
			}
			list = append(list, "data "+string(b))
		case p["text"] != nil:
			list = append(list, "text "+fmt.Sprint(p["text"]))
		default:
			list = append(list, fmt.Sprint("file ", first(p["raw"], p["url"], file["bytes"], file["uri"], file["fileWithBytes"], file["fileWithUri"]), " ",
				first(p["mediaType"], file["mimeType"]), " ", first(p["filename"], file["name"])))
		}
	}
	return list
}

// status is that of an answer with the error's number, or with none (A2A 1.0.1 §5.4).
func (l *tongue) status(code int) int {
	switch l.binding {
	case jsonRPC:
		return http.StatusOK
	case gRPC:
		return l.rpcStatus(code)
	}
	switch code {
	case 0:
		return http.StatusOK
	case -32001, -32601:
		return http.StatusNotFound
	case -32603, -32006:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
