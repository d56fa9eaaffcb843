package task_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func order(run int) *task.Order {
	return &task.Order{Work: events.Work{Job: "j", SubJob: "s", Run: run, Lease: events.Duration(30 * time.Second)}}
}

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

func reported(run int, data string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalReported, Run: run, Name: "subjob.reported", Data: json.RawMessage(data)}
}

func intent(run int, key string, safe bool) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalIntent, Run: run, Key: key, Name: "http", Safe: safe}
}

// decide is the decision for a runner "a" at a time.
func decide(o *task.Order, now time.Time, entries []run.Entry) task.Decision {
	j := run.Read(entries)
	return task.Decide(o, j, j.Admit(o.Run, run.Claimant{Owner: "a", Now: now}))
}

func TestAnEffectInDoubt(t *testing.T) {
	command := claimed(1, "b")
	command.Key, command.Name = run.Command, run.Command
	answer := func(run string, answer string) map[string]events.InputClosed {
		return map[string]events.InputClosed{"s~" + run + "~unknown": {Action: events.Answered, Answer: json.RawMessage(answer)}}
	}
	tests := map[string]struct {
		journal []run.Entry
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
		"is no matter once it has its result":     {journal(claimed(1, "b"), intent(1, "x", false), events.JournalRecord{Type: events.JournalResult, Run: 1, Key: "x", Name: "http", Data: json.RawMessage("1")}), nil, ""},
		"is no matter in a run that is not ours":  {journal(claimed(1, "b")), nil, ""},
		"takes the answer that was asked for it":  {journal(command), map[string]events.InputClosed{"s~1~unknown": {Action: events.Answered, Answer: json.RawMessage(`"retry"`)}, "s~2~unknown": {Action: events.Answered, Answer: json.RawMessage(`"fail"`)}}, ""},
		"is told by itself, if need be":           {journal(claimed(1, "b"), intent(1, "x", false), intent(1, "y", false)), answer("1", `{"effects":{"x":{"choice":"retry"},"y":{"choice":"success","output":1}}}`), ""},
		"is asked about again when left out":      {journal(claimed(1, "b"), intent(1, "x", false), intent(1, "y", false)), answer("1", `{"effects":{"x":{"choice":"retry"}}}`), "asks"},
		"is no matter once a person has settled":  {journal(command, events.JournalRecord{Type: events.JournalResult, Run: 1, Key: run.Command, Name: run.Command, Reason: "not done: a person"}), nil, ""},
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
			d := decide(o, noon.Add(time.Hour), test.journal)
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
			if got != test.ends || d.Action != run.Claim {
				t.Errorf("%s, ends %q, want %q", d.Action, got, test.ends)
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
		want  run.Action
	}{
		"open":                  {line("2", "true"), time.Second, run.Claim},
		"over":                  {line("2", "false"), time.Second, run.Drop},
		"superseded":            {line("3", "true"), time.Second, run.Drop},
		"not saved yet":         {line("1", "true"), time.Second, run.Wait},
		"never saved":           {line("1", "true"), time.Hour, run.Claim},
		"no state yet":          {nil, time.Second, run.Wait},
		"reaped":                {nil, time.Hour, run.Drop},
		"the job has ended":     {[]byte(`{"status":"STOPPED","subjobs":[{"id":"s","status":"STOPPED","run":2}]}`), time.Second, run.Drop},
		"ended long ago":        {[]byte(`{"status":"STOPPED","subjobs":[]}`), time.Hour, run.Drop},
		"recovered, not saved":  {[]byte(`{"status":"STOPPED","subjobs":[{"id":"s","status":"STOPPED","run":1}]}`), time.Second, run.Wait},
		"ended, in pieces":      {[]byte(`{"status":"STOPPED","chunks":[1,2]}`), time.Second, run.Wait},
		"a state in pieces":     {[]byte(`{"status":"RUNNING","chunks":[1,2]}`), time.Second, run.Claim},
		"a state of the future": {[]byte(`{"subjobs":{}}`), time.Second, run.Claim},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, reason := task.Open(order(2), test.state, test.age); got != test.want {
				t.Errorf("%s (%s), want %s", got, reason, test.want)
			}
		})
	}
}
