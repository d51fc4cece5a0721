package client_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
	"github.com/skillyard/skillyard/server/servertest"
)

// probe starts a server with the skill that obeys its messages.
func probe(t *testing.T) *servertest.Server {
	t.Helper()
	yaml, err := os.ReadFile("../configs/examples/probe.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return servertest.New(t, servertest.Options{YAML: string(yaml)})
}

// dial returns a client of alice's.
func dial(t *testing.T, url string, opts client.Options) *client.Client {
	t.Helper()
	if opts.Token == "" {
		opts.Token = "alice-token"
	}
	opts.OnNotice = func(n client.Notice) { t.Logf("notice: %s: %v", n.Text, n.Err) }
	c, err := client.New(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// eachDialect runs a test over every dialect of one server.
func eachDialect(t *testing.T, f func(t *testing.T, c *client.Client, dialect string)) {
	s := probe(t)
	for _, d := range client.Dialects() {
		t.Run(d, func(t *testing.T) {
			url := s.URL
			if d == client.DialectEMM {
				url += "/api/a2a/tasks"
			}
			f(t, dial(t, url, client.Options{Dialect: d, Retry: client.Retry{First: time.Millisecond}}), d)
		})
	}
}

func context10(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// words is the text of a task's artifacts.
func words(t *a2a.Task) string {
	var list []string
	for _, a := range t.Artifacts {
		list = append(list, a2a.JoinText(a.Parts))
	}
	return strings.Join(list, "|")
}

var fast = client.WaitOptions{First: 5 * time.Millisecond, Most: 20 * time.Millisecond}

func TestClient_Send(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		ctx := context10(t)
		a, err := c.Send(ctx, client.Text("@sleep 0.2"), client.SendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if a.Task == nil || a.Task.Status.State.Settled() {
			t.Fatalf("got %+v, want a task at work", a.Task)
		}
		task, err := c.Wait(ctx, a.Task.ID, fast)
		if err != nil {
			t.Fatal(err)
		}
		if task.Status.State != a2a.StateCompleted || task.ID != a.Task.ID {
			t.Errorf("got %s %s, want %s completed", task.ID, task.Status.State, a.Task.ID)
		}
		if task.Status.At.IsZero() && task.UpdatedAt.IsZero() {
			t.Error("the task has no time")
		}
	})
}

func TestClient_Send_blocking(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		m := client.Text("@echo hello")
		m.Skill = "probe"
		a, err := c.Send(context10(t), m, client.SendOptions{Blocking: true})
		if err != nil {
			t.Fatal(err)
		}
		if a.Task == nil || a.Task.Status.State != a2a.StateCompleted || words(a.Task) != "hello" {
			t.Fatalf("got %+v, want hello", a.Task)
		}
		if a.Task.Skill != "probe" {
			t.Errorf("got skill %q, want probe", a.Task.Skill)
		}
	})
}

// TestClient_parts sends each kind of part and gets it back as it was.
func TestClient_parts(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		raw := base64.StdEncoding.EncodeToString([]byte("\x00\x01bytes"))
		parts := []a2a.Part{
			{Kind: a2a.PartText, Text: "日本語👍"},
			{Kind: a2a.PartData, Data: json.RawMessage(`{"n":12345678901234567890,"data":{"x":1}}`)},
			{Kind: a2a.PartRaw, Raw: raw, MediaType: "application/octet-stream", Filename: "b.bin"},
		}
		if dialect != client.DialectEMM { // which has neither
			parts = append(parts, a2a.Part{Kind: a2a.PartData, Data: json.RawMessage(`[1,"x"]`)},
				a2a.Part{Kind: a2a.PartURL, URL: "https://example.com/x", MediaType: "application/octet-stream"})
		}
		a, err := c.Send(context10(t), client.Message{Parts: append([]a2a.Part{a2a.TextPart("@data")}, parts...)}, client.SendOptions{Blocking: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Task.Artifacts) == 0 {
			t.Fatalf("no artifacts: %+v", a.Task.Status)
		}
		got := a.Task.Artifacts[0].Parts
		if diff := cmp.Diff(parts, got); diff != "" {
			t.Errorf("parts (-sent +got):\n%s", diff)
		}
	})
}

