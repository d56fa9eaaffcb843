package intake

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// DefaultRules are the rules of a job that sets no limits.
func DefaultRules() events.Rules {
	return events.Rules{
		Version: events.RulesVersion, MaxSteps: 20_000, MaxPlanRounds: 3, LifeCycle: 3, Retries: 3, InputRounds: 2,
		RetryDelay: events.Duration(time.Second), RetryDelayMax: events.Duration(time.Minute),
		FailurePolicy: events.FailFast, Finalize: "tails",
		Lease: events.Duration(10 * time.Second), LeaseMargin: events.Duration(5 * time.Second),
		Retention: events.Duration(720 * time.Hour),
	}
}

// Resolve writes a request's limits and policies over the defaults.
func Resolve(rules events.Rules, r *events.Request) events.Rules {
	l := &r.Limits
	if len(r.Plan) > 0 && string(r.Plan) != "null" || r.PlanRef != nil {
		set(&rules.MaxSteps, l.MaxSteps)
	} else if l.MaxSteps != nil { // The number is advice to the planner, which a good plan may exceed.
		rules.MaxSteps = max(rules.MaxSteps, *l.MaxSteps)
	}
	set(&rules.MaxPlanRounds, l.MaxPlanRounds)
	set(&rules.LifeCycle, l.LifeCycle)
	set(&rules.Retries, l.Retries)
	set(&rules.InputRounds, l.InputRounds)
	set(&rules.Concurrency, l.Concurrency)
	rules.ConcurrencyKey = l.ConcurrencyKey
	set(&rules.KeyConcurrency, l.KeyConcurrency)
	if most := rules.KeyConcurrency; most > 0 && (rules.Concurrency == 0 || rules.Concurrency > most) {
		rules.Concurrency = most // A job cannot use more slots than the key has for all jobs together.
	}
	set(&rules.RetryDelay, l.RetryDelay)
	set(&rules.Deadline, l.Deadline)
	set(&rules.Tokens, l.Tokens)
	set(&rules.CostUSD, l.CostUSD)
	if rules.Version >= answersSince {
		rules.Answer = patience(r)
	}
	rules.RetryDelayMax = max(rules.RetryDelayMax, rules.RetryDelay)
	if r.FailurePolicy != "" {
		rules.FailurePolicy = r.FailurePolicy
	}
	if r.Finalize != "" {
		rules.Finalize = r.Finalize
	}
	return rules
}

// answersSince is the first version of the decision rules in which a job can limit the time for answers.
const answersSince = 5

// patience is how long a question of an expert stays open if the question itself sets no limit; 0 means for ever. It is limited for
// jobs of schedules, since perhaps no person watches them.
func patience(r *events.Request) events.Duration {
	switch {
	case r.Limits.Answer != nil:
		return *r.Limits.Answer
	case r.Unattended != nil && *r.Unattended, r.Labels[schedule.Label] != "":
		return events.UnattendedAnswer
	}
	return 0
}

func set[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}
