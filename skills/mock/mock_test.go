package mock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/mock"
	"github.com/skillyard/skillyard/skills/skilltest"
)

func entry(o mock.Options) func(testing.TB) skills.Entry {
	return func(t testing.TB) skills.Entry {
		t.Helper()
		skill, err := mock.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return skills.Entry{Info: mock.Info("probe"), Skill: skill, Mapper: mock.Mapper{}, Retry: skills.RetryOnCrash}
	}
}

func TestProbe_contract(t *testing.T) {
	slow := skilltest.Text("@hang")
	skilltest.Run(t, skilltest.Subject{
		New:  entry(mock.Options{}),
		Good: []a2a.Message{skilltest.Text("@echo x"), skilltest.Text("anything"), skilltest.Text("@chunks 3 1"), skilltest.Text("@burst 9 100"), skilltest.Text("@ask"), skilltest.Data(`{"n":9007199254740993}`)},
		Bad:  []a2a.Message{skilltest.Text("@fail"), skilltest.Text("@http500html")},
		Slow: &slow,
	})
}

func TestKit_contract(t *testing.T) {
	slow := skilltest.Text("tck-cancel")
	good := []a2a.Message{}
	for _, id := range []string{
		"tck-complete-task", "tck-artifact-text", "tck-artifact-file", "tck-artifact-file-url", "tck-artifact-data",
		"tck-message-response", "tck-input-required", "tck-auth-required", "tck-reject-task", "tck-stream-001",
		"tck-stream-artifact-chunked", "anything else",
	} {
		m := skilltest.Text("hello")
		m.ID = id + "-0a1b2c3d"
		good = append(good, m)
	}
	skilltest.Run(t, skilltest.Subject{
		New: entry(mock.Options{Mode: mock.ModeTCK, Settle: time.Millisecond}), Good: good,
		Bad: []a2a.Message{skilltest.Text("tck-task-failure please")}, Slow: &slow,
	})
}

// TestKit_prefixes: the longest prefix decides.
func TestKit_prefixes(t *testing.T) {
	for id, want := range map[string]a2a.PartKind{
		"tck-artifact-file-0a1b2c3d":     a2a.PartRaw,
		"tck-artifact-file-url-0a1b2c3d": a2a.PartURL,
		"tck-artifact-data-0a1b2c3d":     a2a.PartData,
		"tck-artifact-text-0a1b2c3d":     a2a.PartText,
	} {
		m := skilltest.Text("x")
		m.ID = id
		var got a2a.PartKind
		err := entry(mock.Options{Mode: mock.ModeTCK})(t).Skill.Run(t.Context(), skills.Input{Message: m}, func(ev a2a.Event) error {
			if ev.Artifact != nil {
				got = ev.Artifact.Artifact.Parts[0].Kind
			}
			return nil
		})
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", id, got, err, want)
		}
	}
}

// TestKit_other: the kits of 1.0 and 0.3 want opposite things of a message that asks
// for nothing.
func TestKit_other(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for dialect, want := range map[string]time.Duration{"1.0": 0, "0.3": 3 * time.Second} {
			began := time.Now()
			in := skills.Input{Message: skilltest.Text("hello"), Task: &a2a.Task{Dialect: dialect}}
			err := entry(mock.Options{Mode: mock.ModeTCK, Settle: 3 * time.Second})(t).Skill.Run(t.Context(), in, func(a2a.Event) error { return nil })
			if took := time.Since(began); err != nil || took != want {
				t.Errorf("%s: got %v after %s, want %s", dialect, err, took, want)
			}
		}
	})
}

func TestProbe_sleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := entry(mock.Options{})(t).Skill.Run(t.Context(), skills.Input{Message: skilltest.Text("@sleep 2.5")}, func(a2a.Event) error { return nil })
		if took := time.Since(began); err != nil || took != 2500*time.Millisecond {
			t.Errorf("got %v after %s, want 2.5s", err, took)
		}
	})
}

func TestNew_unknown_mode(t *testing.T) {
	if _, err := mock.New(mock.Options{Mode: "chaos"}); err == nil {
		t.Error("got no error for an unknown mode")
	}
}
