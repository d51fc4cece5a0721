package pending

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skillyard/skillyard/a2a"
)

// Limits of the texts of an entry, in bytes. What is longer is cut on a rune border.
const (
	MaxPrompt    = 200
	MaxLastError = 1000
)

// MinPrefix is how many characters Find needs of an id that is not given whole.
const MinPrefix = 4

// ErrNone: the registry has no such entry. Errors of Find, Newest and Get wrap it, as
// do those of changes to an entry that was forgotten, pruned or merged.
var ErrNone = errors.New("no such task in the pending registry")

// Entry is what is known of one sent task.
type Entry struct {
	// Ref is the entry's own id, a UUIDv7 made by Begin, known before the send.
	Ref string
	// TaskID is "" while the answer to the send is not known, unless the client chose
	// the id; and for good if the agent answered with a bare message.
	TaskID a2a.TaskID
	// AgentURL is the agent's URL as the caller normalises it. Required by Begin.
	AgentURL string
	// Agent is the agent's short name, if it has one.
	Agent     string
	ContextID a2a.ContextID
	Skill     a2a.SkillID
	// State is the state last seen, a2a.StateUnknown included; "" while the answer to
	// the send is not known, and for good if it was not sent.
	State a2a.State
	// Prompt are the first words of what was sent, in one line of at most MaxPrompt
	// bytes without control characters. Begin makes it so.
	Prompt string
	// MessageID and Key are those of the last send, which may be a reply: the id of
	// the message and the Idempotency-Key of the request.
	MessageID string
	Key       string
	// Interface is how to reach the agent again without its card. The registry does
	// not look into it.
	Interface json.RawMessage
	// EventID is the id of the last event seen in a stream, to resume after; or "".
	EventID string
	// CreatedAt, LastPolledAt and EndedAt are in UTC, in whole milliseconds; zero
	// stands for never. LastPolledAt counts failed polls too.
	CreatedAt, LastPolledAt, EndedAt time.Time
	// PollCount is how many polls were recorded, by any process, failed ones included.
	PollCount int
	// LastError is what went wrong last, in one line of at most MaxLastError bytes;
	// "" after the next success.
	LastError string
	// Lost reports that the agent says it does not know the task.
	Lost bool
	// Question is the text of the status message of a paused task.
	Question string
	// Answer is the agent's last word: the whole task when it ended, or a task made
	// of the message that it answered with. It is nil while the task is pending, if it
	// was lost or not sent, and in lists (Pending, History), since it may be large.
	Answer *a2a.Task
	// Message is what was sent, as the caller writes it, while the answer to the send is
	// not known: with Key it can be sent again. It is nil later, and in lists. The
	// registry does not look into it.
	Message json.RawMessage
}

// Ended reports whether the entry is in the history.
func (e Entry) Ended() bool { return !e.EndedAt.IsZero() }

// Sending reports whether the answer to the send is not known.
func (e Entry) Sending() bool { return !e.Ended() && e.State == "" }

// NotSent reports whether the send was refused, so that the agent has no such task;
// LastError says why.
func (e Entry) NotSent() bool { return e.Ended() && e.State == "" && !e.Lost }

// Filter chooses entries by their agent or conversation. Empty members choose all;
// several have to hold together.
type Filter struct {
	AgentURL  string
	Agent     string
	ContextID a2a.ContextID
}

// AmbiguousError says that an id or prefix stands for several tasks.
type AmbiguousError struct {
	// ID is what was asked for.
	ID string
	// IDs are what it may stand for, at most 20: task ids, or refs where the task id
	// would not tell them apart. Each finds its entry when given to Find.
	IDs []string
	// More reports that there are others.
	More bool
}

// Error names the ids.
func (e *AmbiguousError) Error() string {
	more := ""
	if e.More {
		more = ", …"
	}
	return fmt.Sprintf("%q stands for several tasks: %s%s", e.ID, strings.Join(e.IDs, ", "), more)
}

// line returns the first words of a text in one line of at most limit bytes.
func line(text string, limit int) string {
	var b strings.Builder
	gap := false
	for _, r := range text { // bytes that are not UTF-8 come as U+FFFD
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			gap = b.Len() > 0
			continue
		}
		if need := utf8.RuneLen(r); gap && b.Len()+1+need > limit || b.Len()+need > limit {
			break
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
