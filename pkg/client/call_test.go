package client_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// proves C-weakness-9-cost
// proves O-weakness-issue-414-run
// proves O-weakness-issue-1074-run
// proves C3
func TestCallsTellWhatWasMadeHowOftenAndForHowMuch(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	record := func(kind events.JournalType, run int, key, name, data, reason string) events.JournalRecord {
		r := events.JournalRecord{Type: kind, Run: run, Key: key, Name: name, Reason: reason}
		if data != "" {
			r.Data = json.RawMessage(data)
		}
		return r
	}
	var last uint64
	for _, r := range []events.JournalRecord{
		{Type: events.JournalClaimed, Run: 1, Owner: "one"},
		record(events.JournalIntent, 1, "model/1", "model", `{"messages":2}`, ""),
		{Type: events.JournalClaimed, Run: 1, Owner: "two"}, // The first runner has died.
		record(events.JournalIntent, 1, "model/1", "model", `{"messages":2}`, ""),
		record(events.JournalResult, 1, "model/1", "model", `{"model":"big","usage":{"prompt":100,"completion":10},"cost_usd":0.25,"text":"hm"}`, ""),
		record(events.JournalIntent, 1, "tool/1/0", "tool fetch", `{"url":"u"}`, ""),
		record(events.JournalResult, 1, "tool/1/0", "tool fetch", "", "failed: no line"),
		record(events.JournalIntent, 2, "http", "http", "", ""),
	} {
		var err error
		if last, err = b.Journal("j", "a").Append(t.Context(), r, last); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.New(b).Journals().Calls(t.Context(), "j", "a")
	if err != nil {
		t.Fatal(err)
	}
	want := []joblog.Call{
		{Run: 1, Key: "model/1", Name: "model", Args: json.RawMessage(`{"messages":2}`), Outcome: joblog.CallDone, Begun: 2, Model: "big", Spent: events.Spent{Tokens: 110, CostUSD: 0.25}},
		{Run: 1, Key: "tool/1/0", Name: "tool fetch", Args: json.RawMessage(`{"url":"u"}`), Outcome: joblog.CallFailed, Reason: "no line", Begun: 1},
		{Run: 2, Key: "http", Name: "http", Outcome: joblog.CallOpen, Begun: 1},
	}
	musttest.Equal(t, want, got, cmpopts.IgnoreUnexported(joblog.Call{}), cmpopts.IgnoreFields(joblog.Call{}, "Asked", "TookMS", "Recorded", "RecordedRef"))
	for _, x := range got {
		if x.Asked.IsZero() || x.TookMS < 0 {
			t.Errorf("%+v", x)
		}
	}
}
