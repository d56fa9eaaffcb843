package run_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// program is a claim that announces the command, of a run that continues another one.
func program(number, of int, owner string) events.JournalRecord {
	r := claimed(number, owner)
	r.Key, r.Name = run.Command, run.Command
	return resuming(r, of)
}

func resuming(r events.JournalRecord, of int) events.JournalRecord {
	if of > 0 {
		r.Data, _ = json.Marshal(map[string]int{"resume_of": of})
	}
	return r
}

// parked is the record of a question about unknown effects.
func parked(run int) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalReported, Run: run, Name: string(events.KindInputRequested), Data: json.RawMessage(`{"kind":"unknown"}`)}
}

// retried returns the answers of a person who chose "retry" for the questions of some runs.
func retried(runs ...string) map[string]events.InputClosed {
	answers := map[string]events.InputClosed{}
	for _, run := range runs {
		answers["s~"+run+"~unknown"] = events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"retry"`)}
	}
	return answers
}

// decides names the intent that a record decides.
func decides(r events.JournalRecord, seq uint64) events.JournalRecord {
	r.Decides = seq
	return r
}

// A decision about the intent of one run does not affect the intent of another, whatever lies between them in the journal. The
// records of journal have the sequences 10, 11, …
func TestADecisionClosesNoOtherIntent(t *testing.T) {
	notDone := closedBy(1, run.Command, "not done: ann says so.")
	call := func(run int) events.JournalRecord { return intent(run, "pay", false) }
	callNotDone := closedBy(1, "pay", "not done: the hook says so")
	tests := map[string]struct {
		run, of int
		answers map[string]events.InputClosed
		journal []run.Entry
		open    []uint64
	}{
		"the program began again behind the decision": {
			2, 1, retried("1"), journal(program(1, 0, "a"), claimed(1, "b"), parked(1), program(2, 1, "c"), decides(notDone, 10)), []uint64{13},
		},
		"so it did in a journal of an earlier version": {
			2, 1, retried("1"), journal(program(1, 0, "a"), claimed(1, "b"), parked(1), program(2, 1, "c"), notDone), []uint64{13},
		},
		"and unseen a third time": {
			2, 1, retried("1"), journal(program(1, 0, "a"), claimed(1, "b"), parked(1), program(2, 1, "c"), notDone, program(2, 1, "d")), []uint64{13, 15},
		},
		"the intent is a record of its own": {
			2, 1, retried("1"), journal(claimed(1, "a"), call(1), claimed(1, "b"), parked(1), resuming(claimed(2, "c"), 1), decides(callNotDone, 11), call(2)), []uint64{16},
		},
		"a hook decided in the same run": {
			1, 0, nil, journal(claimed(1, "a"), call(1), claimed(1, "b"), decides(callNotDone, 11), call(1)), []uint64{14},
		},
		"a hook of an earlier version did": {
			1, 0, nil, journal(claimed(1, "a"), call(1), claimed(1, "b"), callNotDone, call(1)), []uint64{14},
		},
		"a hook decided about a claim of the same run": {
			1, 0, nil, journal(program(1, 0, "a"), claimed(1, "b"), decides(notDone, 10), program(1, 0, "c")), []uint64{13},
		},
		"the third death in a row": {
			3, 2, retried("1", "2"), journal(
				program(1, 0, "a"), claimed(1, "b"), parked(1), program(2, 1, "c"), decides(notDone, 10),
				claimed(2, "d"), parked(2), program(3, 2, "e"), decides(closedBy(2, run.Command, "not done"), 13)), []uint64{17},
		},
		"a run that was stopped is another lineage": {
			3, 2, retried("2"), journal(program(1, 0, "a"), closed(1), claimed(2, "b"), parked(2), program(3, 2, "c"), decides(notDone, 10)), []uint64{14},
		},
		"a journal that came from elsewhere has other sequences": {
			2, 1, retried("1"), journal(program(1, 0, "a"), claimed(1, "b"), parked(1), program(2, 1, "c"), decides(notDone, 7), closed(1)), []uint64{13},
		},
		"a SUCCESS leaves nothing of its run open": {
			1, 0, nil, journal(claimed(1, "a"), call(1), reported(1, `{"outcome":"SUCCESS"}`)), nil,
		},
		"and says nothing of another run": {
			2, 1, nil, journal(claimed(1, "a"), call(1), claimed(1, "b"), parked(1), resuming(claimed(2, "c"), 1), reported(2, `{"outcome":"SUCCESS"}`)), []uint64{11},
		},
		"a report after a program leaves no program open": {
			1, 0, nil, journal(program(1, 0, "a"), call(1), reported(1, `{"outcome":"EXECUTION_ERROR"}`)), []uint64{11},
		},
		"unless it was killed for its time": {
			1, 0, nil, journal(program(1, 0, "a"), reported(1, `{"outcome":"EXECUTION_ERROR","error":{"code":"timeout"}}`)), []uint64{10},
		},
		"a question asked before the intent decides nothing of it": {
			2, 1, retried("1"), journal(program(1, 0, "a"), claimed(1, "b"), parked(1), call(1)), []uint64{13},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := run.Read(test.journal).Effects(test.run, test.of)
			x.Answer("s", test.answers)
			var open []uint64
			for _, u := range x.Unresolved {
				open = append(open, u.Seq)
			}
			musttest.Equal(t, test.open, open)
		})
	}
}

// A decision names its intent, so it cannot settle a later one.
func TestADecisionNamesItsIntent(t *testing.T) {
	x := run.Read(journal(program(1, 0, "a"), claimed(1, "b"), parked(1))).Effects(2, 1)
	x.Answer("s", retried("1"))
	want := []events.JournalRecord{{Type: events.JournalResult, Run: 1, Key: run.Command, Name: run.Command, Reason: "not done: ", Decides: 10}}
	if diff := cmp.Diff(want, x.Settled); diff != "" || len(x.Unresolved) > 0 {
		t.Errorf("%s %+v", diff, x.Unresolved)
	}
	if _, announces := x.Announces(run.Effect{Key: run.Command, Name: run.Command}); announces {
		t.Error("a claim that has something to settle announces an effect")
	}
}
