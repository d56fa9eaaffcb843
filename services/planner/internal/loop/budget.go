package loop

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// exhausted reports whether the run has used up what the job could still spend, so that it may ask no more. A run that was taken over
// passes each of its answers with the same sums as before. The wording of a result is paid for in any case: without it, all that was
// spent before would be lost.
func (t *planningRun) exhausted() bool {
	if t.w.SubJob == events.FinalID {
		return false
	}
	spent, left := t.planning.Spent(t.w.Run), t.w.Budget
	return left.Tokens > 0 && spent.Tokens >= left.Tokens || left.CostUSD > 0 && spent.CostUSD >= left.CostUSD
}

// overspent ends the run.
func (t *planningRun) overspent() verdict {
	spent, left := t.planning.Spent(t.w.Run), t.w.Budget
	v := rejected(events.Fault{
		Code:    events.CodeBudget,
		Message: fmt.Sprintf("planning used %d tokens and %.4f USD; the job could still spend %d tokens and %.4f USD (0: no limit)", spent.Tokens, spent.CostUSD, left.Tokens, left.CostUSD),
		Hint:    "raise limits.tokens or limits.cost_usd",
	})
	v.spent = spent
	return v
}
