package stack_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// in returns the types of the records on the subject of a pool.
func (s *siege) in(v victim, pool string) (types []events.JournalType) {
	s.Helper()
	entries, _, err := s.admin.Bus().Journal(v.job, v.subjob).In(pool).Read(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range entries {
		types = append(types, e.Type)
	}
	return types
}

// A SubJob that moves to another pool is fenced in the old pool and claimed in the new one.
func TestASubJobMovesToAnotherPoolWithRoles(t *testing.T) {
	s := castle(t)
	v := s.queued()
	musttest.Do(t, s.admin.Rerun(t.Context(), v.job, events.RerunRequested{SubJob: v.subjob, Edit: json.RawMessage(`{"expert":"shout-expert","pool":"default"}`)}))
	end, err := s.boss.Wait(t.Context(), v.job)
	if err != nil || end.Status != events.Finished {
		t.Fatalf("%+v, %v", end, err)
	}
	if got := s.in(v, v.pool); len(got) != 1 || got[0] != events.JournalClosed {
		t.Errorf("the pool that had it has %v", got)
	}
	if got := s.in(v, events.DefaultPool); len(got) < 2 || got[0] != events.JournalClaimed {
		t.Errorf("the pool that has it has %v", got)
	}
	x, err := s.admin.Archive().Export(t.Context(), v.job, time.Unix(0, 0))
	if err != nil || len(x.Journal(v.subjob)) != len(s.in(v, ""))+len(s.in(v, v.pool))+len(s.in(v, events.DefaultPool)) {
		t.Errorf("%+v, %v", x.Journal(v.subjob), err)
	}
}

// Work whose claim subject the runners may no longer publish to is claimed on the subject of their pool.
func TestWorkFromBeforeTheListOfSignersIsExecuted(t *testing.T) {
	s := castle(t)
	n, v := s.admin.Names(), victim{job: "before", subjob: "a"}
	w := events.Work{
		Kind: events.WorkExecute, Job: v.job, SubJob: v.subjob, Run: 1, Attempt: 1, Goal: "hello", Lease: events.Duration(run.DefaultLease),
		Spec:          events.SubJob{ID: v.subjob, Goal: "hello", Expert: "shout-expert"},
		ReportSubject: n.RunEventOf(v.job, events.KindSubJobReported, v.subjob, 1, events.DefaultPool), ReportID: "before/a/1", IdempotencyKey: "before/a/1",
		ClaimSubject: n.JournalOf(v.job, v.subjob), CancelSubject: n.Cancel(v.job, v.subjob),
	}
	body := musttest.Get(json.Marshal(w))(t)
	s.attacker("admin").say(n.WorkFor(events.DefaultPool, "shout-expert", v.job, v.subjob, 1), string(body))
	s.until("its report", func() bool { return slices.Contains(s.in(v, events.DefaultPool), events.JournalReported) })
	if len(s.in(v, "")) != 0 {
		t.Error("a runner has written where it may not")
	}
}