func TestClient_Stream(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		var fold client.Fold
		var states []a2a.State
		pieces := ""
		for ev, err := range c.Stream(context10(t), client.Text("@chunks 4 20"), client.SendOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			change := fold.Apply(ev)
			if change.State != "" {
				states = append(states, change.State)
			}
			for _, p := range change.Artifacts {
				pieces += a2a.JoinText(p.Artifact.Parts)
			}
		}
		if fold.Task.Status.State != a2a.StateCompleted {
			t.Errorf("got states %v, want completed at last", states)
		}
		whole := ""
		for _, p := range fold.Task.Artifacts[0].Parts {
			whole += p.Text
		}
		// EMM shows artifacts at the end only, joined by line breaks.
		if dialect != client.DialectEMM && (pieces != whole || !strings.Contains(whole, "4")) {
			t.Errorf("got %q in pieces, want %q", pieces, whole)
		}
	})
}

func TestClient_Subscribe(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		ctx := context10(t)
		a, err := c.Send(ctx, client.Text("@chunks 3 50"), client.SendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var fold client.Fold
		var ids []string
		for ev, err := range c.Subscribe(ctx, a.Task.ID, client.SubscribeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			fold.Apply(ev)
			ids = append(ids, ev.ID)
		}
		if fold.Task.Status.State != a2a.StateCompleted {
			t.Errorf("got %s, want completed", fold.Task.Status.State)
		}
		if slices.Contains(ids, "") {
			t.Errorf("got ids %q, want each event numbered", ids)
		}
		// An ended task is settled by a read, whatever the dialect does with a subscription.
		n := 0
		for ev, err := range c.Subscribe(ctx, a.Task.ID, client.SubscribeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			fold.Apply(ev)
			n++
		}
		if n == 0 || fold.Task.Status.State != a2a.StateCompleted {
			t.Errorf("subscription to an ended task: %d events, %s", n, fold.Task.Status.State)
		}
	})
}

func TestClient_question(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		ctx := context10(t)
		var last client.Fold
		for ev, err := range c.Stream(ctx, client.Text("@ask"), client.SendOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			last.Apply(ev)
		}
		if last.Task.Status.State != a2a.StateInputRequired || last.Task.Status.Message.Text() != "What is your favourite colour?" {
			t.Fatalf("got %s, %q, want the question", last.Task.Status.State, last.Task.Status.Message.Text())
		}
		a, err := c.Send(ctx, client.Message{
			TaskID: last.Task.ID, ContextID: last.Task.ContextID, Parts: []a2a.Part{a2a.TextPart("blue")},
		}, client.SendOptions{Blocking: true})
		if err != nil {
			t.Fatal(err)
		}
		if a.Task.ID != last.Task.ID || a.Task.Status.State != a2a.StateCompleted || !strings.Contains(words(a.Task), "blue") {
			t.Errorf("got %+v, want the same task with blue", a.Task)
		}
	})
}

func TestClient_Cancel(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		ctx := context10(t)
		a, err := c.Send(ctx, client.Text("@sleep 60"), client.SendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		task, err := c.Cancel(ctx, a.Task.ID)
		if err != nil {
			t.Fatal(err)
		}
		if task.Status.State != a2a.StateCanceled {
			t.Errorf("got %s, want canceled", task.Status.State)
		}
		if task, err = c.Get(ctx, a.Task.ID, nil); err != nil || task.Status.State != a2a.StateCanceled {
			t.Errorf("got %+v, %v, want canceled", task, err)
		}
	})
}

func TestClient_unknown_task(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		ctx := context10(t)
		_, err := c.Get(ctx, "no-such-task", nil)
		if client.KindOf(err) != client.KindTaskNotFound {
			t.Errorf("Get: got %v", err)
		}
		if _, err = c.Cancel(ctx, "no-such-task"); client.KindOf(err) != client.KindTaskNotFound {
			t.Errorf("Cancel: got %v", err)
		}
		for _, err = range c.Subscribe(ctx, "no-such-task", client.SubscribeOptions{}) {
		}
		if client.KindOf(err) != client.KindTaskNotFound {
			t.Errorf("Subscribe: got %v", err)
		}
		if _, err = c.Wait(ctx, "no-such-task", fast); client.KindOf(err) != client.KindTaskNotFound {
			t.Errorf("Wait: got %v", err)
		}
	})
}

