package wire

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// ErrorDomain is the domain of every ErrorInfo (A2A 1.0 §9.5).
const ErrorDomain = "a2a-protocol.org"

// RPCCode is a code of google.rpc.Status, which is what gRPC answers with.
type RPCCode uint32

// rpcNames are the names of the codes that errors have, with their numbers as indexes.
var rpcNames = [...]string{
	3: "INVALID_ARGUMENT", 5: "NOT_FOUND", 6: "ALREADY_EXISTS", 7: "PERMISSION_DENIED", 8: "RESOURCE_EXHAUSTED",
	9: "FAILED_PRECONDITION", 12: "UNIMPLEMENTED", 13: "INTERNAL", 14: "UNAVAILABLE", 16: "UNAUTHENTICATED",
}

// errorRow is how one code is spelled on the wire.
type errorRow struct {
	code    a2a.Code
	number  int
	reason  string // of the ErrorInfo
	http    int    // status of a REST answer (A2A 1.0.1 §5.4)
	rpc     string // name of the google.rpc.Code
	message string // when the error brings none
}

// errorTable is the one table of errors. JSON-RPC leaves -32000..-32099 to
// servers; A2A takes -32001..-32009 of them, and its drafts go on from -32010, so
// ours start at -32050. The numbers for missing and insufficient credentials are
// those the Go SDK uses, which lie outside of the reserved range.
var errorTable = [...]errorRow{
	{a2a.CodeParse, -32700, "PARSE_ERROR", 400, "INVALID_ARGUMENT", "Invalid JSON payload"},
	{a2a.CodeInvalidRequest, -32600, "INVALID_REQUEST", 400, "INVALID_ARGUMENT", "Request payload validation error"},
	{a2a.CodeMethodNotFound, -32601, "METHOD_NOT_FOUND", 404, "UNIMPLEMENTED", "Method not found"},
	{a2a.CodeInvalidParams, -32602, "INVALID_PARAMS", 400, "INVALID_ARGUMENT", "Invalid parameters"},

	{a2a.CodeTaskNotFound, -32001, "TASK_NOT_FOUND", 404, "NOT_FOUND", "Task not found"},
	{a2a.CodeTaskNotCancelable, -32002, "TASK_NOT_CANCELABLE", 400, "FAILED_PRECONDITION", "Task cannot be canceled"},
	{a2a.CodePushNotSupported, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, "FAILED_PRECONDITION", "Push Notification is not supported"},
	{a2a.CodeUnsupportedOperation, -32004, "UNSUPPORTED_OPERATION", 400, "FAILED_PRECONDITION", "This operation is not supported"},
	{a2a.CodeContentTypeNotSupported, -32005, "CONTENT_TYPE_NOT_SUPPORTED", 400, "INVALID_ARGUMENT", "Incompatible content types"},
	{a2a.CodeInvalidAgentResponse, -32006, "INVALID_AGENT_RESPONSE", 500, "INTERNAL", "Invalid agent response"},
	{a2a.CodeExtendedCardNotConfigured, -32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 400, "FAILED_PRECONDITION", "Extended Agent Card not configured"},
	{a2a.CodeExtensionRequired, -32008, "EXTENSION_SUPPORT_REQUIRED", 400, "FAILED_PRECONDITION", "Extension support required"},
	{a2a.CodeVersionNotSupported, -32009, "VERSION_NOT_SUPPORTED", 400, "FAILED_PRECONDITION", "A2A version not supported"},

	{a2a.CodeUnsupportedMediaType, -32005, "CONTENT_TYPE_NOT_SUPPORTED", 415, "INVALID_ARGUMENT", "Unsupported media type"},
	{a2a.CodeMethodNotAllowed, -32601, "METHOD_NOT_ALLOWED", 405, "UNIMPLEMENTED", "Method not allowed"},

	{a2a.CodeTaskIDConflict, -32602, "TASK_ID_CONFLICT", 409, "ALREADY_EXISTS", "The task id is taken"},
	{a2a.CodeIdempotencyConflict, -32602, "IDEMPOTENCY_CONFLICT", 422, "INVALID_ARGUMENT", "The idempotency key was used for another request"},

	{a2a.CodeQueueFull, -32050, "QUEUE_FULL", 429, "RESOURCE_EXHAUSTED", "The queue is full"},
	{a2a.CodeRateLimited, -32051, "RATE_LIMITED", 429, "RESOURCE_EXHAUSTED", "Too many requests"},
	{a2a.CodeTooLarge, -32052, "TOO_LARGE", 413, "RESOURCE_EXHAUSTED", "The request is too large"},
	{a2a.CodeUnavailable, -32053, "UNAVAILABLE", 503, "UNAVAILABLE", "The server is not available"},
	{a2a.CodeUnauthenticated, -31401, "UNAUTHENTICATED", 401, "UNAUTHENTICATED", "Authentication is required"},
	{a2a.CodeForbidden, -31403, "FORBIDDEN", 403, "PERMISSION_DENIED", "Permission denied"},

	// The last row stands for every code that is not listed.
	{a2a.CodeInternal, -32603, "INTERNAL_ERROR", 500, "INTERNAL", "Internal error"},
}

