package wire

import (
	"bytes"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// Envelope is the outer object of a JSON-RPC 2.0 request.
type Envelope struct {
	// ID is the raw JSON of the id (a string, a number of any size, or null),
	// byte for byte; "null" when the request has none.
	ID []byte
	// Method is the method name.
	Method string
	// Params is the raw JSON of the params; nil when absent or null. Whether they
	// are an object is for Method.Decode to say, so that an unknown method or
	// version is named first.
	Params []byte
}

// ParseEnvelope reads the body of a JSON-RPC request. ID and Params are parts of
// body, which must not change while they are in use.
//
// The body has to be one JSON value in UTF-8 with nothing behind it (parse_error,
// id null), an object rather than a batch, "jsonrpc":"2.0", an id of a permitted
// type, a method, and no nesting beyond lim.MaxDepth (invalid_request, with the
// id if it could be read). The Envelope is meaningful for its ID even with an
// error.
func ParseEnvelope(body []byte, lim Limits) (Envelope, *a2a.Error) {
	lim = lim.WithDefaults()
	var (
		env       = Envelope{}
		version   bool
		badID     bool
		badMethod bool
	)
	noID := func() Envelope { return Envelope{ID: []byte("null")} }
	if !utf8.Valid(body) {
		return noID(), parseError()
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	object := d.PeekKind() == '{'
	if !object {
		if err := d.SkipValue(); err != nil {
			return noID(), syntaxError(body, lim)
		}
	} else if _, err := d.ReadToken(); err != nil {
		return noID(), syntaxError(body, lim)
	}
	for object && d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return noID(), syntaxError(body, lim)
		}
		member := unquoteName(name)
		value, err := d.ReadValue()
		if err != nil {
			return noID(), syntaxError(body, lim)
		}
		switch string(member) {
		case "jsonrpc":
			version = string(value) == `"2.0"` || value.Kind() == '"' && unquote(value) == "2.0"
		case "id":
			env.ID, badID = value, false
			if k := value.Kind(); k != '"' && k != '0' && k != 'n' {
				env.ID, badID = nil, true
			}
		case "method":
			badMethod = value.Kind() != '"'
			if env.Method = ""; !badMethod {
				env.Method = unquote(value)
			}
		case "params":
			if env.Params = value; value.Kind() == 'n' {
				env.Params = nil
			}
		}
	}
	if object {
		if _, err := d.ReadToken(); err != nil {
			return noID(), syntaxError(body, lim)
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return noID(), syntaxError(body, lim)
	}

	if env.ID == nil {
		env.ID = []byte("null")
	}
	switch {
	case d.StackDepth() != 0:
		return noID(), parseError()
	case deeperThan(body, lim.MaxDepth):
		return env, tooDeep(lim)
	case !object && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return env, invalidRequest("batches are not supported")
	case !object:
		return env, invalidRequest("the body must be an object")
	case badID:
		return env, invalidRequest("id must be a string, a number or null")
	case !version:
		return env, invalidRequest(`jsonrpc must be "2.0"`)
	case badMethod:
		return env, invalidRequest("method must be a string")
	case env.Method == "":
		return env, invalidRequest("method is required")
	}
	return env, nil
}

func parseError() *a2a.Error {
	return &a2a.Error{Code: a2a.CodeParse, Message: "Invalid JSON payload"}
}

// syntaxError is the error of a body that could not be parsed. Very deep nesting
// stops the parser too, and then that is what the client should read.
func syntaxError(body []byte, lim Limits) *a2a.Error {
	if deeperThan(body, lim.MaxDepth) {
		return tooDeep(lim)
	}
	return parseError()
}

func invalidRequest(why string) *a2a.Error {
	return &a2a.Error{Code: a2a.CodeInvalidRequest, Message: "Request payload validation error: " + why}
}

func tooDeep(lim Limits) *a2a.Error {
	limit := strconv.Itoa(lim.MaxDepth)
	e := invalidRequest("JSON is nested deeper than " + limit + " levels")
	e.Details = map[string]string{"maxDepth": limit}
	return e
}

// AppendResult appends the JSON-RPC response with the id and the result that
// appendResult appends. An empty id is written as null.
func AppendResult(b, id []byte, appendResult func(b []byte) []byte) []byte {
	b = appendHead(b, id)
	b = append(b, `,"result":`...)
	b = appendResult(b)
	return append(b, '}')
}

// AppendErrorResponse appends the JSON-RPC response with the id and the error in
// the spelling of the dialect; a nil dialect means 1.0.
func AppendErrorResponse(b, id []byte, d *Dialect, e *a2a.Error) []byte {
	b = appendHead(b, id)
	b = append(b, `,"error":`...)
	if d == nil {
		b = appendErrorV1(b, e)
	} else {
		b = d.AppendError(b, e)
	}
	return append(b, '}')
}

func appendHead(b, id []byte) []byte {
	if len(id) == 0 {
		return append(b, `{"jsonrpc":"2.0","id":null`...)
	}
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	return append(b, id...)
}
