package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/wire/pb"
)

// call is one call under way.
type call struct {
	server  *Server
	service *pb.Service
	method  *pb.Method
	ss      grpc.ServerStream
	ctx     context.Context
	md      metadata.MD
	rec     *access.Record
	// active are the URIs of the extensions that the client activated.
	active []string
}

// handle answers one call.
func (s *Server) handle(svc *pb.Service, m *pb.Method, ss grpc.ServerStream) (err error) {
	began := time.Now()
	ctx := ss.Context()
	md, _ := metadata.FromIncomingContext(ctx) // none is an empty one
	addr := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		addr = p.Addr.String()
	}
	c := &call{server: s, service: svc, method: m, ss: ss, ctx: ctx, md: md, rec: s.o.Record(addr, md)}
	c.rec.Method = m.Name
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).
				Str("request_id", c.rec.RequestID).Msg("request panicked")
			err = &a2a.Error{Code: a2a.CodeInternal, Message: "internal error"}
		}
		st := statusOf(s.o.Dialects, svc.Dialect, err)
		c.rec.Err, c.rec.Gone = err, err != nil && ctx.Err() != nil && !errors.Is(err, errSlow)
		if c.rec.Gone && m.Streams() {
			c.rec.Err = nil // a client may leave a stream whenever it likes
		}
		s.o.Observe(c.rec, "/"+svc.Name+"/"+m.Name, st.Code().String(), time.Since(began))
		err = st.Err()
	}()
	if s.o.ShowRequestID {
		if err := ss.SetHeader(metadata.Pairs("x-request-id", c.rec.RequestID)); err != nil {
			return fmt.Errorf("set header: %w", err)
		}
	}
	return c.answer()
}

// answer finds out who calls, reads the request and does what it asks for.
func (c *call) answer() (err error) {
	o := &c.server.o
	get := header(c.md)
	if c.rec.Caller, err = o.Authenticate(get); err != nil {
		// Failed tries count against the address.
		if over := o.Allow(c.rec, false); over != nil {
			return over
		}
		return err
	}
	if e := o.Dialects.Accepts(c.service.Dialect, get("a2a-version")); e != nil {
		return e
	}
	if err := o.Allow(c.rec, c.method.Op.Reads()); err != nil {
		return err
	}
	switch c.method.Op {
	case a2a.OpStream, a2a.OpSubscribe:
		if o.NoStreams {
			return &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: "This operation is not supported: the agent does not stream."}
		}
	case a2a.OpSetPush, a2a.OpGetPush, a2a.OpListPush, a2a.OpDeletePush:
		if !o.Push {
			return &a2a.Error{Code: a2a.CodePushNotSupported, Message: "Push Notification is not supported"}
		}
	}
	in := &incoming{message: c.method.Request()}
	if err := c.ss.RecvMsg(in); err != nil {
		return notReceived(err, o.MaxMessage)
	}
	if in.err != nil {
		return &a2a.Error{Code: a2a.CodeParse, Message: "The request is not the message that this method takes.", Err: in.err}
	}
	req, err := c.decode(in.message)
	if err != nil {
		return err
	}
	c.active = o.Extensions.Active(elements(c.md, extensionKeys[:]...))
	if c.method.Streams() {
		return c.stream(req)
	}
	res, view, err := c.do(req)
	if err != nil {
		return err
	}
	if err := c.echo(); err != nil {
		return err
	}
	view.Sequence = c.numbered()
	m, err := c.method.Result(res, view)
	if err != nil {
		return err
	}
	if err := c.ss.SendMsg(m); err != nil {
		return fmt.Errorf("send answer: %w", err)
	}
	return nil
}

// extensionKeys are the metadata with extensions, in 1.0 and in 0.3; either is read.
var extensionKeys = [...]string{"a2a-extensions", "x-a2a-extensions"}

