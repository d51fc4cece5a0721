// Package guardtest has what tests of guarded clients need.
package guardtest

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Resolver returns a resolver that answers every question for a name with the
// next of the addresses, starting over at the end.
func Resolver(t testing.TB, addrs ...string) *net.Resolver {
	t.Helper()
	var asked atomic.Int64
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			// A stream transport puts the length before the message.
			head := make([]byte, 2)
			if _, err := server.Read(head); err != nil {
				return
			}
			query := make([]byte, int(head[0])<<8|int(head[1]))
			if _, err := server.Read(query); err != nil {
				return
			}
			var p dnsmessage.Parser
			h, err := p.Start(query)
			if err != nil {
				return
			}
			q, err := p.Question()
			if err != nil {
				return
			}
			b := dnsmessage.NewBuilder([]byte{0, 0}, dnsmessage.Header{ID: h.ID, Response: true, RecursionAvailable: true})
			_ = b.StartQuestions()
			_ = b.Question(q)
			_ = b.StartAnswers()
			if q.Type == dnsmessage.TypeA {
				ip := netip.MustParseAddr(addrs[int(asked.Add(1)-1)%len(addrs)])
				_ = b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}, dnsmessage.AResource{A: ip.As4()})
			}
			answer, err := b.Finish()
			if err != nil {
				return
			}
			answer[0], answer[1] = byte((len(answer)-2)>>8), byte(len(answer)-2)
			_, _ = server.Write(answer)
		}()
		return client, nil
	}}
}
