package boards

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/skillyard/skillyard/a2a"
)

// Source reads boards. Implementations are safe for concurrent use, return soon
// after ctx is done with an error that wraps ctx.Err(), and bound what they read.
//
// Every other error is an *a2a.Error:
//
//   - CodeNotFound for an id that is unknown or not an id at all: the two are
//     answered alike, see NotFound. For the latter, errors.Is(err, ErrInvalidID).
//   - CodeUpstreamUnavailable when the boards cannot be read: down, too slow, no
//     access, too large, damaged. Its message names nothing internal, see
//     Unavailable; its cause says what is wrong, for the log.
//
// What a Source returns may be shared with other callers and must not be changed.
type Source interface {
	// Workspaces returns all workspaces, archived ones too, by id. It never
	// returns a nil slice without an error.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// Boards returns the boards of a workspace, or of all for "", by id and
	// without their lists. An unknown workspace is not found.
	Boards(ctx context.Context, workspaceID string) ([]Board, error)
	// Board returns one board with its lists and cards, in their order. Slices
	// in it are never nil, except comments.
	Board(ctx context.Context, id string) (*Board, error)
	// History returns what happened on the boards from (inclusive) until to
	// (exclusive), oldest first. An unknown board has no events.
	History(ctx context.Context, boardIDs []string, from, to time.Time) (History, error)
}

// History is what a source knows of the past.
type History struct {
	Events []Event
	// Recorded is false when the source keeps no history at all, so that "no
	// events" does not mean "nothing happened".
	Recorded bool
	// Coarse says that the times are those of snapshots rather than of the
	// changes themselves.
	Coarse bool
	// Skipped counts entries that could not be read and are missing.
	Skipped int
	// Truncated says that older events were left out because of a limit.
	Truncated bool
}

// ErrInvalidID is the cause of a not-found error for an id that CheckID refuses.
var ErrInvalidID = errors.New("id is not path-safe")

// maxIDBytes is the longest id.
const maxIDBytes = 128

// CheckID returns ErrInvalidID unless id is 1 to 128 letters, digits, dots,
// underscores and hyphens of ASCII, without two dots in a row and not a single
// dot. Sources check ids before they build a path or a URL of them.
func CheckID(id string) error {
	if id == "" || len(id) > maxIDBytes || id == "." || strings.Contains(id, "..") {
		return ErrInvalidID
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return ErrInvalidID
		}
	}
	return nil
}

// NotFound is the error for an unknown id; what is "Board", "Workspace" or
// "Card", cause is for the log and may be nil.
func NotFound(what, id string, cause error) error {
	return &a2a.Error{Code: a2a.CodeNotFound, Message: what + " " + showID(id) + " not found.", Err: cause}
}

// Unavailable is the error for boards that cannot be read; cause is for the log.
func Unavailable(cause error) error {
	return &a2a.Error{Code: a2a.CodeUpstreamUnavailable, Message: "The board source is not available.", Err: cause}
}

// IsNotFound reports whether err is a source's error for an unknown id.
func IsNotFound(err error) bool {
	var e *a2a.Error
	return errors.As(err, &e) && e.Code == a2a.CodeNotFound
}

// maxShownID is how many characters of an unknown id an answer repeats.
const maxShownID = 64

// showID makes an id of unknown origin fit for a sentence: printable and short.
func showID(id string) string {
	var b strings.Builder
	n := 0
	for _, r := range id {
		if n == maxShownID {
			b.WriteRune('…')
			break
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
