package wire

import (
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

// smallBody is the request of an SDK client with two ids and a line of text;
// bigBody is one with 9 KB of content.
const smallHead = `{"jsonrpc":"2.0","method":"SendMessage","params":{"message":{"messageId":"0b9d8f3e-5c1e-4c62-9a3a-1f2b3c4d5e6f","contextId":"6f5e4d3c-2b1a-4c62-9a3a-0b9d8f3e5c1e","role":"ROLE_USER","parts":[{"text":"`

const smallTail = `"}],"metadata":{"skillId":"echo"}},"configuration":{"acceptedOutputModes":["text/plain"]}},"id":"5f0c2c1e-7c5e-4e57-8ad9-0e6f5b7f9a11"}`

func smallBody() []byte { return body(392, "") }

func bigBody() []byte {
	return body(9<<10, `"},{"data":{"rows":[`+strings.TrimSuffix(strings.Repeat(`{"id":9007199254740993,"name":"caf\u00e9","done":false},`, 60), ",")+`]}},{"text":"`)
}

// body is a request of n bytes.
func body(n int, content string) []byte {
	n -= len(smallHead) + len(smallTail) + len(content)
	return []byte(smallHead + strings.Repeat("lorem ipsum ", n/12+1)[:n] + content + smallTail)
}

func benchmarkDecode(b *testing.B, body []byte) {
	d := New(Options{})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		env, e := ParseEnvelope(body, Limits{})
		if e != nil {
			b.Fatal(e)
		}
		_, m, e := d.Detect(env.Method, "1.0")
		if e != nil {
			b.Fatal(e)
		}
		if _, err := m.Decode(env.Params, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkEncode(b *testing.B, body []byte, d *Dialect, method string) {
	env, e := ParseEnvelope(body, Limits{})
	if e != nil {
		b.Fatal(e)
	}
	req, err := New(Options{}).V1.Methods["SendMessage"].Decode(env.Params, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	res := &a2a.SendResult{Task: echo(req.(*a2a.SendRequest))}
	m := d.Methods[method]
	buf := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendResult(buf[:0], env.ID, func(b []byte) []byte { return m.Append(b, res, a2a.View{}) })
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecode_Small(b *testing.B) { benchmarkDecode(b, smallBody()) }

func BenchmarkDecode_Big(b *testing.B) { benchmarkDecode(b, bigBody()) }

func BenchmarkEncodeV1_Small(b *testing.B) {
	benchmarkEncode(b, smallBody(), New(Options{}).V1, "SendMessage")
}

func BenchmarkEncodeV1_Big(b *testing.B) {
	benchmarkEncode(b, bigBody(), New(Options{}).V1, "SendMessage")
}

func BenchmarkEncodeV03_Small(b *testing.B) {
	benchmarkEncode(b, smallBody(), New(Options{}).V03, "message/send")
}

func BenchmarkEncodeEMM_Small(b *testing.B) {
	benchmarkEncode(b, smallBody(), New(Options{}).EMM, "tasks/submit")
}
