package loop

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// exhausted reports whether a command would cost something and the run has used up what the job could still spend. The wording of a
// result is paid for in any case: without it, all that was spent before would be lost.
func (t *planningRun) exhausted(c *planning.Command) bool {
	if t.w.SubJob == events.FinalID {
		return false
	}
	if t.record != nil {
		if _, known := t.record.facts[c.Key]; known {
			return false
		}
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
