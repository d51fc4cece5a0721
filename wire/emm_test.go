package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

// TestEMM_Submit goes through the rows of the compatibility contract for
// tasks/submit that the wire decides, or for which it has to keep what the mapper
// and the skills decide.
func TestEMM_Submit(t *testing.T) {
	text := func(s ...string) (parts []a2a.Part) {
		for _, s := range s {
			parts = append(parts, a2a.TextPart(s))
		}
		return parts
	}
	hint := func(source, value string) []a2a.SkillHint {
		return []a2a.SkillHint{{Source: source, Value: json.RawMessage(value)}}
	}
	type want = a2a.SendRequest
	parts := func(p ...a2a.Part) want { return want{Message: a2a.Message{Parts: p}} }
	for _, tc := range []struct {
		row    string
		params string
		want   want
	}{
		{"1 no skill", `{"message":{"parts":[{"type":"text","text":"x"}]}}`, parts(text("x")...)},
		{"1 null skill", `{"skillId":null}`, want{}},
		{"1 empty skill", `{"skillId":""}`, want{Skills: hint("params.skillId", `""`)}},
		{"1 zero skill", `{"skillId":0}`, want{Skills: hint("params.skillId", `0`)}},
		{"1 list skill", `{"skillId":[ ]}`, want{Skills: hint("params.skillId", `[]`)}},
		{"3 skill", `{"skillId":"list_board"}`, want{Skills: hint("params.skillId", `"list_board"`)}},
		{"4 odd skill", `{"skillId":["list_board"]}`, want{Skills: hint("params.skillId", `["list_board"]`)}},
		{"4 padded skill", `{"skillId":" list_board"}`, want{Skills: hint("params.skillId", `" list_board"`)}},
		{"7 spaces stay", `{"message":{"parts":[{"type":"text","text":" b1 \n"}]}}`, parts(text(" b1 \n")...)},
		{"9 empty text", `{"message":{"parts":[{"type":"text","text":""}]}}`, parts(text("")...)},
		{"9 no parts", `{"message":{"parts":[]}}`, want{}},
		{"9 null parts", `{"message":{"parts":null}}`, want{}},
		{"14 several", `{"message":{"parts":[{"type":"text","text":"b1"},{"type":"text","text":"b2"}]}}`, parts(text("b1", "b2")...)},
		{"19 type, kind, bare", `{"message":{"parts":[{"type":"text","text":"a"},{"kind":"text","text":"b"},{"text":"c"}]}}`, parts(text("a", "b", "c")...)},
		{"20 data", `{"message":{"parts":[{"type":"data","data":{"b":1, "a":2}},{"kind":"data","data":[1]},{"data":"s"}]}}`,
			parts(a2a.DataPart([]byte(`{"b":1,"a":2}`)), a2a.DataPart([]byte(`[1]`)), a2a.DataPart([]byte(`"s"`)))},
		{"20 null data", `{"message":{"parts":[{"type":"data","data":null},{"text":"x"}]}}`, parts(text("x")...)},
		{"21 files", `{"message":{"parts":[{"type":"file","file":{"uri":"u","mimeType":"image/png","name":"n"}},{"type":"image","url":"v"},{"kind":"file","file":{"bytes":"AA"}}]}}`,
			parts(a2a.Part{Kind: a2a.PartURL, URL: "u", MediaType: "image/png", Filename: "n"}, a2a.Part{Kind: a2a.PartURL, URL: "v"}, a2a.Part{Kind: a2a.PartRaw, Raw: "AA=="})},
		{"21 unusable", `{"message":{"parts":["x",null,5,[],{},{"type":"text"},{"type":"text","text":5},{"type":"file"},{"file":{"uri":{}}},{"file":{"bytes":"%"}},{"type":"video","video":{"deep":[1]}},{"text":"b1","metadata":"x","mimeType":5}]}}`, parts(text("b1")...)},
		{"21 kind decides", `{"message":{"parts":[{"type":"text","text":"b1","data":{"no":1}},{"type":"data","text":"no","data":{"yes":1}}]}}`,
			parts(a2a.TextPart("b1"), a2a.DataPart([]byte(`{"yes":1}`)))},
		{"24 no params", ``, want{}},
		{"24 empty params", `{}`, want{}},
		{"24 null message", `{"message":null}`, want{}},
		{"25 null id", `{"taskId":null}`, want{}},
		{"25 empty id", `{"taskId":"","id":null}`, want{}},
		{"26 integer id", `{"taskId":17}`, want{NewTaskID: "17"}},
		{"26 big integer id", `{"taskId":9007199254740993}`, want{NewTaskID: "9007199254740993"}},
		{"26 longest id", `{"taskId":"` + strings.Repeat("a", 128) + `"}`, want{NewTaskID: a2a.TaskID(strings.Repeat("a", 128))}},
		{"id as an alias", `{"id":"cli-1"}`, want{NewTaskID: "cli-1"}},
		{"taskId before id", `{"taskId":"a","id":"b"}`, want{NewTaskID: "a"}},
		{"37 blocking", `{"blocking":true}`, want{}},
		{"any role", `{"message":{"role":"assistant","content":"hi"}}`, parts(text("hi")...)},
		{"content list", `{"message":{"content":[{"type":"text","text":"hi"}]}}`, parts(text("hi")...)},
		{"parts before content", `{"message":{"content":"no","parts":[{"text":"yes"}]}}`, parts(text("yes")...)},
		{"content for no parts", `{"message":{"content":"yes","parts":[]}}`, parts(text("yes")...)},
		{"context", `{"contextId":"c"}`, want{ContextID: "c"}},
		{"context of the message", `{"message":{"contextId":"c","messageId":"m","metadata":{"a":1}}}`, want{ContextID: "c", Message: a2a.Message{ID: "m", Metadata: []byte(`{"a":1}`)}}},
		{"others are ignored", `{"model":"m","temperature":0.5,"history":[{"role":"user","content":"x"}],"stream":false}`, want{}},
		{"request metadata", `{"metadata":{"skillId":"s", "n":1}}`, want{Message: a2a.Message{Request: []byte(`{"skillId":"s","n":1}`)}, Skills: hint("params.metadata.skillId", `"s"`)}},
	} {
		tc.want.Dialect, tc.want.Blocking, tc.want.Message.Role = NameEMM, true, a2a.RoleUser
		got := mustDecode(t, New(Options{}).EMM, "tasks/submit", tc.params)
		if d := cmp.Diff(&tc.want, got); d != "" {
			t.Errorf("row %s differs (-want +got):\n%s", tc.row, d)
		}
	}
	if got := mustDecode(t, New(Options{}).EMM, "tasks/submit", `{"blocking":false}`).(*a2a.SendRequest); got.Blocking {
		t.Error("row 37: blocking:false blocks")
	}
}

