package access_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// bound limits the wait for a message.
const bound = 10 * time.Second

// foreign are subjects of the server and of other programs that only an admin may use, whatever the table says.
var foreign = []string{
	"$JS.API.STREAM.CREATE.JOBS", "$JS.API.STREAM.UPDATE.JOBS", "$JS.API.STREAM.DELETE.JOBS", "$JS.API.STREAM.SNAPSHOT.JOBS", "$JS.API.STREAM.RESTORE.JOBS",
	"$JS.API.STREAM.MSG.DELETE.JOBS", "$JS.API.STREAM.PURGE.JOBS_INTAKE", "$JS.API.STREAM.LEADER.STEPDOWN.JOBS", "$JS.API.CONSUMER.DURABLE.CREATE.JOBS.x",
	"$JS.API.CONSUMER.PAUSE.JOBS.x", "$JS.API.CONSUMER.UNPIN.JOBS.x", "$JS.API.CONSUMER.RESET.JOBS.x", "$JS.API.CONSUMER.LEADER.STEPDOWN.JOBS.x", "$JS.API.SERVER.REMOVE",
	"$SYS.REQ.SERVER.PING", "jobs.due.1.j1.t", "_INBOX_other.x.y", "other.subject", "$JS.FC.JOBS.x", "$JS.EVENT.ADVISORY.x", "$KV.JOBS_OTHER.x", "$O.JOBS_OTHER.C.x",
}

// sample returns a subject that a row matches; several for a row about pools.
func sample(subject string) []string {
	subject = strings.ReplaceAll(strings.ReplaceAll(subject, "*", "x"), ">", "x.y")
	if !strings.Contains(subject, "{pool}") {
		return []string{subject}
	}
	var list []string
	for _, pool := range []string{"a", "b", "c", "d"} {
		list = append(list, strings.ReplaceAll(subject, "{pool}", pool))
	}
	return list
}

