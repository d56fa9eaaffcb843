package graph

import (
	"math"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// AddSpent sums costs. Workers may report any number: a negative one counts as zero, and a sum stays at the largest number, since
// JSON has no infinity and tokens would overflow.
func AddSpent(a, b events.Spent) events.Spent {
	a.Tokens, b.Tokens = max(0, a.Tokens), max(0, b.Tokens)
	return events.Spent{
		Tokens:  a.Tokens + min(b.Tokens, math.MaxInt64-a.Tokens),
		CostUSD: min(max(0, a.CostUSD)+max(0, b.CostUSD), math.MaxFloat64),
	}
}
