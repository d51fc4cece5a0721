// Package mappers turns message parts into a skill's input and a skill's result
// into artifacts.
//
// Mappers are pure: no I/O, no clock, no goroutine, no randomness. The same
// message gives the same input, which is why the input of a run is not stored:
// after a restart it is made again from the message.
package mappers

import (
	"encoding/json"

	"github.com/skillyard/skillyard/a2a"
)

// Mapper translates for one skill. Implementations are safe for concurrent use.
type Mapper interface {
	// In makes the skill's input from a message. An error is an *a2a.Error with
	// code invalid_input whose message is one plain sentence for the client; it
	// ends the task as failed.
	In(m a2a.Message) (Input, error)
	// Out makes the artifacts of a successful result. An error means that the
	// result is not what the skill promises.
	Out(result json.RawMessage) ([]a2a.Artifact, error)
}

// Input is what a mapper makes of a message.
type Input struct {
	// Payload is a JSON object in the shape the skill wants.
	Payload json.RawMessage
	// Warnings are remarks for the client ("ignored key \"x\""), in the order
	// of the message. They are shown in the task's metadata.
	Warnings []string
	// Sent is the data that the client sent, as the mapper read it and before it
	// changed anything: what an input schema speaks of. It is nil if the message has
	// no data, and it is set also when In returns an error, if it got that far.
	Sent json.RawMessage
}
