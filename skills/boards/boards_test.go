package boards_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/sourcetest"
)

func TestCheckID(t *testing.T) {
	for _, id := range []string{"b1", "A", "1", "a.b", ".hidden", "a-", "_", "3e95-70a7", strings.Repeat("a", 128)} {
		if err := boards.CheckID(id); err != nil {
			t.Errorf("%q: got %v, want no error", id, err)
		}
	}
	for _, id := range sourcetest.UnsafeIDs() {
		if err := boards.CheckID(id); !errors.Is(err, boards.ErrInvalidID) {
			t.Errorf("%q: got %v, want ErrInvalidID", id, err)
		}
	}
}

func TestNotFound_showsTheIDSafely(t *testing.T) {
	for id, want := range map[string]string{
		"b9":                     "Board b9 not found.",
		"a\nb\x1b[31m\u202ec":    "Board a?b?[31m?c not found.",
		"\xff\xfe":               "Board ?? not found.",
		strings.Repeat("д", 100): "Board " + strings.Repeat("д", 64) + "… not found.",
	} {
		if got := a2a.AsError(boards.NotFound("Board", id, nil)).Message; got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}

func TestGuessStage(t *testing.T) {
	for title, want := range map[string]boards.Stage{
		"Done": boards.StageDone, " done ✅": boards.StageDone, "Closed": boards.StageDone, "Готово": boards.StageDone,
		"Backlog": boards.StageBacklog, "To Do": boards.StageBacklog, "Not done": boards.StageBacklog, "New": boards.StageBacklog, "Беклог": boards.StageBacklog,
		"In progress": boards.StageActive, "Review": boards.StageActive, "Abandoned": boards.StageActive, "Newsletter": boards.StageActive, "": boards.StageActive,
	} {
		if got := boards.GuessStage(title); got != want {
			t.Errorf("%q: got %s, want %s", title, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	at := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	card := func(change func(*boards.Card)) *boards.Card {
		c := &boards.Card{ID: "c", Title: "C", ListID: "todo"}
		if change != nil {
			change(c)
		}
		return c
	}
	for name, c := range map[string]struct {
		before, after *boards.Card
		want          []boards.EventType
	}{
		"nothing":        {nil, nil, nil},
		"same":           {card(nil), card(nil), nil},
		"new":            {nil, card(nil), []boards.EventType{boards.EventCreated}},
		"new and done":   {nil, card(func(c *boards.Card) { c.Finished = true }), []boards.EventType{boards.EventCreated, boards.EventCompleted}},
		"gone":           {card(nil), nil, []boards.EventType{boards.EventDeleted}},
		"moved":          {card(nil), card(func(c *boards.Card) { c.ListID = "x" }), []boards.EventType{boards.EventMoved}},
		"reopened":       {card(func(c *boards.Card) { c.Finished = true }), card(nil), []boards.EventType{boards.EventReopened}},
		"blocked":        {card(nil), card(func(c *boards.Card) { c.BlockedSince = "2026-11-24" }), []boards.EventType{boards.EventBlocked}},
		"freed":          {card(func(c *boards.Card) { c.BlockedSince = "2026-11-24" }), card(nil), []boards.EventType{boards.EventUnblocked}},
		"commented":      {card(nil), card(func(c *boards.Card) { c.Comments = make([]boards.Comment, 2) }), []boards.EventType{boards.EventCommented, boards.EventCommented}},
		"fewer comments": {card(func(c *boards.Card) { c.Comments = make([]boards.Comment, 2) }), card(nil), nil},
	} {
		var got []boards.EventType
		for _, e := range boards.Compare("b", c.before, c.after, at) {
			got = append(got, e.Type)
			if e.BoardID != "b" || e.CardID != "c" || !e.At.Equal(at) {
				t.Errorf("%s: got event %+v, want one of card c on board b", name, e)
			}
		}
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%s, got - want +:\n%s", name, diff)
		}
	}
}

// FuzzDecode checks that no content of a file makes a decoder panic, and that
// whatever is accepted can be sent on: valid JSON that reads back the same.
func FuzzDecode(f *testing.F) {
	for _, content := range sourcetest.Sample() {
		f.Add([]byte(content))
	}
	f.Add([]byte("{\"title\":\"\xff\",\"labels\":[\"\xfe\",{}],\"position\":1e300}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if doc, err := boards.DecodeBoard("b", data); err == nil {
			checkEncodes(t, doc.Board)
			var cards []boards.Card
			for _, l := range doc.Board.Lists {
				if l.Cards == nil {
					t.Errorf("list %q has nil cards", l.ID)
				}
				cards = append(cards, l.Cards...)
			}
			checkEncodes(t, boards.Assemble(doc, doc.Board.Lists, cards))
		}
		if card, err := boards.DecodeCard("c", data); err == nil {
			out := checkEncodes(t, card)
			again, err := boards.DecodeCard("c", out)
			if err != nil {
				t.Fatalf("read back %s: %v", out, err)
			}
			if second := checkEncodes(t, again); string(second) != string(out) {
				t.Errorf("got %s after %s", second, out)
			}
		}
		if list, err := boards.DecodeList("l", data); err == nil {
			checkEncodes(t, list)
		}
		if w, err := boards.DecodeWorkspace("w", data); err == nil {
			checkEncodes(t, w)
		}
		events, _ := boards.DecodeEvents(data)
		boards.SortEvents(events)
	})
}

func checkEncodes(t *testing.T, v any) []byte {
	t.Helper()
	out, err := boards.Marshal(v)
	if err != nil {
		t.Fatalf("encode %+v: %v", v, err)
	}
	if !utf8.Valid(out) {
		t.Fatalf("got invalid UTF-8 %q", out)
	}
	return out
}
