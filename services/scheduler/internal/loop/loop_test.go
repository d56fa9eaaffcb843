package loop

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// errAway is the error of any call while the bus is unreachable.
var errAway = errors.New("the bus is away")

// idle implements the calls of the ports that these tests do not use.
type idle struct{}

func (idle) Tell(string, []byte) error { return nil }

// journal is an empty journal; it returns the result of each append.
type journal func() error

func (journal) Read(context.Context) ([]run.Entry, uint64, error) { return nil, 0, nil }

func (j journal) Append(context.Context, events.JournalRecord, uint64) (uint64, error) {
	return 0, j()
}

func (idle) PutBlob(context.Context, string, []byte) (events.Ref, error) { return events.Ref{}, nil }

func (idle) GetBlob(context.Context, string, string) ([]byte, error) { return nil, store.ErrNotFound }

// fake has the ports in memory: a log that the test writes, and a record of everything published.
type fake struct {
	idle
	log       []events.Event
	published []string
	states    map[string][]byte
	acked     int
	told      int // How often a delivery was reported in progress.
	fail      map[string]error
}

type outcome struct{ err error }

func (o outcome) Wait(context.Context) (uint64, error) { return 0, o.err }

func (f *fake) Publish(m events.Message, _ Expect) Ack {
	for part, err := range f.fail {
		if strings.Contains(m.Subject, part) {
			return outcome{err}
		}
	}
	f.published = append(f.published, m.Subject)
	return outcome{}
}

func (f *fake) EventsOf(_ context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for _, e := range f.log {
			if e.Job == job && e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

func (f *fake) EventAt(_ context.Context, seq uint64) (events.Event, error) {
	if seq == 0 || seq > uint64(len(f.log)) {
		return events.Event{}, store.ErrNotFound
	}
	return f.log[seq-1], nil
}

func (f *fake) EndOf(_ context.Context, job string) (end events.Event, err error) {
	for _, e := range f.log {
		if _, ok := e.Data.(*events.JobEnded); ok && e.Job == job {
			end = e
		} else if d, _ := events.Define(e.Kind); d.Control && e.Job == job {
			end = events.Event{}
		}
	}
	return end, nil
}

func (f *fake) PurgeRest(context.Context, string) error       { return nil }
func (f *fake) PurgeWork(context.Context, string) error       { return nil }
func (f *fake) ReapJob(context.Context, string, uint64) error { return nil }
func (f *fake) Load(_ context.Context, job string) (Saved, error) {
	if err := f.fail["load"]; err != nil {
		return Saved{}, err
	}
	return Saved{State: f.states[job]}, nil
}

func (f *fake) Save(_ context.Context, job string, s Saved, _ *events.Fault) (uint64, error) {
	f.states[job] = s.State
	return s.Revision + 1, nil
}

func (f *fake) Journal(string, string, string) lease.One {
	return journal(func() error { return nil })
}
func (f *fake) Arm(context.Context, string, string, time.Time) Ack { return outcome{} }
func (f *fake) Purge(context.Context, string) error                { return nil }
func (f *fake) Count(Family, string)                               {}
func (f *fake) Ack() error                                         { f.acked++; return nil }
func (f *fake) InProgress() error                                  { f.told++; return nil }

// add stores an event.
func (f *fake) add(kind events.Kind, subjob string, run int, data any) events.Event {
	e := events.Event{Kind: kind, Job: "j", SubJob: subjob, Run: run, ID: "e", Seq: uint64(len(f.log) + 1), Time: time.Unix(int64(len(f.log)), 0), Data: data}
	f.log = append(f.log, e)
	return e
}

func (f *fake) partition(t *testing.T) *Partition {
	s := strict(t, slog.New(slog.NewTextHandler(t.Output(), nil)))
	return New(s, Ports{Publisher: f, Log: f, Sweeper: f, States: f, Journals: f, Alarms: f, Blobs: f, Meter: f})
}

func newFake() *fake { return &fake{states: map[string][]byte{}, fail: map[string]error{}} }

// begin stores a request and a plan of two steps that depend on each other.
func (f *fake) begin() (requested, created events.Event) {
	requested = f.add(events.KindJobRequested, "", 0, &events.JobRequested{
		Request: events.Request{ID: "j", Goal: "g"},
		Rules:   events.Rules{Version: 1, MaxSteps: 9, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast},
	})
	step := func(id string, deps ...string) events.SubJob {
		return events.SubJob{ID: id, Goal: id, Expert: "x", Pool: "default", Dependencies: deps}
	}
	created = f.add(events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{step("a"), step("b", "a")}}})
	return requested, created
}

