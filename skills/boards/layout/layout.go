// Package layout reads boards from a tree of JSON objects, wherever the tree is:
//
//	workspaces/{id}.json
//	boards/{id}.json                 the board; "lists" may give the order of its lists
//	lists/{board}/{id}.json
//	cards/{board}/{id}.json          one object per card: small changes, small diffs
//	boards/{id}/full.json            or a whole board in one object
//	events/{YYYY-MM-DD}.jsonl        what happened that day (UTC), one event a line
//
// Ids are the names in the tree, whatever an object says of itself, so that a
// copied file is a new card; names that begin with a dot are passed over. Objects
// are read as package boards decodes them. A damaged object makes its board
// unavailable rather than silently smaller; where boards are only listed, a
// damaged one is left out and logged.
package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills/boards"
)

// Object is an entry of a folder of the tree.
type Object struct {
	// Path is the full path in the tree, with slashes.
	Path string
	// Dir says that the entry is a folder.
	Dir bool
	// Version is what the tree knows of the content, or "". It is given back to
	// Read, which may then answer from memory.
	Version string
}

// name returns the last element of the path.
func (o Object) name() string { return o.Path[strings.LastIndexByte(o.Path, '/')+1:] }

// Tree is where the objects are. Implementations are safe for concurrent use,
// honor ctx, and bound the size of what they return.
type Tree interface {
	// Read returns the content of an object, which the caller must not change.
	// An error that wraps fs.ErrNotExist means that there is none.
	Read(ctx context.Context, o Object) ([]byte, error)
	// List returns up to limit entries of a folder, in any order, and an error if
	// there are more. A folder that does not exist is empty.
	List(ctx context.Context, dir string, limit int) ([]Object, error)
}

// Options bound what a Source reads. The zero value of a field takes its default.
type Options struct {
	// Parallel is how many objects are read at once; default 8.
	Parallel int
	// MaxObjects is the most entries of one folder, so also the most cards of a
	// board; default 10000.
	MaxObjects int
	// MaxEvents is the most events of one history, the newest; default 200000.
	MaxEvents int
	// Log takes remarks on damaged objects; the zero Logger drops them.
	Log zerolog.Logger
}

// Source is a boards.Source over a Tree.
type Source struct {
	tree Tree
	opts Options
}

// New returns a source over the tree.
func New(tree Tree, opts Options) *Source {
	opts.Parallel = cmp.Or(max(opts.Parallel, 0), 8)
	opts.MaxObjects = cmp.Or(max(opts.MaxObjects, 0), 10_000)
	opts.MaxEvents = cmp.Or(max(opts.MaxEvents, 0), 200_000)
	return &Source{tree: tree, opts: opts}
}

