package wire_test

import (
	"fmt"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// A binding reads the envelope, lets the method name choose the dialect, and
// answers in it.
func Example() {
	body := []byte(`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"id":"t-1"}}`)
	dialects := wire.New(wire.Options{})

	answer := func() []byte {
		env, e := wire.ParseEnvelope(body, wire.Limits{})
		if e != nil {
			return wire.AppendErrorResponse(nil, env.ID, nil, e)
		}
		dialect, method, e := dialects.Detect(env.Method, "")
		if e != nil {
			return wire.AppendErrorResponse(nil, env.ID, dialect, e)
		}
		req, err := method.Decode(env.Params, wire.Limits{})
		if err != nil {
			return wire.AppendErrorResponse(nil, env.ID, dialect, a2a.AsError(err))
		}
		get := req.(*a2a.GetRequest)
		task := &a2a.Task{ID: get.ID, ContextID: "c-1", Status: a2a.Status{State: a2a.StateWorking}}
		return wire.AppendResult(nil, env.ID, func(b []byte) []byte { return method.Append(b, task, get.View) })
	}
	fmt.Printf("%s\n", answer())

	body = []byte(`{"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{}}`)
	fmt.Printf("%s\n", answer())
	// Output:
	// {"jsonrpc":"2.0","id":7,"result":{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"working"},"history":[]}}
	// {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"Invalid parameters: id is required","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"id","description":"is required"}]}]}}
}
