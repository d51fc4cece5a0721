package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

func TestPush_Decode(t *testing.T) {
	d := New(Options{})
	full := a2a.PushConfig{ID: "p", TaskID: "t", URL: "https://h.example/x?y=z", Token: "tok", Scheme: "Bearer", Credentials: "c r"}
	for _, tc := range []struct {
		d              *Dialect
		method, params string
		want           a2a.PushRequest
	}{
		{d.V1, "CreateTaskPushNotificationConfig",
			`{"taskId":"t","id":"p","url":"https://h.example/x?y=z","token":"tok","authentication":{"scheme":"Bearer","credentials":"c r"},"tenant":""}`,
			a2a.PushRequest{TaskID: "t", ID: "p", Config: full}},
		{d.V1, "CreateTaskPushNotificationConfig",
			`{"task_id":"t","id":"p","url":"https://h.example/x?y=z","token":"tok","authentication":{"credentials":"c r","scheme":"Bearer"}}`,
			a2a.PushRequest{TaskID: "t", ID: "p", Config: full}},
		{d.V1, "CreateTaskPushNotificationConfig", `{"taskId":"t","url":"HTTP://h","token":null,"authentication":null,"id":""}`,
			a2a.PushRequest{TaskID: "t", Config: a2a.PushConfig{TaskID: "t", URL: "HTTP://h"}}},
		{d.V1, "CreateTaskPushNotificationConfig", `{"taskId":"t","url":"http://h","authentication":{"scheme":"Bearer","credentials":"old"},"authentication":{}}`,
			a2a.PushRequest{TaskID: "t", Config: a2a.PushConfig{TaskID: "t", URL: "http://h"}}},
		{d.V1, "GetTaskPushNotificationConfig", `{"taskId":"t","id":"p"}`, a2a.PushRequest{TaskID: "t", ID: "p"}},
		{d.V1, "ListTaskPushNotificationConfigs", `{"taskId":"t","pageSize":null,"id":"p"}`, a2a.PushRequest{TaskID: "t"}},
		{d.V1, "DeleteTaskPushNotificationConfig", `{"task_id":"t","id":"p"}`, a2a.PushRequest{TaskID: "t", ID: "p"}},
		{d.V03, "tasks/pushNotificationConfig/set",
			`{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://h.example/x?y=z","token":"tok","authentication":{"schemes":["Bearer","Basic"],"credentials":"c r"}}}`,
			a2a.PushRequest{TaskID: "t", ID: "p", Config: full}},
		{d.V03, "tasks/pushNotificationConfig/set", `{"taskId":"t","pushNotificationConfig":{"url":"http://h"}}`,
			a2a.PushRequest{TaskID: "t", ID: "default", Config: a2a.PushConfig{TaskID: "t", ID: "default", URL: "http://h"}}},
		{d.V03, "tasks/pushNotificationConfig/get", `{"id":"t"}`, a2a.PushRequest{TaskID: "t"}},
		{d.V03, "tasks/pushNotificationConfig/get", `{"id":"t","pushNotificationConfigId":"p","metadata":{}}`, a2a.PushRequest{TaskID: "t", ID: "p"}},
		{d.V03, "tasks/pushNotificationConfig/list", `{"id":"t"}`, a2a.PushRequest{TaskID: "t"}},
		{d.V03, "tasks/pushNotificationConfig/delete", `{"id":"t","pushNotificationConfigId":"p"}`, a2a.PushRequest{TaskID: "t", ID: "p"}},
	} {
		if d := tc.d.Methods[tc.method]; d.Op == a2a.OpSetPush {
			tc.want.Config.Dialect = tc.d.Name
		}
		if diff := cmp.Diff(&tc.want, mustDecode(t, tc.d, tc.method, tc.params)); diff != "" {
			t.Errorf("%s %s differs (-want +got):\n%s", tc.method, tc.params, diff)
		}
	}
}

