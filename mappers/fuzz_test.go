package mappers_test

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
)

// FuzzMappers_In checks that no message makes a mapper panic, that the same
// message gives the same input, that a payload is an object of valid UTF-8, and
// that every refusal is fit for the client.
func FuzzMappers_In(f *testing.F) {
	for _, s := range []string{
		"b1", `{"board_id":"b1"}`, `{"board_id":5,"x":[1,{"y":null}]}`, `{"operation":"delete_board"}`, `["b1"]`, `"b1"`, "{", `{"a":1}x`,
		"2026-W48", "2026-11-23..2026-11-29", "last week", "цей тиждень", `{"board_ids":["a","b"],"week":"2026-W01"}`, "\xff{", "\"\xff\"", "{\"\\ud800\":1}",
	} {
		f.Add(s, `{"board_id":null,"from":"2026-01-01"}`)
	}
	all := []mappers.Mapper{
		mappers.NewBoard("list_board", "board_id"),
		mappers.NewBoard("list_boards").WithOptional("workspace_id"),
		mappers.NewReport("list_board"),
		mappers.NewPassthrough(),
	}
	f.Fuzz(func(t *testing.T, s, d string) {
		m := message(text(s), text(d))
		if json.Valid([]byte(d)) {
			m.Parts = append(m.Parts, data(d))
		}
		for _, mapper := range all {
			in, err := mapper.In(m)
			again, errAgain := mapper.In(m)
			if diff := cmp.Diff(in, again); diff != "" || (err == nil) != (errAgain == nil) {
				t.Fatalf("%T: two answers for one message: %s", mapper, diff)
			}
			if err != nil {
				var e *a2a.Error
				if !errors.As(err, &e) || e.Code != a2a.CodeInvalidInput || e.Message == "" || !utf8.ValidString(e.Message) || len(e.Message) > 600 {
					t.Fatalf("%T: error unfit for a client: %#v", mapper, err)
				}
				continue
			}
			var object map[string]json.RawMessage
			if err := json.Unmarshal(in.Payload, &object); err != nil {
				t.Fatalf("%T: payload %q: %v", mapper, in.Payload, err)
			}
		}
	})
}
