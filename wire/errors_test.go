package wire

import (
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/skillyard/skillyard/a2a"
)

// checkErrorV1 checks an error object as strict clients of 1.0 read it and returns
// its details.
func checkErrorV1(t *testing.T, raw []byte) (info *errdetails.ErrorInfo, bad *errdetails.BadRequest, retry *errdetails.RetryInfo) {
	t.Helper()
	var members map[string]json.RawMessage
	var object struct {
		Code    int
		Message string
		Data    []json.RawMessage
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatalf("error object: %v\n%s", err, raw)
	}
	for name := range members {
		if name != "code" && name != "message" && name != "data" {
			t.Errorf("error object has a member %q", name)
		}
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("error object: %v\n%s", err, raw)
	}
	if object.Code == 0 || object.Message == "" {
		t.Errorf("error object without code or message: %s", raw)
	}
	for _, data := range object.Data {
		var detail anypb.Any
		if err := protojson.Unmarshal(data, &detail); err != nil {
			t.Fatalf("detail: %v\n%s", err, data)
		}
		m, err := detail.UnmarshalNew()
		if err != nil {
			t.Fatalf("detail: %v\n%s", err, data)
		}
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			info = m
		case *errdetails.BadRequest:
			bad = m
		case *errdetails.RetryInfo:
			retry = m
		}
	}
	if info == nil || info.Domain != "a2a-protocol.org" || info.Reason == "" {
		t.Errorf("no ErrorInfo of the right domain: %s", raw)
	}
	return info, bad, retry
}

func TestAppendErrorV1_Details(t *testing.T) {
	_, bad, retry := checkErrorV1(t, appendErrorV1(nil, &a2a.Error{
		Code: a2a.CodeInvalidParams, Message: "say \"hi\"\n",
		Details:    map[string]string{"b": "2", "a": "\u2028<"},
		Fields:     []a2a.FieldViolation{{Field: "message.parts", Description: "must have at least one part"}},
		RetryAfter: 1500 * time.Millisecond,
	}))
	if bad == nil || bad.FieldViolations[0].Field != "message.parts" {
		t.Errorf("got %v, want the field at fault", bad)
	}
	if retry == nil || retry.RetryDelay.AsDuration() != 1500*time.Millisecond {
		t.Errorf("got %v, want a delay of 1.5 s", retry)
	}
}

func TestErrorTable(t *testing.T) {
	numbers := map[a2a.Code]int{
		a2a.CodeParse: -32700, a2a.CodeInvalidRequest: -32600, a2a.CodeMethodNotFound: -32601, a2a.CodeInvalidParams: -32602, a2a.CodeInternal: -32603,
		a2a.CodeTaskNotFound: -32001, a2a.CodeTaskNotCancelable: -32002, a2a.CodePushNotSupported: -32003, a2a.CodeUnsupportedOperation: -32004,
		a2a.CodeContentTypeNotSupported: -32005, a2a.CodeInvalidAgentResponse: -32006, a2a.CodeExtendedCardNotConfigured: -32007,
		a2a.CodeExtensionRequired: -32008, a2a.CodeVersionNotSupported: -32009,
		a2a.CodeTaskIDConflict: -32602, a2a.CodeIdempotencyConflict: -32602,
		a2a.CodeQueueFull: -32050, a2a.CodeRateLimited: -32051, a2a.CodeTooLarge: -32052, a2a.CodeUnavailable: -32053,
		a2a.CodeUnauthenticated: -31401, a2a.CodeForbidden: -31403,
		"no such code": -32603, "": -32603,
	}
	for code, want := range numbers {
		for _, d := range New(Options{}).All() {
			raw := d.AppendError(nil, &a2a.Error{Code: code})
			var got struct {
				Code    int
				Message string
			}
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%s %s: %v\n%s", d.Name, code, err, raw)
			}
			want := want
			if (d.Name == NameV03 || d.Name == NameV01) && (code == a2a.CodeExtensionRequired || code == a2a.CodeVersionNotSupported) {
				want = -32600
			}
			if d.Name == NameV01 && (want < -32005 && want > -32600 || want > -32001) {
				// Other numbers mean something else there.
				if want = -32603; rowOf(code).http == 400 {
					want = -32602
				}
			}
			if got.Code != want || got.Message == "" {
				t.Errorf("%s %s: got %d %q, want %d and a message", d.Name, code, got.Code, got.Message, want)
			}
			if d.Name == NameV1 {
				checkErrorV1(t, raw)
			}
		}
	}
	seen := map[int]a2a.Code{}
	for _, row := range errorTable {
		if row.code == a2a.CodeUnsupportedMediaType || row.code == a2a.CodeMethodNotAllowed {
			continue // HTTP tells them from those of the protocol, JSON-RPC does not
		}
		if row.number != -32602 && seen[row.number] != "" {
			t.Errorf("%s and %s share the number %d", row.code, seen[row.number], row.number)
		}
		seen[row.number] = row.code
	}
}

