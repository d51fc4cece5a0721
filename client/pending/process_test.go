package pending

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

// The tests below run this test binary again as other processes. A worker reads its
// orders from its arguments, opens the registry when its input ends, and says what it
// has done line by line.

const workerEnv = "SKILLYARD_PENDING_WORKER"

func TestMain(m *testing.M) {
	role := os.Getenv(workerEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := work(role, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	workers = 5 // processes at once
	rounds  = 8 // of each
)

func work(role string, args []string) error {
	ctx := context.Background()
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	r, err := Open(ctx, Options{Path: args[0], Busy: time.Minute})
	if err != nil {
		return err
	}
	defer r.Close()
	switch role {
	case "poll": // args: path, ref, state
		_, err := r.Polled(ctx, args[1], task("task-1", a2a.State(args[2])))
		return err
	case "crowd": // args: path, name, refs of the shared entries
		for i := range rounds {
			if err := crowd(ctx, r, args[1], i, args[2:]); err != nil {
				return err
			}
		}
		return nil
	case "endless": // until it is killed
		for i := 0; ; i++ {
			e, err := r.Begin(ctx, Entry{AgentURL: agent, Prompt: fmt.Sprint(i)})
			if err != nil {
				return err
			}
			fmt.Println("begun", e.Ref)
			if _, err := r.Accepted(ctx, e.Ref, task(a2a.TaskID(e.Ref), a2a.StateWorking), nil); err != nil {
				return err
			}
			fmt.Println("accepted", e.Ref)
			if _, err := r.Polled(ctx, e.Ref, task(a2a.TaskID(e.Ref), a2a.StateCompleted)); err != nil {
				return err
			}
			fmt.Println("ended", e.Ref)
		}
	}
	return fmt.Errorf("no such role: %s", role)
}

// crowd is one round of a process among many: a task of its own that it sees to the
// end or leaves pending, the polls that all share, and one task that all begin.
func crowd(ctx context.Context, r *Registry, name string, round int, shared []string) error {
	id := a2a.TaskID(fmt.Sprintf("%s-%d", name, round))
	e, err := r.Begin(ctx, Entry{AgentURL: agent, Agent: name, Key: string(id)})
	if err != nil {
		return err
	}
	if _, err := r.Accepted(ctx, e.Ref, task(id, a2a.StateSubmitted), nil); err != nil {
		return err
	}
	state := []a2a.State{a2a.StateWorking, a2a.StateCompleted}[round%2]
	if _, err := r.Polled(ctx, e.Ref, task(id, state)); err != nil {
		return err
	}
	for i, ref := range shared {
		if _, err := r.Polled(ctx, ref, task(a2a.TaskID(fmt.Sprint("shared-", i)), a2a.StateWorking)); err != nil {
			return err
		}
	}
	same, err := r.Begin(ctx, Entry{AgentURL: agent, TaskID: "same"})
	if err != nil {
		return err
	}
	_, err = r.Failed(ctx, same.Ref, "busy")
	return err
}

// worker is one of those processes.
type worker struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Scanner
	err *strings.Builder
}

// start starts a process and waits until it is ready; it opens the registry when begin is called.
func start(t *testing.T, role string, args ...string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(os.Args[0], args...), err: new(strings.Builder)}
	w.cmd.Env = append(os.Environ(), workerEnv+"="+role)
	w.cmd.Stderr = w.err
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.in, w.out = in, bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it has ended, unless the test failed
		_ = w.cmd.Wait()
	})
	if !w.out.Scan() || w.out.Text() != "ready" {
		t.Fatalf("got %q, want ready: %s", w.out.Text(), w.err)
	}
	return w
}

func (w *worker) begin(t *testing.T) {
	t.Helper()
	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}
}

// wait returns when the process has ended well.
func (w *worker) wait(t *testing.T) {
	t.Helper()
	for w.out.Scan() {
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("worker: %v: %s", err, w.err)
	}
}

func TestA13_any_process_can_poll(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "pending.db")
	sender := openAt(t, file)
	e := sent(t, sender, "task-1")
	for _, state := range []a2a.State{a2a.StateWorking, a2a.StateCompleted} {
		w := start(t, "poll", file, e.Ref, string(state))
		w.begin(t)
		w.wait(t)
		got := must(t)(sender.Get(ctx, e.Ref))
		if got.State != state || got.Ended() != state.Terminal() {
			t.Errorf("got %+v after another process saw %s", got, state)
		}
	}
	if err := sender.Close(); err != nil {
		t.Fatal(err)
	}
	// And one that starts when all others are gone.
	got := must(t)(openAt(t, file).Find(ctx, "task-1", Filter{}))
	if got.PollCount != 2 || got.Answer == nil || got.Answer.Status.State != a2a.StateCompleted {
		t.Errorf("got %+v", got)
	}
}

