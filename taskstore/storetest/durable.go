package storetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// childDir is the environment variable that makes a test process the victim of
// the kill test: it works in that directory until it is killed.
const childDir = "STORETEST_CHILD_DIR"

// RunDurable checks what has to survive the end of a process, in peace and by
// kill -9. The calling test must do nothing else before it that a second
// process, started for the same test, should not do.
func RunDurable(t *testing.T, open OpenDirFunc) {
	t.Run("Reopen", func(t *testing.T) {
		dir := t.TempDir()
		f := newFixture(t, open(t, dir))
		state := fill(f)
		if err := f.store.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		state.check(newFixture(t, open(t, dir)))
	})
	t.Run("CopyOfOpenFiles", func(t *testing.T) {
		// Nothing is under way, so the copy is what a crash now would leave.
		dir, crashed := t.TempDir(), filepath.Join(t.TempDir(), "copy")
		f := newFixture(t, open(t, dir))
		state := fill(f)
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		state.check(newFixture(t, open(t, crashed)))
	})
	t.Run("CopyAfterEveryStep", func(t *testing.T) { copyAfterEveryStep(t, open) })
	t.Run("Push", func(t *testing.T) { durablePush(t, open) })
	t.Run("TornWrite", func(t *testing.T) { tornWrite(t, open) })
	t.Run("Kill", func(t *testing.T) {
		if dir := os.Getenv(childDir); dir != "" {
			workUntilKilled(t, open(t, dir))
			return
		}
		kill(t, open)
	})
}

// filled is what fill put into a store.
type filled struct {
	secret                                 []byte
	done, running, queued, paused, revised *a2a.Task
	key                                    taskstore.Submission
	pausedRun                              taskstore.Run
}

// fill puts one task of each kind into the store.
func fill(f *fixture) filled {
	f.Helper()
	s := filled{secret: f.store.Secret()}
	long := f.begin()
	for i := range 50 {
		long.must(long.stepLog(chunk("a", fmt.Sprint(i))))
	}
	long.must(long.step(taskstore.RunEnded, status(a2a.StateCompleted)))
	s.done = long.task

	run := f.submit(f.submission(bob, full(f.newID())))
	run.must(run.step(taskstore.RunRunning, status(a2a.StateWorking)))
	run.must(run.stepLog(chunk("a", "x")))
	s.running = run.task

	sub := f.submission(alice, created(f.newID(), start))
	sub.Run = queued()
	s.queued = f.submit(sub).task

	pause := f.begin()
	ap := pause.next(taskstore.RunWaiting, status(a2a.StateInputRequired))
	ap.Resume = raw(`{"thread":12345678901234567890}`)
	pause.must(f.append(ap))
	s.paused, s.pausedRun = pause.task, f.stored(alice, pause.task.ID).Run

	old := f.beginEnded(start)
	again := f.submission(alice, created(old.task.ID, start.Add(time.Hour)))
	again.Rerun = true
	rev := f.submit(again)
	rev.must(rev.step(taskstore.RunEnded, status(a2a.StateFailed)))
	s.revised = rev.task

	s.key = f.submission(alice, created(f.newID(), start))
	s.key.Key, s.key.Fingerprint = "key", "fingerprint"
	f.submit(s.key)
	return s
}

// check expects all of it in another life of the store.
func (s filled) check(f *fixture) {
	f.Helper()
	f.ids.Store(1000)
	for _, task := range []*a2a.Task{s.done, s.queued, s.paused, s.revised, s.key.Task} {
		f.checkStored(alice, task)
	}
	f.checkStored(bob, s.running)
	if !bytes.Equal(f.store.Secret(), s.secret) {
		f.Error("the secret changed")
	}
	f.same("paused run", f.stored(alice, s.paused.ID).Run, s.pausedRun)
	again, err := f.store.Submit(context.Background(), s.key)
	if err != nil || !again.Existing {
		f.Errorf("replay of a key: got %+v, %v, want the existing task", again, err)
	}
	f.pages(alice, taskstore.Query{Limit: 2}, 5)

	// Long before the leases end: their holder is dead, and the store knows it.
	now := start.Add(time.Second)
	f.same("open runs", f.open(now), []a2a.TaskID{s.running.ID, s.queued.ID, s.key.Task.ID})
	st, err := f.store.Claim(context.Background(), s.running.ID, "next", now, now.Add(time.Hour))
	if err != nil {
		f.Fatalf("Claim: %v", err)
	}
	if st.Run.Attempt != 2 || st.Run.Fence != 2 {
		f.Errorf("got attempt %d and fence %d, want 2 and 2", st.Run.Attempt, st.Run.Fence)
	}
	a := &actor{f: f, scope: bob, task: st.Task.Clone(), lease: st.Lease}
	a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted)))
	a.check()
	f.begin().check() // new rows do not clash with old ones
}

