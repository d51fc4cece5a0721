package pb

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/skillyard/skillyard/a2a"
)

// randomizer makes what the store could hold. What no JSON of 1.0 can say without a
// loss (a message without parts, empty ids) is left to plain cases.
type randomizer struct{ *rand.Rand }

func pick[T any](r randomizer, list ...T) T { return list[r.IntN(len(list))] }

func (r randomizer) text() string {
	return pick(r, "x", "two\nlines\r\n", "quote \" and \\ and </script>", "ünï\u2028cödé 😀", "\x00\x1f", "not utf-8 \xff\xfe", "{\"a\":1}")
}

func (r randomizer) object() json.RawMessage {
	return pick(r, nil, nil, json.RawMessage(`{}`), json.RawMessage(`{"k":[1,{"kind":"x"}],"n":null,"f":1.5e-7,"t":true}`),
		json.RawMessage(`{"skillId":"own","warnings":null,"code":7,"mediaType":"m"}`), json.RawMessage("{\n  \"n\" : 9007199254740993\r\n}"),
		json.RawMessage(`{"a":1,"a":2,"\ud83d\ude00":"\ud83d\ude00"}`), json.RawMessage("{\"\xff\":\"\xff\"}"))
}

func (r randomizer) part() a2a.Part {
	p := pick(r,
		a2a.TextPart(r.text()), a2a.TextPart(""),
		a2a.Part{Kind: a2a.PartRaw, Raw: "/+8="}, a2a.Part{Kind: a2a.PartRaw},
		a2a.Part{Kind: a2a.PartURL, URL: "https://e.example/" + r.text()},
		a2a.DataPart(pick(r, json.RawMessage(`{"value":1}`), json.RawMessage(`{}`), json.RawMessage(`[]`), json.RawMessage(`[1,"kind",[[]],-0.5]`),
			json.RawMessage(`null`), json.RawMessage(`false`), json.RawMessage(`"s"`), json.RawMessage(`12345678901234567890`), nil)),
	)
	p.MediaType = pick(r, "", "text/plain", "application/json")
	p.Filename = pick(r, "", "a.txt")
	p.Metadata = r.object()
	return p
}

func (r randomizer) parts() (parts []a2a.Part) {
	for range 1 + r.IntN(3) {
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

func (r randomizer) artifact(id string) a2a.Artifact {
	return a2a.Artifact{ID: id, Name: pick(r, "", r.text()), Description: pick(r, "", r.text()), Parts: r.parts(), Metadata: r.object(), Extensions: pick(r, nil, []string{"https://ex/a"})}
}

func (r randomizer) task() *a2a.Task {
	t := &a2a.Task{
		ID: "t-1", ContextID: "c-1", Skill: pick(r, "", a2a.SkillID("echo")), SkillSource: pick(r, "", "default"),
		Status:   a2a.Status{State: pick(r, a2a.States()...), Code: pick(r, "", a2a.CodeTimeout), At: pick(r, at, at.Add(time.Microsecond), time.Time{})},
		Warnings: pick(r, nil, []string{"a \"remark\"", ""}), Metadata: r.object(), CreatedAt: at, UpdatedAt: at, Seq: r.Int64N(9), QueuePlace: r.IntN(2),
	}
	for range r.IntN(4) {
		t.History = append(t.History, *r.message(pick(r, a2a.RoleUser, a2a.RoleAgent)))
	}
	for i := range r.IntN(3) {
		t.Artifacts = append(t.Artifacts, r.artifact(fmt.Sprint(i)))
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
