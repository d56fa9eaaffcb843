package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/wire"
)

// defaultConcurrency is used when the process's settings name none.
const defaultConcurrency = 16

// afterDrain is what a pool may take beyond the drain timeout to kill commands and hand work back.
const afterDrain = 10 * time.Second

// runner is the rooms over one connection.
type runner struct {
	settings Settings
	process  *host.Process
	bus      *bus.Bus
	catalog  *catalog
	loop     *loop.Loop
	owner    string
}

// Run is the expert-runner of a process. It blocks until the process drains and the work in hand is finished, or handed
// back at the end of ctx. Errors: host.Faults for cards that are wrong, host.ErrUnavailable without a bus, events.Faults for
// streams that are wrong.
func Run(ctx context.Context, p *host.Process, s Settings, d Deps) error {
	m, err := openModels(p, &s, &d)
	if err != nil {
		return err
	}
	c, err := newCatalog(&s, p.Env, d.Functions, m)
	if err != nil {
		return err
	}
	p.Cleanup("experts", 0, func(context.Context) error { c.close(); return nil })
	b, err := connect(p.Intake(), p, d.Bus)
	if p.Intake().Err() != nil {
		return nil // Told to end before it had begun.
	}
	if err != nil {
		return err
	}
	sweep(p, s.WorkDir)
	r := &runner{settings: s, process: p, bus: b, catalog: c, owner: d.Owner}
	if r.owner == "" {
		r.owner = "runner-" + uuid.NewString()
	}
	r.loop = loop.New(r.loopSettings(d))
	return r.run(ctx)
}

// sweep ends what a runner that was killed has left here.
func sweep(p *host.Process, dir string) {
	removed, err := workspace.Sweep(dir)
	if len(removed) > 0 {
		p.Log.Info("workspaces of a killed runner removed", "count", len(removed))
	}
	if err != nil {
		p.Log.Warn("workspaces of a killed runner left", "error", err)
	}
}

// CheckCards reads card files, or folders of them, and finds their programs. It gives the cards, and every fault together
// as host.Faults.
func CheckCards(paths []string, env host.Env) ([]events.Card, error) {
	s := Default()
	s.Experts = paths
	c, err := newCatalog(&s, env, nil, nil)
	if err != nil {
		return nil, err
	}
	return c.cards(), nil
}

func (r *runner) loopSettings(d Deps) loop.Settings {
	ports := wire.New(r.bus)
	s := loop.Settings{
		Names: r.bus.Names(), Owner: r.owner, Experts: r.catalog.experts, Concurrency: r.process.Settings.Concurrency,
		AckWait: bus.PoolAckWait, Trace: trace.Open(r.process),
		Journal: ports, Log: ports, States: wire.NewStates(r.bus), Blobs: wire.NewBlobs(r.bus),
		Meter: meter.New(r.process.Metrics, r.catalog.ids()), Logger: r.process.Log,
	}
	if s.Concurrency == 0 {
		s.Concurrency = defaultConcurrency
	}
	if d.Hook != nil {
		s.Hook = func(p loop.Point, run string) error { return d.Hook(string(p), run) }
	}
	return s
}

func (r *runner) run(ctx context.Context) error {
	intake := r.process.Intake()
	stop, err := r.bus.OnCancel(r.loop.Cancel)
	if err != nil {
		return err
	}
	defer stop()
	defer r.bus.OnReconnect(r.loop.Renew)()
	// Foreign workers may lack the right to make the consumer that they read.
	for _, pool := range r.catalog.foreign() {
		if err := bus.Await(intake, func() error { return r.bus.EnsureForeignPool(intake, pool) }); err != nil && !errors.Is(err, bus.ErrNotPermitted) {
			return fmt.Errorf("prepare pool %s: %w", pool, err)
		}
	}
	cards := wire.NewAnnouncer(r.bus, r.owner, r.catalog.cards(), r.process.Log)
	var members []host.Member
	for _, pool := range r.catalog.pools(r.settings.Pools) {
		members = append(members, r.pool(ctx, pool))
	}
	members = append(members, host.Member{Name: "cards", Run: func(ctx context.Context, ready func()) error {
		if err := bus.Await(ctx, func() error { return cards.Announce(ctx) }); err != nil {
			return err
		}
		r.process.Log.Info("experts announced", "experts", r.catalog.ids(), "owner", r.owner)
		r.process.Ready()
		ready()
		cards.Run(ctx)
		return nil
	}})
	return host.RunGroup(intake, members...)
}

// pool takes the work of one pool until the process drains.
func (r *runner) pool(work context.Context, pool string) host.Member {
	return host.Member{
		Name: "pool " + pool, Stop: r.process.Settings.DrainTimeout + afterDrain,
		Run: func(ctx context.Context, ready func()) error {
			window := r.loop.Concurrency
			if r.catalog.light(pool) {
				window = max(window, r.settings.Prefetch)
			}
			source, err := wire.OpenPool(ctx, r.bus, pool, r.process.Log)
			if err != nil {
				return err
			}
			ready()
			return r.loop.Run(work, ctx, source, window)
		},
	}
}
