package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/internal/conformance"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// try runs the kit in virtual time against a worker for expert "w" of pool "p".
func try(t *testing.T, level conformance.Level, serve func(*servicetest.Env)) conformance.Result {
	t.Helper()
	return tryFor(t, time.Minute, level, serve)
}

func tryFor(t *testing.T, patience time.Duration, level conformance.Level, serve func(*servicetest.Env)) (got conformance.Result) {
	t.Helper()
	servicetest.Virtual(t, func(t *testing.T, e *servicetest.Env) {
		if err := e.Bus.Queues().EnsurePool(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		serve(e)
		var err error
		got, err = conformance.Run(t.Context(), e.Bus, conformance.Settings{Card: events.Card{ID: "w", Pool: "p"}, Goal: "do it", Level: level, Patience: patience})
		if err != nil {
			t.Fatal(err)
		}
		for _, stream := range []string{e.Names.Work, e.Names.Journal, e.Names.Log} {
			if left, err := e.Bus.Streams().Info(t.Context(), stream); err != nil || left.Messages != 0 {
				t.Errorf("%s keeps %d messages, %v", stream, left.Messages, err)
			}
		}
	})
	return got
}

// verdicts returns the rules that are not kept.
func verdicts(r conformance.Result) map[string]conformance.Verdict {
	list := map[string]conformance.Verdict{}
	for _, c := range r.Checks {
		if c.Verdict != conformance.Kept {
			list[c.Rule] = c.Verdict
		}
	}
	return list
}

// ours serves the expert with one of our runners.
func ours(run runner.Func) func(*servicetest.Env) {
	return func(e *servicetest.Env) {
		settings := runner.Default()
		settings.Pools = []string{"p"}
		d := runner.Deps{Bus: e.Server.Connect("runner"), Owner: "one", Functions: []runner.Function{{Card: events.Card{ID: "w", Name: "w", Pool: "p"}, Run: run}}}
		e.Start("runner", host.Settings{}, func(ctx context.Context, p *host.Process) error { return runner.Run(ctx, p, settings, d) })
	}
}

func TestARunnerOfOursKeepsTheWholeContract(t *testing.T) {
	quick := func(ctx context.Context, _ *runner.Task) (events.SubJobReported, error) {
		select {
		case <-time.After(10 * time.Millisecond):
			return events.SubJobReported{Output: json.RawMessage(`"done"`)}, nil
		case <-ctx.Done():
			return events.SubJobReported{}, ctx.Err()
		}
	}
	got := try(t, conformance.Full, ours(quick))
	want := map[string]conformance.Verdict{"says that long work is in hand": conformance.Unseen, "renews its claim in time": conformance.Unseen}
	if diff := cmp.Diff(want, verdicts(got)); diff != "" || string(got.Report.Output) != `"done"` {
		t.Errorf("%s %+v", diff, got)
	}
	long := func(ctx context.Context, _ *runner.Task) (events.SubJobReported, error) {
		select {
		case <-time.After(20 * time.Second):
			return events.SubJobReported{}, nil
		case <-ctx.Done():
			return events.SubJobReported{}, ctx.Err()
		}
	}
	musttest.Equal(t, map[string]conformance.Verdict{}, verdicts(try(t, conformance.Full, ours(long))))
}

func TestAWorkerThatAsksAPersonHasNothingToReport(t *testing.T) {
	asks := func(context.Context, *runner.Task) (events.SubJobReported, error) {
		return events.SubJobReported{}, &runner.Park{Input: events.InputRequested{Request: "q", Kind: events.InputClarification}}
	}
	want := map[string]conformance.Verdict{"reports": conformance.Unseen, "says that long work is in hand": conformance.Unseen}
	musttest.Equal(t, want, verdicts(try(t, conformance.Basic, ours(asks))))
}

func TestNobodyServesThePool(t *testing.T) {
	got := try(t, conformance.Full, func(*servicetest.Env) {})
	if diff := cmp.Diff(map[string]conformance.Verdict{"takes work of its pool": conformance.Violated}, verdicts(got)); diff != "" || !conformance.Violations(got.Checks) {
		t.Error(diff)
	}
}

// Patience limits the worker only: the kit's cleanup is not limited by it.
func TestWithoutPatienceTheKitLeavesNothingBehind(t *testing.T) {
	got := tryFor(t, 0, conformance.Full, func(*servicetest.Env) {})
	if !conformance.Violations(got.Checks) {
		t.Error(got.Checks)
	}
}

// foreign is a worker with its own behaviour.
type foreign func(b *bus.Bus, w *events.Work, d *bus.Delivery) error

func (f foreign) serve(e *servicetest.Env) {
	e.Start("foreign", host.Settings{}, func(ctx context.Context, _ *host.Process) error {
		b := e.Server.Connect("foreign")
		sub, err := b.Queues().Consume(ctx, b.Queues().ForeignConsumer("p"))
		if err != nil {
			return err
		}
		defer sub.Stop()
		for {
			list, err := sub.Next(ctx, 1)
			if err != nil {
				return nil // The test is over.
			}
			var w events.Work
			if err := events.ReadWork(list[0].Message().Body, &w); err != nil {
				return err
			}
			if err := f(b, &w, &list[0]); err != nil && ctx.Err() == nil {
				return err
			}
		}
	})
}

// report publishes a report as a worker does.
func report(b *bus.Bus, subject, id, body string) error {
	_, err := b.Publish(context.Background(), events.Message{Subject: subject, Header: events.Header(events.HeaderMsgID, id), Body: []byte(body)}, bus.Expect{})
	return err
}

const success = `{"outcome":"SUCCESS","output":1}`

// quiet lists the rules that quick work gives no occasion to check.
func quiet(more ...string) map[string]conformance.Verdict {
	m := map[string]conformance.Verdict{"says that long work is in hand": conformance.Unseen}
	for _, rule := range more {
		m[rule] = conformance.Violated
	}
	return m
}

func TestEachBreachOfTheFirstLevelIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		worker foreign
		want   map[string]conformance.Verdict
	}{
		"none": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			return errors.Join(report(b, w.ReportSubject, w.ReportID, success), d.Ack())
		}, quiet()},
		"it acknowledges first": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			return errors.Join(d.Ack(), report(b, w.ReportSubject, w.ReportID, success))
		}, quiet("reports before it acknowledges")},
		"it has an id of its own": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			return errors.Join(report(b, w.ReportSubject, "mine", success), d.Ack())
		}, quiet("reports under the report_id", "reports it under the same id")},
		"it makes up an outcome": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			return errors.Join(report(b, w.ReportSubject, w.ReportID, `{"outcome":"DONE"}`), d.Ack())
		}, quiet("reports one of the four outcomes")},
		"it speaks no JSON": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			return errors.Join(report(b, w.ReportSubject, w.ReportID, `done`), d.Ack())
		}, quiet("reports JSON")},
		"it names another run": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			return errors.Join(report(b, w.ReportSubject, w.ReportID, `{"outcome":"SUCCESS","run":7}`), d.Ack())
		}, quiet("names no other run in the report")},
		"it does not ask": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			return errors.Join(b.PublishCore(w.ReportSubject, events.Header(events.HeaderMsgID, w.ReportID), []byte(success)), d.Ack())
		}, quiet("asks whether the report is stored")},
		"it never acknowledges": {func(b *bus.Bus, w *events.Work, _ *bus.Delivery) error {
			return report(b, w.ReportSubject, w.ReportID, success)
		}, quiet("acknowledges the work")},
		"it never reports": {func(_ *bus.Bus, _ *events.Work, d *bus.Delivery) error {
			return d.Ack()
		}, quiet("reports", "reports before it acknowledges")},
		"it gives no sign of life": {func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
			<-time.After(15 * time.Second)
			return errors.Join(report(b, w.ReportSubject, w.ReportID, success), d.Ack())
		}, map[string]conformance.Verdict{"says that long work is in hand": conformance.Violated}},
	} {
		t.Run(name, func(t *testing.T) {
			musttest.Equal(t, test.want, verdicts(try(t, conformance.Basic, test.worker.serve)))
		})
	}
}

