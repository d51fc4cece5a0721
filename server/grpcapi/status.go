package grpcapi

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/wire"
)

// statusOf is the status that answers an error to a client of the dialect: the code of
// the one table, with an ErrorInfo (A2A 1.0 §10.6) and, where there is something to say
// in them, a BadRequest and a RetryInfo.
func statusOf(d *wire.Dialects, x *wire.Dialect, err error) *status.Status {
	if err == nil {
		return status.New(codes.OK, "")
	}
	e := a2a.AsError(err)
	s := d.StatusOf(x, e)
	info := &errdetails.ErrorInfo{Reason: s.Reason, Domain: wire.ErrorDomain}
	for k, v := range e.Details {
		if info.Metadata == nil {
			info.Metadata = make(map[string]string, len(e.Details))
		}
		info.Metadata[k] = wire.ValidText(v)
	}
	details := []protoadapt.MessageV1{info}
	if len(e.Fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, f := range e.Fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field: wire.ValidText(f.Field), Description: wire.ValidText(f.Description),
			})
		}
		details = append(details, bad)
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	st := status.New(codes.Code(s.Code), wire.ValidText(s.Message))
	// These details always encode; without them the code still says enough.
	if with, err := st.WithDetails(details...); err == nil {
		return with
	}
	return st
}
