package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// start starts a planner on its own connection, and returns when it is ready.
func start(w *servicetest.Env, d app.Deps) *servicetest.Service {
	w.Helper()
	if d.Bus == nil {
		d.Bus = w.Server.Connect("planner")
	}
	run := func(ctx context.Context, p *host.Process) error { return app.Run(ctx, p, app.Default(), d) }
	return w.Start("planner", host.Settings{Concurrency: 4}, run).Await()
}

func three() []events.Card {
	return []events.Card{
		{ID: "design-expert", Name: "Design Expert", Tags: []string{"design", "default"}},
		{ID: "extraction-expert", Name: "Extraction Expert"},
		{ID: "analysis-expert", Name: "Analysis Expert", Tags: []string{"analysis"}},
	}
}

// issue publishes planning work for a request.
func issue(w *servicetest.Env, job string, r events.Request) {
	w.Helper()
	w.Issue(events.Work{Kind: events.WorkPlan, Job: job, SubJob: events.PlanID, Run: 1, Attempt: 1, MaxSteps: 20_000, Request: &r})
}

func rejected(w *servicetest.Env) events.Faults {
	w.Helper()
	e := w.Fact()
	r, ok := e.Data.(*events.PlanRejected)
	if !ok {
		w.Fatalf("fact is %s, want a rejection", e.Kind)
	}
	return r.Faults
}

// proves D3
func TestAPlanInAnyDialectBecomesAGraph(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		start(w, app.Deps{})
		for i, dialect := range app.Dialects() {
			text, _ := app.Template(dialect)
			job := fmt.Sprintf("job%d", i)
			issue(w, job, events.Request{Goal: "g", Plan: json.RawMessage(text)})
			e := w.Fact()
			created, ok := e.Data.(*events.GraphCreated)
			if !ok || e.Job != job || e.SubJob != events.PlanID || e.Run != 1 || len(created.Plan.SubJobs) < 2 {
				t.Errorf("%s: %+v", dialect, e)
			}
		}
		quoted := musttest.JSON(t, "Here it is:\n<decomposition>\n{\"subtask_1\":{\"goal\":\"g\",\"context\":\"\",\"completion_criteria\":\"c\",\"dependencies\":[],\"assigned_expert\":\"Design Expert\",\"thinking\":\"t\"}}\n</decomposition>")
		issue(w, "quoted", events.Request{Plan: quoted})
		if e := w.Fact(); e.Kind != events.KindGraphCreated {
			t.Errorf("%+v", e)
		}
		w.Idle()
	})
}

func TestPathsWithoutAPlan(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(append(three(), events.Card{ID: "courier", Name: "Courier", Passthrough: true, Pool: "own"})...)
		start(w, app.Deps{})
		issue(w, "preset", events.Request{Goal: "carry it", Expert: "courier"})
		created, ok := w.Fact().Data.(*events.GraphCreated)
		want := []events.SubJob{{ID: "main", Goal: "carry it", Title: "Run Courier", Expert: "courier", ExpertName: "Courier", Pool: "own"}}
		if !ok || cmp.Diff(want, created.Plan.SubJobs) != "" {
			t.Error(cmp.Diff(want, created.Plan.SubJobs))
		}
		issue(w, "goal", events.Request{Goal: "think of something"})
		if faults := rejected(w); faults[0].Code != events.CodeNoPlanner || !strings.Contains(faults[0].Hint, "plan template") {
			t.Error(faults)
		}
		issue(w, "guidance", events.Request{Plan: json.RawMessage(`{"tasks":[],"adequate":true,"guidance_message":"Not that."}`)})
		if e := w.Fact(); e.Kind != events.KindJobAnswered || string(e.Data.(*events.JobAnswered).Answer) != `"Not that."` {
			t.Errorf("%+v", e)
		}
		w.Idle()
	})
}

