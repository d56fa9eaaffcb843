package client

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Supply reads what work depends on: budgets, pools of workers, models.
type Supply struct{ client *Client }

// SupplyOf returns the access to budgets, pools and models.
func SupplyOf(c *Client) Supply { return Supply{c} }

// Budgets returns the budgets, including those of a job and its session, or of a session, if one is named. Errors: ErrNotFound,
// those of the bus.
func (s Supply) Budgets(ctx context.Context, job, session string) ([]verb.BudgetLine, error) {
	var out verb.BudgetList
	err := s.client.ask(ctx, "budgets", verb.BudgetQuery{ID: job, Session: session}, &out)
	return out.Budgets, err
}

// Pools lists the pools of work. Errors: those of the bus.
func (s Supply) Pools(ctx context.Context) ([]verb.PoolLine, error) {
	var out verb.PoolList
	err := s.client.ask(ctx, "pools", struct{}{}, &out)
	return out.Pools, err
}

// Models lists the models of a planner. Errors: those of the bus.
func (s Supply) Models(ctx context.Context) ([]verb.ConfiguredModel, error) {
	var out verb.ConfiguredModels
	err := s.client.ask(ctx, "models", struct{}{}, &out)
	return out.Models, err
}
