package pending

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

// put stores an entry as it is.
func put(t testing.TB, r *Registry, e Entry) {
	t.Helper()
	if err := r.write(context.Background(), func(tx tx) error { _, err := tx.insert(e); return err }); err != nil {
		t.Fatal(err)
	}
}

// stored returns an entry that has ended if at is not 0.
func stored(ref, taskID, url string, at int) Entry {
	e := Entry{Ref: ref, TaskID: a2a.TaskID(taskID), AgentURL: url, State: a2a.StateWorking, CreatedAt: moment(1)}
	if at != 0 {
		e.State, e.EndedAt, e.Answer = a2a.StateCompleted, moment(int64(at)), task(e.TaskID, a2a.StateCompleted)
	}
	return e
}

func TestA8_newest_of_an_agent(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	const other = "https://other.example"
	put(t, r, Entry{Ref: "old", TaskID: "t-1", AgentURL: agent, Agent: "writer", ContextID: "c", State: a2a.StateWorking})
	put(t, r, Entry{Ref: "new", TaskID: "t-2", AgentURL: agent, Agent: "writer", State: a2a.StateWorking})
	put(t, r, Entry{Ref: "other", TaskID: "t-2", AgentURL: other, State: a2a.StateWorking})
	put(t, r, stored("ended", "t-3", agent, 5))
	put(t, r, Entry{Ref: "sending", AgentURL: agent, Agent: "writer"}) // cannot be polled
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "other"}, {Filter{AgentURL: agent}, "new"}, {Filter{Agent: "writer"}, "new"},
		{Filter{AgentURL: agent, ContextID: "c"}, "old"}, {Filter{AgentURL: other, Agent: "writer"}, ""}, {Filter{AgentURL: "x"}, ""},
	} {
		got, err := r.Newest(ctx, c.filter)
		if got.Ref != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrNone) {
			t.Errorf("%+v: got %q, %v, want %q", c.filter, got.Ref, err, c.want)
		}
	}
	list, err := r.Pending(ctx, Filter{Agent: "writer"})
	if d := cmp.Diff([]string{"sending", "new", "old"}, refs(list)); d != "" || err != nil {
		t.Errorf("%v, pending (-want +got):\n%s", err, d)
	}
}

func TestRegistry_History(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	for i, at := range []int{3, 9, 5} { // ends in another order than begun
		e := stored(fmt.Sprint("e", at), fmt.Sprint("t", at), []string{agent, "https://b.example"}[i%2], at)
		e.Agent, e.ContextID = []string{"a", "b"}[i%2], a2a.ContextID([]string{"c", "d"}[i%2])
		put(t, r, e)
	}
	put(t, r, stored("pending", "t", agent, 0))
	for _, c := range []struct {
		filter Filter
		limit  int
		want   []string
	}{
		{Filter{}, 0, []string{"e9", "e5", "e3"}}, {Filter{}, 2, []string{"e9", "e5"}}, {Filter{}, -1, []string{"e9", "e5", "e3"}},
		{Filter{AgentURL: agent}, 9, []string{"e5", "e3"}}, {Filter{Agent: "b"}, 9, []string{"e9"}},
		{Filter{ContextID: "c"}, 1, []string{"e5"}}, {Filter{Agent: "b", ContextID: "c"}, 9, nil},
	} {
		got, err := r.History(ctx, c.filter, c.limit)
		if d := cmp.Diff(c.want, refs(got)); d != "" || err != nil {
			t.Errorf("%+v, %d: %v (-want +got):\n%s", c.filter, c.limit, err, d)
		}
		for _, e := range got {
			if e.Answer != nil {
				t.Errorf("%s: a list has answers", e.Ref)
			}
		}
	}
}

