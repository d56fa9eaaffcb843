package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/adapter"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/api"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/budget"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/recurring"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/semaphore"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/session"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/store"
)

// scheduler holds the components that share one connection.
type scheduler struct {
	Settings
	Deps
	process  *host.Process
	bus      *bus.Bus
	store    *store.Store
	sessions *session.Store
	slots    *semaphore.Store
	ledger   *budget.Ledger // nil if neither sessions nor days have a budget.
	meter    *meter
	admitter *intake.Admitter
	view     *api.API
	trace    trace.Start
	gate     *intake.Gate
	load     *load
	takers   *adapter.Takers // nil if work is never put into batches.
	keeper   *recurring.Keeper
	peers    *release.Gate
	forget   func()        // Removes the handler of reconnects.
	passed   chan struct{} // Gets a value when this partition takes over from another scheduler.
}

// Run is the scheduler of a process: it blocks until the process drains, then saves and acknowledges what it has. Errors:
// host.ErrUnavailable without a bus, events.Faults for settings and streams that are wrong, and the hook's own.
func Run(ctx context.Context, p *host.Process, s Settings, d Deps) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.DryRun {
		return dryRun(ctx, p, s, d)
	}
	config, err := ReadConfig(p.Settings.Config, p.Env)
	if err != nil {
		return err
	}
	var r *scheduler
	defer func() { r.close() }()
	return service.Run(p, d.Bus, func(b *bus.Bus) ([]host.Member, error) {
		specs, err := partitions(p.Intake(), b, s.Partitions)
		if err != nil {
			return nil, err
		}
		r = newScheduler(p, b, s, d, config.Budgets)
		r.load = &load{intake.NewGauge(len(specs)), b, specs}
		var members []host.Member
		for i, spec := range specs {
			members = append(members, r.partition(i, spec))
		}
		return append(members, r.intake(ctx), r.schedules(ctx), r.ends(), r.steps(ctx), r.api(), r.retire(), r.survey()), nil
	})
}

// newScheduler builds the components that share a connection and connects them to each other. It starts no partition.
func newScheduler(p *host.Process, b *bus.Bus, s Settings, d Deps, budgets Budgets) *scheduler {
	r := &scheduler{
		Settings: s, Deps: d, process: p, bus: b, store: store.OnBus(b), meter: newMeter(p.Metrics, p.Health), trace: trace.Open(p), passed: make(chan struct{}, 1),
	}
	r.peers = release.NewGate(b.Services(), release.Scheduler, p.Log)
	rules := s.rules()
	rules.Version = r.declares()[release.Rules]
	rules.Tokens, rules.CostUSD = int64(budgets.Job.Tokens), budgets.Job.CostUSD
	r.admitter = intake.NewAdmitter(b.Names(), countingLog{b, r.meter}, b.Blobs(), rules)
	r.sessions = session.OnBus(b)
	r.slots = semaphore.OnBus(b)
	r.admitter.Trace, r.admitter.Sessions, r.admitter.Zones = r.trace, r.sessions, r.sessions
	r.admitter.Newest = func(ctx context.Context) int { return r.peers.Level(ctx, release.Rules) }
	if r.ledger = budgets.ledger(b); r.ledger != nil {
		r.admitter.Budgets = r.ledger
	}
	r.gate = intake.NewGate(func(ctx context.Context) (bus.StreamFacts, error) { return b.Streams().Info(ctx, b.Names().Log) },
		uint64(s.IntakeHighWater)<<20, float64(s.IntakeFull)/100)
	r.gate.Room, r.gate.Told = d.Room, r.meter.Closed
	r.gate.Mute, r.gate.Probe = func() bus.Mute { return b.Mute(b.Names().AllEvents()) }, b.Streams().Probe
	r.forget = b.OnReconnect(r.store.Refresh)
	r.keeper = r.newKeeper()
	r.admitter.Schedules = r.keeper
	r.view = api.New(b, r.store, r.admitter, r.gate, p.Log)
	r.view.Sessions, r.view.Schedules, r.view.Ledger, r.view.JobBudget = r.sessions, r.keeper, r.ledger, budgets.Job.spent()
	r.admitter.Questions = r.view
	if s.Batches {
		r.takers = adapter.NewTakers(b, p.Log)
	}
	return r
}

// close ends what newScheduler has started; on a nil scheduler it does nothing.
func (r *scheduler) close() {
	if r == nil {
		return
	}
	if r.takers != nil {
		r.takers.Close()
	}
	r.forget()
	r.peers.Close()
}

// partitions makes the consumers of the partitions, or uses those that a process with more permissions has made.
func partitions(ctx context.Context, b *bus.Bus, number int) ([]bus.ConsumerSpec, error) {
	var specs []bus.ConsumerSpec
	err := bus.Await(ctx, func() (err error) {
		specs, err = b.Queues().EnsurePartitions(ctx, number)
		return err
	})
	if errors.Is(err, bus.ErrNotPermitted) {
		return given(b, number), nil
	}
	if err != nil {
		return nil, fmt.Errorf("prepare partitions: %w", err)
	}
	return specs, nil
}

