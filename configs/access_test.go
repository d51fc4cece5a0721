package configs

import (
	"strings"
	"testing"
)

func TestGRPC_Public(t *testing.T) {
	for _, c := range []struct{ addr, public, url, want string }{
		{"", "agents.example.com:443", "", ""},
		{":50051", "agents.example.com:443", "https://x.example", "agents.example.com:443"},
		{":50051", "", "https://agents.example.com:8443/my", "agents.example.com:50051"},
		{":50051", "", "", ""},
		{"0.0.0.0:50051", "", "", ""},
		{"[::]:50051", "", "https://[2001:db8::1]", "[2001:db8::1]:50051"},
		{"127.0.0.1:50051", "", "", "127.0.0.1:50051"},
		{"host:50051", "", "", "host:50051"},
		{"127.0.0.1:0", "", "https://x.example", ""},
	} {
		if got := (GRPC{Addr: c.addr, PublicAddr: c.public}).Public(c.url); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	for _, bad := range []string{"https://x.example", "x.example", ":443", "x.example:https"} {
		_, err := Load(Options{Path: "test.yaml", Data: []byte("grpc: {public_addr: '" + bad + "'}")})
		if err == nil || !strings.Contains(err.Error(), "grpc.public_addr") {
			t.Errorf("%s: got %v, want a fault", bad, err)
		}
	}
}

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
