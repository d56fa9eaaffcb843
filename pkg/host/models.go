package host

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ModelMetrics are the families about models, for every service that calls models.
type ModelMetrics struct {
	requests, tokens, cost, json *prometheus.CounterVec
	took                         *prometheus.HistogramVec
}

// Models declares the families about models.
func (m *Metrics) Models() *ModelMetrics {
	return &ModelMetrics{
		requests: m.Counter("jobgraph_llm_requests_total", "Attempts to call a model, by what came of them.", "model", "outcome"),
		tokens:   m.Counter("jobgraph_llm_tokens_total", "Tokens as billed; the types do not overlap.", "model", "type"),
		cost:     m.Counter("jobgraph_llm_cost_usd_total", "What calls have cost, as far as it is known, in US dollars.", "model"),
		json:     m.Counter("jobgraph_llm_json_total", "JSON read out of models' texts, also when a run is taken up again, by its use and by how far it is trusted: unchanged, repaired, guess, none.", "use", "trust"),
		took:     m.Histogram("jobgraph_llm_request_duration_seconds", "How long an attempt took, waits excluded.", Patience(), "model"),
	}
}

// Attempt counts one attempt: its outcome, its tokens by type, its cost in US dollars (nil if unknown), and its duration.
func (m *ModelMetrics) Attempt(model, outcome string, tokens map[string]int, cost *float64, took time.Duration) {
	m.requests.WithLabelValues(model, outcome).Inc()
	for kind, n := range tokens {
		m.tokens.WithLabelValues(model, kind).Add(float64(n))
	}
	if cost != nil {
		m.cost.WithLabelValues(model).Add(max(0, *cost))
	}
	m.took.WithLabelValues(model).Observe(took.Seconds())
}

// JSON counts the JSON read from a model's text, by purpose and level of trust.
func (m *ModelMetrics) JSON(use, trust string) { m.json.WithLabelValues(use, trust).Inc() }

// Patience returns buckets for waits for models, in seconds: from immediate answers to minutes of reasoning.
func Patience() []float64 {
	return []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320}
}
