package app

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/onbus"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/planner/internal/catalog"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/past"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/wire"
)

const (
	// defaultConcurrency is used when the process's settings name none.
	defaultConcurrency = 16
	// afterDrain is what the loop may take beyond the drain timeout to hand work back.
	afterDrain = 5 * time.Second
)

// Run is the planner of a process. It blocks until the process drains and the plans in hand are decided, or handed back at
// the end of ctx. Errors: host.ErrUnavailable without a bus, events.Faults for streams that are wrong, and the hook's own.
func Run(ctx context.Context, p *host.Process, s Settings, d Deps) error {
	rules, err := readProfiles(s.Profiles)
	if err != nil {
		return err
	}
	asked, members, err := newModel(p, s, d)
	if err != nil {
		return err
	}
	b, err := onbus.Open(p.Intake(), p, d.Bus)
	if p.Intake().Err() != nil {
		return nil // Told to end before it had begun.
	}
	if err != nil {
		return err
	}
	cards := catalog.New(b.Experts(), p.Log)
	set := loopSettings(p, b, cards, s, d)
	set.Profiles, set.Model = rules, asked
	return host.RunGroup(p.Intake(), append(members, follow(b, cards), plans(p, b, set), work(ctx, p, b, set))...)
}

// follow keeps the cards up to date. It is ready when they were read once, so that no plan is judged without them.
func follow(b *bus.Bus, cards *catalog.Catalog) host.Member {
	return host.Member{Name: "cards", Run: func(ctx context.Context, ready func()) error {
		again := make(chan struct{}, 1)
		defer b.OnReconnect(func() {
			select {
			case again <- struct{}{}:
			default: // One is under way.
			}
		})()
		return cards.Run(ctx, ready, again)
	}}
}

func work(work context.Context, p *host.Process, b *bus.Bus, s loop.Settings) host.Member {
	return host.Member{
		Name: "planning", Stop: p.Settings.DrainTimeout + afterDrain,
		Run: func(ctx context.Context, ready func()) error {
			source, err := wire.OpenPool(ctx, b, p.Log)
			if err != nil {
				return err
			}
			s.Source = source
			if start := trace.Open(p); start != nil {
				t := &tracer{start: start, names: b.Names(), open: map[string]*told{}}
				s.Source, s.Log = tracedSource{s.Source, t}, tracedLog{s.Log, t}
			}
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
	set := loop.Settings{
		Names: b.Names(), Concurrency: p.Settings.Concurrency, ExpertWait: s.ExpertWait,
		Options: plan.Options{DefaultExpert: s.DefaultExpert, Zone: zone, Schema: schema.Check, Informed: true},
		Owner:   cmp.Or(d.Owner, "planner-"+uuid.NewString()), Read: readJSON, Journal: wire.RedactedJournal{Journal: wire.Journal{Bus: b}, Secrets: p.Secrets}, Desk: wire.Desk{Bus: b}, Cache: wire.Cache{Bus: b},
		Log: wire.RedactedLog{Log: wire.Log{Bus: b}, Secrets: p.Secrets}, Blobs: wire.RedactedBlobs{Blobs: wire.Blobs{Bus: b}, Secrets: p.Secrets},
		Catalog: cards, Past: past.OnBus(b), Meter: newMeter(p.Metrics), Logger: p.Log,
	}
	if set.Concurrency == 0 {
		set.Concurrency = defaultConcurrency
	}
	if d.Hook != nil {
		set.Hook = func(at loop.Point) error { return d.Hook(string(at)) }
	}
	return set
}
