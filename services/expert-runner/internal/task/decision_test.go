package task_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func order(run int) *task.Order {
	return &task.Order{Work: events.Work{Job: "j", SubJob: "s", Run: run, Lease: events.Duration(30 * time.Second)}}
}

// journal gives each record the next sequence and one second more.
func journal(records ...events.JournalRecord) []task.Entry {
	var list []task.Entry
	for i, r := range records {
		list = append(list, task.Entry{Record: r, Seq: uint64(10 + i), Time: noon.Add(time.Duration(i) * time.Second)})
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
	tests := map[string]struct {
		run     int
		now     time.Time
		journal []task.Entry
		want    task.Decision
	}{
		"an empty journal is claimed":      {1, later, nil, task.Decision{Move: task.Claim}},
		"an earlier run's is claimed":      {2, later, journal(claimed(1, "b"), reported(1, "{}"), closed(1)), task.Decision{Move: task.Claim, Expect: 12}},
		"a live owner keeps the run":       {1, later, journal(claimed(1, "b")), task.Decision{Move: task.Wait, Reason: "at work: b", Wait: 20 * time.Second}},
		"a renewal extends the lease":      {1, noon.Add(35 * time.Second), journal(claimed(1, "b"), renewed(1, "b", time.Minute)), task.Decision{Move: task.Wait, Reason: "at work: b", Wait: 26 * time.Second}},
		"a release ends the lease":         {1, later, journal(claimed(1, "b"), renewed(1, "b", 0)), task.Decision{Move: task.Claim, Expect: 11, Takeover: true}},
		"a dead owner is taken over":       {1, muchLater, journal(claimed(1, "b")), task.Decision{Move: task.Claim, Expect: 10, Takeover: true}},
		"its own claim is no obstacle":     {1, later, journal(claimed(1, "a")), task.Decision{Move: task.Claim, Expect: 10, Takeover: true}},
		"a closed run is dropped":          {1, later, journal(closed(1)), task.Decision{Move: task.Drop, Reason: "the run is closed: stop"}},
		"a run below a closed is dropped":  {1, later, journal(closed(3)), task.Decision{Move: task.Drop, Reason: "the run is closed: stop"}},
		"a run below a claimed is dropped": {1, later, journal(claimed(2, "b")), task.Decision{Move: task.Drop, Reason: "run 2 has begun"}},
		"a kept report is replayed":        {1, muchLater, journal(claimed(1, "b"), reported(1, `{"outcome":"SUCCESS","output":7}`)), task.Decision{Move: task.Replay, Reason: "the run has ended", Expect: 11, Ending: &task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage("7")}}}},
		"a closed run's report is not":     {1, muchLater, journal(claimed(1, "b"), reported(1, `{"outcome":"SUCCESS"}`), closed(1)), task.Decision{Move: task.Drop, Reason: "the run is closed: stop"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := task.Decide(order(test.run), task.Facts{Owner: "a", Now: test.now, Journal: test.journal})
			if got.Memory != nil && len(got.Memory) == 0 {
				got.Memory = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinishedEffectsAreRememberedAlongTheRunsItResumes(t *testing.T) {
	second := claimed(2, "b")
	second.Data = json.RawMessage(`{"resume_of":1}`)
	o := order(5)
	o.ResumeOf = 2
	failedCall := result(2, "z", "")
	failedCall.Reason = "failed: no"
	d := task.Decide(o, task.Facts{Owner: "a", Now: noon, Journal: journal(
		claimed(1, "b"), intent(1, "x", false), result(1, "x", "1"),
		second, intent(2, "y", false), result(2, "y", "2"), intent(2, "z", false), failedCall,
		claimed(4, "c"), result(4, "other", "3"),
	)})
	got := map[string]string{}
	for key, r := range d.Memory {
		got[key] = string(r.Data)
	}
	if diff := cmp.Diff(map[string]string{"x": "1", "y": "2"}, got); diff != "" || d.Ending != nil {
		t.Errorf("%s ending %+v", diff, d.Ending)
	}
}

func TestAnEffectInDoubt(t *testing.T) {
	command := claimed(1, "b")
	command.Key, command.Name = task.Command, task.Command
	answer := func(run string, answer string) map[string]events.InputClosed {
		return map[string]events.InputClosed{"s~" + run + "~unknown": {Action: events.Answered, Answer: json.RawMessage(answer)}}
	}
	tests := map[string]struct {
		journal []task.Entry
		answers map[string]events.InputClosed
		ends    string
	}{
		"is repeated when it is safe":             {journal(claimed(1, "b"), intent(1, "x", true)), nil, ""},
		"is asked about when it is not":           {journal(claimed(1, "b"), intent(1, "x", false)), nil, "asks"},
		"is asked about for a command":            {journal(command), nil, "asks"},
		"is repeated when a person says so":       {journal(command), answer("1", `"retry"`), ""},
		"counts as done when a person says so":    {journal(command), answer("1", `{"choice":"success","output":7}`), "SUCCESS"},
		"fails when a person says so":             {journal(command), answer("1", `" FAIL "`), "EXECUTION_ERROR"},
		"fails when nobody answers":               {journal(command), map[string]events.InputClosed{"s~1~unknown": {Action: events.Expired}}, "EXECUTION_ERROR"},
		"is asked about again without a choice":   {journal(command), answer("1", `"perhaps"`), "asks"},
		"of a later run is asked about again":     {journal(command, intent(2, "x", false)), answer("1", `"retry"`), "asks"},
		"is not answered by another's answer":     {journal(command), map[string]events.InputClosed{"t~1~unknown": {Action: events.Answered, Answer: json.RawMessage(`"retry"`)}}, "asks"},
		"is no matter once it has its result":     {journal(claimed(1, "b"), intent(1, "x", false), result(1, "x", "1")), nil, ""},
		"is no matter in a run that is not ours":  {journal(claimed(1, "b")), nil, ""},
		"takes the answer that was asked for it":  {journal(command), map[string]events.InputClosed{"s~1~unknown": {Action: events.Answered, Answer: json.RawMessage(`"retry"`)}, "s~2~unknown": {Action: events.Answered, Answer: json.RawMessage(`"fail"`)}}, ""},
		"is told by itself, if need be":           {journal(claimed(1, "b"), intent(1, "x", false), intent(1, "y", false)), answer("1", `{"effects":{"x":{"choice":"retry"},"y":{"choice":"success","output":1}}}`), ""},
		"is asked about again when left out":      {journal(claimed(1, "b"), intent(1, "x", false), intent(1, "y", false)), answer("1", `{"effects":{"x":{"choice":"retry"}}}`), "asks"},
		"is no matter once a person has settled":  {journal(command, closedBy(1, task.Command, "not done: a person")), nil, ""},
		"is no matter behind a report of success": {journal(command, reported(1, `{"outcome":"SUCCESS"}`)), nil, ""},
		"is no matter when a command has ended":   {journal(command, reported(1, `{"outcome":"EXECUTION_ERROR"}`)), nil, ""},
		"is one when a command took too long":     {journal(command, reported(1, `{"outcome":"EXECUTION_ERROR","error":{"code":"timeout"}}`)), nil, "asks"},
		"is one when a call took too long":        {journal(claimed(1, "b"), intent(1, "x", false), reported(1, `{"outcome":"EXECUTION_ERROR"}`)), nil, "asks"},
		"of several is asked about in one prompt": {journal(claimed(1, "b"), intent(1, "x", false), intent(1, "y", false)), nil, "asks"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := order(2)
			o.ResumeOf, o.Answers = 1, test.answers
			d := task.Decide(o, task.Facts{Owner: "a", Now: noon.Add(time.Hour), Journal: test.journal})
			got := ""
			switch {
			case d.Ending == nil:
			case d.Ending.Park != nil:
				got = "asks"
				if d.Ending.Park.Request != "s~2~unknown" {
					t.Errorf("asked as %s", d.Ending.Park.Request)
				}
			default:
				got = string(d.Ending.Report.Outcome)
			}
			if got != test.ends || d.Move != task.Claim {
				t.Errorf("%s, ends %q, want %q", d.Move, got, test.ends)
			}
		})
	}
}

// What one answer has settled stays settled, whatever is answered about something else later, and is written down.
func TestAnAnswerSettlesItsOwnQuestionOnly(t *testing.T) {
	o := order(3)
	o.ResumeOf, o.Answers = 2, map[string]events.InputClosed{
		"s~1~unknown": {Action: events.Answered, Answer: json.RawMessage(`{"choice":"success","output":"paid"}`)},
		"s~2~unknown": {Action: events.Answered, Answer: json.RawMessage(`"retry"`), By: "ann"},
	}
	second := claimed(2, "b")
	second.Data = json.RawMessage(`{"resume_of":1}`)
	d := task.Decide(o, task.Facts{Owner: "a", Now: noon.Add(time.Hour), Journal: journal(claimed(1, "b"), intent(1, "x", false), second, intent(2, "y", false))})
	want := []events.JournalRecord{
		{Type: events.JournalResult, Run: 1, Key: "x", Name: "http", Data: json.RawMessage(`"paid"`), Decides: 11},
		{Type: events.JournalResult, Run: 2, Key: "y", Name: "http", Reason: "not done: ann says so.", Decides: 13},
	}
	if diff := cmp.Diff(want, d.Settled); diff != "" || d.Ending != nil || string(d.Memory["x"].Data) != `"paid"` {
		t.Errorf("%s %+v %v", diff, d.Ending, d.Memory)
	}
}

func TestWhoHoldsTheRun(t *testing.T) {
	tests := map[string]struct {
		journal []task.Entry
		last    uint64
		ok      bool
	}{
		"the last claim":           {journal(claimed(1, "b"), claimed(1, "a"), renewed(1, "a", time.Second)), 12, true},
		"not after a takeover":     {journal(claimed(1, "a"), claimed(1, "b")), 11, false},
		"not when it is closed":    {journal(claimed(1, "a"), closed(1)), 11, false},
		"not when a later one is":  {journal(claimed(1, "a"), claimed(2, "a")), 11, false},
		"not without a claim":      {nil, 0, false},
		"also behind a closed one": {journal(closed(0), claimed(1, "a")), 11, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			last, ok := task.Holds(test.journal, 1, "a")
			if last != test.last || ok != test.ok {
				t.Errorf("got %d %t", last, ok)
			}
		})
	}
}

func TestTheSavedStateSaysWhetherWorkIsStillWanted(t *testing.T) {
	line := func(run string, open string) []byte {
		return []byte(`{"status":"RUNNING","subjobs":[{"id":"~plan","status":"FINISHED","run":1},{"id":"s","status":"RUNNING","run":` + run + `,"open":` + open + `}]}`)
	}
	tests := map[string]struct {
		state []byte
		age   time.Duration
		want  task.Move
	}{
		"open":                  {line("2", "true"), time.Second, task.Claim},
		"over":                  {line("2", "false"), time.Second, task.Drop},
		"superseded":            {line("3", "true"), time.Second, task.Drop},
		"not saved yet":         {line("1", "true"), time.Second, task.Wait},
		"never saved":           {line("1", "true"), time.Hour, task.Claim},
		"no state yet":          {nil, time.Second, task.Wait},
		"reaped":                {nil, time.Hour, task.Drop},
		"the job has ended":     {[]byte(`{"status":"STOPPED","subjobs":[{"id":"s","status":"STOPPED","run":2}]}`), time.Second, task.Drop},
		"ended long ago":        {[]byte(`{"status":"STOPPED","subjobs":[]}`), time.Hour, task.Drop},
		"recovered, not saved":  {[]byte(`{"status":"STOPPED","subjobs":[{"id":"s","status":"STOPPED","run":1}]}`), time.Second, task.Wait},
		"ended, in pieces":      {[]byte(`{"status":"STOPPED","chunks":[1,2]}`), time.Second, task.Wait},
		"a state in pieces":     {[]byte(`{"status":"RUNNING","chunks":[1,2]}`), time.Second, task.Claim},
		"a state of the future": {[]byte(`{"subjobs":{}}`), time.Second, task.Claim},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, reason := task.Open(order(2), test.state, test.age); got != test.want {
				t.Errorf("%s (%s), want %s", got, reason, test.want)
			}
		})
	}
}