func TestEMM_Refuses(t *testing.T) {
	checkRefusals(t, New(Options{}).EMM, []refusal{
		{"tasks/submit", `[]`, "params"},
		{"tasks/submit", `"x"`, "params"},
		{"tasks/submit", `{"taskId":["a"]}`, "taskId"},
		{"tasks/submit", `{"taskId":{}}`, "taskId"},
		{"tasks/submit", `{"taskId":true}`, "taskId"},
		{"tasks/submit", `{"taskId":1.5}`, "taskId"},
		{"tasks/submit", `{"taskId":1e3}`, "taskId"},
		{"tasks/submit", `{"taskId":"` + strings.Repeat("a", 129) + `"}`, "taskId"},
		{"tasks/submit", `{"taskId":"` + strings.Repeat("é", 65) + `"}`, "taskId"},
		{"tasks/submit", `{"taskId":"a\u0007"}`, "taskId"},
		{"tasks/submit", `{"taskId":"a/b"}`, "taskId"},
		{"tasks/submit", `{"taskId":"  "}`, "taskId"},
		{"tasks/submit", `{"id":"../x"}`, "id"},
		{"tasks/submit", `{"blocking":"no"}`, "blocking"},
		{"tasks/submit", `{"message":"x"}`, "message"},
		{"tasks/submit", `{"message":{"parts":"x"}}`, "message.parts"},
		{"tasks/submit", `{"message":{"content":5}}`, "message.content"},
		{"tasks/submit", `{"metadata":5}`, "metadata"},
		{"tasks/status", ``, "taskId"},
		{"tasks/status", `{}`, "taskId"},
		{"tasks/status", `{"taskId":""}`, "taskId"},
		{"tasks/status", `{"taskId":"a/b"}`, "taskId"},
		{"tasks/status", `[]`, "params"},
	})
}

func TestEMM_Status(t *testing.T) {
	for _, params := range []string{`{"taskId":"17"}`, `{"id":"17"}`, `{"taskId":17}`, `{"taskId":null,"id":17}`} {
		if got := mustDecode(t, New(Options{}).EMM, "tasks/status", params).(*a2a.GetRequest); got.ID != "17" {
			t.Errorf("%s: got %q, want 17", params, got.ID)
		}
	}
}

// TestEMM_Task checks what simple clients read.
func TestEMM_Task(t *testing.T) {
	for state, want := range map[a2a.State]string{
		a2a.StateSubmitted: "submitted", a2a.StateWorking: "working", a2a.StateCompleted: "completed", a2a.StateFailed: "failed",
		a2a.StateCanceled: "canceled", a2a.StateRejected: "failed", a2a.StateInputRequired: "input-required", a2a.StateAuthRequired: "auth-required",
	} {
		task := &a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: state}, Artifacts: []a2a.Artifact{
			{ID: "1", Parts: []a2a.Part{a2a.TextPart("old")}}, {ID: "2", Parts: []a2a.Part{a2a.DataPart([]byte("{}")), a2a.TextPart("new")}}}}
		raw := New(Options{}).EMM.Methods["tasks/status"].Append(nil, task, a2a.View{})
		var got struct {
			ID, Status string
			Task       struct {
				ID, TaskID, Status string
				Artifact           struct {
					Name  string
					Parts []struct{ Type, Kind, Text string }
				}
				Artifacts []json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		if got.Task.Status != want || got.Status != want || got.ID != "t" || got.Task.ID != "t" || got.Task.TaskID != "t" {
			t.Errorf("%s: got %s, want status %s", state, raw, want)
		}
		first, artifacts := got.Task.Artifact.Parts[0], 2
		if want == "failed" {
			artifacts++
			if got.Task.Artifact.Name != "error" || first.Text == "" {
				t.Errorf("%s: got %s, want an error artifact with a sentence", state, raw)
			}
		} else if first.Text != "new" || first.Type != "text" || first.Kind != "text" {
			t.Errorf("%s: got %s, want the newest artifact, its text first", state, raw)
		}
		if len(got.Task.Artifacts) != artifacts {
			t.Errorf("%s: got %d artifacts, want %d", state, len(got.Task.Artifacts), artifacts)
		}
		if len(task.Artifacts) != 2 {
			t.Errorf("%s: encoding changed the task", state)
		}
	}
}
