package processmanager

import (
	"cmp"
	"slices"
	"time"

	"github.com/skillyard/skillyard/skills/boards"
)

// cardKey names a card; ids are unique within a board only.
type cardKey struct{ board, card string }

// cardState is a card at the moment the report speaks of, with its own history.
type cardState struct {
	key    cardKey
	board  *boards.Board
	card   boards.Card
	exists bool
	events []boards.Event // before the moment, oldest first
}

// loadStates takes the present state of every card.
func (b *builder) loadStates() {
	for _, board := range b.scope.boards {
		for _, l := range board.Lists {
			b.lists[cardKey{board.ID, l.ID}] = l
			for _, c := range l.Cards {
				key := cardKey{board.ID, c.ID}
				if b.byKey[key] == nil {
					b.addStateOf(key, board, c, true)
				}
			}
		}
	}
}

func (b *builder) addStateOf(key cardKey, board *boards.Board, c boards.Card, exists bool) *cardState {
	s := &cardState{key: key, board: board, card: c, exists: exists}
	b.states = append(b.states, s)
	b.byKey[key] = s
	return s
}

// assignEvents gives each card its events up to the moment, and undoes the later
// ones, newest first.
func (b *builder) assignEvents() {
	byID := make(map[string]*boards.Board, len(b.scope.boards))
	for _, board := range b.scope.boards {
		byID[board.ID] = board
	}
	var later []boards.Event
	for _, e := range b.events {
		board := byID[e.BoardID]
		if board == nil {
			continue
		}
		key := cardKey{e.BoardID, e.CardID}
		s := b.byKey[key]
		if s == nil {
			s = b.addStateOf(key, board, boards.Card{
				ID: e.CardID, Title: cmp.Or(e.Title, e.CardID), Priority: boards.PriorityMedium,
			}, false)
		}
		if e.At.Before(b.asOf) {
			s.events = append(s.events, e)
		} else {
			later = append(later, e)
		}
	}
	for _, e := range slices.Backward(later) {
		b.byKey[cardKey{e.BoardID, e.CardID}].undo(e)
	}
}

// undo takes one event back.
func (s *cardState) undo(e boards.Event) {
	switch e.Type {
	case boards.EventCreated:
		s.exists = false
	case boards.EventDeleted:
		s.exists = true
		s.card.ListID = cmp.Or(e.FromList, s.card.ListID)
	case boards.EventMoved:
		s.card.ListID = cmp.Or(e.FromList, s.card.ListID)
	case boards.EventCompleted:
		s.card.Finished = false
	case boards.EventReopened:
		s.card.Finished = true
	case boards.EventBlocked:
		s.card.BlockedSince = ""
	case boards.EventUnblocked:
		since := e.BlockedSince
		for _, earlier := range slices.Backward(s.events) {
			if since == "" && earlier.Type == boards.EventBlocked {
				since = earlier.At.Format(time.RFC3339)
			}
		}
		s.card.BlockedSince = boards.NullString(cmp.Or(since, e.At.Format(time.RFC3339)))
	}
}
