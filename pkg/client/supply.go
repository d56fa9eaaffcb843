package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Supply reads the resources of work: budgets, pools of workers, models, runners and their runs.
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

// Admission says why no job is admitted at the moment; nil if jobs are. Errors: those of the bus.
func (s Supply) Admission(ctx context.Context) (*events.Fault, error) {
	var out verb.PoolList
	err := s.client.ask(ctx, "pools", struct{}{}, &out)
	return out.Admission, err
}

// Models lists the models of a planner. Errors: those of the bus.
func (s Supply) Models(ctx context.Context) ([]verb.ConfiguredModel, error) {
	var out verb.ConfiguredModels
	err := s.client.ask(ctx, "models", struct{}{}, &out)
	return out.Models, err
}

// Runs lists the runs that all runners are executing, oldest first; none without a runner. The limit applies to each runner
// separately. Errors: *events.Fault if a runner refuses, those of the bus.
func (s Supply) Runs(ctx context.Context, q verb.RunQuery) (verb.RunList, error) {
	all := verb.RunList{Runs: []verb.HeldRun{}}
	err := gather(ctx, s.client, "runs", q, func(one verb.RunList) {
		all.Runs, all.Total = append(all.Runs, one.Runs...), all.Total+one.Total
	})
	slices.SortFunc(all.Runs, func(a, b verb.HeldRun) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.SubJob, b.SubJob), cmp.Compare(a.Runner, b.Runner))
	})
	return all, err
}

// Runners lists all runners by name. Errors: *events.Fault if a runner refuses, those of the bus.
func (s Supply) Runners(ctx context.Context) ([]verb.RunnerLine, error) {
	all := []verb.RunnerLine{}
	err := gather(ctx, s.client, "runners", struct{}{}, func(one verb.RunnerList) { all = append(all, one.Runners...) })
	slices.SortFunc(all, func(a, b verb.RunnerLine) int { return cmp.Compare(a.Runner, b.Runner) })
	return all, err
}

// gather asks every process that answers a verb for itself. The first refusal is the error.
func gather[T any](ctx context.Context, c *Client, name string, request any, each func(T)) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var refused error
	err = c.bus.Services().Gather(ctx, c.Names().API(name), body, func(answer []byte, fault *events.Fault) {
		var one T
		if fault != nil {
			refused = cmp.Or(refused, error(fault))
		} else if err := json.Unmarshal(answer, &one); err != nil {
			refused = cmp.Or(refused, fmt.Errorf("%s: %w", name, err))
		} else {
			each(one)
		}
	})
	if errors.Is(err, bus.ErrNobody) {
		return nil
	}
	return cmp.Or(err, refused)
}
