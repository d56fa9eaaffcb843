package app

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

// meter feeds the metrics of the planner.
type meter struct {
	published, plans, faults, enough *prometheus.CounterVec
	steps, rounds, took              prometheus.Observer
}

func newMeter(m *host.Metrics) *meter {
	return &meter{
		published: m.Counter("jobgraph_events_published_total", "Events published.", "kind"),
		plans: m.Counter("jobgraph_planner_plans_total",
			"Planning work by what came of it: graph, answer, rejected, repeated, malformed.", "result"),
		faults: m.Counter("jobgraph_planner_plan_faults_total", "Faults of rejected plans.", "kind"),
		enough: m.Counter("jobgraph_planner_enough_context_total", "Plans by what they say of their context.", "value"),
		steps: m.Histogram("jobgraph_planner_steps", "SubJobs of a graph.",
			[]float64{1, 2, 3, 5, 10, 20, 50, 100, 1000, 10000}).WithLabelValues(),
		rounds: m.Histogram("jobgraph_planner_rounds", "Which planning run of its job or SubJob gave the graph.",
			[]float64{1, 2, 3, 5, 10}).WithLabelValues(),
		took: m.Histogram("jobgraph_planner_duration_seconds", "Time from taking planning work to its answer.", nil).WithLabelValues(),
	}
}

// Decided implements loop.Meter.
func (m *meter) Decided(o loop.Outcome) {
	result := map[events.Kind]string{
		"": "malformed", events.KindGraphCreated: "graph", events.KindJobAnswered: "answer", events.KindPlanRejected: "rejected",
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
	if o.EnoughContext != nil {
		m.enough.WithLabelValues(strconv.FormatBool(*o.EnoughContext)).Inc()
	}
	if o.Kind == events.KindGraphCreated {
		m.steps.Observe(float64(o.Steps))
		m.rounds.Observe(float64(o.Run))
	}
}
