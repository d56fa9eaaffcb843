package joblog_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// An item counts only if its pool has the run, and the job has begun it: until then, an edit may give the SubJob to another pool.
func TestALiveItemCountsOnlyOfThePoolOfItsRun(t *testing.T) {
	log := []events.Event{
		{Seq: 3, Kind: events.KindSubJobStarted, Job: "j", SubJob: "a", Run: 1, Data: &events.SubJobStarted{}}, // Of an earlier job.
		{Seq: 5, Kind: events.KindJobRequested, Job: "j", Data: &events.JobRequested{Request: events.Request{ID: "j", Goal: "g"}, Rules: events.Rules{Version: 1}}},
		{Seq: 6, Kind: events.KindGraphCreated, Job: "j", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "x", Pool: "old"}}}}},
		{Seq: 7, Kind: events.KindRerunRequested, Job: "j", Data: &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"expert":"y","pool":"new"}`)}},
		{Seq: 8, Kind: events.KindSubJobClosed, Job: "j", SubJob: "a", Run: 1, Data: &events.SubJobClosed{}},
	}
	var r joblog.PoolReader
	type verdict struct{ counts, forEver bool }
	yes, no, perhaps, notYet := verdict{true, true}, verdict{false, true}, verdict{true, false}, verdict{false, false}
	check := func(subjob, pool string, run int, want verdict) {
		t.Helper()
		if counts, forEver := r.Shows(subjob, pool, run); counts != want.counts || forEver != want.forEver {
			t.Errorf("%s of %s, run %d: %t, for ever: %t", subjob, pool, run, counts, forEver)
		}
	}
	check("a", "old", 1, notYet)
	if err := r.Read(from(log[:3]...)); err != nil || r.Last() != 6 {
		t.Fatal(r.Last(), err)
	}
	check("a", "old", 1, yes)
	check("a", "foe", 1, no)
	check("a", "old", 2, notYet)
	check("a", "old", 0, perhaps)
	check("a", "old", -1, notYet)
	check(events.PlanID, "foe", 1, no)
	check(events.PlanID, events.PlannerPool, 1, no)
	check(events.PlanID, events.PlannerPool, 0, notYet)
	check("ghost", "foe", 1, notYet)
	if err := r.Read(from(log[3:]...)); err != nil || r.Last() != 8 || r.Run("a") != 2 || r.Run("ghost") != 0 {
		t.Fatal(r.Last(), r.Run("a"), err)
	}
	check("a", "old", 1, yes)
	check("a", "new", 1, no)
	check("a", "old", 2, no)
	check("a", "new", 2, yes)
	check("a", "new", 0, perhaps)
	check("a", "old", 0, notYet)
	gone := errors.New("gone")
	if err := r.Read(func(yield func(events.Event, error) bool) { yield(events.Event{}, gone) }); !errors.Is(err, gone) || r.Last() != 8 {
		t.Error(r.Last(), err)
	}
	strange := events.Event{Seq: 9, Kind: "doom.requested", Job: "j", Fault: &events.Fault{Code: events.CodeMustUnderstand, Message: "unknown kind"}}
	again := events.Event{Seq: 10, Kind: events.KindRerunRequested, Job: "j", Data: &events.RerunRequested{SubJob: "a"}}
	closed := events.Event{Seq: 11, Kind: events.KindSubJobClosed, Job: "j", SubJob: "a", Run: 2, Data: &events.SubJobClosed{}}
	if err := r.Read(from(strange, again, closed)); err != nil || r.Last() != 11 || r.Run("a") != 2 {
		t.Errorf("after an event that cannot be folded: %d, run %d, %v", r.Last(), r.Run("a"), err)
	}
}
