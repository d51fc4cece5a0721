package boards

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The decoders below read the stored form: JSON written by hand or by other
// programs. They accept a byte order mark, unknown members, null for absent,
// and the names other products use, and refuse what has another meaning.

// unmarshal reads one stored JSON document.
func unmarshal(data []byte, v any) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return json.Unmarshal(data, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// DecodeWorkspace reads workspaces/{id}.json.
func DecodeWorkspace(id string, data []byte) (Workspace, error) {
	var d struct {
		Name     string `json:"name"`
		Title    string `json:"title"`
		Archived bool   `json:"archived"`
	}
	if err := unmarshal(data, &d); err != nil {
		return Workspace{}, fmt.Errorf("decode workspace: %w", err)
	}
	return Workspace{ID: id, Name: firstOf(d.Name, d.Title, id), Archived: d.Archived}, nil
}

// BoardDoc is what a board's own object says.
type BoardDoc struct {
	Board Board
	// Order lists the ids of the lists in the order they are shown, if given.
	Order []string
	// Whole says that Board.Lists came with the object.
	Whole bool
}

type listDoc struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Name     string    `json:"name"`
	Stage    Stage     `json:"stage"`
	Type     string    `json:"type"` // "closed" is another product's word for done
	Position float64   `json:"position"`
	Cards    []cardDoc `json:"cards"`
}

type cardDoc struct {
	Card
	Name string `json:"name"`
	// Due is kept as text, because other products store a time there.
	DueTime string `json:"dueDate"`
}

// DecodeBoard reads boards/{id}.json or boards/{id}/full.json. The member
// "lists" may hold ids (their order) or whole lists with their cards.
func DecodeBoard(id string, data []byte) (BoardDoc, error) {
	var d struct {
		Name        string           `json:"name"`
		Title       string           `json:"title"`
		WorkspaceID string           `json:"workspace_id"`
		Archived    bool             `json:"archived"`
		Lists       []jsontext.Value `json:"lists"`
	}
	if err := unmarshal(data, &d); err != nil {
		return BoardDoc{}, fmt.Errorf("decode board: %w", err)
	}
	out := BoardDoc{Board: Board{
		ID: id, Name: firstOf(d.Name, d.Title, id), WorkspaceID: d.WorkspaceID, Archived: d.Archived, Lists: []List{},
	}}
	var lists []List
	var cards []Card
	for i, raw := range d.Lists {
		if raw.Kind() == jsontext.KindString {
			var listID string
			if err := json.Unmarshal(raw, &listID); err != nil {
				return BoardDoc{}, fmt.Errorf("decode board: list %d: %w", i, err)
			}
			out.Order = append(out.Order, listID)
			continue
		}
		var l listDoc
		if err := unmarshal(raw, &l); err != nil {
			return BoardDoc{}, fmt.Errorf("decode board: list %d: %w", i, err)
		}
		out.Whole = true
		out.Order = append(out.Order, l.ID)
		lists = append(lists, l.list(l.ID))
		for j, c := range l.Cards {
			c.ListID = l.ID
			card, err := c.card(c.ID)
			if err != nil {
				return BoardDoc{}, fmt.Errorf("decode board: list %d: card %d: %w", i, j, err)
			}
			cards = append(cards, card)
		}
	}
	if out.Whole {
		out.Board = *Assemble(out, lists, cards)
	}
	return out, nil
}

// DecodeList reads lists/{board}/{id}.json.
func DecodeList(id string, data []byte) (List, error) {
	var d listDoc
	if err := unmarshal(data, &d); err != nil {
		return List{}, fmt.Errorf("decode list: %w", err)
	}
	return d.list(id), nil
}

// DecodeCard reads cards/{board}/{id}.json.
func DecodeCard(id string, data []byte) (Card, error) {
	var d cardDoc
	if err := unmarshal(data, &d); err != nil {
		return Card{}, fmt.Errorf("decode card: %w", err)
	}
	return d.card(id)
}

func (d *listDoc) list(id string) List {
	l := List{ID: id, Title: firstOf(d.Title, d.Name, id), Stage: d.Stage, Position: d.Position, Cards: []Card{}}
	switch {
	case l.Stage == StageBacklog || l.Stage == StageActive || l.Stage == StageDone:
	case d.Type == "closed":
		l.Stage = StageDone
	default:
		l.Stage = GuessStage(l.Title)
	}
	return l
}

