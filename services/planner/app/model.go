package app

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/services/planner/internal/caller"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/profile"
	"github.com/jobgraph/jobgraph/services/planner/internal/session"
)

// newModel gives the model to plan with: the one that was brought along, else those of settings and configuration file, nil
// without any. members are what has to run beside it.
func newModel(p *host.Process, s Settings, d Deps) (model loop.Model, members []host.Member, err error) {
	if d.Model != nil {
		return &caller.Model{Client: d.Model, Shown: d.ModelName}, nil, nil
	}
	m, err := openModels(p, s, d.Doer)
	if err != nil || m == nil {
		return nil, nil, err
	}
	if m.path != "" {
		members = append(members, m.follow())
	}
	return m, members, nil
}

// modelMeter feeds the metrics of models.
type modelMeter struct {
	requests, tokens, cost *prometheus.CounterVec
	took                   *prometheus.HistogramVec
}

func newModelMeter(m *host.Metrics) *modelMeter {
	return &modelMeter{
		requests: m.Counter("jobgraph_llm_requests_total", "Attempts to call a model, by what came of them.", "model", "outcome"),
		tokens:   m.Counter("jobgraph_llm_tokens_total", "Tokens as billed; the types do not overlap.", "model", "type"),
		cost:     m.Counter("jobgraph_llm_cost_usd_total", "What calls have cost, as far as it is known, in US dollars.", "model"),
		took:     m.Histogram("jobgraph_llm_request_duration_seconds", "How long an attempt took, waits excluded.", latencies(), "model"),
	}
}

// Observe implements llm.Meter.
func (m *modelMeter) Observe(o llm.Observation) {
	m.requests.WithLabelValues(o.Model, o.Outcome).Inc()
	for kind, n := range o.Tokens() {
		m.tokens.WithLabelValues(o.Model, kind).Add(float64(n))
	}
	if o.CostUSD != nil {
		m.cost.WithLabelValues(o.Model).Add(max(0, *o.CostUSD))
	}
	m.took.WithLabelValues(o.Model).Observe(o.Took.Seconds())
}

// profiles are the rules of planning, as the loop wants them.
type profiles struct{ *profile.Set }

// readProfiles reads what comes with the program, and the user's folder on top of it.
func readProfiles(dir string) (profiles, error) {
	var folder fs.FS
	if dir != "" {
		folder = os.DirFS(dir)
	}
	set, err := profile.Read(folder)
	if err != nil {
		return profiles{}, host.Faults{{Code: events.CodeInvalid, Field: "profiles", Message: "cannot be used", Cause: err.Error(), Hint: "put every fault right, or leave the setting out"}}
	}
	return profiles{set}, nil
}

// Find implements loop.Profiles.
func (p profiles) Find(name string) (session.Profile, string, error) {
	e, found := p.Get(name)
	if !found {
		return session.Profile{}, "", fmt.Errorf("%.80q is none of %s", name, strings.Join(p.Names(), ", "))
	}
	return e.Profile, p.Version(), nil
}

// decomposition is the tag that a plan may stand in.
const decomposition = "decomposition"

// readJSON finds the JSON that fits in what a model wrote.
func readJSON(text string, fits func(json.RawMessage) bool) (json.RawMessage, error) {
	raw, _, err := lenient.Read(text, lenient.Options{Fits: fits, Tags: []string{decomposition}})
	return raw, err
}
