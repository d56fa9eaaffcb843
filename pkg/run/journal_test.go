package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// journal gives each record the next sequence and one second more.
func journal(records ...events.JournalRecord) []run.Entry {
	var list []run.Entry
	for i, r := range records {
		list = append(list, run.Entry{JournalRecord: r, Seq: uint64(10 + i), Time: noon.Add(time.Duration(i) * time.Second)})
	}
	return list
}

func claimed(run int, owner string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalClaimed, Run: run, Owner: owner, Lease: events.Duration(30 * time.Second)}
}

func renewed(run int, owner string, lease time.Duration) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalRenewed, Run: run, Owner: owner, Lease: events.Duration(lease)}
}

func closed(run int) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalClosed, Run: run, Reason: "stop"}
}

func reported(run int, data string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalReported, Run: run, Name: "subjob.reported", Data: json.RawMessage(data)}
}

func intent(run int, key string, safe bool) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalIntent, Run: run, Key: key, Name: "http", Safe: safe}
}

func result(run int, key, data string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalResult, Run: run, Key: key, Name: "http", Data: json.RawMessage(data)}
}

// closedBy is the end of a doubt.
func closedBy(run int, key, reason string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalResult, Run: run, Key: key, Name: key, Reason: reason}
}

// proves V-weakness-13
func TestTheJournalDecidesWhoWorks(t *testing.T) {
	later := noon.Add(10 * time.Second)
	muchLater := noon.Add(time.Hour)
	end := reported(1, `{"outcome":"SUCCESS","output":7}`)
	kept := &end
	tests := map[string]struct {
		run     int
		now     time.Time
		journal []run.Entry
		want    run.Admission
	}{
		"an empty journal is claimed":      {1, later, nil, run.Admission{Action: run.Claim}},
		"an earlier run's is claimed":      {2, later, journal(claimed(1, "b"), reported(1, "{}"), closed(1)), run.Admission{Action: run.Claim, Expect: 12}},
		"a live owner keeps the run":       {1, later, journal(claimed(1, "b")), run.Admission{Action: run.Wait, Reason: "at work: b", Wait: 20 * time.Second}},
		"a renewal extends the lease":      {1, noon.Add(35 * time.Second), journal(claimed(1, "b"), renewed(1, "b", time.Minute)), run.Admission{Action: run.Wait, Reason: "at work: b", Wait: 26 * time.Second}},
		"a release ends the lease":         {1, later, journal(claimed(1, "b"), renewed(1, "b", 0)), run.Admission{Action: run.Claim, Expect: 11, Takeover: true}},
		"a dead owner is taken over":       {1, muchLater, journal(claimed(1, "b")), run.Admission{Action: run.Claim, Expect: 10, Takeover: true}},
		"its own claim is no obstacle":     {1, later, journal(claimed(1, "a")), run.Admission{Action: run.Claim, Expect: 10, Takeover: true}},
		"a closed run is dropped":          {1, later, journal(closed(1)), run.Admission{Action: run.Drop, Reason: "the run is closed: stop"}},
		"a run below a closed is dropped":  {1, later, journal(closed(3)), run.Admission{Action: run.Drop, Reason: "the run is closed: stop"}},
		"a run below a claimed is dropped": {1, later, journal(claimed(2, "b")), run.Admission{Action: run.Drop, Reason: "run 2 has begun"}},
		"a kept report is replayed":        {1, muchLater, journal(claimed(1, "b"), *kept), run.Admission{Action: run.Replay, Reason: "the run has ended", Expect: 11, Report: kept}},
		"a closed run's report is not":     {1, muchLater, journal(claimed(1, "b"), reported(1, `{"outcome":"SUCCESS"}`), closed(1)), run.Admission{Action: run.Drop, Reason: "the run is closed: stop"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := run.Read(test.journal).Admit(test.run, run.Claimant{Owner: "a", Now: test.now})
			musttest.Equal(t, test.want, got)
		})
	}
}

