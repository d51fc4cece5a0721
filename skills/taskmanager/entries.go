package taskmanager

import (
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards"
)

// Entries returns the three skills, ready for a set: list_board, list_boards,
// list_workspaces. They only read, so a crashed run is simply run again.
func Entries(source boards.Source) []skills.Entry {
	var entries []skills.Entry
	for _, info := range infos() {
		mapper := Mapper(string(info.ID))
		entries = append(entries, skills.Entry{
			Info:   info,
			Skill:  &manager{source: source, operation: string(info.ID), mapper: mapper},
			Mapper: mapper,
			Retry:  skills.RetryOnCrash,
		})
	}
	return entries
}

// infos describes the skills to clients.
func infos() []skills.Info {
	in := []string{"text/plain", "application/json"}
	out := []string{"application/json", "text/plain"}
	return []skills.Info{
		{
			ID:   ListBoard,
			Name: "List board",
			Description: "Returns one board with its lists and cards as JSON. " +
				`Send the board id as text, or {"operation":"list_board","board_id":"…"}.`,
			Tags:        []string{"boards", "tasks", "kanban", "read-only"},
			Examples:    []string{"roadmap", `{"operation":"list_board","board_id":"roadmap"}`},
			InputModes:  in,
			OutputModes: out,
		},
		{
			ID:   ListBoards,
			Name: "List boards",
			Description: "Returns the boards there are, with their ids and names, of one workspace or of all. " +
				"Send a workspace id as text or JSON, or nothing.",
			Tags:        []string{"boards", "tasks", "kanban", "read-only"},
			Examples:    []string{"acme", `{"operation":"list_boards","workspace_id":"acme"}`, `{"operation":"list_boards"}`},
			InputModes:  in,
			OutputModes: out,
		},
		{
			ID:          ListWorkspaces,
			Name:        "List workspaces",
			Description: "Returns the workspaces there are, with their ids and names.",
			Tags:        []string{"boards", "workspaces", "read-only"},
			Examples:    []string{`{"operation":"list_workspaces"}`},
			InputModes:  in,
			OutputModes: out,
		},
	}
}
