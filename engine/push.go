package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// PushOptions let clients register webhooks.
type PushOptions struct {
	// Store is the outbox. Required.
	Store taskstore.Pushes
	// Check refuses webhook URLs that must not be called; its error is for the client.
	// It may be nil.
	Check func(url string) error
	// Max is how many webhooks a task may have; default 10.
	Max int
	// Notify is called after a commit to a task that has webhooks. It must not block.
	Notify func(a2a.TaskID)
}

// pushed is the set of live tasks with webhooks, so that a commit to any other
// costs no more than a look.
type pushed struct {
	mu    sync.RWMutex
	tasks map[a2a.TaskID]struct{} // guarded by mu
}

func (p *pushed) add(id a2a.TaskID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tasks == nil {
		p.tasks = make(map[a2a.TaskID]struct{})
	}
	p.tasks[id] = struct{}{}
}

func (p *pushed) remove(id a2a.TaskID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tasks, id)
}

func (p *pushed) has(id a2a.TaskID) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, ok := p.tasks[id]
	return ok
}

// publish tells the readers of a task, and its webhooks' worker, what was committed.
func (e *Engine) publish(id a2a.TaskID, n notice) {
	e.hub.publish(id, n)
	if e.opts.Push == nil || !e.pushed.has(id) {
		return
	}
	e.opts.Push.Notify(id)
	if n.task != nil && n.task.Status.State.Terminal() {
		e.pushed.remove(id)
	}
}

// loadPushed finds the tasks whose webhooks an earlier process left.
func (e *Engine) loadPushed(ctx context.Context) {
	const batch = 500
	var after int64
	for {
		jobs, err := e.opts.Push.Store.PushTasks(ctx, after, batch)
		if err != nil {
			if ctx.Err() == nil {
				e.log.Error().Err(err).Msg("look for push configs")
			}
			return
		}
		for _, j := range jobs {
			after = j.Row
			e.pushed.add(j.Config.TaskID)
			e.opts.Push.Notify(j.Config.TaskID)
		}
		if len(jobs) < batch {
			return
		}
	}
}

// preparePush completes a push config of a request and checks its URL.
func (e *Engine) preparePush(c a2a.PushConfig, field string) (*a2a.PushConfig, error) {
	p := e.opts.Push
	if p == nil {
		return nil, &a2a.Error{Code: a2a.CodePushNotSupported, Message: "Push Notification is not supported"}
	}
	if p.Check != nil {
		if err := p.Check(c.URL); err != nil {
			return nil, a2a.InvalidParams(field, err.Error())
		}
	}
	if c.ID == "" {
		c.ID = newID()
	}
	c.CreatedAt = a2a.Now()
	return &c, nil
}

// SetPush registers a webhook for a task of the caller, or replaces the one of the
// same id (A2A 1.0 §3.1.7). It gets what happens from now on; for an ended task
// that is nothing, which is no error.
func (e *Engine) SetPush(ctx context.Context, caller a2a.Caller, req *a2a.PushRequest) (*a2a.PushConfig, error) {
	c, err := e.preparePush(req.Config, "url")
	if err != nil {
		return nil, err
	}
	t, err := e.store.Task(ctx, caller.Scope, req.TaskID)
	if err != nil {
		return nil, storeError(err, req.TaskID)
	}
	c.TaskID = req.TaskID
	if !t.Status.State.Terminal() {
		e.pushed.add(c.TaskID) // before it is stored, so that no commit goes unseen
	}
	p := e.opts.Push
	err = p.Store.PutPush(ctx, caller.Scope, *c, t.Seq, p.Max)
	switch {
	case errors.Is(err, taskstore.ErrTooMany):
		return nil, a2a.InvalidParams("taskId", fmt.Sprintf("has %d push configs already, which is the limit", p.Max))
	case err != nil:
		return nil, storeError(err, req.TaskID)
	}
	p.Notify(c.TaskID)
	return c, nil
}

// GetPush returns a push config of a task; with an empty id the first one. A
// missing config is answered like a missing task (A2A 1.0 §3.1.8).
func (e *Engine) GetPush(ctx context.Context, caller a2a.Caller, req *a2a.PushRequest) (*a2a.PushConfig, error) {
	list, err := e.ListPush(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if req.ID == "" || list[i].ID == req.ID {
			return &list[i], nil
		}
	}
	return nil, a2a.TaskNotFound(req.TaskID)
}

// ListPush returns the push configs of a task, oldest first.
func (e *Engine) ListPush(ctx context.Context, caller a2a.Caller, req *a2a.PushRequest) ([]a2a.PushConfig, error) {
	if e.opts.Push == nil {
		return nil, &a2a.Error{Code: a2a.CodePushNotSupported, Message: "Push Notification is not supported"}
	}
	list, err := e.opts.Push.Store.PushList(ctx, caller.Scope, req.TaskID)
	if err != nil {
		return nil, storeError(err, req.TaskID)
	}
	return list, nil
}

// DeletePush removes a push config; removing one that is not there is a success
// (A2A 1.0 §3.1.10).
func (e *Engine) DeletePush(ctx context.Context, caller a2a.Caller, req *a2a.PushRequest) error {
	if e.opts.Push == nil {
		return &a2a.Error{Code: a2a.CodePushNotSupported, Message: "Push Notification is not supported"}
	}
	if err := e.opts.Push.Store.DeletePush(ctx, caller.Scope, req.TaskID, req.ID); err != nil {
		return storeError(err, req.TaskID)
	}
	return nil
}
