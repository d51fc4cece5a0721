package agentcard

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

// everywhere is an agent with every binding of both versions.
func everywhere() []Interface {
	return []Interface{
		{URL: rpc, SkillURL: "/skills/{id}", Binding: BindingJSONRPC, Version: Version1},
		{URL: "/rest", SkillURL: "/skills/{id}/rest", Binding: BindingREST, Version: Version1},
		{URL: "grpc.example.com:443", Binding: BindingGRPC, Version: Version1},
		{URL: rpc, SkillURL: "/skills/{id}", Binding: BindingJSONRPC, Version: Version03},
		{URL: "", Binding: BindingREST, Version: Version03},
		{URL: "grpc.example.com:443", Binding: BindingGRPC, Version: Version03},
	}
}

func TestServer_JSON_interfaces(t *testing.T) {
	o := minimal(t)
	o.Interfaces = everywhere()
	s := newServer(t, o, Resolver{PublicURL: public})
	type row struct{ URL, Transport, ProtocolBinding, ProtocolVersion string }
	type links struct {
		URL, PreferredTransport                   string
		AdditionalInterfaces, SupportedInterfaces []row
	}
	all := []row{
		{public + rpc, "", "JSONRPC", "1.0"}, {public + "/rest", "", "HTTP+JSON", "1.0"}, {"grpc.example.com:443", "", "GRPC", "1.0"},
		{public + rpc, "", "JSONRPC", "0.3"}, {public, "", "HTTP+JSON", "0.3"}, {"grpc.example.com:443", "", "GRPC", "0.3"},
	}
	old := []row{{public + rpc, "JSONRPC", "", ""}, {public, "HTTP+JSON", "", ""}, {"grpc.example.com:443", "GRPC", "", ""}}
	focused := public + "/skills/list_board"
	for _, c := range []struct {
		variant Variant
		skill   a2a.SkillID
		want    links
	}{
		{V1, "", links{SupportedInterfaces: all}},
		{V03, "", links{URL: public + rpc, PreferredTransport: "JSONRPC", AdditionalInterfaces: old}},
		{Hybrid, "", links{URL: public + rpc, PreferredTransport: "JSONRPC", AdditionalInterfaces: old, SupportedInterfaces: all}},
		{V1, "list_board", links{SupportedInterfaces: []row{
			{focused, "", "JSONRPC", "1.0"}, {focused + "/rest", "", "HTTP+JSON", "1.0"}, {focused, "", "JSONRPC", "0.3"},
		}}},
		{V03, "list_board", links{URL: focused, PreferredTransport: "JSONRPC", AdditionalInterfaces: []row{{focused, "JSONRPC", "", ""}}}},
	} {
		body, err := s.JSON(public, c.variant, c.skill)
		if err != nil {
			t.Fatal(err)
		}
		checkForm(t, c.variant, body)
		var got links
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.variant, c.skill, d)
		}
	}
}

func TestNew_interfaces(t *testing.T) {
	good := interfaces()
	for want, list := range map[string][]Interface{
		"no interface of version 0.3":    {good[0]},
		"no interface of version 1.0":    {good[1]},
		"two interfaces for JSONRPC 1.0": {good[0], {URL: "/x", Binding: BindingJSONRPC, Version: Version1}, good[1]},
		"one URL":                        {good[0], good[1], {URL: rpc, Binding: BindingREST, Version: Version03}},
		"card of a skill has one URL":    {good[0], good[1], {URL: "/x", SkillURL: "/skills/{id}", Binding: BindingREST, Version: Version03}},
		"has no binding":                 {good[0], good[1], {URL: "/x", Version: Version1}},
		`has version "1.1"`:              {good[0], good[1], {URL: "/x", Binding: BindingREST, Version: "1.1"}},
	} {
		o := minimal(t)
		o.Interfaces = list
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	// In 1.0 bindings may share a URL.
	o := minimal(t)
	o.Interfaces = append(good, Interface{URL: rpc, Binding: BindingREST, Version: Version1})
	if _, err := New(o); err != nil {
		t.Errorf("1.0 with one URL for two bindings: %v", err)
	}
}
