package wire

import (
	"strings"
	"testing"
)

func TestDeeperThan(t *testing.T) {
	wide := strings.Repeat("{},", 100) + "{}"
	for raw, want := range map[string]bool{
		`[[[` + wide + `]]]`:                      false, // four levels, many brackets
		`[[[[` + wide + `]]]]`:                    true,
		`[` + wide + `,"` + "[[[[[[" + `"]`:       false,
		`[` + wide + `,"\\",[[[]]]]`:              false,
		`[` + wide + `,"\\",[[[[]]]]]`:            true,
		`[` + wide + `,"\"[[[[[[",[[[]]]]`:        false,
		`[` + wide + `,"` + `\\\\\"` + `[[[[[["]`: false,
	} {
		if got := deeperThan([]byte(raw), 4); got != want {
			t.Errorf("%s: got %v, want %v", raw, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                     ``,
		`null`:                                 ``,
		`["a"]`:                                ``,
		`{}`:                                   ``,
		`{"b":1}`:                              ``,
		`{"b":"a"}`:                            ``,
		`{"b":{"a":1}}`:                        ``,
		`{"A":1}`:                              ``,
		`{"a":1}`:                              `1`,
		`{"a":1,"a":2}`:                        `2`,
		`{"a":null}`:                           `null`,
		`{"\u0061":[1,{"x":"]"}],"b":0}`:       `[1,{"x":"]"}]`,
		`{"b":"\\","a":1}`:                     `1`,
		`{"b":"\"","a":"\\\""}`:                `"\\\""`,
		" { \"b\" : [ ] ,\n\"a\"\t: -1.5e3 } ": `-1.5e3`,
	} {
		if got := string(lookup([]byte(raw), "a")); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

func TestWithout(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1}`:                     ``,
		`{"a":1,"a":2}`:               ``,
		`{"a":1,"b":2}`:               `{"b":2}`,
		`{"c":3,"\u0061":1,"b":[{}]}`: `{"c":3,"b":[{}]}`,
		`{"b":2}`:                     `{"b":2}`,
	} {
		if got := string(without([]byte(raw), "a")); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}