func TestAppendError_FixedTexts(t *testing.T) {
	d := New(Options{})
	for _, tc := range []struct {
		d    *Dialect
		e    *a2a.Error
		want string
	}{
		{d.V03, a2a.TaskNotFound("t-1"), `{"code":-32001,"message":"Task not found"}`},
		{d.EMM, a2a.TaskNotFound("t-1"), `{"code":-32001,"message":"Task not found"}`},
		{d.V03, &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "gone"}, `{"code":-32001,"message":"Task not found"}`},
		{d.V03, &a2a.Error{Code: a2a.CodeTaskNotCancelable, Message: "ended"}, `{"code":-32002,"message":"Task cannot be canceled","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org"}]}`},
		{d.V03, &a2a.Error{Code: a2a.CodeTaskIDConflict, Message: "m"}, `{"code":-32602,"message":"m","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_ID_CONFLICT","domain":"a2a-protocol.org"}]}`},
		{d.EMM, &a2a.Error{Code: a2a.CodeIdempotencyConflict, Message: "m"}, `{"code":-32602,"message":"m","data":{"reason":"idempotency_conflict"}}`},
		{d.V1, &a2a.Error{Code: a2a.CodeInternal, Message: "internal error", Err: a2a.TaskNotFound("x")}, `{"code":-32603,"message":"internal error","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org"}]}`},
	} {
		if got := string(tc.d.AppendError(nil, tc.e)); got != tc.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tc.d.Name, tc.e.Code, got, tc.want)
		}
	}
}

// TestStatusOf is the gRPC column of A2A 1.0.1 §5.4, and what of it is ours.
func TestStatusOf(t *testing.T) {
	d, old := New(Options{}), New(Options{Errors100: true})
	for code, want := range map[a2a.Code]RPCCode{
		a2a.CodeTaskNotFound: 5, a2a.CodeTaskNotCancelable: 9, a2a.CodePushNotSupported: 9, a2a.CodeUnsupportedOperation: 9,
		a2a.CodeContentTypeNotSupported: 3, a2a.CodeInvalidAgentResponse: 13, a2a.CodeExtendedCardNotConfigured: 9, a2a.CodeExtensionRequired: 9, a2a.CodeVersionNotSupported: 9,
		a2a.CodeParse: 3, a2a.CodeInvalidRequest: 3, a2a.CodeInvalidParams: 3, a2a.CodeMethodNotFound: 12, a2a.CodeInternal: 13,
		a2a.CodeUnauthenticated: 16, a2a.CodeForbidden: 7, a2a.CodeRateLimited: 8, a2a.CodeQueueFull: 8, a2a.CodeTooLarge: 8, a2a.CodeUnavailable: 14,
		a2a.CodeTaskIDConflict: 6, a2a.CodeIdempotencyConflict: 3, "no such code": 13,
	} {
		got := d.StatusOf(d.V1, &a2a.Error{Code: code})
		if got.Code != want || got.Message == "" || got.Reason != rowOf(code).reason {
			t.Errorf("%s: got %+v, want code %d", code, got, want)
		}
	}
	for _, row := range errorTable {
		if got := d.StatusOf(d.V1, &a2a.Error{Code: row.code}).Code; got == 0 || got > 16 {
			t.Errorf("%s: got gRPC code %d for %s", row.code, got, row.rpc)
		}
	}
	if got := old.StatusOf(d.V1, &a2a.Error{Code: a2a.CodeVersionNotSupported}).Code; got != 12 {
		t.Errorf("got gRPC code %d in the errors of 1.0.0, want UNIMPLEMENTED", got)
	}
	if got := d.StatusOf(d.V1, &a2a.Error{Code: a2a.CodeInternal, Message: "own words"}); got.Message != "own words" {
		t.Errorf("got %q, want the error's own words", got.Message)
	}
	// Clients of 0.3 tell these apart by their codes alone.
	for code, want := range map[a2a.Code]ErrorStatus{
		a2a.CodeTaskNotFound:              {5, "TASK_NOT_FOUND", ""},
		a2a.CodeTaskNotCancelable:         {9, "TASK_NOT_CANCELABLE", ""},
		a2a.CodePushNotSupported:          {12, "PUSH_NOTIFICATION_NOT_SUPPORTED", ""},
		a2a.CodeUnsupportedOperation:      {12, "UNSUPPORTED_OPERATION", ""},
		a2a.CodeExtendedCardNotConfigured: {12, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", ""},
		a2a.CodeExtensionRequired:         {3, "INVALID_REQUEST", ""},
		a2a.CodeVersionNotSupported:       {3, "INVALID_REQUEST", ""},
	} {
		want.Message = rowOf(code).message
		if got := d.StatusOf(d.RestV03, &a2a.Error{Code: code}); got != want {
			t.Errorf("%s in 0.3: got %+v, want %+v", code, got, want)
		}
	}
}
