package configs

import "time"

// Default returns the configuration of a server that was told nothing: four
// read-only skills over a directory of boards with a demo in it, on loopback.
func Default() *Config {
	return &Config{
		Server: Server{
			Addr:              "127.0.0.1:8080",
			MaxBodyBytes:      10 << 20,
			MaxJSONDepth:      64,
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       time.Minute,
			IdleTimeout:       2 * time.Minute,
			ShutdownTimeout:   20 * time.Second,
			RequestID:         true,
		},
		Log:  Log{Level: "info", Format: "auto"},
		Auth: Auth{Required: "auto"},
		Limits: Limits{
			Read:       Rate{Requests: 12000, Per: time.Minute},
			Write:      Rate{Requests: 6000, Per: time.Minute},
			Wait:       Wait{EMM: 20 * time.Second, V03: 20 * time.Second, Plain: 20 * time.Second, Max: time.Minute},
			MaxParts:   1000,
			MaxIDBytes: 1024,
			Streams:    1000,
		},
		Runs:   Runs{CancelGrace: 5 * time.Second, FlushAfter: time.Millisecond, FlushEvery: 20 * time.Millisecond, MaxPending: 1 << 20},
		Stream: Stream{Enabled: true, Heartbeat: 15 * time.Second, WriteTimeout: 10 * time.Second, Retry: 2 * time.Second, Probe: true},
		Store: Store{
			Kind:        "sqlite",
			Synchronous: "full",
			Retention:   720 * time.Hour,
			PruneEvery:  10 * time.Minute,
			Lease:       30 * time.Second,
			Batch:       512,
		},
		Boards: Boards{
			Source: "files",
			Files:  Files{Demo: true, MaxFileBytes: 8 << 20, MaxObjects: 10000, CacheBytes: 16 << 20, Parallel: 4},
			LakeFS: LakeFS{
				Branch:         "main",
				Prefix:         "tasks/",
				Timeout:        10 * time.Second,
				Parallel:       16,
				CacheBytes:     64 << 20,
				MaxObjectBytes: 8 << 20,
				MaxObjects:     10000,
				MaxCommits:     1000,
				MaxDiffs:       100,
			},
		},
		Card: Card{
			Name:                 "Skillyard",
			Description:          "Task boards and weekly reports for agents and people.",
			Mode:                 "hybrid",
			MaxAge:               time.Minute,
			SecurityRequirements: true,
		},
		Compat: Compat{Errors: "1.0.1", StreamErrors: "event"},
		Report: Report{
			Timezone: "UTC", Monday: "last_full_week", Language: "en", MaxDays: 92,
			MaxBoards: 100, MaxRows: 50, Lookback: 90 * 24 * time.Hour, Rewind: 366 * 24 * time.Hour, Parallel: 4,
		},
		Push: Push{
			Enabled:    true,
			MaxPerTask: 10,
			Workers:    64,
			PerHost:    8,
			Timeout:    15 * time.Second,
			Attempts:   24,
			RetryFirst: time.Second,
			RetryMax:   10 * time.Minute,
		},
		GRPC:         GRPC{Reflection: true, MaxMessageBytes: 10 << 20, MaxStreams: 1000},
		DefaultSkill: "weekly_report",
		Skills:       builtin(),
	}
}

// builtin returns the skills that need nothing but a source of boards.
func builtin() []Skill {
	return []Skill{
		{
			ID: "weekly_report", Kind: "processmanager",
			Name:        "Weekly report",
			Description: "What happened on the boards in a week: completed, created and moved cards, what is in progress, blocked, overdue or due next, and velocity. Markdown for people, data for agents.",
			Tags:        []string{"report", "boards", "velocity"},
			Examples:    []string{"last week", "2026-W48", `{"week":"2026-W48","board_id":"roadmap"}`},
			InputModes:  []string{"text/plain", "application/json"},
			OutputModes: []string{"text/markdown", "application/json"},
			Settings:    rawSettings(`{"operation":"weekly_report"}`),
		},
		{
			ID: "list_board", Kind: "taskmanager",
			Name:        "List a board",
			Description: "One whole board as JSON: its lists, each with its cards. Needs a board id.",
			Tags:        []string{"boards", "cards"},
			Examples:    []string{`{"operation":"list_board","board_id":"roadmap"}`, "roadmap"},
			InputModes:  []string{"text/plain", "application/json"},
			OutputModes: []string{"application/json"},
			Settings:    rawSettings(`{"operation":"list_board"}`),
		},
		{
			ID: "list_boards", Kind: "taskmanager",
			Name:        "List the boards",
			Description: "The boards of a workspace, or of all workspaces, with their ids.",
			Tags:        []string{"boards"},
			Examples:    []string{`{"operation":"list_boards"}`, `{"operation":"list_boards","workspace_id":"acme"}`},
			InputModes:  []string{"text/plain", "application/json"},
			OutputModes: []string{"application/json"},
			Settings:    rawSettings(`{"operation":"list_boards"}`),
		},
		{
			ID: "list_workspaces", Kind: "taskmanager",
			Name:        "List the workspaces",
			Description: "The workspaces with their ids.",
			Tags:        []string{"boards", "workspaces"},
			Examples:    []string{`{"operation":"list_workspaces"}`},
			InputModes:  []string{"text/plain", "application/json"},
			OutputModes: []string{"application/json"},
			Settings:    rawSettings(`{"operation":"list_workspaces"}`),
		},
	}
}
