package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skillyard/skillyard/a2a"
)

// checkResultV1 decodes the result of an operation as the strictest clients do:
// with the generated types, refusing unknown members. It returns the message.
func checkResultV1(t *testing.T, op a2a.Op, result []byte) proto.Message {
	t.Helper()
	var m proto.Message
	switch op {
	case a2a.OpSend:
		m = &a2apb.SendMessageResponse{}
	case a2a.OpGet, a2a.OpCancel:
		m = &a2apb.Task{}
	case a2a.OpList:
		m = &a2apb.ListTasksResponse{}
	case a2a.OpSetPush, a2a.OpGetPush:
		m = &a2apb.TaskPushNotificationConfig{}
	case a2a.OpListPush:
		m = &a2apb.ListTaskPushNotificationConfigsResponse{}
	case a2a.OpDeletePush:
		if string(result) != "null" {
			t.Errorf("got %s, want null", result)
		}
		return nil
	default:
		t.Fatalf("operation %s has no result", op)
	}
	if err := (protojson.UnmarshalOptions{}).Unmarshal(result, m); err != nil {
		t.Errorf("strict decoding of the result: %v\n%s", err, result)
	}
	noOldMembers(t, result)
	return m
}

// noOldMembers looks for members that 1.0 has done away with, outside of what
// clients and skills put there themselves.
func noOldMembers(t *testing.T, raw []byte) {
	t.Helper()
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				switch name {
				case "kind", "final", "type":
					t.Errorf("1.0 output has %s.%s", path, name)
				case "data", "metadata":
					continue
				}
				walk(path+"."+name, member)
			}
		case []any:
			for _, element := range v {
				walk(path, element)
			}
		}
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("output is not JSON: %v\n%s", err, raw)
	}
	walk("", v)
}

