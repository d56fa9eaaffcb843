package joblog_test

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// told returns the types and texts of items.
func told(items []item.Item) (list []string) {
	for i := range items {
		list = append(list, strings.TrimSuffix(string(items[i].Type)+": "+items[i].Text, ": "))
	}
	return list
}

// proves V28
// proves V-T20
// proves V7
func TestEachEventSaysWhatAPersonShouldHear(t *testing.T) {
	request := events.Request{ID: "j", Goal: "Compare them", User: "ann", Session: "s"}
	plan := &events.Plan{Thought: "Two are meant.", GuidanceMessage: "This takes a while.", SubJobs: []events.SubJob{
		{ID: "a", Title: "Look", ExpertName: "Finder", Thinking: "facts first"}, {ID: "b", Goal: "Write it down\nin full", Expert: "writer"},
	}}
	for _, c := range []struct {
		kind events.Kind
		data any
		job  joblog.Job
		want []string
	}{
		{events.KindJobRequested, &events.JobRequested{Request: request}, joblog.Job{}, []string{"message: Compare them"}},
		{events.KindJobRequested, &events.JobRequested{Request: events.Request{Goal: "News", Labels: map[string]string{"schedule": "daily"}}}, joblog.Job{}, []string{"schedule: News"}},
		{events.KindGraphCreated, &events.GraphCreated{Plan: plan, Warnings: events.Faults{{Message: "it runs once"}}}, joblog.Job{}, []string{
			"thinking: Two are meant.", "guidance: This takes a while.", "warning: it runs once", "thinking: Step 1: facts first",
			"plan: 1. Look (Finder)\n2. Write it down (writer)",
		}},
		{events.KindInputRequested, &events.InputRequested{Request: "q", Kind: events.InputClarification, Prompt: "Which two?"}, joblog.Job{}, []string{"question: Which two?"}},
		{events.KindInputRequested, &events.InputRequested{Request: "q", Kind: events.InputTimer}, joblog.Job{}, nil},
		{events.KindInputClosed, &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"A and B"`), By: "ann"}, joblog.Job{}, []string{"answer: A and B"}},
		{events.KindInputClosed, &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`{"action":"edit","text":"fewer steps"}`)}, joblog.Job{}, []string{"answer: edit: fewer steps"}},
		{events.KindInputClosed, &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`{"approved":false,"reason":"too much"}`)}, joblog.Job{}, []string{"answer: rejected: too much"}},
		{events.KindInputClosed, &events.InputClosed{Action: events.Expired}, joblog.Job{}, []string{"answer: no answer came in time"}},
		{events.KindInputClosed, &events.InputClosed{Action: events.Cancelled}, joblog.Job{}, []string{"answer: the question was withdrawn"}},
		{events.KindSubJobReported, &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"found"`)}, joblog.Job{Steps: 2}, []string{"text: found"}},
		{events.KindSubJobReported, &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"found"`)}, joblog.Job{Steps: 1}, nil},
		{events.KindSubJobReported, &events.SubJobReported{Outcome: events.Success, Calls: []events.Called{{Tool: "pay", Args: "{}", Outcome: "denied"}}}, joblog.Job{Steps: 1}, []string{"tool: pay {}  denied"}},
		{events.KindSubJobReported, &events.SubJobReported{Outcome: events.Success, Calls: []events.Called{{Tool: "pay"}}}, joblog.Job{Steps: 51}, nil},
		{events.KindSubJobReported, &events.SubJobReported{Outcome: events.ExecutionError, Lesson: "no net"}, joblog.Job{Steps: 1}, []string{"warning: no net"}},
		{events.KindJobFinished, &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: json.RawMessage(`{"n": 3}`)}, joblog.Job{}, []string{`result: {"n":3}`}},
		{events.KindJobFinished, &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: json.RawMessage(`"news"`)}, joblog.Job{Schedule: "daily"}, []string{"schedule: news"}},
		{events.KindJobFailed, &events.JobEnded{JobMoved: events.JobMoved{Status: events.Failed}, Error: &events.Fault{Message: "it broke"}}, joblog.Job{}, []string{"result: it broke"}},
		{events.KindJobStopped, &events.JobEnded{JobMoved: events.JobMoved{Status: events.Stopped, Reason: "stopped: enough"}}, joblog.Job{}, []string{"result: stopped: enough"}},
		{events.KindTimerFired, &events.TimerFired{}, joblog.Job{}, nil},
	} {
		got := joblog.Said(&events.Event{Kind: c.kind, Job: "j", SubJob: "a", Run: 1, Key: "q", Seq: 7, Data: c.data}, c.job)
		if diff := cmp.Diff(c.want, told(got)); diff != "" {
			t.Errorf("%s: %s", c.kind, diff)
		}
	}
}

func TestTheResultOfAStepIsToldFromTheTimeOfItsReport(t *testing.T) {
	log := []events.Event{
		{Kind: events.KindJobRequested, Data: &events.JobRequested{Request: events.Request{ID: "j", Goal: "g", Session: "s"}, Rules: events.Rules{Version: 1}}},
		{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{
			{ID: "a", Goal: "a", Expert: "x"}, {ID: "b", Goal: "b", Expert: "x", Dependencies: []string{"a"}},
		}}}},
		{Kind: events.KindSubJobReported, SubJob: "a", Run: 1, Data: &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"found"`)}},
	}
	var state *graph.Job
	for i, e := range log {
		e.Job, e.Seq = "j", uint64(i+1)
		if i == 0 {
			var err error
			if state, err = graph.New(e); err != nil {
				t.Fatal(err)
			}
		} else if effect := state.Step(e); effect.Verdict != graph.Applied {
			t.Fatal(e.Kind, effect)
		}
		log[i] = e
	}
	items, _, _ := joblog.SaidIn(state, &log[2])
	musttest.Equal(t, []string{"text: found"}, told(items))
}