func TestAWorkerWithoutClaimsIsNotOfTheSecondLevel(t *testing.T) {
	plain := foreign(func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
		return errors.Join(report(b, w.ReportSubject, w.ReportID, success), d.Ack())
	})
	musttest.Equal(t, quiet("claims the run"), verdicts(try(t, conformance.Full, plain.serve)))
}

func TestClaimsThatMeanNothingAreFound(t *testing.T) {
	careless := foreign(func(b *bus.Bus, w *events.Work, d *bus.Delivery) error {
		body := []byte(`{"type":"claimed","run":1,"owner":"me","lease":"1s"}`)
		_, err := b.Publish(context.Background(), events.Message{Subject: w.ClaimSubject, Body: body}, bus.Expect{})
		<-time.After(4 * time.Second)
		return errors.Join(err, report(b, w.ReportSubject, w.ReportID, success), d.Ack())
	})
	want := map[string]conformance.Verdict{}
	for _, rule := range []string{
		"claims behind what it has read", "keeps the report in the journal", "renews its claim in time", "leaves a closed run alone",
		"waits while another worker holds the run", "stops when it is told to",
	} {
		want[rule] = conformance.Violated
	}
	want["says that long work is in hand"] = conformance.Unseen
	musttest.Equal(t, want, verdicts(try(t, conformance.Full, careless.serve)))
}
