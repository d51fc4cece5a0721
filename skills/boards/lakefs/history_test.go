package lakefs

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/skills/boards"
)

// commitsOf builds a line of commits, a day apart from Monday on; each change
// maps a path to its new content, "" removing it.
func commitsOf(changes ...map[string]string) []fakeCommit {
	monday := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	commits := []fakeCommit{{id: "root", at: monday.AddDate(0, 0, -30), files: map[string]string{}}}
	for i, change := range changes {
		files := maps.Clone(commits[i].files)
		for path, content := range change {
			if files["tasks/"+path] = content; content == "" {
				delete(files, "tasks/"+path)
			}
		}
		commits = append(commits, fakeCommit{id: string(rune('a' + i)), at: monday.AddDate(0, 0, i), files: files})
	}
	return commits
}

func story() []fakeCommit {
	return commitsOf(
		map[string]string{
			"boards/b1.json": `{}`, "cards/b1/c1.json": `{"title":"One","list_id":"todo"}`, "cards/b2/x.json": `{"title":"Other board"}`,
			"boards/b3/full.json": `{"lists":[{"id":"l1","cards":[{"id":"k1","title":"K1"}]},{"id":"l2","cards":[]}]}`,
		},
		map[string]string{"cards/b1/c1.json": `{"title":"One","list_id":"doing","blocked_since":"2026-11-24"}`, "cards/b1/c2.json": `{"title":"Two","list_id":"todo"}`},
		map[string]string{
			"cards/b1/c1.json":    `{"title":"One","list_id":"done","finished":true,"comments":[{"content":"a"},{"content":"b"}]}`,
			"boards/b3/full.json": `{"lists":[{"id":"l1","cards":[]},{"id":"l2","cards":[{"id":"k1","title":"K1"},{"id":"k2","title":"K2","finished":true}]}]}`,
		},
		map[string]string{"cards/b1/c2.json": "", "cards/b1/c1.json": `{"title":"One","list_id":"done"}`},
	)
}

// show writes events one a line: day type card from>to.
func show(events []boards.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.At.Format("02 ") + string(e.Type) + " " + e.BoardID + "/" + e.CardID)
		if e.FromList+e.ToList != "" {
			b.WriteString(" " + e.FromList + ">" + e.ToList)
		}
		if e.BlockedSince != "" {
			b.WriteString(" " + e.BlockedSince)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSource_History_fromCommits(t *testing.T) {
	from := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name     string
		boards   []string
		from, to time.Time
		opts     Options
		want     string
		cut      bool
	}{
		{
			name: "each commit", boards: []string{"b1", "b3"}, from: from, to: from.AddDate(0, 0, 7),
			want: `23 created b3/k1 >l1
23 created b1/c1 >todo
24 moved b1/c1 todo>doing
24 blocked b1/c1
24 created b1/c2 >todo
25 moved b3/k1 l1>l2
25 created b3/k2 >l2
25 completed b3/k2
25 moved b1/c1 doing>done
25 completed b1/c1
25 unblocked b1/c1 2026-11-24
25 commented b1/c1
25 commented b1/c1
26 reopened b1/c1
26 deleted b1/c2 todo>
`,
		},
		{
			name: "part of the time", boards: []string{"b1"}, from: from.AddDate(0, 0, 1), to: from.AddDate(0, 0, 2),
			want: "24 moved b1/c1 todo>doing\n24 blocked b1/c1\n24 created b1/c2 >todo\n",
		},
		{
			name: "several at a time", boards: []string{"b1"}, from: from.AddDate(0, 0, 1), to: from.AddDate(0, 0, 3), opts: Options{MaxDiffs: 1},
			want: "25 moved b1/c1 todo>done\n25 completed b1/c1\n25 commented b1/c1\n25 commented b1/c1\n25 created b1/c2 >todo\n",
		},
		{
			name: "more commits than allowed", boards: []string{"b1"}, from: from, to: from.AddDate(0, 0, 7), opts: Options{MaxCommits: 1}, cut: true,
			want: "26 reopened b1/c1\n26 deleted b1/c2 todo>\n",
		},
		{name: "quiet time", boards: []string{"b1"}, from: from.AddDate(0, 0, -7), to: from, want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Endpoint = newFake(t, story()...).URL
			h, err := open(t, c.opts).History(t.Context(), c.boards, c.from, c.to)
			if err != nil {
				t.Fatal(err)
			}
			if !h.Recorded || !h.Coarse || h.Truncated != c.cut {
				t.Errorf("got recorded %t coarse %t truncated %t, want true true %t", h.Recorded, h.Coarse, h.Truncated, c.cut)
			}
			if diff := cmp.Diff(show(h.Events), c.want); diff != "" {
				t.Errorf("got - want +:\n%s", diff)
			}
		})
	}
}

func TestSource_History_pinnedObjectsAreReadOnce(t *testing.T) {
	f := newFake(t, story()...)
	s := open(t, Options{Endpoint: f.URL})
	from := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for range 2 {
		f.asked()
		if _, err := s.History(t.Context(), []string{"b1"}, from, from.AddDate(0, 0, 7)); err != nil {
			t.Fatal(err)
		}
	}
	for _, uri := range f.asked() {
		if strings.Contains(uri, "/objects?") {
			t.Errorf("asked again for %s, which is part of a commit", uri)
		}
	}
}