func TestLongTextsAreCutAtTheEndOfACharacterAndSayByHowMuch(t *testing.T) {
	whole := strings.Repeat("日", item.MaxText)
	got := joblog.Said(&events.Event{Kind: events.KindJobRequested, Job: "j", Data: &events.JobRequested{Request: events.Request{Goal: whole}}}, joblog.Job{})
	if text := got[0].Text; !strings.HasPrefix(whole, text) || len(text)%3 != 0 || len(text) > item.MaxText || got[0].Truncated != len(whole)-len(text) {
		t.Errorf("%d bytes, %d cut", len(text), got[0].Truncated)
	}
}

func TestWhatIsNotRecordedYetIsReadFromTheLogsOfRunningJobs(t *testing.T) {
	at := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	log := []events.Event{
		{Kind: events.KindJobRequested, Job: "j", Seq: 5, Time: at, Data: &events.JobRequested{Request: events.Request{ID: "j", Goal: "My name is Ann", Session: "s"}, Rules: events.Rules{Version: 1}}},
		{Kind: events.KindInputRequested, Job: "j", SubJob: events.PlanID, Run: 1, Seq: 6, Time: at.Add(time.Second), Data: &events.InputRequested{Request: "q", Kind: events.InputClarification, Prompt: "And?"}},
	}
	of := func(string) iter.Seq2[events.Event, error] {
		return func(yield func(events.Event, error) bool) {
			for _, e := range log {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	first := item.Entry{Seq: 2, Item: item.Item{Type: item.Message, ID: "request", Job: "j", Text: "My name is Ann", At: at}}
	other := item.Entry{Seq: 3, Item: item.Item{Type: item.Message, ID: "request", Job: "k", Text: "Hello", At: at.Add(time.Minute)}}
	for name, c := range map[string]struct {
		recorded []item.Entry
		earlier  bool
		want     []string
	}{
		"nothing":         {nil, false, []string{"message: My name is Ann", "question: And?"}},
		"the request":     {[]item.Entry{first}, false, []string{"message: My name is Ann", "question: And?"}},
		"another job":     {[]item.Entry{other}, false, []string{"message: My name is Ann", "question: And?", "message: Hello"}},
		"a page after it": {[]item.Entry{other}, true, []string{"message: Hello"}},
	} {
		got := musttest.Get(joblog.CatchUp(c.recorded, c.earlier, []string{"j"}, of))(t)
		var items []item.Item
		for _, e := range got {
			items = append(items, e.Item)
		}
		if diff := cmp.Diff(c.want, told(items)); diff != "" {
			t.Errorf("recorded %s: %s", name, diff)
		}
	}
}
