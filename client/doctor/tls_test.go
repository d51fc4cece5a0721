package doctor_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/skillyard/skillyard/client/doctor"
)

// roots trusts the certificate of a test server.
func roots(srv *httptest.Server) *x509.CertPool {
	if srv.TLS == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return pool
}

// authority is a certificate authority of a test.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func template(name string, from, to time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: from, NotAfter: to, BasicConstraintsValid: true,
	}
}

func (a authority) issue(c *x509.Certificate) authority {
	a.t.Helper()
	key := newKey(a.t)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return authority{t: a.t, cert: cert, key: key}
}

// pair is the certificate for a server, with those between.
func (a authority) pair(between ...authority) *tls.Certificate {
	p := &tls.Certificate{Certificate: [][]byte{a.cert.Raw}, PrivateKey: a.key}
	for _, b := range between {
		p.Certificate = append(p.Certificate, b.cert.Raw)
	}
	return p
}

func TestDoctor_TLS(t *testing.T) {
	now := time.Now()
	day := 24 * time.Hour
	ca := func(name string) *x509.Certificate {
		c := template(name, now.Add(-400*day), now.Add(400*day))
		c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign
		return c
	}
	leaf := func(from, to time.Time) *x509.Certificate {
		c := template("agents.example.com", from, to)
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		return c
	}
	root := authority{t: t}.issue(ca("Test Root"))
	between := root.issue(ca("Test Middle"))
	good := leaf(now.Add(-day), now.Add(90*day))
	named := template("other", now.Add(-day), now.Add(90*day))
	named.DNSNames = []string{"other.example.com"}
	trust := x509.NewCertPool()
	trust.AddCert(root.cert)
	for _, c := range []struct {
		name string
		cert *tls.Certificate
		want string
	}{
		{"good", root.issue(good).pair(), "ok TLS 1.3, certificate for 127.0.0.1 from Test Root, 89 days left"},
		{"with the one between", between.issue(good).pair(between), "ok from Test Middle"},
		{"expires soon", root.issue(leaf(now.Add(-80*day), now.Add(3*day+time.Hour))).pair(), "warn 3 days left"},
		{"expired", root.issue(leaf(now.Add(-90*day), now.Add(-day))).pair(), "fail expired on " + now.Add(-day).UTC().Format(time.DateOnly)},
		{"not yet valid", root.issue(leaf(now.Add(2*day), now.Add(90*day))).pair(), "fail is not valid before"},
		{"another name", root.issue(named).pair(), "fail the certificate is for other.example.com, not for 127.0.0.1"},
		{"signed by itself", authority{t: t}.issue(good).pair(), "fail signed by itself"},
		{"the one between is missing", between.issue(good).pair(), "fail the authority Test Middle is not known, and the server sends no certificate between"},
		{"another authority", func() *tls.Certificate {
			other := authority{t: t}.issue(ca("Other Root"))
			middle := other.issue(ca("Other Middle"))
			return middle.issue(good).pair(middle)
		}(), "fail the authority Other Middle is not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := front{t: t, secure: true, cert: c.cert}.withoutProbe().start()
			r := examine(t, doctor.Options{URL: srv.URL, Roots: trust, Token: "secret"})
			expect(t, r, map[string]string{"tls": c.want})
			if failed := c.want[0] == 'f'; failed != (r.Verdict == doctor.Fault) {
				t.Errorf("got verdict %s", r.Verdict)
			}
		})
	}
}
