package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// cardTime bounds how long a list of agents waits for the card of one.
const cardTime = 8 * time.Second

type agentsInput struct {
	Agent string `json:"agent,omitempty" jsonschema:"describe this agent only, in full"`
}

// agentView is an agent as models see it.
type agentView struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Skills      []skillView `json:"skills,omitempty"`
	Error       string      `json:"error,omitempty" jsonschema:"why its skills are not known"`
}

type skillView struct {
	ID          string   `json:"id" jsonschema:"what a2a_send takes as skill"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Examples    []string `json:"examples,omitempty"`
}

// describe is a2a_agents.
func (s *Server) describe(ctx context.Context, in agentsInput) (answer, error) {
	var chosen []*Agent
	if in.Agent != "" {
		a, err := s.choose(in.Agent)
		if err != nil {
			return answer{}, err
		}
		chosen = []*Agent{a}
	} else {
		for i := range s.Agents {
			chosen = append(chosen, &s.Agents[i])
		}
	}
	ctx, cancel := context.WithTimeout(ctx, min(cardTime, s.CallTimeout))
	defer cancel()
	views := make([]agentView, len(chosen))
	var wg sync.WaitGroup
	for i, a := range chosen {
		wg.Go(func() { views[i] = s.viewAgent(ctx, a, len(chosen) == 1) })
	}
	wg.Wait()
	lines := make([]string, len(views))
	for i, v := range views {
		lines[i] = v.String()
	}
	return answer{text: strings.Join(lines, "\n\n"), agents: views}, nil
}

// viewAgent reads an agent's card; in full with its examples.
func (s *Server) viewAgent(ctx context.Context, a *Agent, full bool) agentView {
	v := agentView{Name: a.Name, Description: a.Description}
	limit := 200
	if full {
		limit = 2000
	}
	card, err := a.Client.Card(ctx)
	if err != nil {
		// Without its card an agent may still be reached, by the dialect in its entry.
		v.Error = string(s.words(a, err))
		for _, id := range a.Skills {
			v.Skills = append(v.Skills, skillView{ID: string(id)})
		}
		return v
	}
	if v.Description == "" {
		v.Description = oneLine(card.Description, limit)
	}
	for _, skill := range card.Skills {
		if len(a.Skills) > 0 && !slices.Contains(a.Skills, skill.ID) {
			continue
		}
		sv := skillView{ID: string(skill.ID), Name: oneLine(skill.Name, 100), Description: oneLine(skill.Description, limit)}
		if full {
			for _, example := range skill.Examples {
				sv.Examples = append(sv.Examples, oneLine(example, 300))
			}
		}
		v.Skills = append(v.Skills, sv)
	}
	// What the operator allows may be missing on a public card.
	for _, id := range a.Skills {
		if !slices.ContainsFunc(v.Skills, func(sv skillView) bool { return a2a.SkillID(sv.ID) == id }) {
			v.Skills = append(v.Skills, skillView{ID: string(id)})
		}
	}
	return v
}

// String is the agent as text.
func (v agentView) String() string {
	var b strings.Builder
	b.WriteString(v.Name)
	if v.Description != "" {
		b.WriteString(": " + v.Description)
	}
	if v.Error != "" {
		b.WriteString("\n  " + v.Error)
	}
	for _, skill := range v.Skills {
		fmt.Fprintf(&b, "\n- skill %q", skill.ID)
		if skill.Description != "" {
			b.WriteString(": " + skill.Description)
		}
		for _, example := range skill.Examples {
			fmt.Fprintf(&b, "\n  for example %q", example)
		}
	}
	return b.String()
}
