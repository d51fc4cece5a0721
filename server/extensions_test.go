package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// declaring adds extensions to the card: two to choose, of which none is required.
func declaring(c *configs.Config) {
	c.Card.Extensions = []configs.Extension{{URI: "https://ex/a", Description: "First."}, {URI: "https://ex/b"}}
}

func requiring(c *configs.Config) {
	c.Card.Extensions = []configs.Extension{{URI: "https://ex/req", Required: true}}
}

// extensionCases are about the header with extensions.
func extensionCases() []bugCase {
	return []bugCase{
		{"B-028", "both_names_of_the_header", func(t *testing.T) {
			c := probe(t, declaring)
			for name, headers := range map[string][]string{
				"A2A-Extensions":   {"A2A-Extensions: https://ex/a, https://ex/b"},
				"X-A2A-Extensions": {"X-A2A-Extensions: https://ex/b,https://ex/a,https://ex/unknown"},
			} {
				for _, a := range []servertest.Answer{
					c.send("@extensions", "", "", headers...),
					c.v03("message/send", message03(text03("@extensions"), "", ""), headers...),
				} {
					if !strings.Contains(string(a.Body), `https://ex/a\nhttps://ex/b"`) {
						t.Errorf("%s: the skill saw %s", name, clip(a.Body))
					}
					if got := a.Header.Get(name); got != "https://ex/a, https://ex/b" {
						t.Errorf("%s: got echo %q", name, got)
					}
				}
			}
			rest := c.Do("POST", "/rest/message:send", message("@extensions", "", ""), alice, v10, "A2A-Extensions: https://ex/b")
			if got := rest.Header.Get("A2A-Extensions"); got != "https://ex/b" || !strings.Contains(string(rest.Body), `"text":"https://ex/b"`) {
				t.Errorf("REST: got echo %q in %s", got, clip(rest.Body))
			}
			for path, body := range map[string]string{
				"/": call("SendStreamingMessage", message("@extensions", "", "")), "/rest/message:stream": message("@extensions", "", ""),
			} {
				st := openStream(t, c.Server, "POST", path, body, alice, v10, "A2A-Extensions: https://ex/b")
				if got := st.res.Header.Get("A2A-Extensions"); got != "https://ex/b" {
					t.Errorf("stream of %s: got echo %q", path, got)
				}
				var seen string
				for _, f := range st.rest() {
					seen += texts(f.Get("result", "artifactUpdate", "artifact")) + texts(f.Get("artifactUpdate", "artifact"))
				}
				if seen != "https://ex/b" {
					t.Errorf("stream of %s: the skill saw %q", path, seen)
				}
			}
			a := c.send("@extensions", "", "", "A2A-Extensions: https://ex/unknown")
			wantState(t, a, "TASK_STATE_COMPLETED")
			if a.Header.Values("A2A-Extensions") != nil || strings.Contains(string(a.Body), `"https://ex/unknown"`) {
				t.Errorf("unknown extension: got echo %q in %s", a.Header.Get("A2A-Extensions"), clip(a.Body))
			}
		}},
		{"B-029", "required_extension", func(t *testing.T) {
			c := probe(t, requiring)
			const submit = `{"message":{"role":"user","parts":[{"type":"text","text":"@echo x"}]}}`
			for method, body := range map[string]string{
				"SendMessage": message("@echo x", "", ""), "SendStreamingMessage": message("@echo x", "", ""),
				"message/send": message03(text03("@echo x"), "", ""), "message/stream": message03(text03("@echo x"), "", ""),
				"tasks/submit": submit,
			} {
				headers, code := []string{alice}, -32600 // 0.3 has no code for it
				switch {
				case strings.HasPrefix(method, "Send"):
					headers, code = append(headers, v10), -32008
				case method == "tasks/submit":
					code = -32008
				}
				for _, path := range []string{"/", "/skills/probe"} {
					a := c.Do("POST", path, call(method, body), append(headers, "A2A-Extensions: https://ex/re")...)
					wantCode(t, a, code)
					if a.Header.Values("A2A-Extensions") != nil {
						t.Errorf("%s: an error has the echo %q", method, a.Header.Get("A2A-Extensions"))
					}
				}
			}
			for path, body := range map[string]string{
				"/rest/message:send": message("@echo x", "", ""), "/rest/message:stream": message("@echo x", "", ""),
				"/rest/v1/message:send": `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"@echo x"}]}}`,
			} {
				a := c.Do("POST", path, body, alice)
				if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "https://ex/req") {
					t.Errorf("%s: got HTTP %d %s", path, a.Status, clip(a.Body))
				}
			}
			want(t, c.v1("ListTasks", `{}`), 0, "result", "totalSize")
			const header = "A2A-Extensions: https://ex/req"
			a := c.send("@ask", "", "", header)
			wantState(t, a, "TASK_STATE_INPUT_REQUIRED")
			wantCode(t, c.send("more", `{"taskId":"`+taskID(a)+`"}`, ""), -32008)
			wantState(t, c.send("more", `{"taskId":"`+taskID(a)+`"}`, "", header), "TASK_STATE_COMPLETED")
			wantState(t, c.v03("message/send", message03(text03("@echo x"), "", ""), "X-A2A-Extensions: https://ex/req"), "completed")
			wantState(t, c.get(taskID(a)), "TASK_STATE_COMPLETED") // reading needs none
		}},
	}
}

