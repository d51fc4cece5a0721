package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// randomizer makes tasks of every shape the store could hold.
type randomizer struct{ *rand.Rand }

func pick[T any](r randomizer, list ...T) T { return list[r.IntN(len(list))] }

func (r randomizer) text() string {
	return pick(r, "", "x", "two\nlines\r\n", "quote \" and \\ and </script>", "ünï\u2028cödé 😀", "\x00\x1f", "not utf-8 \xff", "{\"a\":1}")
}

func (r randomizer) object() json.RawMessage {
	return pick(r, nil, nil, json.RawMessage(`{}`), json.RawMessage(`{"k":[1,{"kind":"x"}]}`), json.RawMessage(`{"skillId":"own","warnings":null,"code":7,"mediaType":"m"}`), json.RawMessage("{\n  \"n\" : 9007199254740993\r\n}"))
}

func (r randomizer) part() a2a.Part {
	p := pick(r,
		a2a.TextPart(r.text()),
		a2a.Part{Kind: a2a.PartRaw, Raw: "/+8="},
		a2a.Part{Kind: a2a.PartURL, URL: "https://e.example/" + r.text()},
		a2a.DataPart(pick(r, json.RawMessage(`{"value":1}`), json.RawMessage(`{}`), json.RawMessage(`[1,"kind"]`), json.RawMessage(`null`), json.RawMessage(`"s"`), json.RawMessage(`12345678901234567890`), nil)),
	)
	p.MediaType = pick(r, "", "text/plain", "application/json", "image/png")
	p.Filename = pick(r, "", "a.txt")
	p.Metadata = pick(r, r.object(), json.RawMessage(`{"data_part_compat":false}`))
	return p
}

func (r randomizer) parts() (parts []a2a.Part) {
	for range r.IntN(4) {
		parts = append(parts, r.part())
	}
	return parts
}

func (r randomizer) message(role a2a.Role) *a2a.Message {
	return &a2a.Message{
		ID: fmt.Sprintf("m-%d", r.IntN(1000)), Role: role, Parts: r.parts(), Metadata: r.object(), Request: json.RawMessage(`{"private":true}`),
		ReferenceTaskIDs: pick(r, nil, []a2a.TaskID{"a", "b"}), Extensions: pick(r, nil, []string{"https://ex/a"}),
	}
}

func (r randomizer) task() *a2a.Task {
	t := &a2a.Task{
		ID: "t-1", ContextID: "c-1", Skill: pick(r, "", a2a.SkillID("echo")), SkillSource: pick(r, "", "default"),
		Status:   a2a.Status{State: pick(r, a2a.States()...), Code: pick(r, "", a2a.CodeTimeout), At: pick(r, at, time.Time{})},
		Warnings: pick(r, nil, []string{"a \"remark\"", ""}), Metadata: r.object(), CreatedAt: at, UpdatedAt: at, Seq: r.Int64N(9), QueuePlace: r.IntN(2),
	}
	for range r.IntN(4) {
		t.History = append(t.History, *r.message(pick(r, a2a.RoleUser, a2a.RoleAgent)))
	}
	for i := range r.IntN(3) {
		t.Artifacts = append(t.Artifacts, a2a.Artifact{ID: fmt.Sprint(i), Name: r.text(), Description: r.text(), Parts: r.parts(), Metadata: r.object(), Extensions: pick(r, nil, []string{"https://ex/a"})})
	}
	if r.IntN(2) == 0 {
		t.Status.Message = r.message(a2a.RoleAgent)
		if t.Status.State.Settled() {
			t.History = append(t.History, *t.Status.Message)
		}
	}
	return t
}

func (r randomizer) view() (v a2a.View) {
	if n := r.IntN(5); n < 4 {
		v.HistoryLength = &n
	}
	v.OmitArtifacts = r.IntN(3) == 0
	return v
}

// TestAppend_AnyTask encodes a few thousand tasks of every shape and reads the
// answers as the strictest client of each dialect does.
func TestAppend_AnyTask(t *testing.T) {
	d := New(Options{})
	for seed := range uint64(3000) {
		r := randomizer{rand.New(rand.NewPCG(seed, 1))}
		task, view := r.task(), r.view()
		before, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, raw []byte) {
			if !jsontext.Value(raw).IsValid() || bytes.ContainsAny(raw, "\r\n") {
				t.Errorf("not one line of valid JSON: %s", raw)
			}
			if bytes.Contains(raw, []byte("private")) {
				t.Errorf("shows the metadata of the request: %s", raw)
			}
			if name != NameV1 && name != "0.3 rest" && (bytes.Contains(raw, []byte("TASK_STATE_")) || bytes.Contains(raw, []byte("ROLE_"))) {
				t.Errorf("%s output has names of 1.0: %s", name, raw)
			}
		}
		v1 := d.V1.Methods
		send := v1["SendMessage"].Append(nil, &a2a.SendResult{Task: task}, view)
		checkResultV1(t, a2a.OpSend, send)
		reply := v1["SendMessage"].Append(nil, &a2a.SendResult{Message: r.message(a2a.RoleAgent), ContextID: "c"}, view)
		checkResultV1(t, a2a.OpSend, reply)
		get := v1["GetTask"].Append(nil, task, view)
		checkResultV1(t, a2a.OpGet, get)
		list := v1["ListTasks"].Append(nil, &a2a.ListResult{Tasks: []*a2a.Task{task, task}, PageSize: 2, TotalSize: 2, NextPageToken: r.text()}, view)
		checkResultV1(t, a2a.OpList, list)
		if got := bytes.Contains(list, []byte(`"artifacts":[`)); got == view.OmitArtifacts {
			t.Errorf("artifacts in the list: got %v with OmitArtifacts %v: %s", got, view.OmitArtifacts, list)
		}
		for _, raw := range [][]byte{send, reply, get, list} {
			check(NameV1, raw)
		}
		v03 := d.V03.Methods
		for _, raw := range [][]byte{
			v03["message/send"].Append(nil, &a2a.SendResult{Task: task}, view),
			v03["message/send"].Append(nil, &a2a.SendResult{Message: r.message(a2a.RoleAgent)}, view),
			v03["tasks/get"].Append(nil, task, view),
			v03["tasks/cancel"].Append(nil, task, a2a.View{}),
		} {
			check(NameV03, raw)
			checkFastA2A(t, raw)
		}
		for _, x := range []*Dialect{d.RestV03, d.V01} {
			for _, m := range x.Methods {
				switch m.Op {
				case a2a.OpSend:
					check(x.Stream.Name, m.Append(nil, &a2a.SendResult{Task: task}, view))
					check(x.Stream.Name, m.Append(nil, &a2a.SendResult{Message: r.message(a2a.RoleAgent)}, view))
				case a2a.OpGet, a2a.OpCancel:
					check(x.Stream.Name, m.Append(nil, task, view))
				case a2a.OpList:
					check(x.Stream.Name, m.Append(nil, &a2a.ListResult{Tasks: []*a2a.Task{task}}, view))
				}
			}
			for i := range task.Artifacts {
				if x.Stream.Artifact != nil {
					check(x.Stream.Name, x.Stream.Artifact(nil, task, i))
				}
			}
			check(x.Stream.Name, x.Stream.Snapshot(nil, task, view))
		}
		check(NameEMM, d.EMM.Methods["tasks/submit"].Append(nil, &a2a.SendResult{Task: task}, view))
		check(NameEMM, d.EMM.Methods["tasks/status"].Append(nil, task, view))
		check(NameEMM, d.EMM.Methods["tasks/status"].NotFound(nil, a2a.TaskID(r.text())))

		after, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("encoding changed the task")
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
