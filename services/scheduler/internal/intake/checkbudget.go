package intake

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// checkBudget lowers the budgets of a job to what is left for its session and day: from then on they are its own, and the core
// enforces them. A request that is refused because nothing is left may be a repeat of one that was admitted; then it has been
// admitted already.
func (a *Admitter) checkBudget(ctx context.Context, requested *events.JobRequested) (admission Admission, done bool, err error) {
	if a.Budgets == nil {
		return admission, false, nil
	}
	admission.JobID = requested.Request.ID
	left, err := a.Budgets.Left(ctx, requested.Request.Session)
	var used events.Faults
	if errors.As(err, &used) {
		again, err := a.repeated(ctx, admission, requested.Digest)
		if err == nil {
			return again, true, nil
		}
		var conflict events.Faults
		if !errors.As(err, &conflict) {
			return admission, false, err
		}
		return admission, false, used
	}
	if err != nil {
		return admission, false, err
	}
	rules := &requested.Rules
	if left.Tokens > 0 && (rules.Tokens == 0 || left.Tokens < rules.Tokens) {
		rules.Tokens = left.Tokens
	}
	if left.CostUSD > 0 && (rules.CostUSD == 0 || left.CostUSD < rules.CostUSD) {
		rules.CostUSD = left.CostUSD
	}
	return admission, false, nil
}
