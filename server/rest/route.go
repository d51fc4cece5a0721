package rest

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// route is what the path of a request says.
type route struct {
	// old says that it is one of 0.3, which are below v1.
	old bool
	// methods are the operations by HTTP method.
	methods []method
	path    []wire.PathParam
}

type method struct {
	name string
	op   a2a.Op
}

// roots are the first segments of the routes.
//
//	POST      message:send    POST message:stream
//	GET       tasks
//	GET       tasks/{id}
//	POST      tasks/{id}:cancel
//	GET POST  tasks/{id}:subscribe
//	GET POST  tasks/{id}/pushNotificationConfigs
//	GET DEL.  tasks/{id}/pushNotificationConfigs/{config}
//	GET       extendedAgentCard (0.3: card)
//
// Before them there may be v1, which makes it 0.3, or the name of a tenant, which
// is nobody's right to anything: it names no place here, and is left to the client.
func isRoot(segment string) bool {
	switch segment {
	case "message:send", "message:stream", "tasks", "extendedAgentCard":
		return true
	}
	return false
}

// segments splits an escaped path. A slash at its end does not count, and an
// escaped one is part of its segment. nil is a path with an empty segment.
func segments(escaped string) []string {
	list := strings.Split(strings.TrimSuffix(strings.TrimPrefix(escaped, "/"), "/"), "/")
	for i, s := range list {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" {
			return nil
		}
		list[i] = plain
	}
	return list
}

// parse finds the route of a path below the base of the binding. Without methods
// there is none.
func parse(path []string) (r route) {
	if len(path) > 0 && path[0] == "v1" {
		r.old, path = true, path[1:]
	} else if len(path) > 1 && !isRoot(path[0]) && path[0] != ".well-known" && isRoot(path[1]) {
		path = path[1:] // a tenant
	}
	card := "extendedAgentCard"
	if r.old {
		card = "card"
	}
	switch {
	case len(path) == 0:
	case len(path) == 1:
		switch path[0] {
		case "message:send":
			r.methods = []method{{http.MethodPost, a2a.OpSend}}
		case "message:stream":
			r.methods = []method{{http.MethodPost, a2a.OpStream}}
		case "tasks":
			r.methods = []method{{http.MethodGet, a2a.OpList}}
		case card:
			r.methods = []method{{http.MethodGet, a2a.OpExtendedCard}}
		}
	case path[0] != "tasks":
	case len(path) == 2:
		r.task(path[1])
	case path[2] != "pushNotificationConfigs":
	case len(path) == 3:
		r.methods = []method{{http.MethodGet, a2a.OpListPush}, {http.MethodPost, a2a.OpSetPush}}
		r.path = []wire.PathParam{{Name: "taskId", Value: path[1]}}
	case len(path) == 4:
		r.methods = []method{{http.MethodGet, a2a.OpGetPush}, {http.MethodDelete, a2a.OpDeletePush}}
		r.path = []wire.PathParam{{Name: "taskId", Value: path[1]}, {Name: "id", Value: path[3]}}
	}
	return r
}

// task finds the route of tasks/{id} with or without a verb, which is what follows
// the last colon if it is a known one: ids may have colons, too.
func (r *route) task(segment string) {
	id, methods := segment, []method{{http.MethodGet, a2a.OpGet}}
	if i := strings.LastIndexByte(segment, ':'); i > 0 {
		switch segment[i+1:] {
		case "cancel":
			id, methods = segment[:i], []method{{http.MethodPost, a2a.OpCancel}}
		case "subscribe":
			id, methods = segment[:i], []method{{http.MethodGet, a2a.OpSubscribe}, {http.MethodPost, a2a.OpSubscribe}}
		}
	}
	r.methods, r.path = methods, []wire.PathParam{{Name: "id", Value: id}}
}

// op returns the operation of the HTTP method, or "".
func (r *route) op(name string) a2a.Op {
	for _, m := range r.methods {
		if m.name == name {
			return m.op
		}
	}
	return ""
}

// allow is the value of the Allow header.
func (r *route) allow() string {
	names := make([]string, len(r.methods))
	for i, m := range r.methods {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}
