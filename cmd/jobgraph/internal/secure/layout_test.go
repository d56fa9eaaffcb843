package secure_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

func made(t *testing.T, dir string, c secure.Change) *secure.Layout {
	t.Helper()
	return musttest.Get(secure.Make(dir, &c))(t)
}

// keys returns the keys that a server with the folder's configuration accepts, with their accounts.
func keys(t *testing.T, l *secure.Layout) map[string]string {
	t.Helper()
	o := musttest.Get(server.ProcessConfigFile(l.Config()))(t)
	if o.TLSConfig == nil || len(o.TLSConfig.Certificates) != 1 {
		t.Error("the server has no certificate")
	}
	list := map[string]string{}
	for _, u := range o.Nkeys {
		list[u.Nkey] = u.Account.Name
	}
	return list
}

func key(t *testing.T, l *secure.Layout, name string) string {
	t.Helper()
	id := musttest.Get(l.Identity(secure.DefaultTenant, name))(t)
	seed := musttest.Read(t, l.Seed(secure.DefaultTenant, name))
	pair := musttest.Get(nkeys.ParseDecoratedUserNKey(seed))(t)
	if public, err := pair.PublicKey(); err != nil || public != id.Key {
		t.Errorf("the seed of %s is that of %s, want %s", name, public, id.Key)
	}
	return id.Key
}

// signer returns what a key may sign, nil if nothing.
func signer(t *testing.T, l *secure.Layout, key string) *seal.Signer {
	t.Helper()
	text := musttest.Read(t, l.Signers(secure.DefaultTenant))
	list, err := seal.Load(text)
	if err != nil || list.Since.IsZero() || list.Since.After(time.Now()) {
		t.Fatalf("%+v, %v", list, err)
	}
	for i := range list.Signers {
		if list.Signers[i].Key == key {
			return &list.Signers[i]
		}
	}
	return nil
}

func TestAFolderIsMadeOnceAndChangedOnRequest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secure")
	l := made(t, dir, secure.Change{Hosts: []string{"bus.example.org"}})
	first := keys(t, l)
	client := key(t, l, "client")
	if len(first) != 7 {
		t.Errorf("the server accepts %d keys, want those of 7 roles", len(first))
	}
	l = made(t, dir, secure.Change{Add: []access.Identity{{Name: "anna", Role: access.Client, User: "anna", Rights: []verb.Role{verb.Approver}}, {Name: "gpu", Role: access.Runner, Pools: []string{"gpu"}}}})
	anna := key(t, l, "anna")
	if keys(t, l)[anna] != "JOBGRAPH__ANNA" || key(t, l, "client") != client || keys(t, l)[client] == "" {
		t.Errorf("after an addition: %v", keys(t, l))
	}
	if s := signer(t, l, anna); s == nil || s.Until != nil || !slices.Equal(s.Users, []string{"anna"}) || !slices.Equal(s.Rights, []string{"approver"}) || len(s.Facts) > 0 {
		t.Errorf("anna signs as %+v", s)
	}
	if s := signer(t, l, key(t, l, "viewer")); s != nil {
		t.Errorf("a viewer signs as %+v", s)
	}
	if s := signer(t, l, key(t, l, "gpu")); s == nil || len(s.Users)+len(s.Rights)+len(s.Facts) > 0 {
		t.Errorf("a runner signs more than payloads, as %+v", s)
	}
	l = made(t, dir, secure.Change{Rotate: []string{"anna"}})
	if s := signer(t, l, anna); s == nil || s.Until == nil || s.Until.After(time.Now()) {
		t.Errorf("with her old key anna signs as %+v", s)
	}
	if s := signer(t, l, key(t, l, "anna")); s == nil || s.Until != nil {
		t.Errorf("with her new key anna signs as %+v", s)
	}
	if again := keys(t, l); again[anna] != "" || again[key(t, l, "anna")] == "" || again[client] == "" {
		t.Errorf("after a rotation: %v", again)
	}
	l = made(t, dir, secure.Change{Remove: []string{"gpu"}, Tenants: []string{secure.DefaultTenant, "other"}})
	if again := keys(t, l); len(again) != 8+7 || again[client] == "" {
		t.Errorf("with another tenant, and without a runner: %d keys", len(again))
	}
	if l.URL() != "tls://bus.example.org:4222" {
		t.Errorf("clients are sent to %s", l.URL())
	}
}

