package wire

import (
	"bytes"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// newRestV1 returns the HTTP+JSON form of A2A 1.0 (§11): requests and results are
// those of JSON-RPC without its envelope, so it is v1 but for its errors and for
// what answers a deletion. Its methods are named like the operations.
func newRestV1(v1 *Dialect, rowOf func(a2a.Code) errorRow) *Dialect {
	methods := make(map[string]Method, len(v1.Methods))
	for _, m := range v1.Methods {
		if m.Op == a2a.OpDeletePush {
			m.Append = appendEmpty
		}
		methods[string(m.Op)] = m
	}
	appendError := func(b []byte, e *a2a.Error) []byte {
		row := rowOf(e.Code)
		return appendStatus(b, &row, e)
	}
	return &Dialect{Name: NameV1, Methods: methods, AppendError: appendError, Stream: v1.Stream, Push: v1.Push}
}

func appendEmpty(b []byte, _ any, _ a2a.View) []byte { return append(b, "{}"...) }

// appendStatus writes an error as the whole body of an answer: a google.rpc.Status
// under error, with the HTTP status as its code (A2A 1.0 §11.6).
func appendStatus(b []byte, row *errorRow, e *a2a.Error) []byte {
	message := e.Message
	if message == "" {
		message = row.message
	}
	b = append(b, `{"error":{"code":`...)
	b = strconv.AppendInt(b, int64(row.http), 10)
	b = stringMember(b, "status", row.rpc)
	b = stringMember(b, "message", message)
	return append(appendDetails(b, "details", row, e), "}}"...)
}

// PathParam is a member of a request that stands in the path of its URL.
type PathParam struct{ Name, Value string }

// RestParams makes the params of a method, as Method.Decode takes them, from the
// three places of a REST request that hold some: the JSON body (if there is any),
// the query, and the path, which counts most. A body that is no object, and a
// member of it that says otherwise than the path, are errors.
func RestParams(body []byte, query url.Values, path []PathParam, lim Limits) ([]byte, *a2a.Error) {
	body = bytes.TrimSpace(body)
	if e := checkBody(body, lim.WithDefaults()); e != nil {
		return nil, e
	}
	b := []byte{'{'}
	// In an order of its own, a query that says a thing in both spellings, or has two
	// faults, would be answered differently each time.
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := query[name]
		if last := values[len(values)-1]; last != "" {
			b = appendQueryMember(b, name, last)
		}
	}
	if isObject(body) {
		if e := contradicts(body, path); e != nil {
			return nil, e
		}
		if members := bytes.TrimSpace(body[1 : len(body)-1]); len(members) > 0 {
			b = append(element(b), members...)
		}
	}
	for _, p := range path {
		b = stringMember(b, p.Name, p.Value)
	}
	return append(b, '}'), nil
}

// appendQueryMember appends a query parameter. It is a string, which ProtoJSON
// takes for numbers as well, but not for booleans.
func appendQueryMember(b []byte, name, value string) []byte {
	b = append(appendString(element(b), name), ':')
	switch {
	case (name == "includeArtifacts" || name == "include_artifacts") && (value == "true" || value == "false"):
		return append(b, value...)
	case name == "status" && strings.Trim(value, "-0123456789") == "":
		if n, ok := parseInteger(value); ok { // the number of an enum's value
			return strconv.AppendInt(b, int64(n), 10)
		}
	}
	return appendString(b, value)
}

// checkBody says what is wrong with a body that has to be one JSON object, or nil.
// Nothing and null are objects without members.
func checkBody(body []byte, lim Limits) *a2a.Error {
	if len(body) == 0 {
		return nil
	}
	if !utf8.Valid(body) {
		return parseError()
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	kind := d.PeekKind()
	if err := d.SkipValue(); err != nil {
		return syntaxError(body, lim)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return syntaxError(body, lim)
	}
	switch {
	case deeperThan(body, lim.MaxDepth):
		return tooDeep(lim)
	case kind != '{' && kind != 'n':
		return invalidRequest("the body must be an object")
	}
	return nil
}

// contradicts blames a member of the body that names something else than the path.
// An empty one says nothing.
func contradicts(body []byte, path []PathParam) (e *a2a.Error) {
	r := reader{snake: true}
	eachMember(body, func(name, value []byte) {
		camel := string(r.camel(unquoteName(name)))
		for _, p := range path {
			if camel == p.Name && !isNull(value) && string(value) != `""` && (value[0] != '"' || unquote(value) != p.Value) {
				e = a2a.InvalidParams(p.Name, "contradicts the path of the request")
			}
		}
	})
	return e
}

// Accepts says why a request of the version ("" when it names none) is not served
// where only the dialect d is: nil, or version_not_supported.
func (d *Dialects) Accepts(x *Dialect, version string) *a2a.Error {
	v, ok := parseVersion(version)
	switch {
	case !ok:
		return versionNotSupported(version, supportedVersions)
	case v == x.Name, v == "" && !(d.strict && x.Name == NameV1):
		return nil
	}
	return versionNotSupported(version, x.Name)
}
