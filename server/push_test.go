package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

func TestPush_Operations(t *testing.T) {
	c := probe(t)
	task := c.bg("@sleep 60")
	// Set in one dialect, read in the other.
	set := c.v03("tasks/pushNotificationConfig/set", params("taskId", task, "pushNotificationConfig",
		map[string]any{"id": "p1", "url": "https://hooks.example.com/1", "token": "t", "authentication": map[string]any{"schemes": []string{"Bearer"}, "credentials": "c"}}))
	want(t, set, task, "result", "taskId")
	want(t, set, "p1", "result", "pushNotificationConfig", "id")
	want(t, set, "https://hooks.example.com/1", "result", "pushNotificationConfig", "url")
	want(t, set, "Bearer", "result", "pushNotificationConfig", "authentication", "schemes", 0)
	get := c.v1("GetTaskPushNotificationConfig", params("taskId", task, "id", "p1"))
	for name, wanted := range map[string]any{"id": "p1", "taskId": task, "url": "https://hooks.example.com/1", "token": nil} {
		want(t, get, wanted, "result", name)
	}
	want(t, get, "Bearer", "result", "authentication", "scheme")
	c.setPush(task, "https://hooks.example.com/2", `{"id":"p2"}`)
	list := c.v03("tasks/pushNotificationConfig/list", params("id", task))
	for i, id := range []any{"p1", "p2", nil} {
		want(t, list, id, "result", i, "pushNotificationConfig", "id")
	}
	// Without an id the first one.
	want(t, c.v03("tasks/pushNotificationConfig/get", params("id", task)), "p1", "result", "pushNotificationConfig", "id")
	c.v03("tasks/pushNotificationConfig/delete", params("id", task, "pushNotificationConfigId", "p1"))
	want(t, c.v03("tasks/pushNotificationConfig/get", params("id", task)), "p2", "result", "pushNotificationConfig", "id")
	all := c.v1("ListTaskPushNotificationConfigs", params("taskId", task))
	want(t, all, "p2", "result", "configs", 0, "id")
	want(t, all, nil, "result", "configs", 1)
	c.v1("DeleteTaskPushNotificationConfig", params("taskId", task, "id", "p2"))
	want(t, c.v1("ListTaskPushNotificationConfigs", params("taskId", task)), nil, "result", "configs", 0)
	want(t, c.v03("tasks/pushNotificationConfig/list", params("id", task)), nil, "result", 0)
	// Of an ended task there may be one, which gets nothing.
	want(t, c.setPush(c.done("@echo x", ""), "https://hooks.example.com/3", ""), nil, "error")
}

func TestPush_Invalid(t *testing.T) {
	c := probe(t)
	task := c.bg("@sleep 60")
	for body, field := range map[string]string{
		`{"url":"https://h.example.com"}`:                               "taskId",
		params("taskId", task):                                          "url",
		params("taskId", task, "url", ""):                               "url",
		params("taskId", task, "url", "hook"):                           "url",
		params("taskId", task, "url", "ftp://h.example.com"):            "url",
		params("taskId", task, "url", "https://u:p@h.example.com"):      "url",
		params("taskId", task, "url", "https://bücher.example"):         "url",
		params("taskId", task, "url", 7):                                "url",
		params("taskId", task, "url", "https://h.example.com", "id", 7): "id",
	} {
		a := c.v1("CreateTaskPushNotificationConfig", body)
		wantCode(t, a, -32602)
		want(t, a, field, "error", "data", 1, "fieldViolations", 0, "field")
	}
	wantCode(t, c.v1("CreateTaskPushNotificationConfig", `[]`), -32602)
	wantCode(t, c.v1("GetTaskPushNotificationConfig", params("taskId", task)), -32602)
	wantCode(t, c.v1("DeleteTaskPushNotificationConfig", params("taskId", task)), -32602)
	wantCode(t, c.v1("ListTaskPushNotificationConfigs", `{}`), -32602)
	wantCode(t, c.v03("tasks/pushNotificationConfig/set", params("taskId", task)), -32602)
	wantCode(t, c.v03("tasks/pushNotificationConfig/set", params("taskId", task, "pushNotificationConfig", map[string]any{})), -32602)
	wantCode(t, c.v03("tasks/pushNotificationConfig/delete", params("id", task)), -32602)
	want(t, c.v1("ListTaskPushNotificationConfigs", params("taskId", task)), nil, "result", "configs", 0)
}

// TestPush_Foreign: to another caller the task is not there.
func TestPush_Foreign(t *testing.T) {
	c := probe(t)
	h := newHook(t, nil)
	task := taskID(c.send("@ask", "", ""))
	c.setPush(task, h.url, `{"id":"p"}`)
	for _, a := range []servertest.Answer{
		c.setPush(task, h.url, `{"id":"p"}`, bob),
		c.v1("GetTaskPushNotificationConfig", params("taskId", task, "id", "p"), bob),
		c.v1("ListTaskPushNotificationConfigs", params("taskId", task), bob),
		c.v1("DeleteTaskPushNotificationConfig", params("taskId", task, "id", "p"), bob),
		c.v03("tasks/pushNotificationConfig/set", params("taskId", task, "pushNotificationConfig", map[string]any{"url": h.url}), bob),
		c.v03("tasks/pushNotificationConfig/get", params("id", task), bob),
		c.v03("tasks/pushNotificationConfig/list", params("id", task), bob),
		c.v03("tasks/pushNotificationConfig/delete", params("id", task, "pushNotificationConfigId", "p"), bob),
		c.send("blue", params("taskId", task), inline(h.url, ""), bob),
	} {
		wantCode(t, a, -32001)
	}
	list := c.v1("ListTaskPushNotificationConfigs", params("taskId", task))
	want(t, list, "p", "result", "configs", 0, "id")
	want(t, list, nil, "result", "configs", 1)
}