// echo tells the client which extensions are active, under the names it used.
func (c *call) echo() error {
	if len(c.active) == 0 {
		return nil
	}
	md := metadata.MD{}
	for _, key := range extensionKeys {
		if len(c.md.Get(key)) > 0 {
			md.Set(key, strings.Join(c.active, ", "))
		}
	}
	if err := c.ss.SetHeader(md); err != nil {
		return fmt.Errorf("set header: %w", err)
	}
	c.ss.SetTrailer(md) // where the servers of 0.3 have it
	return nil
}

// numbered reports whether tasks and events say their number.
func (c *call) numbered() bool { return slices.Contains(c.active, a2a.ExtEventSequence) }

// notReceived is the error of a request that did not arrive. The library has answered
// it already, with the same code and no details.
func notReceived(err error, limit int) error {
	if status.Code(err) == codes.ResourceExhausted {
		return &a2a.Error{Code: a2a.CodeTooLarge, Message: fmt.Sprintf("The request message is larger than %d bytes.", limit), Err: err}
	}
	return &a2a.Error{Code: a2a.CodeInvalidRequest, Message: "The request did not arrive whole.", Err: err}
}

// do calls the engine for an operation with one answer.
func (c *call) do(req any) (res any, view a2a.View, err error) {
	e, caller, rec := c.server.o.Engine, c.rec.Caller, c.rec
	saw := func(t *a2a.Task, err error) (any, a2a.View, error) {
		if err == nil {
			rec.Saw(t)
		}
		return t, view, err
	}
	switch q := req.(type) {
	case *a2a.SendRequest:
		rec.TaskID = q.TaskID
		r, err := e.Send(c.ctx, caller, rec.Mount, q)
		if err == nil && r.Task != nil {
			rec.Saw(r.Task)
		}
		return r, q.View, err
	case *a2a.GetRequest:
		rec.TaskID, view = q.ID, q.View
		return saw(e.Get(c.ctx, caller, q))
	case *a2a.CancelRequest:
		rec.TaskID = q.ID
		return saw(e.Cancel(c.ctx, caller, q))
	case *a2a.ListRequest:
		res, err = e.List(c.ctx, caller, q)
		return res, q.View, err
	case *a2a.PushRequest:
		res, err = c.push(q)
		return res, view, err
	}
	res, err = c.server.o.ExtendedCard(access.With(c.ctx, rec), c.service.Dialect.Name)
	return res, view, err
}

// push calls the engine for an operation on push configs.
func (c *call) push(q *a2a.PushRequest) (any, error) {
	e, caller := c.server.o.Engine, c.rec.Caller
	c.rec.TaskID = q.TaskID
	switch c.method.Op {
	case a2a.OpSetPush:
		return e.SetPush(c.ctx, caller, q)
	case a2a.OpGetPush:
		return e.GetPush(c.ctx, caller, q)
	case a2a.OpListPush:
		return e.ListPush(c.ctx, caller, q)
	}
	return nil, e.DeletePush(c.ctx, caller, q)
}

// decode reads the request, and completes a send with what the metadata says.
func (c *call) decode(m proto.Message) (any, error) {
	o := &c.server.o
	req, err := c.method.Decode(m, o.Limits)
	if err != nil {
		return nil, err
	}
	q, ok := req.(*a2a.SendRequest)
	if !ok {
		return req, nil
	}
	q.MaxWait = o.MaxWait(c.service.Dialect.Name)
	q.Extensions = elements(c.md, extensionKeys[:]...)
	q.IdempotencyKey = header(c.md)("idempotency-key")
	const longest = 255
	for i := 0; i < len(q.IdempotencyKey); i++ {
		if b := q.IdempotencyKey[i]; b < ' ' || b > '~' || i >= longest {
			return nil, a2a.InvalidParams("Idempotency-Key", fmt.Sprintf("must be at most %d printable ASCII characters", longest))
		}
	}
	return q, nil
}

// elements returns the elements of comma-separated metadata.
func elements(md metadata.MD, names ...string) (list []string) {
	for _, name := range names {
		for _, line := range md.Get(name) {
			for e := range strings.SplitSeq(line, ",") {
				if e = strings.TrimSpace(e); e != "" {
					list = append(list, e)
				}
			}
		}
	}
	return list
}
