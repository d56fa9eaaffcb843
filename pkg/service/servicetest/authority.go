package servicetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a certificate authority for a test.
type Authority struct {
	// File is the path of its certificate.
	File string

	tb   testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

// NewAuthority makes an authority in a folder of the test.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, dir: tb.TempDir()}
	a.key = a.newKey()
	template := a.template("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	raw, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(raw); err != nil {
		tb.Fatal(err)
	}
	a.File = filepath.Join(a.dir, "authority.pem")
	a.write(a.File, "CERTIFICATE", raw)
	return a
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.tb.Fatal(err)
	}
	return key
}

func (a *Authority) template(name string) *x509.Certificate {
	a.last++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func (a *Authority) write(file, kind string, raw []byte) {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		a.tb.Fatal(err)
	}
}

// Issue writes a certificate for 127.0.0.1 with a common name and URIs, and its key. It replaces files of the same name.
func (a *Authority) Issue(file, name string, uris ...string) (cert, key string) {
	a.tb.Helper()
	template := a.template(name)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	for _, text := range uris {
		uri, err := url.Parse(text)
		if err != nil {
			a.tb.Fatal(err)
		}
		template.URIs = append(template.URIs, uri)
	}
	own := a.newKey()
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, own.Public(), a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		a.tb.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, file+".pem"), filepath.Join(a.dir, file+"-key.pem")
	a.write(key, "EC PRIVATE KEY", private)
	a.write(cert, "CERTIFICATE", raw)
	return cert, key
}

// Client returns a configuration that trusts the authority, and uses the certificate in files if they are given.
func (a *Authority) Client(files ...string) *tls.Config {
	a.tb.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	c.RootCAs.AddCert(a.cert)
	if len(files) == 2 {
		pair, err := tls.LoadX509KeyPair(files[0], files[1])
		if err != nil {
			a.tb.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}
