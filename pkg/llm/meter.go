package llm

import "time"

// Observation is one finished attempt, for metrics.
type Observation struct {
	// Model is the configured name.
	Model string
	// Outcome is "ok" or a Class.
	Outcome string
	// Usage counts the tokens of the attempt.
	Usage Usage
	// CostUSD is the cost, nil if unknown.
	CostUSD *float64
	// Took is the provider's time, without waits.
	Took time.Duration
}

// Meter counts attempts: jobgraph_llm_requests_total{model,outcome}, jobgraph_llm_tokens_total{model,type},
// jobgraph_llm_cost_usd_total{model} and jobgraph_llm_request_duration_seconds{model}.
type Meter interface {
	// Observe may be called from any goroutine and must not block.
	Observe(Observation)
}

// Tokens returns the token counts of an observation by the value of the label `type`. The kinds do not overlap, so that
// their sum is the total.
func (o Observation) Tokens() map[string]int {
	return map[string]int{
		"prompt":     max(0, o.Usage.Prompt-o.Usage.Cached),
		"cached":     o.Usage.Cached,
		"completion": max(0, o.Usage.Completion-o.Usage.Reasoning),
		"reasoning":  o.Usage.Reasoning,
	}
}
