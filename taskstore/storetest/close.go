package storetest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

func closeCases() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"ping_and_secret": func(f *fixture) {
			if err := f.store.Ping(context.Background()); err != nil {
				f.Errorf("Ping: %v", err)
			}
			secret := f.store.Secret()
			if len(secret) != 32 || bytes.Equal(secret, make([]byte, 32)) {
				f.Errorf("secret: got %x, want 32 random bytes", secret)
			}
			if !bytes.Equal(secret, f.store.Secret()) {
				f.Error("the secret changed")
			}
		},
		"calls_after_close": func(f *fixture) {
			a := f.begin()
			if err := f.store.Close(); err != nil {
				f.Fatalf("Close: %v", err)
			}
			ctx, now := context.Background(), start
			calls := map[string]func() error{
				"Submit": func() error {
					_, err := f.store.Submit(ctx, f.submission(alice, created("new", start)))
					return err
				},
				"AppendAsync": func() error { return f.append(a.next(taskstore.RunEnded, status(a2a.StateCompleted))) },
				"Update": func() error {
					_, err := f.store.Update(ctx, alice, a.task.ID, change(ended()))
					return err
				},
				"Claim":  func() error { _, err := f.store.Claim(ctx, a.task.ID, "x", now, now); return err },
				"Renew":  func() error { return f.store.Renew(ctx, "here", now) },
				"Open":   func() error { _, err := f.store.Open(ctx, now, 0, 1); return err },
				"Task":   func() error { _, err := f.store.Task(ctx, alice, a.task.ID); return err },
				"Tasks":  func() error { _, err := f.store.Tasks(ctx, alice, taskstore.Query{Limit: 1}); return err },
				"Events": func() error { _, err := f.store.Events(ctx, alice, a.task.ID, 0, 1); return err },
				"Prune":  func() error { _, err := f.store.Prune(ctx, now, 1); return err },
				"Ping":   func() error { return f.store.Ping(ctx) },
				"Close":  f.store.Close,
			}
			for name, call := range calls {
				if err := call(); !errors.Is(err, taskstore.ErrClosed) {
					f.Errorf("%s: got error %v, want ErrClosed", name, err)
				}
			}
		},
		"close_waits_for_writes_under_way": func(f *fixture) {
			const tasks = 30
			var mu sync.Mutex
			calls := make(map[int][]error)
			var wg sync.WaitGroup
			for i := range tasks {
				a := f.begin()
				wg.Add(1)
				f.store.AppendAsync(a.next(taskstore.RunRunning, status(a2a.StateWorking)), func(err error) {
					mu.Lock()
					calls[i] = append(calls[i], err)
					mu.Unlock()
					if err != nil {
						wg.Done()
						return
					}
					// What done asks for is either written too or refused.
					f.store.AppendAsync(a.next(taskstore.RunEnded, status(a2a.StateCompleted)), func(err error) {
						mu.Lock()
						calls[i] = append(calls[i], err)
						mu.Unlock()
						wg.Done()
					})
				})
			}
			if err := f.store.Close(); err != nil {
				f.Errorf("Close: %v", err)
			}
			finished := make(chan struct{})
			go func() { wg.Wait(); close(finished) }()
			select {
			case <-finished:
			case <-time.After(patience):
				f.Fatal("done was not called for every step")
			}
			for i := range tasks {
				if got := calls[i]; len(got) == 0 || got[0] != nil {
					f.Errorf("task %d: got outcomes %v, want the first step written", i, got)
				}
				for _, err := range calls[i] {
					if err != nil && !errors.Is(err, taskstore.ErrClosed) {
						f.Errorf("task %d: got error %v, want ErrClosed", i, err)
					}
				}
			}
		},
	}
}
