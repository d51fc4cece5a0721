package server_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// envelope decodes the JSON-RPC answer and checks its form: exactly one of result
// and error, an id, and nothing that some client stumbles over.
func envelope(t testing.TB, body []byte) (result, failure json.RawMessage) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		t.Errorf("answer is not a JSON object: %v\n%s", err, clip(body))
		return nil, nil
	}
	if string(m["jsonrpc"]) != `"2.0"` || m["id"] == nil {
		t.Errorf("jsonrpc is %s, id is %s; want \"2.0\" and an id: %s", m["jsonrpc"], m["id"], clip(body))
	}
	_, hasResult := m["result"]
	if _, hasError := m["error"]; hasResult == hasError || string(m["error"]) == "null" {
		t.Errorf("want exactly one of result and error, and no null error: %s", clip(body))
	}
	for name := range m {
		if !slices.Contains([]string{"jsonrpc", "id", "result", "error", "detail"}, name) {
			t.Errorf("answer has a member %q: %s", name, clip(body))
		}
	}
	return m["result"], m["error"]
}

// internals are words that must never reach a client.
var internals = regexp.MustCompile(`(?i)sqlite|modernc|goroutine|panic:|\.go:\d|jsontext|encoding/json|offset|invalid character|varchar|constraint|pq:`)

// checkError checks the form of an error that every client accepts: code, message
// and data, which for the A2A dialects is a list of objects with @type. It may have the
// extra members.
func checkError(t testing.TB, raw json.RawMessage, extra ...string) {
	t.Helper()
	var e map[string]json.RawMessage
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Errorf("error is not an object: %s", raw)
		return
	}
	for name := range e {
		if name != "code" && name != "message" && name != "data" && !slices.Contains(extra, name) {
			t.Errorf("error has a member %q, which clients refuse: %s", name, raw)
		}
	}
	var message string
	if json.Unmarshal(e["message"], &message) != nil || message == "" {
		t.Errorf("error without a message: %s", raw)
	}
	if internals.MatchString(message) {
		t.Errorf("error message tells about the inside: %s", raw)
	}
	if e["data"] == nil {
		return
	}
	var data []map[string]any
	if err := json.Unmarshal(e["data"], &data); err != nil || len(data) == 0 {
		t.Errorf("data is not a list of objects: %s", raw)
		return
	}
	for i, d := range data {
		typ, _ := d["@type"].(string)
		if !strings.HasPrefix(typ, "type.googleapis.com/google.rpc.") {
			t.Errorf("data[%d] has @type %q: %s", i, typ, raw)
		}
		if i == 0 && (typ != "type.googleapis.com/google.rpc.ErrorInfo" || d["reason"] == "" || d["domain"] != "a2a-protocol.org") {
			t.Errorf("data[0] is not the ErrorInfo: %s", raw)
		}
		for _, v := range members(d["metadata"]) {
			if _, ok := v.(string); !ok {
				t.Errorf("ErrorInfo metadata has a value that is no string: %s", raw)
			}
		}
	}
}

func members(v any) map[string]any { m, _ := v.(map[string]any); return m }

// checkV1 decodes an answer of 1.0 with the official types, refusing unknown
// members, as the Python client does, and looks for leftovers of older versions.
func checkV1(t testing.TB, method string, body []byte) {
	t.Helper()
	result, failure := envelope(t, body)
	if failure != nil {
		checkError(t, failure)
		return
	}
	checkResultV1(t, method, result)
}

// checkResultV1 decodes a result of 1.0, which is a whole answer in REST.
func checkResultV1(t testing.TB, method string, result []byte) {
	t.Helper()
	var m proto.Message
	switch method {
	case "SendMessage":
		m = &a2apb.SendMessageResponse{}
	case "GetTask", "CancelTask":
		m = &a2apb.Task{}
	case "ListTasks":
		m = &a2apb.ListTasksResponse{}
		for _, name := range []string{"tasks", "nextPageToken", "pageSize", "totalSize"} {
			if _, ok := object(t, result)[name]; !ok {
				t.Errorf("ListTasks answer without %s: %s", name, clip(result))
			}
		}
	case "GetExtendedAgentCard":
		m = &a2apb.AgentCard{}
	case "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig":
		m = &a2apb.TaskPushNotificationConfig{}
	case "ListTaskPushNotificationConfigs":
		m = &a2apb.ListTaskPushNotificationConfigsResponse{}
		if _, ok := object(t, result)["configs"].([]any); !ok {
			t.Errorf("list of push configs without the list: %s", clip(result))
		}
	case "DeleteTaskPushNotificationConfig":
		if string(result) != "null" {
			t.Errorf("result of the deletion of a push config: got %s, want null", clip(result))
		}
		return
	case "SendStreamingMessage", "SubscribeToTask":
		m = &a2apb.StreamResponse{}
	default:
		t.Errorf("method %s has no result: %s", method, clip(result))
		return
	}
	if err := (protojson.UnmarshalOptions{}).Unmarshal(result, m); err != nil {
		t.Errorf("strict decoding of the result of %s: %v\n%s", method, err, clip(result))
	}
	if method != "GetExtendedAgentCard" {
		noOldMembers(t, "", object(t, result))
	}
}

// noOldMembers looks for members that 1.0 has done away with, outside of what
// clients and skills put there themselves.
func noOldMembers(t testing.TB, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch name {
			case "kind", "final", "type":
				t.Errorf("1.0 answer has %s.%s", path, name)
			case "data", "metadata":
				continue
			}
			noOldMembers(t, path+"."+name, member)
		}
	case []any:
		for _, e := range v {
			noOldMembers(t, path, e)
		}
	}
}

