package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// world is a real server, in virtual time, with the planners that a test starts.
type world struct {
	t      *testing.T
	server *bustest.Server
	bus    *bus.Bus
	facts  *bus.Subscription
	config string // Path of the configuration file; empty for none.
}

func virtual(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	bustest.Outside(t)
	synctest.Test(t, func(t *testing.T) {
		s := bustest.Start(t, bustest.Settings{Quiet: true})
		w := &world{t: t, server: s, bus: s.Bus("test")}
		facts, err := w.bus.Log().Follow(t.Context(), w.bus.Names().AllEvents(), bus.FollowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer facts.Stop()
		w.facts = facts
		f(t, w)
	})
}

// start runs a planner until the returned function drains it, at the latest at the end of the test.
func (w *world) start(d app.Deps) (p *host.Process, drain func() error) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var out io.Writer = io.Discard
	if testing.Verbose() {
		out = w.t.Output()
	}
	work, kill := context.WithCancel(context.Background())
	p = host.NewProcess(work, ctx, "planner", host.Settings{Concurrency: 4, DrainTimeout: 5 * time.Second, Config: w.config}, slog.New(slog.NewTextHandler(out, nil)))
	if d.Bus == nil {
		d.Bus = w.server.Connect("planner")
	}
	done := make(chan error, 1)
	go func() { done <- app.Run(work, p, app.Default(), d) }()
	var ended error
	var once bool
	drain = func() error {
		if !once {
			once = true
			cancel()
			ended = <-done
			kill()
		}
		return ended
	}
	w.t.Cleanup(func() { _ = drain() })
	for wait := time.Millisecond; len(p.Health.Reasons(w.t.Context())) > 0; wait *= 2 {
		if wait > time.Minute {
			w.t.Fatalf("planner is not ready: %v", p.Health.Reasons(w.t.Context()))
		}
		<-time.After(wait)
	}
	return p, drain
}

func (w *world) announce(cards ...events.Card) {
	w.t.Helper()
	for _, card := range cards {
		body, err := json.Marshal(card)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.bus.Experts().Put(w.t.Context(), card.ID, body, 0); err != nil {
			w.t.Fatal(err)
		}
	}
}

func three() []events.Card {
	return []events.Card{
		{ID: "design-expert", Name: "Design Expert", Tags: []string{"design", "default"}},
		{ID: "extraction-expert", Name: "Extraction Expert"},
		{ID: "analysis-expert", Name: "Analysis Expert", Tags: []string{"analysis"}},
	}
}

// issue publishes planning work as the scheduler does.
func (w *world) issue(job string, r events.Request) {
	w.t.Helper()
	body, err := json.Marshal(events.Work{
		Kind: events.WorkPlan, Job: job, SubJob: events.PlanID, Run: 1, Attempt: 1, MaxSteps: 20_000, Request: &r,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.send(w.bus.Names().WorkFor(events.PlannerPool, events.PlannerExpert, job, events.PlanID, 1), body)
}

func (w *world) send(subject string, body []byte) {
	w.t.Helper()
	if _, err := w.bus.Publish(w.t.Context(), events.Message{Subject: subject, Body: body}, bus.Expect{}); err != nil {
		w.t.Fatal(err)
	}
}

// fact gives the next fact in the log.
func (w *world) fact() events.Event {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	list, err := w.facts.Next(ctx, 1)
	if err != nil {
		w.t.Fatalf("no fact: %v", err)
	}
	e, ok := list[0].Event()
	if !ok || e.Fault != nil {
		w.t.Fatalf("bad fact: %+v", e)
	}
	return e
}

func (w *world) rejected() events.Faults {
	w.t.Helper()
	e := w.fact()
	r, ok := e.Data.(*events.PlanRejected)
	if !ok {
		w.t.Fatalf("fact is %s, want a rejection", e.Kind)
	}
	return r.Faults
}

// settled waits until no work is left in the pool.
func (w *world) settled() {
	w.t.Helper()
	for wait := time.Millisecond; ; wait *= 2 {
		facts, err := w.bus.Streams().Info(w.t.Context(), w.bus.Names().Work)
		if err != nil {
			w.t.Fatal(err)
		}
		if facts.Messages == 0 {
			return
		}
		if wait > time.Hour {
			w.t.Fatalf("%d pieces of work are left", facts.Messages)
		}
		<-time.After(wait)
	}
}

func TestAPlanInAnyDialectBecomesAGraph(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(three()...)
		w.start(app.Deps{})
		for i, dialect := range app.Dialects() {
			text, _ := app.Template(dialect)
			job := fmt.Sprintf("job%d", i)
			w.issue(job, events.Request{Goal: "g", Plan: json.RawMessage(text)})
			e := w.fact()
			created, ok := e.Data.(*events.GraphCreated)
			if !ok || e.Job != job || e.SubJob != events.PlanID || e.Run != 1 || len(created.Plan.SubJobs) < 2 {
				t.Errorf("%s: %+v", dialect, e)
			}
		}
		quoted, err := json.Marshal("Here it is:\n<decomposition>\n{\"subtask_1\":{\"goal\":\"g\",\"context\":\"\",\"completion_criteria\":\"c\",\"dependencies\":[],\"assigned_expert\":\"Design Expert\",\"thinking\":\"t\"}}\n</decomposition>")
		if err != nil {
			t.Fatal(err)
		}
		w.issue("quoted", events.Request{Plan: quoted})
		if e := w.fact(); e.Kind != events.KindGraphCreated {
			t.Errorf("%+v", e)
		}
		w.settled()
	})
}

