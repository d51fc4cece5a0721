package server_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/configs"
)

// raw is the params of a send whose message, part and params have more members. The
// parts are objects.
func (l *tongue) raw(parts, inMessage, around string) string {
	role, content := "ROLE_USER", "parts"
	switch l.shape {
	case shapeV03:
		role = "user"
	case shapeOldProto:
		content = "content"
	}
	m := merge(`{"messageId":"`+uuid.NewString()+`","role":"`+role+`","`+content+`":[`+parts+`]}`, inMessage)
	return merge(`{"message":`+m+`}`, around)
}

// total is how many tasks alice has.
func (c *client) total() any {
	c.t.Helper()
	return c.v1("ListTasks", `{}`).Get("result", "totalSize")
}

// bindingInputCases are those of tolerance and validation.
func bindingInputCases() []bindingCase {
	// blocking is told, since REST of 0.3 does not block when a configuration has no
	// word of it.
	const blocking = `{"configuration":{"blocking":true}}`
	return []bindingCase{
		{"B-055", "unknown_members", nil, func(t *testing.T, c *client, l *tongue) {
			a := l.answer(c, a2a.OpSend, ask{raw: l.raw(`{"text":"@echo u","x":"y"}`, `{"x":1,"metadata":{"keep":[1.0]}}`, `{"x":[],"configuration":{"blocking":true,"x":{}}}`)})
			if g := l.understand(t, a2a.OpSend, a); len(g.Tasks) != 1 || g.Tasks[0].State != "completed" || strings.Contains(string(a.Body), `"x"`) {
				t.Errorf("got %+v in %s, want a completed task without the unknown members", g, clip(a.Body))
			}
			if !strings.Contains(string(a.Body), `"keep":[1.0]`) {
				t.Errorf("metadata is not as it was sent: %s", clip(a.Body))
			}
		}},
		{"B-056", "exactly_one_content", nil, func(t *testing.T, c *client, l *tongue) {
			l.wantAsk(t, c, a2a.OpSend, ask{parts: `[{"hologram":{}}]`}, -32602)
			two := map[shape]string{
				shapeV1: `"url":"https://e.example/x"`, shapeV03: `"file":{"uri":"https://e.example/x"}`, shapeOldProto: `"file":{"fileWithUri":"https://e.example/x"}`,
			}[l.shape]
			if l.shape != shapeV03 { // a part of 0.3 says by its kind which member counts
				l.wantAsk(t, c, a2a.OpSend, ask{parts: `[{"text":"@echo a",` + two + `}]`}, -32602)
			}
			l.wantDone(t, c, ask{parts: `[{"text":"@echo a","hologram":1}]`})
			if l.shape != shapeV03 { // which is no ProtoJSON
				snake := strings.NewReplacer("messageId", "message_id", `"ROLE_USER"`, "1").Replace(l.raw(`{"text":"@echo d"}`, "", ""))
				l.wantDone(t, c, ask{raw: snake})
			}
		}},
		{"B-058", "unknown_kinds_of_parts", nil, func(t *testing.T, c *client, l *tongue) {
			for _, part := range []string{`{"kind":"video","video":"x"}`, `{"kind":"text"}`, `{"kind":"file"}`, `"just a string"`, `null`, `5`, `[]`, `{}`} {
				a := l.answer(c, a2a.OpSend, ask{parts: "[" + part + "]"})
				if g := l.understand(t, a2a.OpSend, a); g.Code != -32602 || internals.Match(a.Body) {
					t.Errorf("%s: got error %d in %s, want -32602 and nothing of the inside", part, g.Code, clip(a.Body))
				}
			}
		}},
		{"B-059", "blank_ids", nil, func(t *testing.T, c *client, l *tongue) {
			for _, blank := range []string{"   ", "\t", "\u00a0"} {
				l.wantAsk(t, c, a2a.OpSend, ask{text: "@echo x", task: blank}, -32602)
				l.wantAsk(t, c, a2a.OpSend, ask{text: "@echo x", context: blank}, -32602)
				l.wantAsk(t, c, a2a.OpGet, ask{task: blank}, -32602)
			}
			if made := l.wantDone(t, c, ask{raw: l.raw(`{"text":"@echo x"}`, `{"taskId":"","contextId":""}`, "")}); made.ID == "" || made.Context == "" {
				t.Errorf("got %+v, want ids", made)
			}
		}},
		{"B-061", "numbers_out_of_range", nil, func(t *testing.T, c *client, l *tongue) {
			list := func(name string, value any, code int) {
				t.Helper()
				if l.has(a2a.OpList) {
					l.wantAsk(t, c, a2a.OpList, ask{query: map[string]any{name: value}}, code)
				}
			}
			for _, v := range []any{0, 101, -1, 1.5, 1e9} {
				list("pageSize", v, -32602)
			}
			list("pageSize", "10", 0)
			list("pageSize", 100, 0)
			list("pageToken", "!!", -32602)
			list("status", "NOPE", -32602)
			made := l.wantDone(t, c, ask{text: "@echo x"})
			for _, v := range []any{-5, 1.5} {
				list("historyLength", v, -32602)
				l.wantAsk(t, c, a2a.OpGet, ask{task: made.ID, query: map[string]any{"historyLength": v}}, -32602)
			}
		}},
		{"B-062", "media_types_nobody_declared", nil, func(t *testing.T, c *client, l *tongue) {
			before := c.total()
			typed := func(mediaType string) ask {
				return ask{parts: strings.ReplaceAll(l.speak("@data", "{}", "AAAA", "https://e.example/a"), "text/plain", mediaType)}
			}
			l.wantAsk(t, c, a2a.OpSend, typed("video/mp4"), -32005)
			if after := c.total(); after != before {
				t.Errorf("got %v tasks, want %v: none for what is refused", after, before)
			}
			for _, mediaType := range []string{"text/plain; charset=utf-8", "TEXT/PLAIN"} {
				l.wantDone(t, c, typed(mediaType))
			}
			l.wantDone(t, c, ask{raw: l.raw(`{"kind":"text","text":"@echo x"}`, "", `{"configuration":{"blocking":true,"acceptedOutputModes":["application/x-nothing"]}}`)})
		}},
		{"B-064", "long_and_odd_contexts", nil, func(t *testing.T, c *client, l *tongue) {
			for _, id := range []string{strings.Repeat("c", 300), strings.Repeat("c", 10_000), `../x'"; drop table tasks`, "a\nb", "日本語"} {
				a := l.answer(c, a2a.OpSend, ask{text: "@echo c", context: id})
				g := l.understand(t, a2a.OpSend, a)
				if internals.Match(a.Body) {
					t.Errorf("tells about the inside: %s", clip(a.Body))
				}
				if g.Code == -32602 && (len(id) <= 300 || strings.Contains(string(a.Body), "1024")) {
					continue
				}
				if len(g.Tasks) != 1 || g.Tasks[0].Context != id {
					t.Errorf("%.20q: got %+v, want it kept, or refused with the limit", id, g)
				}
			}
		}},
		{"B-065", "large_files", []func(*configs.Config){func(cfg *configs.Config) { cfg.Server.MaxBodyBytes = 2 << 20 }}, func(t *testing.T, c *client, l *tongue) {
			content := []byte(strings.Repeat("\xfb\xff\xbe0", 250_000) + "\xff")
			standard := base64.StdEncoding.EncodeToString(content)
			for name, enc := range map[string]*base64.Encoding{"standard": base64.StdEncoding, "URL": base64.URLEncoding, "unpadded": base64.RawURLEncoding} {
				made := l.wantDone(t, c, ask{parts: l.speak("@data", "{}", enc.EncodeToString(content), "https://e.example/f")})
				if len(made.Artifacts) != 1 || !strings.Contains(made.Artifacts[0], "file "+standard+" text/plain") {
					t.Errorf("%s: the bytes did not come back", name)
				}
			}
			g := l.ask(c, a2a.OpSend, ask{parts: l.speak("@data", "{}", standard+standard, "https://e.example/f")})
			if g.Status != http.StatusRequestEntityTooLarge || g.Code != -32052 {
				t.Errorf("too large: got HTTP %d and error %d, want 413 and -32052", g.Status, g.Code)
			}
			for _, bad := range []string{"*", "AA=A"} {
				l.wantAsk(t, c, a2a.OpSend, ask{parts: l.speak("@data", "{}", bad, "https://e.example/f")}, -32602)
			}
		}},
		{"B-172", "optional_members", nil, func(t *testing.T, c *client, l *tongue) {
			for _, around := range []string{
				`{}`, `{"metadata":null,"configuration":{}}`, `{"configuration":null}`, `{"configuration":{"acceptedOutputModes":[]}}`,
				`{"configuration":{"acceptedOutputModes":null,"historyLength":null,"taskPushNotificationConfig":null,"pushNotificationConfig":null,"returnImmediately":null,"blocking":null}}`,
			} {
				q := ask{raw: l.raw(`{"text":"@echo n","metadata":null}`, `{"metadata":null,"extensions":null,"referenceTaskIds":null,"contextId":null,"taskId":null}`, around)}
				if g := l.wantAsk(t, c, a2a.OpSend, q, 0); len(g.Tasks) != 1 {
					t.Errorf("%s: got %+v, want a task", around, g)
				}
			}
			l.wantDone(t, c, ask{raw: l.raw(`{"kind":"text","text":"@echo n"}`, "", blocking)})
		}},
	}
}