// TestV1_OfficialTypes puts every 1.0 answer of the transcripts through the
// official types.
func TestV1_OfficialTypes(t *testing.T) {
	results := 0
	for _, x := range transcripts(t, "*") {
		if x.dialect != nil && x.dialect.Name != NameV1 {
			continue
		}
		var response struct {
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(x.response, &response); err != nil {
			t.Fatal(err)
		}
		t.Run(x.path, func(t *testing.T) {
			if response.Error != nil {
				checkErrorV1(t, response.Error)
				return
			}
			results++
			checkResultV1(t, x.op, response.Result)
		})
	}
	if results < 10 {
		t.Errorf("got %d results, want a good number of them", results)
	}
}

func mustDecode(t *testing.T, d *Dialect, method, params string) any {
	t.Helper()
	req, err := d.Methods[method].Decode([]byte(params), Limits{})
	if err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	return req
}

func TestV1_Decode_AnySpelling(t *testing.T) {
	v1 := New(Options{}).V1
	for _, tc := range []struct {
		method string
		same   []string
	}{
		{"SendMessage", []string{
			`{"message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","referenceTaskIds":["r"],"parts":[{"text":"x","mediaType":"text/plain"}]},"configuration":{"acceptedOutputModes":["a/b"],"historyLength":3,"returnImmediately":true,"taskPushNotificationConfig":{"url":"http://h","taskId":"","authentication":{"scheme":"Bearer"}}}}`,
			`{"message":{"message_id":"m","context_id":"c","task_id":"t","role":1,"reference_task_ids":["r"],"parts":[{"text":"x","media_type":"text/plain"}]},"configuration":{"accepted_output_modes":["a/b"],"history_length":"3","return_immediately":true,"task_push_notification_config":{"url":"http://h","task_id":"other","token":null,"authentication":{"credentials":null,"scheme":"Bearer"}}}}`,
			`{"configuration":{"return_immediately":false,"returnImmediately":true,"historyLength":3.0,"acceptedOutputModes":["a/b"],"taskPushNotificationConfig":{"url":"http://g","token":"t"},"taskPushNotificationConfig":{"authentication":{"scheme":"Bearer"},"url":"http://g","url":"http://h"}},"message":{"role":1.0,"messageId":"x","messageId":"m","contextId":"c","taskId":"t","referenceTaskIds":["r"],"parts":[{"mediaType":"text/plain","text":"x"}]}}`,
		}},
		{"SendMessage", []string{
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"/+8="},{"raw":""}]}}`,
			`{"message":{"messageId":"m","role":1e0,"parts":[{"raw":"_-8"},{"raw":""}]},"configuration":null}`,
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"_-8="},{"raw":""}],"taskId":"","contextId":""},"configuration":{}}`,
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"/+8"},{"raw":""}]},"configuration":{"returnImmediately":false,"acceptedOutputModes":[]},"tenant":"x"}`,
		}},
		{"ListTasks", []string{
			`{"contextId":"c","status":"TASK_STATE_INPUT_REQUIRED","pageSize":7,"pageToken":"p","historyLength":1,"statusTimestampAfter":"2026-11-30T13:00:00Z","includeArtifacts":true}`,
			`{"context_id":"c","status":6,"page_size":"7","page_token":"p","history_length":1.0,"status_timestamp_after":"2026-11-30T15:00:00.000+02:00","include_artifacts":true}`,
		}},
		{"ListTasks", []string{``, `{}`, `{"status":"UNRECOGNIZED"}`, `{"status":-1}`, `{"status":0,"contextId":"","pageToken":""}`, `{"status":"TASK_STATE_UNSPECIFIED"}`, `{"status":"","includeArtifacts":false}`, `{"pageSize":null,"status":null,"historyLength":null,"statusTimestampAfter":null,"includeArtifacts":null,"contextId":null,"pageToken":null}`}},
		{"GetTask", []string{`{"id":"t","historyLength":0}`, `{"id":"t","history_length":"0","tenant":null}`}},
		{"CancelTask", []string{`{"id":"t"}`, `{"id":"t","metadata":{},"historyLength":-1}`}},
	} {
		want := mustDecode(t, v1, tc.method, tc.same[0])
		for _, params := range tc.same[1:] {
			if d := cmp.Diff(want, mustDecode(t, v1, tc.method, params)); d != "" {
				t.Errorf("%s %s differs (-want +got):\n%s", tc.method, params, d)
			}
		}
	}
}

// refusal is a call that must be refused, and the member it must blame.
type refusal struct{ method, params, field string }

func checkRefusals(t *testing.T, d *Dialect, list []refusal) {
	t.Helper()
	for _, tc := range list {
		req, err := d.Methods[tc.method].Decode([]byte(tc.params), Limits{})
		e := a2a.AsError(err)
		switch {
		case err == nil:
			t.Errorf("%s %.200s: got %+v, want a refusal", tc.method, tc.params, req)
		case e.Code != a2a.CodeInvalidParams:
			t.Errorf("%s %.200s: got %s, want invalid_params", tc.method, tc.params, e.Code)
		case len(e.Fields) != 1 || e.Fields[0].Field != tc.field:
			t.Errorf("%s %.200s: got %+v, want %s to be blamed", tc.method, tc.params, e.Fields, tc.field)
		}
	}
}

func TestV1_Decode_Refuses(t *testing.T) {
	part := func(p string) string { return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + p + `]}}` }
	with := func(member string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],` + member + `}}`
	}
	config := func(member string) string {
		return `{"configuration":{` + member + `},"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`
	}
	checkRefusals(t, New(Options{}).V1, []refusal{
		{"SendMessage", ``, "message"},
		{"SendMessage", `{}`, "message"},
		{"SendMessage", `{"message":null}`, "message"},
		{"SendMessage", `{"message":[]}`, "message"},
		{"SendMessage", `[]`, "params"},
		{"SendMessage", `"x"`, "params"},
		{"SendStreamingMessage", `{}`, "message"},
		{"SendMessage", `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`, "message.messageId"},
		{"SendMessage", `{"message":{"messageId":"","role":"ROLE_USER","parts":[{"text":"x"}]}}`, "message.messageId"},
		{"SendMessage", `{"message":{"messageId":5,"role":"ROLE_USER","parts":[{"text":"x"}]}}`, "message.messageId"},
		{"SendMessage", `{"message":{"messageId":"m","parts":[{"text":"x"}]}}`, "message.role"},
		{"SendMessage", with(`"role":0`), "message.role"},
		{"SendMessage", with(`"role":"ROLE_UNSPECIFIED"`), "message.role"},
		{"SendMessage", with(`"role":2`), "message.role"},
		{"SendMessage", with(`"role":"ROLE_AGENT"`), "message.role"},
		{"SendMessage", with(`"role":"user"`), "message.role"},
		{"SendMessage", with(`"role":true`), "message.role"},
		{"SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER"}}`, "message.parts"},
		{"SendMessage", part(``), "message.parts"},
		{"SendMessage", with(`"parts":{}`), "message.parts"},
		{"SendMessage", part(`null`), "message.parts[0]"},
		{"SendMessage", part(`"x"`), "message.parts[0]"},
		{"SendMessage", part(`{"text":"x"},{}`), "message.parts[1]"},
		{"SendMessage", part(`{"hologram":{}}`), "message.parts[0]"},
		{"SendMessage", part(`{"text":"x","url":"u"}`), "message.parts[0]"},
		{"SendMessage", part(`{"text":"x","data":null}`), "message.parts[0]"},
		{"SendMessage", part(`{"text":null}`), "message.parts[0]"},
		{"SendMessage", part(`{"text":5}`), "message.parts[0].text"},
		{"SendMessage", part(`{"kind":"file","file":{"uri":"x"}}`), "message.parts[0]"},
		{"SendMessage", part(`{"text":"x","metadata":[]}`), "message.parts[0].metadata"},
		{"SendMessage", part(`{"text":"x","mediaType":5}`), "message.parts[0].mediaType"},
		{"SendMessage", part(`{"raw":"%%%"}`), "message.parts[0].raw"},
		{"SendMessage", part(`{"raw":"A"}`), "message.parts[0].raw"},
		{"SendMessage", part(`{"raw":"AA="}`), "message.parts[0].raw"},
		{"SendMessage", part(`{"raw":"AAAA="}`), "message.parts[0].raw"},
		{"SendMessage", part(`{"raw":"A=AA"}`), "message.parts[0].raw"},
		{"SendMessage", part(`{"raw":"===="}`), "message.parts[0].raw"},
		{"SendMessage", part(`{"raw":"AA\nAA"}`), "message.parts[0].raw"},
		{"SendMessage", part(`{"raw":"+_AA"}`), "message.parts[0].raw"},
		{"SendMessage", part(strings.Repeat(`{"text":"x"},`, 1000) + `{"text":"x"}`), "message.parts"},
		{"SendMessage", with(`"taskId":"   "`), "message.taskId"},
		{"SendMessage", with(`"taskId":"\t"`), "message.taskId"},
		{"SendMessage", with(`"taskId":"a\u0000b"`), "message.taskId"},
		{"SendMessage", with(`"contextId":"a\nb"`), "message.contextId"},
		{"SendMessage", with(`"contextId":"` + strings.Repeat("c", 1025) + `"`), "message.contextId"},
		{"SendMessage", with(`"context_id":5`), "message.context_id"},
		{"SendMessage", with(`"metadata":"x"`), "message.metadata"},
		{"SendMessage", with(`"extensions":"x"`), "message.extensions"},
		{"SendMessage", with(`"extensions":["x",5]`), "message.extensions[1]"},
		{"SendMessage", with(`"referenceTaskIds":[null]`), "message.referenceTaskIds[0]"},
		{"SendMessage", `{"metadata":[]}`, "metadata"},
		{"SendMessage", config(`"historyLength":-1`), "configuration.historyLength"},
		{"SendMessage", config(`"historyLength":1.5`), "configuration.historyLength"},
		{"SendMessage", config(`"historyLength":"x"`), "configuration.historyLength"},
		{"SendMessage", config(`"historyLength":""`), "configuration.historyLength"},
		{"SendMessage", config(`"historyLength":"0x1"`), "configuration.historyLength"},
		{"SendMessage", config(`"historyLength":99999999999`), "configuration.historyLength"},
		{"SendMessage", config(`"historyLength":true`), "configuration.historyLength"},
		{"SendMessage", config(`"returnImmediately":"true"`), "configuration.returnImmediately"},
		{"SendMessage", config(`"acceptedOutputModes":"text/plain"`), "configuration.acceptedOutputModes"},
		{"SendMessage", config(`"taskPushNotificationConfig":"x"`), "configuration.taskPushNotificationConfig"},
		{"SendMessage", `{"configuration":[]}`, "configuration"},
		{"GetTask", ``, "id"},
		{"GetTask", `{}`, "id"},
		{"GetTask", `{"id":""}`, "id"},
		{"GetTask", `{"id":" "}`, "id"},
		{"GetTask", `{"id":5}`, "id"},
		{"GetTask", `{"id":null}`, "id"},
		{"GetTask", `{"id":"t","historyLength":-5}`, "historyLength"},
		{"CancelTask", `{"id":""}`, "id"},
		{"SubscribeToTask", `{"id":""}`, "id"},
		{"ListTasks", `{"pageSize":0}`, "pageSize"},
		{"ListTasks", `{"pageSize":101}`, "pageSize"},
		{"ListTasks", `{"pageSize":-1}`, "pageSize"},
		{"ListTasks", `{"pageSize":1.5}`, "pageSize"},
		{"ListTasks", `{"historyLength":-5}`, "historyLength"},
		{"ListTasks", `{"status":"working"}`, "status"},
		{"ListTasks", `{"status":9}`, "status"},
		{"ListTasks", `{"status":[]}`, "status"},
		{"ListTasks", `{"statusTimestampAfter":"yesterday"}`, "statusTimestampAfter"},
		{"ListTasks", `{"statusTimestampAfter":5}`, "statusTimestampAfter"},
		{"ListTasks", `{"includeArtifacts":1}`, "includeArtifacts"},
		{"ListTasks", `{"contextId":" "}`, "contextId"},
		{"ListTasks", `5`, "params"},
		{"GetExtendedAgentCard", `[]`, "params"},
		{"CreateTaskPushNotificationConfig", `"x"`, "params"},
	})
}

func TestDecode_NamesTheLimits(t *testing.T) {
	lim := Limits{MaxDepth: 5, MaxParts: 2, MaxIDBytes: 3}
	v1 := New(Options{}).V1
	for params, want := range map[string]string{
		`{"message":{"messageId":"four"}}`:                               "3 bytes",
		`{"message":{"parts":[{"text":"1"},{"text":"2"},{"text":"3"}]}}`: "2 elements",
		`{"x":[[[[[]]]]]}`: "5 levels",
		`{"message":{"messageId":"m","contextId":"` + "ééé" + `","role":"ROLE_USER"}}`: "3 bytes",
	} {
		_, err := v1.Methods["SendMessage"].Decode([]byte(params), lim)
		if err == nil || !strings.Contains(a2a.AsError(err).Message, want) {
			t.Errorf("%s: got %v, want a refusal that names %s", params, err, want)
		}
	}
}

func TestDecode_RefusesBrokenJSON(t *testing.T) {
	for _, d := range New(Options{}).All() {
		for name, m := range d.Methods {
			for _, params := range []string{`{`, `{"id":"x"`, `{"message":{"parts":[{"text":"x"`, `{"id":"x"} {}`, `nul`, `{"id" "x"}`, `{1:2}`} {
				if _, err := m.Decode([]byte(params), Limits{}); a2a.AsError(err) == nil || a2a.AsError(err).Code != a2a.CodeInvalidParams {
					t.Errorf("%s %s: got %v, want invalid_params", name, params, err)
				}
			}
		}
	}
}

// TestDecode_KeepsOpaqueJSON checks that what is not ours is not touched.
func TestDecode_KeepsOpaqueJSON(t *testing.T) {
	opaque := `{"z":9007199254740993,"a":1.0,"e":1e400,"a":-0,"u":"\u00e9\/","n":[null,{}],"p":"\ud83d\ude00"}`
	spaced := strings.NewReplacer(",", " ,\n\t", ":", " :\r\n ").Replace(opaque)
	params := fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","metadata":%s,"parts":[{"data":%s,"metadata":%s}]},"metadata":%s}`, spaced, spaced, spaced, spaced)
	m := mustDecode(t, New(Options{}).V1, "SendMessage", params).(*a2a.SendRequest).Message
	for place, got := range map[string]json.RawMessage{"data": m.Parts[0].Data, "part": m.Parts[0].Metadata, "message": m.Metadata, "request": m.Request} {
		if string(got) != opaque {
			t.Errorf("%s: got %s, want %s", place, got, opaque)
		}
	}
}

func TestDecode_ReplacesHalfSurrogates(t *testing.T) {
	params := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a\ud83d"},{"data":["\ud83d\ude00","\ude00","\ud83d\ud83d\ude00","\\ud83d","\uD83Dx"]}]}}`
	parts := mustDecode(t, New(Options{}).V1, "SendMessage", params).(*a2a.SendRequest).Message.Parts
	if parts[0].Text != "a\ufffd" {
		t.Errorf("got %q, want a replacement character", parts[0].Text)
	}
	want := `["\ud83d\ude00","\ufffd","\ufffd\ud83d\ude00","\\ud83d","\ufffdx"]`
	if string(parts[1].Data) != want {
		t.Errorf("got %s, want %s", parts[1].Data, want)
	}
}

// TestDecode_SharesNoMemory checks that a request outlives the buffer it came in.
func TestDecode_SharesNoMemory(t *testing.T) {
	for _, d := range New(Options{}).All() {
		for name, m := range d.Methods {
			if m.Op != a2a.OpSend {
				continue
			}
			params := []byte(`{"id":"iiii","taskId":"tttt","skillId":"ssss","metadata":{"skillId":"pppp"},"message":{"messageId":"mmmm","contextId":"cccc","role":"ROLE_USER","metadata":{"skillId":"qqqq"},"parts":[{"text":"xxxx"},{"data":{"dddd":1}}]}}`)
			if d.Name == NameV03 || d.Name == NameV01 {
				params = bytes.Replace(params, []byte("ROLE_USER"), []byte("user"), 1)
			}
			req := mustDecode(t, d, name, string(params))
			again, err := m.Decode(params, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range params {
				params[i] = '#'
			}
			if diff := cmp.Diff(req, again); diff != "" {
				t.Errorf("%s changed with its buffer:\n%s", name, diff)
			}
		}
	}
}
