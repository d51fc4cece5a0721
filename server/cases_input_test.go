package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/server/servertest"
)

// parts1 is the params of SendMessage with the given parts.
func parts1(parts string) string {
	return `{"message":{"messageId":"` + uuid.NewString() + `","role":"ROLE_USER","parts":[` + parts + `]}}`
}

// inputCases are about tolerance and validation.
func inputCases() []bugCase {
	return []bugCase{
		{"B-055", "unknown_members", func(t *testing.T) {
			c := probe(t)
			body := `{"jsonrpc":"2.0","id":1,"x":0,"method":"SendMessage","params":{"x":[],"configuration":{"x":{}},"message":{"messageId":"` + uuid.NewString() +
				`","role":"ROLE_USER","x":1,"parts":[{"text":"@echo u","x":"y"}],"metadata":{"keep":[1.0]}}}}`
			a := c.RPC(body, alice, v10)
			checkV1(t, "SendMessage", a.Body)
			wantState(t, a, "TASK_STATE_COMPLETED")
			want(t, a, "1.0", "result", "task", "history", 0, "metadata", "keep", 0)
			if strings.Contains(string(a.Body), `"x"`) {
				t.Errorf("an unknown member was kept: %s", a.Body)
			}
		}},
		{"B-056", "exactly_one_content", func(t *testing.T) {
			c := probe(t)
			wantCode(t, c.v1("SendMessage", parts1(`{"hologram":{}}`)), -32602)
			wantCode(t, c.v1("SendMessage", parts1(`{"text":"@echo a","url":"https://e.example/x"}`)), -32602)
			wantState(t, c.v1("SendMessage", parts1(`{"text":"@echo a","hologram":1}`)), "TASK_STATE_COMPLETED")
			a := c.v1("SendMessage", `{"message":{"message_id":"`+uuid.NewString()+`","role":1,"parts":[{"text":"@data"},{"url":"https://e.example/a.png","media_type":"application/octet-stream"}]}}`)
			wantState(t, a, "TASK_STATE_COMPLETED")
			want(t, a, "application/octet-stream", "result", "task", "artifacts", 0, "parts", 0, "mediaType")
		}},
		{"B-058", "unknown_part_kind_in_0.3", func(t *testing.T) {
			c := probe(t)
			for _, p := range []string{`{"kind":"video","video":"x"}`, `{"kind":"text"}`, `{"kind":"file"}`, `"just a string"`, `null`, `5`, `[]`} {
				body := strings.Replace(call("message/send", message03(p, "", "")), `"id":1`, `"id":5`, 1)
				a := c.RPC(body, alice)
				checkV03(t, a.Body)
				wantCode(t, a, -32602)
				want(t, a, 5, "id")
			}
		}},
		{"B-059", "blank_ids", func(t *testing.T) {
			c := probe(t)
			for _, blank := range []string{"   ", "\t", "\u00a0"} {
				wantCode(t, c.send("@echo x", params("taskId", blank), ""), -32602)
				wantCode(t, c.send("@echo x", params("contextId", blank), ""), -32602)
				wantCode(t, c.get(blank), -32602)
			}
			a := c.send("@echo x", `{"taskId":"","contextId":""}`, "")
			wantState(t, a, "TASK_STATE_COMPLETED")
			if taskID(a) == "" {
				t.Errorf("no task: %s", a.Body)
			}
			wantCode(t, c.get(""), -32602)
		}},
		{"B-061", "numbers_out_of_range", func(t *testing.T) {
			c := probe(t)
			for _, p := range []string{
				`{"pageSize":0}`, `{"pageSize":101}`, `{"pageSize":-1}`, `{"pageSize":1.5}`, `{"pageSize":1e9}`, `{"historyLength":-5}`,
				`{"historyLength":1.5}`, `{"pageToken":"!!"}`, `{"pageToken":"AAAA"}`, `{"status":"NOPE"}`, `{"statusTimestampAfter":"x"}`,
			} {
				wantCode(t, c.v1("ListTasks", p), -32602)
			}
			for _, p := range []string{`{"pageSize":"10"}`, `{"pageSize":10.0}`, `{"pageSize":null}`, `{"pageSize":100}`, `{"status":"UNRECOGNIZED"}`} {
				if a := c.v1("ListTasks", p); a.Get("error") != nil {
					t.Errorf("%s: got %s", p, a.Body)
				}
			}
			wantCode(t, c.v1("GetTask", `{"id":"x","historyLength":-5}`), -32602)
		}},
		{"B-062", "media_types_nobody_declared", func(t *testing.T) {
			c := probe(t)
			before := c.v1("ListTasks", `{}`).Get("result", "totalSize")
			wantCode(t, c.v1("SendMessage", parts1(`{"url":"https://e.example/a.mp4","mediaType":"video/mp4"}`)), -32005)
			wantCode(t, c.v03("message/send", message03(`{"kind":"file","file":{"uri":"https://e.example/a.mp4","mimeType":"video/mp4"}}`, "", "")), -32005)
			want(t, c.v1("ListTasks", `{}`), before.(interface{ String() string }).String(), "result", "totalSize")
			for _, mediaType := range []string{"text/plain; charset=utf-8", "TEXT/PLAIN", "text/plain"} {
				wantState(t, c.v1("SendMessage", parts1(`{"text":"@echo x","mediaType":`+quote(mediaType)+`}`)), "TASK_STATE_COMPLETED")
			}
			// Output modes that no skill has are taken as a wish.
			wantState(t, c.send("@echo x", "", `{"acceptedOutputModes":["application/x-nothing"]}`), "TASK_STATE_COMPLETED")
		}},
		{"B-064", "long_and_odd_contexts", func(t *testing.T) {
			c := probe(t)
			for _, id := range []string{strings.Repeat("c", 300), strings.Repeat("c", 10_000), `../x'"; drop table tasks`, "a\nb", "日本語", "a\u202eb"} {
				a := c.send("@echo c", params("contextId", id), "")
				if a.Get("error") == nil {
					want(t, a, id, "result", "task", "contextId")
					want(t, c.v1("ListTasks", params("contextId", id)), 1, "result", "totalSize")
					continue
				}
				wantCode(t, a, -32602)
				if len(id) > 300 && !strings.Contains(string(a.Body), "1024") {
					t.Errorf("the error does not name the limit: %s", a.Body)
				}
			}
		}},
		{"B-065", "large_files", func(t *testing.T) {
			c := probe(t)
			content := make([]byte, 1_000_000)
			_, _ = rand.Read(content)
			for name, enc := range map[string]*base64.Encoding{"standard": base64.StdEncoding, "URL": base64.URLEncoding, "unpadded": base64.RawURLEncoding} {
				a := c.v1("SendMessage", parts1(`{"text":"@data"},{"raw":"`+enc.EncodeToString(content)+`","mediaType":"application/octet-stream","filename":"b"}`))
				wantState(t, a, "TASK_STATE_COMPLETED")
				raw, _ := a.Get("result", "task", "artifacts", 0, "parts", 0, "raw").(string)
				if got, err := base64.StdEncoding.DecodeString(raw); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s: got %d bytes (%v), want the %d sent", name, len(got), err, len(content))
				}
			}
			a := c.RPC(call("SendMessage", parts1(`{"raw":"`+strings.Repeat("A", 20_000_000)+`"}`)), alice, v10)
			if a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(string(a.Body), "10485760") {
				t.Errorf("got HTTP %d %s, want 413 with the limit", a.Status, clip(a.Body))
			}
			for _, raw := range []string{"*", "AA=A", "AAA\nA"} {
				wantCode(t, c.v1("SendMessage", parts1(`{"raw":`+quote(raw)+`}`)), -32602)
			}
		}},
		{"B-172", "optional_members", func(t *testing.T) {
			c := probe(t)
			send := func(configuration string) servertest.Answer {
				p := `{` + configuration + `"metadata":null,"message":{"messageId":"` + uuid.NewString() +
					`","role":"ROLE_USER","metadata":null,"extensions":null,"referenceTaskIds":null,"contextId":null,"taskId":null,"parts":[{"text":"@echo n","metadata":null,"filename":null}]}}`
				return c.v1("SendMessage", p)
			}
			for _, configuration := range []string{"", `{}`, `null`, `{"acceptedOutputModes":[]}`, `{"acceptedOutputModes":null}`, `{"historyLength":null,"taskPushNotificationConfig":null,"returnImmediately":null}`} {
				if configuration != "" {
					configuration = `"configuration":` + configuration + `,`
				}
				wantState(t, send(configuration), "TASK_STATE_COMPLETED")
			}
		}},
	}
}
