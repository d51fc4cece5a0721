package skillyard_test

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// The limits of receivers that send-and-poll clients suffer from, row by row, against a
// server and its own client. The rows of the client itself are tests of the same names in
// client, client/pending and cmd/skillyard.

const capable = `
default_skill: probe
skills: [{id: probe, kind: mock, concurrency: 4, queue: 8}, {id: narrow, kind: mock, concurrency: 1, queue: 2}]
limits: {write: {requests: 0}, read: {requests: 0}}
`

func dialAs(t *testing.T, s *servertest.Server, dialect string) *client.Client {
	t.Helper()
	c, err := client.New(s.URL, client.Options{Dialect: dialect, Retry: client.Retry{Max: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func start(t *testing.T) (*servertest.Server, *client.Client) {
	t.Helper()
	s := servertest.New(t, servertest.Options{YAML: capable})
	return s, dialAs(t, s, client.DialectV03)
}

func bounded(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func send(t *testing.T, c *client.Client, skill a2a.SkillID, text string) *a2a.Task {
	t.Helper()
	m := client.Text(text)
	m.Skill = skill
	a, err := c.Send(bounded(t, 10*time.Second), m, client.SendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a.Task
}

func TestA15_several_workers(t *testing.T) {
	_, c := start(t)
	var ids []a2a.TaskID
	for range 4 {
		ids = append(ids, send(t, c, "", "@sleep 1").ID)
	}
	began := time.Now()
	for _, id := range ids {
		if task, err := c.Wait(bounded(t, 10*time.Second), id, client.WaitOptions{First: 20 * time.Millisecond, Most: 50 * time.Millisecond}); err != nil || task.Status.State != a2a.StateCompleted {
			t.Fatalf("got %+v, %v", task, err)
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("four tasks of 1 s took %v, want them side by side", took)
	}
}

func TestA16_A17_full_queue_refuses_at_once(t *testing.T) {
	_, c := start(t)
	for range 3 { // one slot and two places
		send(t, c, "narrow", "@sleep 30")
	}
	m := client.Text("x")
	m.Skill = "narrow"
	began := time.Now()
	_, err := c.Send(bounded(t, 10*time.Second), m, client.SendOptions{Blocking: true})
	e, ok := err.(*client.Error)
	if !ok || e.Kind != client.KindBusy || e.RetryAfter <= 0 || time.Since(began) > 5*time.Second {
		t.Errorf("got %v after %v, want a refusal at once that says when to come back", err, time.Since(began))
	}
	if task := send(t, c, "", "other skills go on"); task.ID == "" {
		t.Error("the full queue of one skill stops another")
	}
}

func TestA17_waiting_tasks_know_their_place(t *testing.T) {
	s, c := start(t)
	for range 2 {
		send(t, c, "narrow", "@sleep 30")
	}
	task := send(t, dialAs(t, s, client.DialectV1), "narrow", "@echo x")
	if task.Status.State != a2a.StateSubmitted || !bytes.Contains(task.Metadata, []byte(`"queuePlace":2`)) {
		t.Errorf("got %s %s, want the second place", task.Status.State, task.Metadata)
	}
}

func TestA18_tasks_outlive_a_restart(t *testing.T) {
	dir := t.TempDir()
	s := servertest.New(t, servertest.Options{YAML: capable, Dir: dir})
	done := send(t, dialAs(t, s, client.DialectV03), "", "@echo kept")
	open := send(t, dialAs(t, s, client.DialectV03), "", "@ask")
	if _, err := dialAs(t, s, client.DialectV03).Wait(bounded(t, 10*time.Second), done.ID, client.WaitOptions{First: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s = servertest.New(t, servertest.Options{YAML: capable, Dir: dir})
	c := dialAs(t, s, client.DialectV03)
	for id, want := range map[a2a.TaskID]a2a.State{done.ID: a2a.StateCompleted, open.ID: a2a.StateInputRequired} {
		if task, err := c.Wait(bounded(t, 20*time.Second), id, client.WaitOptions{First: 5 * time.Millisecond}); err != nil || task.Status.State != want {
			t.Errorf("got %+v, %v, want %s", task, err, want)
		}
	}
}

func TestA19_A20_sends_never_wait_for_tasks(t *testing.T) {
	_, c := start(t)
	send(t, c, "narrow", "@sleep 30")
	var wg sync.WaitGroup
	for range 10 { // 4 slots and 8 places, the tasks before end soon
		wg.Go(func() {
			began := time.Now()
			a, err := c.Send(bounded(t, 10*time.Second), client.Text("@sleep 0.3"), client.SendOptions{})
			if err != nil || time.Since(began) > 8*time.Second {
				t.Errorf("got %v, %v after %v", a, err, time.Since(began))
			}
		})
	}
	wg.Wait()
}

func TestA21_streams(t *testing.T) {
	_, c := start(t)
	n := 0
	var fold client.Fold
	for ev, err := range c.Stream(bounded(t, 10*time.Second), client.Text("@chunks 5 20"), client.SendOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		fold.Apply(ev)
		n++
	}
	if n < 6 || fold.Task.Status.State != a2a.StateCompleted {
		t.Errorf("got %d events and %s", n, fold.Task.Status.State)
	}
}

func TestA22_blocking_is_honoured_and_capped(t *testing.T) {
	s := servertest.New(t, servertest.Options{YAML: capable + "\n"})
	c := dialAs(t, s, client.DialectV03)
	a, err := c.Send(bounded(t, 10*time.Second), client.Text("@sleep 0.3"), client.SendOptions{Blocking: true})
	if err != nil || a.Task.Status.State != a2a.StateCompleted {
		t.Errorf("got %+v, %v, want it to wait", a, err)
	}
	capped := servertest.New(t, servertest.Options{YAML: strings.Replace(capable, "limits: {", "limits: {wait: {'0.3': 200ms}, ", 1)})
	began := time.Now()
	a, err = dialAs(t, capped, client.DialectV03).Send(bounded(t, 10*time.Second), client.Text("@sleep 30"), client.SendOptions{Blocking: true})
	if err != nil || a.Task.Status.State != a2a.StateWorking || time.Since(began) > 5*time.Second {
		t.Errorf("got %+v, %v, want the task at work", a, err)
	}
}

func TestA23_A30_cancel_is_final(t *testing.T) {
	_, c := start(t)
	ctx := bounded(t, 20*time.Second)
	task := send(t, c, "", "@ignorecancel 1")
	if got, err := c.Cancel(ctx, task.ID); err != nil || got.Status.State != a2a.StateCanceled {
		t.Fatalf("got %+v, %v", got, err)
	}
	for range 15 { // the skill reports completed after a second
		if got, err := c.Get(ctx, task.ID, nil); err != nil || got.Status.State != a2a.StateCanceled {
			t.Fatalf("got %+v, %v, want canceled for ever", got, err)
		}
		<-time.After(100 * time.Millisecond)
	}
	if _, err := c.Cancel(ctx, task.ID); err == nil || err.(*client.Error).Code != -32002 {
		t.Errorf("got %v, want -32002", err)
	}
	done, err := c.Send(ctx, client.Text("x"), client.SendOptions{Blocking: true})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	if got, err := c.Get(ctx, done.Task.ID, &zero); err != nil || len(got.History) != 0 {
		t.Errorf("got %+v, %v, want no history", got, err)
	}
	if got, err := c.Get(ctx, done.Task.ID, nil); err != nil || len(got.History) != len(done.Task.History) {
		t.Errorf("got %d messages, %v, want the %d there were: a read changes nothing", len(got.History), err, len(done.Task.History))
	}
}

// TestA24_within_30_seconds: clients of FastA2A agents give up after 30 s, whatever they
// asked for, so that the default wait is shorter. TestA22 shows that the cap is kept.
func TestA24_within_30_seconds(t *testing.T) {
	wait := configs.Default().Limits.Wait
	for name, d := range map[string]time.Duration{"0.3": wait.V03, "emm": wait.EMM} {
		if d <= 0 || d > 25*time.Second {
			t.Errorf("%s: a blocking call waits %v by default, want less than 30 s by some seconds", name, d)
		}
	}
}

func TestA25_one_static_binary(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "skillyard")
	build := exec.Command("go", "build", "-o", bin, "./cmd/skillyard")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := exec.Command("go", "version", "-m", bin).CombinedOutput()
	if err != nil || !bytes.Contains(info, []byte("CGO_ENABLED=0")) {
		t.Errorf("%v\n%s", err, info)
	}
	run := exec.Command(bin, "version")
	run.Env = []string{} // and nothing besides
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestA26_real_peers: the suite of real clients has those that the row names.
func TestA26_real_peers(t *testing.T) {
	for _, peer := range []string{"fasta2a/requirements.txt", "js-1.3.0/package-lock.json", "js-0.3.14/package-lock.json", "go/go.sum"} {
		if _, err := os.Stat(filepath.Join("interop", peer)); err != nil {
			t.Error(err)
		}
	}
	ci, err := os.ReadFile("Makefile")
	if err != nil || !regexp.MustCompile(`(?m)^ci:.* interop`).Match(ci) {
		t.Errorf("%v: make ci does not run them", err)
	}
}

// TestA27_agent_urls reaches the server by every URL that users of FastA2A agents have.
func TestA27_agent_urls(t *testing.T) {
	s, _ := start(t)
	host := strings.TrimPrefix(s.URL, "http://")
	for _, url := range []string{host, s.URL, s.URL + "/", host + "/api/a2a/tasks", s.URL + "/api/a2a/tasks/", s.URL + "/skills/probe", s.URL + "/.well-known/agent.json"} {
		for _, dialect := range []string{"", client.DialectV03} {
			c, err := client.New(url, client.Options{Dialect: dialect})
			if err != nil {
				t.Fatal(err)
			}
			a, err := c.Send(bounded(t, 10*time.Second), client.Text("x"), client.SendOptions{Blocking: true})
			if err != nil || a.Task.Status.State != a2a.StateCompleted {
				t.Errorf("%s: got %+v, %v", url, a, err)
			}
			c.Close()
		}
	}
}

func TestA28_A29_mistakes_kill_nothing(t *testing.T) {
	s, c := start(t)
	if _, err := c.Cancel(bounded(t, 10*time.Second), "no-such-task"); client.KindOf(err) != client.KindTaskNotFound {
		t.Errorf("got %v", err)
	}
	for body, want := range map[string]string{
		`{`: "-32700", `[]`: "-32600", `{"jsonrpc":"2.0","id":1,"method":"tasks/dance"}`: "-32601", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":[]}`: "-32602",
	} {
		a := s.RPC(body)
		if a.Status != 200 || !bytes.Contains(a.Body, []byte(want)) {
			t.Errorf("%s: got HTTP %d %s, want %s", body, a.Status, a.Body, want)
		}
	}
	if task := send(t, c, "", "still there"); task.ID == "" {
		t.Error("no task after the mistakes")
	}
}

func TestA31_licence(t *testing.T) {
	b, err := os.ReadFile("LICENSE")
	if err != nil || !strings.HasPrefix(string(b), "MIT License") {
		t.Errorf("%v: LICENSE is not that of MIT", err)
	}
}

// TestHouse_capabilities: every row of the table has a test of its name.
func TestHouse_capabilities(t *testing.T) {
	have := map[int]bool{}
	row := regexp.MustCompile(`A(\d+)_`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == "interop" || d.Name() == "bench") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "TestA") {
				continue
			}
			for _, m := range row.FindAllStringSubmatch(f.Name.Name, -1) {
				if n, err := strconv.Atoi(m[1]); err == nil {
					have[n] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 31; n++ {
		if !have[n] {
			t.Errorf("row A%d has no test", n)
		}
	}
}
