package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// The tests here and in the files conformance_*_test.go carry the ids of the
// requirements that the conformance kit of A2A 1.0 names and does not test; see
// docs/conformance.md.

// operation is one operation on a task as both versions spell it.
type operation struct{ v1, v03, params1, params03 string }

// operations are all operations that name the task.
func operations(task string) []operation {
	id := params("id", task)
	send1 := message("x", params("taskId", task), "")
	send03 := message03(text03("x"), params("taskId", task), "")
	hook := params("taskId", task, "url", "https://hooks.example.com/a")
	return []operation{
		{"SendMessage", "message/send", send1, send03},
		{"SendStreamingMessage", "message/stream", send1, send03},
		{"GetTask", "tasks/get", id, id},
		{"CancelTask", "tasks/cancel", id, id},
		{"SubscribeToTask", "tasks/resubscribe", id, id},
		{"CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", hook,
			`{"taskId":` + quote(task) + `,"pushNotificationConfig":{"url":"https://hooks.example.com/a"}}`},
		{"GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", params("taskId", task, "id", "p"), params("id", task, "pushNotificationConfigId", "p")},
		{"ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list", params("taskId", task), id},
		{"DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete", params("taskId", task, "id", "p"), params("id", task, "pushNotificationConfigId", "p")},
	}
}

// others are the operations that name no task.
func others() []operation {
	return []operation{
		{"ListTasks", "", `{}`, ""},
		{"GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", `{}`, `{}`},
		{"SendMessage", "message/send", message("@echo x", "", ""), message03(text03("@echo x"), "", "")},
		{"SendStreamingMessage", "message/stream", message("@echo x", "", ""), message03(text03("@echo x"), "", "")},
	}
}

// each calls an operation in both versions.
func (o operation) each(c *client, check func(version, method string, a servertest.Answer), headers ...string) {
	check("1.0", o.v1, c.RPC(call(o.v1, o.params1), append([]string{v10}, headers...)...))
	if o.v03 != "" {
		check("0.3", o.v03, c.RPC(call(o.v03, o.params03), append([]string{v03}, headers...)...))
	}
}

const v03 = "A2A-Version: 0.3"

func TestConformance_AUTH_SERVER_002(t *testing.T) {
	c := probe(t, withExtendedCard)
	id := c.bg("@hang")
	for name, headers := range map[string][]string{"no key": nil, "wrong key": {"Authorization: Bearer wrong"}, "wrong scheme": {"Authorization: Basic YWxpY2U6YWxpY2UtdG9rZW4="}} {
		for _, o := range append(operations(id), others()...) {
			o.each(c, func(version, method string, a servertest.Answer) {
				if a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" || a.Get("result") != nil {
					t.Errorf("%s with %s: got HTTP %d %s, want 401 with a challenge", method, name, a.Status, clip(a.Body))
				}
			}, headers...)
		}
		if a := c.Do("GET", "/api/a2a/tasks/"+id+"/stream", "", headers...); a.Status != http.StatusUnauthorized {
			t.Errorf("status stream with %s: got HTTP %d, want 401", name, a.Status)
		}
	}
	c.until(id, "TASK_STATE_WORKING") // nothing of the above touched it
	// What the card declares is what is asked for.
	card := c.Do("GET", cardPath, "", v10)
	for _, header := range declared(t, card) {
		if a := c.RPC(call("GetTask", params("id", id)), v10, header); a.Status != 200 || a.Get("result") == nil {
			t.Errorf("scheme %q of the card: got HTTP %d %s", header, a.Status, clip(a.Body))
		}
	}
}

