package server_test

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/configs"
)

// allOps are the operations of the protocol.
var allOps = []a2a.Op{
	a2a.OpSend, a2a.OpStream, a2a.OpGet, a2a.OpList, a2a.OpCancel, a2a.OpSubscribe,
	a2a.OpSetPush, a2a.OpGetPush, a2a.OpListPush, a2a.OpDeletePush, a2a.OpExtendedCard,
}

// naming is a request of an operation on a task.
func naming(id string, headers ...string) ask {
	return ask{task: id, text: "x", config: "p", url: "http://127.0.0.1:9/", headers: headers}
}

// TestConformance_Bindings: what the kit of 1.0 names without a test of its own holds
// on every binding and in every version that the card declares.
func TestConformance_Bindings(t *testing.T) {
	for _, l := range tongues {
		if l.shape == shapeV01 {
			continue // on no card
		}
		t.Run(strings.ReplaceAll(l.name, " ", "_"), func(t *testing.T) {
			c := grpcProbe(t, withExtendedCard)
			t.Run("AUTH-SERVER-002 every request is authenticated", func(t *testing.T) { wantAuthenticated(t, c, l) })
			t.Run("AUTH-SCOPE-001 every operation is checked", func(t *testing.T) {
				id := l.ask(c, a2a.OpSend, ask{text: "@ask"}).Tasks[0].ID
				for _, op := range allOps {
					if op == a2a.OpList || op == a2a.OpExtendedCard || !l.has(op) {
						continue // they name no task
					}
					if g := l.ask(c, op, naming(id, bob)); g.Code != -32001 {
						t.Errorf("%s: got error %d, want -32001", op, g.Code)
					}
				}
				want(t, c.get(id), "TASK_STATE_INPUT_REQUIRED", "result", "status", "state")
			})
			t.Run("AUTH-SCOPE-002 results are the caller's", func(t *testing.T) {
				if !l.has(a2a.OpList) {
					t.Skip("this version has no list")
				}
				id := l.ask(c, a2a.OpSend, ask{text: "@echo mine", headers: []string{bob}}).Tasks[0].ID
				listed := func(key string) bool {
					g := l.ask(c, a2a.OpList, ask{query: map[string]any{"pageSize": 100}, headers: []string{key}})
					return slices.ContainsFunc(g.Tasks, func(k task) bool { return k.ID == id })
				}
				if !listed(bob) || listed(alice) {
					t.Errorf("bob's task: listed for bob %t, for alice %t", listed(bob), listed(alice))
				}
			})
			t.Run("AUTH-SCOPE-003 foreign is like unknown", func(t *testing.T) {
				id := l.ask(c, a2a.OpSend, ask{text: "@ask"}).Tasks[0].ID
				for _, op := range []a2a.Op{a2a.OpSend, a2a.OpGet, a2a.OpCancel, a2a.OpSubscribe, a2a.OpSetPush, a2a.OpGetPush} {
					foreign, unknown := l.ask(c, op, naming(id, bob)), l.ask(c, op, naming("11111111-2222-4333-8444-555555555555", bob))
					if foreign.Code != unknown.Code || foreign.Status != unknown.Status || unknown.Code == 0 {
						t.Errorf("%s: got %+v for a foreign task and %+v for an unknown one", op, foreign, unknown)
					}
				}
			})
			t.Run("AUTH-INTASK-002 a task asks for authorisation", func(t *testing.T) { wantAuthorisation(t, c, l) })
			t.Run("VER-SERVER-001 the version's own semantics", func(t *testing.T) {
				id := l.ask(c, a2a.OpSend, ask{text: "@ask"}).Tasks[0].ID
				l.ask(c, a2a.OpCancel, ask{task: id})
				code := map[bool]int{true: 0, false: -32002}[l.shape == shapeV1]
				if g := l.ask(c, a2a.OpCancel, ask{task: id}); g.Code != code {
					t.Errorf("second cancel: got error %d, want %d", g.Code, code)
				}
			})
			t.Run("VER-CLIENT-002 the patch does not count", func(t *testing.T) {
				version := map[bool]string{true: "1.0.99", false: "0.3.99"}[l.shape == shapeV1]
				if g := l.ask(c, a2a.OpSend, ask{text: "@echo x", headers: []string{"A2A-Version: " + version}}); g.Code != 0 {
					t.Errorf("version %s: got error %d", version, g.Code)
				}
			})
			t.Run("BIND-EQUIV-001 the same operations", func(t *testing.T) {
				for _, op := range allOps {
					if !l.has(op) {
						continue
					}
					q := ask{text: "@ask"}
					if op == a2a.OpSubscribe {
						q = ask{text: "@sleep 0.5", now: true} // a subscription lasts as long as its task
					}
					id := l.ask(c, a2a.OpSend, q).Tasks[0].ID
					if op != a2a.OpSetPush {
						l.ask(c, a2a.OpSetPush, naming(id))
					}
					if g := l.ask(c, op, naming(id)); g.Code != 0 {
						t.Errorf("%s: got error %d, want it done", op, g.Code)
					}
				}
			})
			t.Run("BIND-EQUIV-004 the same authentication", func(t *testing.T) {
				for _, header := range declared(t, c.Do("GET", cardPath, "", v10)) {
					// The tongue sends alice's token; an empty one leaves it to the other scheme.
					if g := l.ask(c, a2a.OpSend, ask{text: "@echo x", headers: []string{"Authorization: ", header}}); g.Code != 0 {
						t.Errorf("%s: got error %d", header, g.Code)
					}
				}
			})
			t.Run("CARD-EXT-001 the extended card asks for a key", func(t *testing.T) {
				if g := l.ask(c, a2a.OpExtendedCard, ask{headers: []string{"Authorization: Bearer wrong"}}); g.Code != -31401 {
					t.Errorf("without a key: got error %d, want -31401", g.Code)
				}
				if g := l.ask(c, a2a.OpExtendedCard, ask{}); g.Code != 0 {
					t.Errorf("with a key: got error %d", g.Code)
				}
			})
			t.Run("CARD-EXT-002 no extended card", func(t *testing.T) {
				code := map[bool]int{true: -32004, false: -32007}[l.shape == shapeV1] // 1.0: undeclared, as CORE-CAP-003 has it
				if g := l.ask(grpcProbe(t), a2a.OpExtendedCard, ask{}); g.Code != code {
					t.Errorf("got error %d, want %d", g.Code, code)
				}
			})
			t.Run("CORE-ERR-002 parameters are checked first", func(t *testing.T) {
				before := c.total()
				for _, q := range []ask{{parts: "[]"}, {text: "x", role: "ROLE_AGENT"}, {text: "x", task: "  "}} {
					if g := l.ask(c, a2a.OpSend, q); g.Code != -32602 {
						t.Errorf("%+v: got error %d, want -32602", q, g.Code)
					}
				}
				if after := c.total(); after != before {
					t.Errorf("got %v tasks, want %v", after, before)
				}
			})
			t.Run("VER-SERVER-002 no other version", func(t *testing.T) {
				g := l.ask(c, a2a.OpSend, ask{text: "@echo x", headers: []string{"A2A-Version: 99.0"}})
				if g.Code != -32009 && (l.shape != shapeOldProto || g.Code != -32600) { // 0.3 has no number for it
					t.Errorf("got error %d, want -32009", g.Code)
				}
			})
		})
	}
}

