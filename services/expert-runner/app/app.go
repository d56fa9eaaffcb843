package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/onbus"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
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
	// catalog is the follower's once it runs.
	catalog   *catalog
	functions []Function
	loop      *loop.Loop
	owner     string
	// apart is true for a runner that does not share its connection with all other services.
	apart bool
}

// Run is the expert-runner of a process. It blocks until the process drains and the work in hand is finished, or handed
// back at the end of ctx. Errors: host.Faults for cards that are wrong, host.ErrUnavailable without a bus, events.Faults for
// streams that are wrong.
func Run(ctx context.Context, p *host.Process, s Settings, d Deps) error {
	s.unheard, s.boxes, s.secrets = p.Server == nil, sandbox.NewBoxes(d.Sandbox), p.Secrets
	s.keeper = process.NewKeeper(d.Sandbox.Keeps(), s.OrphanAfter)
	p.Cleanup("programs of experts", afterDrain, func(context.Context) error { s.keeper.Close(); return nil })
	read := readBook(p.Settings.Config, s.Experts, p.Env)
	p.Secrets.Add(read.secrets...)
	m := newModels(&read.config, &s)
	if len(read.faults) == 0 {
		if err := m.open(p, &d); err != nil {
			return err
		}
	}
	m.boxes = newToolboxes(&m.tools, p.Settings.Config, &s, p)
	m.boxes.entrust(p)
	read.standIn(m, d.Functions)
	c, err := newCatalog(&s, read, d.Functions, m, nil)
	if err != nil {
		return err
	}
	if p.Server != nil {
		p.Server.Handle(a2a.PushPath, c.pushed)
	}
	b, err := onbus.Open(p.Intake(), p, d.Bus)
	if p.Intake().Err() != nil {
		return nil // Told to end before it had begun.
	}
	if err != nil {
		return err
	}
	c.attach(b)
	sweep(p, s.WorkDir)
	r := &runner{settings: s, process: p, bus: b, catalog: c, functions: d.Functions, owner: d.Owner, apart: d.Bus == nil}
	p.Cleanup("experts", 0, func(context.Context) error { r.catalog.close(); return nil })
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

func (r *runner) loopSettings(d Deps) loop.Settings {
	ports := wire.Redacted{Ports: wire.New(r.bus), Blobs: wire.NewBlobs(r.bus), Secrets: r.process.Secrets, Dir: r.settings.WorkDir}
	s := loop.Settings{
		Names: r.bus.Names(), Owner: r.owner, Experts: r.catalog.experts, Concurrency: r.process.Settings.Concurrency,
		AckWait: bus.PoolAckWait, Trace: trace.Open(r.process),
		Journal: ports, Log: ports, States: wire.NewStates(r.bus), Blobs: ports, Files: ports, Knowledge: ports,
		Meter: meter.New(r.process.Metrics), Logger: r.process.Log, Secrets: r.process.Secrets,
	}
	if s.Concurrency == 0 {
		s.Concurrency, s.Calls = defaultConcurrency, callPlaces(host.Capacity())
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
	if err := r.prepare(intake); err != nil {
		return err
	}
	taking := newPools(ctx, r)
	taking.want(r.windows())
	following := newFollower(r, taking)
	return host.RunGroup(
		intake, host.Member{Name: "pools", Stop: r.process.Settings.DrainTimeout + afterDrain, Run: taking.Run},
		host.Member{Name: "cards", Run: following.run},
	)
}

// prepare makes the consumers of the pools of experts that run elsewhere, where foreign workers may lack the right to do that, and
// bounds the pools of which cards say it.
func (r *runner) prepare(ctx context.Context) error {
	for _, pool := range r.catalog.foreign() {
		if err := bus.Await(ctx, func() error { return r.bus.Queues().EnsureForeignPool(ctx, pool) }); err != nil && !errors.Is(err, bus.ErrNotPermitted) {
			return fmt.Errorf("prepare pool %s: %w", pool, err)
		}
	}
	return r.bound(ctx)
}

// windows are the pools to take work from, with how many of their messages may be in hand at once: many where nothing is
// expensive to hold.
func (r *runner) windows() map[string]int {
	windows := map[string]int{}
	for _, pool := range r.catalog.pools(r.settings.Pools) {
		windows[pool] = r.loop.Concurrency
		if r.catalog.light(pool) {
			windows[pool] = max(r.loop.Concurrency, r.settings.Prefetch)
		}
	}
	return windows
}