// declared returns the header with alice's key for each security scheme of a 1.0
// card.
func declared(t *testing.T, card servertest.Answer) (headers []string) {
	t.Helper()
	schemes, _ := card.Get("securitySchemes").(map[string]any)
	for name := range schemes {
		switch {
		case card.Get("securitySchemes", name, "httpAuthSecurityScheme") != nil:
			scheme := card.Get("securitySchemes", name, "httpAuthSecurityScheme", "scheme")
			headers = append(headers, fmt.Sprintf("Authorization: %v alice-token", scheme))
		case card.Get("securitySchemes", name, "apiKeySecurityScheme", "location") == "header":
			headers = append(headers, fmt.Sprintf("%v: alice-token", card.Get("securitySchemes", name, "apiKeySecurityScheme", "name")))
		default:
			t.Errorf("scheme %s is of no known kind: %s", name, clip(card.Body))
		}
	}
	if len(headers) < 2 {
		t.Fatalf("got schemes %v, want a bearer token and a key header", headers)
	}
	return headers
}

// TestConformance_AUTH_INTASK follows one task through its need for authorisation.
func TestConformance_AUTH_INTASK(t *testing.T) {
	c := probe(t)
	st := openStream(t, c.Server, http.MethodPost, "/", call("SendStreamingMessage", message("@auth", "", "")), alice, v10)
	var pause frame
	for pause.state() != "TASK_STATE_AUTH_REQUIRED" {
		f, ok := st.next()
		if !ok {
			t.Fatal("stream ended before the task asked for authorisation")
		}
		pause = f
	}
	id, _ := pause.Get("result", "statusUpdate", "taskId").(string)
	task := c.get(id)
	t.Run("AUTH-INTASK-001 a task tracks it", func(t *testing.T) {
		want(t, task, id, "result", "id")
	})
	t.Run("AUTH-INTASK-002 its state says so", func(t *testing.T) {
		wantState(t, task, "TASK_STATE_AUTH_REQUIRED")
		wantState(t, c.v03("tasks/get", params("id", id)), "auth-required")
	})
	t.Run("AUTH-INTASK-003 its status says what is needed", func(t *testing.T) {
		want(t, task, "ROLE_AGENT", "result", "status", "message", "role")
		if texts(task.Get("result", "status", "message")) == "" {
			t.Errorf("status has no text: %s", clip(task.Body))
		}
	})
	t.Run("AUTH-INTASK-004 no credentials in band", func(t *testing.T) {
		// The caller's own key authenticates the caller; it is neither part of the task
		// nor taken for the authorisation that the task asks for.
		if strings.Contains(string(task.Body), "alice-token") {
			t.Errorf("the caller's key is in the task: %s", clip(task.Body))
		}
		wantState(t, c.get(id), "TASK_STATE_AUTH_REQUIRED")
	})
	t.Run("AUTH-INTASK-006 messages are accepted", func(t *testing.T) {
		wantCode(t, c.send("not yours", params("taskId", id), "", bob), "-32001")
		wantState(t, c.get(id), "TASK_STATE_AUTH_REQUIRED")
		wantState(t, c.send("done", params("taskId", id), ""), "TASK_STATE_COMPLETED")
	})
	t.Run("AUTH-INTASK-005 the stream was kept open", func(t *testing.T) {
		if got := states(st.rest()); !strings.HasSuffix(got, "TASK_STATE_COMPLETED") {
			t.Errorf("got states %q after the pause, want TASK_STATE_COMPLETED at the end", got)
		}
	})
}