func TestPathsWithoutAPlan(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(append(three(), events.Card{ID: "courier", Name: "Courier", Passthrough: true, Pool: "own"})...)
		w.start(app.Deps{})
		w.issue("preset", events.Request{Goal: "carry it", Expert: "courier"})
		created, ok := w.fact().Data.(*events.GraphCreated)
		want := []events.SubJob{{ID: "main", Goal: "carry it", Title: "Run Courier", Expert: "courier", ExpertName: "Courier", Pool: "own"}}
		if !ok || cmp.Diff(want, created.Plan.SubJobs) != "" {
			t.Error(cmp.Diff(want, created.Plan.SubJobs))
		}
		w.issue("goal", events.Request{Goal: "think of something"})
		if faults := w.rejected(); faults[0].Code != events.CodeNoPlanner || !strings.Contains(faults[0].Hint, "plan template") {
			t.Error(faults)
		}
		w.issue("guidance", events.Request{Plan: json.RawMessage(`{"tasks":[],"adequate":true,"guidance_message":"Not that."}`)})
		if e := w.fact(); e.Kind != events.KindJobAnswered || string(e.Data.(*events.JobAnswered).Answer) != `"Not that."` {
			t.Errorf("%+v", e)
		}
		w.settled()
	})
}

func TestARunnerThatComesALittleLateIsInTime(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.start(app.Deps{})
		text, _ := app.Template("native")
		w.issue("early", events.Request{Plan: json.RawMessage(text)})
		<-time.After(time.Second)
		w.announce(three()...)
		if e := w.fact(); e.Kind != events.KindGraphCreated {
			t.Errorf("%+v", e)
		}
		w.issue("typo", events.Request{Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"g","expert":"Desing Expert"}]}`)})
		if faults := w.rejected(); faults[0].Code != events.CodeUnknownExpert || !strings.Contains(faults[0].Hint, "Design Expert") {
			t.Error(faults)
		}
	})
}

func TestALargePlanTravelsByReferenceInAndOut(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(three()...)
		w.start(app.Deps{})
		var p events.Plan
		for i := range 3000 {
			p.SubJobs = append(p.SubJobs, events.SubJob{ID: fmt.Sprintf("s%d", i), Goal: strings.Repeat("x", 50)})
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := w.bus.Blobs().Put(t.Context(), "large", text)
		if err != nil {
			t.Fatal(err)
		}
		w.issue("large", events.Request{PlanRef: &ref})
		created, ok := w.fact().Data.(*events.GraphCreated)
		if !ok || created.Plan != nil || created.PlanRef == nil {
			t.Fatalf("%+v", created)
		}
		stored, err := w.bus.Blobs().Get(t.Context(), "large", created.PlanRef.Digest)
		if err != nil {
			t.Fatal(err)
		}
		var back events.Plan
		if err := json.Unmarshal(stored, &back); err != nil || len(back.SubJobs) != 3000 || back.SubJobs[2999].Expert != "design-expert" {
			t.Error(err, len(back.SubJobs))
		}
		w.issue("gone", events.Request{PlanRef: &events.Ref{Digest: strings.Repeat("0", 64)}})
		if faults := w.rejected(); faults[0].Code != events.CodeMissingBlob {
			t.Error(faults)
		}
	})
}

func TestAnyBytesOnTheWorkSubjectsStopNothing(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(three()...)
		w.start(app.Deps{})
		for _, subject := range []string{
			"jobs.work.~planner.x", "jobs.work.~planner.~planner.j.~plan.0", "jobs.work.~planner.~planner.j.~plan.one",
			"jobs.work.~planner.~planner.j*.~plan.1", "jobs.work.~planner.a.b.c.d.e.f",
		} {
			if strings.Contains(subject, "*") {
				continue // The server refuses it before anybody reads it.
			}
			w.send(subject, []byte{0, 0xff, '{'})
		}
		w.send("jobs.work.~planner.~planner.j.~plan.1", []byte(`{"kind":`))
		if faults := w.rejected(); faults[0].Code != events.CodeMalformed {
			t.Error(faults)
		}
		w.send("jobs.work.~planner.~planner.k.~plan.1", []byte(`{"kind":"plan","job":"k","subjob":"~plan","run":1}`))
		if faults := w.rejected(); faults[0].Code != events.CodeMissing {
			t.Error(faults)
		}
		w.settled()
	})
}

// proves C-weakness-7
// proves V-weakness-12
func TestACrashedPlannersWorkIsDoneByTheNext(t *testing.T) {
	for _, point := range app.Points() {
		if slices.Contains([]string{"claim", "intent", "answered", "kept"}, point) {
			continue // Those of work that a model is asked about have a test of their own.
		}
		virtual(t, func(t *testing.T, w *world) {
			w.announce(three()...)
			killed := errors.New("killed")
			_, drain := w.start(app.Deps{Hook: func(at string) error {
				if at == point {
					return killed
				}
				return nil
			}})
			steps := make([]string, 3000)
			for i := range steps {
				steps[i] = "[DESIGN] " + strings.Repeat("x", 50)
			}
			text, err := json.Marshal(steps)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := w.bus.Blobs().Put(t.Context(), "j", text)
			if err != nil {
				t.Fatal(err)
			}
			w.issue("j", events.Request{PlanRef: &ref})
			<-time.After(time.Second)
			if err := drain(); !errors.Is(err, killed) {
				t.Fatalf("%s: %v", point, err)
			}
			w.start(app.Deps{})
			if e := w.fact(); e.Kind != events.KindGraphCreated {
				t.Errorf("%s: %+v", point, e)
			}
			w.settled()
			info, err := w.bus.Streams().Info(t.Context(), w.bus.Names().Log)
			if err != nil || info.Messages != 1 {
				t.Errorf("%s: %d facts, %v", point, info.Messages, err)
			}
		})
	}
}

func TestWorkThatWasNotBegunIsGivenBack(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		_, drain := w.start(app.Deps{})
		for i := range 300 { // No expert is there: each waits, and those beyond the window are not begun.
			w.issue(fmt.Sprintf("j%d", i), events.Request{Plan: json.RawMessage(`["a"]`)})
		}
		if err := drain(); err != nil {
			t.Fatal(err)
		}
		w.announce(three()...)
		began := time.Now()
		w.start(app.Deps{})
		for range 300 {
			if e := w.fact(); e.Kind != events.KindGraphCreated {
				t.Fatalf("%+v", e)
			}
		}
		// Work that crosses the drain on its way to the reader is given back as well.
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the next planner had to wait %s", took)
		}
	})
}

func TestTheExamplesPlansPassTheCheck(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "examples", "inventory")
	names := []string{"Design Expert", "Extraction Expert", "Analysis Expert", "Code Extraction Expert", "Text Extraction Expert", "Ranking Expert", "Report Expert"}
	var cards []events.Card
	for _, name := range names {
		cards = append(cards, events.Card{ID: events.Slug(name), Name: name})
	}
	decomposed, err := os.ReadFile(filepath.Join(dir, "plan.chat2graph.json"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "job.json"))
	if err != nil {
		t.Fatal(err)
	}
	var job events.Request
	if err := json.Unmarshal(text, &job); err != nil {
		t.Fatal(err)
	}
	for _, raw := range [][]byte{decomposed, job.Plan} {
		if p, faults, warnings := app.Check(raw, cards, 100); p == nil || len(faults)+len(warnings) > 0 {
			t.Error(faults, warnings)
		}
	}
}

func TestSchemasAndTimeZonesAreChecked(t *testing.T) {
	raw := `{"subjobs":[
		{"id":"a","goal":"g","output_schema":{"type":"object","required":["x"]},"schedule":{"daily_time":"09:00","timezone":"Asia/Tokyo"}},
		{"id":"b","goal":"g","output_schema":{"type":"nothing"}},
		{"id":"c","goal":"g","output_schema":{"$ref":"file:///etc/passwd"}},
		{"id":"d","goal":"g","schedule":{"daily_time":"09:00","timezone":"Local"}}]}`
	_, faults, _ := app.Check([]byte(raw), three(), 0)
	var fields []string
	for _, f := range faults {
		fields = append(fields, f.Field)
	}
	if d := cmp.Diff([]string{"subjobs[1].output_schema", "subjobs[2].output_schema", "subjobs[3].schedule.timezone"}, fields); d != "" {
		t.Error(d)
	}
}

func TestAnAnswerInPlaceOfAPlanIsTold(t *testing.T) {
	p, faults, _ := app.Check([]byte(`{"tasks":[],"guidance_message":"Ask a doctor."}`), three(), 0)
	if p != nil || len(faults) != 1 || !strings.Contains(faults[0].Message, "Ask a doctor.") {
		t.Error(p, faults)
	}
	if p, faults, _ := app.CheckEdit([]byte(`{"subjobs":[{"id":"a~1~b","goal":"g","dependencies":["old"]}]}`), three(), 0, []string{"a~1~b"}, []string{"old"}); p == nil || p.SubJobs[0].ID != "a~1~b" {
		t.Error(p, faults)
	}
}
