package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/pb"
)

// scenario is what a client does with the server from the first message to the
// last: it returns what it understood at each step, with names for the ids.
func scenario(c *client, l *tongue) map[string]got {
	steps := map[string]got{}
	note := func(name string, g got, ids ...string) got {
		c.t.Helper()
		steps[name] = masked(g, ids...)
		return g
	}
	// fresh is an id that a client of 0.1 makes up; the others are given theirs.
	fresh := func() string {
		if l.shape == shapeV01 {
			return uuid.NewString()
		}
		return ""
	}
	send := func(name string, q ask) task {
		c.t.Helper()
		g := l.ask(c, a2a.OpSend, q)
		if len(g.Tasks) != 1 {
			c.t.Fatalf("%s: %s: got %+v, want a task", l.name, name, g)
		}
		note(name, g, g.Tasks[0].ID, g.Tasks[0].Context)
		return g.Tasks[0]
	}
	on := func(name string, op a2a.Op, of task, q ask) got {
		c.t.Helper()
		q.task = of.ID
		return note(name, l.ask(c, op, q), of.ID, of.Context)
	}

	context := "c-" + uuid.NewString()
	t := send("send", ask{text: "@echo hi", task: fresh(), context: context})
	on("get", a2a.OpGet, t, ask{})
	if l.has(a2a.OpList) {
		g := l.ask(c, a2a.OpList, ask{query: map[string]any{"contextId": context, "includeArtifacts": true, "pageSize": 1, "status": "TASK_STATE_COMPLETED"}})
		note("list", g, t.ID, t.Context)
	}
	// Everything that a part can hold comes back as it was.
	parts := l.speak("@data", `{"n":9007199254740993,"a":[null,true]}`, "AAH/", "https://e.example/f")
	send("every part", ask{parts: parts, task: fresh()})
	send("failed", ask{text: "@fail", task: fresh()})

	t = send("asks", ask{text: "@ask", task: fresh()})
	on("get one message", a2a.OpGet, t, ask{query: map[string]any{"historyLength": 1}})
	send("answered", ask{text: "blue", task: t.ID})
	t = send("asks again", ask{text: "@ask", task: fresh()})
	on("cancel", a2a.OpCancel, t, ask{})
	on("get canceled", a2a.OpGet, t, ask{})

	note("stream", l.ask(c, a2a.OpStream, ask{text: "@chunks 3 1", task: fresh()}))
	note("stream to a question", l.ask(c, a2a.OpStream, ask{text: "@ask", task: fresh()}))

	// A subscription sees the task through to its end.
	t = send("asks a third time", ask{text: "@ask", task: fresh()})
	if l.shape == shapeV1 {
		// Older versions end a subscription at a pause.
		frames := make(chan got)
		go func() { frames <- l.ask(c, a2a.OpSubscribe, ask{task: t.ID}) }()
		eventually(c.t, "the subscription is open", func() bool { return streamsOpen(c) > 0 })
		on("cancel under a subscription", a2a.OpCancel, t, ask{})
		note("subscribe", <-frames)
	} else {
		g := on("subscribe at a pause", a2a.OpSubscribe, t, ask{})
		if d := cmp.Diff([]string{"state input-required"}, g.Events); d != "" {
			c.t.Errorf("%s: subscription at a pause (-want +got):\n%s", l.name, d)
		}
		delete(steps, "subscribe at a pause")
	}

	t = send("asks a fourth time", ask{text: "@ask", task: fresh()})
	hook := ask{config: "default", url: "http://127.0.0.1:9/hook"}
	on("set push", a2a.OpSetPush, t, hook)
	on("get push", a2a.OpGetPush, t, hook)
	if l.has(a2a.OpListPush) {
		on("list push", a2a.OpListPush, t, hook)
		on("delete push", a2a.OpDeletePush, t, hook)
		on("list no push", a2a.OpListPush, t, hook)
	}
	on("cancel with push", a2a.OpCancel, t, ask{})
	return steps
}