func TestConformance_AUTH_SCOPE(t *testing.T) {
	c := probe(t)
	id := c.bg("@hang")
	context, _ := c.get(id).Get("result", "contextId").(string)
	t.Run("AUTH-SCOPE-001 every operation is checked", func(t *testing.T) {
		for _, o := range operations(id) {
			o.each(c, func(_, _ string, a servertest.Answer) { wantCode(t, a, "-32001") }, bob)
		}
		c.until(id, "TASK_STATE_WORKING")
		want(t, c.RPC(call("ListTaskPushNotificationConfigs", params("taskId", id)), alice, v10), nil, "result", "configs", 0)
	})
	t.Run("AUTH-SCOPE-002 results are the caller's", func(t *testing.T) {
		own := c.done("@echo mine", "", bob)
		for _, filter := range []string{`{}`, params("contextId", context), `{"status":"TASK_STATE_WORKING"}`, `{"includeArtifacts":true,"pageSize":100}`} {
			a := c.v1("ListTasks", filter, bob)
			if strings.Contains(string(a.Body), id) {
				t.Errorf("%s: another caller's task is in the list: %s", filter, clip(a.Body))
			}
			if filter == `{}` {
				want(t, a, own, "result", "tasks", 0, "id")
				want(t, a, 1, "result", "totalSize")
			}
		}
		// A context of another caller is one of that name of the caller's own.
		mine := c.done("@echo joined", params("contextId", context), bob)
		a := c.v1("ListTasks", params("contextId", context), bob)
		want(t, a, 1, "result", "totalSize")
		want(t, a, mine, "result", "tasks", 0, "id")
		want(t, c.v1("ListTasks", params("contextId", context)), 1, "result", "totalSize")
	})
	t.Run("AUTH-SCOPE-003 foreign is like unknown", func(t *testing.T) {
		const unknown = "11111111-2222-4333-8444-555555555555"
		foreign, missing := operations(id), operations(unknown)
		for i := range foreign {
			var got []string
			foreign[i].each(c, func(_, _ string, a servertest.Answer) {
				got = append(got, fmt.Sprint(a.Status, strings.ReplaceAll(string(a.Body), id, unknown)))
			}, bob)
			missing[i].each(c, func(_, method string, a servertest.Answer) {
				if diff := cmp.Diff(fmt.Sprint(a.Status, string(a.Body)), got[0]); diff != "" {
					t.Errorf("%s tells a foreign task from an unknown one (-unknown +foreign):\n%s", method, diff)
				}
				got = got[1:]
			}, bob)
		}
	})
}

func TestConformance_VER_SERVER_001(t *testing.T) {
	c := probe(t)
	id := c.done("@echo hi", "")
	for header, want1 := range map[string]bool{
		v10: true, "A2A-Version: 1.0 ": true, v03: false, "A2A-Version: ": false, "": false,
	} {
		headers := []string{alice}
		if header != "" {
			headers = append(headers, header)
		}
		for name, one := range map[string]bool{"GetTask": true, "tasks/get": false} {
			a := c.RPC(call(name, params("id", id)), headers...)
			switch {
			case one == want1 && one:
				wantState(t, a, "TASK_STATE_COMPLETED")
				want(t, a, nil, "result", "kind")
			case one == want1:
				wantState(t, a, "completed")
				want(t, a, "task", "result", "kind")
			case one && header != v03: // without a version the name of the method decides
				wantState(t, a, "TASK_STATE_COMPLETED")
			default:
				wantCode(t, a, "-32601")
			}
		}
	}
	wantState(t, c.Do("POST", "/?A2A-Version=1.0", call("GetTask", params("id", id)), alice), "TASK_STATE_COMPLETED")
	// Meaning differs too, not spelling alone: canceling again is no error in 1.0.
	task := c.bg("@hang")
	for range 2 {
		wantState(t, c.cancel(task), "TASK_STATE_CANCELED")
	}
	wantCode(t, c.v03("tasks/cancel", params("id", task)), "-32002")
	wantCode(t, c.RPC(call("GetTask", params("id", id)), alice, "A2A-Version: 2.0"), "-32009")
}

func TestConformance_VER_CLIENT_002(t *testing.T) {
	c := probe(t)
	id := c.done("@echo hi", "")
	for _, version := range []string{"1.0.0", "1.0.1", "1.0.99"} {
		wantState(t, c.RPC(call("GetTask", params("id", id)), alice, "A2A-Version: "+version), "TASK_STATE_COMPLETED")
	}
	wantState(t, c.RPC(call("tasks/get", params("id", id)), alice, "A2A-Version: 0.3.7"), "completed")
	// Nor do we say one in what is about versions.
	for i := range 2 {
		v, _ := c.Do("GET", cardPath, "", v10).Get("supportedInterfaces", i, "protocolVersion").(string)
		if !regexp.MustCompile(`^\d+\.\d+$`).MatchString(v) {
			t.Errorf("interface %d: got protocolVersion %q, want Major.Minor", i, v)
		}
	}
}

