package loop

import "github.com/jobgraph/jobgraph/pkg/events"

// The smallest budgets that are passed on: a job that has spent exactly its limit is not over yet, and zero means no limit.
const (
	leastTokens = 1
	leastCost   = 1e-6
)

// budget is what a job may still spend.
func budget(r *events.Rules, spent events.Spent) (left events.Spent) {
	if r.Tokens > 0 {
		left.Tokens = max(leastTokens, r.Tokens-spent.Tokens)
	}
	if r.CostUSD > 0 {
		left.CostUSD = max(leastCost, r.CostUSD-spent.CostUSD)
	}
	return left
}
