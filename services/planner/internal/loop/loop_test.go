package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/run/lease/leasetest"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// ports is everything around the loop, in memory. Its lines record in order what the loop did.
type ports struct {
	leasetest.Journal
	mu      sync.Mutex
	lines   []string
	facts   []events.Event
	told    []events.Event
	work    chan queue.Delivery
	cards   []events.Card
	changed chan struct{}
	blobs   map[string][]byte
	// logErr and blobErr are the errors of the bus.
	logErr, blobErr error
	hook            Hook
	options         plan.Options
	model           Model
	desk            Dispatcher
	pools           bool // The subjects of runs name pools.
	past            History
	known           Knowledge
	looks           planning.InvestigateRules
	trace           func(parent, name string, attributes ...string) (string, func(string, ...string))
	items           Items
	owner           string        // The planner's name in claims; "me" if empty.
	hears           func(Outcome) // Receives the outcomes; may be nil.
	loop            *Loop         // The loop of the last run.
}

func newPorts(ids ...string) *ports {
	w := &ports{work: make(chan queue.Delivery, 16), changed: make(chan struct{}), blobs: map[string][]byte{}}
	for _, id := range ids {
		w.cards = append(w.cards, events.Card{ID: id, Name: id})
	}
	return w
}

func (w *ports) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *ports) Next(ctx context.Context) (queue.Delivery, error) {
	select {
	case d := <-w.work:
		return d, nil
	case <-ctx.Done():
		return queue.Delivery{}, ctx.Err()
	}
}

func (w *ports) Drain(context.Context) { w.say("drained") }
func (w *ports) Stop()                 { w.say("stopped") }

func (w *ports) Once(e events.Event) (lease.Pending, error) {
	m, err := events.Encode(events.NewNames(""), e)
	if err != nil {
		return nil, err
	}
	back, _ := events.Decode(events.NewNames(""), m)
	if back.Fault != nil {
		return nil, back.Fault
	}
	return pending(func(context.Context) (uint64, error) {
		w.say("state %s %s/%s/%d", e.Kind, e.Job, e.SubJob, e.Run)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.facts = append(w.facts, e)
		return uint64(len(w.facts)), w.logErr
	}), nil
}

func (w *ports) Tell(e events.Event) {
	w.say("tell %s %s/%s/%d", e.Kind, e.Job, e.SubJob, e.Run)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, e)
}

func (w *ports) Live(job, subjob, _ string, body []byte) { w.say("live %s/%s %s", job, subjob, body) }

func (w *ports) Put(_ context.Context, job string, data []byte) (events.Ref, error) {
	w.say("put blob of %s", job)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blobs["digest"] = data
	return events.Ref{Digest: "digest", Size: int64(len(data))}, w.blobErr
}

func (w *ports) Get(_ context.Context, _, digest string) ([]byte, error) {
	data, ok := w.blobs[digest]
	if !ok {
		return nil, errors.Join(store.ErrNotFound, w.blobErr)
	}
	return data, w.blobErr
}

func (w *ports) Cards() ([]events.Card, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cards, w.changed
}

func (w *ports) Fresh(context.Context) []events.Card {
	cards, _ := w.Cards()
	return cards
}

func (w *ports) announce(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cards = append(w.cards[:len(w.cards):len(w.cards)], events.Card{ID: id})
	close(w.changed)
	w.changed = make(chan struct{})
}

// Find returns a profile without optional stages.
func (w *ports) Find(name string) (planning.Profile, string, error) {
	p := planning.Profile{
		Name: "plain", Dialect: "native", Limits: planning.Limits{HistoryBytes: 1000, Steps: 100, Rounds: 2, Repairs: 1, Reminders: 1},
		Stages: []planning.Stage{planning.StageReview}, Fallback: []planning.Rung{planning.RungEarlier},
	}
	if w.looks.When != "" {
		p.Stages, p.Investigate, p.Limits.FindingBytes = append(p.Stages, planning.StageInvestigate), w.looks, 1000
	}
	if name != "" {
		return p, "", errors.New("there is only plain")
	}
	return p, "1", nil
}

func (w *ports) Render(prompt, locale string, v planning.Vars) (planning.Prompt, error) {
	return planning.Prompt{User: prompt + " in " + locale + v.Findings + v.Words + v.History}, nil
}

func (w *ports) Decided(o Outcome) {
	w.say("counted %q repeated %v", o.Kind, o.Repeated)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hears != nil {
		w.hears(o)
	}
}

// receipt records how a delivery was settled.
type receipt struct{ w *ports }

func (r receipt) Ack() error                    { r.w.say("ack"); return nil }
func (r receipt) Nak(delay time.Duration) error { r.w.say("nak %s", delay); return nil }
func (r receipt) Term(string) error             { r.w.say("term"); return nil }
func (r receipt) InProgress() error             { return nil }

