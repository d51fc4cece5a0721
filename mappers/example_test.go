package mappers_test

import (
	"fmt"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
)

func ExampleBoard_In() {
	board := mappers.NewBoard("list_board", "board_id")
	in, err := board.In(a2a.Message{Parts: []a2a.Part{a2a.TextPart(`{"board_id":7,"color":"red"}`)}})
	fmt.Println(string(in.Payload), in.Warnings, err)

	_, err = board.In(a2a.Message{Parts: []a2a.Part{a2a.TextPart(`{"operation":"delete_board","board_id":"7"}`)}})
	fmt.Println(err)
	// Output:
	// {"operation":"list_board","board_id":"7"} [ignored key "color"] <nil>
	// operation "delete_board" is not supported by skill list_board
}
