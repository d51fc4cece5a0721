// Command go drives a running server through the a2aclient of a2a-go v2.3.1, over
// every transport that it has for A2A 1.0 and for 0.3.
//
// It prints one line for each check and exits with 1 when one failed. The
// server's address comes from SKILLYARD_URL.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2agrpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	aliceToken = "alice-token"
	bobToken   = "bob-token"
)

// suite is a set of checks over one transport of one protocol version.
type suite struct {
	name    string
	version a2a.ProtocolVersion
	binding a2a.TransportProtocol
	base    string
	failed  bool
	alice   *a2aclient.Client
	bob     *a2aclient.Client
}

// transports make a client that knows every transport of a version, and no other version.
func (s *suite) transports() []a2aclient.FactoryOption {
	client := &http.Client{Timeout: 40 * time.Second}
	insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
	if s.version == a2av0.Version {
		return []a2aclient.FactoryOption{
			a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: client}),
			a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: client}),
			a2agrpcv0.WithGRPCTransport(insecurely),
		}
	}
	return []a2aclient.FactoryOption{
		a2aclient.WithJSONRPCTransport(client), a2aclient.WithRESTTransport(client), a2agrpc.WithGRPCTransport(insecurely),
	}
}

func main() {
	base := strings.TrimRight(os.Getenv("SKILLYARD_URL"), "/")
	if base == "" {
		base = "http://127.0.0.1:8080"
	}
	failed := false
	for _, s := range []*suite{
		{name: "go/jsonrpc", version: a2a.Version, binding: a2a.TransportProtocolJSONRPC},
		{name: "go/rest", version: a2a.Version, binding: a2a.TransportProtocolHTTPJSON},
		{name: "go/grpc", version: a2a.Version, binding: a2a.TransportProtocolGRPC},
		{name: "go-a2av0/jsonrpc", version: a2av0.Version, binding: a2a.TransportProtocolJSONRPC},
		{name: "go-a2av0/rest", version: a2av0.Version, binding: a2a.TransportProtocolHTTPJSON},
		{name: "go-a2av0/grpc", version: a2av0.Version, binding: a2a.TransportProtocolGRPC},
	} {
		s.base = base
		s.run()
		s.runLive()
		s.runPush()
		failed = failed || s.failed
	}
	if failed {
		os.Exit(1)
	}
}

// check runs fn within a minute and prints its line.
func (s *suite) check(name string, fn func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := protect(ctx, fn); err != nil {
		s.failed = true
		fmt.Printf("FAIL %s/%s: %s\n", s.name, name, strings.ReplaceAll(err.Error(), "\n", " | "))
		return
	}
	fmt.Printf("ok %s/%s\n", s.name, name)
}

// protect turns a panic (such as a client that could not be made) into an error.
func protect(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return fn(ctx)
}

// card reads the card under path with the parser of the suite's version.
func (s *suite) card(ctx context.Context, path string) (*a2a.AgentCard, error) {
	resolver := agentcard.NewResolver(&http.Client{Timeout: 10 * time.Second})
	if s.version == a2av0.Version {
		resolver.CardParser = a2av0.NewAgentCardParser()
	}
	return resolver.Resolve(ctx, s.base+path)
}

// connect makes a client from the card under path. It sends the token, if any,
// with every call.
func (s *suite) connect(ctx context.Context, token, path string) (*a2aclient.Client, error) {
	card, err := s.card(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	if token == "" {
		return s.connectWith(ctx, card)
	}
	return s.connectWith(ctx, card, bearer{token: token})
}

// connectWith makes a client that prefers the suite's transport.
func (s *suite) connectWith(ctx context.Context, card *a2a.AgentCard, interceptors ...a2aclient.CallInterceptor) (*a2aclient.Client, error) {
	options := append(s.transports(), a2aclient.WithDefaultsDisabled(), a2aclient.WithCallInterceptors(interceptors...),
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{s.binding}}))
	return a2aclient.NewFromCard(ctx, card, options...)
}

// bearer adds a token to every call.
type bearer struct {
	a2aclient.PassthroughInterceptor
	token string
}

// Before sets the Authorization header.
func (b bearer) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	req.ServiceParams["Authorization"] = []string{"Bearer " + b.token}
	return ctx, nil, nil
}