func (f *fake) deliver(t *testing.T, p *Partition, consumerSeq uint64, first bool, e events.Event) {
	t.Helper()
	d := Delivery{Event: e, ConsumerSeq: consumerSeq, First: first, Acker: f}
	musttest.Do(t, p.Replay(t.Context(), Batch{Deliveries: []Delivery{d}}))
}

func (f *fake) said(part string) bool {
	return slices.ContainsFunc(f.published, func(s string) bool { return strings.Contains(s, part) })
}

var success = &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage("1")}

func TestAnEventThatAnotherSchedulerGotIsReadFromTheLog(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	f.add(events.KindSubJobReported, "a", 1, success) // Delivery 3 goes to another reader.
	f.deliver(t, p, 4, true, f.add(events.KindSubJobProgressed, "a", 1, &events.SubJobProgressed{}))
	if !f.said(".j.b.1") {
		t.Errorf("b was not issued: %q", f.published)
	}
}

func TestARepeatThatIsNewsMeansThatTheCacheIsOld(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	f.add(events.KindSubJobReported, "a", 1, success)
	started := f.add(events.KindSubJobProgressed, "a", 1, &events.SubJobProgressed{})
	f.deliver(t, p, 3, false, started)
	if !f.said(".j.b.1") {
		t.Errorf("b was not issued: %q", f.published)
	}
}

func TestNothingIsAcknowledgedWhileACommandIsOwed(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	p.SaveEvery = 1
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	acked := f.acked
	f.fail[".j.a.1"] = errAway
	f.deliver(t, p, 2, true, created)
	if f.acked != acked {
		t.Errorf("%d acknowledgements with the work of a not published", f.acked-acked)
	}
	delete(f.fail, ".j.a.1")
	p.cache.jobs["j"].retry.at, p.work.sweepAt = time.Unix(0, 0), time.Time{}
	musttest.Do(t, p.Replay(t.Context(), Batch{}))
	if !f.said(".j.a.1") || f.acked != 2 {
		t.Errorf("published %q, %d acknowledged", f.published, f.acked)
	}
}

func TestCostsBeyondAllNumbersHoldNoJobBack(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	for i, id := range []string{"a", "b"} {
		costly := &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage("1"), Spent: events.Spent{CostUSD: 1.7e308}}
		f.deliver(t, p, uint64(3+i), true, f.add(events.KindSubJobReported, id, 1, costly))
	}
	if !f.said("job.finished") {
		t.Errorf("published %q", f.published)
	}
}

func TestAFactThatCannotBeWrittenPutsItsJobIntoQuarantine(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	for _, cmd := range []graph.Command{
		{CommandID: graph.CommandID{Kind: graph.EndJob}, Fact: events.KindJobFinished, Data: &events.JobEnded{Spent: events.Spent{CostUSD: math.Inf(1)}}},
		{CommandID: graph.CommandID{Kind: graph.StateFact, Key: "k"}, Fact: events.KindGraphCreated, Data: math.Inf(1)},
	} {
		_, err := (&sending{outbox: p.outbox}).command(t.Context(), &job{id: "j", state: &graph.Job{}}, &cmd, "")
		var q *quarantine
		if !errors.As(err, &q) || q.fault.Code != events.CodeInternal || !strings.Contains(q.fault.Cause, "unsupported value") {
			t.Errorf("%s: %v", cmd.Kind, err)
		}
	}
}

func TestWorkThatFitsNoMessageIsReportedInItsWorkersPlace(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.fail["jobs.work.default"] = store.ErrTooLarge
	f.deliver(t, p, 2, true, created)
	if !f.said("subjob.reported.a.1") {
		t.Errorf("no report: %q", f.published)
	}
}

func TestTheAnswerMarkedInATextIsTheResult(t *testing.T) {
	for output, want := range map[string]string{
		`"talk <final_output> 42 </final_output> talk"`: `"42"`,
		`"plain"`:                 `"plain"`,
		`"<final_output> open"`:   `"<final_output> open"`,
		`{"a":"<final_output>"}`:  `{"a":"<final_output>"}`,
		`"a </final_output> 1 <"`: `"a </final_output> 1 <"`,
	} {
		if got := finalOutput(json.RawMessage(output)); string(got) != want {
			t.Errorf("%s: %s, want %s", output, got, want)
		}
	}
}

