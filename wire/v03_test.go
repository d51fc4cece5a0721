package wire

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

// checkFastA2A checks the result of message/send, tasks/get or tasks/cancel by the
// rules of FastA2A's own client, which validates every member it knows.
func checkFastA2A(t *testing.T, result []byte) {
	t.Helper()
	if regexp.MustCompile(`TASK_STATE_|ROLE_`).Match(result) {
		t.Errorf("0.3 output has names of 1.0: %s", result)
	}
	var v map[string]any
	if err := json.Unmarshal(result, &v); err != nil {
		t.Fatalf("result: %v\n%s", err, result)
	}
	text := func(o map[string]any, name string) string {
		s, ok := o[name].(string)
		if !ok {
			t.Errorf("%s is %v, want a string: %s", name, o[name], result)
		}
		return s
	}
	object := func(v any) map[string]any {
		o, ok := v.(map[string]any)
		if !ok {
			t.Errorf("got %v, want an object: %s", v, result)
		}
		return o
	}
	list := func(o map[string]any, name string) []any {
		l, ok := o[name].([]any)
		if !ok {
			t.Errorf("%s is %v, want a list: %s", name, o[name], result)
		}
		return l
	}
	parts := func(o map[string]any) {
		for _, p := range list(o, "parts") {
			p := object(p)
			switch kind := text(p, "kind"); kind {
			case "text":
				text(p, "text")
			case "data":
				object(p["data"])
			case "file":
				f := object(p["file"])
				if (f["uri"] == nil) == (f["bytes"] == nil) {
					t.Errorf("file %v, want one of bytes and uri", f)
				}
			default:
				t.Errorf("part of kind %q", kind)
			}
		}
	}
	message := func(v any) (role string) {
		m := object(v)
		if kind := text(m, "kind"); kind != "message" {
			t.Errorf("message of kind %q", kind)
		}
		text(m, "messageId")
		parts(m)
		if role = text(m, "role"); role != "user" && role != "agent" {
			t.Errorf("message of role %q", role)
		}
		return role
	}
	if v["kind"] == "message" {
		message(v)
		return
	}
	if kind := text(v, "kind"); kind != "task" {
		t.Errorf("result of kind %q", kind)
	}
	text(v, "id")
	text(v, "contextId")
	status := object(v["status"])
	state := text(status, "state")
	if !slices.Contains([]string{"submitted", "working", "input-required", "completed", "canceled", "failed", "auth-required"}, state) {
		t.Errorf("state %q", state)
	}
	if m, ok := status["message"]; ok {
		message(m)
	} else if state == "failed" {
		t.Errorf("a failed task without a message: %s", result)
	}
	if _, ok := v["artifacts"]; ok {
		for _, a := range list(v, "artifacts") {
			text(object(a), "artifactId")
			parts(object(a))
		}
	}
	if _, ok := v["history"]; ok {
		role := ""
		for _, m := range list(v, "history") {
			role = message(m)
		}
		if (state == "completed" || state == "failed" || state == "canceled") && role != "agent" {
			t.Errorf("an ended task whose last message is of role %q: %s", role, result)
		}
	}
}

func TestV03_FastA2AClient(t *testing.T) {
	for _, x := range transcripts(t, "v03") {
		if strings.Contains(x.path, "-push-") {
			continue // a client that knows of none
		}
		t.Run(x.path, func(t *testing.T) {
			var response struct{ Result, Error json.RawMessage }
			if err := json.Unmarshal(x.response, &response); err != nil {
				t.Fatal(err)
			}
			if response.Error == nil {
				checkFastA2A(t, response.Result)
			}
		})
	}
}

