package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/agentcard"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// bindingCase is a bug report about JSON-RPC that REST could have as well: the same
// request is made in every version on both.
type bindingCase struct {
	id, title string
	edits     []func(*configs.Config)
	run       func(t *testing.T, c *client, l *tongue)
}

// jsonRPCOnly are the cases of discovery, dialects, envelope and input that have no
// meaning for REST or are the same for all bindings, and why.
var jsonRPCOnly = map[string]string{
	"B-001": "the case looks at the URLs of all interfaces of the card, those of REST included",
	"B-002": "as B-001",
	"B-004": "as B-001",
	"B-005": "cards are served beside the bindings, under names that are no binding's",
	"B-032": "tasks/submit is a method of JSON-RPC alone",
	"B-034": "as B-032",
	"B-035": "there was no REST before 0.3",
	"B-038": "a REST request has no id",
}

// TestCases_Bindings runs the cases on JSON-RPC and on REST.
func TestCases_Bindings(t *testing.T) {
	for _, bc := range slices.Concat(bindingCases(), bindingInputCases()) {
		t.Run(bc.id+"_"+bc.title, func(t *testing.T) {
			for _, l := range tongues {
				if l.shape == shapeV01 || l.binding == gRPC {
					continue // JSON-RPC alone, and what has TestBindings_Errors and tests of its own
				}
				t.Run(strings.ReplaceAll(l.name, " ", "_"), func(t *testing.T) { bc.run(t, probe(t, bc.edits...), l) })
			}
		})
	}
}

// TestCases_BindingsComplete: each case of discovery, dialects, envelope and input
// is run on REST, or is about REST, or it is said why not.
func TestCases_BindingsComplete(t *testing.T) {
	ran := map[string]bool{}
	for _, bc := range slices.Concat(bindingCases(), bindingInputCases()) {
		ran[bc.id] = true
	}
	for _, bc := range restCases() {
		ran[bc.id] = true
	}
	lines := strings.Split(strings.TrimSpace(caseIDs), "\n")[:4]
	for _, id := range strings.Fields(strings.Join(lines, " ")) {
		excused := jsonRPCOnly[id] != "" || elsewhere[id] != ""
		if ran[id] == excused {
			t.Errorf("%s: run on REST %t, excused %t; want one of them", id, ran[id], excused)
		}
		delete(ran, id)
	}
	for id := range ran {
		t.Errorf("%s is not in the list of cases", id)
	}
}

func (l *tongue) isREST() bool { return l.binding == rest }

// wantAsk checks the number of the error, 0 for none, and the HTTP status that
// belongs to it.
func (l *tongue) wantAsk(t *testing.T, c *client, op a2a.Op, q ask, code int) got {
	t.Helper()
	g := l.ask(c, op, q)
	if status := l.status(code); g.Code != code || g.Status != status {
		t.Errorf("%s: got error %d and HTTP %d, want %d and %d", op, g.Code, g.Status, code, status)
	}
	return g
}

// wantDone checks that a send made a task that completed, and returns it.
func (l *tongue) wantDone(t *testing.T, c *client, q ask) (made task) {
	t.Helper()
	g := l.wantAsk(t, c, a2a.OpSend, q, 0)
	if len(g.Tasks) != 1 || g.Tasks[0].State != "completed" {
		t.Errorf("got %+v, want a completed task", g.Tasks)
		return made
	}
	return g.Tasks[0]
}

// base is the path that requests of the tongue go to.
func (l *tongue) base(t *testing.T, card servertest.Answer, server string) string {
	t.Helper()
	list, binding, transport := "supportedInterfaces", "protocolBinding", "JSONRPC"
	if l.shape != shapeV1 {
		list, binding = "additionalInterfaces", "transport"
	}
	if l.isREST() {
		transport = "HTTP+JSON"
	}
	for i := 0; card.Get(list, i) != nil; i++ {
		if card.Get(list, i, binding) != transport {
			continue
		}
		u, _ := card.Get(list, i, "url").(string)
		path, ok := strings.CutPrefix(u, server)
		if !ok {
			t.Fatalf("%s is not on this server", u)
		}
		if l.isREST() && l.shape != shapeV1 {
			path += "/v1" // as its clients do
		}
		return path
	}
	t.Fatalf("the card has no interface for %s: %s", l.name, card.Body)
	return ""
}

