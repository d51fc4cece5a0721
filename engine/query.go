package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
)

// Page sizes of List (A2A 1.0 §3.1.4).
const (
	defaultPage = 50
	largestPage = 100
)

// Get returns a task of the caller: at once, or when it has settled or the request's
// wait is over. A server that stops, and a run that breaks, end the wait too.
func (e *Engine) Get(ctx context.Context, caller a2a.Caller, req *a2a.GetRequest) (*a2a.Task, error) {
	if req.Wait > 0 {
		acc, err := e.join(ctx, caller.Scope, req.ID, watchOutcome)
		switch {
		case err != nil:
			return nil, err
		case acc.sub == nil:
			return acc.task, nil // it has settled before
		}
		defer acc.sub.close()
		if t, err := e.await(ctx, req.Wait, acc); t != nil || err != nil {
			return t, err
		}
	}
	t, err := e.store.Task(ctx, caller.Scope, req.ID)
	if err != nil {
		return nil, storeError(err, req.ID)
	}
	return e.placed(caller.Scope, t), nil
}

// await waits for a task to settle and returns it as it was then. It returns nothing
// if the task has to be read again: the wait is over, the run broke, or the task is
// gone because its skill answered with a message.
func (e *Engine) await(ctx context.Context, most time.Duration, acc accepted) (*a2a.Task, error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		switch n := acc.sub.settled(); {
		case n == nil:
		case n.task == nil:
			return nil, nil
		case n.task.Seq > acc.task.Seq:
			return n.task, nil
		}
		select {
		case <-acc.sub.wake:
		case <-timer.C:
			return nil, nil
		case <-e.released:
			return nil, nil
		case <-ctx.Done():
			return nil, &a2a.Error{Code: a2a.CodeUnavailable, Message: "client is gone", Err: context.Cause(ctx)}
		}
	}
}

// List returns a page of the caller's tasks, newest status first.
func (e *Engine) List(ctx context.Context, caller a2a.Caller, req *a2a.ListRequest) (*a2a.ListResult, error) {
	size := req.PageSize
	if size == 0 {
		size = defaultPage
	}
	if size < 0 || size > largestPage {
		return nil, a2a.InvalidParams("pageSize", "must be from 1 to 100")
	}
	q := taskstore.Query{ContextID: req.ContextID, State: req.State, StatusAfter: req.StatusAfter, Limit: size}
	if req.PageToken != "" {
		p, ok := e.tokens.open(req.PageToken, caller.Scope, req)
		if !ok {
			return nil, a2a.InvalidParams("pageToken", "is not one this server gave for these filters; start again without it")
		}
		q.After = p
	}
	page, err := e.store.Tasks(ctx, caller.Scope, q)
	if err != nil {
		return nil, storeError(err, "")
	}
	res := &a2a.ListResult{Tasks: page.Tasks, PageSize: size, TotalSize: page.Total}
	for i, t := range res.Tasks {
		res.Tasks[i] = e.placed(caller.Scope, t)
	}
	if page.More && len(page.Tasks) > 0 {
		last := page.Tasks[len(page.Tasks)-1]
		res.NextPageToken = e.tokens.seal(taskstore.Position{StatusAt: last.Status.At, ID: last.ID}, caller.Scope, req)
	}
	return res, nil
}

// Cancel ends a task of the caller. A terminal task stays as it is: canceling it
// is an error, except that canceling a canceled one again may be a success (see
// CancelRequest.Again). The run's context is cancelled after the commit, and what
// it still emits is refused by the store.
func (e *Engine) Cancel(ctx context.Context, caller a2a.Caller, req *a2a.CancelRequest) (*a2a.Task, error) {
	var already *a2a.Task
	s, err := e.update(context.WithoutCancel(ctx), caller.Scope, req.ID, func(now taskstore.Stored) (taskstore.Change, error) {
		already = nil
		switch state := now.Task.Status.State; {
		case state == a2a.StateCanceled && req.Again:
			already = now.Task
			return taskstore.Change{}, errMoved
		case state.Terminal():
			return taskstore.Change{}, &a2a.Error{
				Code: a2a.CodeTaskNotCancelable, Message: "Task cannot be canceled",
				Details: map[string]string{"taskId": string(req.ID), "state": string(state)},
			}
		}
		return change(now, taskstore.Run{State: taskstore.RunEnded}, a2a.StatusEvent(a2a.StateCanceled, nil))
	})
	var coded *a2a.Error
	switch {
	case already != nil:
		return already, nil
	case errors.As(err, &coded):
		return nil, coded
	case err != nil:
		return nil, storeError(err, req.ID)
	}
	if r := e.running(req.ID); r != nil {
		r.stop(skills.ErrCanceled)
	} else if l := e.lanes[s.Task.Skill]; l != nil {
		l.leave(caller.Scope, req.ID)
	}
	return s.Task, nil
}

// tokenKey signs page tokens: a token is bound to the filters and the caller it
// was made for, and cannot be made up.
type tokenKey []byte

const macBytes = 16

func (k tokenKey) mac(payload []byte, scope a2a.Scope, req *a2a.ListRequest) []byte {
	h := hmac.New(sha256.New, k)
	for _, s := range []string{
		scope.Tenant, scope.Owner, string(req.ContextID), string(req.State),
		req.StatusAfter.UTC().Format(time.RFC3339Nano), string(payload),
	} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return h.Sum(nil)[:macBytes]
}

func (k tokenKey) seal(p taskstore.Position, scope a2a.Scope, req *a2a.ListRequest) string {
	payload := binary.BigEndian.AppendUint64(nil, uint64(p.StatusAt.UnixMicro()))
	payload = append(payload, p.ID...)
	return base64.RawURLEncoding.EncodeToString(append(k.mac(payload, scope, req), payload...))
}

func (k tokenKey) open(token string, scope a2a.Scope, req *a2a.ListRequest) (*taskstore.Position, bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < macBytes+8 {
		return nil, false
	}
	mac, payload := b[:macBytes], b[macBytes:]
	if !hmac.Equal(mac, k.mac(payload, scope, req)) {
		return nil, false
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(payload))).UTC()
	return &taskstore.Position{StatusAt: at, ID: a2a.TaskID(payload[8:])}, true
}