// within reports whether a pattern matches a subject without wildcards.
func within(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i := range p {
		if p[i] == ">" {
			return len(s) > i
		}
		if i >= len(s) || p[i] != "*" && p[i] != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}

// abroad reports whether the messages of an identity on a subject leave its account: the table has a row for its role that is not
// local to runners.
func abroad(of *access.Tenant, id *access.Identity, subject string, who func(*access.Row) []access.Role) bool {
	return id.Role.Inside() || slices.ContainsFunc(access.Table(of.Names()), func(row access.Row) bool {
		return !row.Local() && slices.Contains(who(&row), id.Role) && slices.ContainsFunc(append(id.Pools, ""), func(pool string) bool {
			return within(strings.ReplaceAll(row.Subject, "{pool}", pool), subject)
		})
	})
}

// subjects returns the samples of all rows and the foreign subjects.
func subjects(of *access.Tenant) []string {
	list := slices.Clone(foreign)
	for _, row := range access.Table(of.Names()) {
		list = append(list, sample(row.Subject)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// refused reports whether the server has refused the last operation on a connection.
func refused(t *testing.T, nc *nats.Conn) bool {
	t.Helper()
	musttest.Do(t, nc.Flush())
	return errors.Is(nc.LastError(), nats.ErrPermissionViolation)
}

// denials does something with each subject on one connection, and returns the subjects that the server has refused. It ends with a
// subject that only an admin may use: once that is refused, all other refusals have arrived.
func denials(t *testing.T, nc *nats.Conn, admin bool, list []string, do func(subject string) error) map[string]bool {
	t.Helper()
	const last = "the.last.subject"
	denied, done := map[string]bool{}, make(chan struct{})
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		_, rest, _ := strings.Cut(err.Error(), ` to "`)
		subject, _, _ := strings.Cut(rest, `"`)
		if denied[subject] = true; subject == last {
			close(done)
		}
	})
	for _, subject := range append(list, last) {
		musttest.Do(t, do(subject))
	}
	musttest.Do(t, nc.Flush())
	if admin {
		if refused(t, nc) {
			t.Error("the admin was refused something:", nc.LastError())
		}
		return nil
	}
	select {
	case <-done:
	case <-time.After(bound):
		t.Fatal("the last subject was not refused")
	}
	return denied
}

// TestEveryRoleMayPublishWhatItNeedsAndNothingElse publishes each subject as each identity: what the table permits arrives in the
// account of the streams; what it does not permit is refused, and does not arrive there.
func TestEveryRoleMayPublishWhatItNeedsAndNothingElse(t *testing.T) {
	tenant := access.Tenant{Name: "jobgraph", Identities: cast()}
	s := play(t, tenant)
	tap := s.raw(&s.tenants[0], "admin")
	heard := musttest.Get(tap.SubscribeSync(">"))(t)
	if err := heard.SetPendingLimits(-1, -1); err != nil || refused(t, tap) {
		t.Fatal("the admin may not read along", err)
	}
	expect, allowed, denied := map[string]bool{}, 0, 0
	for i := range s.tenants[0].Identities {
		id := &s.tenants[0].Identities[i]
		permitted := id.Permissions(tenant.Names()).Publish
		nc := s.raw(&s.tenants[0], id.Name)
		refused := denials(t, nc, id.Role == access.Admin, subjects(&tenant), func(subject string) error {
			return nc.Publish(subject, []byte(id.Name+" on "+subject))
		})
		for _, subject := range subjects(&tenant) {
			may := slices.ContainsFunc(permitted, func(p string) bool { return within(p, subject) })
			mark := id.Name + " on " + subject
			if got := refused[subject]; got == may {
				t.Errorf("%s: refused is %t, the table permits it: %t", mark, got, may)
			}
			if expect[mark] = may && abroad(&tenant, id, subject, func(row *access.Row) []access.Role { return row.Publish }); may {
				allowed++
			} else {
				denied++
			}
		}
	}
	musttest.Do(t, tap.Publish("other.end", []byte("the end")))
	arrived := map[string]bool{}
	for {
		m := musttest.Get(heard.NextMsg(bound))(t)
		if string(m.Data) == "the end" {
			break
		}
		arrived[string(m.Data)] = true
	}
	for mark, want := range expect { // any order: each is checked by itself.
		if arrived[mark] != want {
			t.Errorf("%s: arrived is %t, want %t", mark, arrived[mark], want)
		}
	}
	if allowed < 300 || denied < 1000 {
		t.Errorf("only %d permitted and %d refused pairs were tried", allowed, denied)
	}
}

// TestEveryRoleHearsWhatItNeedsAndNothingElse subscribes to each subject as each identity.
func TestEveryRoleHearsWhatItNeedsAndNothingElse(t *testing.T) {
	tenant := access.Tenant{Name: "jobgraph", Identities: cast()}
	s := play(t, tenant)
	admin := s.raw(&s.tenants[0], "admin")
	for i := range s.tenants[0].Identities {
		id := &s.tenants[0].Identities[i]
		if id.Role == access.Admin {
			continue
		}
		permitted := id.Permissions(tenant.Names()).Subscribe
		nc, subs := s.raw(&s.tenants[0], id.Name), map[string]*nats.Subscription{}
		list := append(subjects(&tenant), ">", "_INBOX.>", "jobs.>", "$JS.>", "$KV.>", "_INBOX_admin.>")
		refused := denials(t, nc, false, list, func(subject string) (err error) {
			subs[subject], err = nc.SubscribeSync(subject)
			return err
		})
		for _, subject := range list {
			may := slices.ContainsFunc(permitted, func(p string) bool { return within(p, subject) })
			if got := refused[subject]; got == may {
				t.Errorf("%s on %s: refused is %t, the table permits it: %t", id.Name, subject, got, may)
			} else if may && abroad(&tenant, id, subject, func(row *access.Row) []access.Role { return row.Subscribe }) {
				musttest.Do(t, admin.Publish(subject, []byte("x")))
				if _, err := subs[subject].NextMsg(bound); err != nil {
					t.Errorf("%s does not hear what is said on %s: %v", id.Name, subject, err)
				}
			}
		}
		nc.Close()
	}
}

// TestTenantsSeeNothingOfOneAnother publishes on every subject of one tenant while another tenant listens to everything.
func TestTenantsSeeNothingOfOneAnother(t *testing.T) {
	s := play(t, access.Tenant{Name: "red", Identities: cast()}, access.Tenant{Name: "blue", Identities: cast()})
	red, blue := &s.tenants[0], &s.tenants[1]
	ear := s.raw(blue, "admin")
	heard, err := ear.SubscribeSync(">")
	if err != nil || refused(t, ear) {
		t.Fatal(err)
	}
	for i := range red.Identities {
		nc := s.raw(red, red.Identities[i].Name)
		for _, subject := range subjects(red) {
			musttest.Do(t, nc.PublishRequest(subject, "jobs.event.1.x.leak", []byte("secret")))
		}
		musttest.Do(t, nc.Flush())
	}
	musttest.Do(t, ear.Publish("end", nil))
	for {
		m := musttest.Get(heard.NextMsg(bound))(t)
		if m.Subject == "end" {
			break
		}
		if strings.Contains(string(m.Data), "secret") || strings.Contains(m.Subject, "leak") {
			t.Fatalf("a message of another tenant arrived on %s: %q", m.Subject, m.Data)
		}
	}
	blueBus, redBus := s.bus(blue, "admin"), s.bus(red, "admin")
	for _, name := range access.Streams(red.Names()) {
		mine := musttest.Get(redBus.Streams().Info(t.Context(), name))(t)
		theirs, err := blueBus.Streams().Info(t.Context(), name)
		if err != nil || theirs.LastSeq != 0 {
			t.Errorf("stream %s of the silent tenant ends at %d (%v)", name, theirs.LastSeq, err)
		}
		if name == "JOBS" && mine.LastSeq == 0 {
			t.Error("the other tenant has said nothing")
		}
	}
}
