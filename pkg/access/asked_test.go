package access_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// answering starts a runner that answers the verbs of runners with its name.
func (s *stage) answering(of *access.Tenant, name string) (stop func()) {
	s.t.Helper()
	b := s.bus(of, name)
	say := func(context.Context, []byte) ([]byte, *events.Fault) { return []byte(name), nil }
	stop = musttest.Get(b.Services().ServeEach(string(release.Runner), "", nil, map[string]bus.Endpoint{"runs": say, "runners": say}, nil))(s.t)
	musttest.Do(s.t, b.Flush(s.t.Context()))
	return stop
}

// TestEveryRunnerAnswersThoseWhoMayAsk asks the runners in their accounts: all of them, one, and none.
func TestEveryRunnerAnswersThoseWhoMayAsk(t *testing.T) {
	s := play(t, access.Tenant{Name: "red", Identities: cast()}, access.Tenant{Name: "blue", Identities: cast()})
	red, blue := &s.tenants[0], &s.tenants[1]
	ask := func(of *access.Tenant, name, verb string) (answers []string) {
		t.Helper()
		b := s.bus(of, name)
		err := b.Services().Gather(t.Context(), b.Names().API(verb), []byte("{}"), func(answer []byte, _ *events.Fault) { answers = append(answers, string(answer)) })
		if err != nil && !errors.Is(err, bus.ErrNobody) {
			answers = append(answers, err.Error())
		}
		slices.Sort(answers)
		return answers
	}
	check := func(askers []string, want ...string) {
		t.Helper()
		for _, name := range askers {
			if got := ask(red, name, "runs"); !slices.Equal(got, want) {
				t.Errorf("%s asks and hears %q, want %q", name, got, want)
			}
			there := 0
			if err := s.bus(red, name).Services().Peers(t.Context(), string(release.Runner), func(bus.Peer) { there++ }); there != len(want) || err != nil && !errors.Is(err, bus.ErrNobody) {
				t.Errorf("%s finds %d runners (%v), want %d", name, there, err, len(want))
			}
		}
	}
	inside, outside := "gateway", "client"
	check([]string{inside, outside})
	a, bc := s.answering(red, "runner-a"), s.answering(red, "runner-bc")
	another := s.answering(red, "runner-a") // A second process with the same key.
	check([]string{inside, outside, "admin", "anna", "viewer"}, "runner-a", "runner-a", "runner-bc")
	another()
	a()
	check([]string{inside, outside}, "runner-bc")
	if got := ask(blue, "client", "runs"); len(got) != 0 {
		t.Errorf("another tenant hears %q", got)
	}
	for _, name := range []string{"runner-a", "scheduler", "planner"} {
		b := s.bus(red, name)
		if err := b.Services().Gather(t.Context(), b.Names().API("runs"), nil, func([]byte, *events.Fault) {}); !errors.Is(err, bus.ErrNotPermitted) {
			t.Errorf("%s may ask: %v", name, err)
		}
	}
	bc()
}

// TestARunnerAnswersNowhereElse lets everyone outside the engine name a subject of the log as the reply subject of a runner's
// answer.
func TestARunnerAnswersNowhereElse(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	defer s.answering(tenant, "runner-a")()
	n := tenant.Names()
	tap := s.raw(tenant, "admin")
	heard, err := tap.SubscribeSync(n.Prefix() + ".event.>")
	if err != nil || refused(t, tap) {
		t.Fatal(err)
	}
	for _, name := range []string{"client", "anna", "viewer"} {
		nc := s.raw(tenant, name)
		for _, reply := range []string{n.RunEvent("theirs", events.KindSubJobReported, "a", 1), n.Event("theirs", events.KindJobFinished), n.Control("theirs")} {
			for _, subject := range []string{n.API("runs"), n.API("runners"), "$SRV.INFO." + string(release.Runner)} {
				musttest.Do(t, nc.PublishRequest(subject, reply, []byte("{}")))
			}
		}
		if refused(t, nc) {
			t.Fatal(name, nc.LastError())
		}
		if m, err := nc.Request(n.API("runs"), []byte("{}"), bound); err != nil || string(m.Data) != "runner-a" { // After those before it.
			t.Fatalf("%v: %v", m, err)
		}
	}
	musttest.Do(t, tap.Publish(n.Event("end", events.KindJobFinished), nil))
	if m, err := heard.NextMsg(bound); err != nil || m.Subject != n.Event("end", events.KindJobFinished) {
		t.Errorf("in the log came %v: %v", m, err)
	}
}
