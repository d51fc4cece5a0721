package configs

import (
	"strings"
	"testing"
)

func TestLoad_accessOfCallers(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"unknown skill": {"auth: {keys: [{name: a, key: k, skills: [list_board, nope]}]}", "auth.keys[0].skills[1]"},
		"one caller, two sets": {
			"auth: {keys: [{name: a, key: k, skills: [list_board]}, {name: a, key: l, skills: [list_boards]}]}", "auth.keys[1].skills",
		},
		"private without keys":  {"default_skill: list_board\nskills: [{id: list_board, private: true}]", "skills[0].private"},
		"extended without keys": {"card: {extended: true}", "card.extended"},
		"good": {
			"auth: {keys: [{name: a, key: k, skills: [list_board]}, {name: a, key: l, skills: [list_board]}, {name: b, key: m}]}\n" +
				"card: {extended: true}\ndefault_skill: list_boards\nskills: [{id: list_board, private: true}, {id: list_boards}]", "",
		},
	} {
		_, err := Load(Options{Path: "test.yaml", Data: []byte(c.yaml)})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want a fault at %s", name, err, c.want)
		}
	}
}
