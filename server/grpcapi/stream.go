package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
)

// errSlow says that the client did not take what was sent in time.
var errSlow = errors.New("client does not keep up")

// stream answers a Stream or Subscribe request: the task as it is, then its log. The
// log is read only as fast as the client takes it; one that does not keep up loses its
// stream and nothing else.
func (c *call) stream(req any) error {
	leave, err := c.server.o.EnterStream(c.rec.Caller)
	if err != nil {
		return err
	}
	defer leave()
	t, view, reader, err := c.open(req)
	if err != nil {
		return err
	}
	if reader != nil {
		defer reader.Close()
	}
	c.rec.Saw(t)
	if err := c.echo(); err != nil {
		return err
	}
	view.Sequence = c.numbered()
	if err := c.send(c.service.Snapshot(t, view)); err != nil {
		return err
	}
	if reader == nil || c.ends(t.Status.State) {
		return nil
	}
	return c.follow(reader, &a2a.Task{ID: t.ID, ContextID: t.ContextID})
}

// open finds the task, or makes it, and opens its log behind it. Without a reader
// nothing follows.
func (c *call) open(req any) (*a2a.Task, a2a.View, *engine.Reader, error) {
	e, caller := c.server.o.Engine, c.rec.Caller
	if q, ok := req.(*a2a.SendRequest); ok {
		c.rec.TaskID = q.TaskID
		t, reader, err := e.Stream(c.ctx, caller, c.rec.Mount, q)
		return t, q.View, reader, err
	}
	q := req.(*a2a.GetRequest)
	c.rec.TaskID = q.ID
	reader, t, err := e.Follow(c.ctx, caller.Scope, q.ID)
	if err != nil {
		return nil, q.View, nil, err
	}
	if t.Status.State.Terminal() {
		reader.Close()
		if c.service.Dialect.Stream.Ended {
			return t, q.View, nil, nil
		}
		// A2A 1.0 §3.1.6.
		return nil, q.View, nil, &a2a.Error{
			Code:    a2a.CodeUnsupportedOperation,
			Message: "The task has ended (" + string(t.Status.State) + "); get it instead of subscribing.",
			Details: map[string]string{"taskId": string(t.ID)},
		}
	}
	return t, q.View, reader, nil
}

// ends reports whether the stream is over in the state.
func (c *call) ends(s a2a.State) bool { return c.service.Dialect.Stream.Ends(c.method.Op, s) }

// follow sends the events of the log until the stream ends, the client leaves, or the
// server stops.
func (c *call) follow(reader *engine.Reader, head *a2a.Task) error {
	for {
		e, err := reader.Poll(c.ctx)
		switch {
		case err != nil:
			return err
		case e != nil:
			if f := c.frame(head, e); len(f) > 0 {
				if err := c.send(f); err != nil {
					return err
				}
			}
			if e.Status != nil && c.ends(e.Status.State) {
				return nil
			}
			continue
		}
		select {
		case <-reader.Wake():
		case <-c.ctx.Done():
			return gone(c.ctx)
		case <-reader.Released():
			return &a2a.Error{
				Code: a2a.CodeUnavailable, Message: "The server is stopping; subscribe again.",
				RetryAfter: c.server.o.Stream.Retry,
			}
		}
	}
}

// frame is the encoded message of an event, which all streams of the task share.
func (c *call) frame(head *a2a.Task, e *engine.Entry) frame {
	name, view := c.service.Name, a2a.View{Sequence: c.numbered()}
	if view.Sequence {
		name += " numbered"
	}
	return e.Frame(name, func(b []byte) []byte {
		m := c.service.Event(head, &e.Event, view)
		if m == nil {
			return b
		}
		b, err := proto.MarshalOptions{}.MarshalAppend(b, m)
		if err != nil {
			panic(err) // only text that is no UTF-8 does not encode, and there is none
		}
		return b
	})
}

// send sends one message, before the deadline or not at all. The library would wait
// for as long as the client does not read.
func (c *call) send(m any) error {
	watch := time.AfterFunc(c.server.o.Stream.WriteTimeout, func() { abort(c.ctx, errSlow) })
	defer watch.Stop()
	if err := c.ss.SendMsg(m); err != nil {
		if c.ctx.Err() != nil {
			return gone(c.ctx)
		}
		return fmt.Errorf("send event: %w", err)
	}
	return nil
}

// gone is the error of a stream whose client has left, or was left. Hardly anybody
// gets to read it.
func gone(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errSlow) {
		return &a2a.Error{Code: a2a.CodeUnavailable, Message: "The client does not keep up; subscribe again.", Err: cause}
	}
	return &a2a.Error{Code: a2a.CodeUnavailable, Message: "client is gone", Err: cause}
}