func object(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // clients may send numbers that no float holds
	if err := d.Decode(&m); err != nil {
		t.Errorf("not an object: %v\n%s", err, clip(raw))
	}
	return m
}

// checkV03 holds an answer of 0.3 against what a FastA2A client accepts, which
// validates every member of every object.
func checkV03(t testing.TB, body []byte) {
	t.Helper()
	result, failure := envelope(t, body)
	if failure != nil {
		checkError(t, failure)
		if e := object(t, failure); e["code"] == json.Number("-32001") && (e["message"] != "Task not found" || len(e) != 2) {
			t.Errorf("unknown task: got %s, want exactly code and \"Task not found\"", failure)
		}
		return
	}
	if strings.Contains(string(result), "TASK_STATE_") || strings.Contains(string(result), "ROLE_") {
		t.Errorf("0.3 answer has names of 1.0: %s", clip(result))
	}
	c := &fastA2A{t: t, raw: result}
	if s := string(result); s == "null" || strings.HasPrefix(s, "[") {
		// The deletion of a push config, and the list of them.
		var list []map[string]any
		if err := json.Unmarshal(result, &list); err != nil {
			t.Errorf("neither null nor a list of objects: %s", clip(result))
		}
		for _, v := range list {
			c.pushConfig(v)
		}
		return
	}
	v := object(t, result)
	switch {
	case v["pushNotificationConfig"] != nil:
		c.pushConfig(v)
	case v["protocolVersion"] != nil: // an agent card
	case v["kind"] == "message":
		c.message(v)
	default:
		c.task(v)
	}
}

// fastA2A checks with the eyes of that client.
type fastA2A struct {
	t   testing.TB
	raw []byte
}

func (c *fastA2A) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("FastA2A client: "+format+"\n%s", append(args, clip(c.raw))...)
}

func (c *fastA2A) text(o map[string]any, name string) string {
	c.t.Helper()
	s, ok := o[name].(string)
	if !ok {
		c.errorf("%s is %v, want a string", name, o[name])
	}
	return s
}

// list returns a member that must not be null and may be absent.
func (c *fastA2A) list(o map[string]any, name string) []any {
	c.t.Helper()
	v, there := o[name]
	l, ok := v.([]any)
	if there && !ok {
		c.errorf("%s is %v, want a list", name, v)
	}
	return l
}

func (c *fastA2A) task(v map[string]any) {
	c.t.Helper()
	if kind := c.text(v, "kind"); kind != "task" {
		c.errorf("kind is %q, want task", kind)
	}
	c.text(v, "id")
	c.text(v, "contextId")
	status := members(v["status"])
	state := c.text(status, "state")
	// It knows rejected, too, but polls such a task until its timeout.
	if !slices.Contains([]string{"submitted", "working", "input-required", "completed", "canceled", "failed", "auth-required"}, state) {
		c.errorf("state is %q", state)
	}
	ended := state == "completed" || state == "failed" || state == "canceled"
	if m, ok := status["message"]; ok {
		c.message(members(m))
	} else if state == "failed" {
		c.errorf("failed task without a status message")
	}
	for _, a := range c.list(v, "artifacts") {
		c.text(members(a), "artifactId")
		c.parts(members(a))
	}
	history := c.list(v, "history")
	for i, m := range history {
		m := members(m)
		c.message(m)
		if i == len(history)-1 && ended && (m["role"] != "agent" || texts(m) == "") {
			c.errorf("last entry of the history is no answer of the agent")
		}
	}
}

func (c *fastA2A) message(m map[string]any) {
	c.t.Helper()
	if kind := c.text(m, "kind"); kind != "message" {
		c.errorf("kind is %q, want message", kind)
	}
	c.text(m, "messageId")
	if role := c.text(m, "role"); role != "user" && role != "agent" {
		c.errorf("role is %q", role)
	}
	c.parts(m)
}

// pushConfig checks a TaskPushNotificationConfig, which has nothing that the 0.3
// schema does not have, and no secret.
func (c *fastA2A) pushConfig(v map[string]any) {
	c.t.Helper()
	c.only(v, "taskId", "pushNotificationConfig")
	c.text(v, "taskId")
	config := members(v["pushNotificationConfig"])
	c.only(config, "id", "url", "authentication")
	c.text(config, "id")
	c.text(config, "url")
	if a, ok := config["authentication"]; ok {
		c.only(members(a), "schemes")
		if len(c.list(members(a), "schemes")) == 0 {
			c.errorf("authentication is %v, want schemes", a)
		}
	}
}

// only complains about other members.
func (c *fastA2A) only(o map[string]any, names ...string) {
	c.t.Helper()
	for name := range o {
		if !slices.Contains(names, name) {
			c.errorf("there is a member %s", name)
		}
	}
}

func (c *fastA2A) parts(o map[string]any) {
	c.t.Helper()
	if _, ok := o["parts"]; !ok {
		c.errorf("no parts")
	}
	for _, p := range c.list(o, "parts") {
		p := members(p)
		switch kind := c.text(p, "kind"); kind {
		case "text":
			c.text(p, "text")
		case "data":
			if _, ok := p["data"].(map[string]any); !ok {
				c.errorf("data is %v, want an object", p["data"])
			}
		case "file":
			f := members(p["file"])
			if (f["uri"] == nil) == (f["bytes"] == nil) {
				c.errorf("file is %v, want one of bytes and uri", f)
			}
		default:
			c.errorf("kind of a part is %q", kind)
		}
	}
}