func TestRegistry_Find(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	for _, e := range []Entry{
		stored("ref-aa1", "task-1", agent, 0),
		stored("ref-aa2", "task-10", agent, 3),
		stored("ref-ab3", "task-20", agent, 4),
		stored("ref-ab4", "task-21", agent, 5),
		stored("ref-ac5", "again", agent, 6),
		stored("ref-ac6", "again", agent, 7),
		stored("ref-ad7", "twice", agent, 8),
		stored("ref-ad8", "twice", "https://b.example", 9),
		stored("ref-ae9", "", agent, 0),
		stored("ref-af0", "100%_x", agent, 10),
		stored("ref-ag1", "aufträge", agent, 11),
		stored("ref-ah2", "b", agent, 12),
	} {
		put(t, r, e)
	}
	for _, c := range []struct {
		id     string
		filter Filter
		want   string   // a ref
		ids    []string // of an AmbiguousError
	}{
		{id: "task-1", want: "ref-aa1"},
		{id: "task-10", want: "ref-aa2"},
		{id: "task", want: "ref-aa1"}, // pending comes before the history
		{id: "task-2", ids: []string{"task-20", "task-21"}},
		{id: "again", want: "ref-ac6"}, // the last run
		{id: "agai", want: "ref-ac6"},
		{id: "ref-ac5", want: "ref-ac5"},
		{id: "twice", ids: []string{"ref-ad7", "ref-ad8"}},
		{id: "twice", filter: Filter{AgentURL: agent}, want: "ref-ad7"},
		{id: "task-1", filter: Filter{AgentURL: "https://b.example"}},
		{id: "ref-ae9", want: "ref-ae9"},
		{id: "ref-ae", want: "ref-ae9"},
		{id: "ref-ab", ids: []string{"task-20", "task-21"}},
		{id: "ref-", ids: []string{"task-1", "ref-ae9"}},
		{id: "100%", want: "ref-af0"},
		{id: "1%%%"}, {id: "____"}, {id: "TASK-1"}, {id: "none-such"}, {id: ""},
		{id: "b", want: "ref-ah2"}, // whole, however short
		{id: "aga"}, {id: "täs"},
		{id: "auftr", want: "ref-ag1"}, {id: "aufträ", want: "ref-ag1"},
		{id: "task-\xff"},
	} {
		got, err := r.Find(ctx, c.id, c.filter)
		var ambiguous *AmbiguousError
		switch {
		case c.want != "":
			if err != nil || got.Ref != c.want || got.Ended() && got.Answer == nil {
				t.Errorf("%q: got %q, %v, want %q with its answer", c.id, got.Ref, err, c.want)
			}
		case c.ids != nil:
			if !errors.As(err, &ambiguous) || cmp.Diff(c.ids, ambiguous.IDs) != "" || ambiguous.ID != c.id {
				t.Errorf("%q: got %v, want an AmbiguousError of %v", c.id, err, c.ids)
				continue
			}
			for _, id := range c.ids {
				if _, err := r.Find(ctx, id, c.filter); err != nil {
					t.Errorf("%q, which stands in the error for %q: %v", id, c.id, err)
				}
			}
		default:
			if !errors.Is(err, ErrNone) {
				t.Errorf("%q: got %q, %v, want ErrNone", c.id, got.Ref, err)
			}
		}
	}
	_, err := r.Find(ctx, "aga", Filter{})
	if err == nil || !strings.Contains(err.Error(), "4 characters") {
		t.Errorf("short prefix: got %v, want a word on the length", err)
	}
}

func TestRegistry_Find_Many(t *testing.T) {
	r, _ := newRegistry(t)
	for i := range 2 * maxIDs {
		put(t, r, stored(fmt.Sprintf("ref-%02d", i), fmt.Sprintf("task-%02d", i), agent, i+1))
		put(t, r, stored(fmt.Sprintf("run-%02d", i), "task-00", agent, i+1)) // one task's many runs hide no other
	}
	_, err := r.Find(context.Background(), "task", Filter{})
	var ambiguous *AmbiguousError
	if !errors.As(err, &ambiguous) || len(ambiguous.IDs) != maxIDs || !ambiguous.More || !strings.Contains(err.Error(), "task-01, task-02") {
		t.Errorf("got %v", err)
	}
	if got, err := r.Find(context.Background(), "task-07", Filter{}); err != nil || got.Ref != "ref-07" {
		t.Errorf("got %q, %v", got.Ref, err)
	}
}

