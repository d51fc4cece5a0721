package processmanager

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills/boards"
)

// scope is what a report is about.
type scope struct {
	workspaces []boards.Workspace
	boards     []*boards.Board
}

// readScope reads the boards that the request names, all boards of the
// workspaces it names, or all boards there are. Archived boards and workspaces
// are left out unless they are named. A named board outside the named workspaces
// is as unknown as one that does not exist.
func (m *manager) readScope(ctx context.Context, req mappers.ReportInput) (scope, []warning, error) {
	known, err := m.opts.Source.Workspaces(ctx)
	if err != nil {
		return scope{}, nil, err
	}
	ids, warnings, err := m.boardIDs(ctx, req, known)
	if err != nil {
		return scope{}, nil, err
	}
	s := scope{boards: make([]*boards.Board, len(ids))}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(m.opts.Parallel)
	for i, id := range ids {
		g.Go(func() error {
			b, err := m.opts.Source.Board(gctx, id)
			s.boards[i] = b
			return err
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return scope{}, nil, err
	}
	for _, b := range s.boards {
		if len(req.WorkspaceIDs) > 0 && !slices.Contains(req.WorkspaceIDs, b.WorkspaceID) {
			return scope{}, nil, boards.NotFound("Board", b.ID, nil)
		}
	}
	for _, w := range known {
		if slices.Contains(req.WorkspaceIDs, w.ID) || slices.ContainsFunc(s.boards, func(b *boards.Board) bool { return b.WorkspaceID == w.ID }) {
			s.workspaces = append(s.workspaces, w)
		}
	}
	return s, warnings, nil
}

// boardIDs returns the ids of the boards to read.
func (m *manager) boardIDs(ctx context.Context, req mappers.ReportInput, known []boards.Workspace) ([]string, []warning, error) {
	if len(req.BoardIDs) > m.opts.MaxBoards {
		return nil, nil, invalid(fmt.Sprintf("a report covers at most %d boards", m.opts.MaxBoards))
	}
	workspaces := req.WorkspaceIDs
	if len(workspaces) > m.opts.MaxBoards {
		return nil, nil, invalid(fmt.Sprintf("a report covers at most %d workspaces", m.opts.MaxBoards))
	}
	if len(workspaces) == 0 {
		if len(req.BoardIDs) > 0 {
			return req.BoardIDs, nil, nil
		}
		workspaces = []string{""}
	}
	var ids []string
	for _, w := range workspaces {
		all, err := m.opts.Source.Boards(ctx, w)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range all {
			hidden := b.Archived || w == "" && slices.ContainsFunc(known, func(k boards.Workspace) bool {
				return k.ID == b.WorkspaceID && k.Archived
			})
			if !hidden && !slices.Contains(ids, b.ID) {
				ids = append(ids, b.ID)
			}
		}
	}
	if len(req.BoardIDs) > 0 {
		return req.BoardIDs, nil, nil // the workspaces exist; membership is checked later
	}
	if len(ids) > m.opts.MaxBoards {
		return ids[:m.opts.MaxBoards], []warning{{code: warnBoards, n: len(ids)}}, nil
	}
	return ids, nil, nil
}