// TestConformance_BindingsWithout: what is switched off is refused on every binding,
// and so is a message without a required extension.
func TestConformance_BindingsWithout(t *testing.T) {
	off := grpcProbe(t, func(cfg *configs.Config) { cfg.Push.Enabled, cfg.Stream.Enabled = false, false })
	required := grpcProbe(t, requiring)
	for _, l := range tongues {
		if l.shape == shapeV01 {
			continue // on no card
		}
		t.Run(strings.ReplaceAll(l.name, " ", "_"), func(t *testing.T) {
			id := l.ask(off, a2a.OpSend, ask{text: "@ask"}).Tasks[0].ID
			refused := func(t *testing.T, c *client, code int, ops ...a2a.Op) {
				t.Helper()
				for _, op := range ops {
					if g := l.ask(c, op, naming(id)); g.Code != code {
						t.Errorf("%s: got error %d, want %d", op, g.Code, code)
					}
				}
			}
			t.Run("CORE-CAP-001 no push", func(t *testing.T) {
				refused(t, off, -32003, a2a.OpSetPush, a2a.OpGetPush, a2a.OpListPush, a2a.OpDeletePush)
			})
			t.Run("CORE-CAP-002 no streams", func(t *testing.T) { refused(t, off, -32004, a2a.OpStream, a2a.OpSubscribe) })
			t.Run("CORE-CAP-003 no extended card", func(t *testing.T) {
				refused(t, off, map[bool]int{true: -32004, false: -32007}[l.shape == shapeV1], a2a.OpExtendedCard)
			})
			t.Run("CORE-CAP-004 a required extension", func(t *testing.T) {
				refused(t, required, l.extensionRequired(), a2a.OpSend, a2a.OpStream)
				if g := l.ask(required, a2a.OpSend, ask{text: "@echo x", headers: []string{"A2A-Extensions: https://ex/req"}}); g.Code != 0 {
					t.Errorf("with the extension: got error %d", g.Code)
				}
			})
		})
	}
}

