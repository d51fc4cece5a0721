// Package taskmanager is the built-in Task Manager: the reading skills
// list_board, list_boards and list_workspaces over a boards.Source.
//
// It refuses to write, and to run any operation but the one a skill is made for.
package taskmanager

import (
	"context"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
	"github.com/skillyard/skillyard/skills/boards"
)

// The operations, which are also the ids of the skills.
const (
	ListBoard      = "list_board"
	ListBoards     = "list_boards"
	ListWorkspaces = "list_workspaces"
)

// input is the payload of all operations.
type input struct {
	BoardID     string `json:"board_id"`
	WorkspaceID string `json:"workspace_id"`
}

// manager is the skill of one operation.
type manager struct {
	source    boards.Source
	operation string
	mapper    *mappers.Board
}

// New returns the skill of one operation: ListBoard, ListBoards or
// ListWorkspaces; any other is an error.
func New(source boards.Source, operation string) (skills.Skill, error) {
	mapper := Mapper(operation)
	if mapper == nil {
		return nil, fmt.Errorf("task manager has no operation %q", operation)
	}
	return &manager{source: source, operation: operation, mapper: mapper}, nil
}

// Mapper returns the mapper of an operation's messages, or nil for an unknown
// operation.
func Mapper(operation string) *mappers.Board {
	switch operation {
	case ListBoard:
		return mappers.NewBoard(ListBoard, "board_id")
	case ListBoards:
		return mappers.NewBoard(ListBoards).WithOptional("workspace_id")
	case ListWorkspaces:
		return mappers.NewBoard(ListWorkspaces)
	}
	return nil
}

// Run reads the boards, emits one artifact and completes the task. Errors are
// those of the source.
func (m *manager) Run(ctx context.Context, in skills.Input, emit skills.Emit) error {
	var req input
	if err := jsonv2.Unmarshal(in.Payload, &req); err != nil {
		return fmt.Errorf("read payload: %w", err)
	}
	result, err := m.read(ctx, req)
	if err != nil {
		return err
	}
	encoded, err := boards.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode %s: %w", m.operation, err)
	}
	artifacts, err := m.mapper.Out(json.RawMessage(encoded))
	if err != nil {
		return err
	}
	for _, a := range artifacts {
		if err := emit(a2a.ArtifactEvent(a)); err != nil {
			return err
		}
	}
	return emit(a2a.StatusEvent(a2a.StateCompleted, nil))
}

// read runs the operation. Results are always objects: some clients take no
// other value as data.
func (m *manager) read(ctx context.Context, req input) (any, error) {
	switch m.operation {
	case ListBoard:
		return m.source.Board(ctx, req.BoardID)
	case ListBoards:
		all, err := m.source.Boards(ctx, req.WorkspaceID)
		if err != nil {
			return nil, err
		}
		list := make([]boardLine, len(all))
		for i, b := range all {
			list[i] = boardLine{ID: b.ID, Name: b.Name, WorkspaceID: b.WorkspaceID, Archived: b.Archived}
		}
		return struct {
			Boards []boardLine `json:"boards"`
		}{list}, nil
	default:
		all, err := m.source.Workspaces(ctx)
		if err != nil {
			return nil, err
		}
		return struct {
			Workspaces []boards.Workspace `json:"workspaces"`
		}{all}, nil
	}
}

// boardLine is a board without its lists.
type boardLine struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	WorkspaceID string `json:"workspace_id"`
	Archived    bool   `json:"archived"`
}