func TestAGapInTheBatchThatBeginsAJobIsFilledFromTheLog(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin() // The plan is delivered to another reader.
	_ = created
	progressed := f.add(events.KindSubJobProgressed, "a", 1, &events.SubJobProgressed{})
	batch := Batch{Deliveries: []Delivery{
		{Event: requested, ConsumerSeq: 1, First: true, Acker: f}, {Event: progressed, ConsumerSeq: 3, First: true, Acker: f},
	}}
	musttest.Do(t, p.Replay(t.Context(), batch))
	if !f.said(".j.a.1") {
		t.Errorf("a was not issued: %q", f.published)
	}
}

func TestTheIdOfADeletedQuarantinedJobIsFreeAgain(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, _ := f.begin()
	poison := f.add("graph.rewoven", "", 0, nil)
	poison.Fault = &events.Fault{Code: events.CodeMustUnderstand, Message: "unknown kind"}
	f.log[poison.Seq-1] = poison
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, poison)
	if p.cache.jobs["j"].phase != quarantined {
		t.Fatal("the job is not quarantined")
	}
	for i := range f.log {
		f.log[i] = events.Event{Seq: f.log[i].Seq} // Deleted.
	}
	again := f.add(events.KindJobRequested, "", 0, requested.Data)
	f.published = nil
	f.deliver(t, p, 3, true, again)
	if !f.said(".j.~plan.1") {
		t.Errorf("planning was not issued: %q", f.published)
	}
}

func TestARequestThatIsNotTheFirstEventOfAJobIsNoBirth(t *testing.T) {
	valid := `{"request":{"goal":"another"},"rules":{"version":1}}`
	for _, body := range []string{"rubbish{", "{}", "[1]", "", valid} {
		for _, known := range []bool{true, false} {
			f := newFake()
			p := f.partition(t)
			requested, created := f.begin()
			f.deliver(t, p, 1, true, requested)
			f.deliver(t, p, 2, true, created)
			stray, _ := events.Decode(p.Names, events.Message{Subject: p.Names.Event("j", events.KindJobRequested), Body: []byte(body)})
			if !known {
				if stray.Fault == nil {
					continue // The store refuses the first state of a job that has one.
				}
				p = f.partition(t)
			}
			stray.Seq = uint64(len(f.log) + 1)
			f.log, f.published = append(f.log, stray), nil
			f.deliver(t, p, 3, true, stray)
			if j := p.cache.jobs["j"]; j == nil || j.phase == quarantined || j.state.RequestSeq != 1 || j.state.Seq != stray.Seq || f.said(".j.~plan.1") {
				t.Fatalf("with %q, in memory %t: job %+v, published %q", body, known, j, f.published)
			}
			f.deliver(t, p, 4, true, f.add(events.KindSubJobReported, "a", 1, success))
			if !f.said(".j.b.1") {
				t.Errorf("with %q, in memory %t the job does not go on: %q", body, known, f.published)
			}
		}
	}
}

// reaper deletes a job as the broker does; what happens immediately afterwards is in the log before the scheduler knows of the
// deletion. With cut it stops before the event for which it was called.
type reaper struct {
	*fake
	loads int
	then  func()
	cut   bool
}

func (r *reaper) ReapJob(_ context.Context, _ string, last uint64) error {
	if r.cut {
		clear(r.log[:last-1])
		return nil
	}
	for i := range r.log {
		r.log[i] = events.Event{Seq: r.log[i].Seq}
	}
	clear(r.states)
	if r.then != nil {
		r.then()
	}
	return nil
}

func (r *reaper) Load(ctx context.Context, job string) (Saved, error) {
	r.loads++
	kept, err := r.fake.Load(ctx, job)
	var end struct {
		Seq uint64 `json:"seq"`
	}
	if json.Unmarshal(kept.State, &end) == nil && end.Seq > 0 && r.log[end.Seq-1].Job == "" {
		kept.State = nil // Not to be trusted, as the log does not have its end.
	}
	return kept, err
}

