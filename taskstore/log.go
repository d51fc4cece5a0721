package taskstore

import (
	"fmt"

	"github.com/skillyard/skillyard/a2a"
)

// Renumber returns copies of events whose Seq goes on after seq. Stores use it
// to file the first events of a submission as a task's next revision.
func Renumber(events []a2a.Event, seq int64) []a2a.Event {
	out := make([]a2a.Event, len(events))
	for i, e := range events {
		seq++
		e.Seq = seq
		out[i] = e
	}
	return out
}

// CheckSequence returns an error that wraps a2a.ErrSequence unless the events
// are numbered seq+1, seq+2 and so on.
func CheckSequence(events []a2a.Event, seq int64) error {
	for _, e := range events {
		if seq++; e.Seq != seq {
			return fmt.Errorf("%w: got %d, want %d", a2a.ErrSequence, e.Seq, seq)
		}
	}
	return nil
}