func rowOf(code a2a.Code) *errorRow {
	for i := range errorTable {
		if errorTable[i].code == code {
			return &errorTable[i]
		}
	}
	return &errorTable[len(errorTable)-1]
}

// errors100 are the rows that were others in A2A 1.0.0.
var errors100 = [...]struct {
	code a2a.Code
	http int
	rpc  string
}{
	{a2a.CodeTaskNotCancelable, 409, "FAILED_PRECONDITION"},
	{a2a.CodePushNotSupported, 400, "UNIMPLEMENTED"},
	{a2a.CodeUnsupportedOperation, 400, "UNIMPLEMENTED"},
	{a2a.CodeContentTypeNotSupported, 415, "INVALID_ARGUMENT"},
	{a2a.CodeInvalidAgentResponse, 502, "INTERNAL"},
	{a2a.CodeVersionNotSupported, 400, "UNIMPLEMENTED"},
}

// rowIn is the row of a code, as it is now or was in A2A 1.0.0.
func rowIn(code a2a.Code, before bool) errorRow {
	row := *rowOf(code)
	for _, old := range errors100 {
		if before && old.code == code {
			row.http, row.rpc = old.http, old.rpc
		}
	}
	return row
}

// restRow is the row of a code as REST answers have it.
func (d *Dialects) restRow(code a2a.Code) errorRow { return rowIn(code, d.errors100) }

// HTTPStatus is the HTTP status of a REST answer with an error of the code (A2A
// 1.0.1 §5.4).
func (d *Dialects) HTTPStatus(code a2a.Code) int { return d.restRow(code).http }

// ErrorStatus is an error as google.rpc spells it.
type ErrorStatus struct {
	Code RPCCode
	// Reason is that of the ErrorInfo, whose domain is ErrorDomain.
	Reason  string
	Message string
}

// StatusOf returns the status of an error for clients of the dialect. Those of 0.3 have
// the codes that 1.0.0 kept of it, read FAILED_PRECONDITION as a task that cannot be
// canceled, and know neither required extensions nor versions.
func (d *Dialects) StatusOf(x *Dialect, e *a2a.Error) ErrorStatus {
	row := rowIn(e.Code, d.errors100 || x.Name == NameV03)
	s := ErrorStatus{Message: e.Message}
	if s.Message == "" {
		s.Message = row.message
	}
	if x.Name == NameV03 {
		switch e.Code {
		case a2a.CodeExtendedCardNotConfigured:
			row.rpc = "UNIMPLEMENTED"
		case a2a.CodeExtensionRequired, a2a.CodeVersionNotSupported:
			row = *rowOf(a2a.CodeInvalidRequest)
		}
	}
	s.Code, s.Reason = RPCCode(slices.Index(rpcNames[:], row.rpc)), row.reason
	return s
}

// appendErrorHead appends the error object up to its message.
func appendErrorHead(b []byte, number int, message, fallback string) []byte {
	if message == "" {
		message = fallback
	}
	b = append(b, `{"code":`...)
	b = strconv.AppendInt(b, int64(number), 10)
	b = append(b, `,"message":`...)
	return appendString(b, message)
}

