// Package pb knows how the protocol is spelled in Protocol Buffers: it turns the
// generated messages of a service into requests and results into messages. Like
// package wire it knows no transport and no engine, and a Service is data: a table of
// methods with a decoder and an encoder each.
//
// What a client may send and what it gets to read is the same as in the JSON dialect
// of the same version, member by member, with the same words in errors; the limits and
// checks are those of package wire.
//
// # Numbers
//
// Metadata and data parts are JSON. Protocol Buffers carry JSON as google.protobuf.Value,
// in which every number is a float64, an object has no order and no two members of one
// name. So, in this encoding only:
//
//   - an integer beyond ±2^53 loses its last digits, on the way in before it gets here
//     and on the way out; what has to be exact (an id, an amount) belongs in a string;
//   - how a number was written is lost: 1.0 and 1e0 come in as 1;
//   - a number that no float64 can hold (1e400) goes out as a string of its digits,
//     as the infinity it would become has no JSON form; NaN and infinities that come
//     in are refused;
//   - the members of an object that comes in are kept in the order of their names, and
//     of members with one name that go out the last one counts.
//
// A task that came in as JSON keeps its bytes: only what is sent in this encoding is
// rounded. Content of raw parts is bytes here and base64 there, without loss; in 0.3 it is
// the text of the base64 in both, as the SDKs have it.
package pb

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// Service is one version's gRPC service. It is immutable.
type Service struct {
	// Name is the full name, such as lf.a2a.v1.A2AService.
	Name string
	// File is the path of the service's file in the registry of descriptors.
	File string
	// Dialect is the JSON dialect of the same version, whose name is stored with
	// tasks and whose rules for the end of a stream hold.
	Dialect *wire.Dialect
	// Methods are the rpcs.
	Methods []Method
	// Snapshot is the first message of a stream: the task as it is.
	Snapshot func(t *a2a.Task, view a2a.View) proto.Message
	// Event is a later message of a stream, or nil for an event that is not shown. Of
	// t only id and context are read. It depends on the event and on whether the
	// view numbers events.
	Event func(t *a2a.Task, ev *a2a.Event, view a2a.View) proto.Message
}

// Method is one rpc.
type Method struct {
	Name string
	Op   a2a.Op
	// Request makes an empty request message.
	Request func() proto.Message
	// Decode reads a request message into the operation's request, as
	// wire.Method.Decode does for params. Errors are *a2a.Error. The request shares no
	// memory with the message but its strings.
	Decode func(m proto.Message, lim wire.Limits) (any, error)
	// Result makes the response message of what wire.Method.Append takes, or of the
	// JSON of a card (ExtendedCard). It is nil for operations that stream.
	Result func(res any, view a2a.View) (proto.Message, error)
}

// Services are all services of the server, the newest version first.
func Services(d *wire.Dialects) []*Service { return []*Service{V1(d.V1), V03(d.RestV03)} }

// Streams reports whether the rpc answers with a stream.
func (m *Method) Streams() bool { return m.Result == nil }

// method makes the Method of an rpc from functions of its own types.
func method[Q, R proto.Message, A any](name string, op a2a.Op, empty func() Q, decode func(Q, wire.Limits) (any, error), result func(A, a2a.View) (R, error)) Method {
	m := Method{
		Name: name, Op: op,
		Request: func() proto.Message { return empty() },
		Decode: func(q proto.Message, lim wire.Limits) (any, error) {
			return decode(q.(Q), lim.WithDefaults())
		},
	}
	if result == nil {
		return m
	}
	m.Result = func(res any, view a2a.View) (proto.Message, error) {
		a, _ := res.(A) // nil for operations without a result
		r, err := result(a, view)
		if err != nil {
			return nil, fmt.Errorf("encode result of %s: %w", name, err)
		}
		return r, nil
	}
	return m
}

func required(field string) error { return a2a.InvalidParams(field, "is required") }