// extensionURIs are the URIs of a card's extensions.
func extensionURIs(a servertest.Answer) string {
	var uris []string
	for i := 0; a.Get("capabilities", "extensions", i) != nil; i++ {
		uri, _ := a.Get("capabilities", "extensions", i, "uri").(string)
		uris = append(uris, uri)
	}
	return strings.Join(uris, " ")
}

func TestExtensions_Card(t *testing.T) {
	settings := func(t *testing.T, text string) configs.Settings {
		t.Helper()
		cfg, err := configs.Load(configs.Options{Path: "x.yaml", Data: []byte("card: {extensions: [{uri: 'https://ex/p', params: " + text + "}]}")})
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Card.Extensions[0].Params
	}
	c := probe(t, func(cfg *configs.Config) {
		cfg.Card.Extensions = []configs.Extension{
			{URI: "https://ex/a", Description: "First.", Required: true, Params: settings(t, "{n: 1, list: [x]}")},
			{URI: a2a.ExtEventSequence, Required: true},
		}
	})
	for _, version := range []string{"", "0.3", "1.0"} {
		a := c.Do("GET", cardPath, "", "A2A-Version: "+version)
		if got, want := extensionURIs(a), a2a.ExtSkillSelection+" "+a2a.ExtEventSequence+" "+a2a.ExtIdempotencyKey+" https://ex/a "+a2a.ExtSkillSchema; got != want {
			t.Errorf("card %q: got %s, want %s", version, got, want)
		}
		want(t, a, true, "capabilities", "extensions", 1, "required")
		if d, _ := a.Get("capabilities", "extensions", 1, "description").(string); d == "" {
			t.Errorf("card %q: the server's own extension lost its description", version)
		}
		want(t, a, "First.", "capabilities", "extensions", 3, "description")
		want(t, a, 1, "capabilities", "extensions", 3, "params", "n")
		want(t, a, nil, "capabilities", "extensions", 0, "required")
		want(t, a, nil, "capabilities", "extensions", 0, "params")
	}
	// What a card declares can be activated.
	asked := "A2A-Extensions: " + a2a.ExtSkillSchema
	if got := c.send("@echo x", "", "", asked+", https://ex/a, "+a2a.ExtEventSequence).Header.Get("A2A-Extensions"); !strings.Contains(got, a2a.ExtSkillSchema) {
		t.Errorf("got echo %q", got)
	}
	quiet := probe(t, func(cfg *configs.Config) { cfg.Stream.Enabled = false })
	if got := extensionURIs(quiet.Do("GET", cardPath, "", v10)); got != a2a.ExtSkillSelection+" "+a2a.ExtIdempotencyKey+" "+a2a.ExtSkillSchema {
		t.Errorf("without streams: got %s", got)
	}
}

