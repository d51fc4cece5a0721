package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// frame is one event of a stream.
type frame struct {
	id, event string
	servertest.Answer
	comment string
}

// stream is an open stream in a test.
type stream struct {
	t      testing.TB
	res    *http.Response
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func openStream(t testing.TB, s *servertest.Server, method, path, body string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	st := &stream{t: t, res: res, lines: bufio.NewScanner(res.Body), cancel: cancel}
	st.lines.Buffer(nil, 16<<20)
	t.Cleanup(st.close)
	return st
}

func (s *stream) close() {
	s.cancel()
	_ = s.res.Body.Close() // cut off on purpose
}

// next returns the next event, or false at the end of the stream.
func (s *stream) next() (frame, bool) {
	var f frame
	data := 0
	for s.lines.Scan() {
		line := s.lines.Text()
		switch {
		case line == "" && (data > 0 || f.comment != ""):
			if data > 1 {
				s.t.Errorf("event has %d data lines, want one", data)
			}
			return f, true
		case strings.HasPrefix(line, ": "):
			f.comment = line[2:]
		case strings.HasPrefix(line, "id: "):
			f.id = line[4:]
		case strings.HasPrefix(line, "event: "):
			f.event = line[7:]
		case strings.HasPrefix(line, "data: "):
			data++
			f.Body = []byte(line[6:])
		}
	}
	return f, false
}

// rest returns all events until the end, comments aside.
func (s *stream) rest() (all []frame) {
	for {
		f, ok := s.next()
		if !ok {
			return all
		}
		if f.comment == "" {
			all = append(all, f)
		}
	}
}

// state is the state a frame shows, in any dialect.
func (f frame) state() string {
	for _, path := range [][]any{
		{"result", "task", "status", "state"}, {"result", "statusUpdate", "status", "state"},
		{"result", "status", "state"}, {"status"},
	} {
		if v, ok := f.Get(path...).(string); ok {
			return v
		}
	}
	return ""
}

func states(frames []frame) string {
	var out []string
	for _, f := range frames {
		if s := f.state(); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

const asAlice = alice

// strictResult decodes a 1.0 frame with the official types.
func strictResult(t testing.TB, body []byte) {
	t.Helper()
	result, _ := envelope(t, body)
	if err := protojson.Unmarshal(result, new(a2apb.StreamResponse)); err != nil {
		t.Errorf("frame is no StreamResponse: %v\n%s", err, result)
	}
}

func send1(text, extra string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]%s}}}`, text, extra)
}

func send03(text, extra string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"message/stream","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":%q}]%s}}}`, text, extra)
}

func onTask(method string, id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":8,"method":%q,"params":{"id":"%v"}}`, method, id)
}

