package lakefs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skillyard/skillyard/skills/boards"
)

// History implements boards.Source. Event files are the better history, because
// they know who did what and when. Without any, the branch's commits in the
// period are compared, each with the one before it (several at a time if there
// are more than Options.MaxDiffs), and what changed on the cards becomes events
// at the time of the later commit. Such a history is coarse, and it does not
// know of changes that are not committed yet.
func (s *Source) History(ctx context.Context, boardIDs []string, from, to time.Time) (boards.History, error) {
	h, err := s.Source.History(ctx, boardIDs, from, to)
	if err != nil || h.Recorded {
		return h, err
	}
	h, err = s.historyOfCommits(ctx, boardIDs, from, to)
	switch {
	case err == nil:
		return h, nil
	case ctx.Err() != nil:
		return boards.History{}, fmt.Errorf("read commits: %w", ctx.Err())
	}
	return boards.History{}, boards.Unavailable(fmt.Errorf("read commits: %w", err))
}

// step is one comparison: the state at a commit against an earlier one.
type step struct {
	before, after string
	at            time.Time
}

func (s *Source) historyOfCommits(ctx context.Context, boardIDs []string, from, to time.Time) (boards.History, error) {
	commits, truncated, err := s.client.commits(ctx, s.opts.Branch, from, s.opts.MaxCommits)
	if err != nil {
		return boards.History{}, err
	}
	h := boards.History{Recorded: true, Coarse: true, Truncated: truncated}
	steps := stepsOf(commits, to, s.opts.MaxDiffs)
	found := make([][]boards.Event, len(steps))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	for i, st := range steps {
		g.Go(func() error {
			events, err := s.compare(gctx, boardIDs, st)
			found[i] = events
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return boards.History{}, err
	}
	h.Events = slices.Concat(found...)
	boards.SortEvents(h.Events)
	return h, nil
}

// stepsOf makes at most limit steps of the branch's own line of commits (first
// parents) before to, newest first. The first commit of a repository is empty
// and only serves as a base.
func stepsOf(commits []commit, to time.Time, limit int) []step {
	byID := make(map[string]commit, len(commits))
	for _, c := range commits {
		byID[c.ID] = c
	}
	var line []commit
	if len(commits) > 0 {
		for c, ok := commits[0], true; ok && len(c.Parents) > 0; c, ok = byID[c.Parents[0]] {
			if c.time().Before(to) {
				line = append(line, c)
			}
		}
	}
	size := (len(line) + limit - 1) / limit
	var steps []step
	for len(line) > 0 {
		n := min(size, len(line))
		steps = append(steps, step{before: line[n-1].Parents[0], after: line[0].ID, at: line[0].time()})
		line = line[n:]
	}
	return steps
}

// compare returns the events of one step.
func (s *Source) compare(ctx context.Context, boardIDs []string, st step) ([]boards.Event, error) {
	changes, err := s.client.diff(ctx, st.before, st.after, *s.opts.Prefix)
	if err != nil {
		return nil, err
	}
	var events []boards.Event
	for _, c := range changes {
		path := strings.TrimPrefix(c.Path, *s.opts.Prefix)
		board := boardOf(path)
		if c.PathType != "object" || !slices.Contains(boardIDs, board) {
			continue
		}
		before, err := s.cardsAt(ctx, st.before, path, c.Type == "added")
		if err != nil {
			return nil, err
		}
		after, err := s.cardsAt(ctx, st.after, path, c.Type == "removed")
		if err != nil {
			return nil, err
		}
		ids := slices.Sorted(maps.Keys(before))
		for id := range after {
			if _, twice := before[id]; !twice {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			events = append(events, boards.Compare(board, before[id], after[id], st.at)...)
		}
	}
	return events, nil
}

// boardOf returns the board whose cards an object holds, or "".
func boardOf(path string) string {
	switch parts := strings.Split(path, "/"); {
	case len(parts) == 3 && parts[0] == "cards" && strings.HasSuffix(parts[2], ".json"),
		len(parts) == 3 && parts[0] == "boards" && parts[2] == "full.json":
		return parts[1]
	case len(parts) == 2 && parts[0] == "boards":
		id, _ := strings.CutSuffix(parts[1], ".json")
		return id
	}
	return ""
}

// cardsAt returns the cards in an object at a commit, by id.
func (s *Source) cardsAt(ctx context.Context, ref, path string, absent bool) (map[string]*boards.Card, error) {
	if absent {
		return nil, nil
	}
	data, err := s.client.object(ctx, objectKey{ref: ref, path: *s.opts.Prefix + path}, "", true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if name, ok := strings.CutPrefix(path, "cards/"); ok {
		id := strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".json")
		card, err := boards.DecodeCard(id, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return map[string]*boards.Card{id: &card}, nil
	}
	doc, err := boards.DecodeBoard(boardOf(path), data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	cards := map[string]*boards.Card{}
	for _, l := range doc.Board.Lists {
		for _, c := range l.Cards {
			cards[c.ID] = &c
		}
	}
	return cards, nil
}

// commits returns the commits of a branch since a time, newest first, at most
// limit; truncated says that there were more.
func (c *client) commits(ctx context.Context, branch string, since time.Time, limit int) (found []commit, truncated bool, err error) {
	query := url.Values{
		"since":  {since.UTC().Format(time.RFC3339)},
		"amount": {strconv.Itoa(min(pageSize, limit))},
	}
	for {
		page, err := onePage[commit](ctx, c, refPath(branch)+"/commits", query)
		if err != nil {
			return nil, false, err
		}
		found = append(found, page.Results...)
		switch {
		case len(found) >= limit:
			return found[:limit], len(found) > limit || page.Pagination.HasMore, nil
		case !page.Pagination.HasMore:
			return found, false, nil
		}
		if err := page.advance(query); err != nil {
			return nil, false, err
		}
	}
}
