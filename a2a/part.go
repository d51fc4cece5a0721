package a2a

import "encoding/json"

// PartKind says which content member a part has.
type PartKind string

// The content kinds of A2A 1.0 (§4.1.6). A file of the older dialects is
// PartRaw (inline bytes) or PartURL (a reference).
const (
	PartText PartKind = "text"
	PartRaw  PartKind = "raw"
	PartURL  PartKind = "url"
	PartData PartKind = "data"
)

// Part is one piece of content. Exactly the member named by Kind is meant.
type Part struct {
	Kind PartKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// Raw is file content in standard padded base64, checked when it came in.
	Raw string `json:"raw,omitempty"`
	URL string `json:"url,omitempty"`
	// Data is any JSON value, null included; compact, otherwise as sent.
	Data      json.RawMessage `json:"data,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	// Metadata is a JSON object, or nil; kept byte for byte.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// TextPart returns a text part.
func TextPart(s string) Part { return Part{Kind: PartText, Text: s} }

// DataPart returns a data part; v must be one compact, valid JSON value.
func DataPart(v json.RawMessage) Part { return Part{Kind: PartData, Data: v} }