// streamsOpen is how many streams of alice the server counts, read by the limit.
func streamsOpen(c *client) int {
	a := c.Do("POST", "/?wait=1ms", call("GetTask", params("id", "none")), alice, v10)
	if a.Status == 429 {
		return 1
	}
	return 0
}

// masked replaces the ids of a task, which differ from run to run.
func masked(g got, ids ...string) got {
	names := []string{"TASK", "CONTEXT"}
	var pairs []string
	for i, id := range ids {
		pairs = append(pairs, id, names[i])
	}
	r := strings.NewReplacer(pairs...)
	tasks := append([]task(nil), g.Tasks...)
	for i, t := range tasks {
		t.ID, t.Context = r.Replace(t.ID), r.Replace(t.Context)
		tasks[i] = t
	}
	g.Tasks = tasks
	push := append([]pushed(nil), g.Push...)
	for i := range push {
		push[i].Task = r.Replace(push[i].Task)
	}
	g.Push = push
	return g
}

// TestBindings_Scenario: on every binding and in every version the same happens to
// the same words.
func TestBindings_Scenario(t *testing.T) {
	oneStream := func(cfg *configs.Config) { cfg.Limits.Streams = 1 }
	want := scenario(grpcProbe(t, oneStream), tongues[0])
	if s := want["stream"].Events; len(s) != 6 {
		t.Errorf("stream: got %q, want submitted, working, three chunks and completed", s)
	}
	if a := want["every part"].Tasks[0].Artifacts; len(a) != 1 || strings.Count(a[0], "|") != 2 {
		t.Errorf("every part: got %q, want one artifact with three parts", a)
	}
	for _, l := range tongues[1:] {
		t.Run(l.name, func(t *testing.T) {
			steps := scenario(grpcProbe(t, oneStream), l)
			if len(steps) < 17 {
				t.Errorf("got %d steps; the scenario is cut short", len(steps))
			}
			for name, g := range steps {
				w, ok := want[name]
				if l.binding == gRPC {
					w = rounded(w)
				}
				if !ok {
					t.Errorf("%s: JSON-RPC 1.0 has no such step", name)
				}
				if d := cmp.Diff(w, g, ignoreStatus); d != "" {
					t.Errorf("%s: differs from JSON-RPC 1.0 (-1.0 +got):\n%s", name, d)
				}
			}
		})
	}
}

// rounded has the numbers that messages can hold, which are floats.
func rounded(g got) got {
	g.Tasks = slices.Clone(g.Tasks)
	for i := range g.Tasks {
		t := &g.Tasks[i]
		t.Artifacts, t.History = slices.Clone(t.Artifacts), slices.Clone(t.History)
		for _, list := range [][]string{t.Artifacts, t.History} {
			for i, s := range list {
				list[i] = strings.ReplaceAll(s, "9007199254740993", "9007199254740992")
			}
		}
	}
	return g
}

var ignoreStatus = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Status" }, cmp.Ignore())

// TestBindings_OneTask: a task that one client made is the same task to all, member
// by member, down to its ids.
func TestBindings_OneTask(t *testing.T) {
	c := grpcProbe(t)
	for _, maker := range tongues {
		for _, text := range []string{"@echo hi", "@ask", "@fail", "@chunks 3 1"} {
			made := maker.ask(c, a2a.OpSend, ask{text: text}).Tasks[0]
			for _, reader := range tongues {
				if reader.shape == shapeV01 && maker.shape != shapeV01 || reader.shape == shapeV03 && maker.shape == shapeV01 {
					continue // the task is shown in the shape of its maker
				}
				read := reader.ask(c, a2a.OpGet, ask{task: made.ID}).Tasks
				if d := cmp.Diff([]task{made}, read); d != "" {
					t.Errorf("%q made with %s, read with %s (-made +read):\n%s", text, maker.name, reader.name, d)
				}
			}
		}
	}
}