func TestCertificatesAreThoseOfTheNamesAndSecretsArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secure")
	l := made(t, dir, secure.Change{})
	read := func(name string) *x509.Certificate {
		text := musttest.Read(t, filepath.Join(dir, "tls", name))
		block, _ := pem.Decode(text)
		return musttest.Get(x509.ParseCertificate(block.Bytes))(t)
	}
	check := func(name string) error {
		roots := x509.NewCertPool()
		roots.AddCert(read("ca.pem"))
		_, err := read("server.pem").Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
		return err
	}
	if err := check("bus.example.org"); err == nil {
		t.Error("the certificate is valid for a name that nobody gave")
	}
	authority := read("ca.pem")
	made(t, dir, secure.Change{Hosts: []string{"bus.example.org", "10.0.0.9"}})
	for _, name := range []string{"bus.example.org", "localhost", "10.0.0.9", "127.0.0.1"} {
		if err := check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !authority.Equal(read("ca.pem")) {
		t.Error("a new name has changed the authority")
	}
	made(t, dir, secure.Change{Rotate: []string{secure.TLSName}})
	if authority.Equal(read("ca.pem")) || check("bus.example.org") != nil {
		t.Error("rotation has not made new certificates")
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && !strings.HasSuffix(path, "ca.pem") && !strings.HasSuffix(path, "server.pem") {
			t.Errorf("%s has the mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := l.Identity("jobgraph", "nobody"); err == nil {
		t.Error("someone unknown was found")
	}
}

func TestAChangeThatCannotBeSaysWhy(t *testing.T) {
	for want, c := range map[string]secure.Change{
		"is no address":    {Listen: "nowhere"},
		"no usable name":   {Tenants: []string{"a b"}},
		"there is no":      {Rotate: []string{"nobody"}},
		"the same account": {Add: []access.Identity{{Name: "CLIENT", Role: access.Client}}},
		"has no pool":      {Add: []access.Identity{{Name: "r", Role: access.Runner}}},
		"has the unknown":  {Add: []access.Identity{{Name: "c", Role: access.Client, Rights: []verb.Role{"root"}}}},
	} {
		if _, err := secure.Make(filepath.Join(t.TempDir(), "s"), &c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	if _, err := secure.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is no folder of a secure installation") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := secure.Make(filepath.Join(t.TempDir(), "a b"), &secure.Change{}); err == nil || !strings.Contains(err.Error(), "cannot hold") {
		t.Errorf("a path with a space: %v", err)
	}
}

// Runners of a new folder never wrote into journals of other pools; those of an older one did until it is made again.
func TestTheListSaysSinceWhenRunnersWriteOnlyTheirRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secure")
	since := func(l *secure.Layout) time.Time {
		t.Helper()
		text := musttest.Read(t, l.Signers(secure.DefaultTenant))
		list := musttest.Get(seal.Load(text))(t)
		return list.Journals
	}
	for range 2 {
		if got := since(made(t, dir, secure.Change{})); !got.Equal(access.Always) {
			t.Errorf("of a new folder since %s", got)
		}
	}
	manifest, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(manifest) != 1 {
		t.Fatal(manifest, err)
	}
	text := musttest.Get(os.ReadFile(manifest[0]))(t)
	var folder map[string]any
	musttest.Decode(t, text, &folder)
	delete(folder["tenants"].([]any)[0].(map[string]any), "journals") // As a release of before wrote it.
	if text, err = json.Marshal(folder); err == nil {
		err = os.WriteFile(manifest[0], text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Minute)
	first := since(made(t, dir, secure.Change{}))
	if first.Before(began) || !since(made(t, dir, secure.Change{})).Equal(first) {
		t.Errorf("of an older folder since %s", first)
	}
}
