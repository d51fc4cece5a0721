package wire

import (
	"github.com/skillyard/skillyard/a2a"
)

// StreamForm is how a dialect shows the events of a task in a stream. All of its
// functions are pure, and what they append depends on the event alone, so the
// bytes can be shared by all readers of a task.
type StreamForm struct {
	// Name is the form's own: readers whose forms have the same share the bytes.
	Name string
	// Snapshot appends the first frame's result: the task as it is.
	Snapshot func(b []byte, t *a2a.Task, view a2a.View) []byte
	// Event appends a later frame's result. t names the task (only its id and
	// context are read). It returns b as it was for events that the dialect does
	// not show.
	Event func(b []byte, t *a2a.Task, ev *a2a.Event) []byte
	// Folds says that Event needs the whole task, as it is after the event.
	Folds bool
	// Artifact appends a result that shows the i-th artifact of the task. It is set
	// where the snapshot has no artifacts: a subscription then begins with them.
	Artifact func(b []byte, t *a2a.Task, i int) []byte
	// Ends reports whether a stream of the operation (Stream or Subscribe) is over
	// when the task has reached the state.
	Ends func(op a2a.Op, s a2a.State) bool
	// Numbered is the same form with the number of each event in its metadata, as
	// a2a.ExtEventSequence has it; nil if the dialect knows no extensions.
	Numbered *StreamForm
	// Ended says that a subscription to an ended task shows it once more; otherwise
	// it is refused.
	Ended bool
	// NotFound appends the result that stands for an unknown task; nil if that is an
	// error.
	NotFound func(b []byte, id a2a.TaskID) []byte
}

// streamProto is the stream form of A2A 1.0 (§3.1.2, §3.1.6, §4.2.3): a StreamResponse
// with exactly one member. The stream of a send closes when the task is terminal
// or asks for input; it stays open while the task waits for authorisation (§7.6.1).
// A subscription closes at a terminal state only.
//
// That of the older ProtoJSON has the same members, and ends like any of 0.3.
func (s *spelling) streamProto(name string) *StreamForm {
	f := s.protoForm(name, a2a.View{})
	f.Numbered = s.protoForm(name+" numbered", a2a.View{Sequence: true})
	return f
}

// protoForm is streamProto with events as a view has them.
func (s *spelling) protoForm(name string, shown a2a.View) *StreamForm {
	ends := endsV1
	if s.oldProto {
		ends = endsV03
	}
	return &StreamForm{
		Name:  name,
		Ended: s.oldProto,
		Snapshot: func(b []byte, t *a2a.Task, view a2a.View) []byte {
			b = append(b, `{"task":`...)
			return append(s.taskV1(b, t, view, false), '}')
		},
		Event: func(b []byte, t *a2a.Task, ev *a2a.Event) []byte {
			switch {
			case ev.Created != nil:
				b = append(b, `{"task":`...)
				return append(s.taskV1(b, asCreated(ev), shown, false), '}')
			case ev.Status != nil:
				b = append(b, `{"statusUpdate":{`...)
				b = s.eventHead(b, t)
				b = s.eventStatus(b, t, ev)
				if s.oldProto {
					b = boolMember(b, "final", ends("", ev.Status.State))
				}
			case ev.Artifact != nil:
				b = append(b, `{"artifactUpdate":{`...)
				b = s.eventHead(b, t)
				b = s.eventArtifact(b, ev.Artifact)
			default:
				return b
			}
			return append(eventMetadata(b, ev, shown), "}}"...)
		},
		Ends: ends,
	}
}

func endsV1(op a2a.Op, state a2a.State) bool {
	return state.Terminal() || op == a2a.OpStream && state == a2a.StateInputRequired
}

func endsV03(_ a2a.Op, state a2a.State) bool { return state.Settled() }

// streamV03 is the stream form of A2A 0.3: the bare objects with their kind. final
// tells clients to stop reading, so it comes with every state at which the server
// closes: the terminal ones and the pauses.
func (s *spelling) streamV03() *StreamForm {
	f := s.formV03(NameV03, a2a.View{})
	f.Numbered = s.formV03(NameV03+" numbered", a2a.View{Sequence: true})
	return f
}