// TestBindings_Errors: every error is the same one everywhere. code is its number;
// others are the numbers of tongues that differ, 0 for no error, and skip those for
// which there is no such case.
func TestBindings_Errors(t *testing.T) {
	const none = "00000000-0000-4000-8000-00000000dead"
	c := grpcProbe(t)
	old := []string{"JSON-RPC 0.3", "REST 0.3", "JSON-RPC 0.1", "gRPC 0.3", "REST 0.3 of Go"}
	rpcs := []string{"gRPC 1.0", "gRPC 0.3"}
	ended := func(l *tongue) string { return l.ask(c, a2a.OpSend, ask{text: "@echo x"}).Tasks[0].ID }
	paused := func(l *tongue) string { return l.ask(c, a2a.OpSend, ask{text: "@ask"}).Tasks[0].ID }
	hook := "http://127.0.0.1:9/"
	for _, tc := range []struct {
		name   string
		op     a2a.Op
		q      func(l *tongue) ask
		code   int
		others map[string]int
		skip   []string
	}{
		{"unknown task", a2a.OpGet, func(*tongue) ask { return ask{task: none} }, -32001, nil, nil},
		{"unknown task", a2a.OpCancel, func(*tongue) ask { return ask{task: none} }, -32001, nil, nil},
		{"unknown task", a2a.OpSubscribe, func(*tongue) ask { return ask{task: none} }, -32001, nil, nil},
		{"unknown task", a2a.OpSend, func(*tongue) ask { return ask{task: none, text: "x"} }, -32001, nil, old[2:3]},
		{"unknown task", a2a.OpSetPush, func(*tongue) ask { return ask{task: none, config: "p", url: hook} }, -32001, nil, nil},
		{"unknown task", a2a.OpGetPush, func(*tongue) ask { return ask{task: none, config: "p"} }, -32001, nil, nil},
		{"unknown task", a2a.OpListPush, func(*tongue) ask { return ask{task: none} }, -32001, nil, nil},
		{"unknown task", a2a.OpDeletePush, func(*tongue) ask { return ask{task: none, config: "p"} }, -32001, nil, nil},
		{"somebody else's task", a2a.OpGet, func(l *tongue) ask { return ask{task: paused(l), headers: []string{bob}} }, -32001, nil, nil},
		{"somebody else's task", a2a.OpCancel, func(l *tongue) ask { return ask{task: paused(l), headers: []string{bob}} }, -32001, nil, nil},
		{"somebody else's task", a2a.OpSubscribe, func(l *tongue) ask { return ask{task: paused(l), headers: []string{bob}} }, -32001, nil, nil},
		{"somebody else's task", a2a.OpSend, func(l *tongue) ask { return ask{task: paused(l), text: "x", headers: []string{bob}} }, -32001, map[string]int{old[2]: -32602}, nil},
		{"somebody else's task", a2a.OpSetPush, func(l *tongue) ask { return ask{task: paused(l), config: "p", url: hook, headers: []string{bob}} }, -32001, nil, nil},
		{"missing push config", a2a.OpGetPush, func(l *tongue) ask { return ask{task: paused(l), config: "p"} }, -32001, nil, nil},
		{"ended task", a2a.OpCancel, func(l *tongue) ask { return ask{task: ended(l)} }, -32002, nil, nil},
		{"ended task", a2a.OpSend, func(l *tongue) ask { return ask{task: ended(l), text: "x"} }, -32004, map[string]int{old[2]: 0}, nil},
		{"ended task", a2a.OpSubscribe, func(l *tongue) ask { return ask{task: ended(l)} }, -32004, map[string]int{old[0]: 0, old[1]: 0, old[2]: 0, old[3]: 0, old[4]: 0}, nil},
		{"another context", a2a.OpSend, func(l *tongue) ask { return ask{task: paused(l), context: "other", text: "x"} }, -32602, map[string]int{old[2]: 0}, nil},
		{"no parts", a2a.OpSend, func(*tongue) ask { return ask{parts: "[]"} }, -32602, nil, nil},
		{"no parts", a2a.OpStream, func(*tongue) ask { return ask{parts: "[]"} }, -32602, nil, nil},
		{"part without content", a2a.OpSend, func(*tongue) ask { return ask{parts: `[{"hologram":{}}]`} }, -32602, nil, nil},
		{"the agent's role", a2a.OpSend, func(*tongue) ask { return ask{text: "x", role: "ROLE_AGENT"} }, -32602, nil, nil},
		{"blank task id", a2a.OpSend, func(*tongue) ask { return ask{text: "x", task: "  "} }, -32602, nil, nil},
		{"blank task id", a2a.OpGet, func(*tongue) ask { return ask{task: " "} }, -32602, nil, nil},
		{"negative history", a2a.OpGet, func(l *tongue) ask { return ask{task: ended(l), query: map[string]any{"historyLength": -1}} }, -32602, nil, nil},
		{"page size", a2a.OpList, func(*tongue) ask { return ask{query: map[string]any{"pageSize": 101}} }, -32602, nil, nil},
		{"page token", a2a.OpList, func(*tongue) ask { return ask{query: map[string]any{"pageToken": "!!"}} }, -32602, nil, nil},
		{"webhook", a2a.OpSetPush, func(l *tongue) ask { return ask{task: paused(l), config: "p", url: "nowhere"} }, -32602, nil, nil},
		{"media type", a2a.OpSend, func(l *tongue) ask {
			return ask{parts: strings.ReplaceAll(l.speak("x", "{}", "AAAA", "https://e.example/a"), "text/plain", "video/mp4")}
		}, -32005, nil, nil},
		{"extended card", a2a.OpExtendedCard, func(*tongue) ask { return ask{} }, -32004, map[string]int{old[0]: -32007, old[1]: -32007, old[3]: -32007, old[4]: -32007}, nil},
		{"version", a2a.OpGet, func(*tongue) ask { return ask{task: none, headers: []string{"A2A-Version: 99.0"}} }, -32009, map[string]int{old[1]: -32600, old[3]: -32600}, nil},
		{"version before the rest", a2a.OpSend, func(*tongue) ask { return ask{parts: "[]", headers: []string{"A2A-Version: 99.0"}} }, -32009, map[string]int{old[1]: -32600, old[3]: -32600}, nil},
		{"broken body", a2a.OpSend, func(*tongue) ask { return ask{body: `{"a":`} }, -32700, nil, nil},
		{"list as a body", a2a.OpSend, func(*tongue) ask { return ask{body: `[]`} }, -32600, nil, rpcs},
	} {
		for _, l := range tongues {
			code, special := tc.others[l.name]
			if !special {
				code = tc.code
			}
			if !l.has(tc.op) || slices.Contains(tc.skip, l.name) {
				continue
			}
			g := l.ask(c, tc.op, tc.q(l))
			if status := l.status(code); g.Code != code || g.Status != status {
				t.Errorf("%s, %s, %s: got error %d and status %d, want %d and %d", tc.name, tc.op, l.name, g.Code, g.Status, code, status)
			}
			if code == 0 && len(g.Tasks)+len(g.Events) == 0 {
				t.Errorf("%s, %s, %s: got neither an error nor an answer", tc.name, tc.op, l.name)
			}
		}
	}
}

