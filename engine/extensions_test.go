package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/engine"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/mock"
	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
)

// extending starts an engine whose one skill reports the active extensions of each
// run; hold makes it wait for its end instead.
func extending(t *testing.T, store taskstore.Store, hold bool) (*engine.Engine, chan []string) {
	t.Helper()
	seen := make(chan []string, 8)
	run := func(ctx context.Context, in skills.Input, emit skills.Emit) error {
		seen <- in.Extensions
		switch {
		case hold:
			<-ctx.Done()
			return context.Cause(ctx)
		case in.Resume == nil && in.Message.Text() == "ask":
			if err := in.Save([]byte(`{}`)); err != nil {
				return err
			}
			return emit(a2a.StatusEvent(a2a.StateInputRequired, nil))
		}
		return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
	}
	set, err := skills.NewSet("s", skills.Entry{
		Info: skills.Info{ID: "s"}, Skill: skills.Func(run), Mapper: mock.Mapper{}, Retry: skills.RetryOnCrash,
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{
		Store: store, Skills: set, Log: zerolog.Nop(),
		Extensions: a2a.Extensions{{URI: "x:one"}, {URI: "x:needed", Required: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	return e, seen
}

// abort stops an engine at once; what runs goes back to the queue.
func abort(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestEngine_extensions(t *testing.T) {
	asked := []string{"x:other", "x:needed", "x:one", "x:needed"}
	active := []string{"x:one", "x:needed"}
	t.Run("required", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, _ := extending(t, memory.New(memory.Options{}), false)
			defer abort(t, e)
			req := message("x")
			req.Extensions = []string{"x:one"}
			var coded *a2a.Error
			if _, err := e.Send(t.Context(), alice, "", req); !errors.As(err, &coded) || coded.Code != a2a.CodeExtensionRequired {
				t.Errorf("send: got %v, want extension_support_required", err)
			}
			if _, _, err := e.Stream(t.Context(), alice, "", req); !errors.As(err, &coded) || coded.Code != a2a.CodeExtensionRequired {
				t.Errorf("stream: got %v, want extension_support_required", err)
			}
			if page, err := e.List(t.Context(), alice, &a2a.ListRequest{}); err != nil || page.TotalSize != 0 {
				t.Errorf("got %+v, %v, want no task", page, err)
			}
		})
	})
	t.Run("each_turn_has_its_own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, seen := extending(t, memory.New(memory.Options{}), false)
			defer abort(t, e)
			req := message("ask")
			req.Extensions = asked
			res, err := e.Send(t.Context(), alice, "", req)
			if err != nil {
				t.Fatal(err)
			}
			answer := message("x")
			answer.TaskID = res.Task.ID
			var coded *a2a.Error
			if _, err := e.Send(t.Context(), alice, "", answer); !errors.As(err, &coded) || coded.Code != a2a.CodeExtensionRequired {
				t.Errorf("answer without: got %v, want extension_support_required", err)
			}
			answer.Extensions = []string{"x:needed"}
			if _, err := e.Send(t.Context(), alice, "", answer); err != nil {
				t.Fatal(err)
			}
			if first, second := <-seen, <-seen; !slices.Equal(first, active) || !slices.Equal(second, []string{"x:needed"}) {
				t.Errorf("got %v and %v", first, second)
			}
		})
	})
	t.Run("survive_a_restart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(memory.Options{})
			e, seen := extending(t, store, true)
			req := message("x")
			req.Extensions, req.Blocking = asked, false
			if _, err := e.Send(t.Context(), alice, "", req); err != nil {
				t.Fatal(err)
			}
			before := <-seen
			abort(t, e)
			e, seen = extending(t, store, false)
			defer abort(t, e)
			if after := <-seen; !slices.Equal(before, active) || !slices.Equal(after, active) {
				t.Errorf("got %v before and %v after, want %v", before, after, active)
			}
		})
	})
}
