package graph

import (
	"math"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// AddSpent sums costs. Workers may report any number, a negative one counts as nothing; a sum that no number can hold stays at
// the largest one, since JSON writes no infinity and tokens would turn negative.
func AddSpent(a, b events.Spent) events.Spent {
	a.Tokens, b.Tokens = max(0, a.Tokens), max(0, b.Tokens)
	return events.Spent{
		Tokens:  a.Tokens + min(b.Tokens, math.MaxInt64-a.Tokens),
		CostUSD: min(max(0, a.CostUSD)+max(0, b.CostUSD), math.MaxFloat64),
	}
}
