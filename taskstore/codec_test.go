package taskstore_test

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// fill sets every exported, stored field below v to a value of its own.
func fill(v reflect.Value, n *int, depth int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, *n%60, *n*1000, time.UTC)))
		return
	case rawMessage:
		v.SetBytes([]byte(fmt.Sprintf(`{"n": 1234567890123456%04d, "s":"\u00e9\/"}`, *n)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), n, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), n, depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n, depth+1)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s <%d> \"\\\x00\u2028é", v.Type().Name(), *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("no filling for " + v.Kind().String())
	}
}

// rawMessage is the type of the raw JSON members.
type rawMessage = stdjson.RawMessage

func TestEncode_EveryField(t *testing.T) {
	n := 0
	var task a2a.Task
	fill(reflect.ValueOf(&task).Elem(), &n, 0)
	b, err := taskstore.EncodeTask(&task)
	if err != nil {
		t.Fatal(err)
	}
	back, err := taskstore.DecodeTask(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&task, back); diff != "" {
		t.Errorf("task (-in +out):\n%s", diff)
	}

	var event a2a.Event
	fill(reflect.ValueOf(&event).Elem(), &n, 0)
	events := []a2a.Event{event, {Seq: 2}}
	if b, err = taskstore.EncodeEvents(events); err != nil {
		t.Fatal(err)
	}
	out, err := taskstore.DecodeEvents(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(events, out); diff != "" {
		t.Errorf("events (-in +out):\n%s", diff)
	}
}

// TestEncode_AsTagged holds the encoder to the struct tags of package a2a.
func TestEncode_AsTagged(t *testing.T) {
	n := 0
	var filled a2a.Event
	fill(reflect.ValueOf(&filled).Elem(), &n, 0)
	for _, events := range [][]a2a.Event{{}, {{}}, {filled}, {{Created: &a2a.Task{}}, {Status: &a2a.Status{}}, {Artifact: &a2a.ArtifactChunk{}}, {Message: &a2a.Message{}}}} {
		got, err := taskstore.EncodeEvents(events)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(events, jsonv1.OmitEmptyWithLegacySemantics(true), jsontext.PreserveRawStrings(true))
		if err != nil {
			t.Fatal(err)
		}
		compact := jsontext.Value(got)
		if err := compact.Compact(jsontext.PreserveRawStrings(true)); err != nil {
			t.Fatalf("not JSON: %v: %s", err, got)
		}
		if diff := cmp.Diff(string(want), string(compact)); diff != "" {
			t.Errorf("(-by tags +by hand):\n%s", diff)
		}
	}
}

func TestEncode_RawJSON(t *testing.T) {
	for _, keep := range []string{
		`null`, `0`, `""`, `{}`, `[]`, `{"a":1,"a":2}`, "{ \"a\" :\n1e999 }", `"\ud800"`, `-0.0`, `12345678901234567890.10`, ` [1] `,
	} {
		events := []a2a.Event{a2a.ArtifactEvent(a2a.Artifact{Parts: []a2a.Part{a2a.DataPart([]byte(keep))}})}
		b, err := taskstore.EncodeEvents(events)
		if err != nil {
			t.Errorf("%s: %v", keep, err)
			continue
		}
		back, err := taskstore.DecodeEvents(b)
		if err != nil {
			t.Errorf("%s: %v", keep, err)
			continue
		}
		if got := string(back[0].Artifact.Artifact.Parts[0].Data); got != strings.TrimSpace(keep) {
			t.Errorf("got %s, want %s", got, keep)
		}
	}
	for _, bad := range []string{` `, `{`, `{"a":1}}`, `1 2`, `nul`, `{"a":1},"b":{}`, `'a'`, `{a:1}`} {
		for name, task := range map[string]*a2a.Task{
			"task metadata": {Metadata: []byte(bad)},
			"message":       {History: []a2a.Message{{Request: []byte(bad)}}},
			"status":        {Status: a2a.Status{Message: &a2a.Message{Metadata: []byte(bad)}}},
			"part":          {Artifacts: []a2a.Artifact{{Parts: []a2a.Part{{Data: []byte(bad)}}}}},
			"artifact":      {Artifacts: []a2a.Artifact{{Metadata: []byte(bad)}}},
		} {
			if b, err := taskstore.EncodeTask(task); !errors.Is(err, taskstore.ErrRawJSON) {
				t.Errorf("%s %q: got %s, %v, want ErrRawJSON", name, bad, b, err)
			}
		}
	}
}

func TestEncode_InvalidUTF8(t *testing.T) {
	b, err := taskstore.EncodeTask(&a2a.Task{ID: "a\xffb"})
	if err != nil {
		t.Fatal(err)
	}
	back, err := taskstore.DecodeTask(b)
	if err != nil || back.ID != "a\ufffdb" {
		t.Errorf("got %q, %v, want the bad byte replaced", back.ID, err)
	}
}

func FuzzCodec(f *testing.F) {
	f.Add("id", "text", []byte(`{"a":[1, 2]}`), int64(1))
	f.Add("", "\x00\xff\u2028", []byte(`1e999`), int64(-1))
	f.Fuzz(func(t *testing.T, id, text string, raw []byte, seq int64) {
		at := time.UnixMicro(seq % (1 << 50)).UTC()
		task := &a2a.Task{
			ID: a2a.TaskID(id), Seq: seq, CreatedAt: at, Metadata: raw, Warnings: []string{text},
			Status:    a2a.Status{State: a2a.State(text), At: at, Message: a2a.AgentText(id, text)},
			Artifacts: []a2a.Artifact{{ID: id, Parts: []a2a.Part{a2a.DataPart(raw), a2a.TextPart(text)}}},
		}
		events := []a2a.Event{{Seq: seq, At: at, Created: task}, {Status: &task.Status}}
		b, err := taskstore.EncodeEvents(events)
		if err != nil {
			if !errors.Is(err, taskstore.ErrRawJSON) {
				t.Fatalf("got error %v, want ErrRawJSON", err)
			}
			return
		}
		back, err := taskstore.DecodeEvents(b)
		if err != nil {
			t.Fatalf("decode: %v of %s", err, b)
		}
		again, err := taskstore.EncodeEvents(back)
		if err != nil {
			t.Fatalf("encode again: %v", err)
		}
		// Bad UTF-8 and white space around raw values are settled by the first pass.
		if third, err := taskstore.DecodeEvents(again); err != nil || !cmp.Equal(back, third) {
			t.Errorf("%v (-first +second):\n%s", err, cmp.Diff(back, third))
		}
	})
}

func BenchmarkEncodeEvents(b *testing.B) {
	task := &a2a.Task{ID: "0197a1de-0000-7000-8000-000000000001", ContextID: "0197a1de-0000-7000-8000-000000000002", Skill: "echo", Dialect: "1.0",
		Status:  a2a.Status{State: a2a.StateSubmitted, At: a2a.Now()},
		History: []a2a.Message{{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(strings.Repeat("hello ", 60))}, Metadata: []byte(`{"a":1}`)}},
	}
	events := []a2a.Event{{Seq: 1, At: a2a.Now(), Created: task}}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := taskstore.EncodeEvents(events); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		body, err := taskstore.EncodeEvents(events)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := taskstore.DecodeEvents(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode_by_reflection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(events); err != nil {
				b.Fatal(err)
			}
		}
	})
}