func background(t testing.TB, s *servertest.Server, text string) string {
	t.Helper()
	a := s.RPC(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true}}}`, text), asAlice)
	id, ok := a.Get("result", "task", "id").(string)
	if !ok {
		t.Fatalf("send %s: got %s", text, a.Body)
	}
	return id
}

func TestStream_v1(t *testing.T) {
	s := probe(t).Server
	st := openStream(t, s, http.MethodPost, "/", send1("@chunks 3 20", ""), asAlice, "A2A-Version: 1.0", "Accept-Encoding: gzip, br")
	h := st.res.Header
	if h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" || !strings.Contains(h.Get("Cache-Control"), "no-cache") || h.Get("Content-Encoding") != "" {
		t.Errorf("got headers %v", h)
	}
	all := st.rest()
	if got := states(all); got != "TASK_STATE_SUBMITTED TASK_STATE_WORKING TASK_STATE_COMPLETED" {
		t.Errorf("got states %s", got)
	}
	text := ""
	for i, f := range all {
		if f.Get("id") == nil || f.Get("jsonrpc") != "2.0" {
			t.Errorf("frame %d is not a response: %s", i, f.Body)
		}
		if m, ok := f.Get("result").(map[string]any); !ok || len(m) != 1 {
			t.Errorf("frame %d has not exactly one member: %s", i, f.Body)
		}
		if part, ok := f.Get("result", "artifactUpdate", "artifact", "parts", 0, "text").(string); ok {
			text += part
		}
		strictResult(t, f.Body)
	}
	if text != "chunk-1 chunk-2 chunk-3 " {
		t.Errorf("got text %q", text)
	}
	// The stored task is what the stream said.
	task := s.RPC(onTask("GetTask", all[0].Get("result", "task", "id")), asAlice)
	stored := ""
	for i := range 3 {
		stored += task.Get("result", "artifacts", 0, "parts", i, "text").(string)
	}
	if stored != text {
		t.Errorf("got stored text %q, want %q", stored, text)
	}
}

func TestStream_v03(t *testing.T) {
	s := probe(t).Server
	all := openStream(t, s, http.MethodPost, "/api/a2a/tasks/", send03("@chunks 2 10", ""), asAlice).rest()
	if got := states(all); got != "submitted working completed" {
		t.Errorf("got states %s", got)
	}
	for i, f := range all {
		kind := f.Get("result", "kind")
		if i == 0 != (kind == "task") {
			t.Errorf("frame %d is a %v", i, kind)
		}
		if final, ok := f.Get("result", "final").(bool); kind == "status-update" && (!ok || final != (i == len(all)-1)) {
			t.Errorf("frame %d: got final %v", i, final)
		}
		if strings.Contains(string(f.Body), "TASK_STATE_") {
			t.Errorf("1.0 spelling in a 0.3 frame: %s", f.Body)
		}
	}
	paused := openStream(t, s, http.MethodPost, "/", send03("@ask", ""), asAlice).rest()
	if got := states(paused); got != "submitted working input-required" || paused[len(paused)-1].Get("result", "final") != true {
		t.Errorf("pause: got %s, final %v", got, paused[len(paused)-1].Get("result", "final"))
	}
	id := paused[0].Get("result", "id")
	if again := openStream(t, s, http.MethodPost, "/", onTask("tasks/resubscribe", id), asAlice).rest(); len(again) != 1 || again[0].state() != "input-required" {
		t.Errorf("resubscribe to a pause: got %v", states(again))
	}
	done := openStream(t, s, http.MethodPost, "/", onTask("tasks/resubscribe", all[0].Get("result", "id")), asAlice).rest()
	if len(done) != 1 || done[0].state() != "completed" {
		t.Errorf("resubscribe to an ended task: got %v", states(done))
	}
}

func TestStream_pause_v1(t *testing.T) {
	s := probe(t).Server
	for text, open := range map[string]bool{"@ask": false, "@auth": true} {
		st := openStream(t, s, http.MethodPost, "/", send1(text, ""), asAlice, "A2A-Version: 1.0")
		var last frame
		for !strings.Contains(last.state(), "REQUIRED") {
			f, ok := st.next()
			if !ok {
				t.Fatalf("%s: stream ended before the pause", text)
			}
			last = f
		}
		if last.Get("result", "statusUpdate", "status", "message", "parts", 0, "text") == nil {
			t.Errorf("%s: the pause does not say why: %s", text, last.Body)
		}
		id := last.Get("result", "statusUpdate", "taskId")
		sub := openStream(t, s, http.MethodPost, "/", onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0")
		if first, ok := sub.next(); !ok || !strings.Contains(first.state(), "REQUIRED") {
			t.Errorf("%s: subscription begins with %s", text, first.Body)
		}
		s.RPC(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"blue"}],"taskId":"%v"}}}`, id), asAlice)
		if got := states(sub.rest()); !strings.HasSuffix(got, "TASK_STATE_COMPLETED") {
			t.Errorf("%s: subscription saw %s", text, got)
		}
		if got := len(st.rest()) > 0; got != open {
			t.Errorf("%s: the first stream stayed open: %v, want %v", text, got, open)
		}
	}
}

func TestStream_always_ends(t *testing.T) {
	s := probe(t).Server
	for text, want := range map[string]string{"@panic": "FAILED", "@fail": "FAILED", "@noterm": "FAILED", "@echo x": "COMPLETED"} {
		all := openStream(t, s, http.MethodPost, "/", send1(text, ""), asAlice, "A2A-Version: 1.0").rest()
		if got := all[len(all)-1].state(); got != "TASK_STATE_"+want {
			t.Errorf("%s: last frame %s", text, got)
		}
	}
}

