package agentcard

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	v1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/mappers"
	"github.com/skillyard/skillyard/skills"
)

var update = flag.Bool("update", false, "rewrite golden files")

const public = "https://agents.example.com/my"

// rpc is where the tests' agents take JSON-RPC.
const rpc = "/api/a2a/tasks"

func interfaces() []Interface {
	return []Interface{
		{URL: rpc, SkillURL: "/skills/{id}", Binding: BindingJSONRPC, Version: Version1},
		{URL: rpc, SkillURL: "/skills/{id}", Binding: BindingJSONRPC, Version: Version03},
	}
}

func entry(info skills.Info) skills.Entry {
	run := skills.Func(func(context.Context, skills.Input, skills.Emit) error { return nil })
	return skills.Entry{Info: info, Skill: run, Mapper: mappers.NewPassthrough()}
}

func newSet(t testing.TB, infos ...skills.Info) *skills.Set {
	t.Helper()
	entries := make([]skills.Entry, len(infos))
	for i, info := range infos {
		entries[i] = entry(info)
	}
	set, err := skills.NewSet(infos[0].ID, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// full sets everything, minimal nothing that is not required.
func full(t testing.TB) ServerOptions {
	return ServerOptions{
		Options: Options{
			Skills: newSet(t,
				skills.Info{
					ID: "weekly_report", Name: "Weekly report", Description: "What happened in a week.",
					Tags: []string{"report"}, Examples: []string{"last week"},
					InputModes: []string{"text/plain"}, OutputModes: []string{"text/markdown"},
				},
				skills.Info{ID: "list_board"}),
			Name: "Skillyard", Description: "Boards & reports <for> agents", Version: "1.2.3",
			Interfaces:       interfaces(),
			Provider:         Provider{Organization: "Example", URL: "https://example.com"},
			DocumentationURL: "https://example.com/docs", IconURL: "https://example.com/icon.png",
			Streaming: true, PushNotifications: true, Extended: true,
			Secured: true, SecurityRequirements: true,
		},
		Mode: Hybrid, MaxAge: time.Minute, Modified: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC),
	}
}

func minimal(t testing.TB) ServerOptions {
	return ServerOptions{Options: Options{
		Skills: newSet(t, skills.Info{ID: "list_board"}), Name: "n", Description: "d", Version: "0", Interfaces: interfaces(),
	}}
}

func newServer(t testing.TB, o ServerOptions, v Resolver) *Server {
	t.Helper()
	o.Base, o.Vary = v.Base, v.Vary()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestServer_JSON_golden(t *testing.T) {
	for name, o := range map[string]ServerOptions{"full": full(t), "minimal": minimal(t)} {
		s := newServer(t, o, Resolver{PublicURL: public})
		for _, v := range []Variant{Hybrid, V03, V1} {
			for _, id := range []a2a.SkillID{"", "list_board"} {
				file := name + "-" + string(v)
				if id != "" {
					file += "-" + string(id)
				}
				t.Run(file, func(t *testing.T) {
					body, err := s.JSON(public, v, id)
					if err != nil {
						t.Fatal(err)
					}
					checkForm(t, v, body)
					var got bytes.Buffer
					if err := json.Indent(&got, body, "", "  "); err != nil {
						t.Fatal(err)
					}
					path := filepath.Join("testdata", file+".json")
					if *update {
						if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					want, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(string(want), got.String()); diff != "" {
						t.Errorf("card changed (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// checkForm validates a card against the protocol's own schemas, and a pure 1.0
// card against the generated types, unknown members refused.
func checkForm(t *testing.T, v Variant, body []byte) {
	t.Helper()
	if v != V1 {
		validate(t, "schema-0.3.0.json", body)
		return
	}
	validate(t, "schema-1.0.1.json", body)
	var card v1.AgentCard
	if err := (protojson.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(body, &card); err != nil {
		t.Errorf("protojson: %v", err)
	}
}

func validate(t *testing.T, schema string, body []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", schema))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schema, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	card, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(card); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
}

func TestNew_lists_what_is_missing(t *testing.T) {
	_, err := New(ServerOptions{Mode: "1.0"})
	for _, want := range []string{"name", "description", "version", "skills", "mode", "interface of version 1.0", "interface of version 0.3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

func TestB010_no_null(t *testing.T) {
	s := newServer(t, minimal(t), Resolver{PublicURL: public})
	for _, v := range []Variant{Hybrid, V03, V1} {
		body, err := s.JSON(public, v, "")
		if err != nil {
			t.Fatal(err)
		}
		var c map[string]any
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"skills", "defaultInputModes", "defaultOutputModes"} {
			if _, ok := c[key].([]any); !ok {
				t.Errorf("%s: %s is %v", v, key, c[key])
			}
		}
		if tags, ok := c["skills"].([]any)[0].(map[string]any)["tags"].([]any); !ok || len(tags) != 0 {
			t.Errorf("%s: tags are %v", v, tags)
		}
		if bytes.Contains(body, []byte("null")) {
			t.Errorf("%s: a null in %s", v, body)
		}
	}
}

func TestB011_required_members(t *testing.T) {
	s := newServer(t, minimal(t), Resolver{PublicURL: public})
	always := []string{"name", "description", "version", "capabilities", "skills", "defaultInputModes", "defaultOutputModes"}
	for v, more := range map[Variant][]string{
		V03:    {"url", "protocolVersion", "preferredTransport"},
		V1:     {"supportedInterfaces"},
		Hybrid: {"url", "protocolVersion", "preferredTransport", "supportedInterfaces"},
	} {
		body, err := s.JSON(public, v, "")
		if err != nil {
			t.Fatal(err)
		}
		var c map[string]json.RawMessage
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		for _, key := range append(more, always...) {
			if c[key] == nil {
				t.Errorf("%s: no %s", v, key)
			}
		}
		var list []map[string]any
		if err := json.Unmarshal(c["skills"], &list); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"id", "name", "description", "tags"} {
			if list[0][key] == nil || list[0][key] == "" {
				t.Errorf("%s: skill has %s %v", v, key, list[0][key])
			}
		}
	}
}

// TestServer_JSON_read_by_a2a_go decodes cards as the official Go client does,
// which asks for a card without a version header.
func TestServer_JSON_read_by_a2a_go(t *testing.T) {
	s := newServer(t, full(t), Resolver{PublicURL: public})
	body, err := s.JSON(public, Hybrid, "")
	if err != nil {
		t.Fatal(err)
	}
	var card sdk.AgentCard
	if err := json.Unmarshal(body, &card); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if len(card.SupportedInterfaces) != 2 || card.SupportedInterfaces[0].URL != public+rpc ||
		len(card.Skills) != 2 || len(card.SecuritySchemes) != 2 {
		t.Errorf("got %+v", card)
	}
}
