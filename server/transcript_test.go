package server_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/skillyard/skillyard/server/servertest"
)

// TestTranscripts plays the conversations of testdata/transcripts and compares the
// answers. A file is a list of exchanges:
//
//	-- request --   for REST "POST /path", header lines, if any, then the body as it
//	                was sent
//	-- response --  written by -update: status line if not 200, then the body,
//	                indented, ids and times masked; the frames of a stream one by one
//
// In a request $TASK and $CONTEXT stand for the task of the last answer that had
// one, and $OTHER for the task before it. Conversations of emm run with the
// default configuration, the others as alice against the probe skill.
func TestTranscripts(t *testing.T) {
	for _, dir := range []string{"emm", "v01", "v03", "v1", "rest", "rest03"} {
		paths, err := filepath.Glob(filepath.Join("testdata", "transcripts", dir, "*.txtar"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no transcripts in %s: %v", dir, err)
		}
		t.Run(dir, func(t *testing.T) {
			var s *servertest.Server
			var headers []string
			check := func(testing.TB, string, servertest.Answer) {}
			switch dir {
			case "emm":
				s = plain(t)
			case "v03":
				s, headers = probe(t).Server, []string{alice}
				check = func(t testing.TB, _ string, a servertest.Answer) { checkV03(t, a.Body) }
			case "v01":
				s, headers = probe(t).Server, []string{alice}
				check = func(t testing.TB, _ string, a servertest.Answer) { checkV01(t, a) }
			case "rest":
				s, headers = probe(t).Server, []string{alice, v10}
				check = checkRest
			case "rest03":
				s, headers = probe(t).Server, []string{alice}
				check = func(t testing.TB, _ string, a servertest.Answer) { checkOldStream(t, a) }
			case "v1":
				s, headers = probe(t).Server, []string{alice, v10}
				check = func(t testing.TB, method string, a servertest.Answer) { checkV1(t, method, a.Body) }
			}
			for _, path := range paths {
				t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
					play(t, s, path, headers, check)
				})
			}
		})
	}
}

func play(t *testing.T, s *servertest.Server, path string, headers []string, check func(testing.TB, string, servertest.Answer)) {
	t.Helper()
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := &txtar.Archive{Comment: ar.Comment}
	m := &mask{ids: map[string]string{}}
	var task, other, context string
	for _, f := range ar.Files {
		if f.Name != "request" {
			continue
		}
		got.Files = append(got.Files, f)
		body := strings.NewReplacer("$TASK", task, "$CONTEXT", context, "$OTHER", other).Replace(strings.TrimSuffix(string(f.Data), "\n"))
		h := headers
		verb, path, name := "", "", methodOf(body)
		if m := requestLine.FindStringSubmatch(body); m != nil {
			verb, path, body = m[1], m[2], strings.TrimPrefix(body[len(m[0]):], "\n")
			name = rpcOf(verb, path)
		}
		for {
			line, rest, ok := strings.Cut(body, "\n")
			if !header.MatchString(line) || !ok && verb == "" {
				break
			}
			h, body = append(h[:len(h):len(h)], line), rest
		}
		var a servertest.Answer
		if verb == "" {
			a = s.RPC(body, h...)
		} else {
			a = s.Do(verb, path, body, h...)
		}
		check(t, name, a)
		if id := taskID(a); id != "" && id != task {
			task, other = id, task
		}
		for _, path := range [][]any{{"result", "task", "contextId"}, {"result", "contextId"}, {"task", "contextId"}, {"contextId"}} {
			if id, ok := a.Get(path...).(string); ok {
				context = id
			}
		}
		got.Files = append(got.Files, txtar.File{Name: "response", Data: m.answer(t, a)})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(txtar.Format(ar)), string(txtar.Format(got))); d != "" {
		t.Errorf("transcript differs (-want +got):\n%s", d)
	}
}

var (
	requestLine = regexp.MustCompile(`^(GET|POST|DELETE) (/\S*)`)

	header = regexp.MustCompile(`^[A-Za-z0-9-]+: `)
	method = regexp.MustCompile(`"method": *"([^"]*)"`)
)

func methodOf(body string) string {
	if m := method.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return ""
}

// rpcOf is the name of the rpc that a REST request of 1.0 is.
func rpcOf(verb, path string) string {
	path, _, _ = strings.Cut(path, "?")
	last := path[strings.LastIndexByte(path, '/')+1:]
	push := strings.Contains(path, "/pushNotificationConfigs")
	switch {
	case last == "message:send":
		return "SendMessage"
	case last == "message:stream":
		return "SendStreamingMessage"
	case strings.HasSuffix(last, ":cancel"):
		return "CancelTask"
	case strings.HasSuffix(last, ":subscribe"):
		return "SubscribeToTask"
	case last == "tasks":
		return "ListTasks"
	case last == "extendedAgentCard":
		return "GetExtendedAgentCard"
	case push && verb == "DELETE":
		return "DeleteTaskPushNotificationConfig"
	case push && verb == "POST":
		return "CreateTaskPushNotificationConfig"
	case last == "pushNotificationConfigs":
		return "ListTaskPushNotificationConfigs"
	case push:
		return "GetTaskPushNotificationConfig"
	}
	return "GetTask"
}

// mask replaces what differs from run to run: ids by <id-1>, <id-2> in the order of
// their appearance, times and recent dates, addresses.
type mask struct{ ids map[string]string }

var (
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	dates   = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	counted = regexp.MustCompile(`(answer-)?(<id-\d+>)-\d+`)
	hosts   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

func (m *mask) answer(t *testing.T, a servertest.Answer) []byte {
	t.Helper()
	if a.Header.Get("Content-Type") == "text/event-stream" {
		var all []byte
		for _, f := range framesOf(a) {
			all = append(all, m.answer(t, servertest.Answer{Status: 200, Body: f.Body})...)
		}
		return all
	}
	v := jsontext.Value(bytes.Clone(a.Body))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatalf("answer is not JSON: %v\n%s", err, a.Body)
	}
	s := uuids.ReplaceAllStringFunc(string(v), func(id string) string {
		if m.ids[id] == "" {
			m.ids[id] = fmt.Sprintf("<id-%d>", len(m.ids)+1)
		}
		return m.ids[id]
	})
	s = instant.ReplaceAllString(s, "<time>")
	s = dates.ReplaceAllStringFunc(s, func(d string) string {
		if strings.HasPrefix(d, "2020-") { // asked for in the requests
			return d
		}
		return "<date>"
	})
	s = counted.ReplaceAllString(s, "$1$2-<n>")
	s = hosts.ReplaceAllString(s, "<host>")
	if s += "\n"; a.Status != 200 {
		s = fmt.Sprintf("HTTP %d\n%s", a.Status, s)
	}
	return []byte(s)
}