// name is the planner's name in claims.
func (w *ports) name() string {
	if w.owner == "" {
		return "me"
	}
	return w.owner
}

// run passes deliveries to the loop, waits until it is idle, and drains it.
func (w *ports) run(t *testing.T, during func(), deliveries ...queue.Delivery) error {
	t.Helper()
	l := New(Settings{
		Names: events.NewNames(""), Concurrency: 2, ExpertWait: 2 * time.Second, Options: w.options, Source: w, Log: w, Blobs: w,
		Catalog: w, Profiles: w, Journal: w, Owner: w.name(), Read: readText, Meter: w, Logger: slog.New(slog.DiscardHandler), Hook: w.hook,
	})
	if w.model != nil {
		l.Model = w.model
	}
	if w.items != nil {
		l.Items = func(string, string, int) Items { return w.items }
	}
	l.Dispatcher, l.History, l.Trace, l.Knowledge = w.desk, w.past, w.trace, w.known
	l.Pooled, l.Journaled = w.pools, func() (time.Time, bool) { return time.Time{}, w.pools }
	w.loop = l
	work, kill := context.WithCancel(t.Context())
	defer kill()
	intake, drain := context.WithCancel(work)
	for _, d := range deliveries {
		w.work <- d
	}
	done := make(chan error)
	go func() { done <- l.Run(work, intake) }()
	synctest.Wait()
	if during != nil {
		during()
		synctest.Wait()
	}
	drain()
	return <-done
}

// dies passes a delivery to a loop that is killed at a point.
func (w *ports) dies(t *testing.T, point Point, d queue.Delivery) {
	t.Helper()
	killed := errors.New("killed")
	w.hook = func(p Point) error {
		if p == point {
			return killed
		}
		return nil
	}
	if err := w.run(t, nil, d); !errors.Is(err, killed) {
		t.Fatalf("at %s: %v", point, err)
	}
	w.hook = nil
}

func (w *ports) delivery(t *testing.T, o events.Work) queue.Delivery {
	t.Helper()
	body := musttest.JSON(t, o)
	subject := events.NewNames("").WorkFor(events.PlannerPool, events.PlannerExpert, "j", events.PlanID, 1)
	return queue.Delivery{Subject: subject, Body: body, Trace: "00-trace", Count: 1, Receipt: receipt{w}}
}

func order(raw string) events.Work {
	return events.Work{
		Kind: events.WorkPlan, Job: "j", SubJob: events.PlanID, Run: 1, PlanVersion: 3, MaxSteps: 100,
		Request: &events.Request{Goal: "g", Plan: json.RawMessage(raw)},
	}
}

const onePlan = `{"subjobs":[{"id":"a","goal":"g","expert":"x"}]}`

func check(t *testing.T, w *ports, want ...string) {
	t.Helper()
	musttest.Equal(t, want, w.lines)
}

func TestTheFactIsStatedBeforeTheWorkIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		musttest.Do(t, w.run(t, nil, w.delivery(t, order(onePlan))))
		check(t, w, "state graph.created j/~plan/1", "ack", `counted "graph.created" repeated false`, "drained")
		want := events.Event{
			Kind: events.KindGraphCreated, ID: "j/graph.created/~plan/1", Job: "j", SubJob: "~plan", Run: 1, Source: "jobgraph/planner", Trace: "00-trace",
			Data: &events.GraphCreated{PlanVersion: 3, Plan: &events.Plan{OrigQuery: "g", SubJobs: []events.SubJob{
				{ID: "a", Goal: "g", Expert: "x", ExpertName: "x", Pool: "default"},
			}}},
		}
		musttest.Equal(t, want, w.facts[0])
	})
}

func TestAFactThatWasStatedBeforeIsAsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.logErr = fmt.Errorf("expect: %w", store.ErrConflict)
		musttest.Do(t, w.run(t, nil, w.delivery(t, order(onePlan))))
		check(t, w, "state graph.created j/~plan/1", "ack", `counted "graph.created" repeated true`, "drained")
	})
}

func TestWorkIsGivenBackWhileTheBusIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.logErr = errors.New("bus is away")
		late := w.delivery(t, order(onePlan))
		late.Count = 9
		musttest.Do(t, w.run(t, func() { w.work <- late }, w.delivery(t, order(onePlan))))
		check(t, w, "state graph.created j/~plan/1", "nak 500ms", "state graph.created j/~plan/1", "nak 30s", "drained")
	})
}

func TestAMessageThatIsNoPlanningWorkStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		foreign := w.delivery(t, order(onePlan))
		foreign.Subject = "jobs.work.~planner.x"
		other := w.delivery(t, order(onePlan))
		other.Subject = "jobs.work.~planner.~planner.other.~plan.1"
		garbage := w.delivery(t, order(onePlan))
		garbage.Body = []byte{0xff, '{'}
		for _, d := range []queue.Delivery{foreign, other, garbage} {
			musttest.Do(t, w.run(t, nil, d))
		}
		check(t, w, `counted "" repeated false`, "term", "drained",
			"state plan.rejected other/~plan/1", "ack", `counted "plan.rejected" repeated false`, "drained",
			"state plan.rejected j/~plan/1", "ack", `counted "plan.rejected" repeated false`, "drained")
		for _, e := range w.facts {
			if f := e.Data.(*events.PlanRejected).Faults[0]; f.Code != events.CodeMalformed {
				t.Error(f)
			}
		}
	})
}

func TestAPlanWaitsAWhileForItsExperts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts()
		began := time.Now()
		err := w.run(t, func() {
			w.announce("y")
			<-time.After(time.Second)
			w.announce("x")
		}, w.delivery(t, order(onePlan)))
		if err != nil || time.Since(began) != time.Second {
			t.Fatal(err, time.Since(began))
		}
		check(t, w, "state graph.created j/~plan/1", "ack", `counted "graph.created" repeated false`, "drained")
	})
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("y")
		musttest.Do(t, w.run(t, func() { <-time.After(3 * time.Second) }, w.delivery(t, order(onePlan))))
		check(t, w, "state plan.rejected j/~plan/1", "ack", `counted "plan.rejected" repeated false`, "drained")
		if f := w.facts[0].Data.(*events.PlanRejected).Faults[0]; !strings.Contains(f.Hint, "y") {
			t.Errorf("the known experts are not named: %+v", f)
		}
	})
}

func TestAPlanThatWaitsForExpertsIsGivenBackAtADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts()
		musttest.Do(t, w.run(t, nil, w.delivery(t, order(onePlan))))
		check(t, w, "nak 500ms", "drained")
	})
}

func TestALargePlanIsStoredBeforeItIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		o := order("")
		o.Request.Plan, o.Request.PlanRef = nil, &events.Ref{Digest: "plan"}
		w.blobs["plan"] = []byte(`{"subjobs":[{"id":"a","expert":"x","goal":"` + strings.Repeat("x", 100_000) + `"}]}`)
		musttest.Do(t, w.run(t, nil, w.delivery(t, o)))
		check(t, w, "put blob of j", "state graph.created j/~plan/1", "ack", `counted "graph.created" repeated false`, "drained")
		created := w.facts[0].Data.(*events.GraphCreated)
		var stored events.Plan
		if err := json.Unmarshal(w.blobs["digest"], &stored); err != nil || created.Plan != nil || created.PlanRef.Digest != "digest" || len(stored.SubJobs) != 1 {
			t.Errorf("%+v %v", created, err)
		}
	})
}

func TestAMissingPlanBlobIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		o := order("")
		o.Request.Plan, o.Request.PlanRef = nil, &events.Ref{Digest: "gone"}
		musttest.Do(t, w.run(t, nil, w.delivery(t, o)))
		if f := w.facts[0].Data.(*events.PlanRejected).Faults[0]; f.Code != events.CodeMissingBlob || f.Field != "plan_ref" {
			t.Error(f)
		}
	})
}

// proves C-weakness-7
func TestAPanicIsARejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.options.Zone = func(string) bool { panic("no clock") }
		raw := `{"subjobs":[{"id":"a","goal":"g","schedule":{"daily_time":"09:00","timezone":"UTC"}}]}`
		musttest.Do(t, w.run(t, nil, w.delivery(t, order(raw))))
		if f := w.facts[0].Data.(*events.PlanRejected).Faults[0]; f.Code != events.CodeInternal {
			t.Error(f)
		}
	})
}

func TestACrashAtAnyPointLeavesTheWorkToOthers(t *testing.T) {
	large := `{"subjobs":[{"id":"a","expert":"x","goal":"` + strings.Repeat("x", 100_000) + `"}]}`
	for _, point := range []Point{AtTaken, AtBlob, AtPublish, AtPublished, AtAcked} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			w.dies(t, point, w.delivery(t, order(large)))
			all := strings.Join(w.lines, ",")
			if strings.Contains(all, "ack") != (point == AtAcked) || strings.Contains(all, "nak") || strings.Contains(all, "drained") {
				t.Errorf("%s: %s", point, all)
			}
			if strings.Contains(all, "state") != (point == AtPublished || point == AtAcked) {
				t.Errorf("%s: %s", point, all)
			}
		})
	}
}