func TestFinishedEffectsAreRememberedAlongTheRunsItResumes(t *testing.T) {
	second := claimed(2, "b")
	second.Data = json.RawMessage(`{"resume_of":1}`)
	failedCall := result(2, "z", "")
	failedCall.Reason = "failed: no"
	x := run.Read(journal(
		claimed(1, "b"), intent(1, "x", false), result(1, "x", "1"),
		second, intent(2, "y", false), result(2, "y", "2"), intent(2, "z", false), failedCall,
		claimed(4, "c"), result(4, "other", "3"),
	)).Effects(5, 2)
	got := map[string]string{}
	for key, r := range x.Finished {
		got[key] = string(r.Data)
	}
	if diff := cmp.Diff(map[string]string{"x": "1", "y": "2"}, got); diff != "" || len(x.Unresolved) > 0 {
		t.Errorf("%s unresolved %+v", diff, x.Unresolved)
	}
}

// What an answer has settled stays settled and is recorded, whatever later answers say about something else.
func TestAnAnswerSettlesItsOwnQuestionOnly(t *testing.T) {
	answers := map[string]events.InputClosed{
		"s~1~unknown": {Action: events.Answered, Answer: json.RawMessage(`{"choice":"success","output":"paid"}`)},
		"s~2~unknown": {Action: events.Answered, Answer: json.RawMessage(`"retry"`), By: "ann"},
	}
	second := claimed(2, "b")
	second.Data = json.RawMessage(`{"resume_of":1}`)
	x := run.Read(journal(claimed(1, "b"), intent(1, "x", false), second, intent(2, "y", false))).Effects(3, 2)
	x.Answer("s", answers)
	want := []events.JournalRecord{
		{Type: events.JournalResult, Run: 1, Key: "x", Name: "http", Data: json.RawMessage(`"paid"`), Decides: 11},
		{Type: events.JournalResult, Run: 2, Key: "y", Name: "http", Reason: "not done: ann says so.", Decides: 13},
	}
	if diff := cmp.Diff(want, x.Settled); diff != "" || len(x.Unresolved) > 0 || string(x.Finished["x"].Data) != `"paid"` {
		t.Errorf("%s %+v %v", diff, x.Unresolved, x.Finished)
	}
}

// apart returns a journal in which one record is on another subject.
func apart(at int, entries []run.Entry) []run.Entry {
	entries[at].Apart = true
	return entries
}

func TestWhoHoldsTheRun(t *testing.T) {
	tests := map[string]struct {
		journal []run.Entry
		last    uint64
		ok      bool
	}{
		"the last claim":                           {journal(claimed(1, "b"), claimed(1, "a"), renewed(1, "a", time.Second)), 12, true},
		"not after a takeover":                     {journal(claimed(1, "a"), claimed(1, "b")), 11, false},
		"not when it is closed":                    {journal(claimed(1, "a"), closed(1)), 11, false},
		"not when a later one is":                  {journal(claimed(1, "a"), claimed(2, "a")), 11, false},
		"not without a claim":                      {nil, 0, false},
		"also behind a closed one":                 {journal(closed(0), claimed(1, "a")), 11, true},
		"not when it is closed on another subject": {apart(1, journal(claimed(1, "a"), closed(1))), 10, false},
		"the claim of a later run on another":      {apart(1, journal(claimed(1, "a"), claimed(2, "b"))), 10, false},
		"also behind an earlier one on another":    {apart(0, journal(closed(0), claimed(1, "a"))), 11, true},
		"nothing on its own subject":               {apart(0, journal(closed(0))), 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := run.Read(test.journal)
			last, ok := j.Last(), j.Holds(1, "a")
			if last != test.last || ok != test.ok {
				t.Errorf("got %d %t", last, ok)
			}
		})
	}
}

func TestALeaseCountsFromWhenItCouldBeRenewed(t *testing.T) {
	held := journal(claimed(1, "b"))
	at := held[0].Time
	lease := held[0].Lease.Std()
	for name, test := range map[string]struct {
		since time.Time
		after time.Duration // Behind the claim.
		want  run.Action
	}{
		"the broker was there throughout":      {at.Add(-time.Hour), lease + time.Second, run.Claim},
		"it came back half a lease later":      {at.Add(lease / 2), lease + time.Second, run.Wait},
		"and was there for a lease since then": {at.Add(lease / 2), lease + lease/2, run.Claim},
		"it has just come back, much later":    {at.Add(time.Hour), time.Hour, run.Wait},
	} {
		d := run.Read(held).Admit(1, run.Claimant{Owner: "a", Now: at.Add(test.after), Since: test.since})
		if d.Action != test.want {
			t.Errorf("%s: %s, want %s", name, d.Action, test.want)
		}
	}
	if d := run.Read(held).Admit(1, run.Claimant{Owner: "a"}); d.Action != run.Wait {
		t.Errorf("without a clock: %s", d.Action)
	}
}

