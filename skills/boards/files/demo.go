package files

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/skills/boards"
)

// demoScript tells the story of the demo workspace: for each card a line per
// event, "<working days ago> <HH:MM> <event> <list or comment>"; "-" instead of
// the days means before the event log began. The cards' present places follow
// from the lines, so that boards and history cannot disagree.
//
//go:embed demo.json
var demoScript []byte

// LayDown puts a demo workspace into dir, with boards to try list_board on and
// three weeks of events before now for weekly_report. It makes dir if needed.
//
// It does nothing when dir has boards already, and never overwrites a file: each
// is written under a temporary name and then given its own, the boards last, so
// that an interrupted call is completed by the next. The same day makes the same
// files.
func LayDown(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("lay down demo boards: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("lay down demo boards: %w", err)
	}
	defer root.Close()
	has, err := hasBoards(root)
	if err != nil {
		return fmt.Errorf("lay down demo boards: %w", err)
	}
	if has {
		return nil
	}
	files, err := demoFiles(now)
	if err != nil {
		return fmt.Errorf("lay down demo boards: %w", err)
	}
	for _, f := range files {
		if err := writeNew(root, f.path, f.data); err != nil {
			return fmt.Errorf("lay down demo boards: %s: %w", f.path, err)
		}
	}
	return nil
}

// hasBoards reports whether anything is in the folder of boards.
func hasBoards(root *os.Root) (bool, error) {
	entries, err := fs.ReadDir(root.FS(), "boards")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), tempPrefix) }), nil
}

const tempPrefix = ".new-"

// writeNew writes a file that must appear whole or not at all; one that exists
// is left alone.
func writeNew(root *os.Root, name string, data []byte) error {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	temp := dir + "/" + tempPrefix + strconv.Itoa(os.Getpid()) + "-" + path.Base(name)
	if err := root.WriteFile(temp, data, 0o644); err != nil {
		return err
	}
	// A hard link, unlike a rename, refuses a name that was taken meanwhile.
	err := root.Link(temp, name)
	switch {
	case errors.Is(err, fs.ErrExist):
	case err != nil:
		return root.Rename(temp, name) // a file system without hard links
	}
	return root.Remove(temp)
}

// demoFile is a file of the layout.
type demoFile struct {
	path string
	data []byte
}

type demoWorkspace struct {
	Workspace boards.Workspace `json:"workspace"`
	Boards    []struct {
		ID    string      `json:"id"`
		Name  string      `json:"name"`
		Lists [][2]string `json:"lists"`
		Cards []demoCard  `json:"cards"`
	} `json:"boards"`
}