func TestV03_Decode_Refuses(t *testing.T) {
	part := func(p string) string { return `{"message":{"messageId":"m","role":"user","parts":[` + p + `]}}` }
	config := func(c string) string {
		return `{"configuration":` + c + `,"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}`
	}
	checkRefusals(t, New(Options{}).V03, []refusal{
		{"message/send", ``, "message"},
		{"message/send", `"not a dict"`, "params"},
		{"message/stream", `{}`, "message"},
		{"message/send", `{"message":{"role":"user","parts":[{"text":"x"}]}}`, "message.messageId"},
		{"message/send", `{"message":{"message_id":"m","role":"user","parts":[{"text":"x"}]}}`, "message.messageId"},
		{"message/send", `{"message":{"messageId":"m","parts":[{"text":"x"}]}}`, "message.role"},
		{"message/send", `{"message":{"messageId":"m","role":"agent","parts":[{"text":"x"}]}}`, "message.role"},
		{"message/send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`, "message.role"},
		{"message/send", `{"message":{"messageId":"m","role":1,"parts":[{"text":"x"}]}}`, "message.role"},
		{"message/send", part(``), "message.parts"},
		{"message/send", part(`{"kind":"video","video":"x"}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"text"}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"file"}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"file","file":{}}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"file","file":{"bytes":"AA==","uri":"u"}}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"file","file":"x"}`), "message.parts[0].file"},
		{"message/send", part(`{"kind":"file","file":{"bytes":"!"}}`), "message.parts[0].file.bytes"},
		{"message/send", part(`{"kind":"file","text":"x"}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"text","text":"x","file":{"uri":"u"}}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"text","text":"x","data":{}}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"data","data":[1]}`), "message.parts[0].data"},
		{"message/send", part(`{"kind":"data","data":null}`), "message.parts[0]"},
		{"message/send", part(`{"kind":"text","text":5}`), "message.parts[0].text"},
		{"message/send", part(`{}`), "message.parts[0]"},
		{"message/send", part(`"just a string"`), "message.parts[0]"},
		{"message/send", part(`null`), "message.parts[0]"},
		{"message/send", config(`{"blocking":1}`), "configuration.blocking"},
		{"message/send", config(`{"historyLength":-1}`), "configuration.historyLength"},
		{"message/send", config(`{"pushNotificationConfig":[]}`), "configuration.pushNotificationConfig"},
		{"tasks/get", `{}`, "id"},
		{"tasks/get", `{"id":""}`, "id"},
		{"tasks/get", `{"id":"t","historyLength":-1}`, "historyLength"},
		{"tasks/cancel", `{"id":7}`, "id"},
		{"tasks/resubscribe", `{}`, "id"},
		{"tasks/pushNotificationConfig/set", `[]`, "params"},
	})
}

func TestV03_Decode_Configuration(t *testing.T) {
	v03 := New(Options{}).V03
	for config, want := range map[string]a2a.SendRequest{
		``:                           {Blocking: true},
		`null`:                       {Blocking: true},
		`{}`:                         {Blocking: true},
		`{"blocking":null}`:          {Blocking: true},
		`{"blocking":true}`:          {Blocking: true},
		`{"blocking":false}`:         {},
		`{"returnImmediately":true}`: {Blocking: true},
		`{"pushNotificationConfig":{"url":"http://h"},"pushNotificationConfig":null}`: {Blocking: true},
		`{"acceptedOutputModes":["a/b"]}`:                                             {Blocking: true, AcceptedOutputModes: []string{"a/b"}},
	} {
		params := `{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}`
		if config != "" {
			params = `{"configuration":` + config + `,` + params[1:]
		}
		got := mustDecode(t, v03, "message/send", params).(*a2a.SendRequest)
		want.Dialect, want.OperationNamesSkill = NameV03, true
		want.Message = a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("x")}}
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("configuration %s differs (-want +got):\n%s", config, d)
		}
	}
	if got := mustDecode(t, v03, "tasks/cancel", `{"id":"t"}`).(*a2a.CancelRequest); got.Again {
		t.Error("a second cancel would be a success, which is a rule of 1.0")
	}
	if got := mustDecode(t, New(Options{}).V1, "CancelTask", `{"id":"t"}`).(*a2a.CancelRequest); !got.Again {
		t.Error("a second cancel would be an error in 1.0")
	}
}

