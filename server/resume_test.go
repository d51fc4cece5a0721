package server_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skillyard/skillyard/a2a"
)

// TestBindings_Resume: a client that names the last event it has gets what follows, on
// every binding the same; also of a task that has ended meanwhile.
func TestBindings_Resume(t *testing.T) {
	c := grpcProbe(t)
	resume := func(l *tongue, task, after string) got {
		t.Helper()
		return l.ask(c, a2a.OpSubscribe, ask{task: task, headers: []string{"Last-Event-ID: " + after}})
	}
	ended := func(l *tongue) string { return l.ask(c, a2a.OpSend, ask{text: "@chunks 3 1"}).Tasks[0].ID }
	paused := func(l *tongue) string { return l.ask(c, a2a.OpSend, ask{text: "@ask"}).Tasks[0].ID }
	first := ended(tongues[0])
	all := resume(tongues[0], first, "0").Events
	if len(all) != 6 || all[0] != "state submitted" || all[5] != "state completed" {
		t.Fatalf("from the beginning: got %q, want all six events", all)
	}
	for _, l := range tongues {
		task := ended(l)
		for after := range all {
			if d := cmp.Diff(got{Events: all[after:], Status: l.status(0)}, resume(l, task, fmt.Sprint(after))); d != "" {
				t.Errorf("%s after event %d (-want +got):\n%s", l.name, after, d)
			}
		}
		// Who has all of it is told so, as is who has none.
		plain := l.ask(c, a2a.OpSubscribe, ask{task: task})
		for _, after := range []string{"6", "7", "-1", "x"} {
			if d := cmp.Diff(plain, resume(l, task, after)); d != "" {
				t.Errorf("%s after event %s of an ended task (-without +got):\n%s", l.name, after, d)
			}
		}
		if l.shape != shapeV1 { // in 1.0 a subscription at a pause stays open
			task = paused(l)
			if g := resume(l, task, "2"); !slices.Equal(g.Events, []string{"state input-required"}) {
				t.Errorf("%s: got %q, want the pause", l.name, g.Events)
			}
		}
		if g := resume(l, "00000000-0000-4000-8000-00000000dead", "1"); g.Code != -32001 {
			t.Errorf("%s: got error %d for an unknown task, want -32001", l.name, g.Code)
		}
	}
}

// sequence is the number of an event that a client reads in its metadata.
func sequence(m *a2apb.StreamResponse) int64 {
	for _, s := range []*structpb.Struct{m.GetTask().GetMetadata(), m.GetStatusUpdate().GetMetadata(), m.GetArtifactUpdate().GetMetadata()} {
		if n := s.GetFields()[a2a.ExtEventSequence].GetStructValue().GetFields()["sequence"]; n != nil {
			return int64(n.GetNumberValue())
		}
	}
	return 0
}

// TestGRPC_Resume: a stream that broke off is taken up on another connection, by the
// numbers that the client has read; nothing is missing and nothing there twice.
func TestGRPC_Resume(t *testing.T) {
	c := grpcProbe(t)
	numbered := "A2A-Extensions: " + a2a.ExtEventSequence
	ctx, breakOff := context.WithCancel(with(t, alice, numbered))
	st := must[grpcStream](t)(stub(t, c.Server).SendStreamingMessage(ctx, asks("@chunks 20 20")))
	var seen []*a2apb.StreamResponse
	for len(seen) < 5 {
		seen = append(seen, must[*a2apb.StreamResponse](t)(st.Recv()))
	}
	breakOff()
	id, last := seen[0].GetTask().GetId(), sequence(seen[4])
	g := stub(t, c.Server)
	resume := func(after int64) []*a2apb.StreamResponse {
		t.Helper()
		ctx := with(t, alice, numbered, fmt.Sprint("Last-Event-ID: ", after))
		return drain(t, must[grpcStream](t)(g.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: id})))
	}
	seen = append(seen, resume(last)...)
	for i, m := range seen {
		if sequence(m) != int64(i+1) {
			t.Errorf("message %d: got event %d: %v", i, sequence(m), m)
		}
	}
	whole := resume(0)
	if len(seen) != 23 || len(whole) != len(seen) {
		t.Fatalf("got %d events, and %d of the whole log; want 23", len(seen), len(whole))
	}
	for i := range whole {
		if !proto.Equal(whole[i], seen[i]) {
			t.Errorf("event %d differs when it is read again:\n%v\n%v", i+1, seen[i], whole[i])
		}
	}
	_, err := must[grpcStream](t)(g.SubscribeToTask(with(t, alice, "Last-Event-ID: 23"), &a2apb.SubscribeToTaskRequest{Id: id})).Recv()
	wantGRPC(t, err, codes.FailedPrecondition, "UNSUPPORTED_OPERATION")
	_, err = must[grpcStream](t)(g.SubscribeToTask(with(t, bob, "Last-Event-ID: 1"), &a2apb.SubscribeToTaskRequest{Id: id})).Recv()
	if status.Code(err) != codes.NotFound {
		t.Errorf("somebody else's task: got %v, want NOT_FOUND", err)
	}
}