func TestTheClaimOfAFormerHolderOfTheSeatIsNotWaitedFor(t *testing.T) {
	held := journal(claimed(1, "up~1"))
	for name, want := range map[string]run.Action{"up~2": run.Claim, "other~2": run.Wait, "up": run.Wait} {
		d := run.Read(held).Admit(1, run.Claimant{Owner: name, Now: held[0].Time, Since: held[0].Time})
		if d.Action != want || d.Takeover != (want == run.Claim) {
			t.Errorf("%s: %s, takeover %t", name, d.Action, d.Takeover)
		}
	}
}

func TestARunHasAHolderFromItsClaimToItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		records []events.JournalRecord
		owner   string
		until   time.Duration // After noon.
		claimed bool
	}{
		"no record":                 {},
		"claimed":                   {[]events.JournalRecord{claimed(1, "a")}, "a", 30 * time.Second, true},
		"renewed":                   {[]events.JournalRecord{claimed(1, "a"), renewed(1, "a", 5*time.Second)}, "a", 6 * time.Second, true},
		"an effect begun":           {[]events.JournalRecord{claimed(1, "a"), {Type: events.JournalIntent, Run: 1, Owner: "a", Key: "k"}}, "a", 31 * time.Second, true},
		"taken over":                {[]events.JournalRecord{claimed(1, "a"), claimed(1, "b")}, "b", 31 * time.Second, true},
		"released":                  {[]events.JournalRecord{claimed(1, "a"), run.Released(1, "a")}, "", 0, true},
		"reported":                  {[]events.JournalRecord{claimed(1, "a"), reported(1, `{}`)}, "", 0, true},
		"closed":                    {[]events.JournalRecord{claimed(1, "a"), closed(1)}, "", 0, true},
		"a later run has begun":     {[]events.JournalRecord{claimed(1, "a"), claimed(2, "b")}, "", 0, true},
		"closed before it began":    {[]events.JournalRecord{closed(1)}, "", 0, false},
		"an earlier one was closed": {[]events.JournalRecord{claimed(0, "b"), closed(0), claimed(1, "a")}, "a", 32 * time.Second, true},
	} {
		j := run.Read(journal(c.records...))
		h, ok := j.Holder(1)
		if ok != (c.owner != "") || ok && (h.Owner != c.owner || !h.Until().Equal(noon.Add(c.until))) {
			t.Errorf("%s: %+v, %v", name, h, ok)
		}
		if j.Claimed(1) != c.claimed {
			t.Errorf("%s: claimed %v", name, !c.claimed)
		}
		if at, ok := j.GivenUp(1); ok != (name == "released") || ok && !at.Equal(noon.Add(time.Second)) {
			t.Errorf("%s: given up %v, at %s", name, ok, at)
		}
	}
}

func TestARecordIsStoredWhereAllThatNamesItIsTheSame(t *testing.T) {
	r := events.JournalRecord{Type: events.JournalRenewed, Run: 1, Owner: "a", Key: "k", Lease: events.Duration(time.Second)}
	j := run.Read(journal(claimed(1, "a"), r)) // Sequences 10 and 11.
	if !j.Stored(10, &r) || j.Stored(11, &r) {
		t.Error("a record is found where it stands, and not behind it")
	}
	for name, other := range map[string]events.JournalRecord{
		"another owner": {Type: r.Type, Owner: "b", Key: r.Key, Lease: r.Lease},
		"another type":  {Type: events.JournalIntent, Owner: r.Owner, Key: r.Key, Lease: r.Lease},
		"another key":   {Type: r.Type, Owner: r.Owner, Key: "l", Lease: r.Lease},
		"a release":     {Type: r.Type, Owner: r.Owner, Key: r.Key},
	} {
		if j.Stored(10, &other) {
			t.Errorf("%s is taken for the record", name)
		}
	}
}