// TestBindings_Refusals: what HTTP has a word for has its status everywhere. gRPC has the
// same words for callers; what it refuses of a body is the library's.
func TestBindings_Refusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		edit   func(*configs.Config)
		q      ask
		status int
		code   int // 0.1 has no numbers of its own for these, once it is known that it is 0.1
	}{
		{"no key", nil, ask{text: "x", headers: []string{"Authorization: Bearer wrong"}}, 401, -31401},
		{"large body", func(cfg *configs.Config) { cfg.Server.MaxBodyBytes = 1024 }, ask{text: strings.Repeat("x", 2000)}, 413, -32052},
		{"form", nil, ask{text: "x", headers: []string{"Content-Type: application/x-www-form-urlencoded"}}, 415, -32005},
		{"rate", func(cfg *configs.Config) { cfg.Limits.Write = configs.Rate{Requests: 1, Per: 3600e9} }, ask{text: "@echo x"}, 429, -32051},
	} {
		for _, l := range tongues {
			if l.binding == gRPC && (tc.name == "large body" || tc.name == "form") {
				continue
			}
			var edits []func(*configs.Config)
			if tc.edit != nil {
				edits = append(edits, tc.edit)
			}
			c := grpcProbe(t, edits...)
			if tc.name == "rate" {
				l.ask(c, a2a.OpSend, tc.q)
			}
			code := tc.code
			if l.shape == shapeV01 && tc.name == "rate" {
				code = -32603
			}
			status := tc.status
			if l.binding == gRPC {
				status = l.status(code)
			}
			if g := l.ask(c, a2a.OpSend, tc.q); g.Status != status || g.Code != code {
				t.Errorf("%s, %s: got status %d and error %d, want %d and %d", tc.name, l.name, g.Status, g.Code, status, code)
			}
		}
	}
}

