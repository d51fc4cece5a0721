package grpcapi

import (
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// codec is the library's codec for messages, with two things more: an event that was
// encoded for another client is sent as it is, and a request that cannot be decoded is
// ours to answer.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

// frame is an encoded message.
type frame []byte

// incoming is a message to decode into, and how that went.
type incoming struct {
	message proto.Message
	err     error
}

// Marshal encodes v. Frames are shared and not copied; nothing ever changes them.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(frame); ok {
		return mem.BufferSlice{mem.SliceBuffer(f)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal decodes into v.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if in, ok := v.(*incoming); ok {
		in.err = c.CodecV2.Unmarshal(data, in.message)
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}
