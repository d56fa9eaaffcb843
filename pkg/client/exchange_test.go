package client_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestWhatPlanningHasAskedIsReadFromItsJournal(t *testing.T) {
	c := connect(t)
	large := musttest.Get(c.Bus().Blobs().Put(t.Context(), "j", []byte(`{"kind":"answered","model":"big"}`)))(t)
	intent := func(run int, key, kind string) events.JournalRecord {
		return events.JournalRecord{Type: events.JournalIntent, Run: run, Key: key, Name: kind}
	}
	result := func(run int, key, data string) events.JournalRecord {
		return events.JournalRecord{Type: events.JournalResult, Run: run, Key: key, Data: json.RawMessage(data)}
	}
	byReference := result(2, "draft/1", "")
	byReference.Ref = &large
	var last uint64
	for _, r := range []events.JournalRecord{
		{Type: events.JournalClaimed, Run: 1},
		result(1, "start", `{"mode":"plan"}`),
		intent(1, "triage/1", "call"), result(1, "triage/1", `{"kind":"answered","model":"small","tokens":7,"cost_usd":0.5}`),
		intent(1, "draft/1", "call"), intent(1, "draft/1", "call"), result(1, "draft/1", `{"kind":"failed","class":"content_filter"}`),
		intent(2, "draft/1", "call"), byReference, intent(2, "investigate/1", "investigate"),
	} {
		last = musttest.Get(c.Bus().Journal("j", events.PlanID).Append(t.Context(), r, last))(t)
	}
	got := musttest.Get(c.Journals().Exchanges(t.Context(), "j", events.PlanID))(t)
	for i := range got {
		if got[i].Asked.IsZero() || got[i].TookMS < 0 {
			t.Errorf("%+v", got[i])
		}
		got[i].Asked, got[i].TookMS = time.Time{}, 0
	}
	want := []joblog.Exchange{
		{SubJob: "~plan", Run: 1, Key: "triage/1", Kind: "call", Model: "small", Outcome: "answered", Spent: events.Spent{Tokens: 7, CostUSD: 0.5}},
		{SubJob: "~plan", Run: 1, Key: "draft/1", Kind: "call", Outcome: "content_filter"},
		{SubJob: "~plan", Run: 2, Key: "draft/1", Kind: "call", Model: "big", Outcome: "answered"},
		{SubJob: "~plan", Run: 2, Key: "investigate/1", Kind: "investigate", Outcome: "open"},
	}
	musttest.Equal(t, want, got)
	if none, err := c.Journals().Exchanges(t.Context(), "other", events.PlanID); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
}
