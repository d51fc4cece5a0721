package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// Bench measures a store on the work that a server gives it.
func Bench(b *testing.B, open OpenFunc) {
	for _, workers := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("Lifecycle/%d", workers), func(b *testing.B) {
			s := open(b)
			defer s.Close()
			b.ResetTimer()
			Lifecycles(b, s, workers, b.N).Report(b, "")
		})
	}
	b.Run("GetBesideWriters", func(b *testing.B) { benchGet(b, open) })
	for _, chunks := range []int{500, 2000, 8000} {
		b.Run(fmt.Sprintf("Chunks/%d", chunks), func(b *testing.B) { benchChunks(b, open, chunks) })
	}
	b.Run("List", func(b *testing.B) { benchList(b, open) })
}

// Measured is the outcome of Lifecycles.
type Measured struct {
	PerSecond float64
	P50, P99  time.Duration
}

// Report adds the figures to the benchmark's metrics.
func (m Measured) Report(b *testing.B, prefix string) {
	b.ReportMetric(m.PerSecond, prefix+"tasks/s")
	b.ReportMetric(float64(m.P50.Microseconds()), prefix+"p50-us")
	b.ReportMetric(float64(m.P99.Microseconds()), prefix+"p99-us")
}

// Lifecycles runs n tasks through the store by the given number of workers. A
// life is two durable steps: a Submit that is born leased, and one append with
// working, the artifact and completed.
func Lifecycles(t testing.TB, s taskstore.Store, workers, n int) Measured {
	t.Helper()
	var next atomic.Int64
	var mu sync.Mutex
	took := make([]time.Duration, 0, n) // guarded by mu
	var wg sync.WaitGroup
	begin := time.Now()
	for range workers {
		wg.Go(func() {
			var mine []time.Duration
			for next.Add(1) <= int64(n) {
				at := time.Now()
				if err := life(s); err != nil {
					t.Error(err)
					return
				}
				mine = append(mine, time.Since(at))
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	m := Measured{PerSecond: float64(n) / time.Since(begin).Seconds()}
	if slices.Sort(took); len(took) > 0 {
		m.P50, m.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	return m
}

// benchTask returns the first event of a task of about the size of a real one.
func benchTask() a2a.Event {
	id := uuid.Must(uuid.NewV7()).String()
	return a2a.Event{Seq: 1, At: a2a.Now(), Created: &a2a.Task{
		ID: a2a.TaskID(id), ContextID: a2a.ContextID(uuid.Must(uuid.NewV7()).String()), Skill: "echo", SkillSource: "default", Dialect: "1.0",
		Status:  a2a.Status{State: a2a.StateSubmitted},
		History: []a2a.Message{{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(strings.Repeat("question ", 20))}}},
	}}
}

func life(s taskstore.Store) error {
	task, lease, err := submit(s)
	if err != nil {
		return err
	}
	events := stamp(task, []a2a.Event{
		a2a.StatusEvent(a2a.StateWorking, nil),
		artifact("artifact-1", strings.Repeat("answer ", 60)),
		a2a.StatusEvent(a2a.StateCompleted, a2a.AgentText("m", "done")),
	})
	if err := task.Fold(events); err != nil {
		return err
	}
	return wait(s, taskstore.Append{Lease: lease, Events: events, Task: task, Snapshot: true, Run: taskstore.RunEnded})
}

// submit stores a new task and returns a copy of it to go on with.
func submit(s taskstore.Store) (*a2a.Task, taskstore.Lease, error) {
	e := benchTask()
	task := new(a2a.Task)
	if err := task.Apply(e); err != nil {
		return nil, taskstore.Lease{}, err
	}
	run := running()
	run.Until = e.At.Add(time.Minute)
	got, err := s.Submit(context.Background(), taskstore.Submission{Scope: alice, Task: task, Events: []a2a.Event{e}, Run: run})
	if err != nil {
		return nil, taskstore.Lease{}, err
	}
	return got.Task.Clone(), got.Lease, nil
}

func wait(s taskstore.Store, a taskstore.Append) error {
	done := make(chan error, 1)
	s.AppendAsync(a, func(err error) { done <- err })
	return <-done
}

// benchGet reads single tasks while 32 writers keep the store busy.
func benchGet(b *testing.B, open OpenFunc) {
	s := open(b)
	defer s.Close()
	var ids []a2a.TaskID
	for range 200 {
		task, _, err := submit(s)
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, task.ID)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := life(s); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	took := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		at := time.Now()
		if _, err := s.Task(context.Background(), alice, ids[i%len(ids)]); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(at))
	}
	b.StopTimer()
	close(stop)
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

// benchChunks streams chunks into a task without waiting for each, and reports
// the cost of one; it must not grow with their number.
func benchChunks(b *testing.B, open OpenFunc, chunks int) {
	s := open(b)
	defer s.Close()
	for b.Loop() {
		task, lease, err := submit(s)
		if err != nil {
			b.Fatal(err)
		}
		failed := make(chan error, chunks)
		for i := range chunks {
			events := stamp(task, []a2a.Event{chunk("a", "some tokens of an answer")})
			if i == 0 {
				events = stamp(task, []a2a.Event{a2a.StatusEvent(a2a.StateWorking, nil), chunk("a", "first")})
			}
			if err := task.Fold(events); err != nil {
				b.Fatal(err)
			}
			s.AppendAsync(taskstore.Append{Lease: lease, Events: events, Run: taskstore.RunRunning}, func(err error) { failed <- err })
		}
		for range chunks {
			if err := <-failed; err != nil {
				b.Fatal(err)
			}
		}
		last := stamp(task, []a2a.Event{a2a.StatusEvent(a2a.StateCompleted, nil)})
		if err := task.Fold(last); err != nil {
			b.Fatal(err)
		}
		if err := wait(s, taskstore.Append{Lease: lease, Events: last, Task: task, Snapshot: true, Run: taskstore.RunEnded}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chunks), "ns/chunk")
}

// benchList reads the first page of 10,000 tasks, with its total.
func benchList(b *testing.B, open OpenFunc) {
	s := open(b)
	defer s.Close()
	Lifecycles(b, s, 256, 10_000)
	b.ResetTimer()
	for b.Loop() {
		page, err := s.Tasks(context.Background(), alice, taskstore.Query{Limit: 50})
		if err != nil || page.Total != 10_000 {
			b.Fatalf("Tasks: got a total of %d, %v", page.Total, err)
		}
	}
}
