package rest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/wire"
)

func TestParse(t *testing.T) {
	id := func(s string) []wire.PathParam { return []wire.PathParam{{Name: "id", Value: s}} }
	task := func(s string) []wire.PathParam { return []wire.PathParam{{Name: "taskId", Value: s}} }
	for _, tc := range []struct {
		path   string
		verbs  string // "GET Op, POST Op"
		params []wire.PathParam
		old    bool
	}{
		{"/message:send", "POST Send", nil, false},
		{"/message%3Asend", "POST Send", nil, false},
		{"/message%3asend/", "POST Send", nil, false},
		{"/message:stream", "POST Stream", nil, false},
		{"/tasks", "GET List", nil, false},
		{"/tasks/", "GET List", nil, false},
		{"/tasks/t-1", "GET Get", id("t-1"), false},
		{"/tasks/a%2Fb", "GET Get", id("a/b"), false},
		{"/tasks/a%25b", "GET Get", id("a%b"), false},
		{"/tasks/team:7", "GET Get", id("team:7"), false},
		{"/tasks/t:cancel", "POST Cancel", id("t"), false},
		{"/tasks/t%3Acancel", "POST Cancel", id("t"), false},
		{"/tasks/team:7:cancel", "POST Cancel", id("team:7"), false},
		{"/tasks/t:subscribe", "GET Subscribe, POST Subscribe", id("t"), false},
		{"/tasks/:cancel", "GET Get", id(":cancel"), false},
		{"/tasks/tasks", "GET Get", id("tasks"), false},
		{"/tasks/message:send", "GET Get", id("message:send"), false},
		{"/tasks/t/pushNotificationConfigs", "GET ListPush, POST SetPush", task("t"), false},
		{"/tasks/t/pushNotificationConfigs/c", "GET GetPush, DELETE DeletePush", append(task("t"), id("c")...), false},
		{"/extendedAgentCard", "GET ExtendedCard", nil, false},
		{"/acme/tasks/t:cancel", "POST Cancel", id("t"), false},
		{"/acme/message:send", "POST Send", nil, false},
		{"/acme/extendedAgentCard", "GET ExtendedCard", nil, false},
		{"/a%2Fb/tasks", "GET List", nil, false},
		{"/v1/message:send", "POST Send", nil, true},
		{"/v1/tasks/t:subscribe", "GET Subscribe, POST Subscribe", id("t"), true},
		{"/v1/tasks/t/pushNotificationConfigs", "GET ListPush, POST SetPush", task("t"), true},
		{"/v1/card", "GET ExtendedCard", nil, true},

		{"/", "", nil, false},
		{"", "", nil, false},
		{"/v1", "", nil, true},
		{"/card", "", nil, false},
		{"/v1/extendedAgentCard", "", nil, true},
		{"/v1/acme/tasks", "", nil, true},
		{"/.well-known/tasks", "", nil, false},
		{"/acme", "", nil, false},
		{"/acme/other/tasks", "", nil, false},
		{"/tasks//pushNotificationConfigs", "", nil, false},
		{"/tasks/t/other", "", nil, false},
		{"/tasks/t/pushNotificationConfigs/c/d", "", nil, false},
		{"/message:other", "", nil, false},
		{"/tasks/%zz", "", nil, false},
	} {
		r := parse(segments(tc.path))
		var verbs string
		for i, m := range r.methods {
			if i > 0 {
				verbs += ", "
			}
			verbs += m.name + " " + string(m.op)
		}
		if verbs != tc.verbs || r.old != tc.old {
			t.Errorf("%s: got %q, 0.3 %t; want %q, %t", tc.path, verbs, r.old, tc.verbs, tc.old)
		}
		if d := cmp.Diff(tc.params, r.path); d != "" {
			t.Errorf("%s: params differ (-want +got):\n%s", tc.path, d)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/tasks/a:cancel", "/v1/card", "//", "/%", "/x/tasks/%2f/pushNotificationConfigs/%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r := parse(segments(path))
		for _, p := range r.path {
			if p.Value == "" || len(r.methods) == 0 {
				t.Errorf("%q: got %v with methods %v, want no empty parameter and none without a route", path, r.path, r.methods)
			}
		}
	})
}