func (r *reaper) PurgeRest(_ context.Context, job string) error {
	r.published = append(r.published, "purged rest of "+job)
	for i := range r.log {
		r.log[i] = events.Event{Seq: r.log[i].Seq}
	}
	delete(r.states, job)
	return nil
}

// reap returns a partition with an ended job whose retention is over, and the delivery that says so.
func reap(t *testing.T, r *reaper) (*Partition, Delivery) {
	p := r.partition(t)
	p.Window, p.Sweeper, p.States = 8, r, r
	rules := events.Rules{Version: 1, MaxSteps: 9, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast, Retention: events.Duration(time.Hour)}
	r.deliver(t, p, 1, true, r.add(events.KindJobRequested, "", 0, &events.JobRequested{Request: events.Request{ID: "j", Goal: "g"}, Rules: rules}))
	stop := r.add(events.KindStopRequested, "", 0, &events.StopRequested{})
	r.deliver(t, p, 2, true, stop)
	r.deliver(t, p, 3, true, r.add(events.KindSubJobClosed, events.PlanID, 1, &events.SubJobClosed{}))
	end := events.JobMoved{Status: events.Stopped, Turn: p.cache.jobs["j"].state.Turn, Cause: stop.Seq}
	r.deliver(t, p, 4, true, r.add(events.KindJobStopped, "", 0, &events.JobEnded{JobMoved: end}))
	fired := r.add(events.KindTimerFired, "", 0, &events.TimerFired{Timer: graph.ReapTimer(end.Turn)})
	fired.Time = fired.Time.Add(rules.Retention.Std())
	r.log[fired.Seq-1] = fired
	r.loads = 0
	return p, Delivery{Event: fired, ConsumerSeq: 5, First: true, Acker: r}
}

func TestADeletedJobWhoseIdIsTakenAgainIsNotTakenForTheNext(t *testing.T) {
	r := &reaper{fake: newFake()}
	p, fired := reap(t, r)
	var again events.Event
	r.then = func() {
		again = r.add(events.KindJobRequested, "", 0, &events.JobRequested{Request: events.Request{ID: "j", Goal: "g"}, Rules: events.Rules{Version: 1}})
	}
	musttest.Do(t, p.Replay(t.Context(), Batch{Deliveries: []Delivery{fired}}))
	if again.Seq == 0 {
		t.Fatal("the job was not deleted")
	}
	musttest.Do(t, p.Replay(t.Context(), Batch{Deliveries: []Delivery{{Event: again, ConsumerSeq: 6, First: true, Acker: r}}}))
	if l := p.admission.limits[events.PlannerPool]; l == nil || l.queued != 1 {
		t.Errorf("one run is in the queue, the scheduler counts %+v", l)
	}
	for j := range p.work.retry {
		if p.cache.jobs[j.id] != j {
			t.Errorf("a job is known twice")
		}
	}
}

func TestADeletionThatACrashHasCutOffIsFinishedByWhoeverGetsItsEvent(t *testing.T) {
	r := &reaper{fake: newFake(), cut: true}
	p, fired := reap(t, r)
	r.states["j"] = []byte(`{"id":"j","seq":4}`)
	killed := errors.New("killed")
	p.Hook = func(at Point) error {
		if at == AtPublished {
			return killed
		}
		return nil
	}
	if err := p.Replay(t.Context(), Batch{Deliveries: []Delivery{fired}}); !errors.Is(err, killed) || r.states["j"] == nil {
		t.Fatalf("%v, state %s", err, r.states["j"])
	}
	next := r.partition(t)
	next.Sweeper, next.States = r, r
	fired.First, r.acked = false, 0
	musttest.Do(t, next.Replay(t.Context(), Batch{Deliveries: []Delivery{fired}}))
	if len(r.states) != 0 || r.log[fired.Event.Seq-1].Job != "" || r.acked == 0 || len(next.cache.jobs) != 0 {
		t.Errorf("states %s, log %+v, %d acknowledged, %d jobs known", r.states, r.log, r.acked, len(next.cache.jobs))
	}
}

