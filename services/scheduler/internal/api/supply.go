package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/budget"
)

// supply answers the verbs about what work depends on: budgets and pools.
type supply struct{ view *API }

// verbs returns the verbs about budgets and pools.
func (s supply) verbs() map[string]func(context.Context, []byte) (any, error) {
	return map[string]func(context.Context, []byte) (any, error){"budgets": s.budgets, "pools": s.pools}
}

// budgets returns the budgets that are set, with those of a job or session if one is named.
func (s supply) budgets(ctx context.Context, body []byte) (any, error) {
	var q verb.BudgetQuery
	if err := decode(body, &q); err != nil {
		return nil, err
	}
	list := verb.BudgetList{Budgets: []verb.BudgetLine{}}
	if each := s.view.JobBudget; each != (events.Spent{}) {
		list.Budgets = append(list.Budgets, verb.BudgetLine{Scope: "each job", Limit: each})
	}
	if q.ID != "" {
		job, err := s.view.fold(ctx, q.ID)
		if err != nil {
			return nil, err
		}
		limit := events.Spent{Tokens: job.Rules.Tokens, CostUSD: job.Rules.CostUSD}
		list.Budgets = append(list.Budgets, budget.Line("job", q.ID, limit, job.Cost))
		q.Session = cmp.Or(q.Session, job.Session)
	}
	if s.view.Ledger == nil {
		return list, nil
	}
	lines, err := s.view.Ledger.Lines(ctx, q.Session)
	list.Budgets = append(list.Budgets, lines...)
	return list, err
}

// internal are the pools whose work comes from Jobgraph itself: no plan names them, and no runner serves them.
var internal = []string{schedule.Pool, bus.WebhookPool}

// pools lists the pools that have a consumer or an expert.
func (s supply) pools(ctx context.Context, _ []byte) (any, error) {
	facts, err := s.view.bus.Queues().Pools(ctx)
	if err != nil {
		return nil, err
	}
	cards, err := s.view.bus.Experts().List(ctx)
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return nil, err
	}
	experts := map[string][]string{}
	for _, c := range cards {
		var card events.Card
		if json.Unmarshal(c.Value, &card) == nil {
			pool := cmp.Or(card.Pool, events.DefaultPool)
			experts[pool] = append(experts[pool], card.ID)
		}
	}
	for pool := range experts { // any order: the names are sorted below.
		if _, known := facts[pool]; !known {
			facts[pool] = bus.ConsumerFacts{} // No worker has served it yet.
		}
	}
	list := verb.PoolList{Pools: []verb.PoolLine{}, Admission: s.view.gate.Ask(ctx)}
	for _, name := range slices.Sorted(maps.Keys(facts)) { // A pool's queue of batches sorts after the pool.
		if slices.Contains(internal, name) {
			continue
		}
		f := facts[name]
		pool, batches := batch.Of(name)
		line := verb.PoolLine{Pool: pool, Batches: batches, Waiting: f.Pending, InHand: f.Unsettled, Again: f.Redelivered, Readers: f.Waiting, Limit: f.Limit}
		if !batches {
			slices.Sort(experts[pool])
			line.Experts = experts[pool]
		}
		list.Pools = append(list.Pools, line)
	}
	return list, nil
}
