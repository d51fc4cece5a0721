package server_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/configs"
)

// TestGRPC_Callers: who may use what holds for gRPC as for everything else.
func TestGRPC_Callers(t *testing.T) {
	c := grpcProbe(t, shared(t))
	s := stub(t, c.Server)
	for key, want := range map[string]string{alice: "probe weekly_report list_board list_boards list_workspaces", bob: "probe list_board"} {
		card, err := s.GetExtendedAgentCard(with(t, key), &a2apb.GetExtendedAgentCardRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, skill := range card.GetSkills() {
			ids = append(ids, skill.GetId())
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("extended card for %s: got %s, want %s", key, got, want)
		}
	}
	req := asks("x")
	req.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{"skillId": structpb.NewStringValue("weekly_report")}}
	res, err := s.SendMessage(with(t, bob), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.GetTask().GetStatus().GetMessage().GetParts()[0].GetText(); got != `unknown skillId "weekly_report"; available skills: list_board, probe` {
		t.Errorf("got %q", got)
	}
	strangers := stub(t, grpcProbe(t, shared(t), func(cfg *configs.Config) { cfg.Auth.Required = "false" }).Server)
	if _, err := strangers.GetExtendedAgentCard(with(t), &a2apb.GetExtendedAgentCardRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("extended card without a key: got %v, want UNAUTHENTICATED", err)
	}
}

func TestGRPC_Extensions(t *testing.T) {
	c := grpcProbe(t, requiring)
	s := stub(t, c.Server)
	if _, err := s.SendMessage(with(t, alice), asks("@echo x")); status.Code(err) != codes.FailedPrecondition && status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "https://ex/req") {
		t.Errorf("without the required extension: got %v", err)
	}
	want(t, c.v1("ListTasks", `{}`), 0, "result", "totalSize")
	asked := "A2A-Extensions: https://ex/unknown, " + a2a.ExtEventSequence + ", https://ex/req"
	active := a2a.ExtEventSequence + ", https://ex/req"
	var header metadata.MD
	res, err := s.SendMessage(with(t, alice, asked), asks("@extensions"), grpc.Header(&header))
	if err != nil {
		t.Fatal(err)
	}
	if got := header.Get("a2a-extensions"); len(got) != 1 || got[0] != active {
		t.Errorf("got echo %v, want %s", got, active)
	}
	number := func(m *structpb.Struct) int64 {
		return int64(m.GetFields()[a2a.ExtEventSequence].GetStructValue().GetFields()["sequence"].GetNumberValue())
	}
	if got := res.GetTask().GetArtifacts()[0].GetParts()[0].GetText(); got != strings.ReplaceAll(active, ", ", "\n") || number(res.GetTask().GetMetadata()) < 2 {
		t.Errorf("the skill saw %q, and the task has number %d", got, number(res.GetTask().GetMetadata()))
	}
	stream, err := s.SendStreamingMessage(with(t, alice, asked), asks("@chunks 3 1"))
	if err != nil {
		t.Fatal(err)
	}
	if h, err := stream.Header(); err != nil || strings.Join(h.Get("a2a-extensions"), "") != active {
		t.Errorf("stream: got echo %v, %v", h, err)
	}
	last := int64(0)
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n := number(m.GetTask().GetMetadata()) + number(m.GetStatusUpdate().GetMetadata()) + number(m.GetArtifactUpdate().GetMetadata())
		if n <= last {
			t.Errorf("got number %d after %d: %v", n, last, m)
		}
		last = n
	}
	if last < 4 {
		t.Errorf("the last number is %d", last)
	}
}

func TestGRPC_Card(t *testing.T) {
	c := probe(t, func(cfg *configs.Config) {
		cfg.GRPC.Addr, cfg.GRPC.PublicAddr = "127.0.0.1:0", "agents.example.com:443"
	})
	a := c.Do("GET", cardPath, "", v10)
	want(t, a, "GRPC", "supportedInterfaces", 2, "protocolBinding")
	want(t, a, "agents.example.com:443", "supportedInterfaces", 2, "url")
	want(t, a, "1.0", "supportedInterfaces", 2, "protocolVersion")
	want(t, a, "GRPC", "supportedInterfaces", 5, "protocolBinding")
	want(t, a, "0.3", "supportedInterfaces", 5, "protocolVersion")
	want(t, c.Do("GET", "/skills/probe"+cardPath, "", v10), nil, "supportedInterfaces", 4) // a skill has no gRPC of its own
	a = c.Do("GET", cardPath, "", "A2A-Version: 0.3")
	want(t, a, "GRPC", "additionalInterfaces", 2, "transport")
	want(t, a, "agents.example.com:443", "additionalInterfaces", 2, "url")
	if a := grpcProbe(t).Do("GET", cardPath, "", v10); strings.Contains(string(a.Body), "GRPC") {
		t.Errorf("a port that nobody can know is on the card: %s", clip(a.Body))
	}
}