func TestPush_Decode_Inline(t *testing.T) {
	d := New(Options{})
	for _, tc := range []struct {
		d              *Dialect
		method, params string
	}{
		{d.V1, "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"taskPushNotificationConfig":{"taskId":"","id":"p","url":"http://h","token":"tok","authentication":{"scheme":"Basic","credentials":"x"}}}}`},
		{d.V1, "SendStreamingMessage", `{"configuration":{"task_push_notification_config":{"id":"p","url":"http://h","token":"tok","authentication":{"scheme":"Basic","credentials":"x"}}},"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`},
		{d.V03, "message/send", `{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]},"configuration":{"pushNotificationConfig":{"id":"p","url":"http://h","token":"tok","authentication":{"schemes":["Basic"],"credentials":"x"}}}}`},
	} {
		want := &a2a.PushConfig{ID: "p", URL: "http://h", Token: "tok", Scheme: "Basic", Credentials: "x", Dialect: tc.d.Name}
		if diff := cmp.Diff(want, mustDecode(t, tc.d, tc.method, tc.params).(*a2a.SendRequest).Push); diff != "" {
			t.Errorf("%s %s differs (-want +got):\n%s", tc.method, tc.params, diff)
		}
	}
}

func TestPush_Decode_Refuses(t *testing.T) {
	d := New(Options{})
	set1 := func(members string) refusal {
		return refusal{method: "CreateTaskPushNotificationConfig", params: `{"taskId":"t","url":"https://h",` + members + `}`}
	}
	blame := func(r refusal, field string) refusal { r.field = field; return r }
	list := []refusal{
		{"CreateTaskPushNotificationConfig", `{"url":"https://h"}`, "taskId"},
		{"CreateTaskPushNotificationConfig", `{"taskId":"","url":"https://h"}`, "taskId"},
		{"CreateTaskPushNotificationConfig", `{"taskId":"t"}`, "url"},
		blame(set1(`"url":null`), "url"),
		blame(set1(`"id":" "`), "id"),
		blame(set1(`"id":"a\nb"`), "id"),
		blame(set1(`"token":"t\nX: y"`), "token"),
		blame(set1(`"token":"t\u0000"`), "token"),
		blame(set1(`"token":"é"`), "token"),
		blame(set1(`"token":5`), "token"),
		blame(set1(`"token":"`+strings.Repeat("x", 4097)+`"`), "token"),
		blame(set1(`"authentication":{"scheme":"Bearer","credentials":"a\r\nX-Evil: 1"}`), "authentication.credentials"),
		blame(set1(`"authentication":{"scheme":"Bearer\r\nX","credentials":"a"}`), "authentication.scheme"),
		blame(set1(`"authentication":{"scheme":"Bearer X","credentials":"a"}`), "authentication.scheme"),
		blame(set1(`"authentication":{"credentials":"a"}`), "authentication.scheme"),
		blame(set1(`"authentication":{"schemes":["Bearer"],"credentials":"a"}`), "authentication.scheme"),
		blame(set1(`"authentication":"Bearer a"`), "authentication"),
		{"GetTaskPushNotificationConfig", `{"taskId":"t"}`, "id"},
		{"GetTaskPushNotificationConfig", `{"id":"t"}`, "taskId"},
		{"ListTaskPushNotificationConfigs", `{}`, "taskId"},
		{"DeleteTaskPushNotificationConfig", `{"taskId":"t"}`, "id"},
		{"SendMessage", `{"configuration":{"taskPushNotificationConfig":{}}}`, "configuration.taskPushNotificationConfig.url"},
		{"SendMessage", `{"configuration":{"task_push_notification_config":{"url":"x"}}}`, "configuration.task_push_notification_config.url"},
		{"SendMessage", `{"configuration":{"taskPushNotificationConfig":{"url":"https://h","authentication":{"credentials":"a"}}}}`, "configuration.taskPushNotificationConfig.authentication.scheme"},
	}
	for _, url := range []string{
		"", "x", "/x", "//h/x", "ftp://h", "file:///etc/passwd", "javascript:alert(1)", "https://", "https:///x", "https:h", "http://:80",
		"https://u@h", "https://u:p@h", "https://h/ü", `https://h/\n`, `https://h\r\n`, "https://h:x", "https://h/%zz", "https://[::1", "https://h/" + strings.Repeat("x", 2040),
	} {
		list = append(list, blame(set1(`"url":"`+url+`"`), "url"))
	}
	checkRefusals(t, d.V1, list)
	checkRefusals(t, d.V03, []refusal{
		{"tasks/pushNotificationConfig/set", `{"taskId":"t"}`, "pushNotificationConfig"},
		{"tasks/pushNotificationConfig/set", `{"taskId":"t","pushNotificationConfig":null}`, "pushNotificationConfig"},
		{"tasks/pushNotificationConfig/set", `{"pushNotificationConfig":{"url":"https://h"}}`, "taskId"},
		{"tasks/pushNotificationConfig/set", `{"taskId":"t","pushNotificationConfig":{}}`, "pushNotificationConfig.url"},
		{"tasks/pushNotificationConfig/set", `{"taskId":"t","pushNotificationConfig":{"url":"https://h","authentication":{"schemes":["a\nb"],"credentials":"x"}}}`, "pushNotificationConfig.authentication.schemes[0]"},
		{"tasks/pushNotificationConfig/set", `{"taskId":"t","pushNotificationConfig":{"url":"https://h","authentication":{"schemes":[],"credentials":"x"}}}`, "pushNotificationConfig.authentication.schemes"},
		{"tasks/pushNotificationConfig/get", `{}`, "id"},
		{"tasks/pushNotificationConfig/delete", `{"id":"t"}`, "pushNotificationConfigId"},
		{"message/send", `{"configuration":{"pushNotificationConfig":{"url":""}}}`, "configuration.pushNotificationConfig.url"},
	})
}

// TestPush_Append_KeepsSecrets checks that what a client gave to authenticate us
// to its webhook is never told to anybody again.
func TestPush_Append_KeepsSecrets(t *testing.T) {
	c := a2a.PushConfig{ID: "p", TaskID: "t", URL: "https://h", Token: "s3cret-token", Scheme: "Bearer", Credentials: "s3cret-word", Dialect: NameV1}
	for _, d := range New(Options{}).All() {
		for name, m := range d.Methods {
			var res any
			switch m.Op {
			case a2a.OpSetPush, a2a.OpGetPush:
				res = &c
			case a2a.OpListPush:
				res = []a2a.PushConfig{c, c}
			default:
				continue
			}
			got := string(m.Append(nil, res, a2a.View{}))
			if strings.Contains(got, "s3cret") {
				t.Errorf("%s shows a secret: %s", name, got)
			}
			members := []string{`"id":"p"`, `"taskId":"t"`, `"url":"https://h"`, `"Bearer"`}
			if d.Name == NameV01 { // a task has one config, which has no id
				members = []string{`"id":"t"`, `"url":"https://h"`, `"Bearer"`}
			}
			for _, want := range members {
				if !strings.Contains(got, want) {
					t.Errorf("%s lacks %s: %s", name, want, got)
				}
			}
		}
	}
	list := New(Options{}).V1.Methods["ListTaskPushNotificationConfigs"].Append(nil, []a2a.PushConfig(nil), a2a.View{})
	if got, want := string(list), `{"configs":[],"nextPageToken":""}`; got != want {
		t.Errorf("empty list: got %s, want %s", got, want)
	}
}

func TestPush_Form(t *testing.T) {
	d := New(Options{})
	task := &a2a.Task{ID: "t-1", ContextID: "c-1", Status: a2a.Status{State: a2a.StateWorking, At: at}, Seq: 2}
	status := &a2a.Event{Seq: 2, At: at, Status: &task.Status}
	if got, want := string(d.V1.Push.Event(nil, task, status)), `{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-11-30T13:00:00.007Z"}}}`; got != want {
		t.Errorf("1.0: got %s, want %s", got, want)
	}
	if got := d.V1.Push.Event(nil, task, &a2a.Event{Seq: 1, At: at, Created: task}); got != nil {
		t.Errorf("1.0: got %s, want nothing of the creation", got)
	}
	if got, want := string(d.V03.Push.Task(nil, task)), `{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"working","timestamp":"2026-11-30T13:00:00.007Z"},"history":[]}`; got != want {
		t.Errorf("0.3: got %s, want %s", got, want)
	}
	if d.EMM.Push != nil {
		t.Error("EMM has no push configs, but a form")
	}
}