// appendErrorV1 writes an error as 1.0 has it: data is a list of google.rpc
// details, ErrorInfo always among them (A2A 1.0 §9.5).
func appendErrorV1(b []byte, e *a2a.Error) []byte {
	row := rowOf(e.Code)
	b = appendErrorHead(b, row.number, e.Message, row.message)
	return append(appendDetails(b, "data", row, e), '}')
}

// appendErrorV03 writes an error as 0.3 has it: the same numbers and, since its
// clients tolerate any data, the same details. What it does not know (a required
// extension, a version) is an invalid request. The answer for an unknown task is
// compared as a whole by FastA2A clients and has nothing beside its fixed text.
func appendErrorV03(b []byte, e *a2a.Error) []byte {
	return appendErrorOld(b, rowOf(e.Code), e)
}

// appendErrorOld writes an error of 0.3 or older with the row's number.
func appendErrorOld(b []byte, row *errorRow, e *a2a.Error) []byte {
	switch e.Code {
	case a2a.CodeTaskNotFound:
		return append(appendErrorHead(b, row.number, "", row.message), '}')
	case a2a.CodeTaskNotCancelable:
		b = appendErrorHead(b, row.number, "", row.message)
	case a2a.CodeExtensionRequired, a2a.CodeVersionNotSupported:
		invalid := rowOf(a2a.CodeInvalidRequest)
		b = appendErrorHead(b, invalid.number, e.Message, row.message)
		row = invalid
	default:
		b = appendErrorHead(b, row.number, e.Message, row.message)
	}
	return append(appendDetails(b, "data", row, e), '}')
}

// appendErrorEMM writes an error for EMM clients: data is an object with the
// reason, and the facts beside it.
func appendErrorEMM(b []byte, e *a2a.Error) []byte {
	row := rowOf(e.Code)
	if e.Code == a2a.CodeTaskNotFound {
		return append(appendErrorHead(b, row.number, "", row.message), '}')
	}
	b = appendErrorHead(b, row.number, e.Message, row.message)
	reason := row.code
	if e.Code != "" {
		reason = e.Code
	}
	b = append(b, `,"data":{"reason":`...)
	b = appendString(b, string(reason))
	if len(e.Fields) > 0 {
		b = append(b, `,"fields":`...)
		b = appendFields(b, e.Fields)
	}
	if e.RetryAfter > 0 {
		b = append(b, `,"retryAfterSeconds":`...)
		b = strconv.AppendInt(b, int64((e.RetryAfter+time.Second-1)/time.Second), 10)
	}
	if len(e.Details) > 0 {
		b = append(b, `,"details":`...)
		b = appendStringMap(b, e.Details)
	}
	return append(b, "}}"...)
}

// appendDetails appends the member with the list of google.rpc detail objects.
func appendDetails(b []byte, member string, row *errorRow, e *a2a.Error) []byte {
	b = append(key(b, member), `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"`...)
	b = append(b, row.reason...)
	b = append(b, `","domain":"`+ErrorDomain+`"`...)
	if len(e.Details) > 0 {
		b = append(b, `,"metadata":`...)
		b = appendStringMap(b, e.Details)
	}
	b = append(b, '}')
	if len(e.Fields) > 0 {
		b = append(b, `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":`...)
		b = appendFields(b, e.Fields)
		b = append(b, '}')
	}
	if e.RetryAfter > 0 {
		b = append(b, `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`...)
		b = appendDuration(b, e.RetryAfter)
		b = append(b, `"}`...)
	}
	return append(b, ']')
}

func appendFields(b []byte, fields []a2a.FieldViolation) []byte {
	b = append(b, '[')
	for _, f := range fields {
		b = element(b)
		b = append(b, '{')
		b = stringMember(b, "field", f.Field)
		b = stringMember(b, "description", f.Description)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendStringMap appends m as an object with its keys sorted.
func appendStringMap(b []byte, m map[string]string) []byte {
	b = append(b, '{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = element(b)
		b = appendString(b, k)
		b = append(b, ':')
		b = appendString(b, m[k])
	}
	return append(b, '}')
}

// appendDuration appends d as ProtoJSON spells a Duration: "3s", "1.500s".
func appendDuration(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Second), 10)
	if ms := int64(d % time.Second / time.Millisecond); ms > 0 {
		b = append(b, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	}
	return append(b, 's')
}
