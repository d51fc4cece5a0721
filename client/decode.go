package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// What agents answer, read alike for all dialects: their members differ in name and
// case, and none means two things. Unknown members are skipped.

// loose is a string that is "" where another value is.
type loose string

func (s *loose) UnmarshalJSON(b []byte) error {
	var v string
	if json.Unmarshal(b, &v) == nil {
		*s = loose(v)
	}
	return nil
}

type rawPart struct {
	Text     *string         `json:"text"`
	Raw      *string         `json:"raw"`
	URL      *string         `json:"url"`
	Data     json.RawMessage `json:"data"`
	File     *rawFile        `json:"file"`
	Kind     loose           `json:"kind"`
	Type     loose           `json:"type"`
	Media    loose           `json:"mediaType"`
	Filename loose           `json:"filename"`
	Metadata json.RawMessage `json:"metadata"`
}

type rawFile struct {
	Bytes     *string `json:"bytes"`
	URI       *string `json:"uri"`
	WithBytes *string `json:"fileWithBytes"`
	WithURI   *string `json:"fileWithUri"`
	Name      loose   `json:"name"`
	Mime      loose   `json:"mimeType"`
	Media     loose   `json:"mediaType"`
}

type rawMessage struct {
	ID         loose           `json:"messageId"`
	ContextID  loose           `json:"contextId"`
	TaskID     loose           `json:"taskId"`
	Role       loose           `json:"role"`
	Parts      []rawPart       `json:"parts"`
	Content    []rawPart       `json:"content"`
	Metadata   json.RawMessage `json:"metadata"`
	Extensions []string        `json:"extensions"`
}

type rawArtifact struct {
	ID          loose           `json:"artifactId"`
	Name        loose           `json:"name"`
	Description loose           `json:"description"`
	Parts       []rawPart       `json:"parts"`
	Metadata    json.RawMessage `json:"metadata"`
	Extensions  []string        `json:"extensions"`
}

type rawStatus struct {
	State     loose       `json:"state"`
	Message   *rawMessage `json:"message"`
	Update    *rawMessage `json:"update"` // of the older ProtoJSON
	Timestamp loose       `json:"timestamp"`
}

type rawTask struct {
	ID        loose           `json:"id"`
	TaskID    loose           `json:"taskId"` // EMM
	ContextID loose           `json:"contextId"`
	SkillID   loose           `json:"skillId"` // EMM
	Status    json.RawMessage `json:"status"`
	History   []rawMessage    `json:"history"`
	Artifacts []rawArtifact   `json:"artifacts"`
	Artifact  *rawArtifact    `json:"artifact"` // EMM
	Message   loose           `json:"message"`  // EMM: the question of a task that waits
	Metadata  json.RawMessage `json:"metadata"`
	CreatedAt loose           `json:"createdAt"`
	UpdatedAt loose           `json:"updatedAt"`
}

var errNoTask = errors.New("it is no task")

// decodeTask reads a task: at least an id and a state, as the whole value or under
// "task".
func decodeTask(b []byte) (*a2a.Task, error) {
	var wrapped struct {
		Task json.RawMessage `json:"task"`
	}
	if json.Unmarshal(b, &wrapped) == nil && isObject(wrapped.Task) {
		b = wrapped.Task
	}
	if !isObject(b) {
		return nil, errNoTask
	}
	var raw rawTask
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	if raw.ID == "" {
		raw.ID = raw.TaskID
	}
	if raw.ID == "" {
		return nil, errors.New("it is a task without an id")
	}
	status, err := decodeStatus(raw.Status)
	if err != nil {
		return nil, err
	}
	if raw.Message != "" && status.Message == nil {
		status.Message = a2a.AgentText("", string(raw.Message))
	}
	t := &a2a.Task{
		ID: a2a.TaskID(raw.ID), ContextID: a2a.ContextID(raw.ContextID), Skill: a2a.SkillID(raw.SkillID), Status: *status,
		Metadata: objectOrNil(raw.Metadata), CreatedAt: timeOf(raw.CreatedAt), UpdatedAt: timeOf(raw.UpdatedAt),
	}
	if t.Skill == "" {
		var m struct {
			SkillID loose `json:"skillId"`
		}
		_ = json.Unmarshal(t.Metadata, &m) // no such member is no skill
		t.Skill = a2a.SkillID(m.SkillID)
	}
	for i := range raw.History {
		t.History = append(t.History, *raw.History[i].message())
	}
	if len(raw.Artifacts) == 0 && raw.Artifact != nil {
		raw.Artifacts = []rawArtifact{*raw.Artifact}
	}
	for i := range raw.Artifacts {
		t.Artifacts = append(t.Artifacts, raw.Artifacts[i].artifact())
	}
	if t.UpdatedAt.IsZero() {
		t.UpdatedAt = t.Status.At
	}
	return t, nil
}

