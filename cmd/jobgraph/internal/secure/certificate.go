package secure

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// How long the certificates of the authority and of the server are valid. Rotating replaces both.
const (
	authorityYears = 10
	serverYears    = 5
)

// certify makes the authority and the certificate of the server if they are missing. A rotation replaces both; a change of names
// replaces only that of the server.
func (l *Layout) certify(rotate, renamed bool) error {
	ca, key, err := l.authority(rotate)
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(l.dir, serverFile))
	if err == nil && !rotate && !renamed {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c, err := template("jobgraph bus", serverYears)
	if err != nil {
		return err
	}
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	names := slices.Concat([]string{"localhost", "127.0.0.1", "::1"}, l.Hosts)
	if host, _, err := net.SplitHostPort(l.Listen); err == nil && host != "" {
		names = append(names, host)
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca, own.Public(), key)
	if err != nil {
		return err
	}
	return l.save(serverFile, serverKey, der, own)
}

// authority reads or makes the certificate that signs the server's.
func (l *Layout) authority(again bool) (*x509.Certificate, crypto.Signer, error) {
	if !again {
		ca, key, err := l.load()
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return ca, key, err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	c, err := template("jobgraph authority", authorityYears)
	if err != nil {
		return nil, nil, err
	}
	c.IsCA, c.BasicConstraintsValid, c.MaxPathLenZero, c.KeyUsage = true, true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	return made, key, l.save(CAFile, caKeyFile, der, key)
}

func (l *Layout) load() (*x509.Certificate, crypto.Signer, error) {
	text, err := os.ReadFile(filepath.Join(l.dir, CAFile))
	if err != nil {
		return nil, nil, err
	}
	private, err := os.ReadFile(filepath.Join(l.dir, caKeyFile))
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(text)
	keyBlock, _ := pem.Decode(private)
	if block == nil || keyBlock == nil {
		return nil, nil, errors.New(l.CA() + " or its key is no PEM file; make both again with --rotate tls")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("the key of " + l.CA() + " cannot sign; make both again with --rotate tls")
	}
	return ca, signer, nil
}

func template(name string, years int) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	from := time.Now().Add(-time.Hour) // An hour back, for clocks that are slow.
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: from.AddDate(years, 0, 0)}, nil
}

// save writes a certificate and its key.
func (l *Layout) save(cert, key string, der []byte, private crypto.Signer) error {
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	err = replace(filepath.Join(l.dir, key), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600)
	if err != nil {
		return err
	}
	return replace(filepath.Join(l.dir, cert), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}
