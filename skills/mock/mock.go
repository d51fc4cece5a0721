// Package mock is a skill kind for trying things out: it does what the message
// tells it to. Client developers use it to see every state a task can be in, and
// the project's own tests drive the server with it. It is never on by default.
//
// In mode probe the first text part is a command:
//
//	@echo X           completes with X (so does any text that is no command)
//	@data             completes with the message's other parts, unchanged
//	@extensions       completes with the URIs of the active extensions, one a line
//	@sleep S          completes after S seconds
//	@ask              asks for input, completes with the answer
//	@auth             asks for authorisation, completes with the next message
//	@fail             fails
//	@panic            panics
//	@chunks N [MS]    one artifact in N chunks, MS milliseconds apart (200)
//	@big BYTES        one artifact of so many bytes
//	@burst N [BYTES]  one artifact in N chunks of BYTES bytes (16), without a pause
//	@noterm           returns without a final state
//	@hang             works until it is stopped
//	@ignorecancel S   works S seconds whatever happens, then reports completed
//	@http500html      fails as if its backend had answered an HTML error page
//
// In mode tck the prefix of the message id chooses the behaviour that the A2A
// conformance kit expects; see tck.go.
package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
)

// Modes of the mock.
const (
	ModeProbe = "probe"
	ModeTCK   = "tck"
)

// Options of a mock.
type Options struct {
	// Mode is ModeProbe (also "") or ModeTCK.
	Mode string `json:"mode"`
	// Settle is how long the kit's long-running behaviours work; default 4 s.
	Settle time.Duration `json:"-"`
}

// New makes a mock skill. It fails for an unknown mode.
func New(o Options) (skills.Skill, error) {
	if o.Settle == 0 {
		o.Settle = 4 * time.Second
	}
	switch o.Mode {
	case ModeProbe, "":
		return skills.Func(probe), nil
	case ModeTCK:
		return kit{settle: o.Settle}, nil
	}
	return nil, fmt.Errorf("mode is %q; it must be probe or tck", o.Mode)
}

// Info describes a mock in mode probe.
func Info(id a2a.SkillID) skills.Info {
	return skills.Info{
		ID: id, Name: "Probe",
		Description: "Does what the message says, for trying out a client: @echo, @data, @sleep, @ask, @auth, @fail and others. Other text comes back as it is.",
		Tags:        []string{"test", "echo"},
		Examples:    []string{"@echo hello", "@sleep 5", "@ask"},
		InputModes:  []string{"text/plain", "application/json", "application/octet-stream"},
		OutputModes: []string{"text/plain", "application/json"},
	}
}

// most is the largest count or size a command may ask for.
const most = 100_000_000

func probe(ctx context.Context, in skills.Input, emit skills.Emit) error {
	if in.Resume != nil {
		return complete(emit, in.Message.Text())
	}
	text := ""
	rest := in.Message.Parts
	for i, p := range in.Message.Parts {
		if p.Kind == a2a.PartText {
			text = p.Text
			rest = append(append([]a2a.Part(nil), in.Message.Parts[:i]...), in.Message.Parts[i+1:]...)
			break
		}
	}
	command, argument, _ := strings.Cut(strings.TrimSpace(text), " ")
	args := strings.Fields(argument)
	switch command {
	case "@echo":
		return complete(emit, argument)
	case "@data":
		return completeParts(emit, rest)
	case "@extensions":
		return complete(emit, strings.Join(in.Extensions, "\n"))
	case "@sleep":
		return sleepCommand(ctx, emit, args)
	case "@ask":
		return pause(in, emit, a2a.StateInputRequired, "What is your favourite colour?")
	case "@auth":
		return pause(in, emit, a2a.StateAuthRequired, "Please sign in to the demo account, then say so.")
	case "@fail":
		return &a2a.Error{Code: a2a.CodeSkillFailed, Message: "the probe failed, as it was told to"}
	case "@panic":
		panic("the probe was told to panic")
	case "@chunks":
		return chunks(ctx, emit, number(args, 0, 1), 0, time.Duration(number(args, 1, 200))*time.Millisecond)
	case "@burst":
		return chunks(ctx, emit, number(args, 0, 1), number(args, 1, 16), 0)
	case "@big":
		return complete(emit, strings.Repeat("x", number(args, 0, 1)))
	case "@noterm":
		return nil
	case "@hang":
		<-ctx.Done()
		return context.Cause(ctx)
	case "@ignorecancel":
		time.Sleep(seconds(args))
		return complete(emit, "done all the same")
	case "@http500html":
		return &a2a.Error{Code: a2a.CodeUpstreamUnavailable, Message: "the skill's backend answered 500 with text/html instead of JSON"}
	}
	return complete(emit, text)
}

func complete(emit skills.Emit, text string) error {
	return completeParts(emit, []a2a.Part{a2a.TextPart(text)})
}

func completeParts(emit skills.Emit, parts []a2a.Part) error {
	if len(parts) == 0 {
		parts = []a2a.Part{a2a.TextPart("")}
	}
	if err := emit(a2a.ArtifactEvent(a2a.Artifact{ID: "result", Name: "result", Parts: parts})); err != nil {
		return err
	}
	return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
}

func sleepCommand(ctx context.Context, emit skills.Emit, args []string) error {
	if err := wait(ctx, seconds(args)); err != nil {
		return err
	}
	return complete(emit, "slept")
}

func pause(in skills.Input, emit skills.Emit, state a2a.State, text string) error {
	if err := in.Save(json.RawMessage(`{"asked":true}`)); err != nil {
		return err
	}
	return emit(a2a.StatusEvent(state, a2a.AgentText("", text)))
}

// chunks emits one artifact in n chunks of size bytes (0: a numbered word).
func chunks(ctx context.Context, emit skills.Emit, n, size int, gap time.Duration) error {
	for i := 1; i <= n; i++ {
		if i > 1 {
			if err := wait(ctx, gap); err != nil {
				return err
			}
		}
		text := fmt.Sprintf("chunk-%d ", i)
		if size > 0 {
			text = strings.Repeat("x", size)
		}
		err := emit(a2a.Event{Artifact: &a2a.ArtifactChunk{
			Artifact: a2a.Artifact{ID: "result", Name: "result", Parts: []a2a.Part{a2a.TextPart(text)}},
			Append:   i > 1, Last: i == n,
		}})
		if err != nil {
			return err
		}
	}
	return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// number returns the i-th argument as a count, or the default.
func number(args []string, i, def int) int {
	if i >= len(args) {
		return def
	}
	n, err := strconv.Atoi(args[i])
	if err != nil || n < 0 {
		return def
	}
	return min(n, most)
}

// seconds returns the first argument as a time; 1 s without one.
func seconds(args []string) time.Duration {
	if len(args) == 0 {
		return time.Second
	}
	s, err := strconv.ParseFloat(args[0], 64)
	if err != nil || s < 0 || s > 86_400 {
		return time.Second
	}
	return time.Duration(s * float64(time.Second))
}

// Mapper hands the message to the mock as it is: the mock reads its parts itself.
type Mapper struct{}

// In makes an empty payload. The first data part is what a schema speaks of.
func (Mapper) In(m a2a.Message) (mappers.Input, error) {
	for _, p := range m.Parts {
		if p.Kind == a2a.PartData {
			return mappers.Input{Sent: p.Data}, nil
		}
	}
	return mappers.Input{}, nil
}

// Out is not used: the mock emits its artifacts itself.
func (Mapper) Out(json.RawMessage) ([]a2a.Artifact, error) { return nil, nil }
