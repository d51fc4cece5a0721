// Package boards is the domain behind list_board and weekly_report: workspaces
// hold boards, boards hold lists, lists hold cards, and a log of events says how
// the cards came to where they are.
//
// A Source reads boards from where their owner keeps them. There are two:
// package files (a directory of JSON) and package lakefs (the same layout in a
// lakeFS repository). Package sourcetest is their common contract.
//
// The package refuses to write: nothing here changes a board. It also refuses
// ids that could mean something to a file system or a URL, see CheckID.
package boards

import "time"

// Workspace is a group of boards.
type Workspace struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Archived bool   `json:"archived"`
}

// Board is a board. Its Lists are filled by Source.Board only.
type Board struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	WorkspaceID string `json:"workspace_id"`
	Archived    bool   `json:"archived"`
	Lists       []List `json:"lists"`
}

// Stage says what a list means for the work in it.
type Stage string

// The stages of work.
const (
	StageBacklog Stage = "backlog" // not started
	StageActive  Stage = "active"  // being worked on
	StageDone    Stage = "done"    // finished
)

// List is a column of a board.
type List struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	BoardID string `json:"board_id"`
	// Stage is what the list means; a source fills it in when its data does not
	// say (see GuessStage).
	Stage    Stage   `json:"stage"`
	Position float64 `json:"position,omitzero"`
	Cards    []Card  `json:"cards"`
}

// Priority is how urgent a card is.
type Priority string

// The priorities, most urgent first.
const (
	PriorityUrgent Priority = "urgent"
	PriorityHigh   Priority = "high"
	PriorityMedium Priority = "medium" // the default
	PriorityLow    Priority = "low"
)

// Card is a piece of work.
type Card struct {
	ID               string     `json:"id"`
	Title            string     `json:"title"`
	Description      string     `json:"description"`
	ListID           string     `json:"list_id"`
	Labels           []Label    `json:"labels"`
	Priority         Priority   `json:"priority"`
	DueDate          NullString `json:"due_date"` // YYYY-MM-DD, or ""
	Finished         bool       `json:"finished"`
	StoryPoints      int        `json:"story_points"`
	OriginalEstimate int        `json:"original_estimate"`
	Assignee         string     `json:"assignee"`      // display name, or ""
	BlockedSince     NullString `json:"blocked_since"` // YYYY-MM-DD or RFC 3339, or ""
	Position         float64    `json:"position,omitzero"`
	Comments         []Comment  `json:"comments,omitempty"`
}

// Comment is a remark on a card.
type Comment struct {
	ID      string    `json:"id"`
	Author  string    `json:"author"`
	Content string    `json:"content"`
	At      time.Time `json:"created_at,omitzero"`
}

// EventType says what happened to a card.
type EventType string

// The types of events. Readers skip types they do not know.
const (
	EventCreated   EventType = "created"
	EventMoved     EventType = "moved"
	EventCompleted EventType = "completed"
	EventReopened  EventType = "reopened"
	EventCommented EventType = "commented"
	EventBlocked   EventType = "blocked"
	EventUnblocked EventType = "unblocked"
	EventDeleted   EventType = "deleted"
)

// Event is one change of a card.
type Event struct {
	ID      string    `json:"id,omitempty"`
	At      time.Time `json:"at"`
	Type    EventType `json:"type"`
	BoardID string    `json:"board_id"`
	CardID  string    `json:"card_id"`
	// Title is the card's title at the time.
	Title string `json:"title,omitempty"`
	// FromList and ToList are list ids; created has only ToList.
	FromList string `json:"from_list,omitempty"`
	ToList   string `json:"to_list,omitempty"`
	Actor    string `json:"actor,omitempty"`
	// BlockedSince is, on unblocked, since when the card had been blocked.
	BlockedSince string `json:"blocked_since,omitempty"`
}
