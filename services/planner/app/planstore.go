package app

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planstore"
)

// plans answers jobs.api.plan.<command>, jobs.api.profiles and jobs.api.models.
func plans(p *host.Process, b *bus.Bus, s loop.Settings, limits plan.Limits, rules profiles) host.Member {
	return host.Member{Name: "plans", Run: func(ctx context.Context, ready func()) error {
		books := planstore.New(b, s.Catalog, s.Options, limits, p.Log)
		endpoints := books.Endpoints()
		endpoints["profiles"], endpoints["models"] = rules.list, listModels(s.Model)
		stop, err := b.Services().Serve(string(release.Planner), p.Build.Version, release.Of(release.Planner).Metadata(), endpoints, verb.Metadata)
		if err != nil {
			return err
		}
		defer stop()
		ready()
		books.Tidy(ctx)
		<-ctx.Done()
		return nil
	}}
}
