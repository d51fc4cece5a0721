package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// expiresSoon is when a certificate should have been renewed: those that renew
// themselves do so a month before.
const expiresSoon = 14 * 24 * time.Hour

// certificateFault reports whether a connection failed because of the server's
// certificate.
func certificateFault(err error) bool {
	var v *tls.CertificateVerificationError
	return errors.As(err, &v)
}

// checkTLS looks at the certificate. If it is not good, nothing else is asked over such
// a connection; it is looked at once more to say what is wrong.
func (e *exam) checkTLS(ctx context.Context) []Finding {
	if e.base.Scheme != "https" {
		if internal(e.base.Hostname()) {
			return skip("the URL is plain http, on an internal address")
		}
		return poor("the URL is plain http: whoever is on the way reads tokens and contents")
	}
	if e.answered {
		return e.tlsState(e.first.tls)
	}
	if !certificateFault(e.firstErr) {
		return skip("there is no connection")
	}
	leaf, sent := e.presented(ctx)
	if leaf == nil {
		return bad("the certificate is not good: %s", excerpt(plainCause(e.firstErr)))
	}
	return e.tlsFault(leaf, sent)
}

func (e *exam) tlsState(s *tls.ConnectionState) []Finding {
	leaf := s.PeerCertificates[0]
	left := time.Until(leaf.NotAfter)
	text := fmt.Sprintf("%s, certificate for %s from %s, %d days left", tls.VersionName(s.Version), e.base.Hostname(), excerpt(issuer(leaf)), int(left.Hours()/24))
	if left < expiresSoon {
		return advise(poor("%s", text), "renew it, and see why that has not happened by itself")
	}
	return good("%s", text)
}

// presented returns the certificate that the server shows, and how many it sends with
// it; nil if it cannot be seen.
func (e *exam) presented(ctx context.Context) (*x509.Certificate, int) {
	port := e.base.Port()
	if port == "" {
		port = "443"
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	// Nothing is sent over this connection, so that anybody may be at its other end.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: e.base.Hostname()}} //nolint:gosec // see above
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(e.base.Hostname(), port))
	if err != nil {
		return nil, 0
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	shown := conn.(*tls.Conn).ConnectionState().PeerCertificates
	if len(shown) == 0 {
		return nil, 0
	}
	return shown[0], len(shown)
}

func (e *exam) tlsFault(leaf *x509.Certificate, sent int) []Finding {
	var wrongName x509.HostnameError
	now := time.Now()
	switch {
	case now.After(leaf.NotAfter):
		return advise(bad("the certificate expired on %s", leaf.NotAfter.UTC().Format(time.DateOnly)), "renew it and let the proxy load it again")
	case now.Before(leaf.NotBefore):
		return advise(bad("the certificate is not valid before %s", leaf.NotBefore.UTC().Format(time.DateOnly)), "set the clocks, or wait")
	case errors.As(e.firstErr, &wrongName) || leaf.VerifyHostname(e.base.Hostname()) != nil:
		return advise(bad("the certificate is for %s, not for %s", excerpt(names(leaf)), e.base.Hostname()), "get one that names the host, or let the proxy choose the right one for it")
	case leaf.Subject.String() == leaf.Issuer.String():
		return advise(bad("the certificate is signed by itself"), "get one from an authority, or let clients trust it: here by SSL_CERT_FILE=ca.pem")
	case sent == 1:
		f := advise(bad("the authority %s is not known, and the server sends no certificate between", excerpt(issuer(leaf))),
			"let the proxy send the whole chain; if the authority is your own, let clients trust it: here by SSL_CERT_FILE=ca.pem", fixChain()...)
		return f
	}
	return advise(bad("the authority %s is not known", excerpt(issuer(leaf))), "if it is your own, let clients trust it: here by SSL_CERT_FILE=ca.pem")
}

func issuer(c *x509.Certificate) string {
	if n := c.Issuer.CommonName; n != "" {
		return n
	}
	return c.Issuer.String()
}

func names(c *x509.Certificate) string {
	list := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return c.Subject.CommonName
	}
	return strings.Join(list, ", ")
}
