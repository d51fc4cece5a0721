package skills

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
)

// Info describes a skill to clients (A2A 1.0 §4.4.5 AgentSkill).
type Info struct {
	ID          a2a.SkillID
	Name        string
	Description string
	Tags        []string
	Examples    []string
	// InputModes and OutputModes are media types; nil means the card's defaults.
	InputModes  []string
	OutputModes []string
}

// Retry says what happens to a run whose process died.
type Retry string

// The retry policies.
const (
	// RetryNever ends the task as failed: the work may have had effects.
	RetryNever Retry = "never"
	// RetryOnCrash runs the turn again, up to Limits.MaxAttempts times in all.
	RetryOnCrash Retry = "on_crash"
)

// Busy says what happens to a message for a task that is at work.
type Busy string

// The policies for a busy task.
const (
	// BusyRefuse refuses the message (unsupported_operation).
	BusyRefuse Busy = "refuse"
	// BusyQueue keeps it: it answers the task's next pause. If the task ends
	// without one, the message stays in its history.
	BusyQueue Busy = "queue"
)

// Limits bound a skill. The zero value of a field takes the default named there.
type Limits struct {
	// Concurrency is how many runs may work at once; default 64.
	Concurrency int
	// Queue is how many runs of one caller may wait for a slot; default 1000,
	// negative none. Callers wait in lines of their own, which are served in turn.
	Queue int
	// QueueTotal is how many runs of all callers may wait; default 8 times Queue.
	QueueTotal int
	// Timeout is how long one run may take; default 60 s, negative no limit.
	Timeout time.Duration
	// MaxOutputBytes is how much one task may put out in messages and artifacts,
	// measured as JSON; default 32 MiB.
	MaxOutputBytes int64
	// MaxAttempts is how often a turn is run, crashes included; default 3.
	MaxAttempts int
	// MaxValues is how many members and elements data may have that is held against a
	// schema; default 100,000.
	MaxValues int
}

// withDefaults returns l with every zero field at its default.
func (l Limits) withDefaults() Limits {
	if l.Concurrency == 0 {
		l.Concurrency = 64
	}
	if l.Queue == 0 {
		l.Queue = 1000
	}
	if l.QueueTotal == 0 {
		l.QueueTotal = 8 * l.Queue
	}
	if l.Timeout == 0 {
		l.Timeout = time.Minute
	}
	if l.MaxOutputBytes == 0 {
		l.MaxOutputBytes = 32 << 20
	}
	if l.MaxAttempts == 0 {
		l.MaxAttempts = 3
	}
	if l.MaxValues == 0 {
		l.MaxValues = 100_000
	}
	return l
}

// Entry is a skill with all that the server needs to offer it.
type Entry struct {
	Info   Info
	Skill  Skill
	Mapper mappers.Mapper
	Limits Limits
	Retry  Retry
	// Busy says what happens to a message for a task that is at work; default
	// BusyRefuse.
	Busy Busy
	// Serial runs the tasks of one conversation (context) one after the other.
	Serial bool
	// AnswerWithin is how long a task waits for its client at a pause; then
	// DefaultAnswer is taken as the answer, or the task fails if that is "". 0 waits
	// for ever.
	AnswerWithin  time.Duration
	DefaultAnswer string
	// StrictInput refuses parts whose media type is not among the input modes
	// (content_type_not_supported) before a task is made.
	StrictInput bool
	// InputSchema describes the data of the message that starts a task, OutputSchema
	// each data part of its result; nil describes nothing.
	InputSchema  *Schema
	OutputSchema *Schema
	// ProvenOutput says that the kind's tests hold its results to OutputSchema, so
	// that they are not checked again while it runs.
	ProvenOutput bool
	// Private keeps the skill off the public card, and from callers without a key.
	Private bool
}

// Set is the immutable set of skills of a server.
type Set struct {
	entries []*Entry
	byID    map[a2a.SkillID]*Entry
	def     *Entry
}

// NewSet builds a set; def is the skill of a request that names none. Errors
// list all problems: no entries, an id twice, an unknown default.
func NewSet(def a2a.SkillID, entries ...Entry) (*Set, error) {
	s := &Set{byID: make(map[a2a.SkillID]*Entry, len(entries))}
	var errs []error
	if len(entries) == 0 {
		errs = append(errs, errors.New("no skills"))
	}
	for _, e := range entries {
		if _, twice := s.byID[e.Info.ID]; twice {
			errs = append(errs, fmt.Errorf("skill %q is defined twice", e.Info.ID))
			continue
		}
		if e.Skill == nil || e.Mapper == nil {
			errs = append(errs, fmt.Errorf("skill %q has no implementation or no mapper", e.Info.ID))
			continue
		}
		e.Limits = e.Limits.withDefaults()
		if e.Retry == "" {
			e.Retry = RetryNever
		}
		if e.Busy == "" {
			e.Busy = BusyRefuse
		}
		entry := e
		s.entries = append(s.entries, &entry)
		s.byID[e.Info.ID] = &entry
	}
	if s.def = s.byID[def]; s.def == nil && len(entries) > 0 {
		errs = append(errs, fmt.Errorf("default skill %q is not defined", def))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// Get returns the skill with the id, or nil.
func (s *Set) Get(id a2a.SkillID) *Entry { return s.byID[id] }

// Default returns the skill of a request that names none.
func (s *Set) Default() *Entry { return s.def }

// All returns the skills in the order of the configuration. The caller must not
// change the slice.
func (s *Set) All() []*Entry { return s.entries }

// IDs returns the ids of all skills, sorted.
func (s *Set) IDs() []a2a.SkillID {
	ids := make([]a2a.SkillID, len(s.entries))
	for i, e := range s.entries {
		ids[i] = e.Info.ID
	}
	slices.Sort(ids)
	return ids
}