// formV03 is streamV03 with events as a view has them.
func (s *spelling) formV03(name string, shown a2a.View) *StreamForm {
	return &StreamForm{
		Name:     name,
		Ended:    true,
		Snapshot: s.taskV03,
		Event: func(b []byte, t *a2a.Task, ev *a2a.Event) []byte {
			switch {
			case ev.Created != nil:
				return s.taskV03(b, asCreated(ev), shown)
			case ev.Status != nil:
				b = append(b, `{"kind":"status-update"`...)
				b = s.eventHead(b, t)
				b = s.eventStatus(b, t, ev)
				b = boolMember(b, "final", endsV03("", ev.Status.State))
			case ev.Artifact != nil:
				b = append(b, `{"kind":"artifact-update"`...)
				b = s.eventHead(b, t)
				b = s.eventArtifact(b, ev.Artifact)
			default:
				return b
			}
			return append(eventMetadata(b, ev, shown), '}')
		},
		Ends: endsV03,
	}
}

// eventMetadata appends the metadata of an event, if the view wants any.
func eventMetadata(b []byte, ev *a2a.Event, view a2a.View) []byte {
	if m := EventMetadata(ev, view); m != nil {
		b = append(key(b, "metadata"), m...)
	}
	return b
}

// asCreated is the task as it was when it was created: what a replay of the whole
// log begins with.
func asCreated(ev *a2a.Event) *a2a.Task {
	t := *ev.Created
	t.Status.At, t.Seq = ev.At, ev.Seq
	return &t
}

func (s *spelling) eventHead(b []byte, t *a2a.Task) []byte {
	b = stringMember(b, "taskId", string(t.ID))
	return stringMember(b, "contextId", string(t.ContextID))
}

func (s *spelling) eventStatus(b []byte, t *a2a.Task, ev *a2a.Event) []byte {
	return s.status(b, &a2a.Task{ID: t.ID, ContextID: t.ContextID, Status: *ev.Status})
}

// eventArtifact appends a chunk. The flags are always there: a first chunk says
// that it does not append.
func (s *spelling) eventArtifact(b []byte, c *a2a.ArtifactChunk) []byte {
	b = s.artifact(key(b, "artifact"), &c.Artifact)
	b = boolMember(b, "append", c.Append)
	return boolMember(b, "lastChunk", c.Last)
}

// streamEMM is the stream form of EMM clients: on every change of state the whole
// task, with its id and its status beside it.
func streamEMM() *StreamForm {
	frame := func(b []byte, t *a2a.Task, view a2a.View) []byte {
		b = append(b, '{')
		b = stringMember(b, "taskId", string(t.ID))
		b = stringMember(b, "status", oldState(t.Status.State))
		b = appendTaskEMM(key(b, "task"), t, view)
		return append(b, '}')
	}
	return &StreamForm{
		Name:     NameEMM,
		Folds:    true,
		Snapshot: frame,
		Event: func(b []byte, t *a2a.Task, ev *a2a.Event) []byte {
			if ev.Status == nil {
				return b
			}
			return frame(b, t, a2a.View{})
		},
		Ends: func(_ a2a.Op, state a2a.State) bool { return state.Terminal() },
		NotFound: func(b []byte, id a2a.TaskID) []byte {
			b = append(b, '{')
			b = stringMember(b, "taskId", string(id))
			b = stringMember(b, "status", "not_found")
			b = append(key(b, "task"), '{')
			b = stringMember(b, "id", string(id))
			b = stringMember(b, "taskId", string(id))
			b = stringMember(b, "status", "not_found")
			return append(b, "}}"...)
		},
	}
}

func boolMember(b []byte, name string, v bool) []byte {
	b = key(b, name)
	if v {
		return append(b, "true"...)
	}
	return append(b, "false"...)
}