type demoCard struct {
	ID          string          `json:"id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Labels      []boards.Label  `json:"labels"`
	Priority    boards.Priority `json:"priority"`
	Points      int             `json:"points"`
	Estimate    int             `json:"estimate"`
	Assignee    string          `json:"assignee"`
	Due         *int            `json:"due"` // days from today
	History     []string        `json:"history"`
}

// demoFiles returns the files in the order they are written.
func demoFiles(now time.Time) ([]demoFile, error) {
	var script demoWorkspace
	if err := json.Unmarshal(demoScript, &script); err != nil {
		return nil, fmt.Errorf("decode script: %w", err)
	}
	y, m, d := now.UTC().Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	w := &demoWriter{today: today}
	w.add("workspaces/"+script.Workspace.ID+".json", script.Workspace)
	var heads demoWriter
	for _, b := range script.Boards {
		order := make([]string, len(b.Lists))
		for i, l := range b.Lists {
			order[i] = l[0]
			w.add("lists/"+b.ID+"/"+l[0]+".json", struct {
				ID       string `json:"id"`
				Title    string `json:"title"`
				BoardID  string `json:"board_id"`
				Position int    `json:"position"`
			}{l[0], l[1], b.ID, i + 1})
		}
		for i, c := range b.Cards {
			card, err := w.play(b.ID, c)
			if err != nil {
				return nil, fmt.Errorf("card %s: %w", c.ID, err)
			}
			card.Position = float64(i + 1)
			w.add("cards/"+b.ID+"/"+c.ID+".json", card)
		}
		heads.add("boards/"+b.ID+".json", struct {
			ID          string   `json:"id"`
			Name        string   `json:"name"`
			WorkspaceID string   `json:"workspace_id"`
			Archived    bool     `json:"archived"`
			Lists       []string `json:"lists"`
		}{b.ID, b.Name, script.Workspace.ID, false, order})
	}
	w.addEvents()
	w.files = append(w.files, heads.files...)
	return w.files, errors.Join(w.err, heads.err)
}

// demoWriter collects files and events.
type demoWriter struct {
	today  time.Time
	files  []demoFile
	events []boards.Event
	err    error
}

func (w *demoWriter) add(path string, v any) {
	data, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("%s: %w", path, err))
		return
	}
	w.files = append(w.files, demoFile{path, append(data, '\n')})
}

// addEvents writes a file of events for each day that has any.
func (w *demoWriter) addEvents() {
	boards.SortEvents(w.events)
	var day string
	var buf bytes.Buffer
	flush := func() {
		if buf.Len() > 0 {
			w.files = append(w.files, demoFile{"events/" + day + ".jsonl", bytes.Clone(buf.Bytes())})
			buf.Reset()
		}
	}
	for i := range w.events {
		e := &w.events[i]
		if d := e.At.Format(time.DateOnly); d != day {
			flush()
			day = d
		}
		e.ID = "evt-" + e.At.Format("20060102-1504") + "-" + e.CardID
		line, err := json.Marshal(e)
		if err != nil {
			w.err = errors.Join(w.err, err)
			return
		}
		buf.Write(append(line, '\n'))
	}
	flush()
}

// play lets the card's history happen and returns where the card ends up.
func (w *demoWriter) play(board string, c demoCard) (boards.Card, error) {
	card := boards.Card{
		ID: c.ID, Title: c.Title, Description: c.Description, Labels: c.Labels, Priority: c.Priority,
		StoryPoints: c.Points, OriginalEstimate: c.Estimate, Assignee: c.Assignee,
	}
	if card.Priority == "" {
		card.Priority = boards.PriorityMedium
	}
	if c.Due != nil {
		card.DueDate = boards.NullString(w.today.AddDate(0, 0, *c.Due).Format(time.DateOnly))
	}
	for _, line := range c.History {
		ago, rest, _ := strings.Cut(line, " ")
		var at time.Time
		if ago != "-" {
			days, err := strconv.Atoi(ago)
			clock, after, _ := strings.Cut(rest, " ")
			rest = after
			t, err2 := time.Parse("15:04", clock)
			if err := errors.Join(err, err2); err != nil {
				return card, err
			}
			at = workingDaysBefore(w.today, days).Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute)
		}
		kind, arg, _ := strings.Cut(rest, " ")
		e := boards.Event{
			At: at, Type: boards.EventType(kind), BoardID: board, CardID: c.ID, Title: c.Title, Actor: c.Assignee,
		}
		switch e.Type {
		case boards.EventCreated:
			card.ListID, e.ToList = arg, arg
		case boards.EventMoved:
			e.FromList, e.ToList = card.ListID, arg
			card.ListID = arg
		case boards.EventCompleted:
			card.Finished = true
		case boards.EventBlocked:
			card.BlockedSince = boards.NullString(at.Format(time.DateOnly))
		case boards.EventUnblocked:
			e.BlockedSince = string(card.BlockedSince)
			card.BlockedSince = ""
		case boards.EventCommented:
			who, text, _ := strings.Cut(arg, ": ")
			e.Actor = who
			card.Comments = append(card.Comments, boards.Comment{
				ID: c.ID + "-comment-" + strconv.Itoa(len(card.Comments)+1), Author: who, Content: text, At: at,
			})
		default:
			return card, fmt.Errorf("unknown event in %q", line)
		}
		if ago != "-" {
			w.events = append(w.events, e)
		}
	}
	return card, nil
}

// workingDaysBefore goes back n days that are neither Saturday nor Sunday.
func workingDaysBefore(day time.Time, n int) time.Time {
	for n > 0 {
		day = day.AddDate(0, 0, -1)
		if wd := day.Weekday(); wd != time.Saturday && wd != time.Sunday {
			n--
		}
	}
	return day
}
