// Package wire knows how each version of the protocol spells things.
//
// A Dialect is data: a table of methods with a decoder and an encoder each, and
// a table of errors. The package reads and writes bytes only; it knows no HTTP,
// no engine and no store. Every request is decoded in one pass over its bytes,
// unknown members are skipped, and raw JSON (ids, metadata, data parts) is kept
// raw, so that numbers and member order pass through unchanged.
package wire

import (
	"github.com/skillyard/skillyard/a2a"
)

// Dialect is one version's wire form of the operations.
type Dialect struct {
	// Name is "emm", "0.3" or "1.0"; it is stored with the task.
	Name string
	// Methods maps a JSON-RPC method name to its form.
	Methods map[string]Method
	// ErrorFor appends the JSON-RPC error object for e.
	AppendError func(b []byte, e *a2a.Error) []byte
}

// Method is the wire form of one operation.
type Method struct {
	Op a2a.Op
	// Decode reads the params (nil when the request had none) into the
	// operation's request: *a2a.SendRequest, *a2a.GetRequest, *a2a.ListRequest,
	// *a2a.CancelRequest, or nil for operations without one. Errors are
	// *a2a.Error with code invalid_params.
	Decode func(params []byte, lim Limits) (any, error)
	// Append appends the result: the value of the JSON-RPC "result" member.
	// res is *a2a.SendResult, *a2a.Task (Get, Cancel) or *a2a.ListResult; view is
	// the request's.
	Append func(b []byte, res any, view a2a.View) []byte
	// NotFound, if not nil, appends the result that stands for an unknown task
	// (the EMM dialect has a pseudo state for it); otherwise it is an error.
	NotFound func(b []byte, id a2a.TaskID) []byte
}

// Limits bound what a decoder accepts. The zero value takes the defaults.
type Limits struct {
	// MaxDepth is the deepest nesting of JSON; default 64.
	MaxDepth int
	// MaxParts is the largest number of parts of a message; default 1000.
	MaxParts int
	// MaxIDBytes is the longest message, context or task id; default 1024
	// (client-chosen task ids are limited to 128 by the EMM contract).
	MaxIDBytes int
}