// copyAfterEveryStep crashes between any two steps of a task's life.
func copyAfterEveryStep(t *testing.T, open OpenDirFunc) {
	dir := t.TempDir()
	f := newFixture(t, open(t, dir))
	var a *actor
	steps := []func(){
		func() { a = f.begin() },
		func() { a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking))) },
		func() { a.must(a.stepLog(chunk("a", "x"))) },
		func() { a.must(a.step(taskstore.RunWaiting, status(a2a.StateInputRequired))) },
		func() {
			st := f.update(alice, a.task.ID, running(), status(a2a.StateWorking))
			a.task, a.lease = st.Task.Clone(), st.Lease
		},
		func() { a.must(a.step(taskstore.RunEnded, status(a2a.StateCompleted))) },
	}
	for i, step := range steps {
		step()
		crashed := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("step_%d", i), func(t *testing.T) {
			g := newFixture(t, open(t, crashed))
			g.checkStored(alice, a.task)
			wantOpen := map[bool][]a2a.TaskID{true: {a.task.ID}}[i < 3 || i == 4]
			g.same("open runs", g.open(start), wantOpen)
		})
	}
}

// tornWrite cuts bytes off the end of the newest file, as a crash in the middle
// of a write would. The last step may be missing then, but never half of it.
func tornWrite(t *testing.T, open OpenDirFunc) {
	dir := t.TempDir()
	f := newFixture(t, open(t, dir))
	a := f.begin()
	a.must(a.step(taskstore.RunRunning, status(a2a.StateWorking)))
	before := a.task
	sizes := map[string]int64{}
	walk(t, dir, func(name string, size int64) { sizes[name] = size })
	a.must(a.step(taskstore.RunEnded, artifact("a", strings.Repeat("x", 20000)), status(a2a.StateCompleted)))
	grown, from, to := "", int64(0), int64(0)
	walk(t, dir, func(name string, size int64) {
		if size > sizes[name] {
			grown, from, to = name, sizes[name], size
		}
	})
	if grown == "" {
		t.Skip("no file of this store grows")
	}
	for i := range int64(8) {
		cut := from + (to-from)*i/8
		crashed := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(crashed, grown), cut); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("at_%d_of_%d", cut-from, to-from), func(t *testing.T) {
			g := newFixture(t, open(t, crashed))
			g.checkStored(alice, before)
			g.same("open runs", g.open(start), []a2a.TaskID{before.ID})
		})
	}
}

func walk(t *testing.T, dir string, each func(name string, size int64)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			each(name, info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// killAfter is how many acknowledgements the parent waits for.
const killAfter = 600

// kill runs this test in a second process, kills that while it works, and
// expects everything that it had acknowledged.
func kill(t *testing.T, open OpenDirFunc) {
	if runtime.GOOS == "windows" {
		t.Skip("needs an inherited pipe")
	}
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var pattern []string
	for _, part := range strings.Split(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	var output bytes.Buffer
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(pattern, "/"), "-test.timeout=60s")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	acks := map[a2a.TaskID]int64{}
	n := 0
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var id a2a.TaskID
		var seq int64
		if _, err := fmt.Sscanf(lines.Text(), "%s %d", &id, &seq); err != nil {
			t.Fatalf("line %q of the child: %v", lines.Text(), err)
		}
		acks[id] = max(acks[id], seq)
		if n++; n == killAfter {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if n < killAfter {
		t.Fatalf("the child ended after %d acknowledgements:\n%s", n, output.String())
	}

	f := newFixture(t, open(t, dir))
	open0 := map[a2a.TaskID]bool{}
	for _, id := range f.open(start) {
		open0[id] = true
	}
	for id, seq := range acks {
		task, err := f.store.Task(context.Background(), alice, id)
		if err != nil {
			t.Errorf("acknowledged task %s: %v", id, err)
			continue
		}
		if task.Seq < seq {
			t.Errorf("task %s: got %d events, %d were acknowledged", id, task.Seq, seq)
		}
		f.same("fold of the log", f.fold(f.log(alice, id)...), task)
		if open0[id] == task.Status.State.Terminal() {
			t.Errorf("task %s: state %s and open %t", id, task.Status.State, open0[id])
		}
	}
	t.Logf("%d tasks with %d acknowledgements, %d of them open", len(acks), n, len(open0))
}

// workUntilKilled is the child's part. It writes a line for every step that the
// store acknowledged.
func workUntilKilled(t *testing.T, s taskstore.Store) {
	f := newFixture(t, s)
	pipe := os.NewFile(3, "acknowledgements")
	var mu sync.Mutex
	ack := func(task *a2a.Task) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := io.WriteString(pipe, fmt.Sprintf("%s %d\n", task.ID, task.Seq)); err != nil {
			os.Exit(1) // the parent is gone
		}
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				got, err := s.Submit(context.Background(), f.submission(alice, created(f.newID(), start)))
				if err != nil {
					f.Errorf("Submit: %v", err)
					return
				}
				a := &actor{f: f, scope: alice, task: got.Task.Clone(), lease: got.Lease}
				ack(a.task)
				for _, step := range []func() error{
					func() error { return a.step(taskstore.RunRunning, status(a2a.StateWorking)) },
					func() error { return a.stepLog(chunk("a", "x")) },
					func() error { return a.stepLog(chunk("a", "y")) },
					func() error { return a.step(taskstore.RunEnded, status(a2a.StateCompleted)) },
				} {
					if err := step(); err != nil {
						f.Errorf("append: %v", err)
						return
					}
					ack(a.task)
				}
			}
		})
	}
	wg.Wait()
}
