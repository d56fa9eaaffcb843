package host

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// TLS are the certificates of the HTTP endpoint. The zero value serves without TLS.
type TLS struct {
	// Cert and Key are paths of PEM files: the certificate with its chain, and its key. They are read again when they change.
	Cert, Key string
	// ClientCA is the path of a PEM file with the authorities that issue client certificates; if it is empty, clients are asked for
	// none. A client may come without a certificate in any case.
	ClientCA string
}

func (t *TLS) declare(f *Flags) {
	f.String(&t.Cert, Flag{Name: "tls-cert", Usage: "Certificate of the HTTP endpoint, a PEM file; with --tls-key it serves HTTPS alone."})
	f.String(&t.Key, Flag{Name: "tls-key", Usage: "Key of that certificate, a PEM file."})
	f.String(&t.ClientCA, Flag{Name: "client-ca", Usage: "Authorities of client certificates, a PEM file; users with a certificate need no token."})
}

// On reports whether TLS is served.
func (t *TLS) On() bool { return *t != TLS{} }

// validate reports a file that is missing.
func (t *TLS) validate() error {
	if t.On() && (t.Cert == "" || t.Key == "") {
		return Faults{{Code: events.CodeMissing, Field: "tls-cert", Message: "a certificate and its key belong together", Hint: "give --tls-cert and --tls-key (JOBGRAPH_TLS_CERT, JOBGRAPH_TLS_KEY)"}}
	}
	return nil
}

// certificates are the contents of the files of a TLS. They are safe for concurrent use.
type certificates struct {
	TLS
	now func() time.Time

	mu     sync.Mutex // Guards the fields below.
	config *tls.Config
	seen   [3]os.FileInfo // The files as last read; nil for one that is not used.
	next   time.Time      // The files are not checked before this time.
}

// lookEvery is the time between two checks of the files.
const lookEvery = time.Second

// openTLS reads the files. Errors: Faults.
func openTLS(t TLS) (*certificates, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	c := &certificates{TLS: t, now: time.Now}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// paths returns the paths of the files, empty for one that is not used.
func (c *certificates) paths() [3]string { return [3]string{c.Cert, c.Key, c.ClientCA} }

// read reads the files. With an error everything stays as it was.
func (c *certificates) read() error {
	var seen [3]os.FileInfo
	for at, path := range c.paths() {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return unusable(path, err)
		}
		seen[at] = info
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return unusable(c.Cert, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.ClientCA != "" {
		text, err := os.ReadFile(c.ClientCA)
		if err != nil {
			return unusable(c.ClientCA, err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return unusable(c.ClientCA, fmt.Errorf("it has no certificate"))
		}
	}
	c.config, c.seen = config, seen
	return nil
}

func unusable(path string, err error) error {
	return Faults{{Code: events.CodeInvalid, Field: "tls-cert", Message: fmt.Sprintf("%s cannot be used", path), Cause: err.Error(), Hint: "name PEM files: --tls-cert a certificate with its chain, --tls-key its key, --client-ca authorities"}}
}

// current returns the configuration for a new connection. It reads files that have changed; if the new ones cannot be used, it keeps
// the previous ones.
func (c *certificates) current(*tls.ClientHelloInfo) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.After(c.next) {
		c.next = now.Add(lookEvery)
		if c.changed() {
			_ = c.read() // Only some of the files may have been replaced so far; the next check sees all.
		}
	}
	return c.config, nil
}

func (c *certificates) changed() bool {
	for at, path := range c.paths() {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.ModTime().Equal(c.seen[at].ModTime()) || info.Size() != c.seen[at].Size() || !os.SameFile(info, c.seen[at]) {
			return err == nil
		}
	}
	return false
}