func TestWhatComesWhileAJobIsDeletedIsNotLeftInTheLog(t *testing.T) {
	r := &reaper{fake: newFake()}
	p, fired := reap(t, r)
	musttest.Do(t, p.step(t.Context(), Batch{Deliveries: []Delivery{fired}}))
	deleted := <-p.beside.results // The job is deleted, but the partition has not been notified yet.
	late := Delivery{Event: r.add(events.KindSubJobReported, "a", 1, success), ConsumerSeq: 6, First: true, Acker: r}
	p.beside.results <- deleted
	musttest.Do(t, p.Replay(t.Context(), Batch{Deliveries: []Delivery{late}}))
	if !r.said("purged rest of j") || r.acked != 6 || len(p.cache.jobs) != 0 {
		t.Errorf("said %q, %d acknowledged, %d jobs known", r.published, r.acked, len(p.cache.jobs))
	}
}

// listener records what listeners receive.
type listener struct {
	*fake
	told []string
}

func (l *listener) Tell(subject string, body []byte) error {
	l.told = append(l.told, subject+" "+string(body))
	return nil
}

func TestReportsForAJobThatDoesNotExistAreAnnouncedAsRejected(t *testing.T) {
	l := &listener{fake: newFake()}
	p := l.partition(t)
	p.Publisher = l
	l.deliver(t, p, 1, true, l.add(events.KindTimerFired, "", 0, &events.TimerFired{Timer: "retry~a~1"}))
	if len(l.told) != 0 {
		t.Errorf("a timer that is late is told: %q", l.told)
	}
	l.log[0] = events.Event{Seq: 1} // Purged.
	l.add(events.KindSubJobReported, "a", 1, success)
	l.deliver(t, p, 2, true, l.add(events.KindSubJobReported, "b", 1, success))
	if len(l.told) != 1 || !strings.HasPrefix(l.told[0], "jobs.rejected {") || !strings.Contains(l.told[0], `"not_found"`) {
		t.Fatalf("two reports at once are told as %q, want one rejection", l.told)
	}
	if strings.Contains(l.told[0], "job_id") {
		t.Errorf("%s would be taken for the rejection of a request with this id", l.told[0])
	}
}

func TestTheSpanOfAStepEndsWithTheQuarantineOfItsJob(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	open := 0
	p.Trace = func(string, string, ...string) (string, func(string, ...string)) {
		open++
		return "trace", func(string, ...string) { open-- }
	}
	p.CacheBytes = 0
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.log[created.Seq-1] = events.Event{Seq: created.Seq} // Gone when the work is written.
	f.deliver(t, p, 2, true, created)
	if p.cache.jobs["j"].phase != quarantined || open != 0 {
		t.Errorf("%d spans are open, the job is %s", open, p.cache.jobs["j"].phase)
	}
}

func TestALargeContextTravelsOnceToThePlanner(t *testing.T) {
	p := newFake().partition(t)
	long := strings.Repeat("x", 400<<10)
	w := &events.Work{Kind: events.WorkPlan, Job: "j", Goal: "g", Context: long, Request: &events.Request{Goal: "g", Context: long}}
	body, err := p.builder.fit(t.Context(), w)
	if err != nil || len(body) > events.MaxMessage || w.Request.Context != long {
		t.Errorf("%d bytes: %v", len(body), err)
	}
}

// register has room for all claims, and records which of them are the first ones.
type register struct {
	fresh []bool
	err   error
}

func (r *register) Claim(_ context.Context, _ string, c *Claim) (Grant, error) {
	r.fresh = append(r.fresh, c.Fresh)
	return Grant{Held: c.Runs}, r.err
}

// It may have granted a slot to a job that only this scheduler notifies.
func TestAClaimOfUnknownOutcomeIsRepeatedAsTheFirst(t *testing.T) {
	f, slots := newFake(), &register{}
	p := f.partition(t)
	p.Slots = slots
	requested, created := f.begin()
	rules := &requested.Data.(*events.JobRequested).Rules
	rules.ConcurrencyKey, rules.KeyConcurrency = "key", 1
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	slots.fresh, slots.err = nil, store.ErrUnknown
	f.deliver(t, p, 3, true, f.add(events.KindSubJobReported, "a", 1, success))
	slots.err = nil
	p.cache.jobs["j"].retry.at, p.work.sweepAt = time.Unix(0, 0), time.Time{}
	if err := p.Replay(t.Context(), Batch{}); err != nil {
		t.Fatal(err)
	}
	if want := []bool{false, true}; !slices.Equal(slots.fresh, want) {
		t.Errorf("fresh claims: %v, want %v", slots.fresh, want)
	}
}