func TestClient_List(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		ctx := context10(t)
		a, err := c.Send(ctx, client.Text("listed"), client.SendOptions{Blocking: true})
		if err != nil {
			t.Fatal(err)
		}
		page, err := c.List(ctx, a2a.ListRequest{PageSize: 1})
		if dialect != client.DialectV1 && dialect != client.DialectRest {
			if client.KindOf(err) != client.KindUnsupported {
				t.Errorf("got %v, want unsupported", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Tasks) != 1 || page.Tasks[0].ID != a.Task.ID || words(page.Tasks[0]) != "listed" {
			t.Errorf("got %+v", page.Tasks)
		}
		page, err = c.List(ctx, a2a.ListRequest{State: a2a.StateWorking, ContextID: a.Task.ContextID, View: a2a.View{OmitArtifacts: true}})
		if err != nil || len(page.Tasks) != 0 {
			t.Errorf("got %+v, %v, want none", page, err)
		}
	})
}

func TestClient_push(t *testing.T) {
	eachDialect(t, func(t *testing.T, c *client.Client, dialect string) {
		ctx := context10(t)
		a, err := c.Send(ctx, client.Text("@sleep 60"), client.SendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		set, err := c.SetPush(ctx, a2a.PushConfig{TaskID: a.Task.ID, ID: "p1", URL: "http://127.0.0.1:9/h", Scheme: "Bearer", Credentials: "x"})
		if dialect == client.DialectEMM {
			if client.KindOf(err) != client.KindUnsupported {
				t.Errorf("got %v, want unsupported", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if set.ID != "p1" || set.URL != "http://127.0.0.1:9/h" {
			t.Errorf("got %+v", set)
		}
		if got, err := c.GetPush(ctx, a.Task.ID, "p1"); err != nil || got.URL != set.URL {
			t.Errorf("GetPush: %+v, %v", got, err)
		}
		if list, err := c.ListPush(ctx, a.Task.ID); err != nil || len(list) != 1 || list[0].ID != "p1" {
			t.Errorf("ListPush: %+v, %v", list, err)
		}
		if err := c.DeletePush(ctx, a.Task.ID, "p1"); err != nil {
			t.Errorf("DeletePush: %v", err)
		}
		if list, err := c.ListPush(ctx, a.Task.ID); err != nil || len(list) != 0 {
			t.Errorf("ListPush: %+v, %v, want none", list, err)
		}
	})
}

func TestClient_credentials_wrong(t *testing.T) {
	s := probe(t)
	for _, d := range client.Dialects() {
		c := dial(t, s.URL, client.Options{Dialect: d, Token: "wrong"})
		_, err := c.Send(context10(t), client.Text("x"), client.SendOptions{})
		if client.KindOf(err) != client.KindAuth {
			t.Errorf("%s: got %v, want auth", d, err)
		}
		for _, err = range c.Stream(context10(t), client.Text("x"), client.SendOptions{}) {
		}
		if client.KindOf(err) != client.KindAuth {
			t.Errorf("%s: stream: got %v, want auth", d, err)
		}
	}
}

// TestClient_card_chooses takes what the card of the server offers first.
func TestClient_card_chooses(t *testing.T) {
	s := probe(t)
	for _, at := range []string{"", "/", "/api/a2a/tasks", "/skills/probe/", "/.well-known/agent-card.json", "/.well-known/agent.json"} {
		c := dial(t, s.URL+at, client.Options{})
		card, err := c.Card(context10(t))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		i, err := c.Interface(context10(t))
		if err != nil || i.Dialect != client.DialectV1 || !i.Streaming {
			t.Errorf("%s: got %+v, %v, want 1.0", at, i, err)
		}
		if len(card.Skills) == 0 || card.Skills[0].ID != "probe" {
			t.Errorf("%s: got skills %+v", at, card.Skills)
		}
		// Another process goes on with the interface alone.
		again := dial(t, s.URL, client.Options{Interface: &i})
		if _, err := again.Send(context10(t), client.Text("x"), client.SendOptions{Blocking: true}); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestClient_output_modes: 0.2 up to 0.2.5 wants them said, whatever they are, and FastA2A
// refuses the message otherwise.
func TestClient_output_modes(t *testing.T) {
	for _, c := range []struct {
		modes []string
		want  string
	}{{nil, `"acceptedOutputModes":[]`}, {[]string{"text/plain"}, `"acceptedOutputModes":["text/plain"]`}} {
		a := New(t, JSON(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"submitted"}}`))
		_, err := dial(t, a.URL, client.Options{Dialect: client.DialectV03}).Send(context10(t), client.Text("x"), client.SendOptions{AcceptedOutputModes: c.modes})
		if err != nil {
			t.Fatal(err)
		}
		if body := string(a.Requests()[0].Body); !strings.Contains(body, c.want) {
			t.Errorf("no %s in %s", c.want, body)
		}
	}
}
