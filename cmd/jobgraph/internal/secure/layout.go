package secure

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// The files of a folder.
const (
	manifestFile = "access.json"
	ConfigFile   = "nats.conf"
	accountsFile = "accounts.conf"
	signersFile  = "signers.json"
	tlsFolder    = "tls"
	CAFile       = tlsFolder + "/ca.pem"
	caKeyFile    = tlsFolder + "/ca-key.pem"
	serverFile   = tlsFolder + "/server.pem"
	serverKey    = tlsFolder + "/server-key.pem"
)

// TLSName is what Rotate accepts for the certificates, in place of an identity.
const TLSName = "tls"

// DefaultTenant is the tenant that is used if none is named.
const DefaultTenant = "jobgraph"

// DefaultListen is the default address of the server.
const DefaultListen = "127.0.0.1:4222"

// Layout is a folder of a secure installation.
type Layout struct {
	dir string
	// Listen is where the server listens, HOST:PORT. Hosts are further names and addresses of the server; clients get the first
	// one.
	Listen string   `json:"listen"`
	Hosts  []string `json:"hosts,omitempty"`
	// Store is the folder of the streams; store in the folder itself if empty.
	Store string `json:"store,omitempty"`
	// Tenants are the separate installations on this server.
	Tenants []access.Tenant `json:"tenants"`
}

// Change says what Make changes in a folder, besides adding what is missing.
type Change struct {
	// Listen, Hosts and Store replace those of the folder, unless empty.
	Listen string
	Hosts  []string
	Store  string
	// Tenants and Prefix name the tenants to add identities to; DefaultTenant if empty.
	Tenants []string
	Prefix  string
	// Add are further identities; one that exists is replaced, and keeps its key.
	Add []access.Identity
	// Rotate names identities that get new keys, in all of Tenants; TLSName stands for new certificates.
	Rotate []string
	// Remove names identities whose keys are no longer accepted.
	Remove []string
}

// standard returns the identities that every tenant has.
func standard() []access.Identity {
	return []access.Identity{
		{Name: "admin", Role: access.Admin},
		{Name: "scheduler", Role: access.Scheduler},
		{Name: "planner", Role: access.Planner},
		{Name: "gateway", Role: access.Gateway},
		{Name: "runner", Role: access.Runner, Pools: []string{events.DefaultPool}},
		{Name: "client", Role: access.Client},
		{Name: "viewer", Role: access.Viewer},
	}
}

// Open reads a folder. Errors: *events.Fault if it is not such a folder.
func Open(dir string) (*Layout, error) {
	l := &Layout{}
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err == nil {
		err = json.Unmarshal(text, l)
	}
	if err == nil {
		l.dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, &events.Fault{
			Code: events.CodeInvalid, Field: "secure", Message: dir + " is no folder of a secure installation", Cause: err.Error(), Hint: "make one with `jobgraph init --secure " + dir + "`",
		}
	}
	return l, nil
}

// Make makes a folder, or what is missing in it, and applies a change. Errors: *events.Fault for an impossible change.
func Make(dir string, c *Change) (*Layout, error) {
	l := &Layout{Listen: DefaultListen}
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
		if l, err = Open(dir); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make secure folder: %w", err)
	}
	var err error
	if l.dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("make secure folder: %w", err)
	}
	if strings.ContainsAny(l.dir, " \t\n'\"\\") {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: "secure", Message: fmt.Sprintf("%q has characters that files of variables cannot hold", l.dir), Hint: "choose a path without spaces and quotes"}
	}
	if err := l.apply(c); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(l.dir, tlsFolder), 0o700); err != nil {
		return nil, fmt.Errorf("make secure folder: %w", err)
	}
	if err := l.certify(slices.Contains(c.Rotate, TLSName), len(c.Hosts) > 0 || c.Listen != ""); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	for i := range l.Tenants {
		t := &l.Tenants[i]
		switch {
		case t.Since.IsZero():
			t.Since, t.Journals = time.Now().UTC(), access.Always
		case t.Journals.IsZero(): // An earlier release has made it.
			t.Journals = time.Now().UTC()
		}
		for j := range t.Identities {
			rotate := slices.Contains(c.Rotate, t.Identities[j].Name) && slices.Contains(c.tenants(), t.Name)
			if err := l.equip(t, &t.Identities[j], rotate); err != nil {
				return nil, fmt.Errorf("make key of %s: %w", t.Identities[j].Name, err)
			}
		}
	}
	return l, l.write()
}

