package processmanager

// report is the data of a weekly report. Its JSON form is fixed: members are
// only ever added, and lists are never null.
type report struct {
	Operation   string         `json:"operation"`
	Period      periodData     `json:"period"`
	GeneratedAt string         `json:"generated_at"`
	Scope       scopeData      `json:"scope"`
	Summary     summary        `json:"summary"`
	Velocity    velocity       `json:"velocity"`
	Completed   []doneCard     `json:"completed"`
	InProgress  []card         `json:"in_progress"`
	Created     []newCard      `json:"created"`
	Moved       []move         `json:"moved"`
	Blocked     []blockedCard  `json:"blocked"`
	Overdue     []dueCard      `json:"overdue"`
	Upcoming    []dueCard      `json:"upcoming"`
	ByBoard     []boardLine    `json:"by_board"`
	ByAssignee  []assigneeLine `json:"by_assignee"`
	ByLabel     []labelLine    `json:"by_label"`
	Warnings    []string       `json:"warnings"`
	// Request repeats a plain text that asked for more than a period.
	Request *requestData `json:"request,omitempty"`
}

type periodData struct {
	Week     string `json:"week"` // "" unless the period is an ISO week or its beginning
	From     string `json:"from"`
	To       string `json:"to"`
	Timezone string `json:"timezone"`
}

type scopeData struct {
	Workspaces []named `json:"workspaces"`
	Boards     []named `json:"boards"`
}

type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type summary struct {
	Created     int `json:"created"`
	Completed   int `json:"completed"`
	Moved       int `json:"moved"`
	InProgress  int `json:"in_progress"`
	Blocked     int `json:"blocked"`
	Overdue     int `json:"overdue"`
	DueNextWeek int `json:"due_next_week"`
	Comments    int `json:"comments"`
}

type velocity struct {
	PointsCompleted    int `json:"points_completed"`
	PointsPreviousWeek int `json:"points_previous_week"`
	EstimateCompleted  int `json:"estimate_completed"`
	CardsCompleted     int `json:"cards_completed"`
	// MedianCycleHours is from the start of work to completion, to a tenth.
	MedianCycleHours float64 `json:"median_cycle_hours"`
}

// card identifies a card and says the little that a reader wants beside it.
type card struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	BoardID     string   `json:"board_id"`
	Board       string   `json:"board"`
	List        string   `json:"list"`
	Assignee    string   `json:"assignee"`
	Labels      []string `json:"labels"`
	Priority    string   `json:"priority"`
	StoryPoints int      `json:"story_points"`
	DueDate     *string  `json:"due_date"`
}

type doneCard struct {
	card
	CompletedAt string   `json:"completed_at"`
	CycleHours  *float64 `json:"cycle_hours"` // null when the start is unknown
}

type newCard struct {
	card
	CreatedAt string `json:"created_at"`
}

type move struct {
	Card     card   `json:"card"`
	FromList string `json:"from_list"`
	ToList   string `json:"to_list"`
	At       string `json:"at"`
}

type blockedCard struct {
	Card         card   `json:"card"`
	BlockedSince string `json:"blocked_since"`
	Days         int    `json:"days"`
}

// dueCard is overdue by Days, or due in Days.
type dueCard struct {
	Card    card   `json:"card"`
	DueDate string `json:"due_date"`
	Days    int    `json:"days"`
}

// counts are what every breakdown has.
type counts struct {
	Created         int `json:"created"`
	Completed       int `json:"completed"`
	Moved           int `json:"moved"`
	InProgress      int `json:"in_progress"`
	Blocked         int `json:"blocked"`
	Overdue         int `json:"overdue"`
	PointsCompleted int `json:"points_completed"`
}

type boardLine struct {
	BoardID string `json:"board_id"`
	Board   string `json:"board"`
	counts
}

type assigneeLine struct {
	Assignee string `json:"assignee"` // "" for cards of nobody
	counts
}

type labelLine struct {
	Label string `json:"label"`
	counts
}

type requestData struct {
	Text string `json:"text"`
}
