package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/server/access"
	"github.com/skillyard/skillyard/server/binding"
	"github.com/skillyard/skillyard/wire"
	"github.com/skillyard/skillyard/wire/pb"
)

// call is one call under way.
type call struct {
	server *Server
	method *pb.Method
	ss     grpc.ServerStream
	ctx    context.Context
	rec    *access.Record
	binding.Call
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
	c := &call{server: s, method: m, ss: ss, ctx: ctx, rec: s.o.Record(addr, md)}
	c.Call = binding.Call{Op: m.Op, Dialect: svc.Dialect, Meta: meta(md), Decode: c.receive}
	c.rec.Method = m.Name
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).
				Str("request_id", c.rec.RequestID).Msg("request panicked")
			err = &a2a.Error{Code: a2a.CodeInternal, Message: "internal error"}
		}
		st := statusOf(s.o.Binding.Dialects, svc.Dialect, err)
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
	return c.answer(svc)
}

// answer finds out who calls, reads the request and does what it asks for.
func (c *call) answer(svc *pb.Service) error {
	o := &c.server.o
	if err := o.Identify(c.rec, c.Meta); err != nil {
		return err
	}
	if e := o.Binding.Dialects.Accepts(c.Dialect, access.First(c.Meta, "A2A-Version")); e != nil {
		return e
	}
	if err := o.Binding.Allow(c.rec, c.Op.Reads()); err != nil {
		return err
	}
	if c.method.Streams() {
		return c.stream(svc)
	}
	res, view, active, err := o.Binding.Perform(c.ctx, c.rec, &c.Call)
	if err != nil {
		return err
	}
	m, err := c.method.Result(res, view)
	if err != nil {
		return err
	}
	if err := c.echo(active); err != nil {
		return err
	}
	if err := c.ss.SendMsg(m); err != nil {
		return fmt.Errorf("send answer: %w", err)
	}
	return nil
}

// receive reads the request. Nothing of it is taken before the caller may call.
func (c *call) receive(lim wire.Limits) (any, error) {
	in := &incoming{message: c.method.Request()}
	if err := c.ss.RecvMsg(in); err != nil {
		return nil, notReceived(err, c.server.o.MaxMessage)
	}
	if in.err != nil {
		return nil, &a2a.Error{Code: a2a.CodeParse, Message: "The request is not the message that this method takes.", Err: in.err}
	}
	return c.method.Decode(in.message, lim)
}

// echo tells the client which extensions are active: in the header, and in the trailer,
// where the servers of 0.3 have it.
func (c *call) echo(active []string) error {
	md := metadata.MD{}
	access.EchoExtensions(c.Meta, active, func(name, value string) { md.Set(name, value) })
	if len(md) == 0 {
		return nil
	}
	if err := c.ss.SetHeader(md); err != nil {
		return fmt.Errorf("set header: %w", err)
	}
	c.ss.SetTrailer(md)
	return nil
}

// notReceived is the error of a request that did not arrive. The library has answered
// it already, with the same code and no details.
func notReceived(err error, limit int) error {
	if status.Code(err) == codes.ResourceExhausted {
		return &a2a.Error{Code: a2a.CodeTooLarge, Message: fmt.Sprintf("The request message is larger than %d bytes.", limit), Err: err}
	}
	return &a2a.Error{Code: a2a.CodeInvalidRequest, Message: "The request did not arrive whole.", Err: err}
}
