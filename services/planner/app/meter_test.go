package app_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// fickle plans badly at first: prose, then an expert that does not exist, then a plan. It answers a request for a summary.
type fickle struct{ drafts int }

func (f *fickle) Respond(q llmtest.Question) (llmtest.Answer, error) {
	if q.Schema == nil {
		return llmtest.Answer{Text: "All is done."}, nil
	}
	f.drafts++
	switch f.drafts {
	case 1:
		return llmtest.Answer{Text: "I would rather talk."}, nil
	case 2:
		return llmtest.Answer{Text: `{"has_enough_context":true,"subjobs":[{"id":"a","goal":"go","expert":"Nobody"}]}`}, nil
	}
	return llmtest.Answer{Text: `{"has_enough_context":true,"subjobs":[{"id":"a","goal":"go","expert":"Design Expert"},{"id":"b","goal":"look at what the designer made of it","expert":"Analysis Expert","dependencies":["a"]}]}`}, nil
}

// values returns a planner's counters and counts of histograms, by name and label.
func values(t *testing.T, p *host.Process) map[string]float64 {
	t.Helper()
	families := musttest.Get(p.Metrics.Gatherer().Gather())(t)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	got := map[string]float64{}
	for _, f := range families {
		name, ours := strings.CutPrefix(f.GetName(), "jobgraph_planner_")
		for _, m := range f.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			switch h := m.GetHistogram(); {
			case !ours:
			case h == nil:
				got[key] = m.GetCounter().GetValue()
			case name == "duration_seconds":
				got[key] = float64(h.GetSampleCount())
			default:
				got[key] = h.GetSampleSum()
			}
		}
	}
	return got
}

// proves D19
func TestWhatPlanningIsWorthIsMeasured(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		w.Config = filepath.Join(t.TempDir(), "jobgraph.yaml")
		priced := "version: 1\nmodels: {fickle: {model: fickle, base_url: 'http://fake.invalid/v1', price: {prompt: 1, cached: 1, completion: 1}}}\n"
		musttest.Write(t, w.Config, priced)
		p := start(w, app.Deps{Doer: llmtest.New(&fickle{})})
		until := func(kind events.Kind) events.Event {
			for e := w.Fact(); ; e = w.Fact() {
				if e.Kind == kind {
					return e
				}
			}
		}
		issue(w, "bad", events.Request{Goal: "plan it", Profile: "steps-like"})
		until(events.KindPlanRejected)
		issue(w, "worse", events.Request{Goal: "plan it", Profile: "graph"})
		until(events.KindPlanRejected)
		issue(w, "good", events.Request{Goal: "plan it", Profile: "graph"})
		until(events.KindGraphCreated)
		body := musttest.Get(json.Marshal(events.Work{
			Kind: events.WorkFinalize, Job: "good", SubJob: events.FinalID, Run: 1, Attempt: 1, Request: &events.Request{
				Goal: "plan it", Finalize: "summary", Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"go"}]}`),
			}, Results: map[string]events.Result{"a": {Output: json.RawMessage(`1`)}},
		}))(t)
		w.Publish(w.Names.WorkFor(events.PlannerPool, events.PlannerExpert, "good", events.FinalID, 1), body)
		until(events.KindSubJobReported)
		w.Idle()
		want := map[string]float64{
			"plans_total graph": 1, "plans_total rejected": 2, "plan_faults_total not_found": 1, "plan_faults_total unknown_expert": 1,
			"plan_faults_total executable": 1, "enough_context_total true": 1,
			"drafts_total valid": 1, "drafts_total faulty": 1, "drafts_total unreadable": 1, "drafts_total failed": 0,
			"steps": 2, "rounds": 1, "duration_seconds": 3, "results_total model": 1,
		}
		got := values(t, p.Process)
		musttest.Equal(t, want, got)
		families := musttest.Get(p.Metrics.Gatherer().Gather())(t)
		var names []string
		for _, f := range families {
			names = append(names, f.GetName())
		}
		for _, name := range []string{"requests_total", "tokens_total", "cost_usd_total", "request_duration_seconds"} {
			if !slices.Contains(names, "jobgraph_llm_"+name) {
				t.Errorf("no jobgraph_llm_%s among %v", name, names)
			}
		}
	})
}