// TestConformance_BIND_EQUIV compares the two versions of JSON-RPC that the card
// declares; see TestConformance_Bindings for the other bindings.
func TestConformance_BIND_EQUIV(t *testing.T) {
	c := probe(t, withExtendedCard)
	t.Run("BIND-EQUIV-001 the same operations", func(t *testing.T) {
		id := c.bg("@hang")
		for _, o := range append(operations(id), others()...) {
			o.each(c, func(version, method string, a servertest.Answer) {
				if a.Status != 200 || fmt.Sprint(a.Get("error", "code")) == "-32601" {
					t.Errorf("%s: got HTTP %d %s, want it served", method, a.Status, clip(a.Body))
				}
			}, alice)
		}
	})
	t.Run("BIND-EQUIV-002 equivalent results", func(t *testing.T) {
		for text, state := range map[string][2]string{
			"@echo hi": {"TASK_STATE_COMPLETED", "completed"}, "@ask": {"TASK_STATE_INPUT_REQUIRED", "input-required"},
			"@fail": {"TASK_STATE_FAILED", "failed"},
		} {
			for _, id := range []string{c.done(text, ""), taskID(c.v03("message/send", message03(text03(text), "", "")))} {
				one, old := c.get(id), c.v03("tasks/get", params("id", id))
				wantState(t, one, state[0])
				wantState(t, old, state[1])
				for _, path := range [][]any{
					{"result", "id"}, {"result", "contextId"}, {"result", "status", "timestamp"},
					{"result", "artifacts", 0, "artifactId"}, {"result", "artifacts", 0, "parts", 0, "text"},
					{"result", "history", 0, "messageId"}, {"result", "history", 0, "parts", 0, "text"},
				} {
					if one.Get(path...) != old.Get(path...) {
						t.Errorf("%s: %v is %v in 1.0 and %v in 0.3", text, path, one.Get(path...), old.Get(path...))
					}
				}
			}
		}
	})
	t.Run("BIND-EQUIV-003 the same errors", func(t *testing.T) {
		ended := c.done("@echo x", "")
		for name, o := range map[string]struct {
			operation
			code string
		}{
			"unknown task":      {operation{"GetTask", "tasks/get", `{"id":"nope"}`, `{"id":"nope"}`}, "-32001"},
			"cancel an end":     {operation{"CancelTask", "tasks/cancel", params("id", ended), params("id", ended)}, "-32002"},
			"message to an end": {operations(ended)[0], "-32004"},
			"no params":         {operation{"GetTask", "tasks/get", `{}`, `{}`}, "-32602"},
			"no such method":    {operation{"DoTask", "tasks/do", `{}`, `{}`}, "-32601"},
		} {
			t.Run(name, func(t *testing.T) {
				o.each(c, func(_, _ string, a servertest.Answer) { wantCode(t, a, o.code) }, alice)
			})
		}
	})
	t.Run("BIND-EQUIV-004 the same authentication", func(t *testing.T) {
		id := c.done("@echo x", "")
		var names [2][]string
		for i, version := range []string{v10, v03} {
			card := c.Do("GET", cardPath, "", version)
			schemes, _ := card.Get("securitySchemes").(map[string]any)
			for name := range schemes {
				names[i] = append(names[i], name)
			}
			slices.Sort(names[i])
		}
		if diff := cmp.Diff(names[0], names[1]); diff != "" || len(names[0]) == 0 {
			t.Errorf("security schemes of the cards (-1.0 +0.3), %d:\n%s", len(names[0]), diff)
		}
		for _, header := range declared(t, c.Do("GET", cardPath, "", v10)) {
			operations(id)[2].each(c, func(version, method string, a servertest.Answer) {
				want(t, a, id, "result", "id")
			}, header)
		}
	})
}