// TestExtensions_EventSequence: the number in the metadata is the id of the event, and
// where a broken stream goes on.
func TestExtensions_EventSequence(t *testing.T) {
	c := probe(t)
	header := "A2A-Extensions: " + a2a.ExtEventSequence
	sequence := func(f servertest.Answer, path ...any) string {
		for _, p := range [][]any{{"result", "task"}, {"result", "statusUpdate"}, {"result", "artifactUpdate"}, {"result"}} {
			if n := f.Get(append(p, "metadata", a2a.ExtEventSequence, "sequence")...); n != nil {
				return n.(interface{ String() string }).String()
			}
		}
		return ""
	}
	for method, body := range map[string]string{
		"SendStreamingMessage": message("@chunks 3 1", "", ""), "message/stream": message03(text03("@chunks 3 1"), "", ""),
	} {
		headers := []string{alice, header}
		if method == "SendStreamingMessage" {
			headers = append(headers, v10)
		}
		st := openStream(t, c.Server, "POST", "/", call(method, body), headers...)
		if got := st.res.Header.Get("A2A-Extensions"); got != a2a.ExtEventSequence {
			t.Errorf("%s: got echo %q", method, got)
		}
		frames := st.rest()
		for _, f := range frames {
			if f.id == "" || sequence(f.Answer) != f.id {
				t.Errorf("%s: frame with id %s has number %q: %s", method, f.id, sequence(f.Answer), f.Body)
			}
			if method == "SendStreamingMessage" {
				strictResult(t, f.Body)
			}
		}
		if len(frames) < 3 {
			t.Fatalf("%s: got %d frames", method, len(frames))
		}
		// Who does not ask for numbers gets the same events without them.
		id := taskID(frames[0].Answer)
		get := "GetTask"
		if method == "message/stream" {
			get = "tasks/get"
		}
		a := c.RPC(call(get, params("id", id)), headers...)
		last, err := strconv.Atoi(frames[len(frames)-1].id)
		if err != nil || sequence(a) != strconv.Itoa(last) {
			t.Errorf("%s: got number %q, want %d", get, sequence(a), last)
		}
		if a := c.RPC(call(get, params("id", id)), headers[0], headers[len(headers)-1], "A2A-Extensions: x"); sequence(a) != "" {
			t.Errorf("%s: a number without the extension: %s", get, a.Body)
		}
	}

	st := openStream(t, c.Server, "POST", "/rest/message:stream", message("@chunks 3 1", "", ""), alice, v10, header)
	for _, f := range st.rest() {
		n := ""
		for _, p := range []string{"task", "statusUpdate", "artifactUpdate"} {
			if v := f.Get(p, "metadata", a2a.ExtEventSequence, "sequence"); v != nil {
				n = v.(interface{ String() string }).String()
			}
		}
		if n != f.id || n == "" {
			t.Errorf("REST: frame with id %s has number %q: %s", f.id, n, f.Body)
		}
	}

	// A stream that begins again after an event shows the later ones, numbered.
	id := c.bg("@chunks 40 5")
	c.until(id, "TASK_STATE_WORKING")
	st = openStream(t, c.Server, "POST", "/?after=2", call("SubscribeToTask", params("id", id)), alice, v10, header)
	next := 3
	for _, f := range st.rest() {
		if n := strconv.Itoa(next); f.id != n || sequence(f.Answer) != n {
			t.Fatalf("got id %s and number %s, want %s", f.id, sequence(f.Answer), n)
		}
		next++
	}
	if next < 40 {
		t.Errorf("the stream ended before event %d", next)
	}
}
