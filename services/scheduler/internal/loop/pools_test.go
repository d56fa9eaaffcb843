package loop

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// shelved are journals by pool, of any SubJob.
type shelved map[string][]run.Entry

type shelvedIn struct {
	all  shelved
	pool string
}

func (s shelved) Journal(_, _, pool string) lease.One { return shelvedIn{s, pool} }

func (s shelvedIn) Read(context.Context) ([]run.Entry, uint64, error) {
	return s.all[s.pool], uint64(len(s.all[s.pool])), nil
}

func (s shelvedIn) Append(_ context.Context, r events.JournalRecord, _ uint64) (uint64, error) {
	s.all[s.pool] = append(s.all[s.pool], run.Entry{JournalRecord: r})
	return 0, nil
}

// If runners may only write records of their pools, a run is claimed and closed on the subject of its pool.
func TestARunIsClaimedAndClosedOnTheSubjectOfItsPool(t *testing.T) {
	plan := &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "x", Pool: "old"}}}
	born := time.Unix(0, 0) // That of the job.
	edit := &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"expert":"y","pool":"new"}`)}
	for name, c := range map[string]struct {
		pooled        bool
		since         time.Time
		first, second string
		former        []events.Tenure
		closed        []string
	}{
		"without signers":         {false, born.Add(-48 * time.Hour), "jobs.journal.j.a", "jobs.journal.j.a", nil, []string{""}},
		"with an older list":      {true, time.Time{}, "jobs.journal.j.a", "jobs.journal.j.a", nil, []string{"", "old"}},
		"with a list of this one": {true, born.Add(-48 * time.Hour), "jobs.journal.j.a.old", "jobs.journal.j.a.new", []events.Tenure{{Pool: "old", Run: 1}}, []string{"", "old"}},
		"changed lately":          {true, born.Add(-time.Hour), "jobs.journal.j.a.old", "jobs.journal.j.a.new", []events.Tenure{{Pool: "old", Run: 1}, {Run: 2}}, []string{"", "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, journals := tell(t, events.Request{Goal: "g"}, plan), shelved{}
			b.p.env.Pooled, b.p.env.Journaled, b.p.env.Journals = c.pooled, func() (time.Time, bool) { return c.since, !c.since.IsZero() }, journals
			all, _ := b.work()
			if w := all["a"]; w.ClaimSubject != c.first || (len(w.Former) > 0) != (len(c.former) == 2) {
				t.Errorf("the first run is claimed on %s, after %v", w.ClaimSubject, w.Former)
			}
			if w := all[events.PlanID]; w != nil && (w.ClaimSubject != "jobs.journal.j.~plan" || w.ItemSubject != "jobs.item.j.~plan") {
				t.Errorf("planning is claimed on %s and shown on %s", w.ClaimSubject, w.ItemSubject)
			}
			if w, want := all["a"], map[bool]string{false: "jobs.item.j.a", true: "jobs.item.j.a.old"}[c.pooled]; w.ItemSubject != want {
				t.Errorf("the first run is shown on %s", w.ItemSubject)
			}
			b.step(events.KindRerunRequested, "", 0, edit)
			for _, cmd := range b.j.state.Pending() {
				if cmd.Kind != graph.CloseRun {
					continue
				}
				musttest.Get((closer{b.p.env}).fence(t.Context(), "j", &cmd))(t)
			}
			var closed []string
			for pool, list := range journals {
				if len(list) == 1 && list[0].Type == events.JournalClosed && list[0].Run == 1 {
					closed = append(closed, pool)
				}
			}
			slices.Sort(closed)
			musttest.Equal(t, c.closed, closed)
			b.step(events.KindSubJobClosed, "a", 1, &events.SubJobClosed{})
			all, _ = b.work()
			if w := all["a"]; w.ClaimSubject != c.second {
				t.Errorf("the second run is claimed on %s", w.ClaimSubject)
			} else if diff := cmp.Diff(c.former, w.Former); diff != "" {
				t.Error(diff)
			}
		})
	}
}