// TestBindings_Off: operations that are switched off are refused everywhere alike,
// whatever is asked.
func TestBindings_Off(t *testing.T) {
	c := grpcProbe(t, func(cfg *configs.Config) { cfg.Stream.Enabled, cfg.Push.Enabled = false, false })
	for op, code := range map[a2a.Op]int{
		a2a.OpStream: -32004, a2a.OpSubscribe: -32004,
		a2a.OpSetPush: -32003, a2a.OpGetPush: -32003, a2a.OpListPush: -32003, a2a.OpDeletePush: -32003,
	} {
		for _, l := range tongues {
			if !l.has(op) {
				continue
			}
			if g := l.ask(c, op, ask{text: "x", task: "t", config: "p", url: "http://127.0.0.1:9/"}); g.Code != code {
				t.Errorf("%s, %s: got error %d, want %d", op, l.name, g.Code, code)
			}
		}
	}
}

// TestBindings_Idempotency: the key of a request repeats it, on every binding.
func TestBindings_Idempotency(t *testing.T) {
	c := grpcProbe(t)
	for _, l := range tongues {
		key := "Idempotency-Key: " + uuid.NewString()
		id := ""
		if l.shape == shapeV01 {
			id = uuid.NewString()
		}
		first := l.ask(c, a2a.OpSend, ask{text: "@echo x", task: id, headers: []string{key}})
		again := l.ask(c, a2a.OpSend, ask{text: "@echo x", task: id, headers: []string{key}})
		if d := cmp.Diff(first, again); d != "" {
			t.Errorf("%s: repeated request differs (-first +again):\n%s", l.name, d)
		}
		g := l.ask(c, a2a.OpSend, ask{text: "@echo y", task: id, headers: []string{key}})
		status := l.status(-32602)
		if l.binding == rest {
			status = 422
		}
		if g.Code != -32602 || g.Status != status {
			t.Errorf("%s: got error %d and status %d, want -32602 and %d", l.name, g.Code, g.Status, status)
		}
	}
}

// TestBindings_Complete: whatever package wire speaks is in the table, but for the
// EMM gateway's dialect, which has two operations of its own.
func TestBindings_Complete(t *testing.T) {
	d := wire.New(wire.Options{})
	want := []string{"REST " + d.RestV03.Name, "REST " + d.RestGoV03.Name + " of Go", "REST " + d.RestV1.Name}
	for _, s := range pb.Services(d) {
		want = append(want, "gRPC "+s.Dialect.Name)
	}
	for _, x := range d.All() {
		if x != d.EMM {
			want = append(want, "JSON-RPC "+x.Name)
		}
	}
	var names []string
	for _, l := range tongues {
		names = append(names, l.name)
	}
	slices.Sort(want)
	slices.Sort(names)
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("tongues differ from what is spoken (-spoken +tested):\n%s", d)
	}
}