// FuzzFind holds Find against the same rules written plainly.
func FuzzFind(f *testing.F) {
	f.Add("alpha-1", "alpha-2", "beta", "alph")
	f.Add("a", "ab", "abc", "a")
	f.Add("éé", "éé ééé", "x\xff", "éé é")
	f.Fuzz(func(t *testing.T, a, b, c, id string) {
		ids := []string{a, b, c}
		for i, s := range ids {
			if ids[i] = strings.ToValidUTF8(s, "?"); strings.Contains(s, "\x00") || s == "" || len(s) > 50 {
				t.Skip("no task id")
			}
		}
		if strings.Contains(id, "\x00") || a == b || b == c || a == c {
			t.Skip()
		}
		r, _ := newRegistry(t)
		for i, s := range ids { // c has ended
			put(t, r, stored(fmt.Sprint("\u0001ref", i), s, agent, i/2))
		}
		var want []string
		for _, group := range [][]string{ids[:2], ids[2:]} {
			for _, s := range group {
				if len(want) == 0 && s == id {
					want = []string{s}
				}
			}
		}
		for _, group := range [][]string{ids[:2], ids[2:]} {
			if len(want) > 0 || len([]rune(id)) < MinPrefix {
				break
			}
			for _, s := range group {
				if strings.HasPrefix(s, id) {
					want = append(want, s)
				}
			}
		}
		got, err := r.Find(context.Background(), id, Filter{})
		var ambiguous *AmbiguousError
		switch {
		case strings.HasPrefix(id, "\u0001ref"):
		case len(want) == 1 && (err != nil || string(got.TaskID) != want[0]),
			len(want) == 0 && !errors.Is(err, ErrNone),
			len(want) > 1 && (!errors.As(err, &ambiguous) || len(ambiguous.IDs) != len(want)):
			t.Errorf("Find(%q) in %q: got %q, %v, want %q", id, ids, got.TaskID, err, want)
		}
	})
}

func TestRegistry_Prune(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	const old = 2*pruneStep + 3
	for i := range old {
		put(t, r, stored(fmt.Sprint("old", i), fmt.Sprint("old", i), agent, 1+i%5))
	}
	put(t, r, stored("pending", "t-1", agent, 0))
	put(t, r, stored("kept", "t-2", agent, 6))
	for _, want := range []int{old, 0} {
		if n, err := r.Prune(ctx, time.UnixMicro(6)); n != want || err != nil {
			t.Errorf("got %d, %v, want %d", n, err, want)
		}
		wantLists(t, r, []string{"pending"}, []string{"kept"})
	}
	if n, err := r.Prune(ctx, time.Time{}); n != 0 || err != nil {
		t.Errorf("before the zero time: got %d, %v", n, err)
	}
}

func TestRegistry_Revision(t *testing.T) {
	ctx := context.Background()
	r, _ := newRegistry(t)
	other := openAt(t, path(t, r))
	last, err := other.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ref string
	for i, change := range []func() error{
		func() error { e, err := r.Begin(ctx, Entry{AgentURL: agent}); ref = e.Ref; return err },
		func() error { _, err := r.Accepted(ctx, ref, task("t", a2a.StateWorking), nil); return err },
		func() error { _, err := r.Polled(ctx, ref, task("t", a2a.StateWorking)); return err },
		func() error { _, err := r.Failed(ctx, ref, "x"); return err },
		func() error { _, err := r.Streamed(ctx, ref, task("t", a2a.StateCompleted), "1"); return err },
		func() error { return r.Forget(ctx, ref) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		now, err := other.Revision(ctx)
		if err != nil || now <= last {
			t.Errorf("change %d: got revision %d after %d, %v", i, now, last, err)
		}
		last = now
	}
	if _, err := r.Pending(ctx, Filter{}); err != nil {
		t.Fatal(err)
	}
	if now, err := other.Revision(ctx); err != nil || now != last {
		t.Errorf("a read: got revision %d after %d, %v", now, last, err)
	}
}

// path returns the file of a registry.
func path(t testing.TB, r *Registry) string {
	t.Helper()
	var file string
	if err := r.db.QueryRow(`SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	return file
}