func TestALeaseCountsFromWhenItCouldBeRenewed(t *testing.T) {
	held := journal(claimed(1, "b"))
	at := held[0].Time
	lease := held[0].Record.Lease.Std()
	for name, test := range map[string]struct {
		since time.Time
		after time.Duration // Behind the claim.
		want  task.Move
	}{
		"the broker was there throughout":      {at.Add(-time.Hour), lease + time.Second, task.Claim},
		"it came back half a lease later":      {at.Add(lease / 2), lease + time.Second, task.Wait},
		"and was there for a lease since then": {at.Add(lease / 2), lease + lease/2, task.Claim},
		"it has just come back, much later":    {at.Add(time.Hour), time.Hour, task.Wait},
	} {
		d := task.Decide(order(1), task.Facts{Owner: "a", Now: at.Add(test.after), Since: test.since, Journal: held})
		if d.Move != test.want {
			t.Errorf("%s: %s, want %s", name, d.Move, test.want)
		}
	}
	if d := task.Decide(order(1), task.Facts{Owner: "a", Journal: held}); d.Move != task.Wait {
		t.Errorf("without a clock: %s", d.Move)
	}
}

func TestTheClaimOfAFormerHolderOfTheSeatIsNotWaitedFor(t *testing.T) {
	held := journal(claimed(1, "up~1"))
	for name, want := range map[string]task.Move{"up~2": task.Claim, "other~2": task.Wait, "up": task.Wait} {
		d := task.Decide(order(1), task.Facts{Owner: name, Now: held[0].Time, Since: held[0].Time, Journal: held})
		if d.Move != want || d.Takeover != (want == task.Claim) {
			t.Errorf("%s: %s, takeover %t", name, d.Move, d.Takeover)
		}
	}
}
