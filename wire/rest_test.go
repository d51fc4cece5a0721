package wire

import (
	"net/url"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

func TestRestParams(t *testing.T) {
	path := []PathParam{{"taskId", "t"}, {"id", "a\"b"}}
	for _, tc := range []struct {
		body  string
		query url.Values
		path  []PathParam
		want  string // or the code of the error
	}{
		{"", nil, nil, `{}`},
		{" ", nil, nil, `{}`},
		{"null", nil, path[:1], `{"taskId":"t"}`},
		{`{}`, nil, path, `{"taskId":"t","id":"a\"b"}`},
		{"{ \"x\" : [1] }\n", nil, path[:1], `{"x" : [1],"taskId":"t"}`},
		{`{"taskId":"t","task_id":null,"id":""}`, nil, path, `{"taskId":"t","task_id":null,"id":"","taskId":"t","id":"a\"b"}`},
		{"", url.Values{"pageSize": {"1", "5"}, "pageToken": {""}}, nil, `{"pageSize":"5"}`},
		{"", url.Values{"page_size": {"2"}, "status": {"x"}, "pageSize": {"1"}, "contextId": {"c"}, "tenant": {"a"}}, nil, `{"contextId":"c","pageSize":"1","page_size":"2","status":"x","tenant":"a"}`},
		{"", url.Values{"includeArtifacts": {"true"}}, nil, `{"includeArtifacts":true}`},
		{"", url.Values{"include_artifacts": {"yes"}}, nil, `{"include_artifacts":"yes"}`},
		{"", url.Values{"contextId": {"true"}}, nil, `{"contextId":"true"}`},
		{"", url.Values{"status": {"-1"}}, nil, `{"status":-1}`},
		{"", url.Values{"a\"\n": {"\xff"}}, nil, `{"a\"\n":"` + "\uFFFD" + `"}`},
		{`{"task_id":"other"}`, nil, path, "invalid_params"},
		{`{"id":7}`, nil, path, "invalid_params"},
		{`{"id":"a\u0022b"}`, nil, path[1:], `{"id":"a\u0022b","id":"a\"b"}`},
		{`{`, nil, path, "parse_error"},
		{`{} {}`, nil, path, "parse_error"},
		{"{\"a\":\"\xff\"}", nil, path, "parse_error"},
		{`[]`, nil, path, "invalid_request"},
		{`7`, nil, path, "invalid_request"},
		{`{"a":{"a":{"a":{"a":1}}}}`, nil, path, "invalid_request"},
	} {
		got, e := RestParams([]byte(tc.body), tc.query, tc.path, Limits{MaxDepth: 3})
		if e != nil {
			got = []byte(e.Code)
		}
		if string(got) != tc.want {
			t.Errorf("RestParams(%q, %v, %v): got %s, want %s", tc.body, tc.query, tc.path, got, tc.want)
		}
	}
}

func TestDialects_Accepts(t *testing.T) {
	lenient, strict := New(Options{}), New(Options{StrictVersion: true})
	for _, tc := range []struct {
		d       *Dialects
		old     bool
		version string
		want    bool
	}{
		{lenient, false, "", true}, {lenient, false, "1.0", true}, {lenient, false, "1.0.7", true},
		{lenient, false, "0.3", false}, {lenient, false, "1.1", false}, {lenient, false, "x", false},
		{lenient, true, "", true}, {lenient, true, "0.3", true}, {lenient, true, "1.0", false}, {lenient, true, "99.0", false},
		{strict, false, "", false}, {strict, false, "1.0", true}, {strict, true, "", true},
	} {
		x := tc.d.RestV1
		if tc.old {
			x = tc.d.RestV03
		}
		e := tc.d.Accepts(x, tc.version)
		if (e == nil) != tc.want || e != nil && e.Code != a2a.CodeVersionNotSupported {
			t.Errorf("%s, version %q: got %v, want it accepted: %t", x.Name, tc.version, e, tc.want)
		}
	}
}

func TestDialects_Shape(t *testing.T) {
	d := New(Options{})
	for _, tc := range []struct {
		called *Dialect
		method string
		made   string
		want   *Dialect
	}{
		{d.V03, "tasks/get", NameV01, d.V01}, {d.V03, "tasks/cancel", NameV01, d.V01}, {d.V03, "tasks/resubscribe", NameV01, d.V01},
		{d.V03, "tasks/get", NameV03, d.V03}, {d.V03, "tasks/get", NameV1, d.V03}, {d.V03, "message/send", NameV01, d.V03},
		{d.V1, "GetTask", NameV01, d.V1}, {d.EMM, "tasks/status", NameV01, d.EMM}, {d.V01, "tasks/send", NameV03, d.V01},
	} {
		if got := d.Shape(tc.called, tc.method, &a2a.Task{Dialect: tc.made}); got != tc.want {
			t.Errorf("%s by %s of a task of %s: got %s, want %s", tc.method, tc.called.Name, tc.made, got.Name, tc.want.Name)
		}
	}
}

// TestHTTPStatus: the statuses of A2A 1.0.1 §5.4, and those of HTTP's own.
func TestHTTPStatus(t *testing.T) {
	for code, want := range map[a2a.Code]int{
		a2a.CodeTaskNotFound: 404, a2a.CodeMethodNotFound: 404, a2a.CodeMethodNotAllowed: 405, a2a.CodeUnsupportedMediaType: 415,
		a2a.CodeTaskNotCancelable: 400, a2a.CodePushNotSupported: 400, a2a.CodeUnsupportedOperation: 400, a2a.CodeContentTypeNotSupported: 400,
		a2a.CodeExtendedCardNotConfigured: 400, a2a.CodeExtensionRequired: 400, a2a.CodeVersionNotSupported: 400,
		a2a.CodeParse: 400, a2a.CodeInvalidRequest: 400, a2a.CodeInvalidParams: 400, a2a.CodeInvalidAgentResponse: 500, a2a.CodeInternal: 500,
		a2a.CodeUnauthenticated: 401, a2a.CodeForbidden: 403, a2a.CodeRateLimited: 429, a2a.CodeQueueFull: 429, a2a.CodeTooLarge: 413,
		a2a.CodeUnavailable: 503, a2a.CodeTaskIDConflict: 409, a2a.CodeIdempotencyConflict: 422, "no such code": 500,
	} {
		if got := New(Options{}).HTTPStatus(code); got != want {
			t.Errorf("%s: got HTTP %d, want %d", code, got, want)
		}
	}
	old := New(Options{Errors100: true})
	for code, want := range map[a2a.Code]string{
		a2a.CodeTaskNotCancelable:       `{"error":{"code":409,"status":"FAILED_PRECONDITION",`,
		a2a.CodeContentTypeNotSupported: `{"error":{"code":415,"status":"INVALID_ARGUMENT",`,
		a2a.CodeInvalidAgentResponse:    `{"error":{"code":502,"status":"INTERNAL",`,
		a2a.CodeUnsupportedOperation:    `{"error":{"code":400,"status":"UNIMPLEMENTED",`,
		a2a.CodeTaskNotFound:            `{"error":{"code":404,"status":"NOT_FOUND",`,
	} {
		if got := string(old.RestV1.AppendError(nil, &a2a.Error{Code: code})); !strings.HasPrefix(got, want) {
			t.Errorf("1.0.0, %s: got %s, want %s", code, got, want)
		}
	}
	for _, row := range errorTable {
		if row.rpc == "" || row.http < 400 {
			t.Errorf("%s: got HTTP %d and code %q, want both", row.code, row.http, row.rpc)
		}
	}
}