func TestStream_cancel_reaches_readers(t *testing.T) {
	s := probe(t).Server
	id := background(t, s, "@sleep 30")
	sub := openStream(t, s, http.MethodPost, "/", onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0")
	if _, ok := sub.next(); !ok {
		t.Fatal("no snapshot")
	}
	s.RPC(onTask("CancelTask", id), asAlice)
	if got := states(sub.rest()); !strings.HasSuffix(got, "TASK_STATE_CANCELED") || strings.Count(got, "CANCELED") != 1 {
		t.Errorf("got %s", got)
	}
}

// TestStream_resume: a reader that was cut off goes on with what it missed.
func TestStream_resume(t *testing.T) {
	s := probe(t).Server
	id := background(t, s, "@chunks 30 20")
	whole := openStream(t, s, http.MethodPost, "/", onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0", "Last-Event-ID: 0")
	var got []frame
	last := "0"
	for {
		// A new connection for every few frames.
		st := openStream(t, s, http.MethodPost, "/", onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0", "Last-Event-ID: "+last)
		over := false
		for range 4 {
			f, ok := st.next()
			if !ok {
				over = true
				break
			}
			got = append(got, f)
			last = f.id
		}
		st.close()
		if over || got[len(got)-1].state() == "TASK_STATE_COMPLETED" {
			break
		}
	}
	want := whole.rest()
	if len(got) != len(want) || len(got) < 31 {
		t.Fatalf("got %d frames in pieces and %d in one, want the same, at least 31", len(got), len(want))
	}
	for i := range got {
		if got[i].id != want[i].id || string(got[i].Body) != string(want[i].Body) {
			t.Errorf("frame %d: got %s %s, want %s %s", i, got[i].id, got[i].Body, want[i].id, want[i].Body)
		}
	}
	for _, odd := range []string{"999999", "banana", "-1"} {
		open := background(t, s, "@sleep 5")
		st := openStream(t, s, http.MethodPost, "/", onTask("SubscribeToTask", open), asAlice, "A2A-Version: 1.0", "Last-Event-ID: "+odd)
		if f, ok := st.next(); !ok || f.Get("result", "task", "id") != open {
			t.Errorf("Last-Event-ID %s: got %s, want the whole task", odd, f.Body)
		}
	}
	if st := openStream(t, s, http.MethodPost, "/?after=0", onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0"); len(st.rest()) != len(want) {
		t.Error("?after=0 does not replay")
	}
}

func TestStream_errors(t *testing.T) {
	s := probe(t).Server
	for name, c := range map[string]struct {
		body string
		code string
	}{
		"unknown task":      {onTask("SubscribeToTask", "nope"), "-32001"},
		"ended task":        {onTask("SubscribeToTask", background(t, s, "@echo x")), "-32004"},
		"send to unknown":   {send1("x", `,"taskId":"nope"`), "-32001"},
		"no message":        {`{"jsonrpc":"2.0","id":7,"method":"SendStreamingMessage","params":{}}`, "-32602"},
		"unknown task, 0.3": {onTask("tasks/resubscribe", "nope"), "-32001"},
	} {
		version := "A2A-Version: 1.0"
		if strings.HasSuffix(name, "0.3") {
			version = "A2A-Version: 0.3"
		}
		if name == "ended task" {
			openStream(t, s, http.MethodPost, "/", send1("@sleep 0.2", ""), asAlice).rest()
		}
		st := openStream(t, s, http.MethodPost, "/", c.body, asAlice, version)
		f, ok := st.next()
		if !ok || f.event != "error" || fmt.Sprint(f.Get("error", "code")) != c.code || f.id != "" {
			t.Errorf("%s: got event %q %s, want an error %s", name, f.event, f.Body, c.code)
		}
		// Who takes no events gets plain JSON.
		a := s.RPC(c.body, asAlice, version)
		if a.Header.Get("Content-Type") != "application/json" || fmt.Sprint(a.Get("error", "code")) != c.code {
			t.Errorf("%s without Accept: got %s %s", name, a.Header.Get("Content-Type"), a.Body)
		}
	}
	if a := s.RPC(onTask("SubscribeToTask", background(t, s, "@sleep 9")), "Authorization: Bearer bob-token", "A2A-Version: 1.0"); fmt.Sprint(a.Get("error", "code")) != "-32001" {
		t.Errorf("foreign task: got %s", a.Body)
	}
}

func TestStream_emm(t *testing.T) {
	s := probe(t).Server
	get := func(id string, headers ...string) []frame {
		return openStream(t, s, http.MethodGet, "/api/a2a/tasks/"+id+"/stream", "", append(headers, asAlice)...).rest()
	}
	if a := s.RPC(`{"jsonrpc":"2.0","id":1,"method":"tasks/submit","params":{"taskId":"t-1","blocking":false,"message":{"role":"user","parts":[{"text":"@sleep 0.3"}]}}}`, asAlice); a.Get("result", "task", "status") != "submitted" {
		t.Fatalf("got %s", a.Body)
	}
	all := get("t-1")
	last := all[len(all)-1]
	if last.state() != "completed" || last.event != "task/status" || last.Get("taskId") != "t-1" || last.Get("task", "artifact", "parts", 0, "text") != "slept" {
		t.Errorf("got %q %s", last.event, last.Body)
	}
	if again := get("t-1"); len(again) != 1 || again[0].id != last.id || string(again[0].Body) != string(last.Body) {
		t.Errorf("after the end: got %d frames", len(again))
	}
	if missed := get("t-1", "Last-Event-ID: 1"); states(missed) != "working completed" {
		t.Errorf("resumed: got %s", states(missed))
	}
	if nothing := get("t-1", "Last-Event-ID: "+last.id); len(nothing) != 0 {
		t.Errorf("resumed at the end: got %s", states(nothing))
	}
	for _, id := range []string{"t-x", "t-1%2f"} {
		if got := get(id); len(got) != 1 || got[0].state() != "not_found" || got[0].Get("task", "status") != "not_found" {
			t.Errorf("unknown task: got %v", states(got))
		}
	}
}

func TestStream_heartbeat(t *testing.T) {
	s := probe(t, func(c *configs.Config) { c.Stream.Heartbeat = 50 * time.Millisecond }).Server
	st := openStream(t, s, http.MethodPost, "/", send1("@sleep 0.4", ""), asAlice)
	beats := 0
	for {
		f, ok := st.next()
		if !ok {
			break
		}
		if f.comment != "" {
			beats++
			if f.id != "" || len(f.Body) > 0 {
				t.Errorf("heartbeat carries data: %+v", f)
			}
		}
	}
	if beats < 3 {
		t.Errorf("got %d heartbeats in 400 ms, want several", beats)
	}
}

// TestStream_slow_reader: who does not read loses the connection; the task and the
// other readers do not notice.
func TestStream_slow_reader(t *testing.T) {
	log := &logWatch{want: "does not keep up", seen: make(chan struct{})}
	s := servertest.New(t, servertest.Options{YAML: probeYAML(t), Log: log, Edit: func(c *configs.Config) {
		c.Store.Kind, c.Stream.WriteTimeout = "memory", 2*time.Second
	}})
	body := send1("@burst 400 50000", "")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a test
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 2000)
	if _, err := io.ReadAtLeast(conn, first, 500); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(first), `"id":"`)
	id, _, _ := strings.Cut(string(first)[at+6:], `"`)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			n := 0
			for _, f := range openStream(t, s, http.MethodPost, "/", onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0", "Last-Event-ID: 0").rest() {
				if f.Get("result", "artifactUpdate") != nil {
					n++
				}
			}
			if n != 400 {
				t.Errorf("a reader got %d chunks, want 400", n)
			}
		})
	}
	wg.Wait()
	select {
	case <-log.seen:
	case <-time.After(20 * time.Second):
		t.Error("the slow reader was not cut off")
	}
}

