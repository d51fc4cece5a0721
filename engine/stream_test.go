package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
)

// counting counts the steps of runs that reach a store, and the snapshots in them.
type counting struct {
	taskstore.Store
	steps, snapshots atomic.Int64
}

func (c *counting) AppendAsync(a taskstore.Append, done func(error)) {
	c.steps.Add(1)
	if a.Snapshot {
		c.snapshots.Add(1)
	}
	c.Store.AppendAsync(a, done)
}

// TestEngine_coalesces: many small chunks become few commits, the first one is not
// held back for that, and the snapshot is not written again for each of them.
func TestEngine_coalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{Store: memory.New(memory.Options{})}
		r := newRig(t, store, skills.Entry{})
		id := r.start("@chunks 2000 1").ID
		reader, snapshot, err := r.Follow(t.Context(), alice.Scope, id)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		began := time.Now()
		folded := snapshot.Clone()
		for folded.Artifacts == nil {
			e, err := reader.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := folded.Apply(e.Event); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 2*time.Millisecond {
			t.Errorf("the first chunk came after %s, want at once", took)
		}
		time.Sleep(3 * time.Second)
		got := r.wantState(id, a2a.StateCompleted)
		if n := len(got.Artifacts[0].Parts); n != 2000 {
			t.Errorf("got %d parts, want 2000", n)
		}
		// Two seconds at one commit per 20 ms.
		if n := store.steps.Load(); n > 110 {
			t.Errorf("got %d commits for 2000 chunks, want about 100", n)
		}
		if n := store.snapshots.Load(); n > 16 {
			t.Errorf("got %d snapshots, want them to grow rarer", n)
		}
		r.checkLog(id)
	})
}

// TestEngine_readers_share_frames: an event is encoded once for all its readers.
func TestEngine_readers_share_frames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, skills.Entry{})
		id := r.start("@sleep 1").ID
		var encoded atomic.Int32
		done := make(chan string, 3)
		for range 3 {
			reader, _, err := r.Follow(t.Context(), alice.Scope, id)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				defer reader.Close()
				all := ""
				for {
					e, err := reader.Next(t.Context())
					if err != nil {
						t.Error(err)
						break
					}
					all += string(e.Frame("x", func(b []byte) []byte {
						encoded.Add(1)
						return fmt.Appendf(b, "%d ", e.Seq)
					}))
					if e.Status != nil && e.Status.State.Terminal() {
						break
					}
				}
				done <- all
			}()
		}
		a, b, c := <-done, <-done, <-done
		if a != b || b != c || a != "2 3 4 " {
			t.Errorf("readers saw %q, %q, %q", a, b, c)
		}
		if n := encoded.Load(); n != 3 {
			t.Errorf("encoded %d times, want once per event", n)
		}
	})
}

// TestEngine_restart_at_a_pause: what a skill saved before it asked is there after
// a restart, and so is the question.
func TestEngine_restart_at_a_pause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		first := newRig(t, store, skills.Entry{AnswerWithin: time.Hour})
		asked, ignored := first.send(message("@ask")), first.send(message("@ask"))
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := newRig(t, store, skills.Entry{AnswerWithin: time.Hour})
		time.Sleep(30 * time.Minute)
		second.wantState(asked.ID, a2a.StateInputRequired)
		reader, snapshot, err := second.Follow(t.Context(), alice.Scope, asked.ID)
		if err != nil || snapshot.Status.State != a2a.StateInputRequired {
			t.Fatalf("follow: got %+v, %v", snapshot, err)
		}
		defer reader.Close()
		answer := message("blue")
		answer.TaskID = asked.ID
		if got := second.send(answer); got.Status.State != a2a.StateCompleted || a2a.JoinText(got.Artifacts[0].Parts) != "blue" {
			t.Errorf("got %s %+v, want the answer", got.Status.State, got.Artifacts)
		}
		if e, err := reader.Next(t.Context()); err != nil || e.Message == nil {
			t.Errorf("reader: got %+v, %v; want the answer first", e, err)
		}
		second.checkLog(asked.ID)
		// The deadline of the other one is kept over the restart too.
		time.Sleep(31 * time.Minute)
		second.wantState(ignored.ID, a2a.StateFailed)
	})
}