// wantAuthenticated: no operation is done for a key that nobody has.
func wantAuthenticated(t *testing.T, c *client, l *tongue) {
	id := l.ask(c, a2a.OpSend, ask{text: "@ask"}).Tasks[0].ID
	before := c.total()
	for _, header := range []string{"Authorization: ", "Authorization: Bearer wrong", "Authorization: Basic YWxpY2U6YWxpY2UtdG9rZW4="} {
		for _, op := range allOps {
			if !l.has(op) {
				continue
			}
			for _, task := range []string{id, ""} {
				if task == "" && op != a2a.OpSend && op != a2a.OpStream {
					continue
				}
				if g := l.ask(c, op, naming(task, header)); g.Code != -31401 || len(g.Tasks)+len(g.Events)+len(g.Push) > 0 {
					t.Errorf("%s with %q: got %+v, want -31401", op, header, g)
				}
			}
		}
	}
	want(t, c.get(id), "TASK_STATE_INPUT_REQUIRED", "result", "status", "state")
	if after := c.total(); after != before {
		t.Errorf("got %v tasks, want %v", after, before)
	}
}

// wantAuthorisation follows a stream through the need for authorisation.
func wantAuthorisation(t *testing.T, c *client, l *tongue) {
	made := l.ask(c, a2a.OpSend, ask{text: "@auth"})
	if len(made.Tasks) != 1 || made.Tasks[0].State != "auth-required" || made.Tasks[0].Said == "" { // 001, 002, 003
		t.Fatalf("got %+v, want a task that says what it needs", made)
	}
	id := made.Tasks[0].ID
	var frames chan got
	if l.shape == shapeV1 { // 0.3 ends a stream at a pause
		frames = make(chan got, 1)
		context := made.Tasks[0].Context
		go func() { frames <- l.ask(c, a2a.OpStream, ask{text: "@auth", context: context}) }()
		eventually(t, "the second task asks too", func() bool {
			a := c.v1("ListTasks", params("contextId", context, "status", "TASK_STATE_AUTH_REQUIRED"))
			second, _ := a.Get("result", "tasks", 0, "id").(string)
			if n := a.Get("result", "tasks", 1); n == nil {
				return false
			}
			id = second // the last one that changed is the first of the list
			return true
		})
	}
	if g := l.ask(c, a2a.OpSend, ask{text: "not yours", task: id, headers: []string{bob}}); g.Code != -32001 {
		t.Errorf("another caller answers: got error %d, want -32001", g.Code)
	}
	if g := l.ask(c, a2a.OpSend, ask{text: "done", task: id}); len(g.Tasks) != 1 || g.Tasks[0].State != "completed" { // 006
		t.Errorf("got %+v, want a completed task", g)
	}
	if frames == nil {
		return
	}
	events := (<-frames).Events // 005
	if n := len(events); n < 2 || !slices.Contains(events, "state auth-required") || events[n-1] != "state completed" {
		t.Errorf("got events %q, want the stream open from auth-required to completed", events)
	}
}

// TestConformance_TLS: gRPC with a certificate of its own. For HTTP a proxy ends TLS.
func TestConformance_TLS(t *testing.T) {
	cert, key, roots := certificate(t)
	c := grpcProbe(t, func(cfg *configs.Config) { cfg.GRPC.TLS = configs.TLS{CertFile: cert, KeyFile: key} })
	call := func(client *tls.Config) (*peer.Peer, error) {
		var p peer.Peer
		conn := dial(t, c.Server, grpc.WithTransportCredentials(credentials.NewTLS(client)))
		_, err := a2apb.NewA2AServiceClient(conn).SendMessage(with(t, alice), asks("@echo x"), grpc.Peer(&p))
		return &p, err
	}
	t.Run("GRPC-SVC-003 HTTP/2 with TLS", func(t *testing.T) {
		p, err := call(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		if err != nil {
			t.Fatal(err)
		}
		info, _ := p.AuthInfo.(credentials.TLSInfo)
		if info.State.NegotiatedProtocol != "h2" {
			t.Errorf("got protocol %q, want h2", info.State.NegotiatedProtocol)
		}
	})
	t.Run("AUTH-TLS-001 nothing without it", func(t *testing.T) {
		if _, err := stub(t, c.Server).SendMessage(with(t, alice), asks("@echo x")); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v, want UNAVAILABLE", err)
		}
	})
	t.Run("AUTH-TLS-002 modern versions", func(t *testing.T) {
		p, err := call(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := p.AuthInfo.(credentials.TLSInfo); info.State.Version != tls.VersionTLS13 {
			t.Errorf("got %s, want TLS 1.3", tls.VersionName(info.State.Version))
		}
		if _, err := call(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); status.Code(err) != codes.Unavailable { //nolint:gosec // an old client
			t.Errorf("TLS 1.1: got %v, want UNAVAILABLE", err)
		}
	})
}
