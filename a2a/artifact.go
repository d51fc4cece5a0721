package a2a

import "encoding/json"

// Artifact is an output of a task. Its id is unique within the task.
type Artifact struct {
	ID          string          `json:"artifactId"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parts       []Part          `json:"parts"`
	Extensions  []string        `json:"extensions,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	// Streamed says that the artifact came in pieces, so that a text part goes on where the
	// one before it ends. Task.Apply sets it; it is never sent to a client.
	Streamed bool `json:"streamed,omitempty"`
}

// Text puts the text parts together: those of an artifact that came in pieces as they
// are, others with line breaks between them.
func (a *Artifact) Text() string {
	if !a.Streamed {
		return JoinText(a.Parts)
	}
	return joinText(a.Parts, "")
}

// ArtifactChunk is an artifact, or a further piece of one (A2A 1.0 §4.2.2).
type ArtifactChunk struct {
	Artifact Artifact `json:"artifact"`
	// Append adds the parts to the artifact of the same id. Without it the
	// artifact is new, or replaces the one of the same id.
	Append bool `json:"append,omitempty"`
	// Last says that the artifact is complete.
	Last bool `json:"lastChunk,omitempty"`
}
