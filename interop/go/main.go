// Command go drives a running server through the a2aclient of a2a-go v2.3.1,
// once over A2A 1.0 and once over its 0.3 transport.
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
)

const (
	aliceToken = "alice-token"
	bobToken   = "bob-token"
)

// suite is a set of checks over one protocol version.
type suite struct {
	name    string
	version a2a.ProtocolVersion
	base    string
	failed  bool
	alice   *a2aclient.Client
	bob     *a2aclient.Client
}

func main() {
	base := strings.TrimRight(os.Getenv("SKILLYARD_URL"), "/")
	if base == "" {
		base = "http://127.0.0.1:8080"
	}
	failed := false
	for _, s := range []*suite{
		{name: "go", version: "1.0", base: base},
		{name: "go-a2av0", version: a2av0.Version, base: base},
	} {
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

// connectWith makes a client of the suite's version, and of no other.
func (s *suite) connectWith(ctx context.Context, card *a2a.AgentCard, interceptors ...a2aclient.CallInterceptor) (*a2aclient.Client, error) {
	httpClient := &http.Client{Timeout: 40 * time.Second}
	transport := a2aclient.WithJSONRPCTransport(httpClient)
	if s.version == a2av0.Version {
		transport = a2aclient.WithCompatTransport(a2av0.Version, a2a.TransportProtocolJSONRPC,
			a2av0.NewJSONRPCTransportFactory(a2av0.JSONRPCTransportConfig{Client: httpClient}))
	}
	return a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), transport,
		a2aclient.WithCallInterceptors(interceptors...))
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
