package mappers_test

import (
	"testing"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
)

// TestIn_sent: what an input schema speaks of is what the client wrote, and there is
// none of it without data.
func TestIn_sent(t *testing.T) {
	board, report, pass := mappers.NewBoard("list_board", "board_id"), mappers.NewReport(), mappers.NewPassthrough()
	for _, c := range []struct {
		name   string
		mapper mappers.Mapper
		parts  []a2a.Part
		want   string
	}{
		{"text", board, []a2a.Part{text("b1")}, ""},
		{"JSON text", board, []a2a.Part{text(`{"board_id":5}`)}, ""},
		{"data", board, []a2a.Part{data(`{"board_id":5,"x":[1.50]}`)}, `{"board_id":5,"x":[1.50]}`},
		{"data that is refused", board, []a2a.Part{data(`{"board_id":true}`)}, `{"board_id":true}`},
		{"data with another operation", board, []a2a.Part{data(`{"operation":"x"}`)}, `{"operation":"x"}`},
		{"data and text", board, []a2a.Part{data(`{"operation":"list_board"}`), text("b1")}, `{"operation":"list_board","board_id":"b1"}`},
		{"two objects, the last wins but for null", board, []a2a.Part{data(`{"a":1,"b":1}`), data(`{"b":2,"a":null}`)}, `{"a":1,"b":2}`},
		{"odd names", board, []a2a.Part{data(`{"a\"\u00e9":1}`)}, `{"a\"é":1}`},
		{"no object", board, []a2a.Part{data(`"b1"`)}, `{"board_id":"b1"}`},
		{"report text", report, []a2a.Part{text("last week")}, ""},
		{"report data", report, []a2a.Part{data(`{"week":7}`), text("hello")}, `{"week":7}`},
		{"passthrough text", pass, []a2a.Part{text(`{"a":1}`)}, ""},
		{"passthrough data", pass, []a2a.Part{text("x"), data(`[1]`), data(`{}`)}, `[1]`},
		{"passthrough null", pass, []a2a.Part{data(``)}, `null`},
	} {
		in, _ := c.mapper.In(message(c.parts...)) // an error changes nothing here
		if got := string(in.Sent); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