func (c *Change) tenants() []string {
	if len(c.Tenants) == 0 {
		return []string{DefaultTenant}
	}
	return c.Tenants
}

// apply changes the list of identities.
func (l *Layout) apply(c *Change) error {
	if c.Listen != "" {
		l.Listen = c.Listen
	}
	if len(c.Hosts) > 0 {
		l.Hosts = c.Hosts
	}
	if c.Store != "" {
		l.Store = c.Store
	}
	if _, _, err := net.SplitHostPort(l.Listen); err != nil {
		return &events.Fault{Code: events.CodeInvalid, Field: "listen", Message: fmt.Sprintf("%.80q is no address", l.Listen), Cause: err.Error(), Hint: "give HOST:PORT"}
	}
	for _, name := range c.tenants() {
		t := l.tenant(name)
		if t == nil {
			l.Tenants = append(l.Tenants, access.Tenant{Name: name, Prefix: c.Prefix, Identities: standard()})
			t = &l.Tenants[len(l.Tenants)-1]
		}
		for _, id := range c.Add {
			if at := slices.IndexFunc(t.Identities, func(have access.Identity) bool { return have.Name == id.Name }); at >= 0 {
				id.Key = t.Identities[at].Key
				t.Identities[at] = id
			} else {
				t.Identities = append(t.Identities, id)
			}
		}
		for _, gone := range c.Remove {
			if at := slices.IndexFunc(t.Identities, func(have access.Identity) bool { return have.Name == gone }); at >= 0 {
				t.Retire(&t.Identities[at], time.Now().UTC())
			}
			t.Identities = slices.DeleteFunc(t.Identities, func(have access.Identity) bool { return have.Name == gone })
		}
		for _, name := range c.Rotate {
			if name != TLSName && !slices.ContainsFunc(t.Identities, func(have access.Identity) bool { return have.Name == name }) {
				return &events.Fault{Code: events.CodeNotFound, Field: "rotate", Message: fmt.Sprintf("there is no %.80q in tenant %s", name, t.Name), Hint: l.known(t)}
			}
		}
	}
	return l.check()
}

func (l *Layout) known(t *access.Tenant) string {
	names := []string{TLSName}
	for _, id := range t.Identities {
		names = append(names, id.Name)
	}
	return "use one of " + strings.Join(names, ", ")
}

func (l *Layout) check() error {
	accounts := map[string]string{}
	for i := range l.Tenants {
		t := &l.Tenants[i]
		if !events.ValidID(t.Name) || t.Prefix != "" && !events.ValidID(t.Prefix) {
			return &events.Fault{Code: events.CodeInvalid, Field: "tenant", Message: fmt.Sprintf("tenant %.80q with prefix %.80q has no usable name", t.Name, t.Prefix), Hint: "use 1 to 64 of A-Z a-z 0-9 _ -"}
		}
		for j := range t.Identities {
			id := &t.Identities[j]
			if err := id.Check(); err != nil {
				return err
			}
			at := t.AccountOf(id)
			if id.Role.Inside() {
				at += "/" + id.Name // Members share the account of the tenant.
			}
			if other, taken := accounts[at]; taken || at == "SYS" || at == TLSName {
				return &events.Fault{Code: events.CodeConflict, Field: "name", Message: fmt.Sprintf("%s/%s and %s have the same account", t.Name, id.Name, other), Hint: "choose names that differ in more than case"}
			}
			accounts[at] = t.Name + "/" + id.Name
		}
	}
	return nil
}

func (l *Layout) tenant(name string) *access.Tenant {
	for i := range l.Tenants {
		if l.Tenants[i].Name == name {
			return &l.Tenants[i]
		}
	}
	return nil
}

// equip gives an identity a key if it has none, or a new one if again is true.
func (l *Layout) equip(t *access.Tenant, id *access.Identity, again bool) error {
	if id.Key != "" && !again {
		_, err := os.Stat(l.Seed(t.Name, id.Name)) // A seed may have been moved away from the server on purpose.
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	t.Retire(id, time.Now().UTC())
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	defer pair.Wipe()
	seed, err := pair.Seed()
	if err == nil {
		id.Key, err = pair.PublicKey()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(l.dir, t.Name), 0o700)
	}
	if err != nil {
		return err
	}
	return replace(l.Seed(t.Name, id.Name), append(seed, '\n'), 0o600)
}

