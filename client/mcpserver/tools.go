package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// output is the structured half of a tool's answer. Task, Agents and Error are there as
// the tool and the case have them.
type output struct {
	Task   *taskView   `json:"task,omitempty" jsonschema:"the task that was asked about"`
	Agents []agentView `json:"agents,omitempty" jsonschema:"the agents that may be used"`
	Error  *errorView  `json:"error,omitempty" jsonschema:"why the call failed"`
	// Pending are the newest ones; More counts those that were left out.
	Pending []pendingView `json:"pending" jsonschema:"what is pending, the newest first"`
	More    int           `json:"more_pending,omitempty" jsonschema:"how many further tasks are pending"`
}

type errorView struct {
	Message string `json:"message" jsonschema:"what happened and what to do"`
}

// answer is what a tool answers, without the pending list.
type answer struct {
	text   string
	task   *taskView
	agents []agentView
	// all asks for the whole of the pending list, of one agent if it is named.
	all   bool
	agent string
}

// trouble is an error in words for a model: what happened, and what to do.
type trouble string

func (t trouble) Error() string { return string(t) }

func troublef(format string, args ...any) trouble { return trouble(fmt.Sprintf(format, args...)) }

// note ends a call early with words that are no error.
type note string

func (n note) Error() string { return string(n) }

// internal is what models are told of errors that they can do nothing about.
const internal trouble = "The list of tasks cannot be read or written just now. Tell your user to look at the log of 'skillyard mcp'."

// addTools adds all tools.
func (s *Server) addTools() {
	yes, no := true, false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &yes}
	local := &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no}
	sends := &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes}
	ends := &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &yes}
	add(s, "a2a_send", "Send work to an agent", sends, s.send,
		`Send work to another agent. Returns the task's id at once and never waits for the result: go on with other work, and collect the result later with a2a_poll. Several tasks may run at the same time.`)
	add(s, "a2a_poll", "Look at a task", reads, s.poll,
		`Look at a task that was sent: its state, and its result when it is there. Without task_id it takes the newest pending task. Don't poll in a loop; do other work in between. For a send whose answer never came it finds out whether the agent has the task, without doing the work twice.`)
	add(s, "a2a_reply", "Answer a task's question", sends, s.reply,
		`Answer a task in state input-required or auth-required. Returns at once, like a2a_send; collect the result later with a2a_poll.`)
	add(s, "a2a_cancel", "Cancel a task", ends, s.cancel,
		`End a task whose result is no longer needed.`)
	add(s, "a2a_pending", "List pending tasks", local, s.list,
		`List the tasks that were sent and not collected yet, also those of earlier sessions, with their age, last known state and what to do.`)
	add(s, "a2a_agents", "List agents", reads, s.describe,
		`List the agents that work can be sent to, with their skills.`)
}

// add adds a tool whose arguments are an In. The SDK's own wrapper is not used, since
// its answers to wrong arguments are neither in our words nor end with the pending
// list.
func add[In any](s *Server, name, title string, hints *mcp.ToolAnnotations, call func(context.Context, In) (answer, error), description string) {
	in := schemaFor[In]()
	s.nameAgents(in)
	titled := *hints
	titled.Title = title
	out := schemaFor[output]()
	if name != "a2a_agents" {
		delete(out.Properties, "agents")
	}
	if name == "a2a_agents" || name == "a2a_pending" {
		delete(out.Properties, "task")
	}
	tool := &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &titled, InputSchema: in, OutputSchema: out}
	s.mcp.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
		defer cancel()
		var args In
		var ans answer
		err := readArguments(req.Params.Arguments, name, in, &args)
		if err == nil {
			ans, err = call(ctx, args)
		}
		s.Log.Debug().Str("tool", name).Err(err).Msg("tool called")
		return s.result(ctx, ans, err)
	})
}

// schemaFor returns the schema of a type of this package. A json.RawMessage is an object.
func schemaFor[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[rawJSON]():         {},
	}})
	if err != nil {
		panic(err) // the types are ours, and every test would see it
	}
	return schema
}

// nameAgents lists the agents where an argument names one.
func (s *Server) nameAgents(in *jsonschema.Schema) {
	if in.Properties["agent"] == nil {
		return
	}
	for _, a := range s.Agents {
		in.Properties["agent"].Enum = append(in.Properties["agent"].Enum, a.Name)
	}
}

// readArguments reads a tool's arguments strictly, and says what is wrong in them in
// the caller's words.
func readArguments(data json.RawMessage, name string, in *jsonschema.Schema, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return troublef("The arguments of %s must be a JSON object.", name)
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if in.Properties[key] == nil {
			return troublef("%s has no argument %q; it takes %s.", name, key, strings.Join(in.PropertyOrder, ", "))
		}
	}
	err := json.Unmarshal(data, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		want := in.Properties[wrong.Field]
		if want == nil {
			return troublef("An argument of %s is of the wrong type.", name)
		}
		return troublef("The argument %s of %s must be of type %s, not %s.", wrong.Field, name, want.Type, wrong.Value)
	case err != nil:
		return troublef("The arguments of %s cannot be read.", name)
	}
	return nil
}

// result makes the whole of a tool's answer: what it says, then what is pending.
func (s *Server) result(ctx context.Context, ans answer, err error) (*mcp.CallToolResult, error) {
	out := output{Task: ans.task, Agents: ans.agents}
	var words trouble
	var calm note
	switch {
	case errors.As(err, &words):
	case errors.As(err, &calm):
		ans.text = string(calm)
	case err != nil:
		s.Log.Error().Err(err).Msg("tool failed")
		words = internal
	}
	text := ans.text
	if words != "" {
		text, out.Error = string(words), &errorView{Message: string(words)}
	}
	// The answer has to come also when the time of the call is over, or its caller gone.
	list, lerr := s.pending(context.WithoutCancel(ctx), ans)
	if lerr != nil {
		s.Log.Error().Err(lerr).Msg("list pending tasks")
		text += "\n\n" + string(internal)
		out.Pending = []pendingView{}
	} else {
		text += "\n\n" + list.text
		out.Pending, out.More = list.views, list.more
	}
	structured, err := encode(out)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: s.mask.Replace(strings.TrimSpace(text))}},
		StructuredContent: json.RawMessage(s.mask.Replace(string(structured))),
		IsError:           words != "",
	}, nil
}

// encode writes JSON without the escapes that are for HTML pages.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
