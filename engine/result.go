package engine

import (
	"slices"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/skills"
)

// resultError is the cause of a run whose result breaks its skill's output schema.
// Its text is for the log.
type resultError struct{ what string }

func (e resultError) Error() string { return "result does not fit the output schema: " + e.what }

// checkResult holds what a skill puts out against its output schema, before anybody
// sees it: each data part of an artifact, of the message that completes the task and
// of one that answers without a task. A result without any data breaks the schema as
// well, since data is what it promises.
func (r *run) checkResult(ev *a2a.Event) error {
	entry := r.lane.entry
	if entry.OutputSchema == nil || entry.ProvenOutput {
		return nil
	}
	var parts []a2a.Part
	final := false
	switch {
	case ev.Artifact != nil:
		parts = ev.Artifact.Artifact.Parts
	case ev.Status != nil && ev.Status.State == a2a.StateCompleted:
		if final = true; ev.Status.Message != nil {
			parts = ev.Status.Message.Parts
		}
	case ev.Message != nil:
		final, parts = true, ev.Message.Parts
	}
	for _, p := range parts {
		if p.Kind != a2a.PartData {
			continue
		}
		if bad := entry.OutputSchema.Check(p.Data, entry.Limits.MaxValues); len(bad) > 0 {
			return resultError{skills.Sentence(bad)}
		}
		r.gaveData.Store(true)
	}
	if final && !r.gaveData.Load() && !slices.ContainsFunc(r.task.Artifacts, hasData) {
		return resultError{"it has no data"}
	}
	return nil
}

func hasData(a a2a.Artifact) bool {
	return slices.ContainsFunc(a.Parts, func(p a2a.Part) bool { return p.Kind == a2a.PartData })
}