func (d *cardDoc) card(id string) (Card, error) {
	c := d.Card
	c.ID = id
	if c.ID == "" {
		return Card{}, errors.New("decode card: no id")
	}
	c.Title = firstOf(c.Title, d.Name, id)
	if c.Priority = Priority(strings.ToLower(string(c.Priority))); c.Priority == "" {
		c.Priority = PriorityMedium
	}
	c.DueDate = NullString(dateOf(firstOf(string(c.DueDate), d.DueTime)))
	c.Assignee = strings.TrimSpace(c.Assignee)
	if c.Labels == nil {
		c.Labels = []Label{}
	}
	return c, nil
}

// DecodeEvents reads a file of events, one JSON object a line. Lines that are
// not whole events (a torn last line, a slip of the pen) are counted and left
// out: an append-only log must survive its own accidents.
func DecodeEvents(data []byte) (events []Event, skipped int) {
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var e Event
		if err := unmarshal(line, &e); err != nil || e.At.IsZero() || e.Type == "" || e.BoardID == "" || e.CardID == "" {
			skipped++
			continue
		}
		e.At = e.At.UTC()
		events = append(events, e)
	}
	return events, skipped
}

// SortEvents orders events by time; those of one moment keep their order.
func SortEvents(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
}

// Assemble puts the cards into the lists and both in order: lists as doc.Order
// has them, then by position and id; cards by position and id. A card whose
// list does not exist is shown in a list of that id at the end, so that nothing
// is lost. The arguments are not kept.
func Assemble(doc BoardDoc, lists []List, cards []Card) *Board {
	b := doc.Board
	rank := make(map[string]int, len(doc.Order))
	for i, id := range doc.Order {
		rank[id] = i - len(doc.Order)
	}
	b.Lists = slices.Clone(lists)
	slices.SortStableFunc(b.Lists, func(x, y List) int {
		return compareBy(rank[x.ID]-rank[y.ID], x.Position, y.Position, x.ID, y.ID)
	})
	at := make(map[string]int, len(b.Lists))
	for i := range b.Lists {
		b.Lists[i].BoardID = b.ID
		b.Lists[i].Cards = []Card{}
		at[b.Lists[i].ID] = i
	}
	cards = slices.Clone(cards)
	slices.SortStableFunc(cards, func(x, y Card) int {
		return compareBy(0, x.Position, y.Position, x.ID, y.ID)
	})
	for _, c := range cards {
		i, known := at[c.ListID]
		if !known {
			i = len(b.Lists)
			at[c.ListID] = i
			title := firstOf(c.ListID, "Without a list")
			b.Lists = append(b.Lists, List{
				ID: c.ListID, Title: title, BoardID: b.ID, Stage: GuessStage(title), Cards: []Card{},
			})
		}
		b.Lists[i].Cards = append(b.Lists[i].Cards, c)
	}
	if b.Lists == nil {
		b.Lists = []List{}
	}
	return &b
}

// GuessStage tells from a list's title what the list means, in English and
// Ukrainian; a title that says nothing is active work.
func GuessStage(title string) Stage {
	t := " " + strings.ToLower(strings.TrimSpace(title))
	if strings.HasPrefix(t, " not ") || t == " new" {
		return StageBacklog
	}
	for _, w := range [...]string{"done", "complete", "finished", "closed", "released", "shipped", "resolved", "archive", "готов", "зроблен", "завершен", "виконан", "закрит"} {
		if strings.Contains(t, " "+w) {
			return StageDone
		}
	}
	for _, w := range [...]string{"backlog", "to do", "todo", "to-do", "inbox", "idea", "later", "next up", "icebox", "planned", "new requests", "беклог", "до роботи", "зробити", "заплановано", "ідеї", "нові", "вхідні"} {
		if strings.Contains(t, " "+w) {
			return StageBacklog
		}
	}
	return StageActive
}

// dateOf cuts a timestamp down to its date, as written; other text is kept, so
// that a reader of the board sees what is there.
func dateOf(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > len(time.DateOnly) && s[len(time.DateOnly)] == 'T' {
		return s[:len(time.DateOnly)]
	}
	return s
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func compareBy(rank int, px, py float64, x, y string) int {
	switch {
	case rank != 0:
		return rank
	case px < py:
		return -1
	case px > py:
		return 1
	}
	return strings.Compare(x, y)
}
