package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func connect(t *testing.T) *client.Client {
	t.Helper()
	return client.New(bustest.Start(t, bustest.Settings{Quiet: true}).Bus("client-test"))
}

// state publishes a fact as a service would.
func state(t *testing.T, c *client.Client, e events.Event) uint64 {
	t.Helper()
	e.ID, e.Source = "test/"+string(e.Kind)+"/"+e.SubJob, "test"
	m := musttest.Get(events.Encode(c.Names(), e))(t)
	return musttest.Get(c.Bus().Publish(t.Context(), m, bus.Expect{}))(t)
}

func requested(job, goal string) events.Event {
	return events.Event{Kind: events.KindJobRequested, Job: job, Data: &events.JobRequested{Request: events.Request{ID: job, Goal: goal}, Rules: events.Rules{Version: 1}}}
}

func finished(job string) events.Event {
	return events.Event{Kind: events.KindJobFinished, Job: job, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: json.RawMessage(`"done"`)}}
}

func TestSubmitReportsEveryFaultBeforeAnythingIsSent(t *testing.T) {
	c := connect(t)
	retries := -1
	_, err := c.Submit(t.Context(), events.Request{ID: "a b", Limits: events.Limits{Retries: &retries}})
	var faults events.Faults
	if !errors.As(err, &faults) || len(faults) != 3 {
		t.Fatalf("got %v", err)
	}
}

func TestSubmitWithoutASchedulerWaitsInTheQueueWithItsPayloadInBlobs(t *testing.T) {
	c := connect(t)
	plan := json.RawMessage(`{"subjobs":[{"id":"a","goal":"` + strings.Repeat("x", 100_000) + `"}]}`)
	id := musttest.Get(c.Submit(t.Context(), events.Request{Plan: plan, Inputs: map[string]json.RawMessage{"k": json.RawMessage(`"` + strings.Repeat("y", 100_000) + `"`)}}))(t)
	s := musttest.Get(c.Bus().Streams().LastOn(t.Context(), c.Names().Intake, c.Names().Request()))(t)
	r, faults := events.DecodeRequest(s.Body)
	if len(faults) > 0 || r.ID != id || r.PlanRef == nil || r.InputsRef == nil || len(r.Plan) > 0 || len(r.Inputs) > 0 {
		t.Fatalf("queued %s: %v", s.Body, faults)
	}
	blob, err := c.Blob(t.Context(), id, *r.PlanRef)
	if err != nil || !bytes.Equal(blob, plan) {
		t.Errorf("plan blob: %v", err)
	}
}

func TestARejectionOfAQueuedRequestReachesItsSender(t *testing.T) {
	c := connect(t)
	names := c.Names()
	go func() { // Ends when the request has come, or with the test.
		sub, err := c.Bus().Queues().Consume(t.Context(), c.Bus().Queues().IntakeConsumer())
		if err != nil {
			return
		}
		defer sub.Stop()
		list, err := sub.Next(t.Context(), 1)
		if err != nil {
			return
		}
		_ = list[0].Ack()
		text, _ := json.Marshal(events.Rejection{JobID: "j1", Faults: events.Faults{{Code: events.CodeConflict, Message: "taken"}}})
		_ = c.Bus().PublishCore(names.Rejected(), nil, text)
	}()
	_, err := c.Submit(t.Context(), events.Request{ID: "j1", Goal: "x"})
	if !errors.Is(err, client.ErrConflict) || !strings.Contains(err.Error(), "taken") {
		t.Errorf("got %v", err)
	}
}

// proves F-weakness-issue-2468
func TestWatchGivesPastAndNewEventsInOrder(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	state(t, c, requested("j2", "other"))
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
	defer stop()
	var kinds []events.Kind
	for e, err := range c.Watch(ctx, "j1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if kinds = append(kinds, e.Kind); len(kinds) == 2 {
			break
		}
		state(t, c, finished("j1"))
	}
	musttest.Equal(t, []events.Kind{events.KindJobRequested, events.KindJobFinished}, kinds)
}