// Workspaces implements boards.Source. Where no workspaces are written down,
// they are those the boards name.
func (s *Source) Workspaces(ctx context.Context) ([]boards.Workspace, error) {
	objects, err := s.list(ctx, "workspaces", ".json")
	if err != nil {
		return nil, err
	}
	found := make([]*boards.Workspace, len(objects))
	err = s.each(ctx, objects, func(i int, id string, data []byte) error {
		w, err := boards.DecodeWorkspace(id, data)
		if err != nil {
			s.logDamaged(objects[i].Path, err)
			return nil
		}
		found[i] = &w
		return nil
	})
	if err != nil {
		return nil, err
	}
	if out := compact(found); len(out) > 0 {
		return out, nil
	}
	all, err := s.Boards(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []boards.Workspace{}
	for _, b := range all {
		if b.WorkspaceID != "" && !slices.ContainsFunc(out, func(w boards.Workspace) bool { return w.ID == b.WorkspaceID }) {
			out = append(out, boards.Workspace{ID: b.WorkspaceID, Name: b.WorkspaceID})
		}
	}
	slices.SortFunc(out, func(a, b boards.Workspace) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Boards implements boards.Source.
func (s *Source) Boards(ctx context.Context, workspaceID string) ([]boards.Board, error) {
	if workspaceID != "" {
		if err := boards.CheckID(workspaceID); err != nil {
			return nil, boards.NotFound("Workspace", workspaceID, err)
		}
	}
	objects, err := s.list(ctx, "boards", "")
	if err != nil {
		return nil, err
	}
	ids := map[string]Object{}
	for _, o := range objects {
		id, isFile := strings.CutSuffix(o.name(), ".json")
		switch {
		case o.Dir:
			id = o.name()
			o = Object{Path: o.Path + "/full.json"}
			if _, twice := ids[id]; twice {
				continue
			}
		case !isFile:
			continue
		}
		if boards.CheckID(id) == nil {
			ids[id] = o
		}
	}
	names := make([]string, 0, len(ids))
	for id := range ids {
		names = append(names, id)
	}
	slices.Sort(names)
	found := make([]*boards.Board, len(names))
	err = s.parallel(ctx, len(names), func(ctx context.Context, i int) error {
		o := ids[names[i]]
		data, err := s.tree.Read(ctx, o)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile, or a folder without a whole board
		}
		if err != nil {
			return err
		}
		doc, err := boards.DecodeBoard(names[i], data)
		if err != nil {
			s.logDamaged(o.Path, err)
			return nil
		}
		doc.Board.Lists = []boards.List{}
		if workspaceID == "" || doc.Board.WorkspaceID == workspaceID {
			found[i] = &doc.Board
		}
		return nil
	})
	if err != nil {
		return nil, coded(ctx, "list boards", err)
	}
	out := compact(found)
	if workspaceID != "" && len(out) == 0 {
		if _, err := s.tree.Read(ctx, Object{Path: "workspaces/" + workspaceID + ".json"}); errors.Is(err, fs.ErrNotExist) {
			return nil, boards.NotFound("Workspace", workspaceID, nil)
		} else if err != nil {
			return nil, coded(ctx, "read workspace", err)
		}
	}
	return out, nil
}

// Board implements boards.Source.
func (s *Source) Board(ctx context.Context, id string) (*boards.Board, error) {
	if err := boards.CheckID(id); err != nil {
		return nil, boards.NotFound("Board", id, err)
	}
	data, err := s.tree.Read(ctx, Object{Path: "boards/" + id + ".json"})
	if errors.Is(err, fs.ErrNotExist) {
		data, err = s.tree.Read(ctx, Object{Path: "boards/" + id + "/full.json"})
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, boards.NotFound("Board", id, nil)
	}
	if err != nil {
		return nil, coded(ctx, "read board "+id, err)
	}
	doc, err := boards.DecodeBoard(id, data)
	if err != nil {
		return nil, coded(ctx, "read board "+id, err)
	}
	if doc.Whole {
		return &doc.Board, nil
	}
	lists, err := readAll(ctx, s, "lists/"+id, boards.DecodeList)
	if err != nil {
		return nil, err
	}
	cards, err := readAll(ctx, s, "cards/"+id, boards.DecodeCard)
	if err != nil {
		return nil, err
	}
	return boards.Assemble(doc, lists, cards), nil
}

// History implements boards.Source.
func (s *Source) History(ctx context.Context, boardIDs []string, from, to time.Time) (boards.History, error) {
	objects, err := s.list(ctx, "events", ".jsonl")
	if err != nil {
		return boards.History{}, err
	}
	h := boards.History{Recorded: len(objects) > 0}
	// A day more on both sides, for files cut at another zone's midnight.
	first := from.UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	last := to.UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	objects = slices.DeleteFunc(objects, func(o Object) bool {
		day := strings.TrimSuffix(o.name(), ".jsonl")
		_, err := time.Parse(time.DateOnly, day)
		return err != nil || day < first || day > last
	})
	wanted := make(map[string]bool, len(boardIDs))
	for _, id := range boardIDs {
		wanted[id] = true
	}
	days := make([][]boards.Event, len(objects))
	skipped := make([]int, len(objects))
	err = s.each(ctx, objects, func(i int, _ string, data []byte) error {
		events, bad := boards.DecodeEvents(data)
		skipped[i] = bad
		days[i] = slices.DeleteFunc(events, func(e boards.Event) bool {
			return !wanted[e.BoardID] || e.At.Before(from) || !e.At.Before(to)
		})
		if bad > 0 {
			s.opts.Log.Warn().Str("path", objects[i].Path).Int("lines", bad).Msg("events skipped")
		}
		return nil
	})
	if err != nil {
		return boards.History{}, err
	}
	for i := range days {
		h.Events = append(h.Events, days[i]...)
		h.Skipped += skipped[i]
	}
	boards.SortEvents(h.Events)
	if over := len(h.Events) - s.opts.MaxEvents; over > 0 {
		h.Events, h.Truncated = h.Events[over:], true
	}
	return h, nil
}

// readAll reads and decodes every object of a folder.
func readAll[T any](ctx context.Context, s *Source, dir string, decode func(id string, data []byte) (T, error)) ([]T, error) {
	objects, err := s.list(ctx, dir, ".json")
	if err != nil {
		return nil, err
	}
	found := make([]*T, len(objects))
	err = s.each(ctx, objects, func(i int, id string, data []byte) error {
		v, err := decode(id, data)
		if err != nil {
			return fmt.Errorf("%s: %w", objects[i].Path, err)
		}
		found[i] = &v
		return nil
	})
	if err != nil {
		return nil, err
	}
	return compact(found), nil
}

// list returns the entries of a folder by name, without hidden ones; with ext,
// only files that end so and whose stem is an id.
func (s *Source) list(ctx context.Context, dir, ext string) ([]Object, error) {
	objects, err := s.tree.List(ctx, dir, s.opts.MaxObjects)
	if err != nil {
		return nil, coded(ctx, "list "+dir, err)
	}
	objects = slices.DeleteFunc(objects, func(o Object) bool {
		if strings.HasPrefix(o.name(), ".") {
			return true // an editor's, or not yet given its name
		}
		stem, ok := strings.CutSuffix(o.name(), ext)
		return ext != "" && (o.Dir || !ok || boards.CheckID(stem) != nil)
	})
	slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(a.Path, b.Path) })
	return objects, nil
}

// each reads the objects in parallel; fn gets the index, the stem of the name
// and the content. An object that has vanished since it was listed is left out.
func (s *Source) each(ctx context.Context, objects []Object, fn func(i int, id string, data []byte) error) error {
	err := s.parallel(ctx, len(objects), func(ctx context.Context, i int) error {
		data, err := s.tree.Read(ctx, objects[i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		id := objects[i].name()
		return fn(i, id[:strings.LastIndexByte(id, '.')], data)
	})
	if err != nil {
		return coded(ctx, "read objects", err)
	}
	return nil
}

// parallel calls fn for 0..n-1, Options.Parallel at a time, until one fails.
func (s *Source) parallel(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	for i := range n {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			return fn(gctx, i)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *Source) logDamaged(path string, err error) {
	s.opts.Log.Warn().Str("path", path).Err(err).Msg("board object unreadable, left out of the list")
}

// coded makes err one of the errors that boards.Source allows.
func coded(ctx context.Context, doing string, err error) error {
	var e *a2a.Error
	if errors.As(err, &e) {
		return err
	}
	err = fmt.Errorf("%s: %w", doing, err)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	return boards.Unavailable(err)
}

// compact returns the values that are there.
func compact[T any](found []*T) []T {
	out := make([]T, 0, len(found))
	for _, v := range found {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}
