package a2a

import (
	"encoding/json"
	"strings"
)

// Role says who wrote a message.
type Role string

// The two roles of the protocol.
const (
	RoleUser  Role = "user"
	RoleAgent Role = "agent"
)

// Message is one turn of a conversation. Its context and task are those of the
// task whose history holds it, so they are not repeated here.
type Message struct {
	ID               string   `json:"messageId"`
	Role             Role     `json:"role"`
	Parts            []Part   `json:"parts"`
	ReferenceTaskIDs []TaskID `json:"referenceTaskIds,omitempty"`
	// Extensions are the URIs of the extensions that contributed to the message.
	Extensions []string `json:"extensions,omitempty"`
	// Metadata is a JSON object, or nil; kept byte for byte.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Request is the metadata of the request that carried the message (a JSON
	// object, or nil). Skills may read it; it is never sent to a client.
	Request json.RawMessage `json:"request,omitempty"`
	// Active are the URIs of the extensions that were activated for the request. They
	// are never sent to a client.
	Active []string `json:"active,omitempty"`
}

// Text joins the message's text parts with line breaks.
func (m *Message) Text() string {
	if m == nil {
		return ""
	}
	return JoinText(m.Parts)
}

// JoinText joins the text parts among parts with line breaks.
func JoinText(parts []Part) string { return joinText(parts, "\n") }

func joinText(parts []Part, between string) string {
	var b strings.Builder
	first := true
	for _, p := range parts {
		if p.Kind != PartText {
			continue
		}
		if !first {
			b.WriteString(between)
		}
		first = false
		b.WriteString(p.Text)
	}
	return b.String()
}

// AgentText returns an agent message with one text part and the given id.
func AgentText(id, text string) *Message {
	return &Message{ID: id, Role: RoleAgent, Parts: []Part{TextPart(text)}}
}