// given describes the consumers of the partitions, which another process has created.
func given(b *bus.Bus, partitions int) []bus.ConsumerSpec {
	specs := make([]bus.ConsumerSpec, partitions)
	for p := range specs {
		specs[p] = b.Queues().SchedulerConsumer(p, partitions)
	}
	return specs
}

// partition owns the jobs of some shards as long as the broker delivers their events here; other schedulers stand by.
func (r *scheduler) partition(i int, spec bus.ConsumerSpec) host.Member {
	return host.Member{Name: fmt.Sprintf("partition %d of %d", i, r.Partitions), Run: func(ctx context.Context, ready func()) error {
		settings := loop.Default(r.bus.Names(), r.process.Log)
		settings.SaveAfter, settings.CacheBytes, settings.Trace = r.SaveAfter, r.CacheMiB<<20, r.trace
		settings.Window, settings.BatchAtOnce, settings.Rules = r.WorkWindow, r.BatchAtOnce, r.known()
		settings.Passed = func() {
			select {
			case r.passed <- struct{}{}:
			default: // A value is already waiting to be read.
			}
		}
		settings.Pooled, settings.Journaled = r.bus.Signed(), r.bus.JournalsOfPools
		settings.Hook = service.Hook[loop.Point](r.Hook)
		ports := adapter.New(r.bus)
		all := loop.Ports{
			Publisher: ports, Log: ports, Sweeper: ports, States: r.states(), Journals: ports,
			Alarms: ports, Blobs: ports, Meter: r.meter, Slots: r.slots, Queues: ports, Load: r.load.Of(i),
		}
		if r.takers != nil {
			all.Takers = r.takers
		}
		part := loop.New(settings, all)
		feed := adapter.NewFeed(r.bus, spec, r.process.Log)
		batches := make(chan loop.Batch)
		ctx, cancel := context.WithCancel(ctx)
		fed := make(chan struct{})
		go func() { // Ends with the context of this member, and is waited for below.
			defer close(fed)
			feed.Run(ctx, batches)
		}()
		ready()
		err := part.Run(ctx, batches)
		cancel()
		<-fed
		return err
	}}
}

// retireEvery is the time between two checks for consumers that belong to a different number of partitions.
const retireEvery = time.Minute

// retire removes the consumers of a partitioning with another number of partitions, once the last scheduler that used them is gone.
func (r *scheduler) retire() host.Member {
	return host.Every("old partitions", retireEvery, func(ctx context.Context) {
		err := r.bus.Queues().RetirePartitions(ctx, r.Partitions)
		if err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrNotPermitted) { // Without permission, their creator removes them.
			r.process.Log.Debug("cannot check for old partitions", "error", err)
		}
	})
}

// states saves states after their sessions and budgets were updated.
func (r *scheduler) states() loop.States {
	var states loop.States = r.store
	if r.ledger != nil {
		states = budget.States{States: states, Ledger: r.ledger}
	}
	return session.States{States: states, Store: r.sessions, Recorder: session.NewRecorder(r.bus, r.process.Log)}
}

// intake admits queued requests.
func (r *scheduler) intake(work context.Context) host.Member {
	return host.Member{Name: "intake", Run: func(ctx context.Context, ready func()) error {
		stream := r.bus.Names().Intake
		var facts bus.StreamFacts
		var queue *bus.Subscription
		err := bus.Await(ctx, func() (err error) {
			if facts, err = r.bus.Streams().Info(ctx, stream); err == nil {
				queue, err = r.bus.Queues().Consume(ctx, r.bus.Queues().IntakeConsumer())
			}
			return err
		})
		if err != nil {
			return err
		}
		defer queue.Stop()
		consumer := intake.Consumer{
			Admitter: r.admitter, Gate: r.gate, Load: r.load, Most: r.InMotion, Queue: queue, Teller: r.bus, Rejected: r.bus.Names().Rejected(), Answered: item.Answered(r.bus.Names()),
			Stream: intake.QueueName(facts), Meter: r.meter, Logger: r.process.Log,
		}
		ready()
		return consumer.Run(ctx, work)
	}}
}

// api answers jobs.api.<verb>.
func (r *scheduler) api() host.Member {
	return host.Member{Name: "api", Run: func(ctx context.Context, ready func()) error {
		v := r.view
		stop, err := r.bus.Services().Serve(string(release.Scheduler), r.process.Build.Version, r.declares().Metadata(), v.Endpoints(), verb.Metadata)
		if err != nil {
			return err
		}
		defer stop()
		done, err := r.bus.Services().Keep()
		if err != nil {
			return err
		}
		defer done()
		ready()
		r.process.Ready()
		<-ctx.Done()
		return nil
	}}
}
