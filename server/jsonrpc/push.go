package jsonrpc

import (
	"context"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
)

// Pushes is what the binding needs of the engine for push configs.
type Pushes interface {
	SetPush(context.Context, a2a.Caller, *a2a.PushRequest) (*a2a.PushConfig, error)
	GetPush(context.Context, a2a.Caller, *a2a.PushRequest) (*a2a.PushConfig, error)
	ListPush(context.Context, a2a.Caller, *a2a.PushRequest) ([]a2a.PushConfig, error)
	DeletePush(context.Context, a2a.Caller, *a2a.PushRequest) error
}

// isPush reports whether the operation is one on push configs.
func isPush(op a2a.Op) bool {
	switch op {
	case a2a.OpSetPush, a2a.OpGetPush, a2a.OpListPush, a2a.OpDeletePush:
		return true
	}
	return false
}

// push calls the engine for an operation on push configs.
func (h *Handler) push(ctx context.Context, rec *access.Record, op a2a.Op, q *a2a.PushRequest) (any, error) {
	rec.TaskID = q.TaskID
	switch op {
	case a2a.OpSetPush:
		return h.o.Push.SetPush(ctx, rec.Caller, q)
	case a2a.OpGetPush:
		return h.o.Push.GetPush(ctx, rec.Caller, q)
	case a2a.OpListPush:
		return h.o.Push.ListPush(ctx, rec.Caller, q)
	default:
		return nil, h.o.Push.DeletePush(ctx, rec.Caller, q)
	}
}

func noPush() error {
	return &a2a.Error{Code: a2a.CodePushNotSupported, Message: "Push Notification is not supported"}
}
