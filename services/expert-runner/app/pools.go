package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/wire"
)

// pools takes the work of every pool whose experts are here. The goroutine of Run owns what is under way.
type pools struct {
	runner *runner
	// work ends when work in hand has to be handed back.
	work context.Context
	// wishes holds the newest windows by pool until Run has seen them.
	wishes chan map[string]int
	// failed has room for the first error of a pool.
	failed   chan error
	underway map[string]*pool
	// batched are the pools of which batches are taken, too; opened holds a token when there is one more.
	batched sync.Map
	opened  chan struct{}
	// all are the goroutines of pools, those included that end their last runs.
	all sync.WaitGroup
}

// pool is one whose work is taken.
type pool struct {
	// window is how many messages are in hand at once.
	window int
	// leave ends the intake; runs in hand go on.
	leave context.CancelFunc
}

func newPools(work context.Context, r *runner) *pools {
	return &pools{runner: r, work: work, wishes: make(chan map[string]int, 1), failed: make(chan error, 1), opened: make(chan struct{}, 1), underway: map[string]*pool{}}
}

// want asks for pools by their windows. Only the last wish counts; there is one who asks at a time.
func (p *pools) want(windows map[string]int) {
	select {
	case <-p.wishes:
	default: // It was seen.
	}
	p.wishes <- windows
}

// Run takes work until ctx ends, and returns when none is left in hand. It is ready when the first pools are read.
func (p *pools) Run(ctx context.Context, ready func()) error {
	defer p.all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-p.failed:
			return err
		case windows := <-p.wishes:
			if err := p.change(ctx, windows); err != nil {
				return err
			}
			ready()
		}
	}
}

// change stops consuming pools that are no longer wanted and starts on new ones.
func (p *pools) change(ctx context.Context, windows map[string]int) error {
	for name, has := range p.underway {
		if windows[name] != has.window {
			p.batched.Delete(name)
			has.leave()
			delete(p.underway, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(windows)) {
		if p.underway[name] != nil {
			continue
		}
		if err := p.begin(ctx, name, windows[name]); err != nil {
			return err
		}
	}
	return nil
}

// begin takes the work of a pool: what lies there by itself, and what lies in batches.
func (p *pools) begin(ctx context.Context, name string, window int) error {
	source, err := wire.OpenPool(ctx, p.runner.bus, name, p.runner.process.Log)
	if err != nil {
		return fmt.Errorf("pool %s: %w", name, err)
	}
	intake, leave := context.WithCancel(ctx)
	p.underway[name] = &pool{window: window, leave: leave}
	p.take(intake, name, source, window)
	batches, err := wire.OpenBatches(ctx, p.runner.bus, name, p.runner.apart, p.runner.process.Log)
	switch {
	case errors.Is(err, bus.ErrNotPermitted):
		p.runner.process.Log.Info("work is not taken in batches", "pool", name, "reason", err)
		return nil
	case err != nil:
		return fmt.Errorf("batches of pool %s: %w", name, err)
	}
	p.batched.Store(name, true)
	select {
	case p.opened <- struct{}{}:
	default: // It is known that there are some.
	}
	p.take(intake, name, batches, window)
	return nil
}

// takes reports whether batches of a pool are taken.
func (p *pools) takes(name string) bool {
	_, ok := p.batched.Load(name)
	return ok
}

// take runs what a source gives. Its goroutine ends when the pool was left, or intake has ended for another reason, and its last run has.
func (p *pools) take(intake context.Context, name string, source loop.Source, window int) {
	p.all.Go(func() {
		if err := p.runner.loop.Run(p.work, intake, source, window); err != nil {
			select {
			case p.failed <- fmt.Errorf("pool %s: %w", name, err):
			default: // One is enough to end all.
			}
		}
	})
}
