package wire

import (
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

func TestParseEnvelope(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, tc := range map[string]struct {
		body             string
		code             a2a.Code // "" for none
		id, meth, params string
	}{
		"plain":                   {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, "", `1`, "m", `{"a":1}`},
		"any order and space":     {" {\"params\" : { } ,\n\"method\":\"m\",\"id\" : \"x\" ,\"jsonrpc\":\"2.0\"} \r\n", "", `"x"`, "m", `{ }`},
		"escaped names":           {`{"\u006asonrpc":"2\u002e0","\u0069d":7,"method":"\u006d"}`, "", `7`, "m", ""},
		"big id":                  {`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, "", `9007199254740993`, "m", ""},
		"fractional id":           {`{"jsonrpc":"2.0","id":1.50e3,"method":"m"}`, "", `1.50e3`, "m", ""},
		"negative id":             {`{"jsonrpc":"2.0","id":-7,"method":"m"}`, "", `-7`, "m", ""},
		"empty id":                {`{"jsonrpc":"2.0","id":"","method":"m"}`, "", `""`, "m", ""},
		"escaped id":              {`{"jsonrpc":"2.0","id":"\u00e9\/","method":"m"}`, "", `"\u00e9\/"`, "m", ""},
		"null id":                 {`{"jsonrpc":"2.0","id":null,"method":"m"}`, "", `null`, "m", ""},
		"no id":                   {`{"jsonrpc":"2.0","method":"m"}`, "", `null`, "m", ""},
		"null params":             {`{"jsonrpc":"2.0","method":"m","params":null}`, "", `null`, "m", ""},
		"array params":            {`{"jsonrpc":"2.0","method":"m","params":[1]}`, "", `null`, "m", `[1]`},
		"last of duplicates":      {`{"jsonrpc":"1.0","id":1,"id":2,"method":5,"method":"m","params":[],"params":{},"jsonrpc":"2.0"}`, "", `2`, "m", `{}`},
		"last of duplicate ids":   {`{"jsonrpc":"2.0","id":1,"id":[],"method":"m"}`, a2a.CodeInvalidRequest, `null`, "m", ""},
		"unknown members":         {`{"x":[{}],"jsonrpc":"2.0","method":"m","ID":5,"Params":{}}`, "", `null`, "m", ""},
		"nul in a name":           {`{"jsonrpc":"2.0","method":"m","\u0000":1}`, "", `null`, "m", ""},
		"half a surrogate":        {`{"jsonrpc":"2.0","method":"m","params":{"t":"\ud800"}}`, "", `null`, "m", `{"t":"\ud800"}`},
		"deep enough":             {`{"jsonrpc":"2.0","method":"m","params":` + deep(63) + `}`, "", `null`, "m", deep(63)},
		"brackets in strings":     {`{"jsonrpc":"2.0","method":"m","params":{"t":"` + strings.Repeat(`[{\"`, 500) + `"}}`, "", `null`, "m", `{"t":"` + strings.Repeat(`[{\"`, 500) + `"}`},
		"wide":                    {`{"jsonrpc":"2.0","method":"m","params":[` + strings.Repeat("{},", 500) + `{}]}`, "", `null`, "m", `[` + strings.Repeat("{},", 500) + `{}]`},
		"too deep":                {`{"jsonrpc":"2.0","id":3,"method":"m","params":` + deep(64) + `}`, a2a.CodeInvalidRequest, `3`, "m", deep(64)},
		"far too deep":            {`{"jsonrpc":"2.0","id":3,"method":"m","params":` + deep(100_000) + `}`, a2a.CodeInvalidRequest, `null`, "", ""},
		"too deep and not closed": {strings.Repeat("[", 100_000), a2a.CodeInvalidRequest, `null`, "", ""},
		"empty":                   {``, a2a.CodeParse, `null`, "", ""},
		"blank":                   {" \n", a2a.CodeParse, `null`, "", ""},
		"text":                    {`hello`, a2a.CodeParse, `null`, "", ""},
		"cut off":                 {`{"jsonrpc":"2.0","id":1,`, a2a.CodeParse, `null`, "", ""},
		"cut off behind a value":  {`{"jsonrpc":"2.0","id":1`, a2a.CodeParse, `null`, "", ""},
		"tail":                    {`{"jsonrpc":"2.0","id":1,"method":"m"} tail`, a2a.CodeParse, `null`, "", ""},
		"second object":           {`{"jsonrpc":"2.0","id":1,"method":"m"}{}`, a2a.CodeParse, `null`, "", ""},
		"closed twice":            {`{"jsonrpc":"2.0","id":1,"method":"m"}}`, a2a.CodeParse, `null`, "", ""},
		"byte order mark":         {"\ufeff{}", a2a.CodeParse, `null`, "", ""},
		"no utf-8":                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xff\"}}", a2a.CodeParse, `null`, "", ""},
		"overlong utf-8":          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"\xc0\xaf\"}}", a2a.CodeParse, `null`, "", ""},
		"comment":                 {`{"jsonrpc":"2.0",/**/"id":1,"method":"m"}`, a2a.CodeParse, `null`, "", ""},
		"name without quotes":     {`{jsonrpc:"2.0"}`, a2a.CodeParse, `null`, "", ""},
		"NaN":                     {`{"jsonrpc":"2.0","id":NaN,"method":"m"}`, a2a.CodeParse, `null`, "", ""},
		"broken batch":            {`[{"jsonrpc":"2.0"`, a2a.CodeParse, `null`, "", ""},
		"batch with tail":         {`[] x`, a2a.CodeParse, `null`, "", ""},
		"batch":                   {`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, a2a.CodeInvalidRequest, `null`, "", ""},
		"empty batch":             {`[]`, a2a.CodeInvalidRequest, `null`, "", ""},
		"a string":                {`"m"`, a2a.CodeInvalidRequest, `null`, "", ""},
		"null":                    {`null`, a2a.CodeInvalidRequest, `null`, "", ""},
		"empty object":            {`{}`, a2a.CodeInvalidRequest, `null`, "", ""},
		"no jsonrpc":              {`{"id":"a","method":"m"}`, a2a.CodeInvalidRequest, `"a"`, "m", ""},
		"jsonrpc 1.0":             {`{"jsonrpc":"1.0","id":"a","method":"m"}`, a2a.CodeInvalidRequest, `"a"`, "m", ""},
		"jsonrpc a number":        {`{"jsonrpc":2.0,"id":"a","method":"m"}`, a2a.CodeInvalidRequest, `"a"`, "m", ""},
		"no method":               {`{"jsonrpc":"2.0","id":"a"}`, a2a.CodeInvalidRequest, `"a"`, "", ""},
		"empty method":            {`{"jsonrpc":"2.0","id":"a","method":""}`, a2a.CodeInvalidRequest, `"a"`, "", ""},
		"null method":             {`{"jsonrpc":"2.0","id":"a","method":null}`, a2a.CodeInvalidRequest, `"a"`, "", ""},
		"method a number":         {`{"jsonrpc":"2.0","id":"a","method":1}`, a2a.CodeInvalidRequest, `"a"`, "", ""},
		"id true":                 {`{"jsonrpc":"2.0","id":true,"method":"m"}`, a2a.CodeInvalidRequest, `null`, "m", ""},
		"id an object":            {`{"jsonrpc":"2.0","id":{},"method":"m"}`, a2a.CodeInvalidRequest, `null`, "m", ""},
	} {
		t.Run(name, func(t *testing.T) {
			env, e := ParseEnvelope([]byte(tc.body), Limits{})
			switch {
			case e == nil && tc.code != "":
				t.Fatalf("got no error, want %s", tc.code)
			case e != nil && e.Code != tc.code:
				t.Fatalf("got %s (%s), want %q", e.Code, e.Message, tc.code)
			}
			if string(env.ID) != tc.id || env.Method != tc.meth || string(env.Params) != tc.params {
				t.Errorf("got id %s method %q params %.80s, want %s %q %.80s", env.ID, env.Method, env.Params, tc.id, tc.meth, tc.params)
			}
			if e != nil && e.Code == a2a.CodeParse && e.Message != "Invalid JSON payload" {
				t.Errorf("got message %q, want the generic one", e.Message)
			}
		})
	}
}

func TestParseEnvelope_NamesTheDepthLimit(t *testing.T) {
	_, e := ParseEnvelope([]byte(`{"jsonrpc":"2.0","id":3,"method":"m","params":{"a":[]}}`), Limits{MaxDepth: 2})
	if e == nil || !strings.Contains(e.Message, "2 levels") {
		t.Errorf("got %v, want the limit of 2 levels", e)
	}
}

func TestAppendResult(t *testing.T) {
	null := func(b []byte) []byte { return append(b, "null"...) }
	for id, want := range map[string]string{
		``:       `{"jsonrpc":"2.0","id":null,"result":null}`,
		`null`:   `{"jsonrpc":"2.0","id":null,"result":null}`,
		`"\u1"`:  `{"jsonrpc":"2.0","id":"\u1","result":null}`,
		`1e1000`: `{"jsonrpc":"2.0","id":1e1000,"result":null}`,
	} {
		if got := string(AppendResult(nil, []byte(id), null)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
