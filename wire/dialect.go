// Package wire knows how each version of the protocol spells things.
//
// A Dialect is data: a table of methods with a decoder and an encoder each, and
// a table of errors. The package reads and writes bytes only; it knows no HTTP,
// no engine and no store. Raw JSON (ids, metadata, data parts) is kept raw, so
// that numbers and member order pass through unchanged.
//
// A JSON-RPC request takes four steps:
//
//	ParseEnvelope      the body: id, method, params
//	Dialects.Detect    method and A2A-Version: which dialect, which operation
//	Method.Decode      the params: an a2a request
//	AppendResult       the answer, with Method.Append for the result,
//	                   or AppendErrorResponse
//
// Input is read leniently (unknown members are skipped, null is absent, the last
// of two members of one name counts), output is written strictly.
package wire

import (
	"github.com/skillyard/skillyard/a2a"
)

// Names of the dialects. They are stored with the tasks.
const (
	NameEMM = "emm"
	NameV01 = "0.1"
	NameV03 = "0.3"
	NameV1  = "1.0"
)

// Dialect is one version's wire form of the operations. It is immutable.
type Dialect struct {
	// Name is NameEMM, NameV01, NameV03 or NameV1.
	Name string
	// Version is the one that a request may name to be served, if it names one; "" is any.
	Version string
	// Methods maps a method name to its form.
	Methods map[string]Method
	// AppendError appends the JSON-RPC error object for e: code, message, data. For
	// REST it is the whole body of the answer.
	AppendError func(b []byte, e *a2a.Error) []byte
	// Stream is how the dialect shows a task's events.
	Stream *StreamForm
	// Push is how its webhooks are told of a task; nil if it has no push configs.
	Push *PushForm
}

// serves reports whether requests of the version ("" when they name none) may be the
// dialect's.
func (x *Dialect) serves(version string) bool {
	return version == "" || x.Version == "" || x.Version == version
}

// Method is the wire form of one operation.
type Method struct {
	Op a2a.Op
	// Decode reads the params (nil when the request had none) into the
	// operation's request: *a2a.SendRequest (Send, Stream), *a2a.GetRequest (Get,
	// Subscribe), *a2a.ListRequest, *a2a.CancelRequest, *a2a.PushRequest (SetPush,
	// GetPush, ListPush, DeletePush), or nil for operations without one. Errors are *a2a.Error with code invalid_params. The request
	// shares no memory with params.
	Decode func(params []byte, lim Limits) (any, error)
	// Append appends the result: the value of the JSON-RPC "result" member.
	// res is *a2a.SendResult, *a2a.Task (Get, Cancel), *a2a.ListResult,
	// *a2a.PushConfig (SetPush, GetPush), []a2a.PushConfig (ListPush) or nil
	// (DeletePush); view is the request's. It is nil for operations whose answer is
	// made elsewhere (ExtendedCard) or comes as frames (Stream, Subscribe).
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
	// MaxURLBytes is the longest URL of a webhook; default 2048.
	MaxURLBytes int
	// MaxSecretBytes is the longest token, scheme or credentials of a push config;
	// default 4096. They are sent in headers.
	MaxSecretBytes int
}

// WithDefaults returns l with every zero field at its default.
func (l Limits) WithDefaults() Limits {
	if l.MaxDepth == 0 {
		l.MaxDepth = 64
	}
	if l.MaxParts == 0 {
		l.MaxParts = 1000
	}
	if l.MaxIDBytes == 0 {
		l.MaxIDBytes = 1024
	}
	if l.MaxURLBytes == 0 {
		l.MaxURLBytes = 2048
	}
	if l.MaxSecretBytes == 0 {
		l.MaxSecretBytes = 4096
	}
	return l
}

// Options set up Dialects. The zero value is the lenient default.
type Options struct {
	// StrictVersion refuses 1.0 methods without an A2A-Version header
	// (version_not_supported), as the letter of A2A 1.0 §3.6.2 has it. Without it
	// they are served.
	StrictVersion bool
	// Errors100 answers REST requests with the statuses of A2A 1.0.0, of which 1.0.1
	// changed some.
	Errors100 bool
}

// Dialects are all dialects of the server and the choice among them. It is
// immutable and safe for concurrent use.
type Dialects struct {
	EMM, V01, V03, V1 *Dialect
	// RestV03 and RestV1 are the forms of 0.3 and 1.0 without JSON-RPC. Their methods
	// are named like the operations, and their errors are whole bodies.
	RestV03, RestV1 *Dialect
	// RestGoV03 is 0.3 at the paths of RestV1.
	RestGoV03 *Dialect
	// Plain is not among All: it is no dialect of JSON-RPC.
	Plain *Dialect

	strict    bool
	errors100 bool
	methods   map[string]*Dialect
}

// New returns the dialects.
func New(opts Options) *Dialects {
	d := &Dialects{EMM: newEMM(), V03: newV03(), V1: newV1(), Plain: newPlain(), strict: opts.StrictVersion, errors100: opts.Errors100}
	d.V01 = newV01(d.V03)
	d.RestV03, d.RestV1 = newRestV03(d.V03), newRestV1(d.V1, d.restRow)
	d.RestGoV03 = newRestGoV03(d.V03, d.RestV1.AppendError)
	d.methods = make(map[string]*Dialect)
	for _, x := range d.All() {
		for name := range x.Methods {
			d.methods[name] = x // where 0.1 and 0.3 share a name, it is 0.3
		}
	}
	return d
}

// All returns the dialects of JSON-RPC, the newest version last.
func (d *Dialects) All() []*Dialect { return []*Dialect{d.EMM, d.V01, d.V03, d.V1} }

// ByName returns the dialect of that name, or nil.
func (d *Dialects) ByName(name string) *Dialect {
	for _, x := range d.All() {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// Shape returns the dialect that shows the task to a client that called a method of
// a dialect. It is that one, unless the method is also one of an older version in
// which the task was made.
func (d *Dialects) Shape(called *Dialect, method string, t *a2a.Task) *Dialect {
	if _, shared := d.V01.Methods[method]; called == d.V03 && shared && t.Dialect == NameV01 {
		return d.V01
	}
	return called
}