func TestARunnerThatComesALittleLateIsInTime(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Deps{})
		text, _ := app.Template("native")
		issue(w, "early", events.Request{Plan: json.RawMessage(text)})
		<-time.After(time.Second)
		w.Announce(three()...)
		if e := w.Fact(); e.Kind != events.KindGraphCreated {
			t.Errorf("%+v", e)
		}
		issue(w, "typo", events.Request{Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"g","expert":"Desing Expert"}]}`)})
		if faults := rejected(w); faults[0].Code != events.CodeUnknownExpert || !strings.Contains(faults[0].Hint, "Design Expert") {
			t.Error(faults)
		}
	})
}

func TestALargePlanTravelsByReferenceInAndOut(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		start(w, app.Deps{})
		var p events.Plan
		for i := range 3000 {
			p.SubJobs = append(p.SubJobs, events.SubJob{ID: fmt.Sprintf("s%d", i), Goal: strings.Repeat("x", 50)})
		}
		text := musttest.JSON(t, p)
		ref := musttest.Get(w.Bus.Blobs().Put(t.Context(), "large", text))(t)
		issue(w, "large", events.Request{PlanRef: &ref})
		created, ok := w.Fact().Data.(*events.GraphCreated)
		if !ok || created.Plan != nil || created.PlanRef == nil {
			t.Fatalf("%+v", created)
		}
		stored := musttest.Get(w.Bus.Blobs().Get(t.Context(), "large", created.PlanRef.Digest))(t)
		var back events.Plan
		if err := json.Unmarshal(stored, &back); err != nil || len(back.SubJobs) != 3000 || back.SubJobs[2999].Expert != "design-expert" {
			t.Error(err, len(back.SubJobs))
		}
		issue(w, "gone", events.Request{PlanRef: &events.Ref{Digest: strings.Repeat("0", 64)}})
		if faults := rejected(w); faults[0].Code != events.CodeMissingBlob {
			t.Error(faults)
		}
	})
}

func TestAnyBytesOnTheWorkSubjectsStopNothing(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		start(w, app.Deps{})
		for _, subject := range []string{
			"jobs.work.~planner.x", "jobs.work.~planner.~planner.j.~plan.0", "jobs.work.~planner.~planner.j.~plan.one",
			"jobs.work.~planner.~planner.j*.~plan.1", "jobs.work.~planner.a.b.c.d.e.f",
		} {
			if strings.Contains(subject, "*") {
				continue // The server rejects it before a planner reads it.
			}
			w.Publish(subject, []byte{0, 0xff, '{'})
		}
		w.Publish("jobs.work.~planner.~planner.j.~plan.1", []byte(`{"kind":`))
		if faults := rejected(w); faults[0].Code != events.CodeMalformed {
			t.Error(faults)
		}
		w.Publish("jobs.work.~planner.~planner.k.~plan.1", []byte(`{"kind":"plan","job":"k","subjob":"~plan","run":1}`))
		if faults := rejected(w); faults[0].Code != events.CodeMissing {
			t.Error(faults)
		}
		w.Idle()
	})
}

// proves C-weakness-7
// proves V-weakness-12
func TestACrashedPlannersWorkIsDoneByTheNext(t *testing.T) {
	for _, point := range app.Points() {
		if slices.Contains([]string{"claim", "intent", "answered", "kept"}, point) {
			continue // Boundaries of work that needs a model have a test of their own.
		}
		servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
			w.Announce(three()...)
			killed := errors.New("killed")
			p := start(w, app.Deps{Hook: func(at string) error {
				if at == point {
					return killed
				}
				return nil
			}})
			steps := make([]string, 3000)
			for i := range steps {
				steps[i] = "[DESIGN] " + strings.Repeat("x", 50)
			}
			text := musttest.JSON(t, steps)
			ref := musttest.Get(w.Bus.Blobs().Put(t.Context(), "j", text))(t)
			issue(w, "j", events.Request{PlanRef: &ref})
			<-time.After(time.Second)
			if err := p.Stop(); !errors.Is(err, killed) {
				t.Fatalf("%s: %v", point, err)
			}
			start(w, app.Deps{})
			if e := w.Fact(); e.Kind != events.KindGraphCreated {
				t.Errorf("%s: %+v", point, e)
			}
			w.Idle()
			info, err := w.Bus.Streams().Info(t.Context(), w.Names.Log)
			if err != nil || info.Messages != 1 {
				t.Errorf("%s: %d facts, %v", point, info.Messages, err)
			}
		})
	}
}

func TestWorkThatWasNotBegunIsGivenBack(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		p := start(w, app.Deps{})
		for i := range 300 { // No expert is there: each waits, and those beyond the window do not start.
			issue(w, fmt.Sprintf("j%d", i), events.Request{Plan: json.RawMessage(`["a"]`)})
		}
		musttest.Do(t, p.Stop())
		w.Announce(three()...)
		began := time.Now()
		start(w, app.Deps{})
		for range 300 {
			if e := w.Fact(); e.Kind != events.KindGraphCreated {
				t.Fatalf("%+v", e)
			}
		}
		// Work that arrives during the drain is given back as well.
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
	decomposed := musttest.Read(t, filepath.Join(dir, "plan.chat2graph.json"))
	text := musttest.Read(t, filepath.Join(dir, "job.json"))
	var job events.Request
	musttest.Decode(t, text, &job)
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
	musttest.Equal(t, []string{"subjobs[1].output_schema", "subjobs[2].output_schema", "subjobs[3].schedule.timezone"}, fields)
}

func TestAnAnswerInPlaceOfAPlanIsTold(t *testing.T) {
	p, faults, _ := app.Check([]byte(`{"tasks":[],"guidance_message":"Ask a doctor."}`), three(), 0)
	if p != nil || len(faults) != 1 || !strings.Contains(faults[0].Message, "Ask a doctor.") {
		t.Error(p, faults)
	}
}