// bindingCases are those of discovery, dialects and envelope.
func bindingCases() []bindingCase {
	const none = "00000000-0000-4000-8000-00000000dead"
	off := func(cfg *configs.Config) { cfg.Push.Enabled, cfg.Stream.Enabled = false, false }
	return []bindingCase{
		{"B-008", "one_URL_for_all_operations", nil, func(t *testing.T, c *client, l *tongue) {
			version := map[bool]string{true: v10, false: v03}[l.shape == shapeV1]
			path := l.base(t, c.Do("GET", cardPath, "", version), c.URL)
			if l.ofGo() { // it has no version in its paths
				path = strings.TrimSuffix(path, "/v1")
			}
			if l.isREST() {
				_, asked, _ := l.request(a2a.OpList, ask{})
				if asked != path+"/tasks" {
					t.Fatalf("the card names %s, and the requests below go to %s", path, asked)
				}
			} else if path != "/api/a2a/tasks" {
				t.Fatalf("the card names %s, and the requests below go to another path", path)
			}
			made := l.wantDone(t, c, ask{text: "@echo x"})
			l.wantAsk(t, c, a2a.OpGet, ask{task: made.ID}, 0)
			for _, op := range []a2a.Op{a2a.OpGet, a2a.OpCancel, a2a.OpSubscribe} {
				l.wantAsk(t, c, op, ask{task: "nope"}, -32001)
			}
			if g := l.wantAsk(t, c, a2a.OpStream, ask{text: "@echo x"}, 0); len(g.Events) < 2 {
				t.Errorf("stream: got %q, want events", g.Events)
			}
		}},
		{"B-010", "lists_are_never_null", []func(*configs.Config){withExtendedCard, func(cfg *configs.Config) {
			for i := range cfg.Skills {
				cfg.Skills[i].Tags, cfg.Skills[i].Examples, cfg.Skills[i].InputModes, cfg.Skills[i].OutputModes = []string{}, nil, nil, nil
			}
		}}, func(t *testing.T, c *client, l *tongue) {
			card := members(l.result(l.answer(c, a2a.OpExtendedCard, ask{})))
			for _, name := range []string{"skills", "defaultInputModes", "defaultOutputModes"} {
				if _, ok := card[name].([]any); !ok {
					t.Errorf("%s is %v, want a list", name, card[name])
				}
			}
			skills, _ := card["skills"].([]any)
			for _, s := range skills {
				if _, ok := members(s)["tags"].([]any); !ok {
					t.Errorf("tags of %v are %v, want a list", members(s)["id"], members(s)["tags"])
				}
			}
		}},
		{"B-011", "required_members", []func(*configs.Config){withExtendedCard}, func(t *testing.T, c *client, l *tongue) {
			card := members(l.result(l.answer(c, a2a.OpExtendedCard, ask{})))
			names := []string{"name", "description", "version", "capabilities", "skills", "defaultInputModes", "defaultOutputModes"}
			if l.shape == shapeV1 {
				names = append(names, "supportedInterfaces")
			} else {
				names = append(names, "url", "protocolVersion", "preferredTransport")
			}
			for _, name := range names {
				if v := card[name]; v == nil || v == "" {
					t.Errorf("the extended card has no %s", name)
				}
			}
		}},
		{"B-017", "signed_is_what_is_served", nil, func(t *testing.T, _ *client, l *tongue) {
			c := probe(t, signing(t), withExtendedCard)
			keys, err := agentcard.ParseJWKS(c.Do("GET", agentcard.KeysPath, "").Body)
			if err != nil {
				t.Fatal(err)
			}
			a := l.answer(c, a2a.OpExtendedCard, ask{})
			card := a.Body
			if !l.isREST() {
				card, _ = envelope(t, a.Body)
			}
			if _, err := keys.Verify(card); err != nil {
				t.Errorf("extended card: %v in %s", err, clip(card))
			}
			if _, err := keys.Verify([]byte(strings.Replace(string(card), "agents.example.com", "evil.example", 1))); err == nil {
				t.Error("another URL is not noticed")
			}
		}},
		{"B-019", "preflight_of_browsers", []func(*configs.Config){func(cfg *configs.Config) { cfg.Server.CORSOrigins = []string{"https://ui.example.com"} }}, func(t *testing.T, c *client, l *tongue) {
			const ui = "https://ui.example.com"
			for _, op := range []a2a.Op{a2a.OpSend, a2a.OpGet, a2a.OpSubscribe, a2a.OpDeletePush} {
				verb, path := "POST", "/api/a2a/tasks"
				if l.isREST() {
					verb, path, _ = l.request(op, ask{task: "t", config: "p"})
				}
				a := c.Do("OPTIONS", path, "", "Origin: "+ui, "Access-Control-Request-Method: "+verb, "Access-Control-Request-Headers: authorization,content-type,a2a-version,a2a-extensions")
				if a.Status != 200 && a.Status != 204 || a.Header.Get("Access-Control-Allow-Origin") != ui || !strings.Contains(a.Header.Get("Access-Control-Allow-Methods"), verb) {
					t.Errorf("preflight of %s %s: got HTTP %d %v", verb, path, a.Status, a.Header)
				}
				a = c.Do("OPTIONS", path, "", "Origin: https://evil.example", "Access-Control-Request-Method: "+verb)
				if got := a.Header.Get("Access-Control-Allow-Origin"); got != "" {
					t.Errorf("%s: a foreign origin got %q", path, got)
				}
			}
			for _, q := range []ask{{task: "none", headers: []string{"Origin: " + ui}}, {task: "none", headers: []string{"Origin: " + ui, "Authorization: Bearer wrong"}}} {
				if a := l.answer(c, a2a.OpGet, q); a.Header.Get("Access-Control-Allow-Origin") != ui {
					t.Errorf("HTTP %d without the origin: %v", a.Status, a.Header)
				}
			}
		}},
		{"B-020", "calls_need_a_key", nil, func(t *testing.T, c *client, l *tongue) {
			for _, op := range []a2a.Op{a2a.OpSend, a2a.OpStream, a2a.OpGet} {
				a := l.answer(c, op, ask{text: "@echo x", task: "", headers: []string{"Authorization: "}})
				if a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s without a key: got HTTP %d, want 401 with a challenge", op, a.Status)
				}
			}
			want(t, c.v1("ListTasks", `{}`), 0, "result", "totalSize")
		}},
		{"B-022", "answers_of_one_version_only", nil, func(t *testing.T, c *client, l *tongue) {
			// The helpers hold every member and value of an answer against the version.
			made := l.wantDone(t, c, ask{text: "@echo x"})
			l.wantAsk(t, c, a2a.OpGet, ask{task: made.ID}, 0)
			a := l.answer(c, a2a.OpStream, ask{text: "@chunks 2 1"})
			frames := framesOf(a)
			if len(frames) < 3 {
				t.Fatalf("got %d frames, want a task, chunks and the end", len(frames))
			}
			last := members(l.result(frames[len(frames)-1]))
			switch {
			case l.shape == shapeV1:
				for _, f := range frames {
					noOldMembers(t, "", l.result(f))
				}
			case l.isREST() && !l.ofGo():
				last = members(last["statusUpdate"])
				fallthrough
			default:
				if last["final"] != true {
					t.Errorf("the last frame of 0.3 is not final: %v", last)
				}
			}
		}},
		{"B-023", "frames_are_responses", nil, func(t *testing.T, c *client, l *tongue) {
			a := l.answer(c, a2a.OpStream, ask{text: "@chunks 3 1"})
			frames := framesOf(a)
			if len(frames) < 3 {
				t.Errorf("got %d frames, want at least 3", len(frames))
			}
			for _, f := range frames {
				if enveloped := f.Get("jsonrpc") != nil; enveloped == l.isREST() {
					t.Errorf("in an envelope: %t, REST: %t: %s", enveloped, l.isREST(), f.Body)
				}
				m := members(l.result(f))
				if l.shape != shapeV03 && (len(m) != 1 || m["task"] == nil && m["statusUpdate"] == nil && m["artifactUpdate"] == nil && m["message"] == nil) {
					t.Errorf("got %s, want one of task, message, statusUpdate and artifactUpdate", f.Body)
				}
				if l.shape == shapeV03 && !slices.Contains([]any{"task", "status-update", "artifact-update"}, m["kind"]) {
					t.Errorf("got %s, want a task or an update", f.Body)
				}
			}
		}},
		{"B-025", "corners_of_the_version", nil, func(t *testing.T, c *client, l *tongue) {
			own, other, patch := "1.0", "0.3", "1.0.1"
			if l.shape != shapeV1 {
				own, other, patch = "0.3", "1.0", "0.3.7"
			}
			unsupported := map[bool]int{true: -32009, false: -32600}[l.shape == shapeV1 || !l.isREST() || l.ofGo()] // the REST of 0.3 has no number for it
			mismatch := map[bool]int{true: unsupported, false: -32601}[l.isREST()]
			if l.isREST() && l.shape != shapeOldProto {
				mismatch = -32001 // at these paths the version chooses between 1.0 and Go's 0.3
			}
			for version, code := range map[string]int{own: -32001, patch: -32001, "": -32001, "99.0": unsupported, other: mismatch} {
				l.wantAsk(t, c, a2a.OpGet, ask{task: none, headers: []string{"A2A-Version: " + version}}, code)
			}
		}},
		{"B-026", "calls_that_do_not_block", nil, func(t *testing.T, c *client, l *tongue) {
			began := time.Now()
			g := l.ask(c, a2a.OpSend, ask{text: "@sleep 60", now: true})
			if took := time.Since(began); took > 10*time.Second || len(g.Tasks) != 1 || g.Tasks[0].State != "submitted" && g.Tasks[0].State != "working" {
				t.Fatalf("got %+v after %s, want a task at work at once", g, took)
			}
			l.wantAsk(t, c, a2a.OpCancel, ask{task: g.Tasks[0].ID}, 0)
		}},
		{"B-028", "both_names_of_the_header", []func(*configs.Config){declaring}, func(t *testing.T, c *client, l *tongue) {
			for name, header := range map[string]string{"A2A-Extensions": "https://ex/a, https://ex/b", "X-A2A-Extensions": "https://ex/b,https://ex/a,https://ex/unknown"} {
				a := l.answer(c, a2a.OpSend, ask{text: "@extensions", headers: []string{name + ": " + header}})
				if g := l.understand(t, a2a.OpSend, a); len(g.Tasks) != 1 || len(g.Tasks[0].Artifacts) != 1 || !strings.HasSuffix(g.Tasks[0].Artifacts[0], "text https://ex/a\nhttps://ex/b") {
					t.Errorf("%s: the skill saw %+v", name, g.Tasks)
				}
				if got := a.Header.Get(name); got != "https://ex/a, https://ex/b" {
					t.Errorf("%s: got echo %q", name, got)
				}
			}
			l.wantDone(t, c, ask{text: "@echo x", headers: []string{"A2A-Extensions: https://ex/unknown"}})
		}},
		{"B-029", "required_extension", []func(*configs.Config){requiring}, func(t *testing.T, c *client, l *tongue) {
			code := l.extensionRequired()
			for _, op := range []a2a.Op{a2a.OpSend, a2a.OpStream} {
				l.wantAsk(t, c, op, ask{text: "@echo x"}, code)
			}
			want(t, c.v1("ListTasks", `{}`), 0, "result", "totalSize")
			l.wantDone(t, c, ask{text: "@echo x", headers: []string{"A2A-Extensions: https://ex/req"}})
		}},
		{"B-031", "parts_by_kind_type_or_neither", nil, func(t *testing.T, c *client, l *tongue) {
			for _, part := range []string{`{"kind":"text","text":"@echo q"}`, `{"type":"text","text":"@echo q"}`, `{"text":"@echo q"}`} {
				made := l.wantDone(t, c, ask{parts: "[" + part + "]"})
				if len(made.Artifacts) != 1 || !strings.HasSuffix(made.Artifacts[0], "text q") {
					t.Errorf("%s: got artifacts %q", part, made.Artifacts)
				}
			}
			l.wantAsk(t, c, a2a.OpSend, ask{parts: "[]"}, -32602)
		}},
		{"B-037", "broken_JSON", nil, func(t *testing.T, c *client, l *tongue) {
			for _, body := range []string{`{"message":`, "hello", `{"message":{}} tail`, "{\"message\":\"\xff\"}"} {
				a := l.answer(c, a2a.OpSend, ask{body: body})
				if g := l.understand(t, a2a.OpSend, a); g.Code != -32700 || internals.Match(a.Body) {
					t.Errorf("%q: got error %d in %s, want -32700 and nothing of the inside", body, g.Code, clip(a.Body))
				}
			}
		}},
		{"B-043", "typed_errors", nil, func(t *testing.T, c *client, l *tongue) {
			l.wantAsk(t, c, a2a.OpGet, ask{task: none}, -32001)
			l.wantAsk(t, c, a2a.OpCancel, ask{task: none}, -32001)
			l.wantAsk(t, c, a2a.OpCancel, ask{task: l.wantDone(t, c, ask{text: "@echo x"}).ID}, -32002)
		}},
		{"B-044", "unknown_is_never_null", nil, func(t *testing.T, c *client, l *tongue) {
			for _, op := range []a2a.Op{a2a.OpGet, a2a.OpCancel, a2a.OpSubscribe, a2a.OpSetPush, a2a.OpGetPush, a2a.OpListPush, a2a.OpDeletePush} {
				l.wantAsk(t, c, op, ask{task: none, config: "p", url: "http://127.0.0.1:9/"}, -32001)
			}
		}},
		{"B-047", "checks_before_the_stream", nil, func(t *testing.T, c *client, l *tongue) {
			for code, q := range map[int]ask{-32602: {raw: `{}`}, -32001: {task: none, text: "x"}} {
				a := l.answer(c, a2a.OpStream, q)
				if g := l.understand(t, a2a.OpStream, a); g.Code != code {
					t.Errorf("got error %d, want %d", g.Code, code)
				}
				// Clients of JSON-RPC lose a plain answer, those of REST have the status.
				if n, ct := len(framesOf(a)), a.Header.Get("Content-Type"); l.isREST() && (n != 0 || ct != "application/json" || a.Status != l.status(code)) || !l.isREST() && n != 1 {
					t.Errorf("got HTTP %d, %s, %d frames", a.Status, ct, n)
				}
			}
		}},
		{"B-049", "capabilities_that_are_not_there", []func(*configs.Config){off}, func(t *testing.T, c *client, l *tongue) {
			for op, code := range map[a2a.Op]int{
				a2a.OpStream: -32004, a2a.OpSubscribe: -32004,
				a2a.OpSetPush: -32003, a2a.OpGetPush: -32003, a2a.OpListPush: -32003, a2a.OpDeletePush: -32003,
			} {
				l.wantAsk(t, c, op, ask{text: "x", task: "t", config: "p", url: "http://127.0.0.1:9/"}, code)
			}
			inline := map[shape]string{
				shapeV1: "taskPushNotificationConfig", shapeV03: "pushNotificationConfig", shapeOldProto: "pushNotification",
			}[l.shape]
			raw := merge(l.message(ask{text: "@echo x"}), fmt.Sprintf(`{"configuration":{"blocking":true,%q:{"url":"https://hooks.example.com"}}}`, inline))
			l.wantAsk(t, c, a2a.OpSend, ask{raw: raw}, -32003)
			l.wantAsk(t, c, a2a.OpExtendedCard, ask{}, map[bool]int{true: -32004, false: -32007}[l.shape == shapeV1])
		}},
	}
}
