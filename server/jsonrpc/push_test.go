package jsonrpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/wire"
)

// pushes remembers the last call and answers with what it was given.
type pushes struct{ called string }

func (p *pushes) note(op string, q *a2a.PushRequest) *a2a.PushConfig {
	p.called = op + " " + string(q.TaskID) + " " + q.ID
	return &a2a.PushConfig{ID: "p-1", TaskID: q.TaskID, URL: q.Config.URL, Token: q.Config.Token}
}

func (p *pushes) SetPush(_ context.Context, _ a2a.Caller, q *a2a.PushRequest) (*a2a.PushConfig, error) {
	return p.note("set", q), nil
}

func (p *pushes) GetPush(_ context.Context, _ a2a.Caller, q *a2a.PushRequest) (*a2a.PushConfig, error) {
	p.note("get", q)
	return nil, a2a.TaskNotFound(q.TaskID)
}

func (p *pushes) ListPush(_ context.Context, _ a2a.Caller, q *a2a.PushRequest) ([]a2a.PushConfig, error) {
	return []a2a.PushConfig{*p.note("list", q)}, nil
}

func (p *pushes) DeletePush(_ context.Context, _ a2a.Caller, q *a2a.PushRequest) error {
	p.note("delete", q)
	return nil
}

func TestHandler_Push(t *testing.T) {
	p := &pushes{}
	h := New(binding.New(binding.Options{
		Dialects: wire.New(wire.Options{}), MaxBody: 1 << 20, Push: p,
		MaxWait: func(string) time.Duration { return 0 },
		Allow:   func(*access.Record, bool) error { return nil },
	}))
	for _, tc := range []struct{ version, method, params, called, answer string }{
		{"1.0", "CreateTaskPushNotificationConfig", `{"taskId":"t","url":"https://h","token":"s3cret"}`, "set t ", `"result":{"id":"p-1","taskId":"t","url":"https://h"}`},
		{"1.0", "GetTaskPushNotificationConfig", `{"taskId":"t","id":"p"}`, "get t p", `"code":-32001`},
		{"1.0", "ListTaskPushNotificationConfigs", `{"taskId":"t"}`, "list t ", `"result":{"configs":[{"id":"p-1"`},
		{"1.0", "DeleteTaskPushNotificationConfig", `{"taskId":"t","id":"p"}`, "delete t p", `"result":null`},
		{"1.0", "CreateTaskPushNotificationConfig", `{"taskId":"t","url":"x"}`, "", `"code":-32602`},
		{"", "tasks/pushNotificationConfig/set", `{"taskId":"t","pushNotificationConfig":{"url":"https://h","token":"s3cret"}}`, "set t default", `"result":{"taskId":"t","pushNotificationConfig":{"id":"p-1","url":"https://h"}}`},
		{"", "tasks/pushNotificationConfig/get", `{"id":"t"}`, "get t ", `"code":-32001`},
		{"", "tasks/pushNotificationConfig/list", `{"id":"t"}`, "list t ", `"result":[{"taskId":"t"`},
		{"", "tasks/pushNotificationConfig/delete", `{"id":"t","pushNotificationConfigId":"p"}`, "delete t p", `"result":null`},
	} {
		p.called = ""
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+tc.method+`","params":`+tc.params+`}`))
		r.Header.Set("A2A-Version", tc.version)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(access.With(r.Context(), &access.Record{})))
		if p.called != tc.called || w.Code != http.StatusOK || !strings.Contains(w.Body.String(), tc.answer) {
			t.Errorf("%s %s: got call %q and %d %s, want %q and %s", tc.method, tc.params, p.called, w.Code, w.Body, tc.called, tc.answer)
		}
		if strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%s shows a secret: %s", tc.method, w.Body)
		}
	}
}
