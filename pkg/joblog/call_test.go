package joblog_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// began is the time at which the journals of these tests begin.
var began = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// journal turns records into a journal with one second between them.
func journal(records ...events.JournalRecord) []run.Entry {
	list := make([]run.Entry, len(records))
	for i, r := range records {
		list[i] = run.Entry{JournalRecord: r, Seq: uint64(i + 1), Time: began.Add(time.Duration(i) * time.Second)}
	}
	return list
}

func intent(in int, key, name string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalIntent, Run: in, Key: key, Name: name}
}

func result(in int, key, data, reason string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalResult, Run: in, Key: key, Data: json.RawMessage(data), Reason: reason}
}

func TestCallsAreToldWithWhatCameOfThem(t *testing.T) {
	byRef := result(1, "m2", "", "")
	byRef.Ref = &events.Ref{Digest: "answer"}
	got := musttest.Get(joblog.Calls(journal(
		events.JournalRecord{Type: events.JournalClaimed, Run: 1},
		intent(1, "m1", "model"),
		result(1, "m1", `{"model":"small","usage":{"prompt":2,"completion":3},"cost_usd":0.5}`, ""),
		intent(1, "t1", "tool fetch"),
		result(1, "t1", `{"model":"of a tool","usage":{"prompt":9}}`, ""),
		intent(1, "t2", "tool sum"),
		result(1, "t2", "", "failed: no such number"),
		intent(1, "t3", "tool slow"),
		intent(1, "t3", "tool slow"), // Its runner died.
		intent(2, "t3", "tool slow"),
		result(1, "t3", `1`, ""),
		result(1, "unknown", `1`, ""),
		intent(1, "m2", "model"),
		byRef,
		intent(2, "m3", "model"),
		result(2, "m3", `no answer`, ""),
	), func(ref events.Ref) ([]byte, error) {
		return []byte(`{"model":"large ` + ref.Digest + `","usage":{"prompt":1}}`), nil
	}))(t)
	at := func(second int) time.Time { return began.Add(time.Duration(second) * time.Second) }
	want := []joblog.Call{
		{Run: 1, Key: "m1", Name: "model", Outcome: joblog.CallDone, Begun: 1, Model: "small", Spent: events.Spent{Tokens: 5, CostUSD: 0.5}, Asked: at(1), TookMS: 1000},
		{Run: 1, Key: "t1", Name: "tool fetch", Outcome: joblog.CallDone, Begun: 1, Asked: at(3), TookMS: 1000},
		{Run: 1, Key: "t2", Name: "tool sum", Outcome: joblog.CallFailed, Reason: "no such number", Begun: 1, Asked: at(5), TookMS: 1000},
		{Run: 1, Key: "t3", Name: "tool slow", Outcome: joblog.CallDone, Begun: 2, Asked: at(7), TookMS: 2000},
		{Run: 2, Key: "t3", Name: "tool slow", Outcome: joblog.CallOpen, Begun: 1, Asked: at(9)},
		{Run: 1, Key: "m2", Name: "model", Outcome: joblog.CallDone, Begun: 1, Model: "large answer", Spent: events.Spent{Tokens: 1}, Asked: at(12), TookMS: 1000},
		{Run: 2, Key: "m3", Name: "model", Outcome: joblog.CallDone, Begun: 1, Asked: at(14), TookMS: 1000},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(joblog.Call{}), cmpopts.IgnoreFields(joblog.Call{}, "Recorded", "RecordedRef")); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if done, open, large := got[3], got[4], got[5]; string(done.Recorded) != "1" || open.Recorded != nil || open.RecordedRef != nil || large.RecordedRef == nil {
		t.Errorf("recorded: %s, %s, %v", done.Recorded, open.Recorded, large.RecordedRef)
	}
	gone := errors.New("gone")
	if _, err := joblog.Calls(journal(intent(1, "m2", "model"), byRef), func(events.Ref) ([]byte, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("an answer that is gone: %v", err)
	}
}

func TestExchangesAreToldWithWhatCameOfThem(t *testing.T) {
	got := musttest.Get(joblog.Exchanges("a", journal(
		intent(1, "draft/1", "call"),
		intent(1, "draft/1", "call"), // Its planner died.
		result(1, "draft/1", `{"kind":"answered","model":"small","tokens":7}`, ""),
		result(1, "draft/1", `{"kind":"answered","model":"late"}`, ""),
		intent(1, "look/1", "investigate"),
		intent(2, "look/1", "investigate"),
		result(2, "look/1", `{"kind":"failed","class":"rate_limit"}`, ""),
		intent(2, "draft/2", "call"),
		result(2, "draft/2", `torn`, ""),
	), noPayloads))(t)
	at := func(second int) time.Time { return began.Add(time.Duration(second) * time.Second) }
	want := []joblog.Exchange{
		{SubJob: "a", Run: 1, Key: "draft/1", Kind: "call", Model: "small", Outcome: "answered", Spent: events.Spent{Tokens: 7}, Asked: at(0), TookMS: 2000},
		{SubJob: "a", Run: 1, Key: "look/1", Kind: "investigate", Outcome: "open", Asked: at(4)},
		{SubJob: "a", Run: 2, Key: "look/1", Kind: "investigate", Outcome: "rate_limit", Asked: at(5), TookMS: 1000},
		{SubJob: "a", Run: 2, Key: "draft/2", Kind: "call", Outcome: "unreadable", Asked: at(7), TookMS: 1000},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("exchanges (-want +got):\n%s", d)
	}
	lost := result(1, "k", "", "")
	lost.Ref = &events.Ref{Digest: "d"}
	if _, err := joblog.Exchanges("a", journal(intent(1, "k", "call"), lost), noPayloads); err == nil {
		t.Error("an answer that is gone is no error")
	}
}

func TestOnlyAnEndedJobThatDidNotFinishGivesAPartialResult(t *testing.T) {
	one, ref := json.RawMessage(`1`), &events.Ref{Digest: "d"}
	for _, c := range []struct {
		state graph.State
		want  bool
	}{
		{graph.State{Status: events.Failed, Result: one}, true},
		{graph.State{Status: events.Stopped, ResultRef: ref}, true},
		{graph.State{Status: events.Failed}, false},
		{graph.State{Status: events.Finished, Result: one}, false},
		{graph.State{Status: events.Running, Result: one}, false},
	} {
		if got := joblog.Partial(&c.state); got != c.want {
			t.Errorf("%s with %s, %v: %v", c.state.Status, c.state.Result, c.state.ResultRef, got)
		}
	}
}

func TestAJobLastsFromItsAdmissionToItsEnd(t *testing.T) {
	for _, c := range []struct {
		created, ended time.Time
		want           int64
	}{{began, began.Add(time.Second), 1000}, {time.Time{}, began, 0}, {began, time.Time{}, 0}} {
		if got := joblog.Duration(c.created, c.ended); got != c.want {
			t.Errorf("from %s to %s: %d ms, want %d", c.created, c.ended, got, c.want)
		}
	}
}

func TestAPlanThatADiffHasNotBothOfHasNoSteps(t *testing.T) {
	p := &events.Plan{Title: "T", SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "e", Dependencies: []string{"y", "x"}, Needs: []string{"2", "1"}}}}
	if d := joblog.DiffPlans(nil, p); !cmp.Equal(d.Added, []string{"a"}) || !cmp.Equal(d.Plan, []string{"title"}) || d.Empty() {
		t.Errorf("to a plan: %+v", d)
	}
	if d := joblog.DiffPlans(p, nil); !cmp.Equal(d.Removed, []string{"a"}) {
		t.Errorf("from a plan: %+v", d)
	}
	other := &events.Plan{Title: "T", SubJobs: []events.SubJob{{ID: "a", Goal: "g", Context: "c", Dependencies: []string{"x", "y"}, Needs: []string{"1", "2"}}}}
	var fields []string
	for _, c := range joblog.DiffPlans(p, other).Changed {
		for _, f := range c.Fields {
			fields = append(fields, f.Field)
		}
	}
	if d := cmp.Diff([]string{"expert", "context"}, fields); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
	if d := joblog.DiffPlans(p, p); !d.Empty() {
		t.Errorf("a plan differs from itself: %+v", d)
	}
}
