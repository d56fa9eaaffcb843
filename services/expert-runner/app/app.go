package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/pkg/memory"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/pkg/service/live"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/adapter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// defaultConcurrency is used when the process's settings name none.
const defaultConcurrency = 16

// afterDrain is the time after the drain timeout in which a pool kills commands and gives work back.
const afterDrain = 10 * time.Second

// runner holds the components that share one connection.
type runner struct {
	settings Settings
	process  *host.Process
	bus      *bus.Bus
	// catalog belongs to the follower once that runs.
	catalog   *catalog
	functions []Function
	loop      *loop.Loop
	owner     string
	// apart is true for a runner whose connection is not shared with all other services.
	apart bool
}

// Run is the expert-runner of a process. It blocks until the process drains and running work is finished, or given back at the end
// of ctx. Errors: host.Faults for invalid cards, host.ErrUnavailable without a bus, events.Faults for invalid streams.
func Run(ctx context.Context, p *host.Process, s Settings, d Deps) error {
	s.unheard, s.boxes, s.secrets = p.Server == nil, sandbox.NewBoxes(d.Sandbox), p.Secrets
	s.keeper = process.NewKeeper(d.Sandbox.Keeps(), s.OrphanAfter)
	p.Cleanup("programs of experts", afterDrain, func(context.Context) error { s.keeper.Close(); return nil })
	var err error
	if s.search, err = s.searcher(); err != nil {
		return err
	}
	if s.search != nil {
		p.Cleanup("web search", 0, func(context.Context) error { s.search.Close(); return nil })
	}
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
	read.standIn(m, d.Functions, &s)
	c, err := newCatalog(&s, read, d.Functions, m, nil)
	if err != nil {
		return err
	}
	if p.Server != nil {
		p.Server.Handle(a2a.PushPath, c.pushed)
	}
	return service.Run(p, d.Bus, func(b *bus.Bus) ([]host.Member, error) {
		c.attach(b)
		sweep(p, s.WorkDir)
		r := &runner{
			settings: s, process: p, bus: b, catalog: c, functions: d.Functions, owner: service.Owner(d.Owner, "runner"), apart: d.Bus == nil,
		}
		p.Cleanup("experts", 0, func(context.Context) error { r.catalog.close(); return nil })
		r.loop = loop.New(r.loopSettings(d))
		return r.members(ctx)
	})
}

// sweep ends the processes that killed runners have left on this machine, and removes their workspaces.
func sweep(p *host.Process, dir string) {
	removed, err := workspace.Sweep(dir)
	if len(removed) > 0 {
		p.Log.Info("workspaces of a killed runner removed", "count", len(removed))
	}
	if err != nil {
		p.Log.Warn("cannot remove workspaces of a killed runner", "error", err)
	}
}

func (r *runner) loopSettings(d Deps) loop.Settings {
	p, dir := r.process, r.settings.WorkDir
	blobs := service.NewBlobs(r.bus, p.Secrets, dir)
	items := live.New(live.OnBus(r.bus), p.Secrets)
	p.Cleanup("live items", 0, func(ctx context.Context) error { items.Close(ctx); return nil })
	s := loop.Settings{
		Names: r.bus.Names(), Owner: r.owner, Experts: r.catalog.experts, Concurrency: p.Settings.Concurrency,
		AckWait: bus.PoolAckWait, Trace: trace.Open(p),
		Journal: service.NewJournal(r.bus, p.Secrets), Log: service.NewLog(r.bus, p.Secrets, true), States: adapter.NewStates(r.bus),
		Blobs: blobs, Files: blobs, Knowledge: adapter.NewKnowledge(r.bus), Memory: memory.New(r.bus.Memory()), Contexts: r.bus,
		Live: func(o *task.Order) loop.Items {
			return items.Open(o.Job, o.SubJob, o.Run, o.Expert).In(o.Shows)
		}, Meter: meter.New(p.Metrics), Logger: p.Log, Secrets: p.Secrets,
	}
	if s.Concurrency == 0 {
		s.Concurrency, s.Calls = defaultConcurrency, callPlaces(host.Capacity())
	}
	if d.Hook != nil {
		s.Hook = func(p loop.Point, run string) error { return d.Hook(string(p), run) }
	}
	return s
}

// members are the parts of the runner: its pools, and the follower of its card files. work ends when running work must be given
// back.
func (r *runner) members(work context.Context) ([]host.Member, error) {
	stop, err := r.bus.OnCancel(r.loop.Cancel)
	if err != nil {
		return nil, err
	}
	renewed := r.bus.OnReconnect(r.loop.Renew)
	r.process.Cleanup("requests to stop", 0, func(context.Context) error { stop(); renewed(); return nil })
	if err := r.answer(); err != nil {
		return nil, err
	}
	if err := r.prepare(r.process.Intake()); err != nil {
		return nil, err
	}
	taking := newPools(work, r)
	taking.want(r.windows())
	following := newFollower(r, taking)
	return []host.Member{
		{Name: "pools", Stop: r.process.Settings.DrainTimeout + afterDrain, Run: taking.Run},
		{Name: "cards", Run: following.run},
	}, nil
}

// prepare creates the consumers of pools that third-party workers serve, as far as this runner is permitted to, and sets the limits
// of pools.
func (r *runner) prepare(ctx context.Context) error {
	for _, pool := range r.catalog.foreign() {
		if err := bus.Await(ctx, func() error { return r.bus.Queues().EnsureForeignPool(ctx, pool) }); err != nil && !errors.Is(err, bus.ErrNotPermitted) {
			return fmt.Errorf("prepare pool %s: %w", pool, err)
		}
	}
	return r.bound(ctx)
}

// windows are the pools to serve, with the number of messages that may be in progress at once: many if none of them holds
// expensive resources.
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