// TestV03_DataPartCompat checks both directions of the wrapping of values that
// are no objects.
func TestV03_DataPartCompat(t *testing.T) {
	part := func(p string) a2a.Part {
		return mustDecode(t, New(Options{}).V03, "message/send", `{"message":{"messageId":"m","role":"user","parts":[`+p+`]}}`).(*a2a.SendRequest).Message.Parts[0]
	}
	for in, want := range map[string]a2a.Part{
		`{"data":{"value":[1]},"metadata":{"data_part_compat":true}}`:        {Kind: a2a.PartData, Data: []byte(`[1]`)},
		`{"data":{"value":null},"metadata":{"k":1,"data_part_compat":true}}`: {Kind: a2a.PartData, Data: []byte(`null`), Metadata: []byte(`{"k":1}`)},
		`{"data":{"value":[1]}}`:                                              {Kind: a2a.PartData, Data: []byte(`{"value":[1]}`)},
		`{"data":{"value":1},"metadata":{"data_part_compat":false}}`:          {Kind: a2a.PartData, Data: []byte(`{"value":1}`), Metadata: []byte(`{"data_part_compat":false}`)},
		`{"data":{"value":1,"more":2},"metadata":{"data_part_compat":true}}`:  {Kind: a2a.PartData, Data: []byte(`{"value":1,"more":2}`), Metadata: []byte(`{"data_part_compat":true}`)},
		`{"data":{"v\u0061lue":5},"metadata":{"data_part_comp\u0061t":true}}`: {Kind: a2a.PartData, Data: []byte(`5`)},
	} {
		if d := cmp.Diff(want, part(in)); d != "" {
			t.Errorf("%s differs (-want +got):\n%s", in, d)
		}
	}
	p := a2a.Part{Kind: a2a.PartData, Data: []byte(`[1]`), Metadata: []byte(`{"data_part_compat":false,"k":1}`)}
	if got, want := string(appendPartV03(nil, &p)), `{"kind":"data","data":{"value":[1]},"metadata":{"k":1,"data_part_compat":true}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestV03_Answer(t *testing.T) {
	user := a2a.Message{ID: "u", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("question")}}
	agent := a2a.AgentText("a", "spoken")
	data := a2a.DataPart(json.RawMessage(`{"n":1}`))
	for name, tc := range map[string]struct {
		task a2a.Task
		want string // text of history[-1]
	}{
		"spoken":             {a2a.Task{Status: a2a.Status{State: a2a.StateCompleted, Message: agent}, History: []a2a.Message{user, *agent}}, "spoken"},
		"status only":        {a2a.Task{Status: a2a.Status{State: a2a.StateCompleted, Message: agent}, History: []a2a.Message{user}}, "spoken"},
		"artifacts":          {a2a.Task{Status: a2a.Status{State: a2a.StateCompleted}, History: []a2a.Message{user}, Artifacts: []a2a.Artifact{{Parts: []a2a.Part{a2a.TextPart("one"), data}}, {Parts: []a2a.Part{data}}, {Parts: []a2a.Part{a2a.TextPart("two")}}}}, "one\ntwo"},
		"data only":          {a2a.Task{Status: a2a.Status{State: a2a.StateCompleted}, History: []a2a.Message{user}, Artifacts: []a2a.Artifact{{Parts: []a2a.Part{data}}}}, `{"n":1}`},
		"nothing":            {a2a.Task{Status: a2a.Status{State: a2a.StateCompleted}, History: []a2a.Message{user}}, "The task was completed."},
		"no history":         {a2a.Task{Status: a2a.Status{State: a2a.StateCanceled}}, "The task was canceled."},
		"failed in silence":  {a2a.Task{Status: a2a.Status{State: a2a.StateFailed}, History: []a2a.Message{user}}, "The task was not completed: it failed."},
		"failed after words": {a2a.Task{Status: a2a.Status{State: a2a.StateFailed}, History: []a2a.Message{user, *agent}}, "spoken"},
		"rejected":           {a2a.Task{Status: a2a.Status{State: a2a.StateRejected}}, "The task was rejected."},
		"still working":      {a2a.Task{Status: a2a.Status{State: a2a.StateWorking}, History: []a2a.Message{user}}, "question"},
	} {
		tc.task.ID, tc.task.ContextID, tc.task.Seq = "t", "c", 7
		before := *tc.task.Clone()
		raw := New(Options{}).V03.Methods["tasks/get"].Append(nil, &tc.task, a2a.View{})
		if !strings.Contains(string(raw), `"messageId":"answer-t-7"`) && strings.Contains(tc.want, "The task was") {
			t.Errorf("%s: the made message has no stable id: %s", name, raw)
		}
		checkFastA2A(t, raw)
		if d := cmp.Diff(before, *tc.task.Clone()); d != "" {
			t.Errorf("%s: encoding changed the task:\n%s", name, d)
		}
		var got struct {
			History []struct{ Parts []struct{ Text string } }
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if last := got.History[len(got.History)-1].Parts[0].Text; last != tc.want {
			t.Errorf("%s: got %q, want %q", name, last, tc.want)
		}
		for n, want := range map[int]int{0: 0, 1: 1} {
			raw := New(Options{}).V03.Methods["tasks/get"].Append(nil, &tc.task, a2a.View{HistoryLength: &n})
			got.History = nil
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if len(got.History) != want || n == 0 && strings.Contains(string(raw), `"history"`) {
				t.Errorf("%s: historyLength %d: got %s", name, n, raw)
			}
		}
	}
}