// Seed returns the path of the file with an identity's private key.
func (l *Layout) Seed(tenant, name string) string {
	return filepath.Join(l.dir, tenant, name+".nk")
}

// Env returns the path of the file with the variables of an identity.
func (l *Layout) Env(tenant, name string) string {
	return filepath.Join(l.dir, tenant, name+".env")
}

// Signers returns the path of the list of a tenant's keys whose signatures count. It holds no secret.
func (l *Layout) Signers(tenant string) string { return filepath.Join(l.dir, tenant, signersFile) }

// Config returns the path of the server's configuration.
func (l *Layout) Config() string { return filepath.Join(l.dir, ConfigFile) }

// CA returns the path of the certificate that clients have to trust.
func (l *Layout) CA() string { return filepath.Join(l.dir, CAFile) }

// Identity finds an identity by tenant and name.
func (l *Layout) Identity(tenant, name string) (*access.Identity, error) {
	if t := l.tenant(tenant); t != nil {
		for i := range t.Identities {
			if t.Identities[i].Name == name {
				return &t.Identities[i], nil
			}
		}
	}
	return nil, &events.Fault{Code: events.CodeNotFound, Field: "secure", Message: fmt.Sprintf("%s has no %s in tenant %s", l.dir, name, tenant), Hint: "make it with `jobgraph init --secure " + l.dir + "`"}
}

// URL returns the server's address for clients.
func (l *Layout) URL() string {
	host, port, err := net.SplitHostPort(l.Listen)
	if err != nil || host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	if len(l.Hosts) > 0 {
		host = l.Hosts[0]
	}
	return "tls://" + net.JoinHostPort(host, port)
}

// write writes everything that is derived from the list of identities.
func (l *Layout) write() error {
	manifest, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{
		filepath.Join(l.dir, accountsFile): access.Config(l.Tenants), l.Config(): l.config(), filepath.Join(l.dir, manifestFile): string(manifest) + "\n",
	}
	for i := range l.Tenants {
		t := &l.Tenants[i]
		signers, err := json.MarshalIndent(t.Signers(), "", "  ")
		if err != nil {
			return err
		}
		files[l.Signers(t.Name)] = string(signers) + "\n"
		for j := range t.Identities {
			files[l.Env(t.Name, t.Identities[j].Name)] = l.env(t, &t.Identities[j])
		}
	}
	for path, text := range files { // any order: each is written whole.
		if err := replace(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write secure folder: %w", err)
		}
	}
	return nil
}

// StoreFolder returns the folder of the streams.
func (l *Layout) StoreFolder() string {
	return cmp.Or(l.Store, filepath.Join(l.dir, "store"))
}

// config returns the text of the server's configuration.
func (l *Layout) config() string {
	return fmt.Sprintf(`# Made by jobgraph init --secure. Start: nats-server -c %s; after a change: nats-server --signal reload=PID
server_name: jobgraph
listen: %q
jetstream {
  store_dir: %q
  sync_interval: always
}
tls {
  cert_file: %q
  key_file: %q
  timeout: 5
}
include %q
`, l.Config(), l.Listen, l.StoreFolder(), filepath.Join(l.dir, serverFile), filepath.Join(l.dir, serverKey), accountsFile)
}

// env returns the variables of an identity.
func (l *Layout) env(t *access.Tenant, id *access.Identity) string {
	text := fmt.Sprintf("# %s, %s. In a shell: set -a; . %s\nNATS_URL=%s\nNATS_CA=%s\nNATS_NKEY=%s\nNATS_INBOX_PREFIX=%s\nJOBGRAPH_SIGNERS=%s\n",
		id.Name, id.Role, l.Env(t.Name, id.Name), l.URL(), l.CA(), l.Seed(t.Name, id.Name), id.Inbox(), l.Signers(t.Name))
	if t.Prefix != "" {
		text += "JOBGRAPH_PREFIX=" + t.Prefix + "\n"
	}
	if id.Role == access.Runner {
		text += "JOBGRAPH_POOLS=" + strings.Join(id.Pools, ",") + "\n"
	}
	return text
}

// replace replaces a file atomically.
func replace(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
