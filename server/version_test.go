package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
)

func strictVersion(c *configs.Config) { c.Compat.StrictVersion = true }

// TestVersion_Negotiation: the version is looked at before anything else of the request,
// and a request gets the semantics of the version that it names.
func TestVersion_Negotiation(t *testing.T) {
	c := probe(t)
	const broken = `{"message":{"messageId":7,"parts":"none"},"configuration":[]}`
	for _, version := range []string{"99.0", "0.5", "1.1", "2", "1", "v1.0", "1.0-rc", "1.0, 0.3", "junk", "\u0661.0", strings.Repeat("9", 4000)} {
		for _, method := range []string{"SendMessage", "message/send", "tasks/submit", "GetTask", "no/such"} {
			a := c.RPC(call(method, broken), alice, "A2A-Version: "+version)
			wantCode(t, a, -32009)
			want(t, a, "VERSION_NOT_SUPPORTED", "error", "data", 0, "reason")
			want(t, a, "0.3, 1.0", "error", "data", 0, "metadata", "supportedVersions")
			if len(a.Body) > 1000 {
				t.Errorf("the answer to a version of %d bytes has %d", len(version), len(a.Body))
			}
		}
	}
	st := openStream(t, c.Server, "POST", "/", call("SendStreamingMessage", message("@echo x", "", "")), alice, "A2A-Version: 99.0")
	if frames := st.rest(); len(frames) != 1 || frames[0].Get("error", "code") == nil {
		t.Errorf("stream of an unknown version: got %v", frames)
	}
	want(t, c.v1("ListTasks", `{}`), 0, "result", "totalSize")

	// None is 0.3, except for methods that only 1.0 has.
	for _, header := range []string{"A2A-Version: ", "X: y"} {
		a := c.RPC(call("message/send", message03(text03("@echo x"), "", "")), alice, header)
		want(t, a, "task", "result", "kind")
		a = c.RPC(call("SendMessage", message("@echo x", "", "")), alice, header)
		wantState(t, a, "TASK_STATE_COMPLETED")
		wantCode(t, c.RPC(call("SendMessage", broken), alice, header), -32602)
	}
	// The header counts before the query, an empty one does not.
	get := call("GetTask", `{"id":"none"}`)
	wantCode(t, c.Do("POST", "/?A2A-Version=99.0", get, alice, v10), -32001)
	wantCode(t, c.Do("POST", "/?A2A-Version=1.0", get, alice, "A2A-Version: 99.0"), -32009)
	wantCode(t, c.Do("POST", "/?A2A-Version=1.0", get, alice, "A2A-Version: "), -32001)
}

// TestVersion_Semantics: a task is shown in the words of whoever asks, whoever made it.
func TestVersion_Semantics(t *testing.T) {
	c := probe(t)
	for _, id := range []string{
		taskID(c.v03("message/send", message03(text03("@ask"), "", ""))),
		taskID(c.send("@ask", "", "")),
	} {
		want(t, c.v03("tasks/get", params("id", id)), "input-required", "result", "status", "state")
		wantState(t, c.get(id), "TASK_STATE_INPUT_REQUIRED")
		wantState(t, c.cancel(id), "TASK_STATE_CANCELED")
		wantState(t, c.cancel(id), "TASK_STATE_CANCELED")                       // 1.0: idempotent
		wantCode(t, c.v03("tasks/cancel", params("id", id)), -32002)            // 0.3: an error
		wantCode(t, c.v1("SubscribeToTask", params("id", id)), -32004)          // 1.0: nothing to watch
		want(t, c.v03("tasks/get", params("id", id)), "task", "result", "kind") // 0.3 shapes still
	}
}

func TestVersion_Strict(t *testing.T) {
	c := probe(t, strictVersion)
	for _, header := range []string{"A2A-Version: ", "X: y"} {
		for method, body := range map[string]string{
			"SendMessage": message("@echo x", "", ""), "SendStreamingMessage": message("@echo x", "", ""), "GetTask": `{}`, "ListTasks": `{}`,
		} {
			a := c.RPC(call(method, body), alice, header)
			wantCode(t, a, -32009)
			want(t, a, "The request has to name its version in A2A-Version; supported versions: 0.3, 1.0", "error", "message")
		}
		a := c.Do("GET", "/rest/tasks", "", alice, header)
		want(t, a, "The request has to name its version in A2A-Version; supported versions: 1.0", "error", "message")
		// What is older than the header needs none.
		want(t, c.RPC(call("message/send", message03(text03("@echo x"), "", "")), alice, header), "task", "result", "kind")
		wantCode(t, c.RPC(call("tasks/get", `{"id":"none"}`), alice, header), -32001)
		a = c.RPC(call("tasks/submit", `{"message":{"role":"user","parts":[{"type":"text","text":"@echo x"}]}}`), alice, header)
		want(t, a, nil, "error")
	}
	wantState(t, c.send("@echo x", "", ""), "TASK_STATE_COMPLETED")
	want(t, c.v1("ListTasks", `{}`), 5, "result", "totalSize")
}

// TestVersion_Declared: the card declares, for each binding, exactly the versions that
// the server takes there.
func TestVersion_Declared(t *testing.T) {
	c := probe(t)
	card := c.Do("GET", cardPath, "", v10)
	var versions []string
	rest := map[string]string{"1.0": "/tasks/none", "0.3": "/v1/tasks/none"}
	for i := 0; card.Get("supportedInterfaces", i) != nil; i++ {
		version, _ := card.Get("supportedInterfaces", i, "protocolVersion").(string)
		path := strings.TrimPrefix(card.Get("supportedInterfaces", i, "url").(string), c.URL)
		if card.Get("supportedInterfaces", i, "protocolBinding") == "HTTP+JSON" {
			for _, v := range []string{version, ""} {
				a := c.Do("GET", path+rest[version], "", alice, "A2A-Version: "+v)
				if a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), "Task not found") {
					t.Errorf("REST %s: got HTTP %d %s", version, a.Status, a.Body)
				}
			}
			delete(rest, version)
			continue
		}
		versions = append(versions, version)
		method := map[string]string{"1.0": "GetTask", "0.3": "tasks/get"}[version]
		wantCode(t, c.Do("POST", path, call(method, `{"id":"none"}`), alice, "A2A-Version: "+version), -32001)
	}
	if len(rest) > 0 {
		t.Errorf("the card names no REST interface for %v", rest)
	}
	refused := c.RPC(call("GetTask", `{}`), alice, "A2A-Version: 99.0")
	slices.Sort(versions)
	want(t, refused, strings.Join(versions, ", "), "error", "data", 0, "metadata", "supportedVersions")
}
