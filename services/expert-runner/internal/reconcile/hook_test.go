package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/function"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/reconcile"
)

func inquiry() expert.Inquiry {
	return expert.Inquiry{
		Work: &events.Work{Job: "j", SubJob: "s", Run: 3, Goal: "pay", Spec: events.SubJob{Expert: "pay"}}, Log: slog.New(slog.DiscardHandler),
		Intent: events.JournalRecord{Type: events.JournalIntent, Run: 1, Key: "http", Name: "http", Data: json.RawMessage(`{"n":1}`)},
	}
}

func TestWhatAHookSaysIsReadStrictly(t *testing.T) {
	for output, want := range map[string]run.Resolution{
		`{"state":"done","result":{"a":1}}`:      {State: run.Done, Result: json.RawMessage(`{"a":1}`)},
		`{"state":"DONE"}`:                       {State: run.Done},
		`{"state":"not_done"}`:                   {State: run.NotDone, Reason: "the hook says so"},
		`{"state":"not_done","reason":"late"}`:   {State: run.NotDone, Reason: "late"},
		`{"state":"unknown","reason":"Asleep."}`: {State: run.Unknown, Reason: "The hook cannot tell. Asleep."},
		`{"state":"failed"}`:                     {State: run.Unknown, Reason: "The hook's state is none of done, not_done and unknown."},
		`{}`:                                     {State: run.Unknown, Reason: "The hook's state is none of done, not_done and unknown."},
		`"done"`:                                 {State: run.Unknown, Reason: `The hook's answer is not of the form {"state":"done","result":…}.`},
		``:                                       {State: run.Unknown, Reason: `The hook's answer is not of the form {"state":"done","result":…}.`},
	} {
		if diff := cmp.Diff(want, (&reconcile.Hook{Runner: function.Func(func(context.Context, *expert.Task) (events.SubJobReported, error) {
			return events.SubJobReported{Output: json.RawMessage(output)}, nil
		})}).Reconcile(t.Context(), inquiry())); diff != "" {
			t.Errorf("%s: %s", output, diff)
		}
	}
}

func TestAHookIsAskedAboutTheRunThatBeganTheEffect(t *testing.T) {
	var got *events.Work
	h := &reconcile.Hook{Runner: function.Func(func(_ context.Context, t *expert.Task) (events.SubJobReported, error) {
		got = t.Work
		return events.SubJobReported{}, nil
	})}
	h.Reconcile(t.Context(), inquiry())
	want := `{"key":"http","name":"http","args":{"n":1},"run":1,"idempotency_key":"j/s/1"}`
	if string(got.Inputs["effect"]) != want || got.Context != "pay" || got.Run != 1 {
		t.Errorf("%s %+v", got.Inputs["effect"], got)
	}
}

func TestAHookThatFailsOrHangsLeavesTheDoubt(t *testing.T) {
	for want, hook := range map[string]function.Func{
		"The hook failed": func(context.Context, *expert.Task) (events.SubJobReported, error) {
			return events.SubJobReported{}, errors.New("no")
		},
		"panicked": func(context.Context, *expert.Task) (events.SubJobReported, error) { panic("no") },
		"no answer within 1ms": func(ctx context.Context, _ *expert.Task) (events.SubJobReported, error) {
			<-ctx.Done()
			return events.SubJobReported{Output: json.RawMessage(`{"state":"done"}`)}, nil
		},
		"The hook gave no answer.": func(context.Context, *expert.Task) (events.SubJobReported, error) {
			return events.SubJobReported{}, &function.Park{}
		},
	} {
		h := &reconcile.Hook{Runner: hook, Timeout: time.Millisecond}
		if want != "no answer within 1ms" {
			h.Timeout = 0
		}
		if f := h.Reconcile(t.Context(), inquiry()); f.State != run.Unknown || !strings.Contains(f.Reason, want) {
			t.Errorf("%+v, want %q", f, want)
		}
	}
}