func TestA14_parallel_workers(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "pending.db")
	r := openAt(t, file)
	shared := []string{sent(t, r, "shared-0").Ref, sent(t, r, "shared-1").Ref}
	same := must(t)(r.Begin(ctx, Entry{AgentURL: agent, TaskID: "same"}))
	must(t)(r.Accepted(ctx, same.Ref, task("same", a2a.StateWorking), nil))
	before, err := r.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}

	var crowd []*worker
	for i := range workers {
		crowd = append(crowd, start(t, "crowd", append([]string{file, fmt.Sprint("worker-", i)}, shared...)...))
	}
	for _, w := range crowd {
		w.begin(t)
	}
	for _, w := range crowd {
		w.wait(t)
	}

	for _, ref := range append(shared, same.Ref) {
		if got := must(t)(r.Get(ctx, ref)); got.PollCount != workers*rounds {
			t.Errorf("%s: got %d polls, want %d", got.TaskID, got.PollCount, workers*rounds)
		}
	}
	for i := range workers {
		name := fmt.Sprint("worker-", i)
		pending, err := r.Pending(ctx, Filter{Agent: name})
		if err != nil {
			t.Fatal(err)
		}
		history, err := r.History(ctx, Filter{Agent: name}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, e := range append(pending, history...) {
			got = append(got, fmt.Sprint(e.TaskID, e.Key, e.State, e.PollCount))
		}
		for _, first := range []int{rounds - 2, rounds - 1} { // even rounds are pending, odd ones ended
			for round := first; round >= 0; round -= 2 {
				id := fmt.Sprintf("%s-%d", name, round)
				want = append(want, fmt.Sprint(id, id, []a2a.State{a2a.StateWorking, a2a.StateCompleted}[round%2], 1))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if all, err := r.Pending(ctx, Filter{}); err != nil || len(all) != len(shared)+1+workers*rounds/2 {
		t.Errorf("got %d pending entries, %v", len(all), err)
	}
	const changes = 3 + 2 + 2 // of a round
	if after, err := r.Revision(ctx); err != nil || after-before != workers*rounds*changes {
		t.Errorf("got %d changes, %v, want %d", after-before, err, workers*rounds*changes)
	}
}

// TestOpen_AtOnce lets many processes make the same file.
func TestOpen_AtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "pending.db")
	var all []*worker
	for i := range workers {
		all = append(all, start(t, "crowd", file, fmt.Sprint("worker-", i)))
	}
	for _, w := range all {
		w.begin(t)
	}
	for _, w := range all {
		w.wait(t)
	}
	list, err := openAt(t, file).History(context.Background(), Filter{}, 0)
	if want := workers * rounds / 2; err != nil || len(list) != want {
		t.Errorf("got %d ended entries, %v, want %d", len(list), err, want)
	}
}

func TestKilledProcess(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "pending.db")
	r := openAt(t, file)
	said := map[string]string{} // what a process last said of each entry
	for _, lines := range []int{1, 2, 3, 20, 31} {
		w := start(t, "endless", file)
		w.begin(t)
		for n := 0; w.out.Scan(); n++ {
			step, ref, _ := strings.Cut(w.out.Text(), " ")
			said[ref] = step
			if n+1 == lines {
				if err := w.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.cmd.Wait(); err == nil {
			t.Fatal("the worker ended by itself")
		}

		// What was said is so; a step more may have been done and not said.
		rank := map[string]int{"": 0, "begun": 1, "accepted": 2, "ended": 3}
		pending, err := r.Pending(ctx, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		history, err := r.History(ctx, Filter{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		ahead := 0
		all := append(pending, history...)
		found := map[string]bool{}
		for _, e := range all {
			found[e.Ref] = true
			is := "accepted"
			if e.Sending() {
				is = "begun"
			} else if e.Ended() {
				is = "ended"
			}
			d := rank[is] - rank[said[e.Ref]]
			if d < 0 {
				t.Errorf("%s was said to be %s and is %s", e.Ref, said[e.Ref], is)
			}
			ahead += d
			said[e.Ref] = is // the next round starts from here
		}
		if ahead > 1 {
			t.Errorf("got %d steps that nobody was told of, want 1 at most", ahead)
		}
		for ref := range said {
			if !found[ref] {
				t.Errorf("%s is lost", ref)
			}
		}
		var health string
		if err := r.db.QueryRow(`PRAGMA integrity_check`).Scan(&health); err != nil || health != "ok" {
			t.Errorf("got %q, %v", health, err)
		}
		sent(t, r, a2a.TaskID(fmt.Sprint("after-", lines))) // it can be written
		list, err := r.Pending(ctx, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		said[list[0].Ref] = "accepted"
	}
	var sending int
	for _, step := range said {
		if step == "begun" {
			sending++
		}
	}
	t.Logf("%d entries, %d still sending", len(said), sending)
}
