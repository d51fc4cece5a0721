package wire

import "github.com/skillyard/skillyard/a2a"

// newRestGoV03 returns the REST form of A2A 0.3 that the client of the Go SDK has: the
// objects of JSON-RPC, its members in snake case or not, with the paths and the errors of
// REST 1.0. It is told from 1.0 by the version that a request names.
func newRestGoV03(v03 *Dialect, appendError func([]byte, *a2a.Error) []byte) *Dialect {
	f := formV03()
	f.snake, f.snakeKeys = true, true
	s := spellingV03()
	methods := byOp()
	for _, m := range v03.Methods {
		methods[string(m.Op)] = m
	}
	decode := func(op a2a.Op, d func([]byte, Limits) (any, error)) {
		m := methods[string(op)]
		m.Decode = d
		methods[string(op)] = m
	}
	decode(a2a.OpSend, f.send)
	decode(a2a.OpStream, f.send)
	decode(a2a.OpSetPush, f.setPushV03)
	decode(a2a.OpGetPush, f.pushNames("taskId", "id", true))
	decode(a2a.OpListPush, f.pushNames("taskId", "", false))
	decode(a2a.OpDeletePush, f.pushNames("taskId", "id", true))
	methods[string(a2a.OpList)] = Method{Op: a2a.OpList, Decode: f.list, Append: appendList(s.taskV03)}
	return &Dialect{Name: NameV03, Methods: methods, AppendError: appendError, Stream: v03.Stream, Push: v03.Push}
}
