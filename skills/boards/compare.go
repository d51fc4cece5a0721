package boards

import "time"

// Compare returns the events that turn a card as it was before into what it was
// at a later moment; nil stands for a card that was not there. Of several
// changes of one kind in between, only the sum is seen.
func Compare(boardID string, before, after *Card, at time.Time) []Event {
	var events []Event
	add := func(t EventType, c *Card, set func(*Event)) {
		e := Event{At: at, Type: t, BoardID: boardID, CardID: c.ID, Title: c.Title}
		if set != nil {
			set(&e)
		}
		events = append(events, e)
	}
	switch {
	case after == nil && before == nil:
		return nil
	case after == nil:
		add(EventDeleted, before, func(e *Event) { e.FromList = before.ListID })
		return events
	case before == nil:
		add(EventCreated, after, func(e *Event) { e.ToList = after.ListID })
		before = &Card{ListID: after.ListID}
	}
	if before.ListID != after.ListID {
		add(EventMoved, after, func(e *Event) { e.FromList, e.ToList = before.ListID, after.ListID })
	}
	switch {
	case !before.Finished && after.Finished:
		add(EventCompleted, after, nil)
	case before.Finished && !after.Finished:
		add(EventReopened, after, nil)
	}
	switch {
	case before.BlockedSince == "" && after.BlockedSince != "":
		add(EventBlocked, after, nil)
	case before.BlockedSince != "" && after.BlockedSince == "":
		add(EventUnblocked, after, func(e *Event) { e.BlockedSince = string(before.BlockedSince) })
	}
	for range len(after.Comments) - len(before.Comments) {
		add(EventCommented, after, nil)
	}
	return events
}
