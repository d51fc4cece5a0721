package server_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

type grpcStream = grpc.ServerStreamingClient[a2apb.StreamResponse]

// follow opens a subscription, whose first message has to be the task.
func follow(t testing.TB, g a2apb.A2AServiceClient, id string) (grpcStream, *a2apb.Task) {
	t.Helper()
	st := must[grpcStream](t)(g.SubscribeToTask(with(t, alice), &a2apb.SubscribeToTaskRequest{Id: id}))
	first := must[*a2apb.StreamResponse](t)(st.Recv())
	if first.GetTask().GetId() != id {
		t.Fatalf("got %v, want the task first", first)
	}
	return st, first.GetTask()
}

// drain reads a stream to its end, which has to be a proper one.
func drain(t testing.TB, st grpcStream) (all []*a2apb.StreamResponse) {
	t.Helper()
	for {
		m, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("after %d messages: %v", len(all), err)
		}
		all = append(all, m)
	}
}

// words is what a stream's messages say, in short.
func words(all []*a2apb.StreamResponse) string {
	var w []string
	for _, m := range all {
		switch {
		case m.GetTask() != nil:
			w = append(w, "task")
		case m.GetStatusUpdate() != nil:
			w = append(w, strings.ToLower(strings.TrimPrefix(m.GetStatusUpdate().GetStatus().GetState().String(), "TASK_STATE_")))
		case m.GetArtifactUpdate() != nil:
			w = append(w, m.GetArtifactUpdate().GetArtifact().GetParts()[0].GetText())
		}
	}
	return strings.Join(w, " ")
}

func TestGRPC_Stream(t *testing.T) {
	c := grpcProbe(t)
	g := stub(t, c.Server)
	all := drain(t, must[grpcStream](t)(g.SendStreamingMessage(with(t, alice), asks("@chunks 3 1"))))
	if got := words(all); got != "task working chunk-1  chunk-2  chunk-3  completed" {
		t.Errorf("got %q", got)
	}
	id := all[0].GetTask().GetId()
	for i, m := range all[1:] {
		if u := m.GetArtifactUpdate(); u != nil && (u.GetTaskId() != id || u.GetAppend() != (i > 1) || u.GetLastChunk() != (i == 3)) {
			t.Errorf("chunk %d: got %v", i, u)
		}
	}
	sameTask(t, c, must[*a2apb.Task](t)(g.GetTask(with(t, alice), &a2apb.GetTaskRequest{Id: id})))
	if got := words(drain(t, must[grpcStream](t)(g.SendStreamingMessage(with(t, alice), asks("@fail"))))); !strings.HasSuffix(got, "failed") {
		t.Errorf("got %q, want it to end with failed", got)
	}

	_, err := must[grpcStream](t)(stub(t, grpcProbe(t, func(c *configs.Config) { c.Stream.Enabled = false }).Server).SendStreamingMessage(with(t, alice), asks("x"))).Recv()
	wantGRPC(t, err, codes.FailedPrecondition, "UNSUPPORTED_OPERATION")
}

// TestGRPC_Stream_Pause: the stream of a send ends at a question, a subscription at
// the end of the task.
func TestGRPC_Stream_Pause(t *testing.T) {
	c := grpcProbe(t)
	g := stub(t, c.Server)
	all := drain(t, must[grpcStream](t)(g.SendStreamingMessage(with(t, alice), asks("@ask"))))
	if got := words(all); got != "task working input_required" {
		t.Errorf("got %q, want the end at the question", got)
	}
	id := all[0].GetTask().GetId()
	st, task := follow(t, stub(t, c.Server), id)
	if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
		t.Errorf("got %v, want the question", task.GetStatus())
	}
	answer := asks("blue")
	answer.Message.TaskId = id
	must[*a2apb.SendMessageResponse](t)(g.SendMessage(with(t, alice), answer))
	if got := words(drain(t, st)); got != "working blue completed" {
		t.Errorf("got %q, want the rest of the task", got)
	}
	// While it waits for authorisation both stay open.
	st = must[grpcStream](t)(g.SendStreamingMessage(with(t, alice), asks("@auth")))
	for {
		m := must[*a2apb.StreamResponse](t)(st.Recv())
		if m.GetTask() != nil {
			id = m.GetTask().GetId()
		}
		if m.GetStatusUpdate().GetStatus().GetState() == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED {
			break
		}
	}
	done := asks("signed in")
	done.Message.TaskId = id
	must[*a2apb.SendMessageResponse](t)(g.SendMessage(with(t, alice), done))
	if got := words(drain(t, st)); got != "working signed in completed" {
		t.Errorf("got %q, want the rest of the task", got)
	}
}

// TestGRPC_Subscribe: all readers see the same, and the task canceled from elsewhere.
func TestGRPC_Subscribe(t *testing.T) {
	c := grpcProbe(t)
	g := stub(t, c.Server)
	id := begin(t, g, "@hang")
	c.until(id, "TASK_STATE_WORKING")
	var readers sync.WaitGroup
	for range 3 {
		st, _ := follow(t, stub(t, c.Server), id)
		readers.Go(func() {
			if got := words(drain(t, st)); got != "canceled" {
				t.Errorf("got %q, want canceled", got)
			}
		})
	}
	must[*a2apb.Task](t)(stub(t, c.Server).CancelTask(with(t, alice), &a2apb.CancelTaskRequest{Id: id}))
	readers.Wait()
}

