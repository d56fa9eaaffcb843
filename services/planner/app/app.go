package app

import (
	"cmp"
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/pkg/service/live"
	"github.com/jobgraph/jobgraph/services/planner/internal/adapter"
	"github.com/jobgraph/jobgraph/services/planner/internal/caller"
	"github.com/jobgraph/jobgraph/services/planner/internal/catalog"
	"github.com/jobgraph/jobgraph/services/planner/internal/history"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

const (
	// defaultConcurrency applies if the process's settings have none.
	defaultConcurrency = 16
	// afterDrain is how long the loop may take after the drain timeout to give work back.
	afterDrain = 5 * time.Second
)

// Run runs the planner in a process. It blocks until the process drains and every plan that was begun is decided, or given back when
// ctx ends. Errors: host.ErrUnavailable without a bus, events.Faults if streams are wrong, and the hook's.
func Run(ctx context.Context, p *host.Process, s Settings, d Deps) error {
	rules, err := readProfiles(s.Profiles)
	if err != nil {
		return err
	}
	asked, members, err := newModel(p, s, d)
	if err != nil {
		return err
	}
	return service.Run(p, d.Bus, func(b *bus.Bus) ([]host.Member, error) {
		cards := catalog.New(b.Experts(), p.Log)
		set := loopSettings(p, b, cards, s, d)
		set.Profiles, set.Model = rules, asked
		return append(members, follow(b, cards), plans(p, b, set, plan.Limits{Age: s.PlanAge, Number: s.PlansPerBook}, rules), work(ctx, p, b, set)), nil
	})
}

// follow keeps the cards up to date. It becomes ready once they were read, so that no plan is checked without them.
func follow(b *bus.Bus, cards *catalog.Catalog) host.Member {
	return host.Member{Name: "cards", Run: func(ctx context.Context, ready func()) error {
		again := make(chan struct{}, 1)
		defer b.OnReconnect(func() {
			select {
			case again <- struct{}{}:
			default: // A restart is already pending.
			}
		})()
		return cards.Run(ctx, ready, again)
	}}
}

func work(work context.Context, p *host.Process, b *bus.Bus, s loop.Settings) host.Member {
	return host.Member{
		Name: "planning", Stop: p.Settings.DrainTimeout + afterDrain,
		Run: func(ctx context.Context, ready func()) error {
			source, err := adapter.OpenPool(ctx, b, p.Log)
			if err != nil {
				return err
			}
			s.Source = source
			s.Trace = trace.Open(p)
			planning := loop.New(s)
			stop, err := b.OnCancel(planning.Cancel)
			if err != nil {
				source.Stop()
				return err
			}
			defer stop()
			p.Ready()
			ready()
			return planning.Run(work, ctx)
		},
	}
}

func loopSettings(p *host.Process, b *bus.Bus, cards *catalog.Catalog, s Settings, d Deps) loop.Settings {
	items := live.New(live.OnBus(b), p.Secrets)
	p.Cleanup("live items", 0, func(ctx context.Context) error { items.Close(ctx); return nil })
	return loop.Settings{
		Items: func(job, subjob string, run int) loop.Items { return items.Open(job, subjob, run, "") },
		Names: b.Names(), Concurrency: cmp.Or(p.Settings.Concurrency, defaultConcurrency), ExpertWait: s.ExpertWait,
		Options: plan.Options{DefaultExpert: s.DefaultExpert, Zone: zone, Schema: schema.Check, Informed: true, Version: plan.Version},
		Owner:   service.Owner(d.Owner, "planner"), Read: caller.Read(p.Metrics.Models().JSON),
		Journal: service.NewJournal(b, p.Secrets), Log: service.NewLog(b, p.Secrets, false), Blobs: service.NewBlobs(b, p.Secrets, ""),
		Dispatcher: adapter.Dispatcher{Bus: b}, Pooled: b.Signed(), Journaled: b.JournalsOfPools, Cache: adapter.Cache{Bus: b}, Catalog: cards, History: history.OnBus(b), Knowledge: adapter.NewKnowledge(b),
		Meter: newMeter(p.Metrics), Logger: p.Log, Hook: service.Hook[loop.Point](d.Hook),
	}
}