// logWatch closes seen when the log holds want.
type logWatch struct {
	want string
	once sync.Once
	seen chan struct{}
}

func (l *logWatch) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.want) {
		l.once.Do(func() { close(l.seen) })
	}
	return len(p), nil
}

func TestStream_limit_per_caller(t *testing.T) {
	s := probe(t, func(c *configs.Config) { c.Limits.Streams = 2 }).Server
	id := background(t, s, "@sleep 20")
	for range 2 {
		if _, ok := openStream(t, s, http.MethodPost, "/", onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0").next(); !ok {
			t.Fatal("no snapshot")
		}
	}
	a := s.RPC(onTask("SubscribeToTask", id), asAlice, "A2A-Version: 1.0")
	if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %v", a.Status, a.Header)
	}
}

// TestStream_stop: a server that stops tells its readers when to come back.
func TestStream_stop(t *testing.T) {
	s := probe(t, func(c *configs.Config) { c.Server.ShutdownTimeout = 300 * time.Millisecond }).Server
	st := openStream(t, s, http.MethodPost, "/", send1("@sleep 60", ""), asAlice)
	if _, ok := st.next(); !ok {
		t.Fatal("no snapshot")
	}
	began := time.Now()
	s.Stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stop took %s with an open stream", took)
	}
	rest, _ := io.ReadAll(st.res.Body)
	var lines []string
	for st.lines.Scan() {
		lines = append(lines, st.lines.Text())
	}
	if all := strings.Join(lines, "\n") + string(rest); !strings.Contains(all, "retry: 2000") {
		t.Errorf("got %q, want a retry", all)
	}
}

// TestServer_long_call: the time to send a request does not cut its answer off.
func TestServer_long_call(t *testing.T) {
	s := probe(t, func(c *configs.Config) { c.Server.ReadTimeout = 200 * time.Millisecond }).Server
	a := s.RPC(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"@sleep 1"}]}}}`, asAlice)
	if a.Get("result", "task", "status", "state") != "TASK_STATE_COMPLETED" {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	if got := states(openStream(t, s, http.MethodPost, "/", send1("@sleep 1", ""), asAlice).rest()); !strings.HasSuffix(got, "COMPLETED") {
		t.Errorf("stream: got %s", got)
	}
}