func TestGRPC_Stream_Limit(t *testing.T) {
	c := grpcProbe(t, func(c *configs.Config) { c.Limits.Streams = 2 })
	g := stub(t, c.Server)
	id := begin(t, g, "@hang")
	follow(t, g, id)
	follow(t, g, id)
	_, err := must[grpcStream](t)(g.SubscribeToTask(with(t, alice), &a2apb.SubscribeToTaskRequest{Id: id})).Recv()
	st := wantGRPC(t, err, codes.ResourceExhausted, "RATE_LIMITED")
	if detail[*errdetails.RetryInfo](st) == nil {
		t.Errorf("got %v, want RetryInfo", st.Details())
	}
	must[*a2apb.Task](t)(g.CancelTask(with(t, alice), &a2apb.CancelTaskRequest{Id: id}))
	eventually(t, "the places are free again", func() bool {
		_, err := must[grpcStream](t)(g.SendStreamingMessage(with(t, alice), asks("@echo x"))).Recv()
		return err == nil
	})
}

// TestGRPC_Stream_Slow: who does not read loses the stream; the task and the other
// readers do not notice.
func TestGRPC_Stream_Slow(t *testing.T) {
	log := &logWatch{want: "does not keep up", seen: make(chan struct{})}
	s := servertest.New(t, servertest.Options{YAML: probeYAML(t), Log: log, Edit: func(c *configs.Config) {
		withGRPC(c)
		c.Store.Kind, c.Stream.WriteTimeout = "memory", time.Second
	}})
	// Fixed windows: the client takes 64 KiB, however fast it could.
	slow := a2apb.NewA2AServiceClient(dial(t, s, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(1<<20)))
	st := must[grpcStream](t)(slow.SendStreamingMessage(with(t, alice), asks("@burst 60 50000")))
	id := must[*a2apb.StreamResponse](t)(st.Recv()).GetTask().GetId()
	g := stub(t, s)
	if other, err := g.SubscribeToTask(with(t, alice), &a2apb.SubscribeToTaskRequest{Id: id}); err == nil {
		for err == nil {
			_, err = other.Recv()
		}
		// It may have ended before that.
		if code := status.Code(err); !errors.Is(err, io.EOF) && code != codes.FailedPrecondition {
			t.Errorf("another reader: %v", err)
		}
	}
	select {
	case <-log.seen:
	case <-time.After(15 * time.Second):
		t.Error("the slow reader was not cut off")
	}
	task := must[*a2apb.Task](t)(g.GetTask(with(t, alice), &a2apb.GetTaskRequest{Id: id}))
	if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED || len(task.GetArtifacts()[0].GetParts()) != 60 {
		t.Errorf("got %v with %d parts, want the whole task", task.GetStatus().GetState(), len(task.GetArtifacts()[0].GetParts()))
	}
}

// TestGRPC_Stop: a server that stops tells its readers to come back, whatever else
// its clients have open.
func TestGRPC_Stop(t *testing.T) {
	c := grpcProbe(t, func(c *configs.Config) { c.Server.ShutdownTimeout = 300 * time.Millisecond })
	conn := dial(t, c.Server)
	g := a2apb.NewA2AServiceClient(conn)
	id := begin(t, g, "@hang")
	st, _ := follow(t, g, id)
	health := must[grpc.ServerStreamingClient[healthpb.HealthCheckResponse]](t)(healthpb.NewHealthClient(conn).Watch(with(t), &healthpb.HealthCheckRequest{}))
	must[*healthpb.HealthCheckResponse](t)(health.Recv())
	blocked := make(chan error, 1)
	go func() {
		r, err := g.SendMessage(with(t, alice), asks("@sleep 60"))
		if err == nil && r.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_WORKING {
			err = errors.New(r.String())
		}
		blocked <- err
	}()
	eventually(t, "both work", func() bool {
		l := must[*a2apb.ListTasksResponse](t)(g.ListTasks(with(t, alice), &a2apb.ListTasksRequest{Status: a2apb.TaskState_TASK_STATE_WORKING}))
		return l.GetTotalSize() == 2
	})
	// Somebody has connected and says nothing, somebody else not enough.
	for _, said := range []string{"", "PRI * HT"} {
		raw := must[net.Conn](t)(net.Dial("tcp", c.App.GRPCAddr()))
		defer raw.Close() //nolint:errcheck // a test
		if _, err := raw.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	c.Stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stop took %s", took)
	}
	var err error
	for err == nil {
		_, err = st.Recv()
	}
	end := wantGRPC(t, err, codes.Unavailable, "UNAVAILABLE")
	if retry := detail[*errdetails.RetryInfo](end); retry.GetRetryDelay().AsDuration() != 2*time.Second {
		t.Errorf("got %v, want to come back after 2 s", retry)
	}
	if err := <-blocked; err != nil {
		t.Errorf("blocking call: got %v, want the task at work", err)
	}
	last := healthpb.HealthCheckResponse_UNKNOWN
	for {
		r, err := health.Recv()
		if err != nil {
			break
		}
		last = r.GetStatus()
	}
	if last != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got health %s, want NOT_SERVING", last)
	}
}
