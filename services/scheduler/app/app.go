package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/onbus"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/agenda"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/conversation"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/ledger"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/slot"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/store"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/view"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/wire"
)

// scheduler is the rooms over one connection.
type scheduler struct {
	Settings
	Deps
	process  *host.Process
	bus      *bus.Bus
	store    *store.Store
	sessions *conversation.Book
	slots    *slot.Book
	ledger   *ledger.Ledger // nil without a budget of sessions or days.
	meter    *meter
	admitter *intake.Admitter
	trace    trace.Start
	gate     *intake.Gate
	load     *load
	takers   *wire.Takers // nil when work is not put into batches.
	agenda   *agenda.Keeper
	peers    *release.Gate
	passed   chan struct{} // Gets a value when this scheduler gets events of which another one had some before.
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
	b, specs, err := begin(p, s, d)
	if p.Intake().Err() != nil {
		return nil // Told to end before it had begun.
	}
	if err != nil {
		return err
	}
	r := &scheduler{Settings: s, Deps: d, process: p, bus: b, store: store.OnBus(b), meter: newMeter(p.Metrics, p.Health), trace: trace.Open(p), passed: make(chan struct{}, 1)}
	r.peers = release.NewGate(b.Services(), release.Scheduler, p.Log)
	defer r.peers.Close()
	rules := s.rules()
	rules.Version = r.declares()[release.Rules]
	rules.Tokens, rules.CostUSD = int64(config.Budgets.Job.Tokens), config.Budgets.Job.CostUSD
	r.admitter = intake.NewAdmitter(b.Names(), countingLog{b, r.meter}, b.Blobs(), rules)
	r.sessions = conversation.OnBus(b)
	r.slots = slot.OnBus(b)
	r.admitter.Trace, r.admitter.Sessions = r.trace, r.sessions
	r.admitter.Newest = func(ctx context.Context) int { return r.peers.Level(ctx, release.Rules) }
	if r.ledger = config.Budgets.ledger(b); r.ledger != nil {
		r.admitter.Purse = r.ledger
	}
	r.gate = intake.NewGate(func(ctx context.Context) (bus.StreamFacts, error) { return b.Streams().Info(ctx, b.Names().Log) },
		uint64(s.IntakeHighWater)<<20, float64(s.IntakeFull)/100)
	r.gate.Room = d.Room
	defer b.OnReconnect(r.store.Refresh)()
	r.agenda = r.newAgenda()
	r.admitter.Schedules = r.agenda
	if s.Batches {
		r.takers = wire.NewTakers(b, p.Log)
		defer r.takers.Close()
	}
	r.load = &load{intake.NewGauge(len(specs)), b, specs}
	members := make([]host.Member, 0, len(specs)+5)
	for i, spec := range specs {
		members = append(members, r.partition(i, spec))
	}
	members = append(members, r.intake(ctx), r.schedules(ctx), r.ends(), r.steps(ctx), r.api(), r.retire(), r.survey())
	return host.RunGroup(p.Intake(), members...)
}

// begin connects and makes the consumers of the partitions.
func begin(p *host.Process, s Settings, d Deps) (*bus.Bus, []bus.ConsumerSpec, error) {
	b, err := onbus.Open(p.Intake(), p, d.Bus)
	if err != nil {
		return nil, nil, err
	}
	var specs []bus.ConsumerSpec
	err = bus.Await(p.Intake(), func() (err error) {
		specs, err = b.Queues().EnsurePartitions(p.Intake(), s.Partitions)
		return err
	})
	if errors.Is(err, bus.ErrNotPermitted) {
		specs, err = given(b, s.Partitions), nil // They were made by a process that may.
	}
	if err != nil {
		return nil, nil, fmt.Errorf("prepare partitions: %w", err)
	}
	return b, specs, nil
}

// given names the consumers that exist already.
func given(b *bus.Bus, partitions int) []bus.ConsumerSpec {
	specs := make([]bus.ConsumerSpec, partitions)
	for p := range specs {
		specs[p] = b.Queues().SchedulerConsumer(p, partitions)
	}
	return specs
}

// partition owns the jobs of some shards for as long as the broker gives it their events; other schedulers stand by.
func (r *scheduler) partition(i int, spec bus.ConsumerSpec) host.Member {
	return host.Member{Name: fmt.Sprintf("partition %d of %d", i, r.Partitions), Run: func(ctx context.Context, ready func()) error {
		settings := loop.Default(r.bus.Names(), r.process.Log)
		settings.SaveAfter, settings.CacheBytes, settings.Trace = r.SaveAfter, r.CacheMiB<<20, r.trace
		settings.Window, settings.BatchAtOnce, settings.Rules = r.WorkWindow, r.BatchAtOnce, r.known()
		settings.Passed = func() {
			select {
			case r.passed <- struct{}{}:
			default: // It is known already.
			}
		}
		if r.Hook != nil {
			settings.Hook = func(p loop.Point) error { return r.Hook(string(p)) }
		}
		ports := wire.New(r.bus)
		all := loop.Ports{
			Publisher: ports, Log: ports, Sweeper: ports, States: r.states(), Journals: ports,
			Alarms: ports, Blobs: ports, Meter: r.meter, Slots: r.slots, Queues: ports, Load: r.load.Of(i),
		}
		if r.takers != nil {
			all.Takers = r.takers
		}
		part := loop.New(settings, all)
		feed := wire.NewFeed(r.bus, spec, r.process.Log)
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

// retireEvery is the time between two looks at partitions of another number.
const retireEvery = time.Minute

// retire removes what a change of the number of partitions leaves behind, once the last scheduler of the old number is gone.
func (r *scheduler) retire() host.Member {
	return host.Every("old partitions", retireEvery, func(ctx context.Context) {
		err := r.bus.Queues().RetirePartitions(ctx, r.Partitions)
		if err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrNotPermitted) { // Otherwise their maker removes them.
			r.process.Log.Debug("old partitions are not looked at", "error", err)
		}
	})
}

// states are the saved ones, behind what has to be known before they are saved.
func (r *scheduler) states() loop.States {
	var states loop.States = r.store
	if r.ledger != nil {
		states = ledger.States{States: states, Ledger: r.ledger}
	}
	return conversation.States{States: states, Book: r.sessions}
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
			Admitter: r.admitter, Gate: r.gate, Load: r.load, Most: r.InMotion, Queue: queue, Teller: r.bus, Rejected: r.bus.Names().Rejected(),
			Stream: intake.QueueName(facts), Meter: r.meter, Logger: r.process.Log,
		}
		ready()
		return consumer.Run(ctx, work)
	}}
}

// api answers jobs.api.<verb>.
func (r *scheduler) api() host.Member {
	return host.Member{Name: "api", Run: func(ctx context.Context, ready func()) error {
		v := view.New(r.bus, r.store, r.admitter, r.gate, r.process.Log)
		v.Sessions, v.Schedules = r.sessions, r.agenda
		stop, err := r.bus.Services().Serve(string(release.Scheduler), r.process.Build.Version, r.declares().Metadata(), v.Endpoints())
		if err != nil {
			return err
		}
		defer stop()
		ready()
		r.process.Ready()
		<-ctx.Done()
		return nil
	}}
}
