package wire

import (
	"bytes"
	"net/url"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillyard/skillyard/a2a"
)

// seeds adds the requests of the transcripts to the corpus.
func seeds(f *testing.F, dialect string, part func(Envelope, []byte) []byte) {
	for _, x := range transcripts(f, dialect) {
		env, _ := ParseEnvelope(x.body, Limits{})
		f.Add(part(env, x.body))
	}
}

func FuzzParseEnvelope(f *testing.F) {
	seeds(f, "*", func(_ Envelope, body []byte) []byte { return body })
	dialects := New(Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		env, e := ParseEnvelope(body, Limits{})
		if !jsontext.Value(env.ID).IsValid(jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("id %q of %q is not JSON", env.ID, body)
		}
		if e != nil {
			if e.Code == a2a.CodeParse && string(env.ID) != "null" {
				t.Errorf("id %q of what is no JSON: %q", env.ID, body)
			}
			return
		}
		if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Errorf("accepts %q", body)
		}
		for _, version := range []string{"", NameV03, NameV1} {
			d, m, e := dialects.Detect(env.Method, version)
			if e != nil {
				if !jsontext.Value(d.AppendError(nil, e)).IsValid() {
					t.Errorf("error %v is not JSON", e)
				}
				continue
			}
			if _, err := m.Decode(env.Params, Limits{}); err != nil && !jsontext.Value(d.AppendError(nil, a2a.AsError(err))).IsValid() {
				t.Errorf("error %v is not JSON", err)
			}
		}
	})
}

// fuzzSend checks that a decoded message, encoded and decoded again, is the same
// message on the wire.
func fuzzSend(f *testing.F, dir, name, method string, encode func(m *a2a.Message) []byte) {
	seeds(f, dir, func(env Envelope, _ []byte) []byte { return env.Params })
	decode := New(Options{}).ByName(name).Methods[method].Decode
	f.Fuzz(func(t *testing.T, params []byte) {
		got, err := decode(params, Limits{})
		if err != nil {
			if e := a2a.AsError(err); e.Code != a2a.CodeInvalidParams || e.Message == "" {
				t.Errorf("%q: got %v, want invalid_params", params, err)
			}
			return
		}
		once := encode(&got.(*a2a.SendRequest).Message)
		if !jsontext.Value(once).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("%q is written as %q, which is not JSON", params, once)
		}
		again, err := decode(once, Limits{MaxDepth: 100})
		if err != nil {
			t.Fatalf("%q is written as %q, which is refused: %v", params, once, err)
		}
		if twice := encode(&again.(*a2a.SendRequest).Message); !bytes.Equal(once, twice) {
			t.Errorf("%q is written as\n%s, then as\n%s", params, once, twice)
		}
	})
}

func FuzzSendV1(f *testing.F) {
	s := &spelling{user: "ROLE_USER", state: stateV1, part: appendPartV1}
	fuzzSend(f, "v1", NameV1, "SendMessage", func(m *a2a.Message) []byte {
		return append(s.message([]byte(`{"message":`), m, "", "", ""), '}')
	})
}

func FuzzSendV03(f *testing.F) {
	s := &spelling{kinds: true, user: "user", state: oldState, part: appendPartV03}
	fuzzSend(f, "v03", NameV03, "message/send", func(m *a2a.Message) []byte {
		return append(s.message([]byte(`{"message":`), m, "", "", ""), '}')
	})
}

func FuzzSendV01(f *testing.F) {
	fuzzSend(f, "v01", NameV01, "tasks/send", func(m *a2a.Message) []byte {
		return append(appendMessageV01([]byte(`{"id":"t","message":`), m, ""), '}')
	})
}

// FuzzRestParams checks what is made of a body: params that the decoders of both
// versions take or refuse, but never choke on.
func FuzzRestParams(f *testing.F) {
	seeds(f, "*", func(env Envelope, _ []byte) []byte { return env.Params })
	f.Add([]byte(" null "))
	f.Add([]byte(`{"id":"other"}`))
	d := New(Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		params, e := RestParams(body, url.Values{"a": {"b", string(body)}, "page_size": {"7"}}, []PathParam{{"id", "t"}, {"taskId", "t"}}, Limits{})
		if e != nil {
			if !jsontext.Value(d.RestV1.AppendError(nil, e)).IsValid() || !jsontext.Value(d.RestV03.AppendError(nil, e)).IsValid() {
				t.Errorf("error %v is not JSON", e)
			}
			return
		}
		if !jsontext.Value(params).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("params of %q are not JSON: %q", body, params)
		}
		for _, x := range []*Dialect{d.RestV1, d.RestV03} {
			for name, m := range x.Methods {
				req, err := m.Decode(params, Limits{MaxDepth: 70})
				if err != nil && a2a.AsError(err).Code != a2a.CodeInvalidParams {
					t.Errorf("%s: got %v, want invalid_params", name, err)
				}
				if get, ok := req.(*a2a.GetRequest); ok && get.ID != "t" {
					t.Errorf("%s: got task %q, want that of the path", name, get.ID)
				}
			}
		}
	})
}

func FuzzSubmitEMM(f *testing.F) {
	s := &spelling{user: "user", state: oldState, part: appendPartEMM}
	fuzzSend(f, "emm", NameEMM, "tasks/submit", func(m *a2a.Message) []byte {
		return append(s.message([]byte(`{"message":`), m, "", "", ""), '}')
	})
}

// FuzzRaw checks the functions on raw JSON with input that need not be valid.
func FuzzRaw(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\ud800\"}"}],"a\u0062":null}`), "b")
	f.Add([]byte(` { "a" : "x" , "b" : [ ] } `), "a")
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		v := lookup(raw, name)
		w := without(raw, name)
		c := compact(raw)
		deeperThan(raw, 3)
		openObject([]byte{':'}, raw)
		valid := jsontext.AllowDuplicateNames(true)
		if !jsontext.Value(raw).IsValid(valid) {
			return
		}
		if v != nil && !jsontext.Value(v).IsValid(valid) {
			t.Errorf("lookup(%q, %q): got %q", raw, name, v)
		}
		if w != nil && (!jsontext.Value(w).IsValid(valid) || lookup(w, name) != nil) {
			t.Errorf("without(%q, %q): got %q", raw, name, w)
		}
		want := jsontext.Value(bytes.Clone(raw))
		if err := want.Compact(); err != nil || !bytes.Equal(c, want) {
			t.Errorf("compact(%q): got %q, want %q", raw, c, want)
		}
	})
}
