package access_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// cast has one identity of each role, and some that differ in what a role leaves open.
func cast() []access.Identity {
	return []access.Identity{
		{Name: "admin", Role: access.Admin},
		{Name: "scheduler", Role: access.Scheduler},
		{Name: "planner", Role: access.Planner},
		{Name: "gateway", Role: access.Gateway},
		{Name: "runner-a", Role: access.Runner, Pools: []string{"a"}},
		{Name: "runner-bc", Role: access.Runner, Pools: []string{"b", "c"}},
		{Name: "client", Role: access.Client},
		{Name: "anna", Role: access.Client, User: "anna", Rights: []verb.Role{verb.Operator, verb.Approver}},
		{Name: "viewer", Role: access.Viewer},
	}
}

// stage is a server with the accounts of tenants.
type stage struct {
	t       testing.TB
	server  *bustest.Server
	tenants []access.Tenant
	seeds   map[string]string // By tenant and name.
}

// keyed gives the identities of tenants keys and returns the seeds.
func keyed(t testing.TB, tenants []access.Tenant) map[string]string {
	t.Helper()
	seeds := map[string]string{}
	for i := range tenants {
		for j := range tenants[i].Identities {
			pair := musttest.Get(nkeys.CreateUser())(t)
			id := &tenants[i].Identities[j]
			seed, err := pair.Seed()
			if err == nil {
				id.Key, err = pair.PublicKey()
			}
			if err == nil {
				err = id.Check()
			}
			if err != nil {
				t.Fatal(err)
			}
			seeds[tenants[i].Name+"/"+id.Name] = string(seed)
		}
	}
	return seeds
}

// play starts a server for tenants and creates their streams.
func play(t testing.TB, tenants ...access.Tenant) *stage {
	t.Helper()
	return playWith(t, func(accounts string) string { return accounts }, tenants...)
}

// playWith is play with other accounts.
func playWith(t testing.TB, change func(accounts string) string, tenants ...access.Tenant) *stage {
	t.Helper()
	s := &stage{t: t, tenants: tenants, seeds: keyed(t, tenants)}
	file := musttest.Temp(t, "accounts.conf", change(access.Config(tenants)))
	s.server = bustest.Start(t, bustest.Settings{Config: file})
	for i := range tenants {
		admin := s.bus(&tenants[i], "admin")
		musttest.Do(t, admin.Streams().Init(t.Context()))
		for _, id := range tenants[i].Identities {
			for _, pool := range id.Pools {
				musttest.Do(t, admin.Queues().EnsurePool(t.Context(), pool))
			}
		}
	}
	return s
}

// bus connects as an identity.
func (s *stage) bus(of *access.Tenant, name string) *bus.Bus {
	s.t.Helper()
	o := s.server.Options(name)
	o.NKey, o.Prefix = s.seeds[of.Name+"/"+name], of.Prefix
	b, err := bus.Connect(s.t.Context(), o)
	if err != nil {
		s.t.Fatalf("connect as %s: %v", name, err)
	}
	s.t.Cleanup(b.Close)
	return b
}

// raw connects as an identity without the checks of our client.
func (s *stage) raw(of *access.Tenant, name string) *nats.Conn {
	s.t.Helper()
	pair := musttest.Get(nkeys.FromSeed([]byte(s.seeds[of.Name+"/"+name])))(s.t)
	public := musttest.Get(pair.PublicKey())(s.t)
	nc, err := nats.Connect("", nats.InProcessServer(s.server), nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix("_INBOX_"+name), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		s.t.Fatalf("connect as %s: %v", name, err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

func TestThePermissionsAreThoseThatWereReviewed(t *testing.T) {
	tenant := access.Tenant{Name: "jobgraph", Identities: cast()}
	for i := range tenant.Identities {
		tenant.Identities[i].Key = "U" + strings.ToUpper(tenant.Identities[i].Name)
	}
	goldentest.Same(t, "testdata/accounts.conf", access.Config([]access.Tenant{tenant})) // Review what has changed.
}

func TestWhatIsNoIdentityIsRefused(t *testing.T) {
	for want, id := range map[string]access.Identity{
		"is no name":    {Name: "a b", Role: access.Client},
		"unknown role":  {Name: "a", Role: "root"},
		"has no pool":   {Name: "a", Role: access.Runner},
		"is no pool":    {Name: "a", Role: access.Runner, Pools: []string{"a.>"}},
		"unknown right": {Name: "a", Role: access.Client, Rights: []verb.Role{"root"}},
		"public nkey":   {Name: "a", Role: access.Client, Key: "SUAA"},
	} {
		if err := id.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", id, err, want)
		}
	}
}
