package app

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

// meter implements loop.Meter with the planner's metrics.
type meter struct {
	published, plans, faults, enough, drafts, results, cache *prometheus.CounterVec
	steps, rounds, took                                      prometheus.Observer
}

func newMeter(m *host.Metrics) *meter {
	return &meter{
		published: m.Counter("jobgraph_events_published_total", "Events published.", "kind"),
		plans: m.Counter("jobgraph_planner_plans_total",
			"Planning work by what came of it: graph, answer, question, rejected, repeated, malformed.", "result"),
		faults: m.Counter("jobgraph_planner_plan_faults_total",
			"Faults of rejected plans by code, and doubts about valid ones: sensible, executable, language, step_type.", "kind"),
		enough: m.Counter("jobgraph_planner_enough_context_total", "Plans by what they say of their context.", "value"),
		drafts: m.Counter("jobgraph_planner_drafts_total",
			"Drafts of models: valid, faulty, unreadable (no plan in the text), failed (no text).", "result"),
		results: m.Counter("jobgraph_planner_results_total",
			"Results put into words, by author: model, stand_in, fixed; handed_on to the stand-in, failed.", "author"),
		cache: m.Counter("jobgraph_planner_plan_cache_total",
			"Graphs of requests that may reuse a plan: hit (one of an earlier job), miss (planned).", "result"),
		steps: m.Histogram("jobgraph_planner_steps", "SubJobs of a graph.",
			[]float64{1, 2, 3, 5, 10, 20, 50, 100, 1000, 10000}).WithLabelValues(),
		rounds: m.Histogram("jobgraph_planner_rounds", "How often a model planned until there was a graph.",
			[]float64{1, 2, 3, 5, 10}).WithLabelValues(),
		took: m.Histogram("jobgraph_planner_duration_seconds", "Time from taking planning work to its answer.", host.Patience()).WithLabelValues(),
	}
}

// Decided implements loop.Meter.
func (m *meter) Decided(o loop.Outcome) {
	if o.Kind == events.KindSubJobReported {
		m.finished(&o)
		return
	}
	result := map[events.Kind]string{
		"": "malformed", events.KindGraphCreated: "graph", events.KindJobAnswered: "answer", events.KindPlanRejected: "rejected",
		events.KindInputRequested: "question",
	}[o.Kind]
	if o.Repeated {
		result = "repeated"
	}
	m.plans.WithLabelValues(result).Inc()
	if o.Kind == "" || o.Repeated {
		return
	}
	m.published.WithLabelValues(string(o.Kind)).Inc()
	m.took.Observe(o.Took.Seconds())
	for i := range o.Faults {
		m.faults.WithLabelValues(string(o.Faults[i].Code)).Inc()
	}
	for _, kind := range o.Remarks {
		m.faults.WithLabelValues(kind).Inc()
	}
	for result, n := range map[string]int{
		"valid": o.Drafts.Valid, "faulty": o.Drafts.Faulty, "unreadable": o.Drafts.Unreadable, "failed": o.Drafts.Failed,
	} {
		m.drafts.WithLabelValues(result).Add(float64(n))
	}
	if o.EnoughContext != nil {
		m.enough.WithLabelValues(strconv.FormatBool(*o.EnoughContext)).Inc()
	}
	if o.Cache != "" {
		m.cache.WithLabelValues(o.Cache).Inc()
	}
	if o.Kind == events.KindGraphCreated {
		m.steps.Observe(float64(o.Steps))
		if o.Rounds > 0 {
			m.rounds.Observe(float64(o.Rounds))
		}
	}
}

// finished counts the writing of summaries and reports.
func (m *meter) finished(o *loop.Outcome) {
	if o.Repeated {
		return
	}
	m.published.WithLabelValues(string(o.Kind)).Inc()
	author := string(o.Author)
	if author == "" {
		author = "failed"
	}
	m.results.WithLabelValues(author).Inc()
}
