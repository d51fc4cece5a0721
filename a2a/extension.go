package a2a

import (
	"encoding/json"
	"slices"
	"strings"
)

// ownExtensions is what the URIs of this server's own extensions begin with; a name and
// a version follow.
const ownExtensions = "https://github.com/skillyard/skillyard/ext/"

// The extensions of this server's own; docs/extensions.md describes them.
const (
	// ExtSkillSelection: the client names the skill by "skillId" in the metadata of its
	// request or message.
	ExtSkillSelection = ownExtensions + "skill-selection/v1"
	// ExtEventSequence: tasks and events say their number in the task's log, in their
	// metadata under this URI (see View.Sequence).
	ExtEventSequence = ownExtensions + "event-sequence/v1"
	// ExtSkillSchema: the card tells what data its skills take and give.
	ExtSkillSchema = ownExtensions + "skill-schema/v1"
	// ExtIdempotencyKey: the header Idempotency-Key is honoured. A message that is sent
	// again under the same key gets the answer of the first one.
	ExtIdempotencyKey = ownExtensions + "idempotency-key/v1"
)

// Extension is an extension of the protocol that an agent declares (A2A 1.0 §4.4.4).
type Extension struct {
	URI         string
	Description string
	// Required refuses work for clients that do not ask for it.
	Required bool
	// Params is a JSON object, or nil.
	Params json.RawMessage
}

// Extensions are the extensions of an agent.
type Extensions []Extension

// Active returns which of the URIs that a client asked for are activated: those that
// are declared, each once, in the order of the declarations. Others are ignored, and
// none stands for another version of itself (A2A 1.0 §4.6.3).
func (x Extensions) Active(asked []string) []string {
	if len(asked) == 0 {
		return nil
	}
	var active []string
	for _, e := range x {
		if slices.Contains(asked, e.URI) {
			active = append(active, e.URI)
		}
	}
	return active
}

// Check returns extension_support_required if one that is required is not among the
// active ones (A2A 1.0 §3.3.4), else nil.
func (x Extensions) Check(active []string) error {
	var missing []string
	for _, e := range x {
		if e.Required && !slices.Contains(active, e.URI) {
			missing = append(missing, e.URI)
		}
	}
	if missing == nil {
		return nil
	}
	uris := strings.Join(missing, ", ")
	return &Error{
		Code:    CodeExtensionRequired,
		Message: "This agent requires extensions that the request does not activate: " + uris + ". Send them in the header A2A-Extensions.",
		Details: map[string]string{"extensions": uris},
	}
}
