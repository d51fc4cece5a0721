package wire

import (
	"strings"

	"github.com/skillyard/skillyard/a2a"
)

// newRestV03 returns the REST form of A2A 0.3. Unlike JSON-RPC's it is ProtoJSON,
// of the older package a2a.v1: content instead of parts, TASK_STATE_CANCELLED, data
// in data. Its prose shows the shapes of JSON-RPC, and some clients send those, so
// both are read. Its errors are the error objects of JSON-RPC.
func newRestV03(v03 *Dialect) *Dialect {
	f := &form{
		dialect:        NameV03,
		snake:          true,
		oldProto:       true,
		role:           func(r *reader) (bool, error) { return r.roleProto("user") },
		part:           (*reader).partRest03,
		waitName:       "blocking",
		waitValue:      true,
		pushName:       "pushNotificationConfig",
		schemeName:     "schemes",
		pushID:         pushIDV03,
		operationNames: true,
	}
	s := &spelling{oldProto: true, user: "ROLE_USER", agent: "ROLE_AGENT", state: stateRest03, part: appendPartRest03}
	task := func(b []byte, res any, view a2a.View) []byte { return s.taskV1(b, res.(*a2a.Task), view, false) }
	config := appendPush(appendPushRest03)
	return &Dialect{
		Name: NameV03,
		Methods: byOp(
			Method{Op: a2a.OpSend, Decode: f.send, Append: s.sendV1},
			Method{Op: a2a.OpStream, Decode: f.send},
			Method{Op: a2a.OpGet, Decode: f.get, Append: task},
			Method{Op: a2a.OpList, Decode: f.list, Append: s.listV1},
			Method{Op: a2a.OpCancel, Decode: f.cancel, Append: task},
			Method{Op: a2a.OpSubscribe, Decode: f.get},
			Method{Op: a2a.OpSetPush, Decode: f.setPushRest03, Append: config},
			Method{Op: a2a.OpGetPush, Decode: f.pushNames("taskId", "id", true), Append: config},
			Method{Op: a2a.OpListPush, Decode: f.pushNames("taskId", "", false), Append: appendPushListRest03},
			Method{Op: a2a.OpDeletePush, Decode: f.pushNames("taskId", "id", true), Append: appendEmpty},
			Method{Op: a2a.OpExtendedCard, Decode: decodeNothing},
		),
		AppendError: appendErrorRest03,
		Stream:      s.streamProto("0.3 rest"),
		Push:        v03.Push,
	}
}

// appendErrorRest03 writes an error with its type, the name of a class, which is what the
// client of the Python SDK tells errors by.
func appendErrorRest03(b []byte, e *a2a.Error) []byte {
	b = appendErrorV03(b, e)
	b = stringMember(b[:len(b)-1], "type", className(rowOf(e.Code).reason))
	return append(b, '}')
}

// className makes TaskNotFoundError of TASK_NOT_FOUND, and InternalError of INTERNAL_ERROR.
func className(reason string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(reason, "_") {
		name.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return strings.TrimSuffix(name.String(), "Error") + "Error"
}

// byOp names methods like their operations.
func byOp(list ...Method) map[string]Method {
	methods := make(map[string]Method, len(list))
	for _, m := range list {
		methods[string(m.Op)] = m
	}
	return methods
}

// canceledRest03 is how the older package spells TASK_STATE_CANCELED.
const canceledRest03 = "TASK_STATE_CANCELLED"

func stateRest03(s a2a.State) string {
	if s == a2a.StateCanceled {
		return canceledRest03
	}
	return stateV1(s)
}

// partRest03 reads a part of either shape. Data is in data, unless a kind says that
// the part is one of JSON-RPC.
func (r *reader) partRest03() (a2a.Part, bool, error) {
	p, kind, err := r.partOld()
	if kind == "" && p.Kind == a2a.PartData {
		if inner := lookup(p.Data, "data"); isObject(inner) && without(p.Data, "data") == nil {
			p.Data = inner
		}
	}
	unwrapData(&p)
	return p, true, err
}

// appendPartRest03 writes a part. What it has no member for goes to its metadata.
func appendPartRest03(b []byte, p *a2a.Part) []byte {
	b = append(b, '{')
	wrapped := false
	switch p.Kind {
	case a2a.PartRaw, a2a.PartURL:
		b = append(b, `"file":{`...)
		if p.Kind == a2a.PartRaw {
			b = stringMember(b, "fileWithBytes", p.Raw)
		} else {
			b = stringMember(b, "fileWithUri", p.URL)
		}
		b = optionalMember(b, "mimeType", p.MediaType)
		b = append(optionalMember(b, "name", p.Filename), '}')
	case a2a.PartData:
		b = append(b, `"data":{`...)
		if wrapped = !isObject(p.Data); wrapped {
			b = append(key(b, "data"), '{')
			b = append(rawMember(b, "value", p.Data), '}')
		} else {
			b = rawMember(b, "data", p.Data)
		}
		b = append(b, '}')
	default:
		b = stringMember(b, "text", p.Text)
	}
	return append(appendSideMetadata(b, p, wrapped), '}')
}

// setPushRest03 decodes a push config: bare, beside its name, or in a config beside
// the parent. The task is that of the path.
func (f *form) setPushRest03(params []byte, lim Limits) (any, error) {
	r := newReader(params, lim, f.snake)
	req := &a2a.PushRequest{Config: a2a.PushConfig{Dialect: f.dialect}}
	inner := &req.Config
	var configID, name, parent string
	var member func(written []byte) error
	member = func(written []byte) (err error) {
		switch string(written) {
		case "taskId":
			var id string
			id, err = r.id()
			req.TaskID = a2a.TaskID(id)
		case "parent":
			parent, _, err = r.text()
		case "configId":
			configID, err = r.id()
		case "name":
			name, _, err = r.text()
		case "config":
			err = r.object(member)
		case f.pushName:
			var c *a2a.PushConfig
			if c, err = f.pushConfig(r); c != nil {
				*inner = *c
			}
		default:
			err = f.pushMember(r, inner, written)
		}
		return err
	}
	if err := r.params(params, member); err != nil {
		return nil, err
	}
	task, id := NamesOfConfig(name)
	if parent != "" {
		task = TaskOfName(parent)
	}
	switch {
	case req.TaskID == "":
		return nil, required("taskId")
	case task != "" && task != req.TaskID:
		return nil, a2a.InvalidParams("name", "contradicts the path of the request")
	}
	NameConfig(inner, id, configID)
	return named(req, checkPush("", inner))
}

// appendPushRest03 appends a TaskPushNotificationConfig, without its secrets.
func appendPushRest03(b []byte, c *a2a.PushConfig) []byte {
	b = append(b, '{')
	b = stringMember(b, "name", ConfigName(c))
	return append(appendPushConfigV03(key(b, "pushNotificationConfig"), c), '}')
}

func appendPushListRest03(b []byte, res any, _ a2a.View) []byte {
	b = append(b, `{"configs":`...)
	b = appendPushList(b, res.([]a2a.PushConfig), appendPushRest03)
	b = stringMember(b, "nextPageToken", "")
	return append(b, '}')
}
