package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/wire/pb"
)

// errSlow says that the client did not take what was sent in time.
var errSlow = errors.New("client does not keep up")

// stream answers a Stream or Subscribe request: the task as it is, unless the client has
// it already, then its log. The log is read only as fast as the client takes it; one that
// does not keep up loses its stream and nothing else.
func (c *call) stream(svc *pb.Service) error {
	o, err := c.server.o.Binding.Begin(c.ctx, c.rec, &c.Call)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := c.echo(o.Active); err != nil {
		return err
	}
	if !o.Resumed {
		if err := c.send(svc.Snapshot(o.Task, o.View)); err != nil {
			return err
		}
		if o.Reader == nil || o.Form.Ends(c.Op, o.Task.Status.State) {
			return nil
		}
	}
	head, view, ends := &a2a.Task{ID: o.Task.ID, ContextID: o.Task.ContextID}, a2a.View{Sequence: o.View.Sequence}, o.Ends(c.Op, o.Form)
	o.Task = nil // the stream outlives its beginning and does not keep the snapshot
	// The encoded message of an event is shared by all streams of the task in this form.
	name := "gRPC " + o.Form.Name
	shown := func(e *engine.Entry) frame {
		return e.Frame(name, func(b []byte) []byte {
			m := svc.Event(head, &e.Event, view)
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
	return c.follow(o.Reader, shown, ends)
}

// follow sends what is shown of the events of the log until the stream ends, the client
// leaves, or the server stops.
func (c *call) follow(reader *engine.Reader, shown func(*engine.Entry) frame, ends func(*engine.Entry) bool) error {
	for {
		e, err := reader.Poll(c.ctx)
		switch {
		case err != nil:
			return err
		case e != nil:
			if f := shown(e); len(f) > 0 {
				if err := c.send(f); err != nil {
					return err
				}
			}
			if ends(e) {
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
				RetryAfter: c.server.times.Retry,
			}
		}
	}
}

// send sends one message, before the deadline or not at all. The library would wait
// for as long as the client does not read.
func (c *call) send(m any) error {
	watch := time.AfterFunc(c.server.times.WriteTimeout, func() { abort(c.ctx, errSlow) })
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
