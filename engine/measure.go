package engine

import (
	"encoding/json"
	"errors"

	"github.com/skillyard/skillyard/a2a"
)

// snapshotAfter is how many events may lie on top of the stored snapshot: enough
// to make a stream cheap, and never so many that a read costs more than the task
// itself. Growing with the log keeps the cost of a chunk flat.
func snapshotAfter(seq int64) int { return max(64, int(seq)/2) }

func hasStatus(events []a2a.Event) bool {
	for i := range events {
		if events[i].Status != nil {
			return true
		}
	}
	return false
}

// checkJSON refuses raw JSON that is none: it would break every answer it is in.
func checkJSON(e *a2a.Event) error {
	var parts []a2a.Part
	var metadata []byte
	switch {
	case e.Status != nil && e.Status.Message != nil:
		parts, metadata = e.Status.Message.Parts, e.Status.Message.Metadata
	case e.Artifact != nil:
		parts, metadata = e.Artifact.Artifact.Parts, e.Artifact.Artifact.Metadata
	}
	if metadata != nil && !json.Valid(metadata) {
		return errors.New("emit: metadata is not JSON")
	}
	for _, p := range parts {
		if p.Kind == a2a.PartData && !json.Valid(p.Data) || p.Metadata != nil && !json.Valid(p.Metadata) {
			return errors.New("emit: a part's data or metadata is not JSON")
		}
	}
	return nil
}

// eventSize is roughly how many bytes an event takes.
func eventSize(e *a2a.Event) int64 {
	const overhead = 64
	n := int64(overhead)
	parts := func(ps []a2a.Part) {
		for _, p := range ps {
			n += int64(len(p.Text) + len(p.Raw) + len(p.URL) + len(p.Data) + len(p.Metadata) + overhead)
		}
	}
	switch {
	case e.Status != nil && e.Status.Message != nil:
		parts(e.Status.Message.Parts)
		n += int64(len(e.Status.Message.Metadata))
	case e.Artifact != nil:
		parts(e.Artifact.Artifact.Parts)
		n += int64(len(e.Artifact.Artifact.Metadata))
	case e.Message != nil:
		parts(e.Message.Parts)
	}
	return n
}
