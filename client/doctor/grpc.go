package doctor

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// checkGRPC looks whether something speaks HTTP/2 where the card has gRPC. It calls
// nothing there.
func (e *exam) checkGRPC(ctx context.Context) []Finding {
	var list []Finding
	for _, text := range e.card.grpc {
		list = append(list, e.checkGRPCAt(ctx, text))
	}
	return list
}

func (e *exam) checkGRPCAt(ctx context.Context, text string) Finding {
	shown := excerpt(text)
	secure, address := true, text
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		secure, address = u.Scheme != "http", u.Host
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), map[bool]string{true: "443", false: "80"}[secure]
	}
	switch {
	case unspecified(host):
		return found(Fail, "gRPC is declared at %s, an address to listen on, which nobody can call", shown)
	case internal(host) && !internal(e.base.Hostname()):
		return found(Fail, "gRPC is declared at %s, inside of the server's own network", shown)
	case !strings.EqualFold(host, e.base.Hostname()) && !(loopback(host) && loopback(e.base.Hostname())):
		return found(Skipped, "gRPC is declared at %s, on another host, which was not called", shown)
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return found(Fail, "gRPC is declared at %s, where nothing takes connections: %s", shown, excerpt(err.Error()))
	}
	defer conn.Close() //nolint:errcheck // nothing is waited for
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // a TCP connection has deadlines
	// An address without a scheme says nothing of TLS; the one that works counts.
	if secure {
		t := tls.Client(conn, &tls.Config{RootCAs: e.o.Roots, ServerName: host, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
		err := t.HandshakeContext(ctx)
		switch {
		case err == nil && t.ConnectionState().NegotiatedProtocol == "h2":
			return found(OK, "gRPC is declared at %s, where HTTP/2 with TLS answers; no call was made", shown)
		case err == nil:
			return found(Fail, "gRPC is declared at %s, where TLS answers without HTTP/2", shown)
		case certificateFault(err) || strings.Contains(text, "://"):
			return found(Fail, "gRPC is declared at %s, where TLS fails: %s", shown, excerpt(err.Error()))
		}
		if conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port)); err != nil {
			return found(Fail, "gRPC is declared at %s, where nothing takes connections: %s", shown, excerpt(err.Error()))
		}
		defer conn.Close() //nolint:errcheck // nothing is waited for
		_ = conn.SetDeadline(deadline)
	}
	if err := greet(conn); err != nil {
		return found(Fail, "gRPC is declared at %s, which takes connections but does not speak HTTP/2", shown)
	}
	return found(OK, "gRPC is declared at %s, where HTTP/2 without TLS answers; no call was made", shown)
}

// greet begins a connection of HTTP/2 and waits for the settings of the other side.
func greet(conn net.Conn) error {
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(stepTime / 3)) // a TCP connection has deadlines
	frame, err := f.ReadFrame()
	if err != nil {
		return err
	}
	if _, ok := frame.(*http2.SettingsFrame); !ok {
		return errNoSettings
	}
	return nil
}
