package access_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// before makes accounts those of the release before, where runners published work of their pools and wrote the memory and by which ids remote
// agents know sessions: every line about a subject that both releases permit to the same identities is repeated for the subjects that only the
// release before permits.
func before(accounts string) string {
	var b strings.Builder
	for line := range strings.Lines(accounts) {
		b.WriteString(line)
		for now, before := range map[string][]string{ // any order: a line has at most one of them.
			"jobs.keep.JOBS_SESSIONS.contexts.*": {"jobs.keep.JOBS_MEMORY.>"}, "jobs.card.a.*": {"jobs.keep.JOBS_MEMORY.>", "jobs.keep.JOBS_SESSIONS.contexts.*"},
			"jobs.journal.*.*.a": {"jobs.work.a.>"}, "jobs.journal.*.*.b": {"jobs.work.b.>"}, "jobs.journal.*.*.c": {"jobs.work.c.>"},
		} {
			for _, then := range before {
				if strings.Contains(line, now) {
					b.WriteString(strings.ReplaceAll(line, now, then))
				}
			}
		}
	}
	return b.String()
}

// schedulerBefore answers like a scheduler of the release before, which knows no operation on a card but those for cards and consumers,
// and tells which other keys it was asked to write.
func (s *stage) schedulerBefore(of *access.Tenant) (asked <-chan string) {
	s.t.Helper()
	nc, keys := s.raw(of, "scheduler"), make(chan string, 8)
	answer := func(subject string, reply func(m *nats.Msg) string) {
		if _, err := nc.QueueSubscribe(subject, "keep", func(m *nats.Msg) { _ = m.Respond([]byte(reply(m))) }); err != nil { // The asker says so.
			s.t.Fatal(err)
		}
	}
	answer("jobs.card.*.*", func(*nats.Msg) string {
		return `{"refused":"refused","message":"refused by the server: unknown operation \"new\""}`
	})
	for _, subject := range []string{"jobs.keep.JOBS_MEMORY.>", "jobs.keep.JOBS_SESSIONS.contexts.*"} {
		answer(subject, func(m *nats.Msg) string {
			var r struct{ Op string }
			_ = json.Unmarshal(m.Data, &r) // Told below.
			keys <- r.Op + " " + m.Subject
			return `{"revision":7}`
		})
	}
	musttest.Do(s.t, nc.Flush())
	return keys
}

func TestARunnerWorksBesideASchedulerOfTheReleaseBefore(t *testing.T) {
	s := playWith(t, before, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	admin, a := s.bus(tenant, "admin"), s.signed(tenant, "runner-a")
	n := admin.Names()
	asked := s.schedulerBefore(tenant)
	musttest.Get(admin.Experts().Put(t.Context(), "x", card(t, "x", "a"), 0))(t)
	if revision, err := a.Memory().Update(t.Context(), "fact.u.x", []byte(`1`), 0); err != nil || revision != 7 {
		t.Errorf("facts are written as %d (%v)", revision, err)
	} else if key := <-asked; key != "put jobs.keep.JOBS_MEMORY.fact.u.x" {
		t.Errorf("the scheduler was asked to %s", key)
	}
	if err := a.SetRemoteContext(t.Context(), "s", "x", "c"); err != nil {
		t.Errorf("an id of a session is not written: %v", err)
	} else if key := <-asked; key != "put jobs.keep.JOBS_SESSIONS.contexts.s" {
		t.Errorf("the scheduler was asked to %s", key)
	}
	if err := a.Queues().PutBack("a", member(n, "a", "one"))(t.Context()); err != nil {
		t.Errorf("work is not put back: %v", err)
	}
	if list, err := admin.Streams().Subjects(t.Context(), n.Work, n.AllWork()); err != nil || len(list) != 1 {
		t.Errorf("the work is %v (%v)", list, err)
	}
}

// With the permissions of this release a runner cannot do without a scheduler of this release, and says so.
func TestARunnerSaysThatTheSchedulerHasToBeUpgraded(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	admin, a := s.bus(tenant, "admin"), s.signed(tenant, "runner-a")
	n := admin.Names()
	nc := s.raw(tenant, "scheduler")
	if _, err := nc.Subscribe("jobs.card.*.*", func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"refused":"refused","message":"refused by the server: unknown operation \"new\""}`)) // The asker says so.
	}); err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	musttest.Get(admin.Experts().Put(t.Context(), "x", card(t, "x", "a"), 0))(t)
	_, facts := a.Memory().Put(t.Context(), "fact.u.x", []byte(`1`), 0)
	work := a.Queues().PutBack("a", member(n, "a", "one"))(t.Context())
	id := a.SetRemoteContext(t.Context(), "s", "x", "c")
	for what, err := range map[string]error{"facts": facts, "work": work, "the id of a session": id} { // any order: each is judged by itself.
		if !errors.Is(err, bus.ErrRefused) || !strings.Contains(err.Error(), "upgrade schedulers first") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestASchedulerWritesForRunnersOfTheReleaseBefore(t *testing.T) {
	s := playWith(t, before, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	keeper := s.bus(tenant, "scheduler")
	stop := musttest.Get(keeper.Services().Keep())(t)
	defer stop()
	musttest.Do(t, keeper.Flush(t.Context()))
	runner := s.raw(tenant, "runner-a")
	ask := func(key, body string) string {
		m, err := runner.Request("jobs.keep."+key, []byte(body), bound)
		if err != nil {
			return err.Error()
		}
		return string(m.Data)
	}
	put := string(musttest.JSON(t, map[string]any{"op": "put", "value": []byte(`1`), "last": 0}))
	for _, key := range []string{"JOBS_MEMORY.fact.u.x", "JOBS_SESSIONS.contexts.s"} {
		if answer := ask(key, put); !strings.Contains(answer, `"revision":`) {
			t.Errorf("%s: %s", key, answer)
		}
	}
	for key, body := range map[string]string{ // any order: each is refused.
		"JOBS_MEMORY.base.b": put, "JOBS_MEMORY.user.u": put, "JOBS_MEMORY.fact.u.y": `{"op":"delete"}`, "JOBS_MEMORY.fact.u": put, "JOBS_SESSIONS.contexts.s": `{"op":"delete"}`,
	} {
		if answer := ask(key, body); strings.Contains(answer, `"revision":`) || answer == "{}" {
			t.Errorf("%s %s: %s", key, body, answer)
		}
	}
	if value, _, err := keeper.Memory().GetLeader(t.Context(), "fact.u.x"); err != nil || string(value) != "1" {
		t.Errorf("the facts are %s (%v)", value, err)
	}
}

// A runner that stops may give many members of batches back at once.
func TestWorkIsPutBackWithoutTryingWhatIsNotPermitted(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	keeper := s.bus(tenant, "scheduler")
	stop := musttest.Get(keeper.Services().Keep())(t)
	defer stop()
	musttest.Do(t, keeper.Flush(t.Context()))
	var log bytes.Buffer
	o := s.server.Options("runner-a")
	o.NKey, o.Logger = s.seeds["jobgraph/runner-a"], slog.New(slog.NewTextHandler(&log, nil))
	o.Signers = filepath.Join(t.TempDir(), "signers.json")
	musttest.Write(t, o.Signers, musttest.JSON(t, tenant.Signers()))
	a := musttest.Get(bus.Connect(t.Context(), o))(t)
	for _, id := range []string{"one", "two"} {
		if err := a.Queues().PutBack("a", member(keeper.Names(), "a", id))(t.Context()); err != nil {
			t.Error(err)
		}
	}
	a.Close()
	if log.Len() > 0 {
		t.Errorf("the log of the runner: %s", log.String())
	}
}
