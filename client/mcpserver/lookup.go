package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skillyard/skillyard/client/pending"
)

// lookup finds the entry that a tool means: the task of that id (or the beginning of
// one), or without an id the newest pending one; of the agent of that name, if it is
// not "". What is not found is a trouble that says what there is.
func (s *Server) lookup(ctx context.Context, id, agent string) (known, error) {
	var only *Agent
	if agent != "" {
		var err error
		if only, err = s.choose(agent); err != nil {
			return known{}, err
		}
	}
	if id == "" {
		return s.newest(ctx, only)
	}
	var hits []known
	var ambiguous []string
	asked := map[string]bool{}
	for i := range s.Agents {
		a := &s.Agents[i]
		url := a.Client.URL()
		if only != nil && a != only || asked[url] {
			continue
		}
		asked[url] = true
		e, err := s.Registry.Find(ctx, id, pending.Filter{AgentURL: url})
		var several *pending.AmbiguousError
		switch {
		case errors.As(err, &several):
			ambiguous = append(ambiguous, several.IDs...)
		case errors.Is(err, pending.ErrNone):
		case err != nil:
			return known{}, err
		default:
			if owner := s.owner(e); only == nil || owner == only {
				hits = append(hits, known{e, owner})
			}
		}
	}
	// A whole id before the beginning of one, a pending task before an ended one.
	hits = prefer(hits, func(k known) bool { return string(k.TaskID) == id || k.Ref == id })
	hits = prefer(hits, func(k known) bool { return !k.Ended() })
	switch {
	case len(hits) == 1 && len(ambiguous) == 0:
		return hits[0], nil
	case len(hits) == 0 && len(ambiguous) == 0:
		return known{}, s.unknown(ctx, id, only)
	}
	for _, k := range hits {
		ambiguous = append(ambiguous, fmt.Sprintf("%s (at %s)", k.name(), k.agent.Name))
	}
	return known{}, troublef("%q stands for several tasks: %s. Give the whole id, and the agent.", oneLine(id, 80), strings.Join(ambiguous, ", "))
}

// newest returns the pending task that was sent last, of those that the agent is known to
// have if there are any; a note if there is none.
func (s *Server) newest(ctx context.Context, only *Agent) (known, error) {
	list, err := s.entries(ctx, only)
	if err != nil {
		return known{}, err
	}
	if list = prefer(list, func(k known) bool { return !k.Sending() }); len(list) > 0 {
		return list[0], nil
	}
	past, err := s.past(ctx, only)
	if err != nil {
		return known{}, err
	}
	at := ""
	if only != nil {
		at = " at " + only.Name
	}
	return known{}, note(fmt.Sprintf("There is no task%s to look at.%s", at, past))
}

// unknown says that there is no such task, and which there are.
func (s *Server) unknown(ctx context.Context, id string, only *Agent) error {
	past, err := s.past(ctx, only)
	if err != nil {
		return err
	}
	at := ""
	if only != nil {
		at = " at " + only.Name
	}
	return troublef("No task %q%s is known here; it was not sent from this machine, or was forgotten. Use an id from the lists below.%s", oneLine(id, 80), at, past)
}

// past lists the tasks that ended last, "" if there are none.
func (s *Server) past(ctx context.Context, only *Agent) (string, error) {
	// Some may be of agents that are not ours.
	list, err := s.Registry.History(ctx, pending.Filter{}, 100)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	n := 0
	for _, e := range list {
		a := s.owner(e)
		if a == nil || only != nil && a != only || n == 5 {
			continue
		}
		k := known{e, a}
		if n++; n == 1 {
			b.WriteString("\nEnded last:")
		}
		fmt.Fprintf(&b, "\n- %s at %s, %s: %q", k.name(), a.Name, k.state(), oneLine(k.Prompt, 60))
	}
	return b.String(), nil
}

// prefer returns the entries for which f holds, or all if there are none.
func prefer(list []known, f func(known) bool) []known {
	var some []known
	for _, k := range list {
		if f(k) {
			some = append(some, k)
		}
	}
	if len(some) == 0 {
		return list
	}
	return some
}
