package server_test

import (
	"errors"
	"io"
	"testing"

	a2apb03 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/skillyard/skillyard/a2a"
)

func stub03(t testing.TB, c *client) a2apb03.A2AServiceClient {
	t.Helper()
	return a2apb03.NewA2AServiceClient(dial(t, c.Server))
}

// asks03 is the request of a send with one text.
func asks03(text string) *a2apb03.SendMessageRequest {
	return &a2apb03.SendMessageRequest{Request: &a2apb03.Message{
		MessageId: uuid.NewString(), Role: a2apb03.Role_ROLE_USER, Parts: []*a2apb03.Part{{Part: &a2apb03.Part_Text{Text: text}}},
	}}
}

// TestGRPC03_Blocking: a call without a configuration waits; one with a configuration
// waits if it says so, for messages leave out what is false.
func TestGRPC03_Blocking(t *testing.T) {
	g := stub03(t, grpcProbe(t))
	send := func(c *a2apb03.SendMessageConfiguration) a2apb03.TaskState {
		t.Helper()
		q := asks03("@sleep 0.3")
		q.Configuration = c
		return must[*a2apb03.SendMessageResponse](t)(g.SendMessage(with(t, alice), q)).GetTask().GetStatus().GetState()
	}
	for _, c := range []*a2apb03.SendMessageConfiguration{nil, {Blocking: true}} {
		if got := send(c); got != a2apb03.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("configuration %v: got %s, want the end", c, got)
		}
	}
	if got := send(&a2apb03.SendMessageConfiguration{}); got == a2apb03.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("empty configuration: got %s, want it to be at work", got)
	}
}

// TestGRPC03_Stream: an event is final where the stream ends, which is at a pause too.
func TestGRPC03_Stream(t *testing.T) {
	g := stub03(t, grpcProbe(t))
	for text, last := range map[string]a2apb03.TaskState{
		"@echo x": a2apb03.TaskState_TASK_STATE_COMPLETED, "@fail": a2apb03.TaskState_TASK_STATE_FAILED,
		"@ask": a2apb03.TaskState_TASK_STATE_INPUT_REQUIRED, "@auth": a2apb03.TaskState_TASK_STATE_AUTH_REQUIRED,
	} {
		st := must[grpc.ServerStreamingClient[a2apb03.StreamResponse]](t)(g.SendStreamingMessage(with(t, alice), asks03(text)))
		var end *a2apb03.TaskStatusUpdateEvent
		for {
			m, err := st.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if end.GetFinal() {
				t.Errorf("%s: got %v after the final event", text, m)
			}
			end = m.GetStatusUpdate()
		}
		if !end.GetFinal() || end.GetStatus().GetState() != last {
			t.Errorf("%s: got %v at the end, want a final %s", text, end, last)
		}
	}
}

// TestGRPC03_CancelTwice: in 0.3 a canceled task cannot be canceled again.
func TestGRPC03_CancelTwice(t *testing.T) {
	g := stub03(t, grpcProbe(t))
	q := asks03("@hang")
	q.Configuration = &a2apb03.SendMessageConfiguration{}
	name := "tasks/" + must[*a2apb03.SendMessageResponse](t)(g.SendMessage(with(t, alice), q)).GetTask().GetId()
	task := must[*a2apb03.Task](t)(g.CancelTask(with(t, alice), &a2apb03.CancelTaskRequest{Name: name}))
	if got := task.GetStatus().GetState(); got != a2apb03.TaskState_TASK_STATE_CANCELLED {
		t.Errorf("got %s, want canceled", got)
	}
	_, err := g.CancelTask(with(t, alice), &a2apb03.CancelTaskRequest{Name: name})
	wantGRPC(t, err, codes.FailedPrecondition, "TASK_NOT_CANCELABLE")
}

// TestGRPC03_Metadata: the version and the extensions, which clients of 0.3 ask for by a
// name of their own and look for in the trailer.
func TestGRPC03_Metadata(t *testing.T) {
	g := stub03(t, grpcProbe(t))
	for _, v := range []string{"0.3", "0.3.0"} {
		if _, err := g.SendMessage(with(t, alice, "A2A-Version: "+v), asks03("@echo x")); err != nil {
			t.Errorf("version %s: %v", v, err)
		}
	}
	for _, v := range []string{"1.0", "0.2", "junk"} {
		_, err := g.SendMessage(with(t, alice, "A2A-Version: "+v), asks03("@echo x"))
		wantGRPC(t, err, codes.InvalidArgument, "INVALID_REQUEST")
	}
	for _, key := range []string{"x-a2a-extensions", "a2a-extensions"} {
		var header, trailer metadata.MD
		r := must[*a2apb03.SendMessageResponse](t)(g.SendMessage(with(t, alice, key+": https://ex/unknown, "+a2a.ExtEventSequence), asks03("@echo x"),
			grpc.Header(&header), grpc.Trailer(&trailer)))
		for where, md := range map[string]metadata.MD{"header": header, "trailer": trailer} {
			if got := md.Get(key); len(got) != 1 || got[0] != a2a.ExtEventSequence {
				t.Errorf("%s: got %v in the %s, want %s", key, got, where, a2a.ExtEventSequence)
			}
		}
		if r.GetTask().GetMetadata().GetFields()[a2a.ExtEventSequence] == nil {
			t.Errorf("%s: got %v, want the event's number", key, r.GetTask().GetMetadata())
		}
	}
}

func TestGRPC03_Card(t *testing.T) {
	card := must[*a2apb03.AgentCard](t)(stub03(t, grpcProbe(t, withExtendedCard)).GetAgentCard(with(t, alice), &a2apb03.GetAgentCardRequest{}))
	if len(card.GetSkills()) != 5 || card.GetPreferredTransport() != "JSONRPC" || !card.GetSupportsAuthenticatedExtendedCard() {
		t.Errorf("got %v, want the card with five skills", card)
	}
	if got := card.GetSecuritySchemes()["apiKey"].GetApiKeySecurityScheme(); got.GetName() != "X-API-Key" || got.GetLocation() != "header" {
		t.Errorf("got scheme %v, want the header", got)
	}
	if len(card.GetSecurity()) != 2 || card.GetSecurity()[0].GetSchemes()["apiKey"] == nil {
		t.Errorf("got security %v, want a key", card.GetSecurity())
	}
	_, err := stub03(t, grpcProbe(t)).GetAgentCard(with(t, alice), &a2apb03.GetAgentCardRequest{})
	wantGRPC(t, err, codes.Unimplemented, "EXTENDED_AGENT_CARD_NOT_CONFIGURED")
}