// Clients that wait for an end share a consumer, since the number of consumers on a server is limited.
func TestAnyNumberMayWaitAtOnce(t *testing.T) {
	const waiters = 1000
	// As many consumers as the busiest stream itself needs.
	c := client.New(bustest.Start(t, bustest.Settings{Quiet: true, MaxConsumers: 8}).Bus("client-test"))
	for i := range waiters {
		state(t, c, requested(fmt.Sprintf("j%d", i), "x"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // Requests wait as long as the server takes.
	defer cancel()
	ended, failed := make(chan string, waiters), make(chan error, waiters)
	for i := range waiters {
		go func() { // Ends with its job, which ends below.
			end, err := c.Wait(ctx, fmt.Sprintf("j%d", i))
			if err != nil {
				failed <- err
				return
			}
			ended <- string(end.Status)
		}()
	}
	for i := range waiters {
		state(t, c, finished(fmt.Sprintf("j%d", i)))
	}
	for range waiters {
		select {
		case err := <-failed:
			t.Fatal(err)
		case status := <-ended:
			if status != string(events.Finished) {
				t.Fatalf("ended %s", status)
			}
		}
	}
}

// The first who watch have consumers of their own; it makes no difference which one is among them.
func TestAnyNumberMayWatchAtOnce(t *testing.T) {
	const watchers = 100
	c := client.New(bustest.Start(t, bustest.Settings{Quiet: true, MaxConsumers: 8}).Bus("client-test"))
	for i := range watchers {
		state(t, c, requested(fmt.Sprintf("j%d", i), "x"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // Requests wait as long as the server takes.
	defer cancel()
	begun, ended := make(chan error, watchers), make(chan error, watchers)
	for i := range watchers {
		go func() { // Ends with the end of its job, which comes below.
			tell := begun
			for e, err := range c.Watch(ctx, fmt.Sprintf("j%d", i), 0) {
				if err != nil || e.Job != fmt.Sprintf("j%d", i) {
					tell <- fmt.Errorf("watching %d: %+v: %w", i, e, err)
					return
				}
				if tell <- nil; e.Kind == events.KindJobFinished {
					return
				}
				tell = ended
			}
		}()
	}
	for range watchers {
		musttest.Do(t, <-begun)
	}
	for i := range watchers {
		state(t, c, finished(fmt.Sprintf("j%d", i)))
	}
	for range watchers {
		musttest.Do(t, <-ended)
	}
}

// proves C36
func TestWaitSeesAnEndThatCameBeforeAndOneThatComesLater(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	done := make(chan error, 1)
	go func() {
		_, err := c.Wait(t.Context(), "j1")
		done <- err
	}()
	state(t, c, finished("j1"))
	musttest.Do(t, <-done)
	ended, err := c.Wait(t.Context(), "j1")
	if err != nil || ended.Status != events.Finished {
		t.Errorf("%+v, %v", ended, err)
	}
	if _, err := c.Wait(t.Context(), "missing"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("unknown job: %v", err)
	}
}

func TestTheBusAdmitsOneAnswer(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	musttest.Do(t, c.Answer(t.Context(), "j1", "q1", map[string]bool{"approved": true}, "ada"))
	if err := c.Answer(t.Context(), "j1", "q1", "no", "bob"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("second answer: %v", err)
	}
	if err := c.Answer(t.Context(), "j1", "q1", map[string]bool{"approved": true}, "ada"); err != nil {
		t.Errorf("the same answer again: %v", err)
	}
	if err := c.Answer(t.Context(), "j1", "q 1", "no", "bob"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("impossible request: %v", err)
	}
}

func TestAnAnswerThatFitsNoMessageIsRefusedWithTheLimitAndTheRequestStaysOpen(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	err := c.Answer(t.Context(), "j1", "q1", strings.Repeat("x", bus.MaxMessage), "ann")
	var fault *events.Fault
	if !errors.Is(err, bus.ErrTooLarge) || !errors.As(err, &fault) || fault.Code != events.CodeTooLarge || fault.Field != "answer" || fault.Hint == "" ||
		!strings.Contains(fault.Message, fmt.Sprintf("at most %d are taken", bus.MaxMessage)) {
		t.Fatalf("got %v", err)
	}
	musttest.Do(t, c.Answer(t.Context(), "j1", "q1", "short", "ann"))
}

func TestControlOfAnUnknownJobIsNotFound(t *testing.T) {
	c := connect(t)
	for name, err := range map[string]error{
		"recover": c.Recover(t.Context(), "missing", events.RecoverRequested{}),
		"stop":    c.Stop(t.Context(), "a.b", events.StopRequested{}),
		"delete":  c.Delete(t.Context(), "missing"),
	} {
		if !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAJobMovesToAnotherBusAsAFile(t *testing.T) {
	from, to := connect(t), connect(t)
	state(t, from, requested("j1", "x"))
	ref := musttest.Get(from.Bus().Blobs().Put(t.Context(), "j1", []byte("payload")))(t)
	state(t, from, events.Event{Kind: events.KindSubJobReported, Job: "j1", SubJob: "a", Run: 2, Data: &events.SubJobReported{Outcome: events.Success, OutputRef: &ref}})
	state(t, from, finished("j1"))
	x := musttest.Get(from.Archive().Export(t.Context(), "j1", time.Unix(0, 0)))(t)
	var text bytes.Buffer
	musttest.Do(t, x.Write(&text))
	y := musttest.Get(client.Read(&text))(t)
	for range 2 { // The second time there is nothing to do.
		musttest.Do(t, to.Archive().Import(t.Context(), y))
	}
	musttest.Do(t, to.Bus().Blobs().Delete(t.Context(), "j1"))
	if err := to.Archive().Import(t.Context(), y); err != nil { // This restores what the job has lost since.
		t.Fatal(err)
	}
	back := musttest.Get(to.Archive().Export(t.Context(), "j1", time.Unix(0, 0)))(t)
	if back.Digest() != x.Digest() {
		t.Error("the log differs")
	}
	if diff := cmp.Diff(x.Blobs, back.Blobs); diff != "" {
		t.Errorf("blobs (-want +got):\n%s", diff)
	}
	entries, _, err := to.Bus().Journal("j1", "a").Read(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Type != events.JournalClosed || entries[0].Run != 2 {
		t.Errorf("journal %+v: %v", entries, err)
	}
	y.Records[2].Body = []byte(`{"status":"FINISHED","turn":9}`)
	if err := to.Archive().Import(t.Context(), y); err != nil {
		t.Errorf("what a scheduler states by itself is held against the file: %v", err)
	}
	y.Records[0].Body = []byte(`{"id":"j1","goal":"y"}`)
	if err := to.Archive().Import(t.Context(), y); !errors.Is(err, client.ErrConflict) {
		t.Errorf("other content: %v", err)
	}
}

// journal appends records to the journal of a SubJob.
func journal(t *testing.T, c *client.Client, job, subjob string, records ...events.JournalRecord) {
	t.Helper()
	_, last, err := c.Bus().Journal(job, subjob).Read(t.Context())
	for _, r := range records {
		if err == nil {
			last, err = c.Bus().Journal(job, subjob).Append(t.Context(), r, last)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheJournalsOfAJobMoveWithIt(t *testing.T) {
	from, to := connect(t), connect(t)
	state(t, from, requested("j1", "x"))
	state(t, from, events.Event{Kind: events.KindSubJobReported, Job: "j1", SubJob: "a", Run: 1, Data: &events.SubJobReported{Outcome: events.Success}})
	claim := events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "r1", Lease: events.Duration(time.Second)}
	intent := events.JournalRecord{Type: events.JournalIntent, Run: 1, Key: "model/1", Name: "model", Data: json.RawMessage(`{"messages":2}`)}
	result := events.JournalRecord{Type: events.JournalResult, Run: 1, Key: "model/1", Name: "model", Data: json.RawMessage(`{"text":"hello"}`)}
	journal(t, from, "j1", "a", claim, intent, result)
	journal(t, from, "j1", "b", claim, intent)
	x := musttest.Get(from.Archive().Export(t.Context(), "j1", time.Unix(0, 0)))(t)
	journal(t, to, "j1", "a", claim) // An import that was cut off has left it.
	for range 2 {
		musttest.Do(t, to.Archive().Import(t.Context(), x))
	}
	closed := events.JournalRecord{Type: events.JournalClosed, Run: 1, Reason: "imported"}
	for subjob, want := range map[string][]events.JournalRecord{"a": {claim, intent, result, closed}, "b": {claim, intent}} {
		entries, _, err := to.Bus().Journal("j1", subjob).Read(t.Context())
		var got []events.JournalRecord
		for i := range entries {
			got = append(got, entries[i].JournalRecord)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("journal of %s (-want +got): %v\n%s", subjob, err, diff)
		}
	}
	calls, err := to.Journals().Calls(t.Context(), "j1", "a")
	if err != nil || len(calls) != 1 || calls[0].Outcome != joblog.CallDone {
		t.Errorf("%+v: %v", calls, err)
	}
	other := connect(t)
	journal(t, other, "j1", "a", intent)
	if err := other.Archive().Import(t.Context(), x); !errors.Is(err, client.ErrConflict) {
		t.Errorf("another journal is there: %v", err)
	}
	if err := other.Delete(t.Context(), "j1"); err != nil { // This is what the hint says.
		t.Fatal(err)
	}
	if err := other.Archive().Import(t.Context(), x); err != nil {
		t.Errorf("behind the deletion: %v", err)
	}
}

func TestListShowsTheNewestFirstAndSelects(t *testing.T) {
	c := connect(t)
	put := func(id, text string) {
		musttest.Get(c.Bus().State().Put(t.Context(), id, []byte(text), 0))(t)
	}
	put("old", `{"id":"old","status":"FINISHED","created":"2026-01-01T00:00:00Z","labels":{"team":"a"}}`)
	put("new", `{"id":"new","status":"FAILED","user":"ann","created":"2026-01-02T00:00:00Z"}`)
	put("new.1", `part`)
	ids := func(q client.Query) string {
		list := musttest.Get(c.List(t.Context(), q))(t)
		var ids []string
		for _, j := range list {
			ids = append(ids, j.ID)
		}
		return strings.Join(ids, " ")
	}
	got := []string{ids(client.Query{}), ids(client.Query{States: []events.Status{events.Failed}}), ids(client.Query{Labels: map[string]string{"team": "a"}}), ids(client.Query{User: "ann"}), ids(client.Query{Offset: 1}), ids(client.Query{Limit: 1}), ids(client.Query{Offset: 9, Limit: 9})}
	musttest.Equal(t, []string{"new old", "new", "old", "new", "old", "new", ""}, got)
	if j, err := c.Get(t.Context(), "old"); err != nil || j.Labels["team"] != "a" {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := c.Get(t.Context(), "missing"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("unknown job: %v", err)
	}
}

func TestStopOfAJobThatHasEndedUnsavedIsAConflict(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j", "g"))
	state(t, c, finished("j"))
	if err := c.Stop(t.Context(), "j", events.StopRequested{}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestStopOfAJobWhoseRecoveryIsNotSavedWaitsForItsEnd(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j", "g"))
	seq := state(t, c, events.Event{Kind: events.KindJobStopped, Job: "j", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Stopped}}})
	musttest.Get(c.Bus().State().Put(t.Context(), "j", fmt.Appendf(nil, `{"id":"j","status":"STOPPED","seq":%d}`, seq), 0))(t)
	musttest.Do(t, c.Recover(t.Context(), "j", events.RecoverRequested{}))
	ended := make(chan error, 1)
	go func() { ended <- c.Stop(t.Context(), "j", events.StopRequested{}) }()
	for e, err := range c.Watch(t.Context(), "j", seq) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == events.KindStopRequested {
			break
		}
	}
	state(t, c, events.Event{Kind: events.KindJobStopped, Job: "j", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Stopped}}})
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestStopOfASubJobThatIsNotThereOrHasEndedIsRefusedBeforeAnythingIsStored(t *testing.T) {
	c := connect(t)
	seq := state(t, c, requested("j", "g"))
	text := `{"id":"j","status":"RUNNING","seq":%d,"subjobs":[{"id":"a","status":"FINISHED","run":1},{"id":"b","status":"RUNNING","run":2}]}`
	musttest.Get(c.Bus().State().Put(t.Context(), "j", fmt.Appendf(nil, text, seq), 0))(t)
	for _, test := range []struct {
		asked events.StopRequested
		want  error
	}{
		{events.StopRequested{SubJob: "typo", Only: true}, client.ErrNotFound},
		{events.StopRequested{SubJob: "a", Only: true}, client.ErrConflict},
		{events.StopRequested{SubJob: "b", Run: 1, Only: true}, client.ErrConflict},
	} {
		if err := c.Stop(t.Context(), "j", test.asked); !errors.Is(err, test.want) {
			t.Errorf("stop %+v: %v", test.asked, err)
		}
		if err := c.Fail(t.Context(), "j", events.FailRequested(test.asked)); !errors.Is(err, test.want) {
			t.Errorf("fail %+v: %v", test.asked, err)
		}
	}
	if head, err := c.Head(t.Context(), "j"); err != nil || head != seq {
		t.Errorf("the log ends at %d, want %d: %v", head, seq, err)
	}
	if err := c.Stop(t.Context(), "j", events.StopRequested{SubJob: "b", Run: 2, Only: true}); err != nil {
		t.Errorf("the run that is there: %v", err)
	}
	if err := c.Stop(t.Context(), "j", events.StopRequested{SubJob: "later", Only: true}); err != nil {
		t.Errorf("one that the saved state may not know yet: %v", err)
	}
}

func TestStopOfASubJobOfAJobThatFinishesAllTheSameIsAConflict(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j", "g"))
	ended := make(chan error, 1)
	go func() { ended <- c.Stop(t.Context(), "j", events.StopRequested{SubJob: "typo"}) }()
	for e, err := range c.Watch(t.Context(), "j", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == events.KindStopRequested {
			break
		}
	}
	state(t, c, finished("j"))
	if err := <-ended; !errors.Is(err, client.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestAQuarantinedJobCanBeDeleted(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j", "g"))
	if err := c.Delete(t.Context(), "j"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a job that goes on: %v", err)
	}
	musttest.Get(c.Bus().State().Put(t.Context(), "j", []byte(`{"id":"j","quarantined":{"code":"must_understand","message":"unknown"}}`), 0))(t)
	if err := c.Delete(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	if _, err := c.Head(t.Context(), "j"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("its log: %v", err)
	}
}

func TestADeletionThatWasCutOffBehindTheLogCanBeRepeated(t *testing.T) {
	c := connect(t)
	musttest.Get(c.Bus().State().Put(t.Context(), "j", []byte(`{"id":"j","status":"FINISHED"}`), 0))(t)
	if err := c.Delete(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	if list, err := c.List(t.Context(), client.Query{}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := c.Delete(t.Context(), "j"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("once more: %v", err)
	}
}

func TestAJobIsInTheListAsSoonAsItIsAdmitted(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	list, err := c.List(t.Context(), client.Query{})
	if err != nil || len(list) != 1 || list[0].ID != "j1" || list[0].Status != events.Created || list[0].Goal != "x" || len(list[0].Raw) == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	musttest.Get(c.Bus().State().Put(t.Context(), "j1", []byte(`{"id":"j1","status":"RUNNING"}`), 0))(t)
	list, err = c.List(t.Context(), client.Query{})
	if err != nil || len(list) != 1 || list[0].Status != events.Running {
		t.Fatalf("once it is saved: %+v, %v", list, err)
	}
}

func TestATakenIDIsToldWithoutAScheduler(t *testing.T) {
	c := connect(t)
	state(t, c, requested("j1", "x"))
	if _, err := c.Submit(t.Context(), events.Request{ID: "j1", Goal: "y"}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("other content: %v", err)
	}
	if r, err := c.Ask(t.Context(), events.Request{ID: "j1", Goal: "x"}); err != nil || !r.Admitted {
		t.Errorf("the same again: %+v, %v", r, err)
	}
	if r, err := c.Ask(t.Context(), events.Request{ID: "j2", Goal: "x"}); err != nil || r.Admitted || r.JobID != "j2" {
		t.Errorf("a new one: %+v, %v", r, err)
	}
}

func TestAnotherRequestUnderAQueuedIDIsQueuedTooAndARepeatIsNot(t *testing.T) {
	c := connect(t)
	for _, step := range []struct {
		goal string
		want uint64
	}{{"first", 1}, {"first", 1}, {"second", 2}} {
		if r, err := c.Ask(t.Context(), events.Request{ID: "x", Goal: step.goal}); err != nil || r.Admitted {
			t.Fatalf("%s: %+v, %v", step.goal, r, err)
		}
		last, err := c.Bus().Streams().LastOn(t.Context(), c.Names().Intake, c.Names().Request())
		if err != nil || last.Seq != step.want {
			t.Errorf("after %s the queue ends at %d, want %d: %v", step.goal, last.Seq, step.want, err)
		}
	}
}

// quarantined makes a job that the scheduler has left alone while a run of it was at work and another one waited.
func quarantined(t *testing.T, c *client.Client) {
	t.Helper()
	state(t, c, requested("j", "g"))
	work := events.Message{Subject: c.Names().WorkFor("default", "x", "j", "b", 1), Body: []byte("{}")}
	musttest.Get(c.Bus().Publish(t.Context(), work, bus.Expect{}))(t)
	text := `{"id":"j","status":"RUNNING","quarantined":{"code":"must_understand","message":"unknown","hint":"upgrade"},` +
		`"subjobs":[{"id":"a","status":"RUNNING","run":2},{"id":"b","status":"READY","run":1},{"id":"c","status":"FINISHED","run":1}]}`
	musttest.Get(c.Bus().State().Put(t.Context(), "j", []byte(text), 0))(t)
}

func TestStopOfAQuarantinedJobEndsItsWorkAndSaysWhy(t *testing.T) {
	c := connect(t)
	quarantined(t, c)
	told := make(chan string, 1)
	stop, err := c.Bus().SubscribeCore(c.Names().Cancel("j", ""), func(_ string, body []byte) { told <- string(body) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	err = c.Stop(t.Context(), "j", events.StopRequested{Reason: "enough"})
	var fault *events.Fault
	if !errors.Is(err, client.ErrQuarantined) || !errors.As(err, &fault) || !strings.Contains(fault.Message, "since 20") || !strings.Contains(fault.Hint, "dlq retry j") {
		t.Errorf("got %v", err)
	}
	if got := <-told; got != `{"reason":"enough"}` {
		t.Errorf("workers are told %s", got)
	}
	if _, err := c.Bus().Streams().LastOn(t.Context(), c.Names().Work, c.Names().JobWork("j")); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("its work: %v", err)
	}
	closed := map[string]int{}
	for _, subjob := range []string{"a", "b", "c"} {
		entries, _, err := c.Bus().Journal("j", subjob).Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Type == events.JournalClosed {
				closed[subjob] = e.Run
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 1}, closed); diff != "" {
		t.Errorf("closed runs (-want +got):\n%s", diff)
	}
}

func TestStopOfAQuarantinedJobThatCanEndWaitsForItsEnd(t *testing.T) {
	c := connect(t)
	quarantined(t, c)
	ended := make(chan error, 1)
	go func() { ended <- c.Stop(t.Context(), "j", events.StopRequested{}) }()
	for e, err := range c.Watch(t.Context(), "j", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == events.KindStopRequested {
			break
		}
	}
	state(t, c, events.Event{Kind: events.KindJobStopped, Job: "j", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Stopped}}})
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAnImportGoesOnWhenAPureRunIsExecutedHereBeforeItsOwnEndComesIn(t *testing.T) {
	from, to := connect(t), connect(t)
	state(t, from, requested("j", "g"))
	planned := events.Event{Kind: events.KindGraphCreated, Job: "j", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g"}}}}}
	state(t, from, planned)
	state(t, from, finished("j"))
	x := musttest.Get(from.Archive().Export(t.Context(), "j", time.Unix(0, 0)))(t)
	planned.Data = &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "here"}}}}
	state(t, to, planned)
	musttest.Do(t, to.Replay(t.Context(), x))
	var kinds []events.Kind
	for e, err := range to.Bus().Log().EventsOf(t.Context(), "j", 0) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Kind)
	}
	if want := []events.Kind{events.KindGraphCreated, events.KindJobRequested, events.KindJobFinished}; !slices.Equal(kinds, want) {
		t.Errorf("got %q, want %q", kinds, want)
	}
	var fault *events.Fault
	if err := to.Replay(t.Context(), x); !errors.Is(err, client.ErrConflict) || !errors.As(err, &fault) || !strings.Contains(fault.Hint, "import the file again") {
		t.Errorf("another import came in between: %v", err)
	}
}

func TestAnImportRepeatedAfterAPureRunOfItEndedOtherwiseHereChangesNothing(t *testing.T) {
	from, to := connect(t), connect(t)
	report := func(subjob string, outcome events.Outcome) events.Event {
		return events.Event{Kind: events.KindSubJobReported, Job: "j", SubJob: subjob, Run: 1, Data: &events.SubJobReported{Outcome: outcome}}
	}
	state(t, from, requested("j", "g"))
	for _, subjob := range []string{"claimed", "pure"} {
		state(t, from, report(subjob, events.Success))
	}
	journal(t, from, "j", "claimed", events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "r1", Lease: events.Duration(time.Second)})
	x := musttest.Get(from.Archive().Export(t.Context(), "j", time.Unix(0, 0)))(t)
	state(t, to, requested("j", "g")) // As after an import that a runner has overtaken.
	state(t, to, report("pure", events.ExecutionError))
	state(t, to, report("claimed", events.Success))
	for _, subjob := range []string{"claimed", "pure"} {
		journal(t, to, "j", subjob, events.JournalRecord{Type: events.JournalClosed, Run: 1, Reason: "imported"})
	}
	if err := to.Archive().Import(t.Context(), x); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]*client.Client{"another job": from, "another run": to} {
		y := *x
		y.Records = slices.Clone(x.Records)
		at := map[*client.Client]int{from: 2, to: 1}[c] // A pure run may differ where the job was imported, a claimed one nowhere.
		y.Records[at].Body = []byte(`{"outcome":"JOB_TOO_COMPLICATED_ERROR"}`)
		if err := c.Archive().Import(t.Context(), &y); !errors.Is(err, client.ErrConflict) || !strings.Contains(err.Error(), y.Records[at].Subject+" differs") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	y := *x
	y.Records = append(slices.Clone(x.Records), client.Record{Subject: strings.Replace(x.Records[2].Subject, "pure", "more", 1), Body: x.Records[2].Body})
	if err := to.Archive().Import(t.Context(), &y); !errors.Is(err, client.ErrConflict) || !strings.Contains(err.Error(), "more.1 is not in its log") {
		t.Errorf("a record that is not there: got %v", err)
	}
}