// decodeStatus reads a status: an object, or in EMM a word.
func decodeStatus(b []byte) (*a2a.Status, error) {
	var word string
	if json.Unmarshal(b, &word) == nil && word != "" {
		return &a2a.Status{State: stateOf(word)}, nil
	}
	var raw rawStatus
	if !isObject(b) {
		return nil, errors.New("it is a task without a status")
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	s := &a2a.Status{State: stateOf(string(raw.State)), At: timeOf(raw.Timestamp)}
	if raw.Message == nil {
		raw.Message = raw.Update
	}
	if raw.Message != nil {
		s.Message = raw.Message.message()
	}
	return s, nil
}

func (raw *rawMessage) message() *a2a.Message {
	m := &a2a.Message{ID: string(raw.ID), Role: a2a.RoleAgent, Metadata: objectOrNil(raw.Metadata), Extensions: raw.Extensions}
	if raw.Role == "user" || raw.Role == "ROLE_USER" {
		m.Role = a2a.RoleUser
	}
	if len(raw.Parts) == 0 {
		raw.Parts = raw.Content
	}
	m.Parts = partsOf(raw.Parts)
	return m
}

func (raw *rawArtifact) artifact() a2a.Artifact {
	return a2a.Artifact{
		ID: string(raw.ID), Name: string(raw.Name), Description: string(raw.Description),
		Parts: partsOf(raw.Parts), Metadata: objectOrNil(raw.Metadata), Extensions: raw.Extensions,
	}
}

func partsOf(list []rawPart) []a2a.Part {
	var parts []a2a.Part
	for i := range list {
		if p, ok := list[i].part(); ok {
			parts = append(parts, p)
		}
	}
	return parts
}

// part returns the part, unless it has no content that the protocol knows.
func (raw *rawPart) part() (a2a.Part, bool) {
	p := a2a.Part{MediaType: string(raw.Media), Filename: string(raw.Filename), Metadata: objectOrNil(raw.Metadata)}
	if f := raw.File; f != nil {
		p.Filename, p.MediaType = string(f.Name), string(f.Mime)
		if p.MediaType == "" {
			p.MediaType = string(f.Media)
		}
		for _, b := range []*string{f.Bytes, f.WithBytes} {
			if b != nil {
				raw.Raw = b
			}
		}
		for _, u := range []*string{f.URI, f.WithURI} {
			if u != nil {
				raw.URL = u
			}
		}
	}
	switch {
	case raw.Text != nil:
		p.Kind, p.Text = a2a.PartText, *raw.Text
	case raw.Raw != nil:
		p.Kind, p.Raw = a2a.PartRaw, *raw.Raw
	case raw.URL != nil:
		p.Kind, p.URL = a2a.PartURL, *raw.URL
	case len(raw.Data) > 0:
		p.Kind, p.Data = a2a.PartData, raw.Data
		unwrapValue(&p)
	default:
		return p, false
	}
	return p, true
}

// unwrapValue undoes what 0.3 does to data that is no object: it is under "value", with a
// mark in the metadata.
func unwrapValue(p *a2a.Part) {
	var mark map[string]json.RawMessage
	if p.Kind != a2a.PartData || json.Unmarshal(p.Metadata, &mark) != nil || string(mark[dataPartCompat]) != "true" {
		return
	}
	inner := only(p.Data, "value")
	if len(inner) == len(p.Data) {
		return
	}
	p.Data = inner
	delete(mark, dataPartCompat)
	p.Metadata = nil
	if len(mark) > 0 {
		p.Metadata, _ = json.Marshal(mark) // it was JSON before
	}
}

// dataPartCompat is the mark, as the SDKs have it.
const dataPartCompat = "data_part_compat"

// only returns the member of an object that has no other, else the value itself.
func only(b json.RawMessage, name string) json.RawMessage {
	var inner map[string]json.RawMessage
	if json.Unmarshal(b, &inner) == nil && len(inner) == 1 && inner[name] != nil {
		return inner[name]
	}
	return b
}

// unwrapOldData undoes what the older ProtoJSON does to data: it is under "data".
func unwrapOldData(lists ...[]a2a.Part) {
	for _, parts := range lists {
		for i := range parts {
			if parts[i].Kind == a2a.PartData {
				parts[i].Data = only(parts[i].Data, "data")
				unwrapValue(&parts[i])
			}
		}
	}
}

// decodeAnswer reads the answer to a message: a task or a message, each bare (0.3) or
// under its name (1.0).
func decodeAnswer(b []byte) (*Answer, error) {
	var raw struct {
		Task    json.RawMessage `json:"task"`
		Message json.RawMessage `json:"message"`
		Msg     json.RawMessage `json:"msg"` // of the older ProtoJSON
		Kind    loose           `json:"kind"`
		Role    loose           `json:"role"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	message := b
	switch {
	case isObject(raw.Task) || raw.Kind == "task":
		t, err := decodeTask(b)
		return &Answer{Task: t}, err
	case isObject(raw.Message):
		message = raw.Message
	case isObject(raw.Msg):
		message = raw.Msg
	case raw.Kind == "message" || raw.Kind == "" && raw.Role != "":
	default:
		t, err := decodeTask(b)
		return &Answer{Task: t}, err
	}
	var m rawMessage
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, err
	}
	if len(m.Parts)+len(m.Content) == 0 {
		return nil, errors.New("it is a message without parts")
	}
	return &Answer{Message: m.message(), ContextID: a2a.ContextID(m.ContextID)}, nil
}

// decodeEvent reads an event of a stream, by the member it has (1.0, EMM) or by its
// kind (0.3).
func decodeEvent(b []byte) (Event, error) {
	var raw struct {
		Kind     loose           `json:"kind"`
		Status   json.RawMessage `json:"statusUpdate"`
		Artifact json.RawMessage `json:"artifactUpdate"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return Event{}, err
	}
	switch {
	case raw.Kind == "status-update":
		return decodeStatusUpdate(b)
	case isObject(raw.Status):
		return decodeStatusUpdate(raw.Status)
	case raw.Kind == "artifact-update":
		return decodeArtifactUpdate(b)
	case isObject(raw.Artifact):
		return decodeArtifactUpdate(raw.Artifact)
	}
	a, err := decodeAnswer(b)
	if err != nil {
		return Event{}, err
	}
	if a.Message != nil {
		return Event{Message: a.Message, ContextID: a.ContextID}, nil
	}
	return Event{Task: a.Task, TaskID: a.Task.ID, ContextID: a.Task.ContextID}, nil
}

func decodeStatusUpdate(b []byte) (Event, error) {
	var raw struct {
		TaskID    loose           `json:"taskId"`
		ContextID loose           `json:"contextId"`
		Status    json.RawMessage `json:"status"`
		Final     bool            `json:"final"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return Event{}, err
	}
	s, err := decodeStatus(raw.Status)
	return Event{Status: s, TaskID: a2a.TaskID(raw.TaskID), ContextID: a2a.ContextID(raw.ContextID), Final: raw.Final}, err
}

func decodeArtifactUpdate(b []byte) (Event, error) {
	var raw struct {
		TaskID    loose       `json:"taskId"`
		ContextID loose       `json:"contextId"`
		Artifact  rawArtifact `json:"artifact"`
		Append    bool        `json:"append"`
		Last      bool        `json:"lastChunk"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return Event{}, err
	}
	chunk := &a2a.ArtifactChunk{Artifact: raw.Artifact.artifact(), Append: raw.Append, Last: raw.Last}
	return Event{Artifact: chunk, TaskID: a2a.TaskID(raw.TaskID), ContextID: a2a.ContextID(raw.ContextID)}, nil
}

func isObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '{'
}

func objectOrNil(b json.RawMessage) json.RawMessage {
	if isObject(b) {
		return b
	}
	return nil
}

// timeOf reads a timestamp; some agents leave out the zone, which is then taken for
// UTC. What is none is the zero time.
func timeOf(s loose) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, string(s)); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