// TestPush_Off: without push every operation on it is refused, and a send that asks
// for it too.
func TestPush_Off(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) { cfg.Push.Enabled = false })
	task := c.bg("@sleep 60")
	for _, method := range []string{"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"} {
		wantCode(t, c.v1(method, params("taskId", task)), -32003)
	}
	for _, method := range []string{"set", "get", "list", "delete"} {
		wantCode(t, c.v03("tasks/pushNotificationConfig/"+method, params("id", task)), -32003)
	}
	wantCode(t, c.send("@echo x", "", inline("https://h.example.com", "")), -32003)
	wantCode(t, c.v03("message/send", message03(text03("x"), "", params("pushNotificationConfig", map[string]any{"url": "https://h.example.com"}))), -32003)
	want(t, c.v1("ListTasks", `{}`), 1, "result", "totalSize")
	card := c.Do("GET", cardPath, "")
	want(t, card, false, "capabilities", "pushNotifications")
}

// TestPush_Dialects: each webhook gets what the dialect of its registration has, of
// one and the same task.
func TestPush_Dialects(t *testing.T) {
	c := probe(t)
	v1, v03, late := newHook(t, nil), newHook(t, nil), newHook(t, nil)
	config := params("pushNotificationConfig", map[string]any{"url": v03.url, "id": "old"})
	a := c.v03("message/send", message03(text03("@ask"), "", config))
	task := a.Get("result", "id").(string)
	v03.until(t, "input-required")
	c.setPush(task, v1.url, `{"id":"new"}`)
	// A message to the task may bring one too: it gets what its message starts.
	c.send("blue", params("taskId", task), inline(late.url, `{"id":"late"}`))
	for _, h := range []*hook{v1, late} {
		wantTold(t, h.until(t, "TASK_STATE_COMPLETED"), "WORKING", "blue", "COMPLETED")
	}
	checkDeliveries(t, v1.got(), task+".new.")
	checkDeliveries(t, late.got(), task+".late.")
	all := v03.until(t, `"completed"`)
	checkDeliveries(t, all, task+".old.")
	for i, a := range all {
		checkV03(t, []byte(`{"jsonrpc":"2.0","id":1,"result":`+string(a.Body)+`}`))
		want(t, a.Answer, task, "id")
		want(t, a.Answer, "task", "kind")
		if state := a.Get("status", "state"); state == "completed" != (i == len(all)-1) {
			t.Errorf("delivery %d of %d shows %v", i+1, len(all), state)
		}
	}
	last := all[len(all)-1]
	want(t, last.Answer, "blue", "artifacts", 0, "parts", 0, "text")
	// It shows the task as the caller gets it.
	get := c.v03("tasks/get", params("id", task))
	var pushed, got any
	if json.Unmarshal(last.Body, &pushed) != nil || json.Unmarshal([]byte(mustJSON(t, get.Get("result"))), &got) != nil || mustJSON(t, pushed) != mustJSON(t, got) {
		t.Errorf("got %s, want the task %s", last.Body, get.Body)
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPush_Delete: who was deleted is told nothing more.
func TestPush_Delete(t *testing.T) {
	c := probe(t)
	deleted, replaced, good := newHook(t, nil), newHook(t, nil), newHook(t, nil)
	task := taskID(c.send("@ask", "", inline(deleted.url, `{"id":"a"}`)))
	c.setPush(task, replaced.url, `{"id":"b"}`)
	c.setPush(task, good.url, `{"id":"c"}`)
	deleted.until(t, "TASK_STATE_INPUT_REQUIRED")
	c.v1("DeleteTaskPushNotificationConfig", params("taskId", task, "id", "a"))
	other := newHook(t, nil)
	c.setPush(task, other.url, `{"id":"b"}`)
	c.send("blue", params("taskId", task), "")
	for _, h := range []*hook{good, other} {
		wantTold(t, h.until(t, "TASK_STATE_COMPLETED"), "WORKING", "blue", "COMPLETED")
	}
	wantTold(t, deleted.got(), "WORKING", "INPUT_REQUIRED")
	if n := len(replaced.got()); n != 0 {
		t.Errorf("the webhook that was replaced got %d requests", n)
	}
}

// TestPush_Signature: with a secret deliveries are signed, with two twice.
func TestPush_Signature(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) {
		cfg.Push.Secrets = []configs.Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}
	})
	h := newHook(t, nil)
	c.send("@echo x", "", inline(h.url, ""))
	for _, a := range h.until(t, "TASK_STATE_COMPLETED") {
		if n := strings.Count(a.Header.Get("Webhook-Signature"), "v1,"); n != 2 || a.Header.Get("Webhook-Timestamp") == "" {
			t.Errorf("got headers %v, want two signatures", a.Header)
		}
	}
}

// TestPush_Rerun: a task that runs again under its id has its webhooks still.
func TestPush_Rerun(t *testing.T) {
	c := probe(t)
	h := newHook(t, nil)
	submit := func() {
		a := c.RPC(call("tasks/submit", `{"taskId":"t-1","message":{"role":"user","parts":[{"text":"@echo x"}]}}`), alice)
		want(t, a, "completed", "result", "task", "status")
	}
	submit()
	c.setPush("t-1", h.url, `{"id":"p"}`)
	submit()
	all := h.until(t, "TASK_STATE_COMPLETED")
	wantTold(t, all, "WORKING", "x", "COMPLETED")
	checkDeliveries(t, all, "t-1.p.")
}