// TestConformance_Capabilities: what the kit tests only of a server that lacks a
// capability.
func TestConformance_Capabilities(t *testing.T) {
	t.Run("CORE-CAP-001 no push", func(t *testing.T) {
		c := probe(t, func(cfg *configs.Config) { cfg.Push.Enabled = false })
		want(t, c.Do("GET", cardPath, "", v10), one(nil, false), "capabilities", "pushNotifications")
		for _, o := range operations(c.done("@echo x", ""))[5:] {
			o.each(c, func(_, _ string, a servertest.Answer) { wantCode(t, a, "-32003") }, alice)
		}
	})
	t.Run("CORE-CAP-002 no streams", func(t *testing.T) {
		c := probe(t, func(cfg *configs.Config) { cfg.Stream.Enabled = false })
		want(t, c.Do("GET", cardPath, "", v10), one(nil, false), "capabilities", "streaming")
		all := operations(c.bg("@hang"))
		for _, o := range []operation{all[1], all[4]} {
			o.each(c, func(_, _ string, a servertest.Answer) { wantCode(t, a, "-32004") }, alice)
		}
	})
	t.Run("CARD-EXT-001 the extended card asks for a key", func(t *testing.T) {
		c := probe(t, withExtendedCard)
		others()[1].each(c, func(version, method string, a servertest.Answer) {
			if a.Status != http.StatusUnauthorized {
				t.Errorf("%s without a key: got HTTP %d, want 401", method, a.Status)
			}
		})
		others()[1].each(c, func(version, method string, a servertest.Answer) {
			want(t, a, "Skillyard", "result", "name")
		}, alice)
	})
	t.Run("CARD-EXT-002 no extended card", func(t *testing.T) {
		c := probe(t)
		wantCode(t, c.v1("GetExtendedAgentCard", `{}`), "-32004") // undeclared: CORE-CAP-003
		wantCode(t, c.v03("agent/getAuthenticatedExtendedCard", `{}`), "-32007")
	})
}

// TestConformance_PlainErrors: with the setting that the kit needs, 1.0 clients get
// the error of a stream that cannot begin as plain JSON. Those of 0.3 cannot read
// that.
func TestConformance_PlainErrors(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Compat.StreamErrors = "json" })
	const events = "Accept: text/event-stream"
	for _, id := range []string{"nope", c.done("@echo x", "")} {
		a := c.RPC(call("SubscribeToTask", params("id", id)), alice, v10, events)
		wantCode(t, a, "-32001", "-32004")
		if got := a.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("1.0: got Content-Type %q, want application/json", got)
		}
	}
	a := c.RPC(call("tasks/resubscribe", `{"id":"nope"}`), alice, v03, events)
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") || !strings.HasPrefix(string(a.Body), "event: error\n") {
		t.Errorf("0.3: got Content-Type %q and %s, want an event", got, clip(a.Body))
	}
}

// TestConformance_Example holds the configuration for the kits to what both ask for.
func TestConformance_Example(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "configs", "examples", "tck.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, Server: servertest.New(t, servertest.Options{YAML: string(data), Edit: func(cfg *configs.Config) {
		cfg.GRPC.Addr = "127.0.0.1:0" // the port of the example may be taken
	}})}
	send := func(id, extra string) servertest.Answer {
		return c.v1("SendMessage", `{"message":`+merge(`{"messageId":"`+id+`-0a1b2c3d","role":"ROLE_USER","parts":[{"text":"x"}]}`, extra)+`}`)
	}
	for id, state := range map[string]string{
		"tck-complete-task": "TASK_STATE_COMPLETED", "tck-reject-task": "TASK_STATE_REJECTED", "anything": "TASK_STATE_COMPLETED",
	} {
		wantState(t, send(id, ""), state)
	}
	// A follow-up may ask to be asked again; the messages of all turns are kept.
	asked := send("tck-input-required", "")
	wantState(t, asked, "TASK_STATE_INPUT_REQUIRED")
	task := params("taskId", taskID(asked))
	wantState(t, send("tck-input-required", task), "TASK_STATE_INPUT_REQUIRED")
	wantState(t, send("tck-complete-task", task), "TASK_STATE_COMPLETED")
	// In 0.3 the answer comes while the task is at work, and it takes messages then.
	a := c.v03("message/send", message03(text03("hello"), "", ""))
	wantState(t, a, "working")
	wantState(t, c.v03("message/send", message03(text03("more"), params("taskId", taskID(a)), "")), "working")
	wantState(t, c.v03("tasks/cancel", params("id", taskID(a))), "canceled")
}
